"""Groups of processes that MPI connects, through mpi4py.

    from mpi4py import MPI
    import tenon.mpi

    group = tenon.Group([tenon.Context()], transport=tenon.mpi.Transport(MPI.COMM_WORLD))
    sums = group.all_reduce([gradients])

Works with every MPI of mpi4py. Run the program with the launcher of that MPI: mpirun -n 4 python3 program.py.
"""
import atexit
import importlib
import weakref
from typing import Any, Dict, List, Tuple

from ._arguments import wrong_type
from ._constants import (ERROR_INCOMPLETE, ERROR_INVALID_ARGUMENT, ERROR_MISMATCH, ERROR_OUT_OF_MEMORY, ERROR_PEER_LOST,
                         ERROR_PROCESS, OK, TRANSPORT_THREADS)
from ._loader import ffi

__all__ = ["Transport"]

_TYPES = {name: field.type for name, field in ffi.typeof("tenon_transport").fields}
_OPEN_MPI_FT = 12  # MPI_FT in the mpi.h of Open MPI 5, which mpi4py does not have
_FUNCTIONS = ("send", "receive", "test", "cancel")
_open: "weakref.WeakSet[Transport]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Prevents calls of MPI by the threads of groups after MPI_Finalize, which mpi4py calls later."""
    for transport in list(_open):
        transport._closed = True


class Transport:
    """Exchanges the messages of one tenon.Group with the processes of a communicator of mpi4py.

    All processes of the communicator make the transport. It uses a duplicate, so its messages are not mixed with
    others. If MPI was initialized with MPI.THREAD_MULTIPLE, mpi4py's default, collectives make progress in a thread of
    the group; otherwise only during calls of the group. If the launcher continues after a process has ended (Open MPI 5
    with --with-ft ulfm), Group.shrink makes a group of the processes that are left; MPI may then wait forever when the
    interpreter ends, so write a checkpoint and call os._exit.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        For example MPI.COMM_WORLD.

    Raises
    ------
    TypeError
        comm is not an intra-communicator of mpi4py.
    ValueError
        MPI is not initialized, or is finalized, or comm is MPI.COMM_NULL.
    """

    def __init__(self, comm: Any):
        mpi = importlib.import_module("mpi4py.MPI")
        if not isinstance(comm, mpi.Intracomm):
            raise wrong_type("Transport: comm", "an mpi4py.MPI.Intracomm", comm)
        if not mpi.Is_initialized() or mpi.Is_finalized():
            raise ValueError("Transport: MPI is not initialized, or is finalized")
        if comm == mpi.COMM_NULL:
            raise ValueError("Transport: comm is MPI.COMM_NULL")
        own = comm.Dup()
        own.Set_errhandler(mpi.ERRORS_RETURN)
        self._start(mpi, own, ffi.new("tenon_transport *"))

    def _start(self, mpi: Any, comm: Any, table: Any) -> None:
        """Fills the table for a communicator that belongs to the transport."""
        self._mpi, self._comm, self.table = mpi, comm, table
        self._closed = self._broken = False
        self._messages: Dict[int, Tuple[Any, int]] = {}  # request and expected size; -1 for a send
        self._last = 0
        self._left: List[Transport] = []  # transports that shrink has made
        self._callbacks = {name: ffi.callback(_TYPES[name], getattr(self, "_" + name), error=ERROR_PEER_LOST)
                           for name in _FUNCTIONS}
        self._callbacks["destroy"] = ffi.callback(_TYPES["destroy"], self._destroy)
        if self._continues():
            self._callbacks["shrink"] = ffi.callback(_TYPES["shrink"], self._shrink, error=ERROR_PEER_LOST)
        table.struct_size = ffi.sizeof(table[0])
        table.size, table.rank = comm.Get_size(), comm.Get_rank()
        table.flags = TRANSPORT_THREADS if mpi.Query_thread() >= mpi.THREAD_MULTIPLE else 0
        for name, callback in self._callbacks.items():
            setattr(table, name, callback)
        _open.add(self)

    def _continues(self) -> bool:
        """Returns whether the job continues without a lost process: Open MPI's attribute MPI_FT is 1."""
        name, version = self._mpi.get_vendor()
        if name != "Open MPI" or version < (5, 0, 0) or not hasattr(self._comm, "Shrink"):
            return False
        address = self._mpi.COMM_WORLD.Get_attr(_OPEN_MPI_FT)
        return bool(address) and ffi.cast("int *", address)[0] != 0

    def _status(self, code: int) -> int:
        """Returns the status for an error class of MPI."""
        mpi = self._mpi
        if code == mpi.ERR_TRUNCATE:
            return ERROR_MISMATCH
        if code == mpi.ERR_NO_MEM:
            return ERROR_OUT_OF_MEMORY
        if code in (mpi.ERR_BUFFER, mpi.ERR_COUNT, mpi.ERR_TYPE, mpi.ERR_TAG, mpi.ERR_COMM, mpi.ERR_RANK, mpi.ERR_ARG):
            return ERROR_INVALID_ARGUMENT
        self._broken = True
        return ERROR_PEER_LOST

    # Functions of the table ----------------------------------------------------------------------

    def _begin(self, function: Any, peer: int, tag: int, memory: Any, size: int, expected: int, request: Any) -> int:
        if self._closed:
            return ERROR_PROCESS
        try:
            started = function([ffi.buffer(ffi.cast("char *", memory), size), size, self._mpi.BYTE], peer, tag)
        except self._mpi.Exception as error:
            return self._status(error.Get_error_class())
        self._last += 1
        self._messages[self._last] = started, expected
        request[0] = ffi.cast("void *", self._last)
        return OK

    def _send(self, state: Any, to: int, tag: int, memory: Any, size: int, request: Any) -> int:
        return self._begin(self._comm.Isend, to, tag, memory, size, -1, request)

    def _receive(self, state: Any, source: int, tag: int, memory: Any, size: int, request: Any) -> int:
        return self._begin(self._comm.Irecv, source, tag, memory, size, size, request)

    def _test(self, state: Any, request: Any, done: Any) -> int:
        number = int(ffi.cast("uintptr_t", request))
        message, expected = self._messages[number]
        done[0] = 0
        if self._closed:
            return ERROR_PROCESS
        status = self._mpi.Status()
        try:
            if not message.Test(status):
                return OK
        except self._mpi.Exception as error:
            del self._messages[number]
            return self._status(error.Get_error_class())
        del self._messages[number]
        if expected >= 0 and status.Get_count(self._mpi.BYTE) != expected:
            return ERROR_MISMATCH
        done[0] = 1
        return OK

    def _cancel(self, state: Any, request: Any) -> int:
        message, expected = self._messages.pop(int(ffi.cast("uintptr_t", request)))
        if self._closed:
            return ERROR_INCOMPLETE
        try:
            if expected >= 0:
                message.Cancel()
            if message.Test():
                return OK
            message.Free()
        except self._mpi.Exception:
            return OK  # a failed message is over
        self._broken = True
        return ERROR_INCOMPLETE

    def _shrink(self, state: Any, survivors: Any, old_ranks: Any) -> int:
        mpi = self._mpi
        self._broken = True
        try:
            comm = self._comm.Shrink()
            comm.Set_errhandler(mpi.ERRORS_RETURN)
            old = mpi.Group.Translate_ranks(comm.Get_group(), list(range(comm.Get_size())), self._comm.Get_group())
        except mpi.Exception as error:
            return self._status(error.Get_error_class())
        for rank, before in enumerate(old):
            old_ranks[rank] = before
        left = Transport.__new__(Transport)
        left._start(mpi, comm, survivors)
        self._left.append(left)
        return OK

    def _destroy(self, state: Any) -> None:
        """Frees the communicator, unless that might wait for a lost process."""
        if not self._closed and not self._broken and not self._mpi.Is_finalized():
            self._comm.Free()
        self._closed = True

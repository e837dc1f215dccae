"""tenon.mpi with a replacement of mpi4py; ./run cluster tests it with real ones."""
import sys
import types
import unittest
from unittest import mock

import tenon
import tenon.mpi
from tenon import _constants as c
from tenon._loader import ffi


class Failure(Exception):
    def Get_error_class(self):
        return self.args[0]


class Status:
    def Get_count(self, kind):
        return self.count


class Request:
    def __init__(self, comm, words):
        self.comm, self.words, self.receives = comm, words, False
        self.cancelled = self.freed = False

    def Test(self, status=None):
        if self.comm.test_error:
            raise Failure(self.comm.test_error)
        if status is not None:
            status.count = self.comm.received
        return self.comm.done or self.cancelled

    def Cancel(self):
        self.cancelled = self.comm.received == 0

    def Free(self):
        self.freed = True


class Intracomm:
    """A communicator that returns what a test asks for, and keeps what it was asked."""

    def __init__(self):
        self.error = self.test_error = self.received = 0
        self.done = self.freed = False
        self.attribute, self.started, self.copies = None, [], []

    def Dup(self):
        self.copies.append(Intracomm())
        return self.copies[-1]

    def Free(self):
        self.freed = True

    def Set_errhandler(self, handler):
        self.handler = handler

    def Get_size(self):
        return 5

    def Get_rank(self):
        return 3

    def _start(self, message, peer, tag):
        if self.error:
            raise Failure(self.error)
        self.started.append((bytes(message[0]), message[1], message[2], peer, tag))
        return Request(self, message)

    Isend = Irecv = _start


def replacement(**more):
    """A module like mpi4py.MPI."""
    mpi = types.ModuleType("mpi4py.MPI")
    codes = ("ERR_BUFFER", "ERR_COUNT", "ERR_TYPE", "ERR_TAG", "ERR_COMM", "ERR_RANK", "ERR_ARG", "ERR_TRUNCATE",
             "ERR_NO_MEM")
    members = {**{name: i + 1 for i, name in enumerate(codes)}, "Intracomm": Intracomm, "Exception": Failure,
               "Status": Status, "BYTE": "byte", "ERRORS_RETURN": "return", "COMM_NULL": None, "THREAD_MULTIPLE": 3,
               "Is_initialized": lambda: True, "Is_finalized": lambda: False, "Query_thread": lambda: 3,
               "get_vendor": lambda: ("MPICH", (5, 0, 0)), **more}
    for name, member in members.items():
        setattr(mpi, name, member)
    return mpi


class Transports(unittest.TestCase):
    def use(self, **more):
        modules = {"mpi4py": types.ModuleType("mpi4py"), "mpi4py.MPI": replacement(**more)}
        patch = mock.patch.dict(sys.modules, modules)
        patch.start()
        self.addCleanup(patch.stop)

    def opened(self, **more):
        self.use(**more)
        comm = Intracomm()
        transport = tenon.mpi.Transport(comm)
        return transport, transport.table, comm.copies[0]

    def started(self, table, name="send", size=4):
        """Starts a message; returns its status and request."""
        memory, request = ffi.new("char[]", b"abcdefg"), ffi.new("void **")
        self.addCleanup(lambda: memory)
        return getattr(table, name)(table.state, 4, 32767, memory, size, request), request[0]

    def end_of(self, table, request):
        done = ffi.new("int *", 7)
        return table.test(table.state, request, done), done[0]

    def test_what_is_no_communicator(self):
        self.use()
        with self.assertRaisesRegex(TypeError, "comm.*Intracomm"):
            tenon.mpi.Transport("world")
        for more in ({"Is_initialized": lambda: False}, {"Is_finalized": lambda: True}):
            self.use(**more)
            with self.assertRaisesRegex(ValueError, "not initialized, or is finalized"):
                tenon.mpi.Transport(Intracomm())
        null = Intracomm()
        self.use(COMM_NULL=null)
        with self.assertRaisesRegex(ValueError, "COMM_NULL"):
            tenon.mpi.Transport(null)

    def test_the_table(self):
        for level in range(4):
            _, table, own = self.opened(Query_thread=lambda level=level: level)
            self.assertEqual((table.struct_size, table.size, table.rank), (ffi.sizeof("tenon_transport"), 5, 3))
            self.assertEqual(table.flags, c.TRANSPORT_THREADS if level == 3 else 0)
            self.assertEqual(own.handler, "return")
            self.assertFalse(table.shrink)

    def test_messages(self):
        _, table, own = self.opened()
        status, request = self.started(table)
        self.assertEqual((status, own.started), (c.OK, [(b"abcd", 4, "byte", 4, 32767)]))
        self.assertEqual(self.end_of(table, request), (c.OK, 0))
        own.done = True
        self.assertEqual(self.end_of(table, request), (c.OK, 1))
        for received, result in ((3, (c.ERROR_MISMATCH, 0)), (4, (c.OK, 1))):
            own.received = received
            self.assertEqual(self.end_of(table, self.started(table, "receive")[1]), result)
        table.destroy(table.state)
        self.assertTrue(own.freed)

    def test_errors(self):
        for code, expected in ((4, c.ERROR_INVALID_ARGUMENT), (8, c.ERROR_MISMATCH), (9, c.ERROR_OUT_OF_MEMORY),
                               (77, c.ERROR_PEER_LOST)):
            _, table, own = self.opened()
            own.error = code
            self.assertEqual(self.started(table)[0], expected)
            own.error, own.test_error = 0, code
            self.assertEqual(self.end_of(table, self.started(table)[1]), (expected, 0))
            table.destroy(table.state)
            self.assertEqual(own.freed, code != 77)  # MPI_Comm_free might wait for the lost process

    def test_cancelled(self):
        _, table, own = self.opened()
        self.assertEqual(table.cancel(table.state, self.started(table, "receive")[1]), c.OK)
        self.assertEqual(table.cancel(table.state, self.started(table, "send")[1]), c.ERROR_INCOMPLETE)
        own.received = 1  # the receive has begun
        self.assertEqual(table.cancel(table.state, self.started(table, "receive")[1]), c.ERROR_INCOMPLETE)
        table.destroy(table.state)
        self.assertFalse(own.freed)

    def test_nothing_is_called_when_the_interpreter_ends(self):
        _, table, own = self.opened()
        request = self.started(table)[1]
        tenon.mpi._close_all()
        own.test_error = 77
        self.assertEqual(self.end_of(table, request), (c.ERROR_PROCESS, 0))
        self.assertEqual(self.started(table)[0], c.ERROR_PROCESS)
        table.destroy(table.state)
        self.assertFalse(own.freed)


if __name__ == "__main__":
    unittest.main()

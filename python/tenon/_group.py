"""Groups: collective operations on tensors of several devices."""
import threading
from contextlib import ExitStack
from typing import Any, Callable, List, Optional, Sequence, Union

import numpy as np

from ._arguments import integer, sequence, wrong_type
from ._calls import to_tensor
from ._context import Context, Stream
from ._loader import check, ffi, lib
from ._makers import empty
from ._params import unknown
from ._tensor import Memory, Operand, Tensor
from ._words import WORDS

Member = Union[Stream, Context, str]
Operands = Sequence[Operand]
Outputs = Optional[Sequence[Tensor]]
_KINDS = WORDS["tenon_group_kind"]
_KEPT = 64  # calls whose memory is kept before they are waited for


def _stream(number: int, member: Member) -> Stream:
    if isinstance(member, str):
        member = Context(member)
    if isinstance(member, Context):
        return member.stream
    if not isinstance(member, Stream):
        raise wrong_type(f"Group: members[{number}]", "a tenon.Stream, a tenon.Context or a selector", member)
    return member


def _kind(name: str, kind: Union[str, int]) -> int:
    if not isinstance(kind, str):
        return integer(f"{name}: kind", kind, 0, 2**31 - 1)
    if kind.lower() not in _KINDS:
        raise unknown(f"{name}: kind", kind, _KINDS)
    return _KINDS[kind.lower()]


class Group:
    """Streams of several devices, and collective operations on tensors with one tensor for each of them.

        group = tenon.Group(["cpu/2:0", "cpu/2:1"])
        x = [tenon.zeros((4, 4), context=s.context) for s in group.streams]
        sums = group.all_reduce(x)

    A collective is one call for all members and does not wait: it begins when the earlier work of each member's
    stream is done, and later work of these streams waits for it. Elements are combined in the order of the
    ranks, so all members receive the same bits. Inputs are tensors of the members' contexts, or arrays, which
    are copied to them; if all inputs are arrays, the results are arrays too. Tensors that are not passed as y are
    made. Threads may share a group; calls are serialized.

    Parameters
    ----------
    members : sequence of Stream, Context or str
        The members in the order of their ranks, each stream once. A context stands for its stream. A selector,
        as for device_select, stands for a new context: "cpu/2:0" is the first half of a CPU.

    Raises
    ------
    InvalidArgument (ValueError)
        There are no members or too many, or a stream is given twice.
    DeviceNotFound (LookupError)
        No device matches a selector.
    """

    def __init__(self, members: Sequence[Member]):
        given = sequence("Group: members", "a sequence of tenon.Stream, tenon.Context or selectors", members)
        streams = [_stream(i, m) for i, m in enumerate(given)]
        out = ffi.new("tenon_group **")
        check(lib.tenon_group_create(ffi.new("tenon_stream *[]", [s._c for s in streams]), len(streams),
                                     ffi.NULL, out))
        self._streams = streams
        self._lock = threading.Lock()
        self._kept: List[List[Memory]] = []

        def destroy(c: Any, call: Any = lib.tenon_group_destroy, kept: Any = (streams, self._kept)) -> None:
            call(c)  # `kept` exists until then
        self._c = ffi.gc(out[0], destroy)

    @property
    def streams(self) -> List[Stream]:
        """The members' streams, in the order of the ranks."""
        return list(self._streams)

    @property
    def size(self) -> int:
        """The number of members."""
        return lib.tenon_group_size(self._c)

    @property
    def ranks(self) -> range:
        """The ranks of the members, in the order of `streams`."""
        return range(len(self._streams))

    def __len__(self) -> int:
        return self.size

    # Arguments -----------------------------------------------------------------------------------

    def _rank(self, name: str, rank: int) -> int:
        return integer(name, rank, 0, self.size - 1)

    def _tensor(self, name: str, value: Any, stream: Stream) -> Tensor:
        if not isinstance(value, (Tensor, np.ndarray)):
            raise wrong_type(name, "a tenon.Tensor or numpy.ndarray", value)
        made = to_tensor(name, value, None, stream.context, stream)
        if made.context is not stream.context:
            raise ValueError(f"{name} belongs to another context than the member's stream")
        return made

    def _inputs(self, name: str, values: Any) -> List[Tensor]:
        given = sequence(name, "a sequence of tenon.Tensor or numpy.ndarray", values)
        if len(given) != len(self._streams):
            raise ValueError(f"{name}: {len(given)} tensors; expected {len(self._streams)}, one for each member")
        return [self._tensor(f"{name}[{m}]", v, s) for m, (v, s) in enumerate(zip(given, self._streams))]

    def _output(self, name: str, value: Any, like: Tensor, shape: Sequence[int], stream: Stream) -> Tensor:
        if value is None:
            return empty(shape, like.dtype, stream.context)
        if not isinstance(value, Tensor):
            raise wrong_type(name, "a tenon.Tensor, which is written,", value)
        return self._tensor(name, value, stream)

    def _outputs(self, name: str, values: Any, like: Tensor, shape: Sequence[int]) -> List[Tensor]:
        if values is None:
            values = [None] * len(self._streams)
        given = sequence(name, "a sequence of tenon.Tensor", values)
        if len(given) != len(self._streams):
            raise ValueError(f"{name}: {len(given)} tensors; expected {len(self._streams)}, one for each member")
        return [self._output(f"{name}[{m}]", v, like, shape, s)
                for m, (v, s) in enumerate(zip(given, self._streams))]

    # Calls ---------------------------------------------------------------------------------------

    def _keep(self, tensors: Sequence[Tensor]) -> None:
        """Keeps the memory that a call uses: the group's thread accesses it after the call has returned."""
        if len(self._kept) >= _KEPT:
            self._finish()
        self._kept.append([t.memory for t in tensors])

    def _finish(self) -> None:
        status = lib.tenon_group_wait(self._c)
        self._kept.clear()
        check(status)

    def _call(self, function: Callable[..., int], arguments: Sequence[Any], used: Sequence[Any]) -> None:
        """Makes a call. `used` are the tensors with the streams of their members."""
        with self._lock, ExitStack() as locks:
            for tensor, stream in used:
                tensor.memory.use(stream)
            self._keep([tensor for tensor, _ in used])
            for stream in sorted(self._streams, key=id):  # in one order, so that two groups cannot block each other
                locks.enter_context(stream.lock)
            check(function(self._c, *arguments, ffi.NULL))

    def _all(self, tensors: Sequence[Tensor]) -> Any:
        return ffi.new("tenon_tensor[]", [t._c[0] for t in tensors])

    def _run(self, function: Callable[..., int], leading: Sequence[Any], x: Sequence[Tensor],
             y: Sequence[Tensor]) -> None:
        """Makes a call with one input and one output for each member."""
        used = [*zip(x, self._streams), *zip(y, self._streams)]
        self._call(function, [*leading, self._all(x), self._all(y)], used)

    def _result(self, y: List[Tensor], given: Any, inputs: Sequence[Any]) -> List[Any]:
        """Returns arrays if all inputs are arrays and no outputs are given."""
        if given is None and all(isinstance(x, np.ndarray) for x in inputs):
            return [t.numpy() for t in y]
        return y

    def all_reduce(self, x: Operands, *, kind: Union[str, int] = "sum", y: Outputs = None) -> List[Any]:
        """Combines the members' tensors; every member receives the result.

        Parameters
        ----------
        x : sequence of Tensor or numpy.ndarray
            One for each member, all of one shape and type: f64, f32, f16, bf16, i32 or i64.
        kind : str or int, default "sum"
            "sum", "mean" (not of integers), "product", "max" or "min".
        y : sequence of Tensor, default None
            One for each member, which receives the result; y[m] may be x[m]. None: new tensors.

        Returns
        -------
        list of Tensor or numpy.ndarray
            y.

        Raises
        ------
        InvalidArgument (ValueError)
            Shapes or types do not match. Also ValueError if the number of tensors is wrong.
        Error
            An earlier collective has failed after its call had returned.
        """
        inputs = self._inputs("Group.all_reduce: x", x)
        outputs = self._outputs("Group.all_reduce: y", y, inputs[0], inputs[0].shape)
        self._run(lib.tenon_group_all_reduce, [_kind("Group.all_reduce", kind)], inputs, outputs)
        return self._result(outputs, y, x)

    def reduce(self, x: Operands, root: int = 0, *, kind: Union[str, int] = "sum",
               y: Optional[Tensor] = None) -> Any:
        """Combines the members' tensors; the member `root` receives the result.

        Parameters
        ----------
        x, kind
            As in all_reduce.
        root : int, default 0
            A rank.
        y : Tensor, default None
            The tensor of that member that receives the result; None: a new one.

        Returns
        -------
        Tensor or numpy.ndarray
            y.

        Raises
        ------
        InvalidArgument (ValueError), Error
            As all_reduce.
        """
        inputs, stream = self._inputs("Group.reduce: x", x), self._streams[self._rank("Group.reduce: root", root)]
        output = self._output("Group.reduce: y", y, inputs[0], inputs[0].shape, stream)
        self._call(lib.tenon_group_reduce, [_kind("Group.reduce", kind), root, self._all(inputs), output._c],
                   [*zip(inputs, self._streams), (output, stream)])
        return self._result([output], y, x)[0]

    def reduce_scatter(self, x: Operands, *, kind: Union[str, int] = "sum", y: Outputs = None) -> List[Any]:
        """Combines the members' tensors; each member receives its part of the result along the first dimension,
        whose size is a multiple of the number of members.

        Parameters
        ----------
        x, kind, y
            As in all_reduce, but y[m] must not overlap x[m].

        Returns
        -------
        list of Tensor or numpy.ndarray
            y.

        Raises
        ------
        InvalidArgument (ValueError), Error
            As all_reduce.
        """
        inputs = self._inputs("Group.reduce_scatter: x", x)
        shape = [n // self.size if d == 0 else n for d, n in enumerate(inputs[0].shape)]
        outputs = self._outputs("Group.reduce_scatter: y", y, inputs[0], shape)
        self._run(lib.tenon_group_reduce_scatter, [_kind("Group.reduce_scatter", kind)], inputs, outputs)
        return self._result(outputs, y, x)

    def all_gather(self, x: Operands, *, y: Outputs = None) -> List[Any]:
        """Gives every member the tensors of all, one after the other along the first dimension.

        Parameters
        ----------
        x : sequence of Tensor or numpy.ndarray
            One for each member, all of one shape and type; of rank 1 or more.
        y : sequence of Tensor, default None
            As in all_reduce; x[m] may be the m-th part of y[m].

        Returns
        -------
        list of Tensor or numpy.ndarray
            y.

        Raises
        ------
        InvalidArgument (ValueError), Error
            As all_reduce.
        """
        inputs = self._inputs("Group.all_gather: x", x)
        shape = [n * self.size if d == 0 else n for d, n in enumerate(inputs[0].shape)]
        outputs = self._outputs("Group.all_gather: y", y, inputs[0], shape)
        self._run(lib.tenon_group_all_gather, [], inputs, outputs)
        return self._result(outputs, y, x)

    def broadcast(self, x: Operand, root: int = 0, *, y: Outputs = None) -> List[Any]:
        """Gives every member the tensor of the member `root`.

        Parameters
        ----------
        x : Tensor or numpy.ndarray
            The tensor of that member.
        root : int, default 0
            A rank.
        y : sequence of Tensor, default None
            As in all_reduce; y[root] may be x.

        Returns
        -------
        list of Tensor or numpy.ndarray
            y.

        Raises
        ------
        InvalidArgument (ValueError), Error
            As all_reduce.
        """
        stream = self._streams[self._rank("Group.broadcast: root", root)]
        given = self._tensor("Group.broadcast: x", x, stream)
        outputs = self._outputs("Group.broadcast: y", y, given, given.shape)
        self._call(lib.tenon_group_broadcast, [root, given._c, self._all(outputs)],
                   [(given, stream), *zip(outputs, self._streams)])
        return self._result(outputs, y, [x])

    def all_to_all(self, x: Operands, *, y: Outputs = None) -> List[Any]:
        """Gives each member a part of every other member's tensor: part j of y[m] is part m of x[j], where tensors
        are divided into equal parts along the first dimension, one for each member.

        Parameters
        ----------
        x : sequence of Tensor or numpy.ndarray
            One for each member, all of one shape and type.
        y : sequence of Tensor, default None
            As in all_reduce, but y[m] must not overlap x[m].

        Returns
        -------
        list of Tensor or numpy.ndarray
            y.

        Raises
        ------
        InvalidArgument (ValueError), Error
            As all_reduce.
        """
        inputs = self._inputs("Group.all_to_all: x", x)
        outputs = self._outputs("Group.all_to_all: y", y, inputs[0], inputs[0].shape)
        self._run(lib.tenon_group_all_to_all, [], inputs, outputs)
        return self._result(outputs, y, x)

    def transfer(self, x: Operand, source: int, target: int, *, y: Optional[Tensor] = None) -> Any:
        """Copies a tensor from the member of rank `source` to the member of rank `target`.

        Parameters
        ----------
        x : Tensor or numpy.ndarray
            The tensor of the source.
        source, target : int
            Ranks, which may be equal.
        y : Tensor, default None
            The tensor of the target to write to, of x's shape and type; None: a new one.

        Returns
        -------
        Tensor or numpy.ndarray
            y.

        Raises
        ------
        InvalidArgument (ValueError), Error
            As all_reduce.
        """
        giver = self._streams[self._rank("Group.transfer: source", source)]
        taker = self._streams[self._rank("Group.transfer: target", target)]
        given = self._tensor("Group.transfer: x", x, giver)
        output = self._output("Group.transfer: y", y, given, given.shape, taker)
        self._call(lib.tenon_group_transfer, [source, target, given._c, output._c],
                   [(given, giver), (output, taker)])
        return self._result([output], y, [x])[0]

    def barrier(self) -> None:
        """Makes later work of every member's stream wait for the earlier work of all of them. Does not wait itself."""
        self._call(lib.tenon_group_barrier, [], [])

    def wait(self) -> None:
        """Waits until all collectives are done.

        Raises
        ------
        Error
            A collective has failed after its call had returned; the exception is that of its status.
        """
        with self._lock:
            self._finish()

    def __repr__(self) -> str:
        return f"<tenon.Group of {self.size} members>"

"""Calls of groups: checks their arguments, keeps the memory that they use, and makes them."""
import threading
from contextlib import ExitStack
from typing import Any, Callable, List, Sequence, Union

import numpy as np

from ._arguments import integer, sequence, wrong_type
from ._calls import to_tensor
from ._context import Context, Stream
from ._loader import check, ffi, lib
from ._makers import empty
from ._params import unknown
from ._tensor import Memory, Tensor
from ._words import WORDS

Member = Union[Stream, Context, str]
_KINDS = WORDS["tenon_group_kind"]
_LOOK, _MOST = 64, 1024  # calls whose memory is kept before the group is polled, and before it is waited for


def stream_of_member(number: int, member: Member) -> Stream:
    if isinstance(member, str):
        member = Context(member)
    if isinstance(member, Context):
        return member.stream
    if not isinstance(member, Stream):
        raise wrong_type(f"Group: members[{number}]", "a tenon.Stream, a tenon.Context or a selector", member)
    return member


def table_of(transport: Any) -> Any:
    """Returns the table of functions of a transport."""
    table = getattr(transport, "table", transport)
    if isinstance(table, ffi.CData) and ffi.typeof(table).kind == "struct":
        table = ffi.addressof(table)
    if not isinstance(table, ffi.CData) or ffi.typeof(table) is not ffi.typeof("tenon_transport *"):
        raise wrong_type("Group: transport", "an object whose `table` is a tenon_transport", transport)
    return table


def kind_of(name: str, kind: Union[str, int]) -> int:
    if not isinstance(kind, str):
        return integer(f"{name}: kind", kind, 0, 2**31 - 1)
    if kind.lower() not in _KINDS:
        raise unknown(f"{name}: kind", kind, _KINDS)
    return _KINDS[kind.lower()]


class Calls:
    """The base of Group, and never used alone."""

    def _take(self, c: Any, streams: List[Stream], transport: Any) -> None:
        """Becomes the owner of a group of the library."""
        self._streams, self._transport = streams, transport
        self._lock = threading.Lock()
        self._kept: List[List[Memory]] = []
        first = lib.tenon_group_first_rank(c)
        self._ranks = range(first, first + lib.tenon_group_local_count(c))

        def destroy(c: Any, call: Any = lib.tenon_group_destroy, kept: Any = (streams, transport, self._kept)) -> None:
            call(c)  # `kept` exists until then
        self._c = ffi.gc(c, destroy)

    # Arguments -----------------------------------------------------------------------------------

    def _rank(self, name: str, rank: int) -> int:
        return integer(name, rank, 0, lib.tenon_group_size(self._c) - 1)

    def _own(self, name: str, rank: int) -> Stream:
        """Returns the stream of a member of this process."""
        if self._rank(name, rank) not in self._ranks:
            raise ValueError(f"{name}: {rank} is not a member of this process, which has {self._ranks[0]} to "
                             f"{self._ranks[-1]}")
        return self._streams[rank - self._ranks[0]]

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

    def _output(self, name: str, value: Any, like: Any, shape: Sequence[int], stream: Stream) -> Tensor:
        if value is None:
            return empty(shape, like.dtype, stream.context)
        if not isinstance(value, Tensor):
            raise wrong_type(name, "a tenon.Tensor, which is written,", value)
        return self._tensor(name, value, stream)

    def _outputs(self, name: str, values: Any, like: Any, shape: Sequence[int]) -> List[Tensor]:
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
        if len(self._kept) >= _MOST:
            self._finish()
        elif len(self._kept) % _LOOK == _LOOK - 1:
            self._poll()
        self._kept.append([t.memory for t in tensors])

    def _poll(self) -> bool:
        busy = ffi.new("int *")
        check(lib.tenon_group_poll(self._c, busy))
        if not busy[0]:
            self._kept.clear()
        return bool(busy[0])

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

    def _run(self, name: str, function: Callable[..., int], leading: Sequence[Any], x: Any, y: Any,
             first_size: Callable[[int], int] = int) -> List[Any]:
        """Makes a call with one input and one output for each member, and returns the outputs. `first_size` returns
        the size of an output's first dimension from that of an input."""
        inputs = self._inputs(f"{name}: x", x)
        shape = [first_size(n) if d == 0 else n for d, n in enumerate(inputs[0].shape)]
        outputs = self._outputs(f"{name}: y", y, inputs[0], shape)
        used = [*zip(inputs, self._streams), *zip(outputs, self._streams)]
        self._call(function, [*leading, self._all(inputs), self._all(outputs)], used)
        return self._result(outputs, y, x)

    def _result(self, y: List[Tensor], given: Any, inputs: Sequence[Any]) -> List[Any]:
        """Returns arrays if all inputs are arrays and no outputs are given."""
        if given is None and all(isinstance(x, np.ndarray) for x in inputs):
            return [t.numpy() for t in y]
        return y

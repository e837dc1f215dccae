"""Groups: collective operations on tensors of several devices."""
from typing import Any, List, Optional, Sequence, Union

from ._arguments import real, sequence, unsigned
from ._context import Stream
from ._group_calls import Calls, Member, kind_of, stream_of_member, table_of
from ._loader import check, defaults, ffi, lib
from ._makers import empty
from ._tensor import Operand, Shape, Tensor, shape_tuple

Operands = Sequence[Operand]
Outputs = Optional[Sequence[Tensor]]


def _rows(name: str, values: Any) -> List[List[Any]]:
    return [sequence(f"{name}[{m}]", "a sequence of tenon.Tensor", row)
            for m, row in enumerate(sequence(name, "a sequence of sequences", values))]


class Group(Calls):
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
        The members in the order of their ranks, each stream once; with a transport, those of this process. A
        context stands for its stream. A selector, as for device_select, stands for a new context: "cpu/2:0" is
        the first half of a CPU.
    transport : object, default None
        Connects the processes of a group: an object whose attribute `table` is a tenon_transport of tenon.ffi, such
        as tenon.mpi.Transport, or that struct itself. All processes make the group, and later the same calls in the
        same order, each with the tensors of its own members. None: all members are in this process.
    deadline : float, default None
        The longest time in seconds that a collective waits for other processes; None: 600.
    chunk_bytes : int, default 0
        Data between processes is divided into parts of this size, the same in all processes; 0: automatic.

    Raises
    ------
    InvalidArgument (ValueError)
        There are no members or too many, or a stream is given twice.
    DeviceNotFound (LookupError)
        No device matches a selector.
    PeerLost (ConnectionError), Timeout (TimeoutError), Mismatch (ValueError)
        Another process was lost, did not answer within the deadline, or has other parameters.
    """

    def __init__(self, members: Sequence[Member], *, transport: Any = None, deadline: Optional[float] = None,
                 chunk_bytes: int = 0):
        given = sequence("Group: members", "a sequence of tenon.Stream, tenon.Context or selectors", members)
        streams = [stream_of_member(i, m) for i, m in enumerate(given)]
        params = defaults("tenon_group_params")
        if transport is not None:
            params.transport = table_of(transport)
        if deadline is not None:
            params.deadline_s = real("Group: deadline", deadline)
        params.chunk_bytes = unsigned("Group: chunk_bytes", chunk_bytes)
        out = ffi.new("tenon_group **")
        check(lib.tenon_group_create(ffi.new("tenon_stream *[]", [s._c for s in streams]), len(streams),
                                     params, out))
        self._take(out[0], streams, transport)

    @property
    def streams(self) -> List[Stream]:
        """The streams of the members in this process, in the order of the ranks."""
        return list(self._streams)

    @property
    def size(self) -> int:
        """The number of members, in all processes."""
        return lib.tenon_group_size(self._c)

    @property
    def ranks(self) -> range:
        """The ranks of the members in this process."""
        return self._ranks

    def __len__(self) -> int:
        return self.size

    def all_reduce(self, x: Operands, *, kind: Union[str, int] = "sum", y: Outputs = None) -> List[Any]:
        """Combines the members' tensors; every member receives the result.

        Parameters
        ----------
        x : sequence of Tensor or numpy.ndarray
            One for each member of this process, all of one shape and type: f64, f32, f16, bf16, i32 or i64.
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
            An earlier collective has failed after its call had returned; the exception is that of its status:
            PeerLost, Timeout or Mismatch if another process was lost, late, or made another call.
        """
        name = "Group.all_reduce"
        return self._run(name, lib.tenon_group_all_reduce, [kind_of(name, kind)], x, y)

    def all_reduce_many(self, x: Sequence[Operands], *, kind: Union[str, int] = "sum",
                        y: Optional[Sequence[Sequence[Tensor]]] = None) -> List[List[Any]]:
        """Combines many tensors of each member at once, which is faster than one by one if they are small.

        Parameters
        ----------
        x : sequence of sequences of Tensor or numpy.ndarray
            For each member its tensors, as many as the others have; all of one type; tensor i has the same shape for
            every member.
        kind : str or int, default "sum"
            As in all_reduce.
        y : sequence of sequences of Tensor, default None
            The tensors that receive the results, in the same order; y[m][i] may be x[m][i]. None: new tensors.

        Returns
        -------
        list of list of Tensor or numpy.ndarray
            y.

        Raises
        ------
        InvalidArgument (ValueError), Error
            As all_reduce.
        """
        name = "Group.all_reduce_many"
        given = _rows(f"{name}: x", x)
        outputs = [[None] * len(row) for row in given] if y is None else _rows(f"{name}: y", y)
        counts = {len(row) for row in [*given, *outputs]}
        if len(given) != len(self._streams) or len(outputs) != len(given) or len(counts) != 1:
            raise ValueError(f"{name}: x and y need a list for each of {len(self._streams)} members, all of one length")
        inputs, made = [], []
        for m, stream in enumerate(self._streams):
            for i, (value, output) in enumerate(zip(given[m], outputs[m])):
                inputs.append(self._tensor(f"{name}: x[{m}][{i}]", value, stream))
                made.append(self._output(f"{name}: y[{m}][{i}]", output, inputs[-1], inputs[-1].shape, stream))
        count = counts.pop()
        at = [s for s in self._streams for _ in range(count)]
        self._call(lib.tenon_group_all_reduce_many, [kind_of(name, kind), count, self._all(inputs), self._all(made)],
                   [*zip(inputs, at), *zip(made, at)])
        results = self._result(made, y, [value for row in given for value in row])
        return [results[m * count:(m + 1) * count] for m in range(len(given))]

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
            y; None in processes without that member.

        Raises
        ------
        InvalidArgument (ValueError), Error
            As all_reduce.
        """
        inputs, leading = self._inputs("Group.reduce: x", x), [kind_of("Group.reduce", kind), root]
        used: List[Any] = [*zip(inputs, self._streams)]
        if self._rank("Group.reduce: root", root) not in self._ranks:
            self._call(lib.tenon_group_reduce, [*leading, self._all(inputs), ffi.NULL], used)
            return None
        stream = self._own("Group.reduce: root", root)
        output = self._output("Group.reduce: y", y, inputs[0], inputs[0].shape, stream)
        self._call(lib.tenon_group_reduce, [*leading, self._all(inputs), output._c], [*used, (output, stream)])
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
        name = "Group.reduce_scatter"
        return self._run(name, lib.tenon_group_reduce_scatter, [kind_of(name, kind)], x, y, lambda n: n // self.size)

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
        return self._run("Group.all_gather", lib.tenon_group_all_gather, [], x, y, lambda n: n * self.size)

    def broadcast(self, x: Optional[Operand], root: int = 0, *, y: Outputs = None) -> List[Any]:
        """Gives every member the tensor of the member `root`.

        Parameters
        ----------
        x : Tensor or numpy.ndarray
            The tensor of that member; None in processes without that member.
        root : int, default 0
            A rank.
        y : sequence of Tensor, default None
            As in all_reduce; the tensor of the member `root` may be x. Required in processes without that member.

        Returns
        -------
        list of Tensor or numpy.ndarray
            y.

        Raises
        ------
        InvalidArgument (ValueError), Error
            As all_reduce.
        """
        if self._rank("Group.broadcast: root", root) not in self._ranks:
            if x is not None or y is None:
                raise ValueError("Group.broadcast: in a process without the member `root`, x must be None and y is "
                                 "required")
            outputs = self._outputs("Group.broadcast: y", y, None, ())
            self._call(lib.tenon_group_broadcast, [root, ffi.NULL, self._all(outputs)],
                       [*zip(outputs, self._streams)])
            return outputs
        stream = self._own("Group.broadcast: root", root)
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
        return self._run("Group.all_to_all", lib.tenon_group_all_to_all, [], x, y)

    def send(self, x: Operand, source: int, target: int) -> None:
        """Sends a tensor of a member of this process to another member, which receives it.

        Sends from one member to another are received in the order of their calls, and are independent of other calls.
        A send is done when the tensor has been copied; it does not wait for the receiver.

        Parameters
        ----------
        x : Tensor or numpy.ndarray
            The tensor of the source.
        source, target : int
            Ranks, which may be equal.

        Raises
        ------
        InvalidArgument (ValueError), Error
            As all_reduce.
        """
        stream = self._own("Group.send: source", source)
        given = self._tensor("Group.send: x", x, stream)
        self._call(lib.tenon_group_send, [source, self._rank("Group.send: target", target), given._c],
                   [(given, stream)])

    def receive(self, source: int, target: int, y: Union[Tensor, Shape], *, dtype: Any = "f32") -> Tensor:
        """Receives a tensor in a member of this process. Later work of its stream waits for it.

        Parameters
        ----------
        source, target : int
            Ranks, as in send.
        y : Tensor or shape
            A tensor of the target to write to, of the type and shape that is sent; or the shape of a new one.
        dtype : str or NumPy's type, default "f32"
            The type of a new tensor.

        Returns
        -------
        Tensor
            y.

        Raises
        ------
        InvalidArgument (ValueError), Error
            As all_reduce.
        """
        stream = self._own("Group.receive: target", target)
        output = y if isinstance(y, Tensor) else empty(
            shape_tuple(y, "Group.receive: y", "a tenon.Tensor or a shape"), dtype, stream.context)
        made = self._tensor("Group.receive: y", output, stream)
        self._call(lib.tenon_group_receive, [self._rank("Group.receive: source", source), target, made._c],
                   [(made, stream)])
        return made

    def transfer(self, x: Operand, source: int, target: int, *, y: Optional[Tensor] = None) -> Any:
        """Copies a tensor from one member of this process to another: send and receive in one call.

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
        given = self._tensor("Group.transfer: x", x, self._own("Group.transfer: source", source))
        output = self._output("Group.transfer: y", y, given, given.shape,
                              self._own("Group.transfer: target", target))
        if (output.dtype, output.shape) != (given.dtype, given.shape):
            raise ValueError(f"Group.transfer: y is {output.dtype} {output.shape}, x is {given.dtype} {given.shape}")
        self.send(given, source, target)
        self.receive(source, target, output)
        return self._result([output], y, [x])[0]

    def barrier(self) -> None:
        """Makes later work of every member's stream wait for the earlier work of all members. Does not wait itself."""
        self._call(lib.tenon_group_barrier, [], [])

    def poll(self) -> bool:
        """Makes progress without waiting. Required, between other calls, only for transports that cannot be used by a
        thread of the group.

        Returns
        -------
        bool
            True if a collective, send or receive has not ended.

        Raises
        ------
        Error
            As wait.
        """
        with self._lock:
            return self._poll()

    def shrink(self) -> "Group":
        """Returns a group of the processes that are left after a failure; all of them call this. The members keep their
        order, with new ranks. The old group cannot be used any more.

        Raises
        ------
        Unsupported (NotImplementedError)
            There is no transport, or it cannot shrink.
        Error
            As for Group.
        """
        out = ffi.new("tenon_group **")
        with self._lock:
            check(lib.tenon_group_shrink(self._c, out))
        made = Group.__new__(Group)
        made._take(out[0], self._streams, self._transport)
        return made

    def wait(self) -> None:
        """Waits until all collectives, sends and receives are done. If the transport cannot be used by a thread of the
        group, call this before anything that waits for a stream, such as Tensor.numpy.

        Raises
        ------
        Error
            A collective has failed after its call had returned; the exception is that of its status.
        """
        with self._lock:
            self._finish()

    def __repr__(self) -> str:
        return f"<tenon.Group of {self.size} members>"

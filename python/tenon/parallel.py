"""Helpers for parallel training on a tenon.Group.

| Kind | Helper |
|---|---|
| data parallel, with gradients summed in buckets during the backward pass | Buckets |
| data parallel on unequal devices, with shares of the batch by measured speed | Shares, divide |
| sharded optimizer state (ZeRO-1) | ShardedAdam |
| sharded parameters, gradients and optimizer state (ZeRO-3, FSDP) | ShardedLayers |
| tensor parallel: the columns and rows of two products | ColumnParallel, RowParallel |
| pipeline parallel, one forward, one backward | one_forward_one_backward |
| expert parallel: rows are sent to their experts and back | Exchange |
| several kinds together | mesh |

Sums are those of Group: in the order of the ranks, with the same bits on every member. One device that adds the
gradients of the same parts in this order therefore trains to the same bits. Objects hold one tensor for each member of
this process, in the order of Group.streams.
"""
import math
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np

from . import _operations as operations
from ._context import Context, Stream, default_context
from ._errors import Error
from ._exchange import Exchange
from ._group import Group
from ._group_calls import stream_of_member
from ._makers import empty, tensor, zeros
from ._shares import Shares, divide
from ._tensor import Shape, Tensor, dtype_name, shape_tuple
from ._types import BITS

__all__ = ["Buckets", "ColumnParallel", "Exchange", "Flat", "RowParallel", "ShardedAdam", "ShardedLayers", "Shares",
           "Step", "divide", "mesh", "one_forward_one_backward", "streams"]
_ALIGNMENT = 64  # elements; views begin at multiples of it


def streams(count: int, device: Optional[str] = None) -> List[Stream]:
    """Returns streams for the members of a group on one device: each on an equal part of the device if it can be
    divided into so many, otherwise all on the whole device, in one context.

    Parameters
    ----------
    count : int
        The number of streams.
    device : str, default None
        A selector, as for device_select; None: the device of the default context.

    Returns
    -------
    list of Stream
    """
    context = default_context() if device is None else Context(device)
    if count > 1:
        try:
            return [Context(f"{context.device.selector}/{count}:{m}").stream for m in range(count)]
        except Error:
            pass  # the device has too few compute units, or cannot be divided
    return [Stream(context) for _ in range(count)]


class Flat:
    """Tensors of given shapes one after the other in an array, whose size is a multiple of `parts`."""

    def __init__(self, shapes: Sequence[Shape], parts: int = 1):
        self.shapes = [shape_tuple(s) for s in shapes]
        self.starts, end = [], 0
        for shape in self.shapes:
            self.starts.append(end)
            end += -(-math.prod(shape) // _ALIGNMENT) * _ALIGNMENT
        multiple = _ALIGNMENT * parts
        self.size = max(-(-end // multiple) * multiple, multiple)

    def views(self, array: Tensor) -> List[Tensor]:
        """Returns the tensors as views of the array."""
        return [array[start:start + math.prod(shape)].reshape(shape)
                for start, shape in zip(self.starts, self.shapes)]

    def array(self, values: Sequence[np.ndarray], dtype: Any) -> np.ndarray:
        """Returns the array with these values, as a NumPy array."""
        made = np.zeros(self.size, dtype)
        for start, value in zip(self.starts, values):
            made[start:start + value.size] = np.asarray(value).ravel()
        return made


class Buckets:
    """Gradients of data-parallel members, combined in buckets during the backward pass.

        buckets = Buckets(group, [p.shape for p in parameters])
        for i in reversed(range(len(parameters))):
            for m in range(len(group.streams)):
                ...  # enqueue what writes buckets.gradients[m][i]
                buckets.ready(m, i)
        buckets.finish()
        ...  # enqueue what reads buckets.gradients

    A bucket has the gradients of successive parameters, from the last one to the first. It is combined as soon as all
    of them have been written by all members. Later work on streams of a group waits for its collectives: for an
    overlap with the backward pass, create the group with other streams than those of the backward pass.

    Parameters
    ----------
    group : Group
        The members.
    shapes : sequence of shapes
        The shapes of the parameters, in the order of the forward pass.
    dtype : str or NumPy's type, default "f32"
        The type of the gradients.
    kind : str, default "sum"
        As in Group.all_reduce.
    bytes : int, default 25 MiB
        The minimum size of a bucket: parameters are added to it until it is reached.
    """

    def __init__(self, group: Group, shapes: Sequence[Shape], *, dtype: Any = "f32", kind: str = "sum",
                 bytes: int = 25 << 20):
        self.group, self.kind = group, kind
        self.gradients: List[List[Any]] = [[None] * len(shapes) for _ in group.streams]
        self._arrays: List[List[Tensor]] = []  # of each bucket
        self._buckets: List[List[int]] = []
        self._bucket_of: Dict[int, int] = {}
        self._size = len(shapes)
        chosen: List[int] = []
        for i in reversed(range(len(shapes))):
            chosen.append(i)
            if self._add(chosen, shapes, dtype, bytes if i > 0 else 0):
                chosen = []
        self._missing: List[set] = []
        self._begin()

    def _add(self, chosen: List[int], shapes: Sequence[Shape], dtype: Any, least: int) -> bool:
        """Makes a bucket of the chosen parameters, if it is large enough."""
        flat = Flat([shapes[i] for i in chosen])
        if flat.size * BITS[dtype_name(dtype)] < 8 * least:
            return False
        arrays = [zeros(flat.size, dtype, s.context) for s in self.group.streams]
        for gradients, array in zip(self.gradients, arrays):
            for i, view in zip(chosen, flat.views(array)):
                gradients[i] = view
        self._bucket_of.update({i: len(self._buckets) for i in chosen})
        self._buckets.append(list(chosen))
        self._arrays.append(arrays)
        return True

    def _begin(self) -> None:
        members = range(len(self.group.streams))
        self._missing = [{(m, i) for m in members for i in chosen} for chosen in self._buckets]

    def __len__(self) -> int:
        """Returns the number of buckets."""
        return len(self._buckets)

    def ready(self, member: int, index: int) -> None:
        """Declares that the work that writes gradients[member][index] has been enqueued.

        Raises
        ------
        ValueError
            There is no such gradient, or it was declared already since the last finish.
        """
        bucket = self._bucket_of.get(index, -1)
        if bucket < 0 or (member, index) not in self._missing[bucket]:
            raise ValueError(f"Buckets.ready: gradient {index} of member {member} does not exist or is ready already")
        self._missing[bucket].remove((member, index))
        if not self._missing[bucket]:
            self.group.all_reduce(self._arrays[bucket], kind=self.kind, y=self._arrays[bucket])

    def finish(self) -> None:
        """Ends the backward pass: the gradients are the combined ones for work that is enqueued from now on.

        Raises
        ------
        ValueError
            A gradient is not ready.
        """
        missing = sorted(set().union(*self._missing))
        if missing:
            raise ValueError(f"Buckets.finish: gradient {missing[0][1]} of member {missing[0][0]} is not ready")
        self._begin()


def _numpy(values: Sequence[Any]) -> List[np.ndarray]:
    arrays = [v.numpy() if isinstance(v, Tensor) else np.asarray(v) for v in values]
    if not arrays or any(a.dtype != arrays[0].dtype for a in arrays):
        raise ValueError(f"parameters of one type are required, not {sorted({str(a.dtype) for a in arrays})}")
    return arrays


class _Shards:
    """The part of a flat array that each member keeps: its values, gradients and moments."""

    def __init__(self, group: Group, array: np.ndarray, values: Optional[List[Tensor]] = None):
        parts = np.split(array, group.size)
        self.size, self._streams = parts[0].size, group.streams
        if values is None:
            values = [tensor(parts[r], stream=s) for r, s in zip(group.ranks, group.streams)]
        self.values = values
        self.gradients = [empty(self.size, v.dtype, v.context) for v in values]
        self._moments = [(zeros(self.size, v.dtype, v.context), zeros(self.size, v.dtype, v.context)) for v in values]

    def step(self, number: int, options: Dict[str, Any]) -> None:
        for stream, value, gradient, moments in zip(self._streams, self.values, self.gradients, self._moments):
            operations.adam(gradient, value, *moments, step=number, stream=stream, **options)


class ShardedAdam:
    """Adam for data-parallel members, each of which keeps the moments of an equal part of the parameters (ZeRO-1).

        optimizer = ShardedAdam(group, parameters, learning_rate=0.01)
        ...  # enqueue what reads optimizer.parameters[m] and writes optimizer.gradients[m]
        optimizer.step()

    A step adds the gradients of all members, updates each part on its member and gives it to the others. Memory of a
    member in bytes of the parameters: 1 for them, 1 for their gradients and 3/n for moments and the sum of gradients.

    Parameters
    ----------
    group : Group
        The members.
    parameters : sequence of numpy.ndarray or Tensor
        The initial values, of one type; they are copied.
    **options
        Parameters of tenon.adam.
    """

    def __init__(self, group: Group, parameters: Sequence[Any], **options: Any):
        given = _numpy(parameters)
        flat = Flat([g.shape for g in given], group.size)
        array = flat.array(given, given[0].dtype)
        self.group, self.options, self.steps = group, options, 0
        self._values = [tensor(array, stream=s) for s in group.streams]
        self._gradients = [zeros(flat.size, v.dtype, v.context) for v in self._values]
        part = flat.size // group.size
        self._shards = _Shards(group, array, [v[r * part:(r + 1) * part] for r, v in zip(group.ranks, self._values)])
        self.parameters = [flat.views(v) for v in self._values]
        self.gradients = [flat.views(g) for g in self._gradients]

    def step(self) -> None:
        """Adds the gradients and updates the parameters of every member."""
        self.steps += 1
        self.group.reduce_scatter(self._gradients, y=self._shards.gradients)
        self._shards.step(self.steps, self.options)
        self.group.all_gather(self._shards.values, y=self._values)


class ShardedLayers:
    """Layers whose parameters, gradients and moments of Adam are divided among data-parallel members (ZeRO-3, FSDP).

        layers = ShardedLayers(group, [[w1, b1], [w2, b2]], learning_rate=0.01)
        for i in range(len(layers)):
            parameters = layers.gather(i)     # enqueue the forward pass, which reads parameters[m]
        for i in reversed(range(len(layers))):
            parameters = layers.gather(i)
            gradients = layers.gradients(i)   # enqueue the backward pass, which writes gradients[m]
            layers.reduce(i)
        layers.step()

    The whole parameters of a layer exist only while they are used. A member keeps 1/n of the parameters, of the sums of
    gradients and of the moments, and buffers for the parameters of two layers and the gradients of one.

    Parameters
    ----------
    group : Group
        The members.
    layers : sequence of sequences of numpy.ndarray or Tensor
        The initial values of each layer's parameters, all of one type; they are copied.
    **options
        Parameters of tenon.adam.
    """

    def __init__(self, group: Group, layers: Sequence[Sequence[Any]], **options: Any):
        given = [_numpy(layer) for layer in layers]
        dtype = _numpy([value for layer in given for value in layer])[0].dtype
        self.group, self.options, self.steps = group, options, 0
        self._flats = [Flat([v.shape for v in layer], group.size) for layer in given]
        self._shards = [_Shards(group, flat.array(layer, dtype)) for flat, layer in zip(self._flats, given)]
        largest = max(flat.size for flat in self._flats)
        self._buffers = [[empty(largest, dtype, s.context) for s in group.streams] for _ in range(2)]
        self._inside: List[Optional[int]] = [None, None]  # the layers whose parameters are in the buffers
        self._last = 0
        self._gradients = [zeros(largest, dtype, s.context) for s in group.streams]

    def __len__(self) -> int:
        """Returns the number of layers."""
        return len(self._flats)

    def gather(self, layer: int) -> List[List[Tensor]]:
        """Returns the parameters of a layer for each member. They are valid until two other layers are gathered."""
        if layer not in self._inside:
            self._last = 1 - self._last
            self._inside[self._last] = layer
            whole = [r[:self._flats[layer].size] for r in self._buffers[self._last]]
            self.group.all_gather(self._shards[layer].values, y=whole)
        self._last = self._inside.index(layer)
        return [self._flats[layer].views(r) for r in self._buffers[self._last]]

    def gradients(self, layer: int) -> List[List[Tensor]]:
        """Returns the tensors of each member for the gradients of a layer, which share memory with those of others."""
        return [self._flats[layer].views(g) for g in self._gradients]

    def reduce(self, layer: int) -> None:
        """Adds the gradients of a layer; each member keeps its part of the sum."""
        size = self._flats[layer].size
        self.group.reduce_scatter([g[:size] for g in self._gradients], y=self._shards[layer].gradients)

    def step(self) -> None:
        """Updates all parameters. Gathered ones are no longer valid."""
        self.steps += 1
        for shard in self._shards:
            shard.step(self.steps, self.options)
        self._inside = [None, None]


class _Product:
    """One of the products of a tensor-parallel pair: y = activation(x w + bias) on each member."""

    def __init__(self, group: Group, w: Any, bias: Any, axis: int, activation: str):
        parts = np.split(np.asarray(w), group.size, axis)
        biases = np.split(np.asarray(bias), group.size) if axis == 1 else [np.asarray(bias)] * group.size
        self.group, self.activation = group, activation
        at = list(zip(group.ranks, group.streams))
        self.w = [tensor(np.ascontiguousarray(parts[r]), stream=s) for r, s in at]
        self.bias = [tensor(np.ascontiguousarray(biases[r]), stream=s) for r, s in at]
        self.dw: List[Tensor] = []
        self.dbias: List[Tensor] = []
        self._x: List[Tensor] = []
        self._y: List[Tensor] = []

    def _gradients(self, dy: Sequence[Tensor]) -> List[Tensor]:
        """Sets the gradients of the parameters and returns those of x of each member."""
        at = list(zip(self.group.streams, self._x, self.w, dy))
        self.dw = [operations.gemm(x.T, d, stream=s) for s, x, _, d in at]
        self.dbias = [operations.reduce(d, axes=0, stream=s) for s, _, _, d in at]
        return [operations.gemm(d, w.T, stream=s) for s, _, w, d in at]


class ColumnParallel(_Product):
    """A product whose columns are divided: member m computes part m of y = activation(x w + bias) from the whole x.

    With RowParallel after it, a pair of products needs one all-reduce in each direction (Megatron-LM).

    Parameters
    ----------
    group : Group
        The members.
    w, bias : numpy.ndarray
        The whole parameters, of shapes inputs × outputs and outputs; the outputs are a multiple of the number of
        members.
    activation : str, default "identity"
        Applied to y; its derivative follows from y.
    """

    def __init__(self, group: Group, w: Any, bias: Any, activation: str = "identity"):
        super().__init__(group, w, bias, 1, activation)

    def forward(self, x: Sequence[Tensor]) -> List[Tensor]:
        """Returns each member's columns of y; x is the same on all members."""
        self._x = list(x)
        self._y = [operations.gemm(a, w, bias=b, activation=self.activation, stream=s)
                   for s, a, w, b in zip(self.group.streams, x, self.w, self.bias)]
        return self._y

    def backward(self, dy: Sequence[Tensor]) -> List[Tensor]:
        """Sets dw and dbias, and returns the gradient of x, the same on all members. `dy` are the members' columns."""
        if self.activation != "identity":
            dy = [operations.activation_backward(y, d, activation=self.activation, stream=s)
                  for s, y, d in zip(self.group.streams, self._y, dy)]
        dx = self._gradients(dy)
        return self.group.all_reduce(dx, y=dx)


class RowParallel(_Product):
    """A product whose rows are divided: the members add their products of part m of x, as ColumnParallel returns it,
    and part m of the rows of w.

    Parameters
    ----------
    group : Group
        The members.
    w, bias : numpy.ndarray
        The whole parameters, of shapes inputs × outputs and outputs; the inputs are a multiple of the number of
        members. Every member keeps the whole bias, which is added to the sum.
    """

    def __init__(self, group: Group, w: Any, bias: Any):
        super().__init__(group, w, bias, 0, "identity")

    def forward(self, x: Sequence[Tensor]) -> List[Tensor]:
        """Returns y, the same on all members."""
        self._x = list(x)
        y = [operations.gemm(a, w, stream=s) for s, a, w in zip(self.group.streams, x, self.w)]
        self.group.all_reduce(y, y=y)
        return [operations.elementwise(a, b.broadcast(a.shape), kind="add", d=a, stream=s)
                for s, a, b in zip(self.group.streams, y, self.bias)]

    def backward(self, dy: Sequence[Tensor]) -> List[Tensor]:
        """Sets dw and dbias, and returns the gradients of each member's columns of x."""
        return self._gradients(dy)


class Step(NamedTuple):
    """A step of a pipeline."""

    stage: int
    is_forward: bool
    micro_batch: int


def one_forward_one_backward(stages: int, micro_batches: int) -> Iterator[Step]:
    """Returns the steps of a pipeline in an order in which each one follows those that it depends on.

    Each stage has the order of 1F1B (PipeDream-Flush): some forward passes, as many as there are stages after it, then
    one forward and one backward pass in turn, then the rest of the backward passes. A stage therefore keeps the
    activations of at most `stages - stage` micro-batches. Gradients are added in the order of the micro-batches.

    Parameters
    ----------
    stages : int
        The number of stages, at least 1.
    micro_batches : int
        The number of micro-batches, at least 0.

    Yields
    ------
    Step
        With stage, is_forward and micro_batch.
    """
    waiting: List[List[Step]] = []
    for stage in range(stages):
        warm = min(stages - 1 - stage, micro_batches)
        order = [Step(stage, True, i) for i in range(warm)]
        for i in range(micro_batches - warm):
            order += [Step(stage, True, warm + i), Step(stage, False, i)]
        waiting.append(order + [Step(stage, False, i) for i in range(micro_batches - warm, micro_batches)])
    done: Set[Step] = set()
    while any(waiting):
        for order in waiting:
            if order and _needs(order[0], stages) <= done:
                done.add(order[0])
                yield order.pop(0)


def _needs(step: Step, stages: int) -> Set[Step]:
    """Returns the steps of other stages, and the forward pass, that a step depends on."""
    stage, is_forward, i = step
    if is_forward:
        return {Step(stage - 1, True, i)} if stage > 0 else set()
    return {Step(stage, True, i)} | ({Step(stage + 1, False, i)} if stage + 1 < stages else set())


def mesh(members: Sequence[Any], **axes: int) -> Dict[str, Dict[Tuple[int, ...], Group]]:
    """Makes groups along the axes of a grid, to combine kinds of parallel training in one process.

        groups = mesh(streams, data=2, pipeline=2, tensor=2)
        groups["tensor"][0, 1]    # of the members whose data is 0 and whose pipeline is 1

    Parameters
    ----------
    members : sequence of Stream, Context or str
        As for Group; the last axis changes fastest.
    **axes : int
        The sizes of the axes, whose product is the number of members.

    Returns
    -------
    dict
        For each axis the groups along it, by the coordinates on the other axes in their order. A group's ranks are the
        coordinates on its axis.
    """
    members = [stream_of_member(i, m) for i, m in enumerate(members)]
    sizes = tuple(axes.values())
    if math.prod(sizes) != len(members):
        raise ValueError(f"mesh: {len(members)} members, but a grid of {' × '.join(map(str, sizes))}")
    found: Dict[str, Dict[Tuple[int, ...], Group]] = {}
    for axis, name in enumerate(axes):
        lines: Dict[Tuple[int, ...], List[Any]] = {}
        for index, member in zip(np.ndindex(*sizes), members):
            lines.setdefault(index[:axis] + index[axis + 1:], []).append(member)
        found[name] = {index: Group(line) for index, line in lines.items()}
    return found

"""Operators that move elements: views, copies, padding and look-ups."""
import math
from typing import Any, List, Optional, Sequence

import numpy as np

from .._loader import ffi, lib
from .._tensor import DTYPES, Tensor
from ._hostops import SHAPE_OPERATORS
from ._program import Operand, Program
from ._types import type_name


def sizes(shape: np.ndarray) -> List[int]:
    return [int(n) for n in np.atleast_1d(shape)]


def identity(p: Program, x: Operand) -> Operand:
    return x


def reshape(p: Program, x: Tensor, shape: np.ndarray, *, allowzero: int = 0) -> Tensor:
    wanted = [x.shape[i] if n == 0 and not allowzero else n for i, n in enumerate(sizes(shape))]
    if -1 in wanted:
        rest = math.prod(n for n in wanted if n != -1)
        wanted[wanted.index(-1)] = x.size // rest if rest else 0
    return p.reshape(x, wanted)


def flatten(p: Program, x: Tensor, *, axis: int = 1) -> Tensor:
    axis += x.ndim if axis < 0 else 0
    return p.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def squeeze(p: Program, x: Tensor, axes: Optional[np.ndarray] = None) -> Tensor:
    chosen = [d for d, n in enumerate(x.shape) if n == 1] if axes is None else [a % x.ndim for a in sizes(axes)]
    for axis in sorted(chosen, reverse=True):
        x = x.squeeze(axis)
    return x


def unsqueeze(p: Program, x: Tensor, axes: np.ndarray) -> Tensor:
    rank = x.ndim + axes.size
    for axis in sorted(a % rank for a in sizes(axes)):
        x = x.unsqueeze(axis)
    return x


def transpose(p: Program, x: Tensor, *, perm: Optional[Sequence[int]] = None) -> Tensor:
    return x.permute(range(x.ndim)[::-1] if perm is None else perm)


def expand(p: Program, x: Tensor, shape: np.ndarray) -> Tensor:
    return x.broadcast(np.broadcast_shapes(x.shape, tuple(sizes(shape))))


def concat(p: Program, *x: Tensor, axis: int) -> Tensor:
    return p.concat(x, axis % x[0].ndim)


def split(p: Program, x: Tensor, parts: Optional[np.ndarray] = None, *, axis: int = 0,
          num_outputs: Optional[int] = None) -> Any:
    count = num_outputs or len(p.wanted)
    size, start, found = x.shape[axis], 0, []
    each = sizes(parts) if parts is not None else [math.ceil(size / count)] * count
    for n in each:
        found.append(x.slice(axis, start, min(n, size - start)))
        start += n
    return tuple(found)


def slices(p: Program, x: Tensor, starts: np.ndarray, ends: np.ndarray, axes: Optional[np.ndarray] = None,
           steps: Optional[np.ndarray] = None) -> Tensor:
    for i, (start, end) in enumerate(zip(sizes(starts), sizes(ends))):
        axis = i if axes is None else sizes(axes)[i] % x.ndim
        step, size = 1 if steps is None else sizes(steps)[i], x.shape[axis]
        if step > 0:
            first, last, _ = slice(start, end, step).indices(size)
            x = x.slice(axis, min(first, size), len(range(first, last, step)), step)
            continue
        first = min(start + size if start < 0 else start, size - 1)
        last = max(end + size, -1) if end < 0 else end
        x = take(p, x, np.arange(first, last, step), axis)
    return x


def take(p: Program, x: Tensor, indices: np.ndarray, axis: int) -> Tensor:
    """Returns the entries of an axis with these indices, which are known and not negative."""
    if indices.size == 0 or 0 in x.shape:
        return p.empty((*x.shape[:axis], *indices.shape, *x.shape[axis + 1:]), x.dtype, [x])
    return p.op("gather_forward", x=x, indices=p.upload(indices.astype("i4")), axis=axis)


def indices_of(p: Program, indices: Operand, size: int) -> Tensor:
    """Returns indices as i32, without negative ones, which count from the end."""
    if isinstance(indices, Tensor):
        found = p.cast(indices, "i32")
        if 0 in found.shape:
            return found
        negative = p.op("compare", a=found, b=p.full((), 0, "i32"), kind="less")
        moved = p.op("elementwise", a=found, b=p.full((), size, "i32"), kind="add")
        return p.op("where", condition=negative, a=moved, b=found)
    if indices.size and (indices.min() < -size or indices.max() >= size):
        raise IndexError(f"an index is outside -{size} … {size - 1}")
    return p.upload(np.where(indices < 0, indices + size, indices).astype("i4"))


def gather(p: Program, x: Tensor, indices: Operand, *, axis: int = 0) -> Tensor:
    """Looks up slices. A single index that is known on the host selects a view."""
    if isinstance(indices, np.ndarray) and indices.size == 1 and indices.ndim < 2:
        place, size = int(indices.reshape(())), x.shape[axis]
        if -size <= place < size:
            view = x.slice(axis, place % size, 1)
            return view if indices.ndim else view.squeeze(axis % x.ndim)
    found = indices_of(p, indices, x.shape[axis])
    shape = (*x.shape[:axis % x.ndim], *found.shape, *x.shape[axis % x.ndim + 1:])
    if 0 in shape:
        return p.empty(shape, x.dtype, [x])
    return p.op("gather_forward", x=x, indices=found, axis=axis)


def feature_extractor(p: Program, x: Tensor, indices: Operand) -> Tensor:
    return gather(p, x, indices, axis=-1)


def tile(p: Program, x: Tensor, repeats: np.ndarray) -> Tensor:
    """Repeats along each axis: a broadcast view with an additional dimension for each axis that repeats."""
    times, view, wide = sizes(repeats), x, []
    for axis, (n, r) in enumerate(zip(x.shape, times)):
        if r != 1:
            view = view.unsqueeze(len(wide))
            wide.append(r)
        wide.append(n)
    return p.reshape(view.broadcast(*wide), [n * r for n, r in zip(x.shape, times)])


def _wrap(p: Program, x: Tensor, axis: int, begin: int, end: int) -> Tensor:
    size = x.shape[axis]
    return take(p, x, np.arange(-begin, size + end) % size, axis) if begin or end else x


def pad(p: Program, x: Tensor, pads: np.ndarray, value: Optional[np.ndarray] = None,
        axes: Optional[np.ndarray] = None, *, mode: str = "constant") -> Tensor:
    chosen = range(x.ndim) if axes is None else [a % x.ndim for a in sizes(axes)]
    begin, end = [0] * x.ndim, [0] * x.ndim
    for i, axis in enumerate(chosen):
        begin[axis], end[axis] = sizes(pads)[i], sizes(pads)[i + len(chosen)]
    return padded(p, x, begin, end, mode, 0.0 if value is None or value.size == 0 else float(value.reshape(())))


def padded(p: Program, x: Tensor, begin: Sequence[int], end: Sequence[int], mode: str = "constant",
           value: float = 0.0) -> Tensor:
    """Pads; negative padding cuts off."""
    for axis, (b, e) in enumerate(zip(begin, end)):
        if b < 0 or e < 0:
            x = x.slice(axis, max(-b, 0), x.shape[axis] - max(-b, 0) - max(-e, 0))
    begin, end = [max(b, 0) for b in begin], [max(e, 0) for e in end]
    if not any([*begin, *end]):
        return x
    if mode == "wrap":
        for axis, (b, e) in enumerate(zip(begin, end)):
            x = _wrap(p, x, axis, b, e)
        return x
    return p.op("pad_forward", x=x, begin=begin, end=end, mode=mode, value=value)


def center_crop_pad(p: Program, x: Tensor, shape: np.ndarray, *, axes: Optional[Sequence[int]] = None) -> Tensor:
    begin, end = [0] * x.ndim, [0] * x.ndim
    for axis, size in zip(range(x.ndim) if axes is None else axes, sizes(shape)):
        more = size - x.shape[axis]
        begin[axis] = more // 2 if more >= 0 else -((-more) // 2)
        end[axis] = more - begin[axis]
    return padded(p, x, begin, end)


def depth_to_space(p: Program, x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    n, c, h, w = x.shape
    b = blocksize
    if mode == "DCR":
        view = p.reshape(x, (n, b, b, c // b // b, h, w)).permute((0, 3, 4, 1, 5, 2))
    else:
        view = p.reshape(x, (n, c // b // b, b, b, h, w)).permute((0, 1, 4, 2, 5, 3))
    return p.reshape(view, (n, c // b // b, h * b, w * b))


def space_to_depth(p: Program, x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    n, c, h, w = x.shape
    b = blocksize
    view = p.reshape(x, (n, c, h // b, b, w // b, b))
    view = view.permute((0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
    return p.reshape(view, (n, c * b * b, h // b, w // b))


def constant_of_shape(p: Program, shape: np.ndarray, *, value: Optional[np.ndarray] = None) -> Tensor:
    if value is None:
        value = np.zeros(1, "f4")
    one = p.device(value.reshape(()))
    return one.broadcast(tuple(sizes(shape))) if 0 not in sizes(shape) else p.empty(sizes(shape), one.dtype, [])


def steps_of_range(p: Program, start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> np.ndarray:
    return SHAPE_OPERATORS["Range"](start, limit, delta)


def tensor_scatter(p: Program, past: Tensor, update: Tensor, starts: Optional[np.ndarray] = None, *, axis: int = -2,
                   mode: str = "linear") -> Tensor:
    """Writes each sequence's new entries into a copy of its cache, from its own start on."""
    axis %= past.ndim
    y, size, count = p.empty(past.shape, past.dtype, [past, update]), past.shape[axis], update.shape[axis]
    p.write(past, y)
    for row in range(past.shape[0]):
        start = 0 if starts is None else int(starts[row])
        if mode == "linear" and not 0 <= start <= size - count:
            raise IndexError(f"start {start} of row {row} is outside 0 … {size - count}")
        for entry in range(count):
            target = y.slice(0, row, 1).slice(axis, (start + entry) % size, 1)
            p.write(update.slice(0, row, 1).slice(axis, entry, 1), target)
    return y


def bit_cast(p: Program, x: Tensor, *, to: int) -> Tensor:
    """Returns the same bytes as another type of the same size."""
    target = type_name(to)
    if lib.tenon_dtype_size(DTYPES[target]) != lib.tenon_dtype_size(DTYPES[x.dtype]):
        raise NotImplementedError(f"{x.dtype} as {target}, whose size differs")
    return as_type(x, target)


def as_type(x: Tensor, dtype: str) -> Tensor:
    """Returns a view of the same bytes as another type of the same size."""
    view = ffi.new("tenon_tensor *", x._c[0])
    view.dtype = DTYPES[dtype]
    return Tensor(view, x.memory)


def constant(p: Program, *, value: Optional[np.ndarray] = None, value_float: Optional[float] = None,
             value_floats: Optional[Sequence[float]] = None, value_int: Optional[int] = None,
             value_ints: Optional[Sequence[int]] = None) -> np.ndarray:
    if value is not None:
        return value
    floats = value_float if value_float is not None else value_floats
    if floats is not None:
        return np.asarray(floats, "f4")
    return np.asarray(value_int if value_int is not None else value_ints, "i8")

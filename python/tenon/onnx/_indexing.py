"""Look-ups and updates by index, and rearrangements."""
import math
from typing import Any, Optional

import numpy as np

import tenon

from .._tensor import Tensor
from ._layout import padded
from ._program import Operand, Program

REDUCTIONS = {"none": "set", "add": "add", "mul": "multiply", "min": "min", "max": "max"}


def _indices(p: Program, indices: Operand) -> Tensor:
    return p.cast(p.device(indices), "i32")


def gather_elements(p: Program, x: Tensor, indices: Operand, *, axis: int = 0) -> Tensor:
    found = _indices(p, indices)
    if 0 in found.shape:
        return p.empty(found.shape, x.dtype, [x, found])
    return p.op("gather_forward", x=x, indices=found, axis=axis, mode="elements", flags=tenon.INDEX_FROM_END)


def gather_nd(p: Program, x: Tensor, indices: Operand, *, batch_dims: int = 0) -> Tensor:
    return p.op("gather_forward", x=x, indices=_indices(p, indices), axis=batch_dims, mode="tuples",
                flags=tenon.INDEX_FROM_END)


def _scatter(p: Program, x: Tensor, indices: Operand, updates: Tensor, **arguments: Any) -> Tensor:
    y = p.copy(x)
    if 0 not in updates.shape:
        p.op("scatter", updates=updates, indices=_indices(p, indices), y=y, flags=tenon.INDEX_FROM_END, **arguments)
    return y


def scatter_elements(p: Program, x: Tensor, indices: Operand, updates: Tensor, *, axis: int = 0,
                     reduction: str = "none") -> Tensor:
    return _scatter(p, x, indices, updates, axis=axis, mode="elements", op=REDUCTIONS[reduction])


def scatter_nd(p: Program, x: Tensor, indices: Operand, updates: Tensor, *, reduction: str = "none") -> Tensor:
    return _scatter(p, x, indices, updates, axis=0, mode="tuples", op=REDUCTIONS[reduction])


def one_hot(p: Program, indices: Tensor, depth: np.ndarray, values: np.ndarray, *, axis: int = -1) -> Tensor:
    from ._types import on_device
    count, off, on = int(depth.reshape(())), *map(float, values)
    place = axis % (indices.ndim + 1)
    shape = (*indices.shape[:place], count, *indices.shape[place:])
    return p.op("one_hot", indices=_indices(p, indices), axis=axis, on=on, off=off, flags=tenon.ONE_HOT_FROM_END,
                y=p.empty(shape, on_device(values.dtype), [indices]))


def triangle(p: Program, x: Tensor, diagonal: Optional[np.ndarray] = None, *, upper: int = 1) -> Tensor:
    if 0 in x.shape:
        return p.empty(x.shape, x.dtype, [x])
    k = 0 if diagonal is None else int(diagonal.reshape(()))
    return p.op("triangle", x=x, diagonal=k, flags=tenon.TRIANGLE_UPPER if upper else 0)


def reverse_sequence(p: Program, x: Tensor, lengths: Operand, *, batch_axis: int = 1, time_axis: int = 0) -> Tensor:
    return p.op("reverse_lengths", x=x, lengths=_indices(p, lengths), axis=time_axis, batch_axis=batch_axis)


def max_unpool(p: Program, x: Tensor, indices: Operand, shape: Optional[np.ndarray] = None, *, kernel_shape: Any,
               pads: Any = None, strides: Any = None) -> Tensor:
    """Writes the maxima to their places, which count in the inferred shape; a larger output shape adds zeros."""
    rank = x.ndim - 2
    strides, pads = strides or [1] * rank, pads or [0] * 2 * rank
    spatial = [(n - 1) * s - pads[d] - pads[d + rank] + k
               for d, (n, s, k) in enumerate(zip(x.shape[2:], strides, kernel_shape))]
    inner = (*x.shape[:2], *spatial)
    flat = p.empty((math.prod(inner),), x.dtype, [x])
    p.write(p.full(flat.shape, 0, x.dtype), flat)
    p.op("scatter", updates=p.reshape(x, (x.size,)), indices=p.reshape(_indices(p, indices), (x.size,)), y=flat,
         mode="elements", axis=0)
    y = p.reshape(flat, inner)
    return y if shape is None else padded(p, y, [0] * x.ndim, [int(n) - m for n, m in zip(shape, inner)])

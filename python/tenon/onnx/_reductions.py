"""Reductions, softmax and losses."""
import math
from typing import Any, Callable, List, Optional

import numpy as np

import tenon

from .._tensor import Tensor
from . import _elementwise as elementwise
from ._layout import sizes
from ._program import Operand, Program
from ._types import on_device, type_name


def _axes(x: Tensor, axes: Optional[np.ndarray]) -> List[int]:
    return list(range(x.ndim)) if axes is None or axes.size == 0 else [a % x.ndim for a in sizes(axes)]


def reduction(kind: str, *, empty: Optional[float] = None, before: Optional[Callable[..., Tensor]] = None,
              after: Optional[Callable[..., Tensor]] = None) -> Callable[..., Tensor]:
    """Returns the function of a reduction; `empty` is the result for no elements."""
    def run(p: Program, x: Tensor, axes: Optional[np.ndarray] = None, *, keepdims: int = 1,
            noop_with_empty_axes: int = 0) -> Tensor:
        x = before(p, x) if before else x
        chosen = _axes(x, axes)
        if noop_with_empty_axes and (axes is None or axes.size == 0):
            chosen = []
        shape = tuple(1 if d in chosen else n for d, n in enumerate(x.shape) if keepdims or d not in chosen)
        count = math.prod(x.shape[d] for d in chosen)
        if empty is not None and count == 0:
            y = p.full(shape, empty, x.dtype)
        elif not chosen:
            y = _each(p, x, kind)
        elif 0 in shape:
            y = p.empty(shape, x.dtype, [x])
        elif count == 1:
            y = p.reshape(_each(p, x, kind), shape)
        else:
            y = p.op("reduce", x=x, kind=kind, axes=chosen, y=p.empty(shape, x.dtype, [x]))
        return after(p, y) if after else y
    return run


def extremes(kind: str, of_truths: str, empty: float) -> Callable[..., Tensor]:
    """Returns the function of ReduceMax or ReduceMin, which for bool is any or all."""
    numbers = reduction(kind, empty=empty)

    def run(p: Program, x: Tensor, axes: Optional[np.ndarray] = None, *, keepdims: int = 1,
            noop_with_empty_axes: int = 0) -> Tensor:
        if x.dtype != "bool":
            return numbers(p, x, axes, keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes)
        if not hasattr(tenon, "REDUCE_ANY"):
            raise NotImplementedError("reduction of bool")
        chosen = _axes(x, axes)
        shape = tuple(1 if d in chosen else n for d, n in enumerate(x.shape) if keepdims or d not in chosen)
        if 0 in x.shape:
            return p.full(shape, 0 if of_truths == "any" else 1, "bool")
        y = p.empty(shape, "bool", [x])
        p.op("reduce", x=x, kind=of_truths, axes=chosen, y=y)
        return y
    return run


def _each(p: Program, x: Tensor, kind: str) -> Tensor:
    """Returns the reduction over axes with one element."""
    if kind == "sum_squares":
        return elementwise.apply(p, x, "square")
    return elementwise.apply(p, x, "abs") if kind == "norm" else x


def absolute(p: Program, x: Tensor) -> Tensor:
    return elementwise.apply(p, x, "abs")


def softmax(flags: int = 0) -> Callable[..., Tensor]:
    def run(p: Program, x: Tensor, *, axis: int = -1, flat: int = 0) -> Tensor:
        if 0 in x.shape:
            return p.empty(x.shape, x.dtype, [x])
        if not flat:
            return p.op("softmax_forward", x=x, axis=axis, flags=flags)
        axis %= x.ndim
        matrix = p.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
        return p.reshape(p.op("softmax_forward", x=matrix, axis=1, flags=flags), x.shape)
    return run


# Losses with labels --------------------------------------------------------------------------------


def _labels(p: Program, labels: Operand) -> Tensor:
    """Returns labels as i32."""
    return p.cast(labels, "i32") if isinstance(labels, Tensor) else p.upload(labels.astype("i4"))


def _rows(p: Program, labels: Tensor, classes: int) -> Tensor:
    """Returns the row of each label in a table with a row before the classes and one after them, for other labels.
    f32 represents labels below 2^24."""
    moved = p.chain(p.cast(labels, "f32"), elementwise.step("max", -1), elementwise.step("min", classes),
                    elementwise.step("add", 1))
    return p.cast(moved, "i32")


def _table(p: Program, weight: Optional[Tensor], classes: int, ignored: Optional[int], dtype: str) -> Tensor:
    """Returns the weight for each row: 0 for what is no class, and for the ignored one."""
    table = p.empty((classes + 2,), dtype, [] if weight is None else [weight])
    zero = p.full((1,), 0, dtype)
    p.write(zero, table.slice(0, 0, 1))
    p.write(zero, table.slice(0, classes + 1, 1))
    p.write(p.full((classes,), 1, dtype) if weight is None else weight, table.slice(0, 1, classes))
    if ignored is not None and 0 <= ignored < classes:
        p.write(zero, table.slice(0, ignored + 1, 1))
    return table


def _reduced(p: Program, loss: Tensor, weights: Optional[Tensor], reduction_: str) -> Tensor:
    """Returns the weighted losses, their sum, or their mean by weight."""
    if weights is not None:
        loss = elementwise.binary(p, loss, weights, "multiply")
    if reduction_ == "none":
        return loss
    if reduction_ == "mean" and weights is None:
        return p.op("reduce", x=loss, kind="mean")
    total = p.op("reduce", x=loss, kind="sum")
    if reduction_ == "sum":
        return total
    return elementwise.binary(p, total, p.op("reduce", x=weights, kind="sum"), "divide")


def _weights(p: Program, labels: Tensor, weight: Optional[Tensor], classes: int, ignored: Optional[int],
             dtype: str) -> Optional[Tensor]:
    """Returns the weight of each label; None if all are 1."""
    if weight is None and ignored is None:
        return None
    table = _table(p, weight, classes, ignored, dtype)
    return p.op("gather_forward", x=table, indices=_rows(p, labels, classes), axis=0)


def softmax_cross_entropy(p: Program, x: Tensor, labels: Operand, weight: Optional[Tensor] = None, *,
                          ignore_index: Optional[int] = None, reduction: str = "mean") -> Any:
    found = _labels(p, labels)
    ignore = {} if ignore_index is None else dict(flags=tenon.CROSS_ENTROPY_IGNORE, ignore_label=ignore_index)
    loss = p.op("cross_entropy_forward", logits=x, labels=found, axis=1, **ignore)
    weights = _weights(p, found, weight, x.shape[1], ignore_index, x.dtype)
    loss = _reduced(p, loss, weights, reduction)
    if len(p.wanted) < 2 or not p.wanted[1]:
        return loss
    return loss, p.op("softmax_forward", x=x, axis=1, flags=tenon.SOFTMAX_LOG)


def _identity(p: Program, rows: int, columns: int, k: int, dtype: str) -> Tensor:
    """Returns a matrix with ones at the places whose column is the row plus k."""
    y = p.empty((rows, columns), "f32", [])
    if y.size:
        p.op("one_hot", indices=p.upload(np.arange(rows, dtype="i4") + k), y=y)
    return p.cast(y, dtype)


def negative_log_likelihood(p: Program, x: Tensor, labels: Operand, weight: Optional[Tensor] = None, *,
                            ignore_index: Optional[int] = None, reduction: str = "mean") -> Tensor:
    """Selects the log-probability of each label by a product with the row of an identity matrix."""
    classes, found = x.shape[1], _labels(p, labels)
    order = [0, *range(2, x.ndim), 1]
    table = _identity(p, classes + 2, classes, -1, x.dtype)  # the first and last rows are 0
    chosen = p.op("gather_forward", x=table, indices=_rows(p, found, classes), axis=0)
    picked = elementwise.binary(p, x.permute(order), chosen, "multiply")
    loss = p.chain(p.op("reduce", x=picked, kind="sum", axes=[-1]), elementwise.step("multiply", -1))
    return _reduced(p, loss, _weights(p, found, weight, classes, ignore_index, x.dtype), reduction)


def eye_like(p: Program, x: Operand, *, dtype: int = 0, k: int = 0) -> Tensor:
    shape = x.shape
    kind = type_name(dtype) if dtype else x.dtype if isinstance(x, Tensor) else on_device(x.dtype)
    return _identity(p, shape[0], shape[1], k, kind)

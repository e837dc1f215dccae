"""Sorting, scanning, selection of elements, and results whose sizes depend on values."""
from typing import Any, Optional

import numpy as np

import tenon

from .._tensor import Tensor
from ._layout import as_type
from ._logic import compare
from ._program import Program
from ._types import BYTES


def cumulative(kind: str) -> Any:
    def run(p: Program, x: Tensor, axis: np.ndarray, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
        flags = (tenon.SCAN_EXCLUSIVE if exclusive else 0) | (tenon.SCAN_REVERSE if reverse else 0)
        return p.op("scan", x=x, kind=kind, axis=int(axis.reshape(())), flags=flags)
    return run


def top_k(p: Program, x: Tensor, k: np.ndarray, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
    count = int(k.reshape(()))
    shape = tuple(count if d == axis % x.ndim else n for d, n in enumerate(x.shape))
    y = p.empty(shape, x.dtype, [x])
    indices = p.empty(shape, "i32", [x])
    p.op("top_k", x=x, y=y, indices=indices, axis=axis, flags=0 if largest else tenon.TOP_K_SMALLEST)
    return y, p.cast(indices, "i64")


def argument(kind: str) -> Any:
    """Returns the function of ArgMax or ArgMin."""
    def run(p: Program, x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
        if x.dtype in BYTES:
            x = p.cast(x, "f32")
        place = axis % x.ndim
        shape = tuple(1 if d == place else n for d, n in enumerate(x.shape) if keepdims or d != place)
        y = p.empty(shape, "i32", [x])
        p.op("reduce", x=x, kind=f"{kind}_last" if select_last_index else kind, axes=[axis], y=y)
        return p.cast(y, "i64")
    return run


def hardmax(p: Program, x: Tensor, *, axis: int = -1, flat: int = 0) -> Tensor:
    if flat:
        matrix = p.reshape(x, (int(np.prod(x.shape[:axis])), int(np.prod(x.shape[axis:]))))
        return p.reshape(hardmax(p, matrix), x.shape)
    found = p.op("reduce", x=x, kind="argmax", axes=[axis])
    return p.op("one_hot", indices=found, axis=axis, y=p.empty(x.shape, x.dtype, [x]))


def _mask(p: Program, mask: Tensor) -> Tensor:
    return as_type(mask, "u8") if mask.dtype == "bool" else mask


def _count(p: Program, count: Tensor) -> int:
    """Returns a number that is known only on the device: the model then runs node by node."""
    return int(p.host(count).reshape(()))


def selected(p: Program, mask: Tensor) -> Tensor:
    """Returns the indices, i32, of the elements of a mask of rank 1 that are not 0."""
    indices, count = p.empty(mask.shape, "i32", [mask]), p.empty((), "i32", [mask])
    p.op("compact", mask=_mask(p, mask), indices=indices, count=count)
    return indices.slice(0, 0, _count(p, count))


def compress(p: Program, x: Tensor, condition: Tensor, *, axis: Optional[int] = None) -> Tensor:
    x = p.reshape(x, (x.size,)) if axis is None else x
    place = 0 if axis is None else axis % x.ndim
    chosen = selected(p, condition)
    shape = (*x.shape[:place], chosen.size, *x.shape[place + 1:])
    return p.empty(shape, x.dtype, [x]) if 0 in shape else p.op("gather_forward", x=x, indices=chosen, axis=place)


def nonzero(p: Program, x: Tensor) -> Tensor:
    rank = max(x.ndim, 1)
    indices, count = p.empty((x.size, rank), "i32", [x]), p.empty((), "i32", [x])
    p.op("compact", mask=_mask(p, x), indices=indices, count=count)
    return p.cast(indices.slice(0, 0, _count(p, count)).T, "i64")


def _starts(p: Program, rows: Tensor) -> Tensor:
    """Returns for sorted rows of a matrix whether each differs from the one before it."""
    count = rows.shape[0]
    mask = p.empty((count,), "u8", [rows])
    p.write(p.full((1,), 1, "u8"), mask.slice(0, 0, 1))
    if count > 1:
        differs = compare("not_equal")(p, rows.slice(0, 1, count - 1), rows.slice(0, 0, count - 1))
        found = p.op("reduce", x=as_type(differs, "u8"), kind="any", axes=[1])
        p.write(found, mask.slice(0, 1, count - 1))
    return mask


def _order(p: Program, rows: Tensor) -> Tensor:
    """Returns the order, i32, that sorts the rows of a matrix: stable sorts by each column, the last one first."""
    count, order = rows.shape[0], None
    for column in range(rows.shape[1])[::-1]:
        keys = p.copy(rows.slice(1, column, 1).squeeze(1))
        if order is not None:
            keys = p.op("gather_forward", x=keys, indices=order, axis=0)
        y, indices = p.empty((count,), keys.dtype, [keys]), p.empty((count,), "i32", [keys])
        p.op("sort", x=keys, y=y, indices=indices)
        order = indices if order is None else p.op("gather_forward", x=order, indices=indices, axis=0)
    return order


def _by_first(p: Program, first: Tensor, counts: Tensor) -> Any:
    """Returns first indices in ascending order, the counts in that order, and the new place of each entry."""
    by_first, rank, place_of = (p.empty(first.shape, "i32", [first]) for _ in range(3))
    p.op("sort", x=first, y=by_first, indices=rank)
    p.op("scatter", updates=p.upload(np.arange(first.size, dtype="i4")), indices=rank, y=place_of, mode="elements")
    return by_first, p.op("gather_forward", x=counts, indices=rank, axis=0), place_of


def _unique_elements(p: Program, x: Tensor, is_sorted: bool) -> Any:
    """Returns the different elements, their first indices, the entry of each element of x, and the counts."""
    flat = p.reshape(x, (x.size,))
    given = {name: p.empty(flat.shape, "i32", [x]) for name in ("first", "inverse", "counts")}
    y = p.empty(flat.shape, x.dtype, [x])
    size = int(p.host(p.op("unique", x=flat, y=y, **given)[-1]).reshape(()))
    y, first, counts = (t.slice(0, 0, size) for t in (y, given["first"], given["counts"]))
    if is_sorted or size == 0:
        return y, first, given["inverse"], counts
    first, counts, place_of = _by_first(p, first, counts)
    return (p.op("gather_forward", x=flat, indices=first, axis=0), first,
            p.op("gather_forward", x=place_of, indices=given["inverse"], axis=0), counts)


def unique(p: Program, x: Tensor, *, axis: Optional[int] = None, sorted: int = 1) -> Any:
    """Returns the different entries, the first index of each, the entry of each element, and their counts."""
    if axis is None:
        return tuple(v if i == 0 else p.cast(v, "i64") for i, v in enumerate(_unique_elements(p, x, bool(sorted))))
    place = axis % x.ndim
    rows = p.reshape(x.permute([place, *(d for d in range(x.ndim) if d != place)]),
                     (x.shape[place], x.size // x.shape[place]))
    count, order = rows.shape[0], _order(p, rows)
    mask = _starts(p, p.op("gather_forward", x=rows, indices=order, axis=0))
    begin = selected(p, mask)  # in the sorted order
    first = p.op("gather_forward", x=order, indices=begin, axis=0)
    group = p.op("scan", x=p.cast(mask, "i32"), flags=0)  # from 1 on
    group = p.op("elementwise", a=group, b=p.full((), 1, "i32"), kind="subtract")
    end = p.concat([begin.slice(0, 1, begin.size - 1), p.full((1,), count, "i32")], 0)
    counts = p.op("elementwise", a=end, b=begin, kind="subtract")
    if not sorted:
        first, counts, place_of = _by_first(p, first, counts)
        group = p.op("gather_forward", x=place_of, indices=group, axis=0)
    inverse = p.empty((count,), "i32", [x])
    p.op("scatter", updates=group, indices=order, y=inverse, mode="elements")
    y = p.op("gather_forward", x=x, indices=first, axis=place)
    return (y, *(p.cast(v, "i64") for v in (first, inverse, counts)))



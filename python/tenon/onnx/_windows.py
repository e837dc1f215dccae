"""Convolutions that are products of matrices without unfolding the image: the windows of some are a view of it."""
import math
from typing import Any, Optional, Tuple

from .._loader import ffi
from .._tensor import Tensor
from ._program import Program

# Taps of a window from which on a product is faster than a convolution of an image with one channel.
LONG_WINDOW = 16


def product_of(p: Program, x: Tensor, w: Tensor, bias: Optional[Tensor], multiply: Any, *, groups: int, stride: Any,
               dilation: Any, pad_begin: Any, pad_end: Any) -> Optional[Tensor]:
    """Returns the convolution with constant filters w as a product, which `multiply` records; None if the windows are
    no view."""
    if groups != 1 or 0 in x.shape or 0 in w.shape:
        return None
    spatial = [(n + b + e - d * (k - 1) - 1) // s + 1 for n, k, s, d, b, e in
               zip(x.shape[2:], w.shape[2:], stride, dilation, pad_begin, pad_end)]
    found = None
    if all(n == 1 for n in spatial):
        found = _only_window(p, x, w, dilation, pad_begin)
    elif x.ndim == 3 and x.shape[1] == 1 and pad_begin[0] == pad_end[0] == 0 and w.shape[2] >= LONG_WINDOW:
        found = _windows(x, spatial[0], w.shape[2], stride[0], dilation[0]), w.reshape(w.shape[0], w.shape[2])
    if found is None:
        return None
    rows, filters = found
    y = p.empty((x.shape[0], w.shape[0], *spatial), x.dtype, [x])
    d = y.reshape(y.shape[:2], copy=False) if rows.ndim == 2 else y.permute((0, 2, 1))
    multiply(p, rows, filters.T, d=d, **({} if bias is None else {"bias": bias}))
    return y


def _only_window(p: Program, x: Tensor, w: Tensor, dilation: Any, begin: Any) -> Optional[Tuple[Tensor, Tensor]]:
    """Returns the image under the only window as rows, and the taps that are not in the padding."""
    key = []
    for axis, (n, k, d, b) in enumerate(zip(x.shape[2:], w.shape[2:], dilation, begin), 2):
        first, last = -(-b // d), min(k, (n - 1 + b) // d + 1)
        if first >= last:
            return None
        x = x.slice(axis, first * d - b, last - first, d)
        key.append((first, last))
    count = math.prod(x.shape[1:])
    if not _is_view(x, count):
        return None

    def cut() -> Tensor:
        taps = w
        for axis, (first, last) in enumerate(key, 2):
            taps = taps.slice(axis, first, last - first)
        return p.reshape(taps, (w.shape[0], count))

    filters = p.weights.form(w, ("taps", *key), cut)
    p.constants(filters)
    return x.reshape((x.shape[0], count), copy=False), filters


def _is_view(x: Tensor, count: int) -> bool:
    """Returns True if the elements of an image, except for its first dimension, have one stride."""
    sizes = [(n, s) for n, s in zip(x.shape[1:], x.strides[1:]) if n > 1]
    return all(s == m * t for (_, s), (m, t) in zip(sizes, sizes[1:])) or count == 1


def _windows(x: Tensor, count: int, taps: int, stride: int, dilation: int) -> Tensor:
    """Returns the windows of a row of values as the rows of a matrix, for each image."""
    view = ffi.new("tenon_tensor *", x._c[0])
    shape, strides = (x.shape[0], count, taps), (x.strides[0], stride * x.strides[2], dilation * x.strides[2])
    view.rank = len(shape)
    for i, (n, s) in enumerate(zip(shape, strides)):
        view.shape[i], view.stride[i] = n, s
    return Tensor(view, x.memory)

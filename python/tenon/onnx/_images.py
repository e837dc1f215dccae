"""Pooling, normalization and other operators on images."""
import math
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

import tenon

from .._tensor import Tensor
from . import _elementwise as elementwise
from ._layout import padded
from ._products import conv, paddings
from ._program import Program


def _ceiling(image: Sequence[int], window: Sequence[int], strides: Sequence[int], dilations: Sequence[int],
             begin: Sequence[int], end: Sequence[int]) -> List[int]:
    """Returns the padding after the image with which the output has the size rounded up, without windows that start
    in the padding."""
    found = []
    for n, k, s, d, b, e in zip(image, window, strides, dilations, begin, end):
        span = d * (k - 1) + 1
        count = math.ceil((n + b + e - span) / s) + 1
        if (count - 1) * s >= n + b:
            count -= 1
        found.append(max((count - 1) * s + span - n - b, e))
    return found


def _windows(x: Tensor, kernel_shape: Sequence[int], auto_pad: str, pads: Any, strides: Any, dilations: Any,
             ceil_mode: int) -> Tuple[Any, List[int], List[int], List[int]]:
    """Returns the geometry, and the padding before, after and after with rounding up."""
    rank = x.ndim - 2
    strides, dilations = list(strides or [1] * rank), list(dilations or [1] * rank)
    begin, end = paddings(auto_pad, pads, x.shape[2:], kernel_shape, strides, dilations)
    late = _ceiling(x.shape[2:], kernel_shape, strides, dilations, begin, end) if ceil_mode else end
    return dict(window=list(kernel_shape), stride=strides, dilation=dilations), begin, end, late


def max_pool(p: Program, x: Tensor, *, kernel_shape: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
             dilations: Optional[Sequence[int]] = None, pads: Optional[Sequence[int]] = None, storage_order: int = 0,
             strides: Optional[Sequence[int]] = None) -> Any:
    if x.dtype in ("i8", "u8"):  # f32 represents all their values
        y = max_pool(p, p.cast(x, "f32"), kernel_shape=kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode,
                     dilations=dilations, pads=pads, strides=strides)
        return (p.cast(y[0], x.dtype), y[1]) if isinstance(y, tuple) else p.cast(y, x.dtype)
    windows, begin, _, end = _windows(x, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode)
    with_indices = len(p.wanted) > 1 and p.wanted[1]
    found = p.op("pool_forward", x=x, kind="max", pad_begin=begin, pad_end=end, indices=with_indices, **windows)
    return (found[0], _positions(p, found[1], x.shape, storage_order)) if with_indices else found


def _positions(p: Program, indices: Tensor, shape: Sequence[int], by_column: int) -> Tensor:
    """Returns positions in the whole tensor for positions in a plane; column-major ones of images if requested."""
    plane = math.prod(shape[2:])
    if by_column and len(shape) == 4:
        width = p.full((), shape[3], "i32")
        row = elementwise.binary(p, indices, width, "divide")
        column = elementwise.binary(p, indices, elementwise.binary(p, row, width, "multiply"), "subtract")
        high = p.full((), shape[2], "i32")
        indices = elementwise.binary(p, elementwise.binary(p, column, high, "multiply"), row, "add")
    starts = (np.arange(shape[0] * shape[1]) * plane).reshape(*shape[:2], *[1] * (len(shape) - 2))
    return elementwise.binary(p, p.cast(indices, "i64"), p.upload(starts), "add")


def average_pool(p: Program, x: Tensor, *, kernel_shape: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
                 count_include_pad: int = 0, dilations: Optional[Sequence[int]] = None,
                 pads: Optional[Sequence[int]] = None, strides: Optional[Sequence[int]] = None) -> Tensor:
    windows, begin, end, late = _windows(x, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode)
    kind = "average_inside"
    if count_include_pad and late == end:
        kind = "average"
    elif count_include_pad:  # the padding counts, the rounding up does not
        x = padded(p, x, [0, 0, *begin], [0, 0, *end])
        begin, late = [0] * len(begin), [m - e for m, e in zip(late, end)]
    return p.op("pool_forward", x=x, kind=kind, pad_begin=begin, pad_end=late, **windows)


def global_max_pool(p: Program, x: Tensor) -> Tensor:
    return p.op("pool_forward", x=x, kind="max", flags=tenon.POOL_GLOBAL)


def global_average_pool(p: Program, x: Tensor) -> Tensor:
    return p.op("pool_forward", x=x, kind="average", flags=tenon.POOL_GLOBAL)


# Normalization -----------------------------------------------------------------------------------------


def batch_norm(p: Program, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor, *,
               epsilon: float = 1e-5, momentum: float = 0.9, training_mode: int = 0) -> Any:
    if not training_mode:
        sums = "f64" if x.dtype == "f64" else "f32"
        return p.op("norm_inference", x=x, gamma=scale, beta=bias, mean=p.cast(mean, sums),
                    variance=p.cast(variance, sums), kind="batch", epsilon=epsilon)
    y = p.op("norm_forward", x=x, gamma=scale, beta=bias, kind="batch", epsilon=epsilon)
    new = p.op("moments", x=x, kind="variance", axes=[d for d in range(x.ndim) if d != 1])

    def running(old: Tensor, found: Tensor) -> Tensor:
        return p.op("elementwise", a=old, b=p.cast(found, old.dtype), kind="scale_add", alpha=momentum,
                    beta=1 - momentum)
    return y, running(mean, new[0]), running(variance, new[1])


def conv_affine(p: Program, x: Tensor, w: Tensor, bias: Optional[Tensor], *others: Tensor,
                steps: Sequence[Tuple[str, Any]], before: Sequence[float] = (1.0, 0.0), **geometry: Any) -> Tensor:
    """Convolves `before[0]` x + `before[1]`, and then normalizes, multiplies or adds as the steps say, each with its
    tensors of `others`. If all of them are constants, they become a part of the filters and the bias."""
    groups, rest = [], list(others)
    for op, _ in steps:
        count = 4 if op == "BatchNormalization" else 1
        groups.append(rest[:count])
        rest = rest[count:]
    given = [v for v in (w, bias, *others) if v is not None]
    if all(map(p.is_constant, given)) and all(_by_channel(v, x.ndim, w.shape[0]) for op, (v, *_) in
                                              zip((op for op, _ in steps), groups) if op != "BatchNormalization"):
        key = (tuple(v.memory for v in given[1:]), tuple(steps), tuple(before))
        filters, offset = p.weights.form(w, key, lambda: _folded(p, w, bias, steps, groups, before))
        p.constants(filters, offset)
        return conv(p, x, filters, offset, **geometry)
    if tuple(before) != (1.0, 0.0):
        x = scale_shift(p, x, scale=before[0], shift=before[1])
    y = conv(p, x, w, bias, **geometry)
    for (op, epsilon), tensors in zip(steps, groups):
        if op == "BatchNormalization":
            y = batch_norm(p, y, *tensors, epsilon=epsilon)
        else:
            y = elementwise.binary(p, y, tensors[0], "multiply" if op == "Mul" else "add")
    return y


def _by_channel(v: Tensor, rank: int, channels: int) -> bool:
    """Returns True for a tensor with one element, or one for each channel of an image of this rank."""
    return v.ndim <= rank and (v.size == 1 or (v.size == channels and v.ndim >= rank - 1
                                               and v.shape[v.ndim - rank + 1] == channels))


def _folded(p: Program, w: Tensor, bias: Optional[Tensor], steps: Sequence[Tuple[str, Any]],
            groups: Sequence[Sequence[Tensor]], before: Sequence[float]) -> Tuple[Tensor, Tensor]:
    """Returns filters and a bias that include all steps."""
    channels = w.shape[0]
    filters, offset = w, p.full((channels,), 0, w.dtype) if bias is None else bias
    if before[1] != 0:
        sums = p.op("reduce", x=p.reshape(w, (channels, w.size // channels)), kind="sum", axes=[1])
        offset = p.op("elementwise", a=offset, b=sums, kind="scale_add", alpha=1.0, beta=before[1])
    if before[0] != 1:
        filters = p.chain(filters, elementwise.step("multiply", before[0]))
    for (op, epsilon), tensors in zip(steps, groups):
        if op == "BatchNormalization":
            filters, offset = _normalized(p, filters, offset, *tensors, epsilon=epsilon)
            continue
        factor = p.reshape(tensors[0], () if tensors[0].size == 1 else (channels,))
        if op == "Mul":
            wide = factor if factor.ndim == 0 else factor.reshape(channels, *[1] * (w.ndim - 1))
            filters = elementwise.binary(p, filters, wide, "multiply")
        offset = elementwise.binary(p, offset, factor, "multiply" if op == "Mul" else "add")
    return filters, offset


def scale_shift(p: Program, x: Tensor, *, scale: float, shift: float) -> Tensor:
    """Multiplies by and adds numbers in one pass."""
    return p.chain(x, elementwise.step("multiply", scale), elementwise.step("add", shift))


def _normalized(p: Program, w: Tensor, bias: Tensor, scale: Tensor, shift: Tensor, mean: Tensor, variance: Tensor,
                epsilon: float) -> Tuple[Tensor, Tensor]:
    """Returns filters and a bias that include a normalization.

    With a mean and shift of 0 a normalization multiplies the filters by gamma / sqrt(variance + epsilon).
    """
    channels = w.shape[0]
    zero = p.copy(p.full((channels,), 0, scale.dtype))
    flat = p.reshape(w, (1, channels, w.size // channels))
    filters = p.reshape(batch_norm(p, flat, scale, zero, zero, variance, epsilon=epsilon), w.shape)
    sums = bias.reshape(1, channels, 1)
    return filters, batch_norm(p, sums, scale, shift, mean, variance, epsilon=epsilon).reshape(channels)


def instance_norm(p: Program, x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5) -> Tensor:
    return p.op("norm_forward", x=x, gamma=scale, beta=bias, kind="instance", epsilon=epsilon)


def group_norm(p: Program, x: Tensor, scale: Tensor, bias: Tensor, *, num_groups: int, epsilon: float = 1e-5,
               stash_type: int = 1, by_group: int = 0) -> Tensor:
    if by_group:
        each = x.shape[1] // num_groups
        scale, bias = (p.copy(v.unsqueeze(1).broadcast(num_groups, each)).reshape(-1) for v in (scale, bias))
    return p.op("norm_forward", x=x, gamma=scale, beta=bias, kind="group", groups=num_groups, epsilon=epsilon)


def _last(p: Program, x: Tensor, v: Optional[Tensor], axis: int) -> Optional[Tensor]:
    """Returns a scale or bias in the shape of the normalized dimensions."""
    shape = x.shape[axis:]
    return v if v is None or v.shape == shape else p.copy(v.broadcast(shape))


def layer_norm(p: Program, x: Tensor, scale: Tensor, bias: Optional[Tensor] = None, *, axis: int = -1,
               epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    axis %= x.ndim
    statistics = [len(p.wanted) > i and p.wanted[i] for i in (1, 2)]
    found = p.op("norm_forward", x=x, gamma=_last(p, x, scale, axis), beta=_last(p, x, bias, axis), kind="layer",
                 dimensions=x.ndim - axis, epsilon=epsilon, mean=statistics[0], rstd=statistics[1])
    if not any(statistics):
        return found
    outputs = iter(found)
    y, kept = next(outputs), (*x.shape[:axis], *[1] * (x.ndim - axis))
    return (y, *(next(outputs).reshape(kept) if wanted else None for wanted in statistics))


def rms_norm(p: Program, x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5,
             stash_type: int = 1) -> Tensor:
    axis %= x.ndim
    return p.op("norm_forward", x=x, gamma=_last(p, x, scale, axis), kind="rms", dimensions=x.ndim - axis,
                epsilon=epsilon)


def mean_variance_norm(p: Program, x: Tensor, *, axes: Sequence[int] = (0, 2, 3)) -> Tensor:
    axes = [a % x.ndim for a in axes]
    order = [*(d for d in range(x.ndim) if d not in axes), *axes]
    y = p.op("norm_forward", x=x.permute(order), kind="layer", dimensions=len(axes), epsilon=0.0)
    return y.permute([order.index(d) for d in range(x.ndim)])


def lp_norm(program: Program, x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    """Divides by the norm along an axis; rows of zeros remain zeros."""
    shape = tuple(1 if d == axis % x.ndim else n for d, n in enumerate(x.shape))
    if p == 1:
        norm = program.op("reduce", x=elementwise.apply(program, x, "abs"), kind="sum", axes=[axis], y=shape)
    else:
        norm = program.op("reduce", x=x, kind="norm", axes=[axis], y=shape)
    return elementwise.binary(program, x, program.chain(norm, elementwise.step("max", 1e-30)), "divide")


def rotary(p: Program, x: Tensor, cos: Tensor, sin: Tensor, positions: Any = None, *, interleaved: int = 0,
           num_heads: int = 0, rotary_embedding_dim: int = 0) -> Tensor:
    """Rotates pairs of features by the angles of their positions."""
    from ._layout import gather
    shape = x.shape
    if x.ndim == 3:
        x = p.reshape(x, (shape[0], shape[1], num_heads, shape[2] // num_heads)).permute((0, 2, 1, 3))
    if positions is not None:
        cos, sin = gather(p, cos, positions), gather(p, sin, positions)
    cos, sin = (v.unsqueeze(1) for v in (cos, sin))  # the same for all heads
    size = rotary_embedding_dim or x.shape[3]
    turned, half = x.slice(3, 0, size), size // 2
    step = 2 if interleaved else 1
    a = turned.slice(3, 0, half, step)
    b = turned.slice(3, 1 if interleaved else half, half, step)
    y = p.empty(x.shape, x.dtype, [x, cos, sin])

    def part(first: Tensor, second: Tensor, kind: str, start: int) -> None:
        found = elementwise.binary(p, elementwise.binary(p, first, cos, "multiply"),
                                   elementwise.binary(p, second, sin, "multiply"), kind)
        p.write(found, y.slice(3, start, half, step))
    part(a, b, "subtract", 0)
    part(b, a, "add", 1 if interleaved else half)
    if size < x.shape[3]:
        p.write(x.slice(3, size, x.shape[3] - size), y.slice(3, size, x.shape[3] - size))
    return y if len(shape) == 4 else p.reshape(y.permute((0, 2, 1, 3)), shape)


def affine_grid(p: Program, theta: Tensor, size: np.ndarray, *, align_corners: int = 0) -> Tensor:
    """Multiplies the matrices by the coordinates of the elements of an image, which depend on its shape only."""
    spatial = [int(n) for n in size[2:]]
    rank, base = len(spatial), p.empty((*spatial, len(spatial) + 1), "f32", [])
    p.write(p.full((*spatial, 1), 1, "f32"), base.slice(rank, rank, 1))
    for d, n in enumerate(spatial):
        steps = max(n - 1, 1) if align_corners else n  # from -1 to 1
        line = p.chain(p.upload(np.arange(n, dtype="f4")), elementwise.step("multiply", 2),
                       elementwise.step("add", -steps if align_corners else 1 - n), elementwise.step("divide", steps))
        along = line.reshape([n if i == d else 1 for i in range(rank)]).broadcast(spatial)
        p.write(along.unsqueeze(rank), base.slice(rank, rank - 1 - d, 1))
    base = p.reshape(p.cast(base, theta.dtype), (math.prod(spatial), rank + 1))
    y = p.op("gemm", a=base.unsqueeze(0).broadcast(theta.shape[0], *base.shape), b=theta.transpose())
    return p.reshape(y, (theta.shape[0], *spatial, len(spatial)))

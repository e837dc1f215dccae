"""Sampling of images at coordinates, selection of boxes, and determinants."""
import math
from itertools import product
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

import tenon

from .._tensor import Tensor
from . import _elementwise as elementwise
from ._indexing import gather_elements
from ._logic import compare, logic, where
from ._program import Operand, Program
from ._sorting import selected

step = elementwise.step
Tap = Tuple[Tensor, Optional[Tensor]]  # indices in f32 of one dimension, and their weights


def _reflected(p: Program, x: Tensor, low: float, high: float) -> Tensor:
    """Mirrors coordinates at both ends: a triangle wave of period 2 (high - low)."""
    span = high - low
    if span == 0:
        return p.chain(x, step("multiply", 0), step("add", low))
    return p.chain(x, step("add", -low), step("abs"), step("fmod", 2 * span), step("add", -span), step("abs"),
                   step("multiply", -1), step("add", low + span))


def _inside(p: Program, x: Tensor, size: int, padding: str, align: int) -> Tensor:
    """Returns coordinates after the padding mode; those of zeros are unchanged."""
    if padding == "border":
        return p.chain(x, step("max", 0), step("min", size - 1))
    if padding == "reflection":
        return _reflected(p, x, *((0, size - 1) if align else (-0.5, size - 0.5)))
    return x


def _cubic(p: Program, t: Tensor) -> List[Tensor]:
    """Returns the weights of four taps of the cubic convolution with coefficient -0.75 (R. Keys, 1981)."""
    a = -0.75

    def far(x: Tensor) -> Tensor:
        return p.chain(x, step("multiply", a), step("add", -5 * a), step("multiply", operand="x1"),
                       step("add", 8 * a), step("multiply", operand="x1"), step("add", -4 * a), x1=x)

    def near(x: Tensor) -> Tensor:
        return p.chain(x, step("multiply", a + 2), step("add", -(a + 3)), step("multiply", operand="x1"),
                       step("multiply", operand="x1"), step("add", 1), x1=x)
    other = p.chain(t, step("multiply", -1), step("add", 1))
    return [far(p.chain(t, step("add", 1))), near(t), near(other), far(p.chain(other, step("add", 1)))]


def _taps(p: Program, grid: Tensor, size: int, mode: str, padding: str, align: int) -> List[Tap]:
    """Returns the taps of one dimension for normalized coordinates from -1 to 1."""
    scale = (size - 1) / 2 if align else size / 2
    x = p.chain(grid, step("add", 1), step("multiply", scale), step("add", 0 if align else -0.5))
    return _taps_at(p, x, size, mode, padding, align)


def _taps_at(p: Program, x: Tensor, size: int, mode: str, padding: str, align: int) -> List[Tap]:
    """Returns the taps of one dimension for coordinates in elements."""
    if mode == "nearest":
        x = p.chain(x, step("round"))
    x = _inside(p, x, size, padding, align)
    if mode == "nearest":
        return [_masked(p, x, None, size, padding, align)]
    first = p.chain(x, step("floor"))
    t = elementwise.binary(p, x, first, "subtract")
    if mode == "linear":
        weights, start = [p.chain(t, step("multiply", -1), step("add", 1)), t], 0
    else:
        weights, start = _cubic(p, t), -1
    return [_masked(p, p.chain(first, step("add", start + k)), w, size, padding, align)
            for k, w in enumerate(weights)]


def _masked(p: Program, x: Tensor, weight: Optional[Tensor], size: int, padding: str, align: int) -> Tap:
    """Returns indices within the image; the weight outside is 0 if the padding is zeros."""
    x = _inside(p, x, size, padding, align)
    clipped = p.chain(x, step("max", 0), step("min", size - 1))
    if padding != "zeros":
        return clipped, weight
    mask = p.cast(compare("equal")(p, x, clipped), x.dtype)
    return clipped, mask if weight is None else elementwise.binary(p, weight, mask, "multiply")


def grid_sample(p: Program, x: Tensor, grid: Tensor, *, align_corners: int = 0, mode: str = "linear",
                padding_mode: str = "zeros") -> Tensor:
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    is_typed = x.dtype == grid.dtype or (x.dtype in ("f16", "bf16") and grid.dtype == "f32")
    # ONNX moves places outside to the border before a cubic interpolation, Tenon the elements around them.
    if (x.ndim == 4 or (x.ndim == 5 and mode != "cubic")) and is_typed and x.size > 0 \
            and (mode, padding_mode) != ("cubic", "border"):
        return p.op("grid_sample", x=x, grid=grid, mode=mode, padding=padding_mode, flags=align_corners)
    count, channels, sizes, out = x.shape[0], x.shape[1], x.shape[2:], grid.shape[1:-1]
    flat, points = p.reshape(x, (count, channels, math.prod(sizes))), math.prod(out)
    if 0 in (flat.size, points):
        return p.empty((count, channels, *out), x.dtype, [x, grid])
    lines = [p.reshape(grid.slice(grid.ndim - 1, len(sizes) - 1 - d, 1), (count, 1, points))
             for d in range(len(sizes))]
    taps = [_taps(p, line, n, mode, padding_mode, align_corners) for line, n in zip(lines, sizes)]
    return p.reshape(_interpolated(p, flat, sizes, taps), (count, channels, *out))


def _interpolated(p: Program, flat: Tensor, sizes: Sequence[int], taps: List[List[Tap]]) -> Tensor:
    """Returns the weighted sum of the elements at all combinations of the dimensions' taps, which have the shape
    …, 1, points. The last dimension of `flat` is an image of the given sizes."""
    total = None
    for chosen in product(*taps):
        index, weight = None, None
        for (place, w), size in zip(chosen, sizes):  # the index in row-major order
            number = p.cast(place, "i32")
            if index is not None:
                number = elementwise.binary(p, elementwise.binary(p, index, p.full((), size, "i32"), "multiply"),
                                            number, "add")
            index = number
            weight = w if weight is None else weight if w is None else elementwise.binary(p, weight, w, "multiply")
        value = gather_elements(p, flat, index.broadcast(*flat.shape[:-1], index.shape[-1]), axis=flat.ndim - 1)
        value = value if weight is None else elementwise.binary(p, value, p.cast(weight, value.dtype), "multiply")
        total = value if total is None else elementwise.binary(p, total, value, "add")
    return total


def deform_conv(p: Program, x: Tensor, w: Tensor, offset: Tensor, bias: Optional[Tensor] = None,
                mask: Optional[Tensor] = None, *, dilations: Optional[Sequence[int]] = None, group: int = 1,
                kernel_shape: Optional[Sequence[int]] = None, offset_group: int = 1,
                pads: Optional[Sequence[int]] = None, strides: Optional[Sequence[int]] = None) -> Tensor:
    """Convolves with samples of the image at shifted positions: a product of the filters and the sampled columns."""
    sizes, taps, out, count = x.shape[2:], w.shape[2:], offset.shape[2:], x.shape[0]
    rank, window, points = len(sizes), math.prod(taps), math.prod(out)
    strides, dilations, pads = strides or [1] * rank, dilations or [1] * rank, pads or [0] * 2 * rank
    if 0 in (points, x.size):
        return p.empty((count, w.shape[0], *out), x.dtype, [x, w, offset])
    shifts = p.reshape(p.cast(offset, "f64" if x.dtype == "f64" else "f32"),
                       (count, offset_group, window, rank, points))
    lines = []
    for d, size in enumerate(sizes):
        tap, place = (p.cast(p.upload(np.indices(shape)[d].reshape(-1).astype("f4")), shifts.dtype)
                      for shape in (taps, out))
        at = p.chain(shifts.slice(3, d, 1).squeeze(3), step("add", operand="x1"), step("add", operand="x2"),
                     x1=p.chain(tap, step("multiply", dilations[d])).unsqueeze(1),
                     x2=p.chain(place, step("multiply", strides[d]), step("add", -pads[d])))
        lines.append(_taps_at(p, p.reshape(at, (count, offset_group, 1, window * points)), size, "linear", "zeros", 1))
    flat = p.reshape(x, (count, offset_group, x.shape[1] // offset_group, math.prod(sizes)))
    columns = _interpolated(p, flat, sizes, lines)
    if mask is not None:
        columns = elementwise.binary(p, columns, p.reshape(mask, (count, offset_group, 1, window * points)), "multiply")
    filters = p.reshape(w, (1, group, w.shape[0] // group, w.shape[1] * window))
    y = p.op("gemm", a=filters.broadcast(count, *filters.shape[1:]),
             b=p.reshape(columns, (count, group, w.shape[1] * window, points)))
    y = p.reshape(y, (count, w.shape[0], *out))
    return y if bias is None else elementwise.binary(p, y, bias.reshape(-1, *[1] * rank), "add")


def roi_align(p: Program, x: Tensor, rois: Tensor, indices: Operand, *, output_height: int = 1, output_width: int = 1,
              coordinate_transformation_mode: str = "half_pixel", mode: str = "avg", sampling_ratio: int = 0,
              spatial_scale: float = 1.0) -> Tensor:
    modes = {"half_pixel": 0, "output_half_pixel": tenon.ROI_ALIGN_UNSHIFTED}
    return p.op("roi_align", x=x, rois=rois, indices=p.cast(p.device(indices), "i32"),
                y=p.empty((rois.shape[0], x.shape[1], output_height, output_width), x.dtype, [x, rois]),
                mode={"avg": "average", "max": "max"}[mode], sampling_ratio=sampling_ratio,
                spatial_scale=spatial_scale, flags=modes[coordinate_transformation_mode])


# Boxes -----------------------------------------------------------------------------------------------


def _corners(p: Program, boxes: Tensor, centered: int) -> List[Tensor]:
    """Returns the smaller and larger coordinates of boxes of shape N, 4 in both dimensions: four tensors of shape N."""
    a, b, c, d = (p.copy(boxes.slice(1, k, 1).squeeze(1)) for k in range(4))
    if centered:  # x and y of the center, width and height
        def ends(center: Tensor, size: Tensor) -> List[Tensor]:
            return [p.op("elementwise", a=center, b=size, kind="scale_add", beta=s) for s in (-0.5, 0.5)]
        (left, right), (top, bottom) = ends(a, c), ends(b, d)
        return [top, left, bottom, right]
    return [elementwise.binary(p, first, second, kind) for kind, first, second in
            (("min", a, c), ("min", b, d), ("max", a, c), ("max", b, d))]


def _overlaps(p: Program, corners: List[Tensor], best: Tensor, threshold: float) -> Tensor:
    """Returns which boxes overlap the best one by more than the threshold: intersection over union."""
    def area(top: Tensor, left: Tensor, bottom: Tensor, right: Tensor) -> Tensor:
        high, wide = (p.chain(elementwise.binary(p, far, near, "subtract"), step("max", 0))
                      for near, far in ((top, bottom), (left, right)))
        return elementwise.binary(p, high, wide, "multiply")
    one = [p.op("gather_forward", x=v, indices=best, axis=0) for v in corners]
    common = area(*(elementwise.binary(p, v, w, kind) for v, w, kind in
                    zip(corners, one, ("max", "max", "min", "min"))))
    union = elementwise.binary(p, elementwise.binary(p, area(*corners), area(*one), "add"), common, "subtract")
    return compare("greater")(p, common, p.chain(union, step("multiply", threshold)))


def non_max_suppression(p: Program, boxes: Tensor, scores: Tensor, most: Optional[np.ndarray] = None,
                        overlap: Optional[np.ndarray] = None, least: Optional[np.ndarray] = None, *,
                        center_point_box: int = 0) -> Tensor:
    """Selects the box with the highest score, removes those that overlap it, and repeats."""
    limit = 0 if most is None else int(most.reshape(()))
    threshold = 0.0 if overlap is None else float(overlap.reshape(()))
    count, none = boxes.shape[1], p.full((), float("-inf"), scores.dtype)
    rows, valid = [], []
    for batch, label in product(range(scores.shape[0]), range(scores.shape[1])):
        corners = _corners(p, boxes.slice(0, batch, 1).squeeze(0), center_point_box)
        left = p.copy(scores.slice(0, batch, 1).slice(1, label, 1).reshape(count))
        if least is not None:
            low = p.full((), float(least.reshape(())), scores.dtype)
            left = where(p, compare("greater")(p, left, low), left, none)
        for _ in range(min(limit, count)):
            best = p.op("reduce", x=left, kind="argmax")
            top = p.op("reduce", x=left, kind="max")
            valid.append(p.cast(compare("greater")(p, top, none), "u8"))
            rows.append(p.concat([p.upload(np.array([batch, label], "i4")), best.unsqueeze(0)], 0))
            same = compare("equal")(p, p.upload(np.arange(count, dtype="i4")), best)
            gone = logic("or")(p, _overlaps(p, corners, best, threshold), same)
            left = where(p, gone, none, left)
    if not rows:
        return p.empty((0, 3), "i64", [boxes])
    table = p.concat([row.unsqueeze(0) for row in rows], 0)
    chosen = selected(p, p.concat([v.unsqueeze(0) for v in valid], 0))
    if chosen.size == 0:
        return p.empty((0, 3), "i64", [boxes])
    return p.cast(p.op("gather_forward", x=table, indices=chosen, axis=0), "i64")


def determinant(p: Program, x: Tensor) -> Tensor:
    """Expands determinants of up to 4 × 4 by the first row."""
    size = x.shape[-1]
    if size > 4:
        raise NotImplementedError(f"matrices of {size} × {size}; up to 4 × 4 are supported")
    rows, columns = x.ndim - 2, x.ndim - 1

    def of(row: int, left: List[int]) -> Any:
        total = None
        for place, column in enumerate(left):
            value = x.slice(rows, row, 1).slice(columns, column, 1).squeeze(columns).squeeze(rows)
            if len(left) > 1:
                rest = of(row + 1, [c for c in left if c != column])
                value = elementwise.binary(p, value, rest, "multiply")
            total = value if total is None else \
                elementwise.binary(p, total, value, "subtract" if place % 2 else "add")
        return total
    return p.copy(of(0, list(range(size))))

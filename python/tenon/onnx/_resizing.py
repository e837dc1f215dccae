"""Resizing of images, and pooling by norms."""
from typing import Any, Dict, List, Optional, Sequence

import numpy as np

import tenon

from .._tensor import Tensor
from ._program import Program
from ._products import paddings

COORDINATES = {"half_pixel": "half_pixel", "half_pixel_symmetric": "half_pixel_symmetric",
               "pytorch_half_pixel": "pytorch_half_pixel", "align_corners": "align_corners",
               "asymmetric": "asymmetric", "tf_half_pixel_for_nn": "tf_half_pixel",
               "tf_crop_and_resize": "tf_crop_and_resize"}
ROUNDINGS = {"round_prefer_floor": "prefer_floor", "round_prefer_ceil": "prefer_ceil", "floor": "floor", "ceil": "ceil"}


def _wanted(x: Tensor, axes: List[int], scales: Optional[np.ndarray], sizes: Optional[np.ndarray],
            policy: str) -> Any:
    """Returns the sizes and scales of all dimensions."""
    found, factors = list(x.shape), [1.0] * x.ndim
    if scales is not None and scales.size:
        for axis, scale in zip(axes, scales.tolist()):
            found[axis], factors[axis] = int(np.floor(x.shape[axis] * scale)), scale
        return found, factors
    ratios = [int(n) / x.shape[a] for a, n in zip(axes, sizes)]  # type: ignore[arg-type]
    for axis, size, ratio in zip(axes, sizes, ratios):  # type: ignore[arg-type]
        found[axis], factors[axis] = int(size), ratio
        if policy != "stretch":
            factors[axis] = min(ratios) if policy == "not_larger" else max(ratios)
            found[axis] = int(np.floor(factors[axis] * x.shape[axis] + 0.5))
    return found, factors


def resize(p: Program, x: Tensor, roi: Optional[np.ndarray] = None, scales: Optional[np.ndarray] = None,
           sizes: Optional[np.ndarray] = None, *, mode: str = "nearest", antialias: int = 0,
           axes: Optional[Sequence[int]] = None, coordinate_transformation_mode: str = "half_pixel",
           cubic_coeff_a: float = -0.75, exclude_outside: int = 0, extrapolation_value: float = 0.0,
           keep_aspect_ratio_policy: str = "stretch", nearest_mode: str = "round_prefer_floor") -> Tensor:
    chosen = [a % x.ndim for a in axes] if axes is not None else list(range(x.ndim))
    shape, factors = _wanted(x, chosen, scales, sizes, keep_aspect_ratio_policy)
    begin, end = [0.0] * x.ndim, [1.0] * x.ndim
    if roi is not None and roi.size:
        for i, axis in enumerate(chosen):
            begin[axis], end[axis] = float(roi[i]), float(roi[i + len(chosen)])
    spatial = [d for d in range(x.ndim) if shape[d] != x.shape[d] or factors[d] != 1 or begin[d] != 0 or end[d] != 1]
    if not spatial:
        return x
    order, view, result = _as_image(x, spatial)
    y = p.empty([shape[d] for d in order], x.dtype, [x])
    target = _images(y, len(result))
    arguments: Dict[str, Any] = dict(
        mode={"nearest": "nearest", "linear": "linear", "cubic": "cubic"}[mode], cubic_a=cubic_coeff_a,
        coordinates=COORDINATES[coordinate_transformation_mode], rounding=ROUNDINGS[nearest_mode],
        extrapolation=extrapolation_value, scales=[factors[d] for d in result],
        region_begin=[begin[d] for d in result], region_end=[end[d] for d in result],
        flags=(tenon.RESIZE_ANTIALIAS if antialias else 0) | (tenon.RESIZE_EXCLUDE_OUTSIDE if exclude_outside else 0))
    p.op("resize_forward", x=_images(p.copy(view) if view.ndim > len(result) + 2 else view, len(result)), y=target,
         **arguments)
    return y.permute([order.index(d) for d in range(x.ndim)])


def _as_image(x: Tensor, spatial: List[int]) -> Any:
    """Returns the order of dimensions with the resized ones last, x in this order, and the resized dimensions."""
    if len(spatial) > 3:
        raise NotImplementedError("more than three resized dimensions")
    order = [*(d for d in range(x.ndim) if d not in spatial), *spatial]
    return order, x.permute(order), spatial


def _images(x: Tensor, rank: int) -> Tensor:
    """Returns a view with two dimensions before the spatial ones."""
    while x.ndim < rank + 2:
        x = x.unsqueeze(0)
    return x if x.ndim == rank + 2 else x.reshape(1, -1, *x.shape[-rank:])


def upsample(p: Program, x: Tensor, scales: np.ndarray, *, mode: str = "nearest") -> Tensor:
    return resize(p, x, None, scales, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def lrn(p: Program, x: Tensor, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Tensor:
    return p.op("lrn_forward", x=x, size=size, alpha=alpha, beta=beta, k=bias)


def lp_pool(program: Program, x: Tensor, *, kernel_shape: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
            dilations: Optional[Sequence[int]] = None, p: int = 2, pads: Optional[Sequence[int]] = None,
            strides: Optional[Sequence[int]] = None) -> Tensor:
    rank = x.ndim - 2
    strides, dilations = list(strides or [1] * rank), list(dilations or [1] * rank)
    begin, end = paddings(auto_pad, pads, x.shape[2:], kernel_shape, strides, dilations)
    return program.op("pool_forward", x=x, kind="lp", p=float(p), window=list(kernel_shape), stride=strides,
                      dilation=dilations, pad_begin=begin, pad_end=end, flags=tenon.POOL_CEIL if ceil_mode else 0)


def global_lp_pool(program: Program, x: Tensor, *, p: int = 2) -> Tensor:
    return program.op("pool_forward", x=x, kind="lp", p=float(p), flags=tenon.POOL_GLOBAL)

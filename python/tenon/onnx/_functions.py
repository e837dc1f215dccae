"""Functions of one tensor, window functions and Fourier transforms."""
import math
from typing import Any, Callable, Optional, Tuple

import numpy as np

from .._tensor import Tensor
from . import _elementwise as elementwise
from ._layout import padded
from ._logic import compare, where
from ._program import Program
from ._types import type_name

step = elementwise.step


def function(kind: str) -> Callable[[Program, Tensor], Tensor]:
    """Returns the function of an operator that is one function of tenon.function."""
    def run(p: Program, x: Tensor) -> Tensor:
        return p.empty(x.shape, x.dtype, [x]) if 0 in x.shape else p.op("function", x=x, kind=kind)
    return run


def _cosine(p: Program, size: np.ndarray, periodic: int) -> Tensor:
    """Returns cos(2 π n / N) for the entries of a window."""
    count = int(size.reshape(()))
    return p.chain(p.upload(np.arange(count, dtype="f4")),
                   step("multiply", 2 * math.pi / (count if periodic else count - 1)), step("cos"))


def window(constant: float, linear: float) -> Callable[..., Tensor]:
    """Returns the function of a window that is constant + linear · cos(2 π n / N)."""
    def run(p: Program, size: np.ndarray, *, periodic: int = 1, output_datatype: int = 1) -> Tensor:
        found = p.chain(_cosine(p, size, periodic), step("multiply", linear), step("add", constant))
        return p.cast(found, type_name(output_datatype))
    return run


def blackman(p: Program, size: np.ndarray, *, periodic: int = 1, output_datatype: int = 1) -> Tensor:
    """0.42 - 0.5 c + 0.08 (2 c² - 1) with c = cos(2 π n / N)."""
    found = p.chain(_cosine(p, size, periodic), step("multiply", 0.16), step("add", -0.5),
                    step("multiply", operand="x0"), step("add", 0.34))
    return p.cast(found, type_name(output_datatype))


def mel_weights(p: Program, bands: np.ndarray, length: np.ndarray, rate: np.ndarray, low: np.ndarray,
                high: np.ndarray, *, output_datatype: int = 1) -> Tensor:
    """Returns the weights of spectrum bins in mel bands: triangles from one band's center to the next ones."""
    count, size = int(bands.reshape(())), int(length.reshape(()))
    first, last = (2595 * math.log10(1 + float(edge.reshape(())) / 700) for edge in (low, high))
    bins = p.chain(p.upload(np.arange(count + 2, dtype="f4")), step("multiply", (last - first) / (count + 2)),
                   step("add", first), step("multiply", math.log(10) / 2595), step("expm1"),
                   step("multiply", 700 * (size + 1) / float(rate.reshape(()))), step("floor"))
    begin, center, end = (bins.slice(0, k, count).unsqueeze(0) for k in range(3))
    distance = elementwise.binary(p, p.upload(np.arange(size // 2 + 1, dtype="f4").reshape(-1, 1)), center, "subtract")
    rising, falling = (p.chain(far, step("subtract", operand="x1"), step("max", 1), x1=near)
                       for far, near in ((center, begin), (end, center)))
    width = where(p, compare("less")(p, distance, p.full((), 0, "f32")), rising, falling)
    weights = p.chain(distance, step("abs"), step("divide", operand="x1"), step("multiply", -1), step("add", 1),
                      step("max", 0), x1=width)
    return p.cast(weights, type_name(output_datatype))


# Fourier transforms -----------------------------------------------------------------------------------


def _turns(p: Program, rows: int, columns: int, length: int, dtype: str) -> Tuple[Tensor, Tensor]:
    """Returns the cosines and sines of 2 π r c / length."""
    numbers = np.outer(np.arange(rows), np.arange(columns)) % length
    return _sines(p, 4 * numbers + length, 4 * length, dtype), _sines(p, numbers, length, dtype)


def _sines(p: Program, numbers: np.ndarray, length: int, dtype: str) -> Tensor:
    """Returns the sines of 2 π numbers / length. The angles are reduced to a quarter turn, so zeros are exact."""
    halves = (4 * numbers + length) // (2 * length)  # the nearest number of half turns
    rest = (2 * numbers - halves * length) * (1 - 2 * (halves % 2))
    angles = p.cast(p.upload(rest.astype("f4")), dtype)
    return p.chain(angles, step("multiply", math.pi / length), step("sin"))


def _matrix(p: Program, parts: Any, shape: Tuple[int, ...], dtype: str) -> Tensor:
    """Writes parts, by their places in dimensions 1 and 3, to a matrix with real and imaginary rows and columns."""
    whole = p.empty(shape, dtype, [part for part, _ in parts.values()])
    for (row, column), (part, sign) in parts.items():
        p.write(p.chain(part, step("multiply", sign)), whole[:, row, :, column])
    return p.reshape(whole, (shape[0] * shape[1], shape[2] * shape[3]))


def _transform(p: Program, x: Tensor, length: int, inverse: int, onesided: int) -> Tensor:
    """Transforms x of shape batch, n, components along n."""
    components = x.shape[2]
    bins = length // 2 + 1 if onesided and not inverse else length
    direction = 1.0 if inverse else -1.0
    scale = 1.0 / length if inverse else 1.0
    if inverse and onesided:  # from half of a spectrum to real values
        half = x.shape[1]
        cos, sin = _turns(p, half, length, length, x.dtype)
        weights = p.empty((half, 1), x.dtype, [])
        p.write(p.full((half, 1), 2.0 / length, x.dtype), weights)
        for place in (0, half - 1) if length % 2 == 0 else (0,):
            p.write(p.full((1, 1), 1.0 / length, x.dtype), weights.slice(0, place, 1))
        cos, sin = (elementwise.binary(p, v, weights, "multiply") for v in (cos, sin))
        matrix = _matrix(p, {(0, 0): (cos, 1.0), (1, 0): (sin, -1.0)}, (half, 2, length, 1), x.dtype)
        return p.reshape(p.op("gemm", a=p.reshape(x, (x.shape[0], half * 2)), b=matrix), (x.shape[0], length, 1))
    cos, sin = _turns(p, x.shape[1], bins, length, x.dtype)
    parts = {(0, 0): (cos, scale), (0, 1): (sin, direction * scale)}
    if components == 2:
        parts.update({(1, 0): (sin, -direction * scale), (1, 1): (cos, scale)})
    matrix = _matrix(p, parts, (x.shape[1], components, bins, 2), x.dtype)
    flat = p.reshape(x, (x.shape[0], x.shape[1] * components))
    return p.reshape(p.op("gemm", a=flat, b=matrix), (x.shape[0], bins, 2))


def dft(p: Program, x: Tensor, length: Optional[np.ndarray] = None, place: Optional[np.ndarray] = None, *,
        axis: Optional[int] = None, inverse: int = 0, onesided: int = 0) -> Tensor:
    """Computes discrete Fourier transforms as products with the matrix of cosines and sines."""
    chosen = int(place.reshape(())) if place is not None else -2 if axis is None else axis
    chosen %= x.ndim
    order = [*(d for d in range(x.ndim - 1) if d != chosen), chosen, x.ndim - 1]
    moved = x.permute(order)
    size = moved.shape[-2]
    count = int(length.reshape(())) if length is not None else 2 * (size - 1) if inverse and onesided else size
    wanted = count // 2 + 1 if inverse and onesided else count
    moved = padded(p, moved, [0] * x.ndim, [0] * (x.ndim - 2) + [wanted - size, 0])
    y = _transform(p, p.reshape(moved, (-1 if 0 not in moved.shape else 0, wanted, x.shape[-1])), count, inverse,
                   onesided)
    y = p.reshape(y, (*moved.shape[:-2], *y.shape[1:]))
    return y.permute([order.index(d) for d in range(x.ndim)])


def stft(p: Program, x: Tensor, frame_step: np.ndarray, window_: Optional[Tensor] = None,
         frame_length: Optional[np.ndarray] = None, *, onesided: int = 1) -> Tensor:
    """Transforms overlapping frames of signals of shape batch, samples, components."""
    hop = int(frame_step.reshape(()))
    length = int(frame_length.reshape(())) if frame_length is not None else window_.size  # type: ignore[union-attr]
    count = (x.shape[1] - length) // hop + 1
    frames = p.empty((x.shape[0], count, length, x.shape[2]), x.dtype, [x])
    for number in range(count):
        p.write(x.slice(1, number * hop, length), frames.slice(1, number, 1).squeeze(1))
    if window_ is not None:
        frames = elementwise.binary(p, frames, window_.reshape(-1, 1), "multiply")
    flat = p.reshape(frames, (x.shape[0] * count, length, x.shape[2]))
    y = _transform(p, flat, length, 0, onesided)
    return p.reshape(y, (x.shape[0], count, *y.shape[1:]))

"""Comparisons, logic, selection by conditions, and integer arithmetic."""
from typing import Callable, Optional

import numpy as np

from .._tensor import Tensor
from . import _elementwise as elementwise
from ._program import Operand, Program
from ._types import FLOATS


def compare(kind: str) -> Callable[..., Tensor]:
    def run(p: Program, a: Tensor, b: Tensor) -> Tensor:
        shape = np.broadcast_shapes(a.shape, b.shape)
        return p.empty(shape, "bool", [a, b]) if 0 in shape else p.op("compare", a=a, b=b, kind=kind)
    return run


def logic(kind: str) -> Callable[..., Tensor]:
    """Returns the function of a logical operation of bool tensors, or of a bitwise one of integers."""
    def run(p: Program, a: Tensor, b: Optional[Tensor] = None) -> Tensor:
        shape = a.shape if b is None else np.broadcast_shapes(a.shape, b.shape)
        given = {} if b is None else {"b": b}
        return p.empty(shape, a.dtype, [a, *given.values()]) if 0 in shape else p.op("logic", a=a, kind=kind, **given)
    return run


def shift(p: Program, a: Tensor, b: Tensor, *, direction: str) -> Tensor:
    return logic(f"shift_{direction.lower()}")(p, a, b)


def classify(p: Program, x: Tensor, kind: str) -> Tensor:
    return p.empty(x.shape, "bool", [x]) if 0 in x.shape else p.op("classify", x=x, kind=kind)


def is_nan(p: Program, x: Tensor) -> Tensor:
    return classify(p, x, "nan")


def is_infinite(p: Program, x: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Tensor:
    if not detect_negative and not detect_positive:
        return p.full(x.shape, 0, "bool")
    kinds = {(1, 1): "infinite", (1, 0): "negative_infinite", (0, 1): "positive_infinite"}
    return classify(p, x, kinds[int(bool(detect_negative)), int(bool(detect_positive))])


def where(p: Program, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    shape = np.broadcast_shapes(condition.shape, a.shape, b.shape)
    return p.empty(shape, a.dtype, [condition, a, b]) if 0 in shape else \
        p.op("where", condition=condition, a=a, b=b)


def thresholded_relu(p: Program, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return where(p, compare("greater")(p, x, p.full((), alpha, x.dtype)), x, p.full((), 0, x.dtype))


def binarizer(p: Program, x: Tensor, *, threshold: float = 0.0) -> Tensor:
    return p.cast(compare("greater")(p, x, p.full((), threshold, x.dtype)), x.dtype)


def shrink(p: Program, x: Tensor, *, lambd: float = 0.5, bias: float = 0.0) -> Tensor:
    zero = p.full((), 0, x.dtype)
    above = compare("greater")(p, x, p.full((), lambd, x.dtype))
    below = compare("less")(p, x, p.full((), -lambd, x.dtype))
    moved = (p.chain(x, elementwise.step("add", sign * bias)) if bias else x for sign in (-1, 1))
    high, low = next(moved), next(moved)
    return where(p, above, high, where(p, below, low, zero))


def negate(p: Program, x: Tensor) -> Tensor:
    if x.dtype in FLOATS:
        return elementwise.affine(-1)(p, x)
    return elementwise.binary(p, p.full((), 0, x.dtype), x, "subtract")


def absolute(p: Program, x: Tensor) -> Tensor:
    if x.dtype in FLOATS:
        return elementwise.apply(p, x, "abs")
    return elementwise.binary(p, x, negate(p, x), "max")


def clip(p: Program, x: Tensor, low: Optional[np.ndarray] = None, high: Optional[np.ndarray] = None) -> Tensor:
    if x.dtype in FLOATS:
        return elementwise.clip(p, x, low, high)
    for kind, bound in (("max", low), ("min", high)):
        if bound is not None:
            x = elementwise.binary(p, x, p.upload(bound.reshape(())), kind)
    return x


def modulo(p: Program, a: Tensor, b: Tensor, *, fmod: int = 0) -> Tensor:
    """Computes the remainder with the sign of b, or of a with fmod."""
    if a.dtype in FLOATS:
        return elementwise.binary(p, a, b, "fmod" if fmod else "remainder")
    quotient = elementwise.binary(p, a, b, "divide")  # rounded toward 0
    rest = elementwise.binary(p, a, elementwise.binary(p, quotient, b, "multiply"), "subtract")
    if fmod or a.dtype.startswith("u"):
        return rest
    zero = p.full((), 0, a.dtype)
    less = compare("less")
    differs = logic("xor")(p, less(p, rest, zero), less(p, b, zero))
    moves = logic("and")(p, differs, compare("not_equal")(p, rest, zero))
    return where(p, moves, elementwise.binary(p, rest, b, "add"), rest)


def power(p: Program, a: Tensor, exponent: Operand) -> Tensor:
    """Computes powers in a's type; those of integers in f64. Squares are products."""
    if isinstance(exponent, np.ndarray) and exponent.size == 1 and exponent.ndim <= a.ndim and exponent == 2 \
            and a.dtype in FLOATS:
        return p.reshape(elementwise.apply(p, a, "square"), np.broadcast_shapes(a.shape, exponent.shape))
    b = p.device(exponent)
    if a.dtype in FLOATS:
        return elementwise.binary(p, a, p.cast(b, a.dtype), "pow")
    return p.cast(elementwise.binary(p, p.cast(a, "f64"), p.cast(b, "f64"), "pow"), a.dtype)

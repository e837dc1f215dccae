"""Element-wise operators: arithmetic, activations and quantization."""
import math
from typing import Any, Callable, Optional

import numpy as np
from onnx import TensorProto

import tenon

from .._tensor import Tensor
from ._program import Program
from ._types import FLOATS, NAMES, type_name


def step(op: str, alpha: Optional[float] = None, **others: Any) -> Any:
    """Returns a step of a chain."""
    return {"op": op, **({} if alpha is None else {"alpha": float(alpha)}), **others}


def apply(p: Program, x: Tensor, kind: str, *constants: float) -> Tensor:
    """Applies an activation. An alpha of 0, which some kinds do not allow, is a relu."""
    if kind in ("leaky_relu", "elu") and constants[0] == 0:
        return p.op("activation_forward", x=x, activation="relu")
    return p.op("activation_forward", x=x, activation=(kind, *map(float, constants)))


def leaky_relu(p: Program, x: Tensor, *, alpha: float = 0.01) -> Tensor:
    return apply(p, x, "leaky_relu", alpha)


def elu(p: Program, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return apply(p, x, "elu", alpha)


def celu(p: Program, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return apply(p, x, "celu", alpha)


def hard_sigmoid(p: Program, x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    return apply(p, x, "hard_sigmoid", alpha, beta)


def plain(kind: str) -> Callable[[Program, Tensor], Tensor]:
    """Returns the function of an activation without constants."""
    return lambda p, x: p.op("activation_forward", x=x, activation=kind)


def selu(p: Program, x: Tensor, *, alpha: float = 1.67326319217681884765625,
         gamma: float = 1.05070102214813232421875) -> Tensor:
    return p.chain(x, step("activate", alpha, activation="elu"), step("multiply", gamma))


def gelu(p: Program, x: Tensor, *, approximate: str = "none") -> Tensor:
    return apply(p, x, "gelu" if approximate == "none" else "gelu_tanh")


def swish(p: Program, x: Tensor, *, alpha: float = 1.0) -> Tensor:
    if alpha == 1:
        return apply(p, x, "silu")
    return p.chain(x, step("multiply", alpha), step("activate", activation="silu"), step("divide", alpha))


def swiglu(p: Program, a: Tensor, b: Tensor, *, alpha: float = 1.0) -> Tensor:
    if alpha == 1:
        return p.op("gated_forward", a=b, b=a, activation="silu")
    return p.chain(a, step("multiply", alpha), step("activate", activation="silu"), step("divide", alpha),
                   step("multiply", operand="x1"), x1=b)


def prelu(p: Program, x: Tensor, slope: Tensor) -> Tensor:
    return p.op("prelu_forward", x=x, slope=slope)


def affine(scale: float) -> Callable[[Program, Tensor], Tensor]:
    return lambda p, x: p.chain(x, step("multiply", scale))


def reciprocal(p: Program, x: Tensor) -> Tensor:
    return binary(p, p.full((), 1, x.dtype), x, "divide")


def binary(p: Program, a: Tensor, b: Tensor, kind: str) -> Tensor:
    """Computes an operation of two tensors with broadcasting."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    if 0 in shape:
        return p.empty(shape, a.dtype, [a, b])
    return p.op("elementwise", a=a, b=b, kind=kind)


def pairs(kind: str) -> Callable[..., Tensor]:
    """Returns the function of an operator with one or more inputs, which are combined one after the other."""
    def run(p: Program, *x: Tensor) -> Tensor:
        found = x[0]
        for other in x[1:]:
            found = binary(p, found, other, kind)
        return found
    return run


def root_of_square(p: Program, x: Tensor, added: Tensor) -> Tensor:
    """Computes sqrt(x² + added)."""
    return p.chain(x, step("fma", operand="x0", addend="x1"), step("sqrt"), x1=added)


def mean(p: Program, *x: Tensor) -> Tensor:
    return x[0] if len(x) == 1 else p.chain(pairs("add")(p, *x), step("divide", len(x)))


def clip(p: Program, x: Tensor, low: Optional[np.ndarray] = None, high: Optional[np.ndarray] = None) -> Tensor:
    steps = [step(op, float(v.reshape(()))) for op, v in (("max", low), ("min", high)) if v is not None]
    return p.chain(x, *steps) if steps else x


def dropout(p: Program, x: Tensor, ratio: Optional[np.ndarray] = None, training: Optional[np.ndarray] = None, *,
            seed: int = 0) -> Any:
    del seed
    if training is not None and training.any() and (ratio is None or ratio != 0):
        raise NotImplementedError("training with random numbers")
    if len(p.wanted) < 2 or not p.wanted[1]:
        return x
    return x, p.full(x.shape, 1, "bool")


def cast(p: Program, x: Tensor, *, to: int, saturate: int = 1, round_mode: str = "up") -> Tensor:
    del saturate, round_mode  # of 8-bit floating-point types
    target = type_name(to)
    return p.cast(x, target, 0 if x.dtype in FLOATS else tenon.COPY_WRAP)


def cast_like(p: Program, x: Tensor, like: Tensor, *, saturate: int = 1, round_mode: str = "up") -> Tensor:
    del saturate, round_mode
    numbers = {name: number for number, name in NAMES.items()}
    return cast(p, x, to=numbers[like.dtype])


# Quantization ----------------------------------------------------------------------------------------


def _along(p: Program, x: Tensor, v: Tensor, axis: int, block_size: int = 0) -> Tensor:
    """Returns scales or zero points in a shape that broadcasts to x's."""
    if v.size == 1 and v.ndim <= 1:
        return v.reshape(())
    if v.ndim == 1:
        return v.reshape([-1 if d == axis % x.ndim else 1 for d in range(x.ndim)])
    axis %= x.ndim
    block = block_size or math.ceil(x.shape[axis] / v.shape[axis])
    wide = v.unsqueeze(axis + 1).broadcast(*v.shape[:axis + 1], block, *v.shape[axis + 1:])
    flat = p.reshape(wide, [n * block if d == axis else n for d, n in enumerate(v.shape)])
    return flat.slice(axis, 0, x.shape[axis])


def dequantize(p: Program, x: Tensor, scale: Tensor, zero: Optional[Tensor] = None, *, axis: int = 1,
               block_size: int = 0, output_dtype: int = 0) -> Tensor:
    scales = p.cast(_along(p, x, scale, axis, block_size), "f32")
    steps, others = [step("multiply", operand="x1")], {"x1": scales}
    if zero is not None:
        steps.insert(0, step("subtract", operand="x2"))
        others["x2"] = p.cast(_along(p, x, zero, axis, block_size), "f32")
    target = type_name(output_dtype) if output_dtype else scale.dtype
    return p.cast(p.chain(p.cast(x, "f32"), *steps, **others), target)


def quantize(p: Program, x: Tensor, scale: Tensor, zero: Optional[Tensor] = None, *, axis: int = 1,
             block_size: int = 0, output_dtype: int = 0, saturate: int = 1, precision: int = 0) -> Tensor:
    """Rounds to nearest, ties to even, before the zero point is added."""
    del saturate, precision
    target = zero.dtype if zero is not None else type_name(output_dtype or TensorProto.UINT8)
    scales = p.cast(_along(p, x, scale, axis, block_size), "f32")
    scaled = binary(p, p.cast(x, "f32"), scales, "divide")
    if zero is None:
        return p.cast(scaled, target, tenon.COPY_NEAREST)
    rounded = p.cast(scaled, "i32", tenon.COPY_NEAREST)
    zeros = p.cast(_along(p, x, zero, axis, block_size), "f32")
    return p.cast(binary(p, p.cast(rounded, "f32"), zeros, "add"), target)


def dynamic_quantize(p: Program, x: Tensor, *, scale: float = 1.0, shift: float = 0.0) -> Any:
    """Quantizes v = `scale` x + `shift` to u8 with the step (max - min) / 255 and a zero point, where max and min are
    those of v and 0. The extremes of v are those of x, because the product and the sum are rounded monotonically."""
    before = [] if (scale, shift) == (1.0, 0.0) else [step("multiply", scale), step("add", shift)]
    low, high = (p.op("reduce", x=x, kind=kind) for kind in (("min", "max") if scale >= 0 else ("max", "min")))
    low = p.chain(low, *before, step("min", 0))
    width = p.chain(high, *before, step("max", 0), step("subtract", operand="x1"), step("divide", 255), x1=low)
    zero = p.chain(low, step("neg"), step("divide", operand="x1"), step("round"), x1=width)
    y = p.chain(x, *before, step("divide", operand="x1"), step("round"), step("add", operand="x2"), x1=width, x2=zero)
    return p.cast(y, "u8"), width, p.cast(zero, "u8")

"""Optimizers of ai.onnx.preview.training: steps of Adagrad, Adam and momentum for any number of tensors.

The inputs are the learning rate R, the number T of earlier steps, and then the tensors of each kind: all parameters X,
all gradients G, and all states. R and T remain on the device, so a program does not depend on their values.
"""
import math
from typing import Any, Callable, List, Sequence

from .._tensor import Tensor
from . import _elementwise as elementwise
from ._logic import compare, where
from ._program import Program

step = elementwise.step


def _each(kinds: int, update: Callable[..., Sequence[Tensor]], tensors: Sequence[Tensor]) -> Any:
    """Updates each group of `kinds` tensors; returns the first results of all groups, then the second ones …"""
    count = len(tensors) // kinds
    if len(tensors) != count * kinds:
        raise ValueError(f"{len(tensors)} tensors follow R and T: expected a multiple of {kinds}")
    results = [update(*tensors[i::count]) for i in range(count)]
    return tuple(result for column in zip(*results) for result in column)


def _regularized(p: Program, x: Tensor, g: Tensor, coefficient: float) -> Tensor:
    """Returns the gradient of the loss with coefficient · |x|² / 2."""
    if coefficient == 0:
        return g
    return p.op("elementwise", a=g, b=x, kind="scale_add", alpha=1.0, beta=coefficient)


def _mixed(p: Program, old: Tensor, new: Tensor, of_old: float, of_new: float) -> Tensor:
    return p.op("elementwise", a=old, b=new, kind="scale_add", alpha=of_old, beta=of_new)


def _minus(p: Program, x: Tensor, direction: Tensor, rate: Tensor, *after: Any) -> Tensor:
    """Returns x - rate · direction, with further steps."""
    return p.chain(direction, step("multiply", operand="x1"), step("neg"), step("add", operand="x2"), *after,
                   x1=p.cast(rate, x.dtype), x2=x)


def _root(p: Program, squares: Tensor, epsilon: float) -> Tensor:
    return p.chain(squares, step("sqrt"), step("add", epsilon))


def adagrad(p: Program, rate: Tensor, count: Tensor, *tensors: Tensor, decay_factor: float = 0.0,
            epsilon: float = 1e-6, norm_coefficient: float = 0.0) -> Any:
    """J. Duchi, E. Hazan and Y. Singer, 2011; the learning rate is divided by 1 + T · decay_factor."""
    slower = p.chain(p.cast(count, rate.dtype), step("multiply", decay_factor), step("add", 1))
    rate = elementwise.binary(p, rate, slower, "divide")

    def update(x: Tensor, g: Tensor, h: Tensor) -> List[Tensor]:
        g = _regularized(p, x, g, norm_coefficient)
        h = p.chain(g, step("multiply", operand="x0"), step("add", operand="x1"), x1=h)
        return [_minus(p, x, elementwise.binary(p, g, _root(p, h, epsilon), "divide"), rate), h]
    return _each(3, update, tensors)


def _corrected(p: Program, rate: Tensor, count: Tensor, alpha: float, beta: float) -> Tensor:
    """Returns the rate times sqrt(1 - beta^T) / (1 - alpha^T), or the rate if T is 0."""
    def one_minus_power(base: float, *after: Any) -> Tensor:  # -expm1(T log(base)) loses no digits near 1
        exponent = math.log(max(base, 1e-30))
        return p.chain(steps, step("multiply", exponent), step("expm1"), step("neg"), *after)
    steps = p.cast(count, rate.dtype)
    factor = elementwise.binary(p, one_minus_power(beta, step("sqrt")), one_minus_power(alpha), "divide")
    started = compare("greater")(p, steps, p.full((), 0, rate.dtype))
    return where(p, started, elementwise.binary(p, rate, factor, "multiply"), rate)


def adam(p: Program, rate: Tensor, count: Tensor, *tensors: Tensor, alpha: float = 0.9, beta: float = 0.999,
         epsilon: float = 1e-6, norm_coefficient: float = 0.0, norm_coefficient_post: float = 0.0) -> Any:
    """D. P. Kingma and J. Ba, 2015."""
    rate = _corrected(p, rate, count, alpha, beta)
    after = [step("multiply", 1 - norm_coefficient_post)] if norm_coefficient_post else []

    def update(x: Tensor, g: Tensor, v: Tensor, h: Tensor) -> List[Tensor]:
        g = _regularized(p, x, g, norm_coefficient)
        v = _mixed(p, v, g, alpha, 1 - alpha)
        h = _mixed(p, h, elementwise.binary(p, g, g, "multiply"), beta, 1 - beta)
        return [_minus(p, x, elementwise.binary(p, v, _root(p, h, epsilon), "divide"), rate, *after), v, h]
    return _each(4, update, tensors)


def momentum(p: Program, rate: Tensor, count: Tensor, *tensors: Tensor, alpha: float, beta: float, mode: str,
             norm_coefficient: float) -> Any:
    """Gradient descent with momentum, in its standard form or in Nesterov's; the first gradient is not scaled."""
    if mode not in ("standard", "nesterov"):
        raise NotImplementedError(f"mode {mode!r}; supported are standard and nesterov")
    started = compare("greater")(p, p.cast(count, rate.dtype), p.full((), 0, rate.dtype))
    factor = where(p, started, p.full((), beta, rate.dtype), p.full((), 1, rate.dtype))

    def update(x: Tensor, g: Tensor, v: Tensor) -> List[Tensor]:
        g = _regularized(p, x, g, norm_coefficient)
        v = _mixed(p, v, elementwise.binary(p, g, p.cast(factor, x.dtype), "multiply"), alpha, 1.0)
        return [_minus(p, x, v if mode == "standard" else _mixed(p, g, v, 1.0, alpha), rate), v]
    return _each(3, update, tensors)

"""Functions of elements, such as tenon.exp: the methods of tensors as functions, also for arrays."""
from typing import Any, Callable

import numpy as np

from ._makers import tensor
from ._methods import FUNCTIONS, function
from ._operators import apply
from ._tensor import Tensor

_SECTIONS = """{summary}

Parameters
----------
{operands}

Returns
-------
y
    A numpy.ndarray if no operand is a tensor, otherwise a Tensor.

Raises
------
TypeError
    An operand is neither a tensor nor an array, or has an unsupported type.
"""
_ONE = "x : Tensor, numpy.ndarray or number\n    Integers are converted to f32, except for sign and roundings."
_TWO = "a, b : Tensor, numpy.ndarray or number\n    They are broadcast to one shape and converted to one type."


def _is_tensor(name: str, value: Any) -> bool:
    if not isinstance(value, (Tensor, np.ndarray, np.number, np.bool_, int, float)):
        raise TypeError(f"{name}: expected a tenon.Tensor or numpy.ndarray, got {type(value).__name__}")
    return isinstance(value, Tensor)


def _named(run: Any, name: str, summary: str, operands: str) -> Any:
    run.__name__ = run.__qualname__ = name
    run.__doc__ = _SECTIONS.format(summary=summary, operands=operands)
    return run


def _unary(kind: str) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        return function(kind, x) if _is_tensor(f"{kind}: x", x) else function(kind, tensor(x)).numpy()
    return _named(run, kind, f"Returns, for each element x, {FUNCTIONS[kind]}.", _ONE)


def _binary(name: str, which: str) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        if any([_is_tensor(f"{name}: a", a), _is_tensor(f"{name}: b", b)]):
            return apply(name, a, b)
        return apply(name, tensor(a), b).numpy()
    return _named(run, name, f"Returns {which} of two elements, or NaN if one of them is NaN.", _TWO)


sign, sqrt, rsqrt, reciprocal = _unary("sign"), _unary("sqrt"), _unary("rsqrt"), _unary("reciprocal")
floor, ceil, trunc = _unary("floor"), _unary("ceil"), _unary("trunc")
exp, exp2, expm1, erf = _unary("exp"), _unary("exp2"), _unary("expm1"), _unary("erf")
log, log2, log10, log1p = _unary("log"), _unary("log2"), _unary("log10"), _unary("log1p")
sin, cos, tan = _unary("sin"), _unary("cos"), _unary("tan")
asin, acos, atan = _unary("asin"), _unary("acos"), _unary("atan")
sinh, cosh, tanh = _unary("sinh"), _unary("cosh"), _unary("tanh")
asinh, acosh, atanh = _unary("asinh"), _unary("acosh"), _unary("atanh")
maximum, minimum = _binary("maximum", "the greater"), _binary("minimum", "the smaller")

__all__ = ["sign", "sqrt", "rsqrt", "reciprocal", "floor", "ceil", "trunc", "exp", "exp2", "expm1", "erf", "log",
           "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
           "acosh", "atanh", "maximum", "minimum"]

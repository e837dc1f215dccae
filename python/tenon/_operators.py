"""Operators of tensors, by one table with the names of NumPy's functions. _types.py has the rules for types."""
import math
import operator
from typing import TYPE_CHECKING, Any, Callable, Dict, NamedTuple, Optional, Tuple, Union

import numpy as np

from ._context import Stream
from ._direct import constant, copy_into, direct, operations
from ._types import BOOL, FLOAT, INTEGER, KINDS, beside_number, dtype_name, integer_range, promoted
from ._view import View

if TYPE_CHECKING:
    from ._tensor import Tensor

Number = Union[bool, int, float]
Binary = Callable[[Any, Any], Any]


class Rule(NamedTuple):
    """The operation that computes an operator, and the kinds of types that it accepts."""

    symbol: str     # for messages
    operation: str
    kind: str
    accepts: Tuple[int, ...]


_NUMBERS, _BITS, _ALL = (INTEGER, FLOAT), (BOOL, INTEGER), (BOOL, INTEGER, FLOAT)
OPERATORS: Dict[str, Rule] = {
    "add": Rule("+", "elementwise", "add", _NUMBERS),
    "subtract": Rule("-", "elementwise", "subtract", _NUMBERS),
    "multiply": Rule("*", "elementwise", "multiply", _NUMBERS),
    "true_divide": Rule("/", "elementwise", "divide", (FLOAT,)),
    "floor_divide": Rule("//", "", "", _NUMBERS),
    "remainder": Rule("%", "elementwise", "remainder", _NUMBERS),
    "power": Rule("**", "elementwise", "pow", _NUMBERS),
    "fmod": Rule("fmod", "elementwise", "fmod", _NUMBERS),
    "maximum": Rule("maximum", "elementwise", "max", _NUMBERS),
    "minimum": Rule("minimum", "elementwise", "min", _NUMBERS),
    "arctan2": Rule("arctan2", "elementwise", "atan2", (FLOAT,)),
    "bitwise_and": Rule("&", "logic", "and", _BITS),
    "bitwise_or": Rule("|", "logic", "or", _BITS),
    "bitwise_xor": Rule("^", "logic", "xor", _BITS),
    "left_shift": Rule("<<", "logic", "shift_left", (INTEGER,)),
    "right_shift": Rule(">>", "logic", "shift_right", (INTEGER,)),
    "equal": Rule("==", "compare", "equal", _ALL),
    "not_equal": Rule("!=", "compare", "not_equal", _ALL),
    "less": Rule("<", "compare", "less", _ALL),
    "less_equal": Rule("<=", "compare", "less_equal", _ALL),
    "greater": Rule(">", "compare", "greater", _ALL),
    "greater_equal": Rule(">=", "compare", "greater_equal", _ALL),
}
_MIRRORED = {"less": "greater", "greater": "less", "less_equal": "greater_equal", "greater_equal": "less_equal",
             "equal": "equal", "not_equal": "not_equal"}
_KIND_NAMES = {BOOL: "bool", INTEGER: "integers", FLOAT: "floating-point numbers"}


def is_operand(value: Any) -> bool:
    """Returns True for what operators accept beside a tensor."""
    return isinstance(value, (View, int, float, np.ndarray, np.number, np.bool_)) \
        and not isinstance(value, np.complexfloating)


def as_tensor(value: Any, beside: View) -> "Tensor":
    """Returns a tensor, or an array copied to the device of another tensor."""
    if isinstance(value, View):
        if value.context is not beside.context:
            raise ValueError("the operands and the stream belong to different contexts; they must share one")
        return value  # type: ignore[return-value]
    array = np.asarray(value)
    return beside._new(array.shape, dtype_name(array.dtype)).upload(array)


def cast(tensor: "Tensor", dtype: str, stream: Optional[Stream] = None) -> "Tensor":
    """Returns the tensor itself if it has the type, otherwise a converted copy."""
    if tensor.dtype == dtype:
        return tensor
    made = tensor._new(tensor.shape, dtype)
    copy_into(stream or tensor.context.stream, tensor, made)
    return made


def result_type(rule: Rule, dtype: str) -> str:
    """Returns the type that an operator computes in, from the common type of its operands."""
    if rule.accepts == (FLOAT,) and KINDS[dtype] == INTEGER:
        return "f32"
    if KINDS[dtype] not in rule.accepts:
        raise TypeError(f"{rule.symbol} of {dtype} is not defined: it accepts "
                        f"{' and '.join(_KIND_NAMES[k] for k in rule.accepts)}; convert with astype"
                        + (", or use & | ^ ~ for bool" if dtype == "bool" else ""))
    return dtype


def common(rule: Rule, a: Any, b: Any, stream: Stream) -> Tuple["Tensor", "Tensor"]:
    """Returns the operands as tensors of one type. One of them, at least, is a tensor."""
    if isinstance(a, View) and isinstance(b, View) and a._c.dtype == b._c.dtype \
            and a.memory.context is b.memory.context and KINDS[a.dtype] in rule.accepts:
        return a, b  # type: ignore[return-value]
    a, b = (x.item() if isinstance(x, np.generic) else x for x in (a, b))
    beside: Any = a if isinstance(a, View) else b
    is_number = [isinstance(x, (int, float)) for x in (a, b)]
    if not any(is_number):
        a, b = as_tensor(a, beside), as_tensor(b, beside)
        dtype = result_type(rule, promoted(a.dtype, b.dtype))
        return cast(a, dtype, stream), cast(b, dtype, stream)
    number = b if is_number[1] else a
    dtype = result_type(rule, beside_number(beside.dtype, number))
    made, kept = cast(beside, dtype, stream), constant(rule.symbol, stream, beside, dtype, number)
    return (made, kept) if is_number[1] else (kept, made)


def shape_of(rule: Rule, a: View, b: View) -> Tuple[int, ...]:
    """Returns the shape that two tensors broadcast to."""
    first, second = a.shape, b.shape
    if first == second or not second:
        return first
    if not first:
        return second
    try:
        return np.broadcast_shapes(first, second)
    except ValueError:
        raise ValueError(f"{rule.symbol}: the shapes {first} and {second} do not broadcast to one shape") from None


# Operators that are not one operation ------------------------------------------------------------------


def _compared(name: str, tensor: "Tensor", number: Number) -> Union[bool, Number]:
    """Returns the result of a comparison of integers with a number if all elements have the same one. Otherwise
    returns an integer of the tensor's type that has the same results."""
    if isinstance(number, float) and math.isfinite(number) and number != int(number):
        if name in ("equal", "not_equal"):
            return name == "not_equal"
        number = math.floor(number) if name in ("greater", "less_equal") else math.ceil(number)
    low, high = integer_range(tensor.dtype)
    if not low <= number <= high:  # also infinities and NaN
        return bool(getattr(operator, {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
                                       "equal": "eq", "not_equal": "ne"}[name])(0, number))
    return int(number)


def _floor_divide(a: "Tensor", b: "Tensor", stream: Stream) -> "Tensor":
    """Returns the quotient rounded down. In floating point: (a - a mod b) / b, rounded to the nearest integer."""
    if KINDS[a.dtype] == FLOAT:
        steps = [{"op": "remainder", "operand": "x1"}, {"op": "multiply", "alpha": -1.0},
                 {"op": "add", "operand": "x0"}, {"op": "divide", "operand": "x1"}, {"op": "round"}]
        shape = shape_of(OPERATORS["floor_divide"], a, b)
        y = a._new(shape, a.dtype)
        return operations().elementwise_chain(a, x1=b, y=y, steps=steps, stream=stream) if y.size else y
    quotient = _compute(Rule("//", "elementwise", "divide", _NUMBERS), a, b, stream)  # rounded toward 0
    if a.dtype.startswith("u"):
        return quotient
    differ = _compute(OPERATORS["not_equal"], apply("remainder", a, b, stream), apply("fmod", a, b, stream), stream)
    return apply("subtract", quotient, cast(differ, a.dtype, stream), stream)


def _power(a: Any, b: Any, stream: Stream) -> Optional["Tensor"]:
    """Returns a power with one of the usual exponents, computed without pow; None for other operands."""
    if not isinstance(a, View) or isinstance(b, (bool, np.bool_)) or not isinstance(b, (int, float, np.number)):
        return None
    if b < 0 and KINDS[a.dtype] == INTEGER and isinstance(b, (int, np.integer)):
        raise ValueError("**: integers have no powers with negative exponents; convert the tensor with astype")
    if KINDS[a.dtype] == BOOL or beside_number(a.dtype, b.item() if isinstance(b, np.generic) else b) != a.dtype:
        return None
    if b == 2:
        return apply("multiply", a, a, stream)
    if b == 0.5:
        y = a._new(a.shape, a.dtype)
        direct("function", kind="sqrt")(stream, a, y)
        return y
    return a.copy(stream) if b == 1 else None


# ---------------------------------------------------------------------------------------------------------


def _compute(rule: Rule, a: "Tensor", b: "Tensor", stream: Stream, into: Optional[View] = None) -> "Tensor":
    """Runs the operation of a rule on tensors of one type."""
    made: Any = into
    if made is None:
        made = a._new(shape_of(rule, a, b), "bool" if rule.operation == "compare" else a.dtype)
    direct(rule.operation, kind=rule.kind)(stream, a, b, made)
    return made


def apply(name: str, a: Any, b: Any, stream: Optional[Stream] = None) -> "Tensor":
    """Returns the result of an operator. One operand, at least, is a tensor."""
    rule = OPERATORS[name]
    beside: Any = a if isinstance(a, View) else b
    stream = stream or beside.context.stream
    if rule.operation == "compare":
        if beside is b and isinstance(a, (int, float, np.generic)):
            return apply(_MIRRORED[name], b, a, stream)
        if isinstance(b, (int, float, np.generic)) and KINDS[beside.dtype] == INTEGER:
            found = _compared(name, beside, b.item() if isinstance(b, np.generic) else b)
            if isinstance(found, bool):
                return beside._new(beside.shape, "bool").fill(found, stream)
            b = found
    elif name == "power":
        power = _power(a, b, stream)
        if power is not None:
            return power
    a, b = common(rule, a, b, stream)
    return _compute(rule, a, b, stream) if rule.operation else _floor_divide(a, b, stream)


def assign(target: "Tensor", value: "Tensor") -> None:
    """Copies a tensor to another one, of a shape that it broadcasts to, with conversion to its type."""
    if value.shape != target.shape:
        value = value.broadcast(target.shape)
    if value.memory is target.memory:
        if value._is_same(target):
            return
        value = value.copy()
    if target.size:
        copy_into(target.context.stream, value, target)


def apply_in_place(name: str, target: "Tensor", other: Any) -> "Tensor":
    """Replaces a tensor's elements by the results of an operator."""
    rule, stream = OPERATORS[name], target.context.stream
    a, b = common(rule, target, other, stream)
    if KINDS[a.dtype] > KINDS[target.dtype]:
        raise TypeError(f"{rule.symbol}=: the result has the type {a.dtype}, which a tensor of {target.dtype} cannot "
                        f"hold; write t = t {rule.symbol} u")
    if shape_of(rule, a, b) != target.shape:
        raise ValueError(f"{rule.symbol}=: the result has the shape {shape_of(rule, a, b)}, the tensor {target.shape}")
    if a is not target or not rule.operation or name == "power":
        assign(target, apply(name, target, other, stream))
        return target
    if b.memory is target.memory and not b._is_same(target):
        b = b.copy(stream)
    return _compute(rule, a, b, stream, target)


def matmul(a: Any, b: Any) -> "Tensor":
    """Returns the matrix product by NumPy's rules for vectors and batches."""
    beside = a if isinstance(a, View) else b
    if isinstance(a, (int, float, np.generic)) or isinstance(b, (int, float, np.generic)):
        raise TypeError("@: a number is not a matrix; use *")
    a, b = as_tensor(a, beside), as_tensor(b, beside)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("@: a tensor of rank 0 is not a matrix; use *")
    dtype = promoted(a.dtype, b.dtype)
    if KINDS[a.dtype] == FLOAT or KINDS[b.dtype] == FLOAT:
        a, b = cast(a, dtype), cast(b, dtype)
    row, column = a.ndim == 1, b.ndim == 1
    inner = b.shape[0 if column else -2]
    if a.shape[-1] != inner:
        raise ValueError(f"@: {a.shape} and {b.shape} do not match: the inner sizes are {a.shape[-1]} and {inner}")
    a, b = a.unsqueeze(0) if row else a, b.unsqueeze(1) if column else b
    dtype = "i32" if KINDS[a.dtype] == INTEGER else a.dtype
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) if a.ndim > 2 or b.ndim > 2 else ()
    made = a._new((*batch, a.shape[-2], b.shape[-1]), dtype)
    direct("gemm")(a.context.stream, a, b, None, None, made)
    made = made.squeeze(-1) if column else made
    return made.squeeze(-1 if column else -2) if row else made


def _named(function: Any, name: str) -> Any:
    function.__name__ = function.__qualname__ = name
    return function


def arithmetic(name: str) -> Tuple[Binary, Binary, Binary]:
    """Returns the methods of an operator: t ∘ u, u ∘ t and t ∘= u."""
    def forward(self: Any, other: Any) -> Any:
        return apply(name, self, other) if is_operand(other) else NotImplemented

    def reflected(self: Any, other: Any) -> Any:
        return apply(name, other, self) if is_operand(other) else NotImplemented

    def in_place(self: Any, other: Any) -> Any:
        return apply_in_place(name, self, other) if is_operand(other) else NotImplemented
    return _named(forward, name), _named(reflected, name), _named(in_place, name)


def comparison(name: str) -> Binary:
    """Returns the method of a comparison."""
    def compare(self: Any, other: Any) -> Any:
        return apply(name, self, other) if is_operand(other) else NotImplemented
    return _named(compare, name)


class Operators(View):
    """The operators of Tensor."""

    __add__, __radd__, __iadd__ = arithmetic("add")
    __sub__, __rsub__, __isub__ = arithmetic("subtract")
    __mul__, __rmul__, __imul__ = arithmetic("multiply")
    __truediv__, __rtruediv__, __itruediv__ = arithmetic("true_divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = arithmetic("floor_divide")
    __mod__, __rmod__, __imod__ = arithmetic("remainder")
    __pow__, __rpow__, __ipow__ = arithmetic("power")
    __and__, __rand__, __iand__ = arithmetic("bitwise_and")
    __or__, __ror__, __ior__ = arithmetic("bitwise_or")
    __xor__, __rxor__, __ixor__ = arithmetic("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = arithmetic("left_shift")
    __rshift__, __rrshift__, __irshift__ = arithmetic("right_shift")
    __lt__, __le__ = comparison("less"), comparison("less_equal")
    __gt__, __ge__ = comparison("greater"), comparison("greater_equal")
    __eq__, __ne__ = comparison("equal"), comparison("not_equal")  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]  # as an array: == compares elements

    def __divmod__(self, other: Any) -> Any:
        return (apply("floor_divide", self, other), apply("remainder", self, other)) if is_operand(other) \
            else NotImplemented

    def __rdivmod__(self, other: Any) -> Any:
        return (apply("floor_divide", other, self), apply("remainder", other, self)) if is_operand(other) \
            else NotImplemented

    def __matmul__(self, other: Any) -> "Tensor":
        return matmul(self, other) if is_operand(other) else NotImplemented

    def __rmatmul__(self, other: Any) -> "Tensor":
        return matmul(other, self) if is_operand(other) else NotImplemented

    def __imatmul__(self: Any, other: Any) -> "Tensor":
        made = matmul(self, other)
        if made.shape != self.shape or KINDS[made.dtype] > KINDS[self.dtype]:
            raise ValueError(f"@=: the result is {made.dtype} {made.shape}, the tensor {self.dtype} {self.shape}")
        assign(self, made)
        return self

    def __neg__(self) -> "Tensor":
        if self.dtype == "bool":
            raise TypeError("- of bool is not defined; use ~")
        made = self._new(self.shape, self.dtype)
        direct("function", kind="neg")(self.context.stream, self, made)
        return made

    def __pos__(self) -> "Tensor":
        return self.copy()

    def __invert__(self) -> "Tensor":
        if KINDS[self.dtype] == FLOAT:
            raise TypeError(f"~ of {self.dtype} is not defined: it accepts bool and integers")
        made = self._new(self.shape, self.dtype)
        direct("logic", kind="not")(self.context.stream, self, None, made)
        return made

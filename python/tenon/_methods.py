"""Methods of tensors: functions of elements, reductions, scans, sorting, and conversions."""
import math
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Sequence, Tuple, Union

from ._arguments import integer
from ._constants import SORT_DESCENDING, TOP_K_SMALLEST
from ._direct import direct, operations
from ._operators import apply, apply_in_place, assign, cast, matmul
from ._types import FLOAT, KINDS, dtype_name
from ._view import View

if TYPE_CHECKING:
    from ._tensor import Tensor

Axis = Union[int, Sequence[int], None]

# The functions of tenon.function, with their meaning.
FUNCTIONS: Dict[str, str] = {
    "abs": "the absolute value", "sign": "the sign: 1, 0 or -1", "sqrt": "the square root",
    "rsqrt": "1 / sqrt", "reciprocal": "1 / x", "floor": "the greatest integer that is not greater",
    "ceil": "the least integer that is not less", "trunc": "the number without its fraction",
    "exp": "e to the power of x", "exp2": "2 to the power of x", "expm1": "exp(x) - 1, accurate for small x",
    "log": "the natural logarithm", "log2": "the logarithm to base 2", "log10": "the logarithm to base 10",
    "log1p": "log(1 + x), accurate for small x", "sin": "the sine of an angle in radians", "cos": "the cosine",
    "tan": "the tangent", "asin": "the arc sine", "acos": "the arc cosine", "atan": "the arc tangent",
    "sinh": "the hyperbolic sine", "cosh": "the hyperbolic cosine", "tanh": "the hyperbolic tangent",
    "asinh": "the inverse of sinh", "acosh": "the inverse of cosh", "atanh": "the inverse of tanh",
    "erf": "the error function",
}
_OF_INTEGERS = ("abs", "sign", "neg")
_ROUNDINGS = ("floor", "ceil", "trunc", "round")


def function(kind: str, x: Any) -> "Tensor":
    """Returns a function of each element. Integers are converted to f32, except where the result is an integer."""
    stream = x.context.stream
    if KINDS[x.dtype] != FLOAT:
        if kind in _ROUNDINGS or (kind == "abs" and x.dtype == "bool"):
            return x.copy(stream)
        if x.dtype == "bool" or kind not in _OF_INTEGERS:
            x = cast(x, "f32", stream)
    made = x._new(x.shape, x.dtype)
    direct("function", kind=kind)(stream, x, made)
    return made


def classify(kind: str, x: Any, of_integers: bool) -> "Tensor":
    """Returns a test of each element for NaN or infinity, whose result for every integer is the same."""
    made = x._new(x.shape, "bool")
    if KINDS[x.dtype] != FLOAT:
        return made.fill(of_integers)
    direct("classify", kind=kind)(x.context.stream, x, made)
    return made


# Reductions ----------------------------------------------------------------------------------------------


def _reduced_shape(x: View, axes: Tuple[int, ...], keepdims: bool) -> Tuple[int, ...]:
    return tuple(1 if d in axes else n for d, n in enumerate(x.shape) if keepdims or d not in axes)


def _fold(x: Any, name: str, axes: Tuple[int, ...], dtype: str) -> "Tensor":
    """Combines integers along axes by an operator, in halves: the second half is combined with the first, and so on.
    Returns a tensor without the axes."""
    rest = [d for d in range(x.ndim) if d not in axes]
    moved, shape = x.permute([*axes, *rest]), tuple(x.shape[d] for d in rest)
    count = math.prod(x.shape[d] for d in axes)
    work = moved._new(moved.shape, dtype)
    assign(work, moved)
    work = work.reshape((count, *shape), copy=False)
    while count > 1:
        half = count // 2
        apply_in_place(name, work.slice(0, 0, half), work.slice(0, count - half, half))
        count -= half
    return work.slice(0, 0, 1).squeeze(0)


_EMPTY = {"sum": 0, "product": 1}
_FOLDS = {"sum": "add", "product": "multiply", "max": "maximum", "min": "minimum"}


def _of_integers(x: Any, kind: str, axes: Tuple[int, ...]) -> "Tensor":
    """Returns a sum, product, maximum or minimum of integers without the axes. Sums and products are i64."""
    if x.dtype == "bool":
        if kind in ("max", "min"):
            return operations().reduce(x, kind="any" if kind == "max" else "all", axes=axes)
        if kind == "sum":
            return cast(operations().reduce(x, kind="count", axes=axes), "i64")
    if 0 in (x.shape[d] for d in axes):
        if kind not in _EMPTY:
            raise ValueError(f"{kind} of no elements: the shape is {x.shape}, the axes are {axes}")
        return x._new(_reduced_shape(x, axes, False), "i64").fill(_EMPTY[kind])
    return _fold(x, _FOLDS[kind], axes, "i64" if kind in _EMPTY else x.dtype)


_TRUTHS = ("any", "all", "count")


def reduce(x: Any, kind: str, axis: Axis, keepdims: bool, dtype: Any = None, **given: Any) -> "Tensor":
    """Returns a reduction of tenon.reduce, also of integers."""
    axes = x._axes(axis)
    shape = _reduced_shape(x, axes, keepdims)
    if not axes:  # each element alone
        x, axes = x.unsqueeze(x.ndim), (x.ndim,)
    if dtype is not None:
        x = cast(x, dtype_name(dtype))
    if KINDS[x.dtype] != FLOAT and kind in _FOLDS:
        return _of_integers(x, kind, axes).reshape(shape)
    if KINDS[x.dtype] != FLOAT and kind not in _TRUTHS:
        x = cast(x, "f32")
    made = x._new(shape, {"any": "bool", "all": "bool", "count": "i32"}.get(kind, x.dtype))
    y = made if len(shape) in (x.ndim, x.ndim - len(axes)) else made.reshape(_reduced_shape(x, axes, False))
    direct("reduce", kind=kind, axes=axes, **given)(x.context.stream, x, y)
    return made


def extreme_index(x: Any, kind: str, axis: Optional[int], keepdims: bool) -> "Tensor":
    """Returns the i32 index of the first of the greatest (argmax) or least (argmin) elements."""
    shape = x.shape
    if axis is None:
        x, place, kept = x.flatten(), 0, (1,) * len(shape)
    else:
        place = x._dim(axis)
        kept = _reduced_shape(x, (place,), True)
    if x.shape[place] == 0:
        raise ValueError(f"{kind} of no elements: the shape is {shape}")
    one = tuple(1 if d == place else n for d, n in enumerate(x.shape))
    if 0 in one:
        made = x._new(one, "i32")
    elif KINDS[x.dtype] == FLOAT:
        made = operations().reduce(x, kind=kind, axes=[place], y=x._new(one, "i32"))
    else:
        flags = 0 if kind == "argmax" else TOP_K_SMALLEST
        _, made = operations().top_k(x, axis=place, flags=flags, y=x._new(one, x.dtype), indices=x._new(one, "i32"))
    return made.reshape(kept) if keepdims else made.squeeze(place) if axis is not None else made.reshape(())


def scan(x: Any, kind: str, axis: Optional[int]) -> "Tensor":
    """Returns sums or products from the first element on. Types up to i32 give i32, u32 and i64 give i64."""
    if axis is None:
        x, axis = x.flatten(), 0
    place = x._dim(axis)
    if KINDS[x.dtype] != FLOAT:
        x = cast(x, "i64" if x.dtype in ("u32", "i64") else "i32")
    made = x._new(x.shape, x.dtype)
    if not made.size:
        return made
    if x.dtype != "i64":
        return operations().scan(x, kind=kind, axis=place, y=made)
    assign(made, x)
    step = 1
    while step < x.shape[place]:  # each pass doubles the number of elements that a result combines
        rest = x.shape[place] - step
        before = made.copy()
        apply_in_place("add" if kind == "sum" else "multiply", made.slice(place, step, rest),
                       before.slice(place, 0, rest))
        step *= 2
    return made


# Methods -------------------------------------------------------------------------------------------------


def _unary(kind: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return function(kind, self)
    method.__name__ = method.__qualname__ = kind
    method.__doc__ = f"Returns, for each element x, {FUNCTIONS[kind]}."
    return method


def _test(name: str, kind: str, of_integers: bool, what: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return classify(kind, self, of_integers)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Returns, for each element, True if it is {what}."
    return method


def _reduction(name: str, kind: str, what: str) -> Callable[..., Any]:
    def method(self: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
        return reduce(self, kind, axis, keepdims)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Returns {what} along one or several axes; None: all.\n\n`keepdims` keeps the axes with size 1."
    return method


def _sum(name: str, kind: str, what: str) -> Callable[..., Any]:
    def method(self: Any, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
        return reduce(self, kind, axis, keepdims, dtype)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = (f"Returns {what} along one or several axes; None: all.\n\n`dtype` converts the elements before. "
                      "`keepdims` keeps the axes with size 1.")
    return method


class Methods(View):
    """The methods of Tensor that compute."""

    abs, sign, sqrt, rsqrt = _unary("abs"), _unary("sign"), _unary("sqrt"), _unary("rsqrt")
    reciprocal, floor, ceil, trunc = _unary("reciprocal"), _unary("floor"), _unary("ceil"), _unary("trunc")
    exp, exp2, expm1, log = _unary("exp"), _unary("exp2"), _unary("expm1"), _unary("log")
    log2, log10, log1p, erf = _unary("log2"), _unary("log10"), _unary("log1p"), _unary("erf")
    sin, cos, tan, asin, acos = _unary("sin"), _unary("cos"), _unary("tan"), _unary("asin"), _unary("acos")
    atan, sinh, cosh, tanh = _unary("atan"), _unary("sinh"), _unary("cosh"), _unary("tanh")
    asinh, acosh, atanh = _unary("asinh"), _unary("acosh"), _unary("atanh")
    isnan = _test("isnan", "nan", False, "a NaN")
    isinf = _test("isinf", "infinite", False, "infinite")
    isfinite = _test("isfinite", "finite", True, "neither infinite nor a NaN")

    sum = _sum("sum", "sum", "the sum, for bool and integers in i64,")
    prod = _sum("prod", "product", "the product, for bool and integers in i64,")
    mean = _sum("mean", "mean", "the mean, for bool and integers in f32,")
    max = _reduction("max", "max", "the greatest element, or NaN if there is one,")
    min = _reduction("min", "min", "the least element, or NaN if there is one,")
    any = _reduction("any", "any", "True if an element is not zero,")
    all = _reduction("all", "all", "True if no element is zero,")
    count_nonzero = _reduction("count_nonzero", "count", "the number of elements that are not zero (i32)")
    logsumexp = _reduction("logsumexp", "log_sum_exp", "log(sum(exp(x))), computed without overflow,")

    def var(self, axis: Axis = None, *, correction: int = 0, keepdims: bool = False) -> "Tensor":
        """Returns the variance along axes: the sum of squared differences from the mean, divided by n - correction.

        `correction` is 0 for a population and 1 for a sample (ddof in NumPy).
        """
        return reduce(self, "variance", axis, keepdims, correction=integer("correction", correction, 0, 2**31))

    def std(self, axis: Axis = None, *, correction: int = 0, keepdims: bool = False) -> "Tensor":
        """Returns the standard deviation along axes, the square root of `var`."""
        return function("sqrt", self.var(axis, correction=correction, keepdims=keepdims))

    def argmax(self, axis: Optional[int] = None, *, keepdims: bool = False) -> "Tensor":
        """Returns the index (i32) of the first of the greatest elements along an axis; None: in row-major order."""
        return extreme_index(self, "argmax", axis, keepdims)

    def argmin(self, axis: Optional[int] = None, *, keepdims: bool = False) -> "Tensor":
        """Returns the index (i32) of the first of the least elements along an axis; None: in row-major order."""
        return extreme_index(self, "argmin", axis, keepdims)

    def cumsum(self, axis: Optional[int] = None) -> "Tensor":
        """Returns the sums from the first element to each one along an axis; None: in row-major order.

        Integers up to i32 are summed in i32, u32 and i64 in i64; both wrap around.
        """
        return scan(self, "sum", axis)

    def cumprod(self, axis: Optional[int] = None) -> "Tensor":
        """Returns the products from the first element to each one along an axis, with types as in `cumsum`."""
        return scan(self, "product", axis)

    def sort(self: Any, axis: int = -1, *, descending: bool = False) -> "Tensor":
        """Returns a sorted copy; the tensor itself is not changed. NaN is last in both orders."""
        return self._sorted(axis, descending, False)

    def argsort(self: Any, axis: int = -1, *, descending: bool = False) -> "Tensor":
        """Returns the indices (i32) that sort along an axis; equal elements keep their order."""
        return self._sorted(axis, descending, True)

    def _sorted(self: Any, axis: int, descending: bool, indices: bool) -> "Tensor":
        place, made = self._dim(axis), self._new(self.shape, "i32" if indices else self.dtype)
        if made.size:
            given = {"indices": made} if indices else {"y": made}
            operations().sort(self, axis=place, flags=SORT_DESCENDING if descending else 0, **given)
        return made

    def clip(self: Any, min: Any = None, max: Any = None) -> "Tensor":
        """Returns the elements limited to the range from min to max: numbers, tensors, or None for no limit."""
        made = self
        for name, bound in (("maximum", min), ("minimum", max)):
            made = made if bound is None else apply(name, made, bound)
        return self.copy() if made is self else made

    def round(self: Any, decimals: int = 0) -> "Tensor":
        """Returns the elements rounded to a number of decimals; of two nearest numbers, to the even one."""
        if KINDS[self.dtype] != FLOAT or decimals == 0:
            if decimals < 0:
                raise ValueError(f"round: decimals is {decimals}; integers are rounded to 0 or more decimals")
            return function("round", self)
        scale = 10.0**integer("decimals", decimals, -300, 300)
        return function("round", self * scale) / scale

    def __abs__(self) -> "Tensor":
        return function("abs", self)

    def __round__(self, decimals: int = 0) -> "Tensor":
        return self.round(decimals)

    def astype(self: Any, dtype: Any, *, copy: bool = True) -> "Tensor":
        """Returns a copy with another type. copy=False returns the tensor itself if it has the type.

        Integers wrap around in a narrower integer type. Floating-point numbers become integers by rounding toward
        zero; they saturate, and NaN becomes 0. bool is True for every number but 0.
        """
        name = dtype_name(dtype)
        return self.copy() if copy and name == self.dtype else cast(self, name)

    def flip(self: Any, axis: Axis = None) -> "Tensor":
        """Returns a copy in which axes are reversed; None: all axes."""
        bits = 0
        for d in self._axes(axis):
            bits |= 1 << d
        made = self._new(self.shape, self.dtype)
        return operations().rearrange(self, flip=bits, y=made) if made.size else made

    def nonzero(self: Any) -> Tuple["Tensor", ...]:
        """Returns, for each dimension, the indices (i32) of the elements that are not zero. Waits for their number."""
        from ._indexing import coordinates
        found = coordinates(self)
        return tuple(found.slice(1, d, 1).squeeze(1) for d in range(self.ndim))

    def take(self: Any, indices: Any, axis: Optional[int] = None) -> "Tensor":
        """Returns elements by integer indices along an axis, as t[:, indices]; None: of the flattened tensor."""
        if axis is None:
            return self.flatten()[indices]
        return self[(slice(None),) * self._dim(axis) + (indices,)]

    def dot(self, other: Any) -> "Tensor":
        """Returns the matrix product, as `@`."""
        return matmul(self, other)

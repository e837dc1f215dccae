"""NumPy's functions on tensors: those in these tables run on the device, all others raise TypeError."""
import operator
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import numpy as np

from ._arguments import sequence
from ._direct import Direct, constant, operations
from ._operators import OPERATORS, Rule, apply, as_tensor, assign, cast, common, matmul
from ._types import BOOL, FLOAT, INTEGER, KINDS, beside_number, dtype_name, promoted, shape_tuple
from ._view import View

_WHERE = Direct("where")
_ANY = Rule("where", "", "", (BOOL, INTEGER, FLOAT))


def _truth(x: Any) -> Any:
    """Returns True where an element is not zero."""
    return x if not isinstance(x, View) or x.dtype == "bool" else apply("not_equal", x, 0)


def _logical(name: str) -> Callable[[Any, Any], Any]:
    """Returns the function of a logical operation, for operands of any type."""
    def run(a: Any, b: Any) -> Any:
        a, b = (_truth(x) if isinstance(x, View) else np.asarray(x) != 0 for x in (a, b))
        return apply(name, a, b)
    return run


def _method(name: str) -> Callable[..., Any]:
    return lambda x, *args, **given: getattr(x, name)(*args, **given)


_UNARY = {"absolute": "abs", "fabs": "abs", "rint": "round", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
          "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh"}
UFUNCS: Dict[str, Callable[..., Any]] = {
    **{name: lambda a, b, name=name: apply(name, a, b) for name in OPERATORS},  # type: ignore[misc]
    **{name: _method(_UNARY.get(name, name)) for name in (
        *_UNARY, "sign", "sqrt", "reciprocal", "floor", "ceil", "trunc", "exp", "exp2", "expm1", "log", "log2", "log10",
        "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "isnan", "isinf", "isfinite")},
    "divide": lambda a, b: apply("true_divide", a, b),
    "mod": lambda a, b: apply("remainder", a, b),
    "divmod": lambda a, b: (apply("floor_divide", a, b), apply("remainder", a, b)),
    "square": lambda x: apply("power", x, 2),
    "matmul": matmul,
    "negative": operator.neg,
    "positive": operator.pos,
    "invert": operator.invert,
    "logical_not": lambda x: ~_truth(x),
    "logical_and": _logical("bitwise_and"),
    "logical_or": _logical("bitwise_or"),
    "logical_xor": _logical("bitwise_xor"),
}


def _refusal(name: str, why: str = "") -> TypeError:
    return TypeError(f"{name} does not accept a tenon.Tensor{why}: use an operation of tenon, which runs on the "
                     "device, or copy the tensor to the host with t.numpy()")


def call_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], given: Dict[str, Any]) -> Any:
    """Runs a universal function of NumPy on the device."""
    name = f"numpy.{ufunc.__name__}"
    run = UFUNCS.get(ufunc.__name__)
    if method != "__call__":
        raise _refusal(f"{name}.{method}")
    out = given.pop("out", None)
    if run is None or not all(isinstance(x, (View, np.ndarray, np.generic, int, float)) for x in inputs):
        raise _refusal(name)
    if given:
        raise _refusal(name, f" with {', '.join(given)}=")
    if out is None:
        return run(*inputs)
    if len(out) != 1 or not isinstance(out[0], View):
        raise _refusal(name, " with an array as out")
    made = run(*inputs)
    if made.shape != out[0].shape or KINDS[made.dtype] > KINDS[out[0].dtype]:
        raise ValueError(f"{name}: the result is {made.dtype} {made.shape}, out is {out[0].dtype} {out[0].shape}")
    assign(out[0], made)  # type: ignore[arg-type]
    return out[0]


# Functions -----------------------------------------------------------------------------------------------


def _device(*values: Any) -> Any:
    """Returns the first tensor among values and sequences of values."""
    for v in values:
        found = v if isinstance(v, View) else _device(*v) if isinstance(v, (list, tuple)) else None
        if found is not None:
            return found
    return None


def _together(values: Sequence[Any]) -> Any:
    """Returns tensors and arrays as tensors of their common type."""
    beside = _device(*values)
    tensors = [as_tensor(v, beside) for v in values]
    dtype = tensors[0].dtype
    for t in tensors[1:]:
        dtype = promoted(dtype, t.dtype)
    return [cast(t, dtype) for t in tensors]


def where(condition: Any, a: Any, b: Any) -> Any:
    """Returns a where the condition is true, otherwise b, in their common type."""
    beside = _device(condition, a, b)
    stream = beside.context.stream
    a, b = (x.item() if isinstance(x, np.generic) else as_tensor(x, beside) if isinstance(x, np.ndarray) else x
            for x in (a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        a = constant("where", stream, beside, beside_number(beside_number("bool", a), b), a)
    a, b = common(_ANY, a, b, stream)
    condition = _truth(as_tensor(condition, beside))
    made = a._new(np.broadcast_shapes(condition.shape, a.shape, b.shape), a.dtype)
    _WHERE(stream, condition, a, b, made)
    return made


def concatenate(arrays: Sequence[Any], axis: Optional[int] = 0) -> Any:
    """Returns tensors one after the other along an axis; None: flattened."""
    tensors = _together(sequence("arrays", "a sequence of tensors", arrays))
    if axis is None:
        tensors, axis = [t.flatten() for t in tensors], 0
    from ._lists import concat  # imported late, because it imports tensors
    return concat(tensors, axis=axis)


def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Returns tensors along a new axis."""
    return concatenate([t.expand_dims(axis) for t in _together(sequence("arrays", "a sequence of tensors", arrays))],
                       axis)


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Returns a view with dimensions moved to other places."""
    given = [[a] if hasattr(a, "__index__") else list(a) for a in (source, destination)]
    sources, places = ([x._dim(a) for a in axes] for axes in given)
    order = [d for d in range(x.ndim) if d not in sources]
    for place, d in sorted(zip(places, sources)):
        order.insert(place, d)
    return x.permute(order)


def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """Returns the elements moved along axes; those beyond the end return at the beginning."""
    if axis is None:
        return roll(x.flatten(), shift, 0).reshape(x.shape)
    shifts = [0] * max(x.ndim, 1)
    pairs = np.broadcast(np.atleast_1d(shift), np.atleast_1d(axis))
    for amount, a in pairs:
        shifts[x._dim(int(a))] += int(amount)
    made = x._new(x.shape, x.dtype)
    return operations().rearrange(x, shift=shifts, y=made) if made.size else made


def tile(x: Any, reps: Any) -> Any:
    """Returns the elements repeated along each dimension."""
    times = shape_tuple(reps, "reps")
    rank = max(len(times), x.ndim)
    times = (1,) * (rank - len(times)) + times
    x = x.reshape((1,) * (rank - x.ndim) + x.shape)
    made = x._new(tuple(n * r for n, r in zip(x.shape, times)), x.dtype)
    return operations().rearrange(x, y=made) if made.size else made


def _triangle(flag: int) -> Callable[..., Any]:
    def run(x: Any, k: int = 0) -> Any:
        return operations().triangle(x, diagonal=k, flags=flag) if x.size else x.copy()
    return run


def _filled(value: Optional[float]) -> Callable[..., Any]:
    """Returns the function that makes a tensor like another one."""
    def run(x: Any, dtype: Any = None, *, shape: Any = None) -> Any:
        made = x._new(x.shape if shape is None else shape_tuple(shape), x.dtype if dtype is None else dtype_name(dtype))
        return made if value is None else made.fill(value)
    return run


def _full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    return _filled(fill_value)(x, dtype)


def _array_equal(a: Any, b: Any) -> bool:
    beside = _device(a, b)
    a, b = as_tensor(a, beside), as_tensor(b, beside)
    return a.shape == b.shape and bool(apply("equal", a, b).all())


def _allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    return bool(_isclose(a, b, rtol, atol).all())


def _isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Any:
    a, b = _together([a, b])
    near = apply("less_equal", abs(apply("subtract", a, b)), apply("add", apply("multiply", abs(b), rtol), atol))
    return apply("bitwise_or", near, apply("equal", a, b))  # equal infinities


def _deviation(name: str) -> Callable[..., Any]:
    def run(x: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
        return getattr(x, name)(axis, correction=ddof, keepdims=keepdims)
    return run


FUNCTIONS: Dict[str, Callable[..., Any]] = {
    **{name: _method(name) for name in (
        "sum", "prod", "mean", "max", "min", "any", "all", "count_nonzero", "argmax", "argmin", "cumsum", "cumprod",
        "sort", "argsort", "reshape", "squeeze", "broadcast_to", "expand_dims", "clip", "round", "copy", "flip",
        "nonzero", "take")},
    "dot": matmul,
    "amax": _method("max"),
    "amin": _method("min"),
    "around": _method("round"),
    "ravel": _method("flatten"),
    "swapaxes": _method("transpose"),
    "transpose": lambda x, axes=None: x.T if axes is None else x.permute(axes),
    "var": _deviation("var"),
    "std": _deviation("std"),
    "where": where,
    "concatenate": concatenate,
    "stack": stack,
    "moveaxis": moveaxis,
    "roll": roll,
    "tile": tile,
    "tril": _triangle(0),
    "triu": _triangle(1),
    "zeros_like": _filled(0),
    "ones_like": _filled(1),
    "empty_like": _filled(None),
    "full_like": _full_like,
    "array_equal": _array_equal,
    "allclose": _allclose,
    "isclose": _isclose,
    "shape": lambda x: x.shape,
    "ndim": lambda x: x.ndim,
    "size": lambda x, axis=None: x.size if axis is None else x.shape[axis],
}


def call_function(function: Any, args: Tuple[Any, ...], given: Dict[str, Any]) -> Any:
    """Runs a function of NumPy on the device."""
    module, called = getattr(function, "__module__", "numpy"), getattr(function, "__name__", str(function))
    name = f"{module}.{called}"
    run = FUNCTIONS.get(called) if module == "numpy" else None
    first = next(iter(args), None)
    if run is None or (not isinstance(first, View) and called not in _OF_SEVERAL):
        raise _refusal(name)
    try:
        return run(*args, **given)
    except TypeError as error:
        if "unexpected keyword argument" in str(error):
            raise _refusal(name, f" with these keywords ({', '.join(given)})") from None
        raise


# Functions with tensors in other places than the first argument.
_OF_SEVERAL = ("where", "concatenate", "stack", "dot", "array_equal", "allclose", "isclose")

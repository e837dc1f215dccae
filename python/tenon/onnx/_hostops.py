"""Shape arithmetic: the only values computed by NumPy. They are sizes, axes, repeats and conditions that decide which
shapes and steps a program has; a node is computed here if its inputs are arrays on the host and its result is needed
there, or if it continues the arithmetic on a shape that Shape or Size began."""
from typing import Any, Callable, Dict, Optional, Sequence

import numpy as np
from onnx import helper

Array = np.ndarray


def _cast(x: Array, *, to: int, saturate: int = 1, round_mode: str = "up") -> Array:
    return x.astype(helper.tensor_dtype_to_np_dtype(to))


def _concat(*x: Array, axis: int) -> Array:
    return np.concatenate(x, axis)


def _gather(x: Array, indices: Array, *, axis: int = 0) -> Array:
    return np.take(x, indices, axis)


def _reduce(function: Callable[..., Any]) -> Callable[..., Array]:
    def run(x: Array, axes: Optional[Array] = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Array:
        if (axes is None or axes.size == 0) and noop_with_empty_axes:
            return x
        chosen = None if axes is None or axes.size == 0 else tuple(int(a) for a in axes)
        return np.asarray(function(x, axis=chosen, keepdims=bool(keepdims)), x.dtype)
    return run


def _reshape(x: Array, shape: Array, *, allowzero: int = 0) -> Array:
    sizes = [x.shape[i] if n == 0 and not allowzero else int(n) for i, n in enumerate(shape)]
    return x.reshape(sizes)


def _slice(x: Array, starts: Array, ends: Array, axes: Optional[Array] = None, steps: Optional[Array] = None) -> Array:
    key = [slice(None)] * x.ndim
    for i in range(len(starts)):
        step = 1 if steps is None else int(steps[i])
        end: Optional[int] = int(ends[i])
        if step < 0 and end is not None and end < -x.shape[int(axes[i]) if axes is not None else i]:
            end = None
        key[int(axes[i]) if axes is not None else i] = slice(int(starts[i]), end, step)
    return x[tuple(key)]


def _unsqueeze(x: Array, axes: Array) -> Array:
    return np.expand_dims(x, tuple(int(a) for a in np.atleast_1d(axes)))


def _squeeze(x: Array, axes: Optional[Array] = None) -> Array:
    return np.squeeze(x, None if axes is None else tuple(int(a) for a in np.atleast_1d(axes)))


def _division(a: Array, b: Array) -> Array:
    if np.issubdtype(a.dtype, np.integer):  # ONNX truncates
        return (np.sign(a) * np.sign(b) * (abs(a) // abs(b))).astype(a.dtype)
    return a / b


def _of_shape(shape: Array, *, value: Optional[Array] = None) -> Array:
    return np.full(tuple(int(n) for n in shape), np.float32(0) if value is None else value.reshape(())[()])


def _range(start: Array, limit: Array, delta: Array) -> Array:
    first, last, step = (v.reshape(()) for v in (start, limit, delta))
    count = max(int(np.ceil((last.astype("f8") - first.astype("f8")) / step.astype("f8"))), 0)
    if np.issubdtype(start.dtype, np.integer):
        return (first + np.arange(count, dtype=start.dtype) * step).astype(start.dtype)
    return (first.astype("f8") + np.arange(count) * step.astype("f8")).astype(start.dtype)


def _fold(function: Callable[..., Array]) -> Callable[..., Array]:
    def run(*x: Array) -> Array:
        found = x[0]
        for other in x[1:]:
            found = function(found, other)
        return found
    return run


SHAPE_OPERATORS: Dict[str, Callable[..., Array]] = {
    "Abs": np.abs,
    "Add": np.add,
    "And": np.logical_and,
    "Cast": _cast,
    "Ceil": np.ceil,
    "Concat": _concat,
    "ConstantOfShape": _of_shape,
    "Div": _division,
    "Equal": np.equal,
    "Expand": lambda x, shape: x * np.ones(tuple(int(n) for n in shape), x.dtype),
    "Floor": np.floor,
    "Gather": _gather,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Identity": lambda x: x,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Max": _fold(np.maximum),
    "Min": _fold(np.minimum),
    "Mod": lambda a, b, *, fmod=0: np.fmod(a, b) if fmod else np.mod(a, b),
    "Mul": np.multiply,
    "Neg": np.negative,
    "Not": np.logical_not,
    "Or": np.logical_or,
    "Range": _range,
    "ReduceMax": _reduce(np.max),
    "ReduceMin": _reduce(np.min),
    "ReduceProd": _reduce(np.prod),
    "ReduceSum": _reduce(np.sum),
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": np.subtract,
    "Transpose": lambda x, *, perm=None: np.transpose(x, perm),
    "Unsqueeze": _unsqueeze,
    "Where": np.where,
}


def shape_of(shape: Sequence[int], start: int = 0, end: Optional[int] = None) -> Array:
    """Returns the result of Shape."""
    return np.array(shape[slice(start, end)], "i8")

"""Operations on lists of tensors."""
from typing import Any, Optional, Sequence

import numpy as np

from ._calls import context_among, enqueue, pointer, result, to_tensor
from ._arguments import sequence
from ._context import Stream
from ._loader import defaults, ffi, lib
from ._makers import empty
from ._params import Params
from ._tensor import Operand, Output, Tensor, shape_tuple, stream_of


_CONCAT = defaults("tenon_concat_params")
_CLIP = defaults("tenon_clip_params")


def concat(inputs: Sequence[Operand], *, axis: int = _CONCAT.axis, y: Output = None,
           flags: int = _CONCAT.flags, solver: Optional[str] = None,
           stream: Optional[Stream] = None) -> Any:
    """Concatenates the inputs along the axis.

    Parameters
    ----------
    inputs : sequence of Tensor or numpy.ndarray
        At least one; all of one type, and of one shape except for the axis.
    axis : int
        Counted from 0, or negative: from the end.
    y : Tensor or shape, default None
        A Tensor to write to, or the shape of a new one; None: a new one, whose shape is inferred.
    flags : int
        No flags are defined: 0.
    solver : str, default None
        Forces a solver of the copies, "copy/…".
    stream : Stream, default None
        The stream to run on; None: the stream of the operands' context.

    Returns
    -------
    y
        A numpy.ndarray if all inputs are arrays, otherwise a Tensor.

    Raises
    ------
    InvalidArgument (ValueError)
        The shapes do not match. Also ValueError if there are no inputs.
    """
    inputs = sequence("concat: inputs", "a sequence of tenon.Tensor or numpy.ndarray", inputs)
    context = context_among([*inputs, y], getattr(stream, "context", None))
    stream = stream_of(stream, context)
    params = Params("tenon_concat_params", dict(axis=axis, flags=flags, solver=solver))
    tensors = [to_tensor(f"concat: inputs[{i}]", x, None, context, stream)
               for i, x in enumerate(inputs)]
    if not tensors:
        raise ValueError("concat: inputs is empty; at least one input is required")
    if y is None:
        y = _concat_shape(tensors, params.c.axis)
    if not isinstance(y, Tensor):
        y = empty(shape_tuple(y, "concat: y", "a tenon.Tensor or a shape"), tensors[0].dtype, context)
    views = ffi.new("tenon_tensor *[]", [t._c for t in tensors])
    enqueue(stream, [*tensors, y], lib.tenon_concat, params.c, views, len(tensors), y._c)
    return result([y], all(isinstance(x, np.ndarray) for x in inputs))


def _concat_shape(tensors: Sequence[Tensor], axis: int) -> Sequence[int]:
    shape = list(tensors[0].shape)
    if not -len(shape) <= axis < len(shape) or any(t.ndim != len(shape) for t in tensors):
        raise ValueError(f"concat: axis {axis} is out of range, or the ranks differ: {[t.shape for t in tensors]}")
    shape[axis] = sum(t.shape[axis] for t in tensors)
    return shape


def clip_by_norm(gradients: Sequence[Tensor], *, max_norm: float = _CLIP.max_norm,
                 epsilon: float = _CLIP.epsilon, sum: Optional[Tensor] = None,
                 flags: int = _CLIP.flags, solver: Optional[str] = None,
                 stream: Optional[Stream] = None) -> Tensor:
    """Clips gradients, in place, by their combined norm.

    Parameters
    ----------
    gradients : sequence of Tensor
        Each is multiplied in place by min(1, max_norm / (norm + epsilon)).
    max_norm : float
        Finite, more than 0.
    epsilon : float
        Finite, not negative.
    sum : Tensor, default None
        One element that receives the sum of squares, f64 for f64 and f32 for the others; None: a new
        tensor.
    flags : int
        0, or tenon.CLIP_SKIP_NONFINITE: no scaling if the norm is NaN or infinite.
    solver : str, default None
        Forces a solver.
    stream : Stream, default None
        The stream to run on; None: the stream of the operands' context.

    Returns
    -------
    Tensor
        The sum of squares of all gradients, before they were clipped.

    Raises
    ------
    TypeError
        A gradient is not a Tensor.
    InvalidArgument (ValueError)
        The types differ, or gradients overlap.
    """
    gradients = sequence("clip_by_norm: gradients", "a sequence of tenon.Tensor", gradients)
    if not all(isinstance(g, Tensor) for g in [*gradients, *([] if sum is None else [sum])]):
        raise TypeError("clip_by_norm: gradients and sum are written and must be tenon.Tensor")
    context = context_among([*gradients, sum], getattr(stream, "context", None))
    stream = stream_of(stream, context)
    params = Params("tenon_clip_params",
                    dict(max_norm=max_norm, epsilon=epsilon, flags=flags, solver=solver))
    if sum is None:
        is_f64 = len(gradients) > 0 and gradients[0].dtype == "f64"
        sum = empty((), "f64" if is_f64 else "f32", context)
    views = ffi.new("tenon_tensor[]", [g._c[0] for g in gradients])
    enqueue(stream, [*gradients, sum], lib.tenon_clip_by_norm, params.c, views, len(gradients),
            pointer(sum))
    return sum

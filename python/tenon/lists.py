"""Operations on lists of tensors."""
from typing import Any, Optional, Sequence

import numpy as np

from .calls import context_among, enqueue, pointer, result, to_tensor
from .context import Stream
from .loader import ffi, lib
from .params import Params
from .tensor import Operand, Output, Tensor, empty, shape_tuple, stream_of


def concat(inputs: Sequence[Operand], *, axis: Optional[int] = None, y: Output = None,
           flags: Optional[int] = None, solver: Optional[str] = None,
           stream: Optional[Stream] = None) -> Any:
    """The inputs one behind the other along the axis, the first where none is named
    (tenon_concat)."""
    context = context_among([*inputs, y], getattr(stream, "context", None))
    stream = stream_of(stream, context)
    params = Params("tenon_concat_params", dict(axis=axis, flags=flags, solver=solver))
    tensors = [to_tensor(f"concat: inputs[{i}]", x, None, context, stream)
               for i, x in enumerate(inputs)]
    if not tensors:
        raise ValueError("concat: there are no inputs")
    if y is None:
        y = _concat_shape(tensors, params.c.axis)
    if not isinstance(y, Tensor):
        y = empty(shape_tuple(y), tensors[0].dtype, context)
    views = ffi.new("tenon_tensor *[]", [t._c for t in tensors])
    enqueue(stream, [*tensors, y], lib.tenon_concat, params.c, views, len(tensors), y._c)
    return result([y], all(isinstance(x, np.ndarray) for x in inputs))


def _concat_shape(tensors: Sequence[Tensor], axis: int) -> Sequence[int]:
    shape = list(tensors[0].shape)
    if not -len(shape) <= axis < len(shape) or any(t.ndim != len(shape) for t in tensors):
        raise ValueError(f"concat: axis {axis} is not in {[t.shape for t in tensors]}")
    shape[axis] = sum(t.shape[axis] for t in tensors)
    return shape


def clip_by_norm(gradients: Sequence[Tensor], *, max_norm: Optional[float] = None,
                 epsilon: Optional[float] = None, sum: Optional[Tensor] = None,
                 flags: Optional[int] = None, solver: Optional[str] = None,
                 stream: Optional[Stream] = None) -> Tensor:
    """Clips gradients, in place, by the norm of all of them together, and gives the sum of
    squares (tenon_clip_by_norm)."""
    if not all(isinstance(g, Tensor) for g in gradients):
        raise TypeError("clip_by_norm: gradients are written, and must be tenon.Tensor")
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

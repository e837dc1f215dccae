"""What makes tensors: empty, of a value, from NumPy and DLPack."""
from typing import Any, Optional

import numpy as np

from . import _dlpack as dlpack
from ._context import Context, Stream, context_of
from ._loader import check, ffi, lib
from ._tensor import (DTYPES, Memory, Shape, TakenMemory, Tensor, checked, context_beside, dtype_name,
                      shape_tuple)


def view(shape: Shape, dtype: Any = "f32", context: Optional[Context] = None) -> Tensor:
    """A row-major view without memory: enough to make a plan with.

    Parameters
    ----------
    shape, dtype, context
        As tenon.empty has them.

    Returns
    -------
    Tensor
        That cannot be read or written.

    Raises
    ------
    TypeError, InvalidArgument
        As tenon.empty does.
    """
    sizes = shape_tuple(shape)
    value = lib.tenon_tensor_view(DTYPES[dtype_name(dtype)], len(sizes), sizes)
    return Tensor(checked(value), Memory(context_of(context), None))


def empty(shape: Shape, dtype: Any = "f32", context: Optional[Context] = None) -> Tensor:
    """A row-major tensor in memory of its own, which holds anything.

    Parameters
    ----------
    shape : int or sequence of int
        Its sizes.
    dtype : str or NumPy's type, default "f32"
        "f64", "f32", "f16", "bf16", "i8", "u8" or "i32".
    context : Context, default None
        Where it is; None: the default one.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        The type is none of Tenon's, or the shape is of no integers.
    InvalidArgument (ValueError)
        The shape is impossible.
    OutOfMemory (MemoryError)
        The device's memory does not suffice.
    """
    made = view(shape, dtype, context)
    memory = ffi.new("tenon_memory *")
    check(lib.tenon_memory_create(made.context._c, made.nbytes, memory))
    made._c.memory = memory[0]
    made.memory = Memory(made.context, memory)
    return made


def full(shape: Shape, value: float, dtype: Any = "f32",
         context: Optional[Context] = None) -> Tensor:
    """A tensor whose elements are all `value`.

    Parameters
    ----------
    value : float
        Rounded to the type.
    shape, dtype, context
        As tenon.empty has them.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError, InvalidArgument, OutOfMemory
        As tenon.empty does.
    """
    return empty(shape, dtype, context).fill(value)


def zeros(shape: Shape, dtype: Any = "f32", context: Optional[Context] = None) -> Tensor:
    """A tensor of zeros.

    Parameters
    ----------
    shape, dtype, context
        As tenon.empty has them.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError, InvalidArgument, OutOfMemory
        As tenon.empty does.
    """
    return full(shape, 0, dtype, context)


def tensor(array: Any, dtype: Any = None, context: Optional[Context] = None,
           stream: Optional[Stream] = None) -> Tensor:
    """A tensor of an array (or list) on the device.

    The first one in a process makes the default context, which may take seconds: the device is tried.

    Parameters
    ----------
    array : numpy.ndarray, or what numpy.asarray takes
        Of one of Tenon's types, in any layout: it is copied.
    dtype : str or NumPy's type, default None
        The type that it is converted to, on the device; None: the array's. "bf16" only comes so.
    context : Context, default None
        Where it is; None: that of the stream, or the default one.
    stream : Stream, default None
        The stream that copies it; None: the context's.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        The array's type is none of Tenon's: it is not converted.
    OutOfMemory (MemoryError)
        The device's memory does not suffice.
    """
    if context is None:
        context = context_beside(stream)
    array = np.asarray(array)
    made = empty(array.shape, dtype_name(array.dtype), context).upload(array, stream)
    if dtype is None or dtype_name(dtype) == made.dtype:
        return made
    from ._operations import copy
    return copy(made, y=empty(made.shape, dtype, made.context), stream=stream)


def host_array(name: str, x: Any) -> np.ndarray:
    """What another library has in the host's memory, as an array."""
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError) as error:  # of a type, or on a device, that it cannot hand over
        raise TypeError(f"{name}: {error}") from error


def from_dlpack(x: Any, context: Optional[Context] = None) -> Tensor:
    """A tensor of what another library has.

    Parameters
    ----------
    x : object with __dlpack__
        What is in the host's memory is copied. What is on OpenCL (kDLOpenCL) is not, and must be of the
        context's OpenCL context.
    context : Context, default None
        Where it is; None: the default one.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        `x` has no __dlpack__, or a type that is none of Tenon's.
    InvalidArgument (ValueError)
        Memory of another OpenCL context.
    """
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack: x: a {type(x).__name__} has no __dlpack__")
    if hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] == dlpack.OPENCL:
        context = context_of(context)
        taken = dlpack.take_over(context, x)
        return Tensor(taken, TakenMemory(context, ffi.new("tenon_memory *", taken.memory)))
    return tensor(host_array("from_dlpack: x", x), context=context)

"""Functions that make tensors: empty, filled, or from NumPy and DLPack."""
from typing import Any, Optional

import numpy as np

from . import _dlpack as dlpack
from ._context import Context, Stream, context_of
from ._loader import check, ffi, lib
from ._tensor import (DTYPES, Memory, Shape, TakenMemory, Tensor, checked, context_beside, dtype_name,
                      shape_tuple)


def view(shape: Shape, dtype: Any = "f32", context: Optional[Context] = None) -> Tensor:
    """Makes a row-major view without memory, sufficient to make a plan.

    Parameters
    ----------
    shape : int or sequence of int
        The sizes.
    dtype : str or NumPy's type, default "f32"
        "f64", "f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64" or "bool".
    context : Context, default None
        The context of the view; None: the default context.

    Returns
    -------
    Tensor
        A tensor whose elements cannot be read or written.

    Raises
    ------
    TypeError
        The type is not supported, or the shape contains other values than integers.
    InvalidArgument (ValueError)
        The shape is impossible.
    """
    sizes = shape_tuple(shape)
    value = lib.tenon_tensor_view(DTYPES[dtype_name(dtype)], len(sizes), sizes)
    return Tensor(checked(value), Memory(context_of(context), None))


def empty(shape: Shape, dtype: Any = "f32", context: Optional[Context] = None) -> Tensor:
    """Makes a row-major tensor with its own, uninitialized memory.

    Parameters
    ----------
    shape : int or sequence of int
        The sizes.
    dtype : str or NumPy's type, default "f32"
        "f64", "f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64" or "bool".
    context : Context, default None
        The context of the tensor; None: the default context.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        The type is not supported, or the shape contains other values than integers.
    InvalidArgument (ValueError)
        The shape is impossible.
    OutOfMemory (MemoryError)
        The device has too little memory.
    """
    made = view(shape, dtype, context)
    memory = ffi.new("tenon_memory *")
    check(lib.tenon_memory_create(made.context._c, made.nbytes, memory))
    made._c.memory = memory[0]
    made.memory = Memory(made.context, memory)
    return made


def full(shape: Shape, value: float, dtype: Any = "f32",
         context: Optional[Context] = None) -> Tensor:
    """Makes a tensor whose elements are all `value`.

    Parameters
    ----------
    value : float
        The value, rounded to the type.
    shape, dtype, context
        As in tenon.empty.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError, InvalidArgument, OutOfMemory
        As in tenon.empty.
    """
    return empty(shape, dtype, context).fill(value)


def zeros(shape: Shape, dtype: Any = "f32", context: Optional[Context] = None) -> Tensor:
    """Makes a tensor of zeros.

    Parameters
    ----------
    shape, dtype, context
        As in tenon.empty.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError, InvalidArgument, OutOfMemory
        As in tenon.empty.
    """
    return full(shape, 0, dtype, context)


def tensor(array: Any, dtype: Any = None, context: Optional[Context] = None,
           stream: Optional[Stream] = None) -> Tensor:
    """Copies an array (or list) to a tensor on the device.

    The first call in a process creates the default context, which may take seconds: the device is probed.

    Parameters
    ----------
    array : numpy.ndarray, or an object that numpy.asarray accepts
        Of a supported type and any layout; it is copied.
    dtype : str or NumPy's type, default None
        The type to convert to, on the device; None: the array's type. This is the only way to get "bf16".
    context : Context, default None
        The context of the tensor; None: the context of the stream, or the default context.
    stream : Stream, default None
        The stream of the copy; None: the context's stream.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        The array's type is not supported; it is not converted implicitly.
    OutOfMemory (MemoryError)
        The device has too little memory.
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
    """Returns another library's object in host memory as an array."""
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError) as error:  # its type or device is not exportable
        raise TypeError(f"{name}: {error}") from error


def from_dlpack(x: Any, context: Optional[Context] = None) -> Tensor:
    """Makes a tensor from another library's tensor.

    Parameters
    ----------
    x : object with __dlpack__
        Data in host memory is copied. An OpenCL buffer (kDLOpenCL) is used without a copy, and must belong
        to the context's OpenCL context.
    context : Context, default None
        The context of the tensor; None: the default context.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        `x` has no __dlpack__, or its type is not supported.
    InvalidArgument (ValueError)
        The memory belongs to another OpenCL context.
    """
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack: x: {type(x).__name__} has no __dlpack__")
    if hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] == dlpack.OPENCL:
        context = context_of(context)
        taken = dlpack.take_over(context, x)
        return Tensor(taken, TakenMemory(context, ffi.new("tenon_memory *", taken.memory)))
    return tensor(host_array("from_dlpack: x", x), context=context)

"""DLPack capsules of OpenCL tensors, to and from the C API."""
import ctypes
from typing import Any, Tuple

import cffi

from ._context import Context
from ._loader import check, ffi, lib

OPENCL = 4  # kDLOpenCL

# The part of DLPack's structs that is needed here: the location of their deleters.
_structs = cffi.FFI()
_structs.cdef("""
typedef struct { void *data; int32_t device[2]; int32_t ndim; uint8_t dtype[4];
                 int64_t *shape, *strides; uint64_t byte_offset; } tensor;
typedef struct unversioned { tensor dl; void *manager;
                             void (*deleter)(struct unversioned *); } unversioned;
typedef struct versioned { uint32_t version[2]; void *manager;
                           void (*deleter)(struct versioned *); } versioned;
""")
_VERSIONED, _UNVERSIONED = b"dltensor_versioned", b"dltensor"
# A capsule stores the address of its name.
_USED = {_VERSIONED: b"used_dltensor_versioned", _UNVERSIONED: b"used_dltensor"}

_python = ctypes.pythonapi
_destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


def _function(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, _python))


_new = _function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _destructor)
_is_valid = _function("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_pointer = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_rename = _function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
# In a destructor the capsule has no references left and is passed as an address.
_is_valid_at = _function("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_pointer_at = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)


@_destructor
def _end(capsule: int) -> None:
    """Destroys a capsule that was not consumed: calls the deleter of its tensor."""
    for name, kind in ((_VERSIONED, "versioned *"), (_UNVERSIONED, "unversioned *")):
        if _is_valid_at(capsule, name):
            managed = _structs.cast(kind, _pointer_at(capsule, name))
            managed.deleter(managed)


def hand_out(context: Context, tensor: Any, max_version: Any) -> Any:
    """Exports a tenon_tensor as a capsule, versioned if the consumer supports DLPack 1."""
    if max_version is not None and max_version[0] >= 1:
        name, out = _VERSIONED, ffi.new("struct DLManagedTensorVersioned **")
        check(lib.tenon_tensor_to_dlpack(context._c, tensor, 0, out))
    else:
        name, out = _UNVERSIONED, ffi.new("struct DLManagedTensor **")
        check(lib.tenon_tensor_to_dlpack_unversioned(context._c, tensor, out))
    return _new(int(ffi.cast("uintptr_t", out[0])), name, _end)


def _ask(x: Any) -> Tuple[Any, bytes]:
    try:
        capsule = x.__dlpack__(max_version=(1, 0))
    except TypeError:  # a producer from before DLPack 1
        capsule = x.__dlpack__()
    for name in (_VERSIONED, _UNVERSIONED):
        if _is_valid(capsule, name):
            return capsule, name
    raise TypeError(f"from_dlpack: __dlpack__ of {type(x).__name__} returned no DLPack capsule")


def take_over(context: Context, x: Any) -> Any:
    """Imports the tensor exported by x; tenon_memory_destroy of its memory releases it."""
    capsule, name = _ask(x)
    address = _pointer(capsule, name)
    _rename(capsule, _USED[name])  # the library releases it, on failure too
    out = ffi.new("tenon_tensor *")
    if name == _VERSIONED:
        managed = ffi.cast("struct DLManagedTensorVersioned *", address)
        check(lib.tenon_tensor_from_dlpack(context._c, managed, ffi.NULL, out))
    else:
        managed = ffi.cast("struct DLManagedTensor *", address)
        check(lib.tenon_tensor_from_dlpack_unversioned(context._c, managed, out))
    return out

"""DLPack capsules of OpenCL tensors, to and from the C API."""
import ctypes
from typing import Any, Tuple

from ._context import Context
from ._loader import check, ffi, lib

OPENCL = 4  # kDLOpenCL

_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


# The part of DLPack's structs that is needed here: the location of their deleters. They are written for ctypes, since
# cffi would load its parser of C, which takes a fifth of the time to import the package.
class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("dtype", ctypes.c_uint8 * 4), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("byte_offset", ctypes.c_uint64)]


class _Unversioned(ctypes.Structure):
    _fields_ = [("dl", _DLTensor), ("manager", ctypes.c_void_p), ("deleter", _Deleter)]


class _Versioned(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("manager", ctypes.c_void_p), ("deleter", _Deleter)]


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
    for name, kind in ((_VERSIONED, _Versioned), (_UNVERSIONED, _Unversioned)):
        if _is_valid_at(capsule, name):
            address = _pointer_at(capsule, name)
            ctypes.cast(address, ctypes.POINTER(kind))[0].deleter(address)


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

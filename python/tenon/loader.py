"""The library: found, opened, and its statuses turned into exceptions."""
import os
from pathlib import Path

from ._declarations import ffi


class Error(Exception):
    """A call failed. `status` is the tenon_status, the text Tenon's own message."""

    status = 0


class InvalidArgument(Error, ValueError):
    """An argument is wrong whatever the device."""


class Unsupported(Error, NotImplementedError):
    """This combination of types, layouts or a forced solver is not implemented, or not here."""


class DeviceNotFound(Error, LookupError):
    """No device matches the selector, and the message lists those there are; or no OpenCL."""


class OutOfMemory(Error, MemoryError):
    """Host or device memory is exhausted, or a buffer would be larger than the device allows."""


EXCEPTIONS = {
    "TENON_ERROR_INVALID_ARGUMENT": InvalidArgument,
    "TENON_ERROR_UNSUPPORTED": Unsupported,
    "TENON_ERROR_UNSUPPORTED_DEVICE": Unsupported,
    "TENON_ERROR_DEVICE_NOT_FOUND": DeviceNotFound,
    "TENON_ERROR_NO_OPENCL": DeviceNotFound,
    "TENON_ERROR_OUT_OF_MEMORY": OutOfMemory,
}


def _open():
    """TENON_LIBRARY in the environment, the library that the package carries, or that of the system."""
    carried = Path(__file__).with_name("libtenon.so")
    path = os.environ.get("TENON_LIBRARY") or (str(carried) if carried.exists() else "libtenon.so.0")
    try:
        return ffi.dlopen(path)
    except OSError as error:
        raise ImportError(f"Tenon's library does not open: {error}") from None


lib = _open()


def text(pointer) -> str:
    """A string of the library."""
    return ffi.string(pointer).decode("utf-8", "replace")


def check(status: int) -> None:
    """Raises what a status stands for, with the message of the calling thread."""
    if status != 0:
        name = text(lib.tenon_status_string(status))
        error = EXCEPTIONS.get(name, Error)(f"{text(lib.tenon_last_error())} ({name})")
        error.status = status
        raise error


def defaults(struct_type: str):
    """A struct of parameters as the library initialises it."""
    params = ffi.new(struct_type + " *")
    getattr(lib, struct_type + "_default")(params, ffi.sizeof(params[0]))
    return params


def sized(struct_type: str):
    """A struct that the library fills in."""
    struct = ffi.new(struct_type + " *")
    struct.struct_size = ffi.sizeof(struct[0])
    return struct


version = text(lib.tenon_version_string())

"""The library: finds and opens it, and raises exceptions for its statuses."""
import atexit
import os
import re
from pathlib import Path

from ._constants import VERSION_MAJOR, VERSION_MINOR
from ._declarations import ffi
from ._errors import EXCEPTIONS, Error
from ._words import NAMES


# The version in the library's name, see docs/abi.md.
_INTERFACE = f"0.{VERSION_MINOR}" if VERSION_MAJOR == 0 else f"{VERSION_MAJOR}"


def _open():
    """Opens TENON_LIBRARY of the environment, else the library in the package, else that of the system."""
    carried = Path(__file__).with_name("libtenon.so")
    path = os.environ.get("TENON_LIBRARY") or (str(carried) if carried.exists() else f"libtenon.so.{_INTERFACE}")
    try:
        return ffi.dlopen(path)
    except OSError as error:
        raise ImportError(f"cannot open Tenon's library: {error}") from None


lib = _open()

# An interpreter can end without running C's exit handlers, for example after Ctrl-C. This handler is
# registered before the application's handlers and therefore runs after them.
atexit.register(lib.tenon_settle)


def text(pointer) -> str:
    """Returns a string of the library as a str."""
    return ffi.string(pointer).decode("utf-8", "replace")


def said(message: str) -> str:
    """Returns a message of the library with Python's names instead of C's."""
    return re.sub(r"\b(?:tenon_|TENON_)\w+|\bNULL\b", lambda name: NAMES.get(name[0], name[0]), message)


def check(status: int) -> None:
    """Raises the exception for a status, with the message of the calling thread."""
    if status != 0:
        name = text(lib.tenon_status_string(status))
        error = EXCEPTIONS.get(name, Error)(f"{said(text(lib.tenon_last_error()))} ({name})")
        error.status = status
        raise error


def defaults(struct_type: str):
    """Returns a parameter struct with the library's defaults."""
    params = ffi.new(struct_type + " *")
    getattr(lib, struct_type + "_default")(params, ffi.sizeof(params[0]))
    return params


def sized(struct_type: str):
    """Returns a struct that the library fills in."""
    struct = ffi.new(struct_type + " *")
    struct.struct_size = ffi.sizeof(struct[0])
    return struct


version = text(lib.tenon_version_string())

"""The library: found, opened, and its statuses turned into exceptions."""
import atexit
import os
import re
from pathlib import Path

from ._constants import VERSION_MAJOR, VERSION_MINOR
from ._declarations import ffi
from ._errors import EXCEPTIONS, Error
from ._words import NAMES


# As docs/abi.md says what the library's name goes by.
_INTERFACE = f"0.{VERSION_MINOR}" if VERSION_MAJOR == 0 else f"{VERSION_MAJOR}"


def _open():
    """TENON_LIBRARY in the environment, the library that the package carries, or that of the system."""
    carried = Path(__file__).with_name("libtenon.so")
    path = os.environ.get("TENON_LIBRARY") or (str(carried) if carried.exists() else f"libtenon.so.{_INTERFACE}")
    try:
        return ffi.dlopen(path)
    except OSError as error:
        raise ImportError(f"Tenon's library does not open: {error}") from None


lib = _open()

# Interpreters end in ways that run no exit handlers of C's, as after Ctrl-C. What is registered here
# before the application's own handlers comes after them.
atexit.register(lib.tenon_settle)


def text(pointer) -> str:
    """A string of the library."""
    return ffi.string(pointer).decode("utf-8", "replace")


def said(message: str) -> str:
    """A message of the library, with the names that its functions have in Python."""
    return re.sub(r"\b(?:tenon_|TENON_)\w+|\bNULL\b", lambda name: NAMES.get(name[0], name[0]), message)


def check(status: int) -> None:
    """Raises what a status stands for, with the message of the calling thread."""
    if status != 0:
        name = text(lib.tenon_status_string(status))
        error = EXCEPTIONS.get(name, Error)(f"{said(text(lib.tenon_last_error()))} ({name})")
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

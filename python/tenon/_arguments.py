"""Validation of arguments: errors name the argument and say what is allowed."""
import operator
from typing import Any, List, Sequence

import numpy as np


def is_text(value: Any) -> bool:
    return isinstance(value, (str, bytes, bytearray))


def wrong_type(name: str, wanted: str, value: Any) -> TypeError:
    """Returns the error for a value of the wrong type."""
    return TypeError(f"{name}: expected {wanted}, got {type(value).__name__}")


def integer(name: str, value: Any, low: int, high: int) -> int:
    """Returns an integer from low to high; Python's and NumPy's integers are accepted."""
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong_type(name, "an integer", value) from None
    if not low <= number <= high:
        raise ValueError(f"{name}: {number} is out of range, allowed are {low} to {high}")
    return number


def unsigned(name: str, value: Any, bits: int = 64) -> int:
    """Returns an unsigned integer."""
    return integer(name, value, 0, 2**bits - 1)


def signed(name: str, value: Any, bits: int = 64) -> int:
    """Returns a signed integer."""
    return integer(name, value, -2**(bits - 1), 2**(bits - 1) - 1)


def real(name: str, value: Any) -> float:
    """Returns a number of Python or NumPy as a float. The library checks infinity and NaN."""
    if not isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
        raise wrong_type(name, "a number", value)
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name}: the integer is too large for a float") from None


def string(name: str, value: Any) -> bytes:
    """Returns a str, encoded for the library."""
    if not isinstance(value, str):
        raise wrong_type(name, "a str", value)
    if "\0" in value:
        raise ValueError(f"{name}: {value!r} contains a null character")
    return value.encode("utf-8", "surrogateescape")


def sequence(name: str, wanted: str, value: Any) -> List[Any]:
    """Returns the items of a list, a tuple, an array or another iterable, in order."""
    if is_text(value) or isinstance(value, (dict, set, frozenset)):
        raise wrong_type(name, wanted, value)
    try:
        return list(value)
    except TypeError:
        raise wrong_type(name, wanted, value) from None


def at_most(name: str, values: Sequence[Any], count: int) -> None:
    if len(values) > count:
        raise ValueError(f"{name}: {len(values)} values, at most {count} are allowed")

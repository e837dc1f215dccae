"""Arguments checked where they come in: errors name the argument and say what it may be."""
import operator
from typing import Any, List, Sequence

import numpy as np


def is_text(value: Any) -> bool:
    return isinstance(value, (str, bytes, bytearray))


def wrong_type(name: str, wanted: str, value: Any) -> TypeError:
    """The error of a value of the wrong type."""
    return TypeError(f"{name}: {wanted} is needed, this is a {type(value).__name__}")


def integer(name: str, value: Any, low: int, high: int) -> int:
    """An integer from low to high, of Python or NumPy."""
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong_type(name, "an integer", value) from None
    if not low <= number <= high:
        raise ValueError(f"{name}: {number} is not from {low} to {high}")
    return number


def unsigned(name: str, value: Any, bits: int = 64) -> int:
    """An integer without a sign."""
    return integer(name, value, 0, 2**bits - 1)


def signed(name: str, value: Any, bits: int = 64) -> int:
    """An integer with a sign."""
    return integer(name, value, -2**(bits - 1), 2**(bits - 1) - 1)


def real(name: str, value: Any) -> float:
    """A number, of Python or NumPy; infinity and NaN are for the library to judge."""
    if not isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
        raise wrong_type(name, "a number", value)
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name}: an integer larger than any float") from None


def string(name: str, value: Any) -> bytes:
    """A str, as the library takes it."""
    if not isinstance(value, str):
        raise wrong_type(name, "a str", value)
    if "\0" in value:
        raise ValueError(f"{name}: {value!r} has a null character")
    return value.encode("utf-8", "surrogateescape")


def sequence(name: str, wanted: str, value: Any) -> List[Any]:
    """The items of a list, a tuple, an array or the like, in their order."""
    if is_text(value) or isinstance(value, (dict, set, frozenset)):
        raise wrong_type(name, wanted, value)
    try:
        return list(value)
    except TypeError:
        raise wrong_type(name, wanted, value) from None


def at_most(name: str, values: Sequence[Any], count: int) -> None:
    if len(values) > count:
        raise ValueError(f"{name}: {len(values)} values, at most {count} are possible")

"""Element types: their names, and the type of the result of two operands.

The rules of operators, of NumPy's functions on tensors and of methods are in this file:

- Operands of one type give that type.
- Two floating-point types give the wider one; f16 with bf16 gives f32.
- Two integer types give the smallest integer type that has all values of both: u8 with i8 gives i16.
- A floating-point type with an integer type gives the floating-point type, as in PyTorch (NumPy often gives f64).
- bool with another type gives the other type. Arithmetic of two bools is an error.
- A number of Python or NumPy takes the tensor's type. A float with a tensor of integers gives f32, a number with a
  tensor of bool gives i32 or f32.
- Division, and functions such as exp, of integers give f32.
"""
import math
from functools import lru_cache
from typing import Any, Dict, Sequence, Tuple, Union

import numpy as np

from ._arguments import sequence, signed
from ._loader import lib

DTYPES = {name: getattr(lib, f"TENON_DTYPE_{name.upper()}")
          for name in ("f64", "f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "bool")}
TYPES = {number: name for name, number in DTYPES.items()}
NUMPY: Dict[str, Any] = {"f64": np.dtype("f8"), "f32": np.dtype("f4"), "f16": np.dtype("f2"),
                         "i8": np.dtype("i1"), "u8": np.dtype("u1"), "i16": np.dtype("i2"), "u16": np.dtype("u2"),
                         "i32": np.dtype("i4"), "u32": np.dtype("u4"), "i64": np.dtype("i8"), "bool": np.dtype("?")}
NAMES = {dtype: name for name, dtype in NUMPY.items()}
BITS = {name: 16 if name == "bf16" else 8 * NUMPY[name].itemsize for name in DTYPES}

BOOL, INTEGER, FLOAT = 0, 1, 2  # kinds, in the order of promotion
KINDS = {name: BOOL if name == "bool" else FLOAT if "f" in name else INTEGER for name in DTYPES}
_DEFAULTS = {BOOL: "bool", INTEGER: "i32", FLOAT: "f32"}

Shape = Union[int, Sequence[int]]


def dtype_name(dtype: Any) -> str:
    """Returns Tenon's name of an element type, given that name, a NumPy type or its name."""
    if isinstance(dtype, str) and dtype in DTYPES:
        return dtype
    named = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if isinstance(named, str) and named == "bfloat16":  # from the package ml_dtypes
        return "bf16"
    try:
        return NAMES[np.dtype(dtype).newbyteorder("=")]
    except (KeyError, TypeError):
        raise TypeError(f"dtype: {dtype} is not supported; supported are {', '.join(DTYPES)}: "
                        "convert the array first, as in array.astype(\"f4\")") from None


def shape_tuple(shape: Shape, name: str = "shape", wanted: str = "an integer or a sequence of integers"
                ) -> Tuple[int, ...]:
    """Returns the sizes as 64-bit integers."""
    sizes = [shape] if hasattr(shape, "__index__") and not getattr(shape, "ndim", 0) else sequence(name, wanted, shape)
    return tuple(signed(f"{name}[{i}]", n) for i, n in enumerate(sizes))


@lru_cache(maxsize=None)
def promoted(a: str, b: str) -> str:
    """Returns the type of the result of two tensors or arrays."""
    if a == b:
        return a
    if KINDS[a] != KINDS[b]:
        return max(a, b, key=KINDS.__getitem__)
    if KINDS[a] == FLOAT:
        return "f32" if BITS[a] == BITS[b] else max(a, b, key=BITS.__getitem__)
    if a[0] == b[0]:
        return max(a, b, key=BITS.__getitem__)
    signed_type, other = (a, b) if a[0] == "i" else (b, a)
    return signed_type if BITS[signed_type] > BITS[other] else f"i{2 * BITS[other]}"


def beside_number(dtype: str, number: Union[bool, int, float]) -> str:
    """Returns the type of the result of a tensor of this type and a number."""
    kind = BOOL if isinstance(number, bool) else INTEGER if isinstance(number, int) else FLOAT
    return dtype if kind <= KINDS[dtype] else _DEFAULTS[kind]


def integer_range(dtype: str) -> Tuple[int, int]:
    """Returns the least and the greatest value of an integer type or of bool."""
    if dtype == "bool":
        return 0, 1
    info = np.iinfo(NUMPY[dtype])
    return int(info.min), int(info.max)


def check_range(name: str, dtype: str, number: Union[bool, int, float]) -> None:
    """Raises an error for an integer that an integer type does not have."""
    if KINDS[dtype] == INTEGER and not math.isfinite(number):
        raise ValueError(f"{name}: {number} is not a value of {dtype}")
    if KINDS[dtype] == INTEGER and not integer_range(dtype)[0] <= number <= integer_range(dtype)[1]:
        raise ValueError(f"{name}: {number} is out of the range of {dtype}; convert the tensor with astype")

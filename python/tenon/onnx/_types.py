"""Element types: names of ONNX, of Tenon and of NumPy."""
import functools
from typing import Any, FrozenSet, Optional

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

from .._tensor import DTYPES, Tensor

# Tenon's name of each type of ONNX that is an element type of tensors in this version of the library.
NAMES = {number: name for number, name in {
    TensorProto.DOUBLE: "f64", TensorProto.FLOAT: "f32", TensorProto.FLOAT16: "f16", TensorProto.BFLOAT16: "bf16",
    TensorProto.INT8: "i8", TensorProto.UINT8: "u8", TensorProto.INT16: "i16", TensorProto.UINT16: "u16",
    TensorProto.INT32: "i32", TensorProto.UINT32: "u32", TensorProto.INT64: "i64", TensorProto.BOOL: "bool",
}.items() if name in DTYPES}

FLOATS: FrozenSet[str] = frozenset({"f64", "f32", "f16", "bf16"})
BYTES: FrozenSet[str] = frozenset({"i8", "u8"})
EVERY: FrozenSet[str] = frozenset(DTYPES)

_ARRAY_TYPES = {name: np.dtype(helper.tensor_dtype_to_np_dtype(number)) for number, name in NAMES.items()}


def number_name(number: int) -> str:
    """Returns ONNX's name of a type, for example "FLOAT"."""
    return TensorProto.DataType.Name(number)


def type_name(number: int) -> str:
    """Returns Tenon's name of a type of ONNX."""
    if number not in NAMES:
        raise NotImplementedError(f"the type {number_name(number)}")
    return NAMES[number]


def array_type(number: int) -> np.dtype:
    """Returns NumPy's type of a type of ONNX."""
    return helper.tensor_dtype_to_np_dtype(number)


def array_type_of(name: str) -> np.dtype:
    """Returns NumPy's type of a type of Tenon."""
    return _ARRAY_TYPES[name]


@functools.lru_cache(maxsize=None)
def on_device(dtype: Any) -> Optional[str]:
    """Returns Tenon's name of a NumPy type; None if no tensor has it."""
    return NAMES.get(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def type_of(value: Any) -> Optional[str]:
    """Returns Tenon's name of the type of an array or tensor."""
    return value.dtype if isinstance(value, Tensor) else on_device(value.dtype)


def download(tensor: Tensor) -> np.ndarray:
    """Returns a copy of a tensor as an array of the same type."""
    found = tensor.numpy()
    return found.astype(ml_dtypes.bfloat16) if tensor.dtype == "bf16" else found

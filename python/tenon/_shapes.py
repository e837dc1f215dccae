"""Inference of the shapes and types of outputs that the caller does not specify."""
from typing import Any, Dict, List, Tuple

from ._loader import check, ffi, lib
from ._packed import Packed

Form = Tuple[str, Tuple[int, ...]]  # a type and a shape


def dtype_of(operands: Dict[str, Any]) -> str:
    """Returns the type of the first operand; f32 if there are no operands."""
    return next((o.dtype for o in operands.values() if o is not None), "f32")


def _view(operand: Any) -> Any:
    """Returns an operand as a view; packed weights as a view of the weights."""
    if isinstance(operand, Packed):
        return ffi.new("tenon_tensor *", lib.tenon_packed_view(operand._c))
    return ffi.NULL if operand is None else operand._c


def infer(name: str, names: List[str], output: str, operands: Dict[str, Any], params: Any) -> Form:
    """Returns the type and shape of an output of the C function with the operands `names`."""
    function = name.removesuffix("_packed")
    views = [_view(operands.get(n)) for n in names]
    found = ffi.new("tenon_tensor *")
    status = lib.tenon_output_shape(f"tenon_{function}".encode(), params, views, len(names), names.index(output),
                                    found)
    if status == lib.TENON_ERROR_UNSUPPORTED:
        raise TypeError(f"{name}: the shape of {output} cannot be inferred: pass {output}=shape, or a tensor")
    check(status)
    return ffi.string(lib.tenon_dtype_string(found.dtype)).decode(), tuple(found.shape[0:found.rank])

"""Indexing of tensors by integers, slices, None, …, masks and integer tensors, for reading and assigning."""
import math
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Tuple

import numpy as np

from ._constants import INDEX_FROM_END
from ._direct import Direct, constant, operations
from ._operators import as_tensor, assign, cast, is_operand
from ._types import INTEGER, KINDS, beside_number, check_range, dtype_name
from ._view import View

if TYPE_CHECKING:
    from ._tensor import Tensor

_WHERE = Direct("where")
_ASSIGNED = "t[index] = value"  # for messages
_WRONG = "an index must be an integer, a slice, None, …, a bool mask, or integers in a tensor, array or list"


class Selection(NamedTuple):
    """The parts of an index: a view by the simple ones, then the axes to reverse, then integer tensors."""

    view: Any
    flipped: Tuple[int, ...]  # dimensions of the view that negative steps reverse
    places: List[int]         # dimensions of the view that have integer tensors
    indices: List[Any]        # the integer tensors
    first: int                # the dimension of the result where the dimensions of the integer tensors begin


def _is_integer(key: Any) -> bool:
    return hasattr(key, "__index__") and not isinstance(key, (bool, np.bool_, View, np.ndarray))


def _key(key: Any) -> Any:
    """Returns one part of an index as an int, a slice, None, Ellipsis, an array or a tensor."""
    if key is None or key is Ellipsis or isinstance(key, slice):
        return key
    if _is_integer(key):
        return key.__index__()
    if isinstance(key, list):
        key = np.asarray(key) if key else np.empty(0, "i4")
    if not isinstance(key, (View, np.ndarray)):
        raise IndexError(f"{_WRONG}; got {type(key).__name__}")
    if KINDS[dtype_name(key.dtype)] > INTEGER or (dtype_name(key.dtype) == "bool" and key.ndim == 0):
        raise IndexError(f"{_WRONG}; got {dtype_name(key.dtype)} of rank {key.ndim}")
    return key


def _is_mask(key: Any) -> bool:
    return isinstance(key, (View, np.ndarray)) and dtype_name(key.dtype) == "bool"


def _expanded(tensor: View, key: Any) -> List[Any]:
    """Returns the parts of an index, with slices for the dimensions that it does not mention."""
    keys = [_key(k) for k in (key if isinstance(key, tuple) else (key,))]
    places = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index may contain only one …")
    used = sum(k.ndim if _is_mask(k) else k is not None and k is not Ellipsis for k in keys)
    if used > tensor.ndim:
        raise IndexError(f"too many indices: {used} for {tensor.ndim} dimensions")
    at = places[0] if places else len(keys)
    keys[at:at + 1] = [slice(None)] * (tensor.ndim - used)
    return keys


def _integer(view: Any, dim: int, place: int) -> Any:
    size = view.shape[dim]
    if not -size <= place < size:
        raise IndexError(f"index {place} is out of range for dimension {dim} of size {size}")
    return view.slice(dim, place % size, 1).squeeze(dim)


def _sliced(view: Any, dim: int, key: slice) -> Tuple[Any, bool]:
    """Returns the elements of a slice in ascending order, and True if the slice is descending."""
    for name in ("start", "stop", "step"):
        if not hasattr(getattr(key, name), "__index__") and getattr(key, name) is not None:
            raise IndexError(f"{name} of a slice must be an integer, got {type(getattr(key, name)).__name__}")
    if key.step is not None and key.step.__index__() == 0:
        raise IndexError("step 0: a slice must have another step")
    found = range(*key.indices(view.shape[dim]))
    if found.step < 0:
        found = found[::-1]
    return view.slice(dim, found.start if found else 0, len(found), found.step), key.step is not None and key.step < 0


def _index_tensor(key: Any, view: View, dim: int) -> "Tensor":
    """Returns indices on the device as i32 or i64. Those of an array are checked; those of a tensor are on the device
    and are not."""
    if isinstance(key, View):
        return cast(as_tensor(key, view), "i64" if key.dtype in ("i64", "u32") else "i32")
    size = view.shape[dim]
    wrong = key[(key < -size) | (key >= size)]
    if wrong.size:
        raise IndexError(f"index {wrong[0]} is out of range for dimension {dim} of size {size}")
    return as_tensor(np.asarray(key, "i8" if size > 2**31 - 1 else "i4"), view)


def coordinates(mask: Any) -> "Tensor":
    """Returns the coordinates of the elements that are not zero, a row for each. Waits for their number."""
    shape = (int(mask.count_nonzero()), mask.ndim)
    made = mask._new(shape, "i32")
    if made.size:
        operations().compact(mask, indices=made)
    return made


def _mask_indices(mask: Any, view: View, dim: int) -> List[Any]:
    """Returns the integer tensors, one for each of its dimensions, that a mask stands for."""
    if mask.shape != view.shape[dim:dim + mask.ndim]:
        raise IndexError(f"the mask has the shape {mask.shape}, the indexed dimensions "
                         f"{view.shape[dim:dim + mask.ndim]}")
    found = coordinates(as_tensor(mask, view))
    return [found.slice(1, d, 1).squeeze(1) for d in range(mask.ndim)]


def select(tensor: Any, key: Any) -> Selection:
    """Applies an index up to its integer tensors."""
    view, dim, flipped, advanced = tensor, 0, [], []
    places: List[int] = []
    indices: List[Any] = []
    keys = _expanded(tensor, key)
    has_tensors = any(isinstance(k, (View, np.ndarray)) for k in keys)
    for number, k in enumerate(keys):
        if has_tensors and not isinstance(k, slice) and k is not None:
            advanced.append(number)
        if k is None:
            view, dim = view.unsqueeze(dim), dim + 1
        elif isinstance(k, int):
            view = _integer(view, dim, k)
        elif isinstance(k, slice):
            view, is_flipped = _sliced(view, dim, k)
            flipped += [dim] if is_flipped else []
            dim += 1
        else:
            found = _mask_indices(k, view, dim) if _is_mask(k) else [_index_tensor(k, view, dim)]
            places += range(dim, dim + len(found))
            indices += found
            dim += len(found)
    if not has_tensors:
        return Selection(view, tuple(flipped), [], [], 0)
    together = advanced == list(range(advanced[0], advanced[-1] + 1))
    # As in NumPy: in the place of the integers and integer tensors if these are adjacent, otherwise first.
    first = sum(isinstance(k, slice) or k is None for k in keys[:advanced[0]]) if together else 0
    return Selection(view, tuple(flipped), places, indices, first)


def _tuples(indices: List[Any]) -> "Tensor":
    """Returns integer tensors, broadcast to one shape, as the last dimension of one tensor."""
    try:
        shape = np.broadcast_shapes(*(i.shape for i in indices))
    except ValueError:
        raise IndexError(f"the shapes of the indices, {[i.shape for i in indices]}, do not broadcast to one") from None
    dtype = "i64" if any(i.dtype == "i64" for i in indices) else "i32"
    made = indices[0]._new((*shape, len(indices)), dtype)
    for d, i in enumerate(indices):
        assign(made.slice(-1, d, 1).squeeze(-1), i)
    return made


def _places_first(s: Selection) -> Tuple[Any, Any]:
    """Returns the view with the indexed dimensions first, and the tuples of their indices."""
    rest = [d for d in range(s.view.ndim) if d not in s.places]
    return s.view.permute([*s.places, *rest]), _tuples(s.indices)


def _moved(made: Any, count: int, first: int) -> Any:
    """Returns a view of a result whose first `count` dimensions become those from `first` on."""
    order = [*range(count, count + first), *range(count), *range(count + first, made.ndim)]
    return made.permute(order)


def read(tensor: Any, key: Any) -> "Tensor":
    """Returns t[key]: a view, or a copy if the index has tensors or negative steps."""
    if _is_mask(key) and key.ndim == tensor.ndim > 0:
        return _compacted(tensor, key)
    s = select(tensor, key)
    view = s.view.flip(s.flipped) if s.flipped else s.view
    if not s.places:
        return view._view(view._c[0]) if view is tensor else view
    s = s._replace(view=view)
    if len(s.places) == 1 and s.first == s.places[0]:  # the result has the dimensions of the index in its place
        indices, place = s.indices[0], s.places[0]
        made = view._new((*view.shape[:place], *indices.shape, *view.shape[place + 1:]), tensor.dtype)
        given: Dict[str, Any] = dict(axis=place)
    else:
        view, indices = _places_first(s)
        made = view._new((*indices.shape[:-1], *view.shape[len(s.places):]), tensor.dtype)
        given = dict(axis=0, mode="tuples")
    if made.size:
        _require_elements(view, s)
        operations().gather_forward(view, indices, y=made, flags=INDEX_FROM_END, **given)
    return _moved(made, indices.ndim - 1, s.first) if "mode" in given else made


def _require_elements(view: Any, s: Selection) -> None:
    if view.size == 0:
        raise IndexError(f"a dimension of size 0 is indexed: the shape is {s.view.shape}")


def _compacted(tensor: Any, mask: Any) -> "Tensor":
    """Returns the elements that a mask of the tensor's shape selects. Waits for their number."""
    if mask.shape != tensor.shape:
        raise IndexError(f"the mask has the shape {mask.shape}, the tensor {tensor.shape}")
    mask = as_tensor(mask, tensor)
    made = tensor._new((int(mask.count_nonzero()),), tensor.dtype)
    if made.size:
        operations().compact(mask, x=tensor, y=made)
    return made


# Assigning -----------------------------------------------------------------------------------------------


def _value(tensor: Any, value: Any) -> Any:
    """Returns a number of the tensor's type, or a tensor, as the value of an assignment."""
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    if not is_operand(value):
        raise TypeError(f"{_ASSIGNED}: expected a number, a tensor or an array, got {type(value).__name__}")
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, (int, float)):
        if KINDS[beside_number(tensor.dtype, value)] > KINDS[tensor.dtype]:
            value = bool(value) if tensor.dtype == "bool" else math.trunc(value) if math.isfinite(value) else value
        check_range(_ASSIGNED, tensor.dtype, value)
        return value
    return as_tensor(value, tensor)


def _shaped(tensor: Any, value: Any, shape: Tuple[int, ...]) -> Any:
    """Returns the value broadcast to the shape of the elements that are assigned, in the tensor's type."""
    if not isinstance(value, View):
        value = constant(_ASSIGNED, tensor.context.stream, tensor, tensor.dtype, value)
    while value.ndim > len(shape) and value.shape[0] == 1:  # as in NumPy
        value = value.squeeze(0)
    try:
        fits = np.broadcast_shapes(value.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{_ASSIGNED}: the value has the shape {value.shape}, the elements have {shape}")
    return cast(value, tensor.dtype).broadcast(shape)


def write(tensor: Any, key: Any, value: Any) -> None:
    """Assigns t[key] = value."""
    value = _value(tensor, value)
    if isinstance(value, View) and value.memory is tensor.memory:
        value = value.copy()
    if _is_mask(key) and 0 < key.ndim <= tensor.ndim and _is_of_rest(tensor, key, value):
        return _write_where(tensor, key, value)
    s = select(tensor, key)
    if not s.places:
        if s.view.size:
            found = _shaped(s.view, value, s.view.shape)
            assign(s.view, found.flip(s.flipped) if s.flipped and isinstance(value, View) else found)
        return None
    view, indices = _places_first(s)
    count = indices.ndim - 1
    rest = view.shape[len(s.places):]
    shape = (*rest[:s.first], *indices.shape[:-1], *rest[s.first:])
    updates = _shaped(tensor, value, shape)
    if not updates.size:
        return None
    _require_elements(view, s)
    order = [*range(s.first, s.first + count), *range(s.first), *range(s.first + count, len(shape))]
    if s.flipped and isinstance(value, View):
        updates = updates.flip([_result_dim(s, d, count) for d in s.flipped])
    operations().scatter(updates.permute(order), indices, view, mode="tuples", flags=INDEX_FROM_END)
    return None


def _result_dim(s: Selection, dim: int, count: int) -> int:
    """Returns the dimension of the result that is a dimension of the view without indices."""
    place = dim - sum(p < dim for p in s.places)
    return place if place < s.first else place + count


def _is_of_rest(tensor: Any, mask: Any, value: Any) -> bool:
    """Returns True if each selected element, or slice, is assigned the same value."""
    return not isinstance(value, View) or value.ndim <= tensor.ndim - mask.ndim


def _write_where(tensor: Any, mask: Any, value: Any) -> None:
    if mask.shape != tensor.shape[:mask.ndim]:
        raise IndexError(f"the mask has the shape {mask.shape}, the indexed dimensions {tensor.shape[:mask.ndim]}")
    mask = as_tensor(mask, tensor).reshape(*mask.shape, *(1,) * (tensor.ndim - mask.ndim))
    found = _shaped(tensor, value, tensor.shape)
    _WHERE(tensor.context.stream, mask, found, tensor, tensor)


class Indexing(View):
    """Indexing of Tensor."""

    def __getitem__(self, key: Any) -> "Tensor":
        """Returns a view, or a copy if the index has tensors, masks or negative steps, as with an array."""
        return read(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Assigns numbers, arrays or tensors to the elements of an index, with conversion to the tensor's type."""
        write(self, key, value)

"""Text and HTML of tensors. Only the elements that are shown are read."""
import html as escaping
import itertools
from typing import Any, List, Tuple

import numpy as np

from ._types import NUMPY


def _parts(size: int, edge: int) -> List[Tuple[int, int, int]]:
    """Returns (start in the tensor, start in the excerpt, size) of the shown parts of a dimension."""
    if size <= 2 * edge:
        return [(0, 0, size)]
    return [(0, 0, edge), (size - edge, edge + 1, edge)]


def excerpt(tensor: Any, edge: int) -> np.ndarray:
    """Returns the first and last elements of each dimension, with one element between them that is not shown."""
    shape = [n if n <= 2 * edge else 2 * edge + 1 for n in tensor.shape]
    found = np.zeros(shape, NUMPY.get(tensor.dtype, np.dtype("f4")))
    for parts in itertools.product(*(_parts(n, edge) for n in tensor.shape)):
        view, places = tensor, []
        for d, (start, place, size) in enumerate(parts):
            view = view.slice(d, start, size)
            places.append(slice(place, place + size))
        part = view.numpy()
        if tensor.ndim and part.size:  # the element between first and last has the value of another one
            found[tuple(slice(None) if n <= 2 * edge else edge for n in tensor.shape)] = part.flat[0]
        found[tuple(places)] = part
    return found


def _values(tensor: Any) -> Tuple[np.ndarray, bool]:
    """Returns the elements to show, and True if they are an excerpt."""
    options = np.get_printoptions()
    if tensor.size <= options["threshold"]:
        return tensor.numpy(), False
    return excerpt(tensor, options["edgeitems"]), True


def _has_memory(tensor: Any) -> bool:
    return (tensor.memory.c is not None) or tensor.size == 0


def text(tensor: Any) -> str:
    """Returns the text of a tensor: its elements as NumPy prints them, shape, type and device."""
    form = f"shape={tensor.shape}, dtype={tensor.dtype}"
    if not _has_memory(tensor):
        owner = "a sequence's memory" if tensor.memory.owner is not None else "no memory"
        return f"tenon.view({tensor.shape}, dtype={tensor.dtype}) with {owner}"
    values, is_excerpt = _values(tensor)
    prefix = "tenon.Tensor("
    shown = np.array2string(values, separator=", ", prefix=prefix, threshold=0 if is_excerpt else values.size)
    return f"{prefix}{shown}, {form}, device={tensor.context.device.name!r})"


def html(tensor: Any) -> str:
    """Returns the HTML that notebooks show: a table for one or two dimensions, otherwise the text of the elements."""
    sizes = " × ".join(map(str, tensor.shape)) or "scalar"
    device = escaping.escape(tensor.context.device.name)
    caption = f"<small>tenon.Tensor {sizes}, {tensor.dtype}, {device}</small>"
    if not _has_memory(tensor):
        return f"<div>{caption}<br>no memory</div>"
    if not 1 <= tensor.ndim <= 2 or tensor.size == 0:
        values, is_excerpt = _values(tensor)
        shown = np.array2string(values, separator=", ", threshold=0 if is_excerpt else values.size)
        return f"<div>{caption}<pre>{escaping.escape(shown)}</pre></div>"
    edge = np.get_printoptions()["edgeitems"]
    rows = np.atleast_2d(excerpt(tensor, edge))
    hidden = [n > 2 * edge for n in ((1, *tensor.shape) if tensor.ndim == 1 else tensor.shape)]
    lines = []
    for r, row in enumerate(rows):
        cells = ["…" if (hidden[0] and r == edge) or (hidden[1] and c == edge) else _cell(v)
                 for c, v in enumerate(row)]
        lines.append("<tr>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>")
    return f"<div>{caption}<table>{''.join(lines)}</table></div>"


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, np.floating) else str(value)

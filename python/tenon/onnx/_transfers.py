"""Transfers of several tensors between the host and the device: small ones by one copy."""
import math
from typing import Any, List, Sequence, Tuple

import numpy as np

from .. import _makers as makers
from .._context import Context
from .._loader import check, ffi, lib
from .._tensor import Tensor
from ._types import array_type_of, download

MOST_BYTES = 1 << 16  # of all tensors; a copy of more takes longer than the commands that are saved
ALIGNMENT = 256

Form = Tuple[Tuple[int, ...], str]  # shape and type


class Group:
    """Tensors that are parts of one memory if they are small."""

    def __init__(self, context: Context, forms: Sequence[Form]):
        self._starts, end = [], 0
        for shape, dtype in forms:
            self._starts.append(end)
            end += -(-math.prod(shape) * array_type_of(dtype).itemsize // ALIGNMENT) * ALIGNMENT
        self._is_one = len(forms) > 1 and 0 < end <= MOST_BYTES
        if self._is_one:
            self._whole = makers.empty((end,), "u8", context)
            self.tensors = [_part(self._whole, start, *form) for start, form in zip(self._starts, forms)]
            self._bytes = bytearray(end)
            self._arrays = self._parts(self._bytes)
        else:
            self.tensors = [makers.empty(shape, dtype, context) for shape, dtype in forms]

    def _parts(self, whole: Any) -> List[np.ndarray]:
        return [np.ndarray(t.shape, array_type_of(t.dtype), whole, start)
                for start, t in zip(self._starts, self.tensors)]

    def upload(self, arrays: Sequence[np.ndarray]) -> None:
        """Copies arrays of the shapes and types of the tensors to them, perhaps only after the call: the stream of the
        context must have finished before the next upload."""
        if not self._is_one:
            for tensor, array in zip(self.tensors, arrays):
                tensor.upload(array)
            return
        for part, array in zip(self._arrays, arrays):
            part[...] = array
        stream, data = self._whole.context.stream, ffi.from_buffer(self._bytes)
        self._whole.memory.use(stream)
        with stream.lock:
            check(lib.tenon_tensor_upload_async(stream._c, data, len(self._bytes), self._whole._c, ffi.NULL))

    def download(self) -> List[np.ndarray]:
        """Returns copies of the tensors."""
        return self._parts(self._whole.numpy()) if self._is_one else [download(t) for t in self.tensors]


def _part(whole: Tensor, start: int, shape: Tuple[int, ...], dtype: str) -> Tensor:
    """Returns a row-major tensor in the memory of another."""
    view = ffi.new("tenon_tensor *", makers.view(shape, dtype, whole.context)._c[0])
    view.memory, view.offset = whole._c.memory, whole._c.offset + start
    return Tensor(view, whole.memory)

"""Tensors on the device, from and to NumPy and DLPack."""
from typing import Any, Iterator, Optional, Tuple, Union

import numpy as np

from . import _display as display
from . import _dlpack as dlpack
from . import _protocols as protocols
from ._arguments import real
from ._context import Context, Stream
from ._indexing import Indexing
from ._loader import check, ffi, lib
from ._memory import Memory, TakenMemory, checked
from ._methods import Methods
from ._operators import Operators, apply, cast
from ._types import DTYPES, FLOAT, KINDS, NUMPY, Shape, dtype_name, shape_tuple
from ._view import stream_of

__all__ = ["DTYPES", "Memory", "Operand", "OptionalOutput", "Output", "Shape", "TakenMemory", "Tensor", "checked",
           "context_beside", "dtype_name", "shape_tuple", "stream_of"]

_CPU = (1, 0)  # DLPack: kDLCPU

# An input: numbers have the type of the first tensor or array among the operands.
Operand = Union["Tensor", np.ndarray, float, int]
# An output: a tensor, or the shape of a new one; True requests an optional output.
Output = Union["Tensor", Shape, None]
OptionalOutput = Union["Tensor", Shape, bool, None]


class Tensor(Operators, Methods, Indexing):
    """A view of device memory; the memory lives as long as any view of it.

    Make one with tensor, empty, zeros or full. Operators, comparisons, indexing and the usual methods work as with
    arrays, and run on the device; `==` compares elements, so tensors are not hashable. NumPy's functions either run on
    the device (`np.sin(t)`) or raise TypeError (`np.median(t)`). `np.asarray(t)`, `t.numpy()` and DLPack copy to the
    host. The page docs/python.md lists the methods beside NumPy's, and the rules for types.
    """

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **given: Any) -> Any:
        return protocols.call_ufunc(ufunc, method, inputs, given)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return protocols.call_function(function, args, kwargs)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("a tensor of rank 0 has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator["Tensor"]:
        if self.ndim == 0:
            raise TypeError("a tensor of rank 0 is not iterable")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        """Returns True if an element equals the value."""
        return bool(apply("equal", self, value).any())

    def __repr__(self) -> str:
        return display.text(self)

    def _repr_html_(self) -> str:
        return display.html(self)

    def __format__(self, form: str) -> str:
        """Formats one element as a number, as in f"{t.mean():.3f}"; without a format returns the text."""
        return format(self._one("format"), form) if form else repr(self)

    def __copy__(self) -> "Tensor":
        return self.copy()

    def __deepcopy__(self, memo: Any) -> "Tensor":
        return self.copy()

    # Numbers -------------------------------------------------------------------------------------

    def item(self, *index: int) -> Union[bool, int, float]:
        """Returns one element as a number of Python: the only one, or the one with an index for each dimension."""
        if index:
            return self[index].item()
        if self.size != 1:
            raise ValueError(f"item: the tensor has {self.size} elements; an index is required unless there is one")
        return self.numpy().item()

    def tolist(self) -> Any:
        """Returns the elements as a number, or as nested lists of numbers."""
        return self.numpy().tolist()

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(f"the truth value of a tensor with {self.size} elements is ambiguous: use t.any() or "
                             "t.all(); to compare objects, use `t is u`")
        return bool(self.item())

    def __float__(self) -> float:
        return float(self._one("float"))

    def __int__(self) -> int:
        return int(self._one("int"))

    def __complex__(self) -> complex:
        return complex(self._one("complex"))

    def __index__(self) -> int:
        if KINDS[self.dtype] == FLOAT or self.dtype == "bool" or self.ndim > 0:
            raise TypeError(f"only a tensor of an integer type and of rank 0 is an index, not {self.dtype} of rank "
                            f"{self.ndim}")
        return int(self.item())

    def _one(self, name: str) -> Union[bool, int, float]:
        if self.size != 1:
            raise TypeError(f"{name}: only a tensor with one element is a number; this one has {self.size}")
        return self.item()

    # To and from the host ------------------------------------------------------------------------

    def upload(self, array: Any, stream: Optional[Stream] = None) -> "Tensor":
        """Copies an array of the same shape and type to the tensor."""
        array = np.asarray(array)
        if dtype_name(array.dtype) != self.dtype or array.shape != self.shape:
            raise ValueError(f"upload: the array ({array.dtype} {array.shape}) does not match the tensor "
                             f"({self.dtype} {self.shape})")
        array = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
        self._transfer(lib.tenon_tensor_upload, array, stream)
        return self

    def numpy(self, stream: Optional[Stream] = None) -> np.ndarray:
        """Returns a copy as an array. bf16, which NumPy lacks, is converted to f32 without loss."""
        if self.dtype == "bf16":
            return cast(self, "f32", stream_of(stream, self.context)).numpy(stream)
        array = np.empty(self.shape, NUMPY[self.dtype])
        self._transfer(lib.tenon_tensor_download, array, stream)
        return array

    def _transfer(self, call: Any, array: np.ndarray, stream: Optional[Stream]) -> None:
        stream = stream_of(stream, self.context)
        data = ffi.cast("void *", array.ctypes.data)
        self.memory.use(stream)
        with stream.lock:
            if call == lib.tenon_tensor_upload:
                check(call(stream._c, data, array.nbytes, self._c, ffi.NULL))
            else:
                check(call(stream._c, self._c, data, array.nbytes, ffi.NULL))

    def fill(self, value: float, stream: Optional[Stream] = None) -> "Tensor":
        """Sets every element to a value, rounded to the tensor's type."""
        stream, number = stream_of(stream, self.context), real("value", value)
        self.memory.use(stream)
        with stream.lock:
            check(lib.tenon_tensor_fill(stream._c, self._c, number, ffi.NULL))
        return self

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        if copy is False:
            raise ValueError("cannot make an array without a copy: the tensor is on the device")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
                   copy: Optional[bool] = None) -> Any:
        """Returns a capsule of a copy in host memory. With a dl_device of kDLOpenCL, for example (4, 0), waits for all
        work on the buffer and returns a capsule of the buffer itself, or of a copy of it if `copy` is true.
        """
        if dl_device is not None and dl_device[0] == dlpack.OPENCL:
            if copy:
                return self.copy().__dlpack__(max_version=max_version, dl_device=dl_device)
            self.memory.settle()
            return dlpack.hand_out(self.context, self._c, max_version)
        if copy is False or dl_device not in (None, _CPU):
            raise BufferError("unsupported dl_device or copy: a tensor is exported as a copy in host memory, or as an "
                              "OpenCL buffer if dl_device requests kDLOpenCL")
        if self.dtype == "bf16":
            raise BufferError("NumPy has no bf16: convert the tensor with tenon.copy first")
        return self.numpy().__dlpack__()

    def __dlpack_device__(self) -> Tuple[int, int]:
        return _CPU


def context_beside(stream: Optional[Stream]) -> Optional[Context]:
    """Returns the context of a stream; None without a stream."""
    return None if stream is None else stream_of(stream, getattr(stream, "context", None)).context

"""Tensors on the device, from and to NumPy and DLPack."""
import operator
import threading
from typing import Any, Dict, Optional, Sequence, Tuple, Union

import numpy as np

from . import _dlpack as dlpack
from ._arguments import real, sequence, signed
from ._context import Context, Stream
from ._loader import check, ffi, lib, text

DTYPES = {name: getattr(lib, f"TENON_DTYPE_{name.upper()}")
          for name in ("f64", "f32", "f16", "bf16", "i8", "u8", "i32")}
NUMPY: Dict[str, Any] = {"f64": np.dtype("f8"), "f32": np.dtype("f4"), "f16": np.dtype("f2"),
         "i8": np.dtype("i1"), "u8": np.dtype("u1"), "i32": np.dtype("i4")}
NAMES = {dtype: name for name, dtype in NUMPY.items()}
_CPU = (1, 0)  # DLPack: kDLCPU

Shape = Union[int, Sequence[int]]
# What an operation reads: numbers take the type of the first tensor or array beside them.
Operand = Union["Tensor", np.ndarray, float, int]
# What it writes: a tensor, or the shape of one to be made; where it may be left out, True asks for it.
Output = Union["Tensor", Shape, None]
OptionalOutput = Union["Tensor", Shape, bool, None]


def dtype_name(dtype: Any) -> str:
    """Tenon's name of an element type, given that, or NumPy's type or its name."""
    if isinstance(dtype, str) and dtype in DTYPES:
        return dtype
    named = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if isinstance(named, str) and named == "bfloat16":  # of the package ml_dtypes
        return "bf16"
    try:
        return NAMES[np.dtype(dtype).newbyteorder("=")]
    except (KeyError, TypeError):
        raise TypeError(f"dtype: {dtype} is none of Tenon's types ({', '.join(DTYPES)}); "
                        "convert it first, as in array.astype(\"f4\")") from None


def shape_tuple(shape: Shape, name: str = "shape", wanted: str = "an integer or a sequence of integers"
                ) -> Tuple[int, ...]:
    """The sizes, of 64 bits each."""
    sizes = [shape] if hasattr(shape, "__index__") and not getattr(shape, "ndim", 0) else sequence(name, wanted, shape)
    return tuple(signed(f"{name}[{i}]", n) for i, n in enumerate(sizes))


def checked(value: Any) -> Any:
    """A tenon_tensor that a function has made; raises where it is not possible."""
    if value.dtype == lib.TENON_DTYPE_INVALID:  # the function has failed with its message
        check(lib.TENON_ERROR_INVALID_ARGUMENT)
    view = ffi.new("tenon_tensor *", value)
    check(lib.tenon_tensor_check(view))
    return view


class Memory:
    """Device memory, and the streams that have used it since they were last waited for."""

    _lock = threading.Lock()

    def __init__(self, context: Context, handle: Any):
        self.context = context
        self.c = handle if handle is None else ffi.gc(handle, lib.tenon_memory_destroy)
        self._streams: frozenset = frozenset()

    def use(self, stream: Stream) -> None:
        """Orders a stream after all others that have used the memory, by waiting for them."""
        with Memory._lock:
            others, self._streams = self._streams - {stream}, frozenset({stream})
        for other in others:
            other.finish()


    def settle(self) -> None:
        """Waits for all that has used the memory."""
        with Memory._lock:
            streams, self._streams = self._streams, frozenset()
        for stream in streams:
            stream.finish()


class TakenMemory(Memory):
    """Another library's, which gets it back when nothing uses it any more."""

    def __init__(self, context: Context, handle: Any):
        super().__init__(context, None)
        self.c = handle

    def __del__(self) -> None:
        self.settle()
        lib.tenon_memory_destroy(self.c)


class Tensor:
    """A view of device memory; the memory lives as long as a view of it.

    Make one with tensor, empty, zeros or full. `+ - * /`, `@`, slices with steps, `np.asarray` and
    DLPack (of the CPU: a copy) do what they do with arrays. NumPy's functions (`np.mean(t)`) raise
    TypeError, since they would run on the host: `np.mean(t.numpy())` says so. `==` and `!=` raise
    TypeError too; a tensor's hash is by identity.
    """

    __array_ufunc__ = None  # array + tensor is Tensor.__radd__
    __hash__ = object.__hash__

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = f"{getattr(function, '__module__', 'numpy')}.{getattr(function, '__name__', function)}"
        raise TypeError(f"{name} does not take a tenon.Tensor: use an operation of tenon, which runs on the "
                        "device, or copy the tensor to the host with t.numpy()")

    def __init__(self, c: Any, memory: Memory):
        self._c = c
        self.memory = memory

    @property
    def context(self) -> Context:
        """Where it is."""
        return self.memory.context

    @property
    def dtype(self) -> str:
        """"f32" for example."""
        return text(lib.tenon_dtype_string(self._c.dtype))

    @property
    def shape(self) -> Tuple[int, ...]:
        """The size of each dimension."""
        return tuple(self._c.shape[0:self._c.rank])

    @property
    def strides(self) -> Tuple[int, ...]:
        """In elements; 0 repeats."""
        return tuple(self._c.stride[0:self._c.rank])

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return self._c.rank

    @property
    def size(self) -> int:
        """How many elements it has."""
        return lib.tenon_tensor_elements(self._c)

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        return self.size * lib.tenon_dtype_size(self._c.dtype)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("a tensor of rank 0 has no length")
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        raise TypeError("tensors are not compared by == or !=: numpy.array_equal(t.numpy(), u.numpy()) compares "
                        "the elements of two, and `t is u` tells whether they are one object")

    __ne__ = __eq__

    def __bool__(self) -> bool:
        raise TypeError("a tensor is neither true nor false")

    def __repr__(self) -> str:
        if self.memory.c is None and self.size > 0:
            return f"tenon.view({self.shape}, dtype={self.dtype})"
        return f"tenon.tensor({self.numpy()}, dtype={self.dtype})"

    # Views -------------------------------------------------------------------------------------

    def _view(self, value: Any) -> "Tensor":
        return Tensor(checked(value), self.memory)

    def transpose(self, d0: int = -2, d1: int = -1) -> "Tensor":
        """Dimensions d0 and d1 exchanged; the last two, where none are named."""
        d0, d1 = self._dim(d0), self._dim(d1)
        return self._view(lib.tenon_tensor_transpose(self._c[0], d0, d1))

    @property
    def T(self) -> "Tensor":
        """All dimensions in the opposite order."""
        return self.permute(range(self.ndim)[::-1])

    def permute(self, order: Sequence[int]) -> "Tensor":
        """Dimension d is dimension order[d] of this tensor."""
        order = [self._dim(d) for d in sequence("permute: order", "a sequence of integers", order)]
        if len(order) != self.ndim:
            raise ValueError(f"permute: {len(order)} dimensions are named, there are {self.ndim}")
        return self._view(lib.tenon_tensor_permute(self._c[0], order))

    def slice(self, dim: int, start: int, size: int, step: int = 1) -> "Tensor":
        """`size` entries of a dimension, every `step` of them from `start`."""
        numbers = (signed(f"slice: {n}", v) for n, v in (("start", start), ("size", size), ("step", step)))
        value = lib.tenon_tensor_slice_step(self._c[0], self._dim(dim), *numbers)
        return self._view(value)

    def squeeze(self, dim: int) -> "Tensor":
        """Without a dimension of size 1."""
        return self._view(lib.tenon_tensor_squeeze(self._c[0], self._dim(dim)))

    def unsqueeze(self, dim: int) -> "Tensor":
        """One more dimension, of size 1, before `dim`; ndim puts it last."""
        if not 0 <= signed("dim", dim) <= self.ndim:
            raise IndexError(f"dimension {dim} is not from 0 to {self.ndim}")
        return self._view(lib.tenon_tensor_unsqueeze(self._c[0], dim))

    def nhwc(self) -> "Tensor":
        """What lies as N H W C, read as N C H W: the last dimension becomes the second one."""
        return self._view(lib.tenon_tensor_nhwc(self._c[0]))

    def reshape(self, *shape: Any) -> "Tensor":
        """The same elements in another shape, one of whose sizes may be -1; never a copy."""
        sizes = shape_tuple(shape[0] if len(shape) == 1 else shape)
        out = ffi.new("tenon_tensor *")
        check(lib.tenon_tensor_reshape(self._c, len(sizes), sizes, out))
        return Tensor(out, self.memory)

    def broadcast(self, *shape: Any) -> "Tensor":
        """In a larger shape, as NumPy broadcasts: sizes of 1 and missing dimensions repeat."""
        sizes = shape_tuple(shape[0] if len(shape) == 1 else shape)
        value = lib.tenon_tensor_broadcast(self._c[0], len(sizes), sizes)
        return self._view(value)

    def _dim(self, dim: int) -> int:
        if not -self.ndim <= signed("dim", dim) < self.ndim:
            raise IndexError(f"dimension {dim} is not there: the tensor has {self.ndim}")
        return dim % self.ndim

    def __getitem__(self, key: Any) -> "Tensor":
        """A view by numbers, slices with positive steps, None and …, as of an array."""
        keys = list(key) if isinstance(key, tuple) else [key]
        places = [i for i, k in enumerate(keys) if k is Ellipsis]
        if len(places) > 1:
            raise IndexError("more than one …")
        missing = self.ndim - sum(k is not None and k is not Ellipsis for k in keys)
        if missing < 0:
            raise IndexError(f"{self.ndim - missing} indices for {self.ndim} dimensions")
        at = places[0] if places else len(keys)
        keys[at:at + 1] = [slice(None)] * missing
        view, dim = self, 0
        for k in keys:
            view, dim = view._index(dim, k)
        return view

    def _index(self, dim: int, key: Any) -> Tuple["Tensor", int]:
        """The view by one key, and the dimension that the next key is for."""
        if key is None:
            return self.unsqueeze(dim), dim + 1
        size = self.shape[dim]
        if isinstance(key, slice):
            start, stop, step = key.indices(size)
            if step < 1:
                raise IndexError(f"a step of {step}: only positive ones are views")
            return self.slice(dim, start, len(range(start, stop, step)), step), dim + 1
        if not hasattr(key, "__index__") or isinstance(key, bool):
            raise TypeError(f"an index is a number, a slice, None or …, not {type(key).__name__}")
        place = key.__index__()
        if not -size <= place < size:
            raise IndexError(f"index {place} is not within dimension {dim} of size {size}")
        return self.slice(dim, place % size, 1).squeeze(dim), dim

    # To and from the host ------------------------------------------------------------------------

    def upload(self, array: Any, stream: Optional[Stream] = None) -> "Tensor":
        """Copies an array of this shape and type into the tensor."""
        array = np.asarray(array)
        if dtype_name(array.dtype) != self.dtype or array.shape != self.shape:
            raise ValueError(f"upload: an array {array.dtype} {array.shape} into a tensor "
                             f"{self.dtype} {self.shape}")
        array = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
        self._transfer(lib.tenon_tensor_upload, array, stream)
        return self

    def numpy(self, stream: Optional[Stream] = None) -> np.ndarray:
        """A copy as an array. bf16, which NumPy has not, comes as f32, without a loss."""
        if self.dtype == "bf16":
            from ._makers import empty
            from ._operations import copy
            return copy(self, y=empty(self.shape, "f32", self.context), stream=stream).numpy(stream)
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
        """Sets every element, rounded to the tensor's type."""
        stream, number = stream_of(stream, self.context), real("value", value)
        self.memory.use(stream)
        with stream.lock:
            check(lib.tenon_tensor_fill(stream._c, self._c, number, ffi.NULL))
        return self

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a tensor is on the device: an array of it is a copy")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
                   copy: Optional[bool] = None) -> Any:
        """A copy in the host's memory; with a dl_device of kDLOpenCL, (4, 0) say, the buffer itself,
        when all work on it is done, or a copy of it where `copy` is true."""
        if dl_device is not None and dl_device[0] == dlpack.OPENCL:
            if copy:
                from ._operations import copy as copied
                return copied(self).__dlpack__(max_version=max_version, dl_device=dl_device)
            self.memory.settle()
            return dlpack.hand_out(self.context, self._c, max_version)
        if copy is False or dl_device not in (None, _CPU):
            raise BufferError("a tensor is handed over as a copy in the host's memory, or on "
                              "OpenCL where dl_device asks for that")
        if self.dtype == "bf16":
            raise BufferError("bf16 has no array: convert the tensor with tenon.copy first")
        return self.numpy().__dlpack__()

    def __dlpack_device__(self) -> Tuple[int, int]:
        return _CPU

    # Operators -----------------------------------------------------------------------------------

    def _elementwise(self, kind: str, a: Any, b: Any) -> Any:
        from ._operations import elementwise
        if not all(isinstance(x, (Tensor, np.ndarray, np.generic, int, float)) for x in (a, b)):
            return NotImplemented
        return elementwise(a, b, kind=kind)

    def __add__(self, other: Operand) -> "Tensor":
        return self._elementwise("add", self, other)

    def __radd__(self, other: Operand) -> "Tensor":
        return self._elementwise("add", other, self)

    def __sub__(self, other: Operand) -> "Tensor":
        return self._elementwise("subtract", self, other)

    def __rsub__(self, other: Operand) -> "Tensor":
        return self._elementwise("subtract", other, self)

    def __mul__(self, other: Operand) -> "Tensor":
        return self._elementwise("multiply", self, other)

    def __rmul__(self, other: Operand) -> "Tensor":
        return self._elementwise("multiply", other, self)

    def __truediv__(self, other: Operand) -> "Tensor":
        return self._elementwise("divide", self, other)

    def __rtruediv__(self, other: Operand) -> "Tensor":
        return self._elementwise("divide", other, self)

    def __neg__(self) -> "Tensor":
        return self._elementwise("multiply", self, -1)

    def __matmul__(self, other: Operand) -> "Tensor":
        from ._operations import gemm
        return gemm(self, other)

    def __rmatmul__(self, other: Operand) -> "Tensor":
        from ._operations import gemm
        return gemm(other, self)


def context_beside(stream: Optional[Stream]) -> Optional[Context]:
    """The context of a stream, None where none is named."""
    return None if stream is None else stream_of(stream, getattr(stream, "context", None)).context


def stream_of(stream: Optional[Stream], context: Context) -> Stream:
    """The stream that is named, or the context's."""
    if stream is None:
        return context.stream
    if not isinstance(stream, Stream):
        raise TypeError(f"stream: a tenon.Stream is needed, this is a {type(stream).__name__}")
    if stream.context is not context:
        raise ValueError("stream: it is of another context than a tensor")
    return stream

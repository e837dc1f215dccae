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
          for name in ("f64", "f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "bool")}
NUMPY: Dict[str, Any] = {"f64": np.dtype("f8"), "f32": np.dtype("f4"), "f16": np.dtype("f2"),
         "i8": np.dtype("i1"), "u8": np.dtype("u1"), "i16": np.dtype("i2"), "u16": np.dtype("u2"),
         "i32": np.dtype("i4"), "u32": np.dtype("u4"), "i64": np.dtype("i8"), "bool": np.dtype("?")}
NAMES = {dtype: name for name, dtype in NUMPY.items()}
_CPU = (1, 0)  # DLPack: kDLCPU

Shape = Union[int, Sequence[int]]
# An input: numbers have the type of the first tensor or array among the operands.
Operand = Union["Tensor", np.ndarray, float, int]
# An output: a tensor, or the shape of a new one; True requests an optional output.
Output = Union["Tensor", Shape, None]
OptionalOutput = Union["Tensor", Shape, bool, None]


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


def checked(value: Any) -> Any:
    """Returns a view made by a function of the library; raises if it is invalid."""
    if value.dtype == lib.TENON_DTYPE_INVALID:  # the function has set its message
        check(lib.TENON_ERROR_INVALID_ARGUMENT)
    view = ffi.new("tenon_tensor *", value)
    check(lib.tenon_tensor_check(view))
    return view


class Memory:
    """Device memory, and the streams that have used it since they were last finished."""

    _lock = threading.Lock()
    owner: Any = None  # the sequence that the memory belongs to

    def __init__(self, context: Context, handle: Any):
        self.context = context
        self.c = handle if handle is None else ffi.gc(handle, lib.tenon_memory_destroy)
        self._streams: frozenset = frozenset()

    def use(self, stream: Stream) -> None:
        """Orders a stream after all other streams that have used the memory, by finishing them."""
        if self._streams is stream.only:
            return
        with Memory._lock:
            others, self._streams = self._streams - stream.only, stream.only
        for other in others:
            other.finish()

    def settle(self) -> None:
        """Waits for all work that has used the memory."""
        with Memory._lock:
            streams, self._streams = self._streams, frozenset()
        for stream in streams:
            stream.finish()


class TakenMemory(Memory):
    """Memory of another library, released when nothing uses it any more."""

    def __init__(self, context: Context, handle: Any):
        super().__init__(context, None)
        self.c = handle

    def __del__(self) -> None:
        self.settle()
        lib.tenon_memory_destroy(self.c)


class Tensor:
    """A view of device memory; the memory lives as long as any view of it.

    Make one with tensor, empty, zeros or full. `+ - * /`, `@`, slices with steps, `np.asarray` and
    DLPack (on the CPU: a copy) work as with arrays. NumPy's functions (`np.mean(t)`) raise TypeError,
    because they would run on the host: write `np.mean(t.numpy())` instead. `==` and `!=` raise TypeError
    too; a tensor's hash is its identity.
    """

    __array_ufunc__ = None  # makes array + tensor call Tensor.__radd__
    __hash__ = object.__hash__

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = f"{getattr(function, '__module__', 'numpy')}.{getattr(function, '__name__', function)}"
        raise TypeError(f"{name} does not accept a tenon.Tensor: use an operation of tenon, which runs on the "
                        "device, or copy the tensor to the host with t.numpy()")

    def __init__(self, c: Any, memory: Memory):
        self._c = c
        self.memory = memory

    @property
    def context(self) -> Context:
        """The tensor's context."""
        return self.memory.context

    @property
    def dtype(self) -> str:
        """The element type, for example "f32"."""
        return text(lib.tenon_dtype_string(self._c.dtype))

    @property
    def shape(self) -> Tuple[int, ...]:
        """The size of each dimension."""
        return tuple(self._c.shape[0:self._c.rank])

    @property
    def strides(self) -> Tuple[int, ...]:
        """The strides in elements; 0 repeats a dimension."""
        return tuple(self._c.stride[0:self._c.rank])

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._c.rank

    @property
    def size(self) -> int:
        """The number of elements."""
        return lib.tenon_tensor_elements(self._c)

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes."""
        return self.size * lib.tenon_dtype_size(self._c.dtype)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("a tensor of rank 0 has no length")
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        raise TypeError("tensors do not support == and !=: compare elements with "
                        "numpy.array_equal(t.numpy(), u.numpy()), or identity with `t is u`")

    __ne__ = __eq__

    def __bool__(self) -> bool:
        raise TypeError("a tensor has no truth value")

    def __repr__(self) -> str:
        if self.memory.c is None and self.size > 0:
            return f"tenon.view({self.shape}, dtype={self.dtype})"
        return f"tenon.tensor({self.numpy()}, dtype={self.dtype})"

    # Views -------------------------------------------------------------------------------------

    def _view(self, value: Any) -> "Tensor":
        return Tensor(checked(value), self.memory)

    def transpose(self, d0: int = -2, d1: int = -1) -> "Tensor":
        """Returns a view with dimensions d0 and d1 exchanged; by default the last two."""
        d0, d1 = self._dim(d0), self._dim(d1)
        return self._view(lib.tenon_tensor_transpose(self._c[0], d0, d1))

    @property
    def T(self) -> "Tensor":
        """A view with all dimensions in reverse order."""
        return self.permute(range(self.ndim)[::-1])

    def permute(self, order: Sequence[int]) -> "Tensor":
        """Returns a view whose dimension d is dimension order[d] of this tensor."""
        order = [self._dim(d) for d in sequence("permute: order", "a sequence of integers", order)]
        if len(order) != self.ndim:
            raise ValueError(f"permute: order has {len(order)} dimensions; the tensor has {self.ndim}")
        return self._view(lib.tenon_tensor_permute(self._c[0], order))

    def slice(self, dim: int, start: int, size: int, step: int = 1) -> "Tensor":
        """Returns a view of `size` entries of a dimension, every `step`-th one from `start` on."""
        numbers = (signed(f"slice: {n}", v) for n, v in (("start", start), ("size", size), ("step", step)))
        value = lib.tenon_tensor_slice_step(self._c[0], self._dim(dim), *numbers)
        return self._view(value)

    def squeeze(self, dim: int) -> "Tensor":
        """Returns a view without a dimension of size 1."""
        return self._view(lib.tenon_tensor_squeeze(self._c[0], self._dim(dim)))

    def unsqueeze(self, dim: int) -> "Tensor":
        """Returns a view with an additional dimension of size 1 before `dim`; dim = ndim appends it."""
        if not 0 <= signed("dim", dim) <= self.ndim:
            raise IndexError(f"dimension {dim} is out of range, allowed are 0 to {self.ndim}")
        return self._view(lib.tenon_tensor_unsqueeze(self._c[0], dim))

    def nhwc(self) -> "Tensor":
        """Returns the N C H W view of a tensor stored as N H W C: the last dimension becomes the second."""
        return self._view(lib.tenon_tensor_nhwc(self._c[0]))

    def reshape(self, *shape: Any) -> "Tensor":
        """Returns a view with another shape, one of whose sizes may be -1; never copies."""
        sizes = shape_tuple(shape[0] if len(shape) == 1 else shape)
        out = ffi.new("tenon_tensor *")
        check(lib.tenon_tensor_reshape(self._c, len(sizes), sizes, out))
        return Tensor(out, self.memory)

    def broadcast(self, *shape: Any) -> "Tensor":
        """Returns a view broadcast to a larger shape by NumPy's rules: dimensions of size 1 and missing ones repeat."""
        sizes = shape_tuple(shape[0] if len(shape) == 1 else shape)
        value = lib.tenon_tensor_broadcast(self._c[0], len(sizes), sizes)
        return self._view(value)

    def _dim(self, dim: int) -> int:
        if not -self.ndim <= signed("dim", dim) < self.ndim:
            raise IndexError(f"dimension {dim} is out of range: the tensor has {self.ndim} dimensions")
        return dim % self.ndim

    def __getitem__(self, key: Any) -> "Tensor":
        """Returns a view indexed by numbers, slices with positive steps, None and …, as with an array."""
        keys = list(key) if isinstance(key, tuple) else [key]
        places = [i for i, k in enumerate(keys) if k is Ellipsis]
        if len(places) > 1:
            raise IndexError("an index may contain only one …")
        missing = self.ndim - sum(k is not None and k is not Ellipsis for k in keys)
        if missing < 0:
            raise IndexError(f"too many indices: {self.ndim - missing} for {self.ndim} dimensions")
        at = places[0] if places else len(keys)
        keys[at:at + 1] = [slice(None)] * missing
        view, dim = self, 0
        for k in keys:
            view, dim = view._index(dim, k)
        return view

    def _index(self, dim: int, key: Any) -> Tuple["Tensor", int]:
        """Applies one index; returns the view and the dimension that the next index applies to."""
        if key is None:
            return self.unsqueeze(dim), dim + 1
        size = self.shape[dim]
        if isinstance(key, slice):
            start, stop, step = key.indices(size)
            if step < 1:
                raise IndexError(f"step {step}: a slice must have a positive step")
            return self.slice(dim, start, len(range(start, stop, step)), step), dim + 1
        if not hasattr(key, "__index__") or isinstance(key, bool):
            raise TypeError(f"index: expected an integer, a slice, None or …, got {type(key).__name__}")
        place = key.__index__()
        if not -size <= place < size:
            raise IndexError(f"index {place} is out of range for dimension {dim} of size {size}")
        return self.slice(dim, place % size, 1).squeeze(dim), dim

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
                from ._operations import copy as copied
                return copied(self).__dlpack__(max_version=max_version, dl_device=dl_device)
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
    """Returns the context of a stream; None without a stream."""
    return None if stream is None else stream_of(stream, getattr(stream, "context", None)).context


def stream_of(stream: Optional[Stream], context: Context) -> Stream:
    """Returns the given stream, or the context's stream."""
    if stream is None:
        return context.stream
    if not isinstance(stream, Stream):
        raise TypeError(f"stream: expected a tenon.Stream, got {type(stream).__name__}")
    if stream.context is not context:
        raise ValueError("stream: it belongs to another context than the operands")
    return stream

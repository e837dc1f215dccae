"""Views of device memory: their form, and other views of the same memory."""
from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple, Union

from ._arguments import sequence, signed
from ._context import Context, Stream
from ._direct import copy_into
from ._loader import check, ffi, lib
from ._memory import Memory, checked
from ._types import DTYPES, TYPES, shape_tuple

if TYPE_CHECKING:
    from ._tensor import Tensor


def stream_of(stream: Optional[Stream], context: Any) -> Stream:
    """Returns the given stream, or the context's stream."""
    if stream is None:
        return context.stream
    if not isinstance(stream, Stream):
        raise TypeError(f"stream: expected a tenon.Stream, got {type(stream).__name__}")
    if stream.context is not context:
        raise ValueError("stream: it belongs to another context than the operands")
    return stream


class View:
    """The form of a tensor and its views; the base of Tensor, and never used alone."""

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
        return TYPES[self._c.dtype]

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

    def _view(self, value: Any) -> "Tensor":
        return type(self)(checked(value), self.memory)  # type: ignore[return-value]

    def _new(self, shape: Tuple[int, ...], dtype: str) -> "Tensor":
        """Makes a row-major tensor with its own, uninitialized memory in this tensor's context."""
        c = ffi.new("tenon_tensor *")
        status = lib.tenon_tensor_create(self.memory.context._c, DTYPES[dtype], len(shape), shape, c)
        if status:
            check(status)
        return type(self)(c, Memory(self.memory.context, ffi.new("tenon_memory *", c.memory)))  # type: ignore

    def _is_same(self, other: "View") -> bool:
        """Returns True if both are the same elements of the same memory in the same order."""
        return (self.memory is other.memory and self._c.offset == other._c.offset and self.shape == other.shape
                and self.strides == other.strides)

    def copy(self, stream: Optional[Stream] = None) -> "Tensor":
        """Returns a row-major copy."""
        made = self._new(self.shape, self.dtype)
        copy_into(stream_of(stream, self.context), self, made)
        return made

    # Views -------------------------------------------------------------------------------------

    def transpose(self, d0: int = -2, d1: int = -1) -> "Tensor":
        """Returns a view with dimensions d0 and d1 exchanged; by default the last two.

        `permute` takes an order of all dimensions, as numpy.transpose does.
        """
        d0, d1 = self._dim(d0), self._dim(d1)
        return self._view(lib.tenon_tensor_transpose(self._c[0], d0, d1))

    @property
    def T(self) -> "Tensor":
        """A view with all dimensions in reverse order."""
        return self.permute(range(self.ndim)[::-1])

    @property
    def mT(self) -> "Tensor":
        """A view with the last two dimensions exchanged: each matrix is transposed."""
        return self.transpose()

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

    def squeeze(self, axis: Union[int, Sequence[int], None] = None) -> "Tensor":
        """Returns a view without one or several dimensions of size 1; None: without all of them."""
        chosen = self._axes([d for d, n in enumerate(self.shape) if n == 1] if axis is None else axis)
        view: Any = self._view(self._c[0])
        for d in sorted(chosen, reverse=True):
            view = view._view(lib.tenon_tensor_squeeze(view._c[0], d))
        return view

    def unsqueeze(self, dim: int) -> "Tensor":
        """Returns a view with an additional dimension of size 1 before `dim`; dim = ndim appends it."""
        if not 0 <= signed("dim", dim) <= self.ndim:
            raise IndexError(f"dimension {dim} is out of range, allowed are 0 to {self.ndim}")
        return self._view(lib.tenon_tensor_unsqueeze(self._c[0], dim))

    def expand_dims(self, axis: int) -> "Tensor":
        """Returns a view with an additional dimension of size 1, which is dimension `axis` of the result."""
        if not -self.ndim - 1 <= signed("axis", axis) <= self.ndim:
            raise IndexError(f"axis {axis} is out of range, allowed are {-self.ndim - 1} to {self.ndim}")
        return self.unsqueeze(axis % (self.ndim + 1))

    def nhwc(self) -> "Tensor":
        """Returns the N C H W view of a tensor stored as N H W C: the last dimension becomes the second."""
        return self._view(lib.tenon_tensor_nhwc(self._c[0]))

    def reshape(self, *shape: Any, copy: Optional[bool] = None) -> "Tensor":
        """Returns the elements, in row-major order, with another shape, one of whose sizes may be -1.

        Parameters
        ----------
        *shape : int, or one sequence of int
            The sizes.
        copy : bool, default None
            None: a view if the strides allow one, otherwise a copy. False: a view, or an error. True: a copy.

        Raises
        ------
        InvalidArgument (ValueError)
            The number of elements differs.
        Unsupported (NotImplementedError)
            `copy` is False and the strides allow no view.
        """
        sizes = shape_tuple(shape[0] if len(shape) == 1 else shape)
        if copy:
            return self.copy().reshape(sizes, copy=False)
        out = ffi.new("tenon_tensor *")
        status = lib.tenon_tensor_reshape(self._c, len(sizes), sizes, out)
        if status == lib.TENON_ERROR_UNSUPPORTED and copy is None:
            return self.copy().reshape(sizes, copy=False)
        check(status)
        return type(self)(out, self.memory)  # type: ignore[return-value]

    def flatten(self) -> "Tensor":
        """Returns the elements in row-major order, with one dimension: a view if the strides allow one."""
        return self.reshape(-1 if self.size else 0)

    def broadcast(self, *shape: Any) -> "Tensor":
        """Returns a view broadcast to a larger shape by NumPy's rules: dimensions of size 1 and missing ones repeat."""
        sizes = shape_tuple(shape[0] if len(shape) == 1 else shape)
        value = lib.tenon_tensor_broadcast(self._c[0], len(sizes), sizes)
        return self._view(value)

    def broadcast_to(self, shape: Any) -> "Tensor":
        """Returns a view broadcast to a shape, as numpy.broadcast_to; the same as `broadcast`."""
        return self.broadcast(shape)

    def _dim(self, dim: int) -> int:
        if not -self.ndim <= signed("dim", dim) < self.ndim:
            raise IndexError(f"dimension {dim} is out of range: the tensor has {self.ndim} dimensions")
        return dim % self.ndim

    def _axes(self, axis: Union[int, Sequence[int], None]) -> Tuple[int, ...]:
        """Returns axes counted from 0, in ascending order; all for None."""
        if axis is None:
            return tuple(range(self.ndim))
        wanted = "an integer or a sequence of integers"
        given: Any = [axis] if hasattr(axis, "__index__") else sequence("axis", wanted, axis)
        found = [self._dim(a) for a in given]
        if len(set(found)) != len(found):
            raise ValueError(f"axis: {tuple(given)} has an axis twice")
        return tuple(sorted(found))

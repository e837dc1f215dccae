"""Packed weights: a matrix or filters stored once in the order in which a device's kernels read them."""
from typing import Any, Optional, Tuple

import numpy as np

from ._arguments import string
from ._context import Stream
from ._loader import check, defaults, ffi, lib, text
from ._makers import empty, tensor
from ._tensor import Memory, Tensor, stream_of


class Packed:
    """Packed weights for gemm_packed and conv_forward_packed; immutable."""

    def __init__(self, handle: Any, stream: Stream):
        self._c = ffi.gc(handle, lib.tenon_packed_release)
        self.context = stream.context
        self.memory = Memory(self.context, None)  # tracks the streams that have used the weights
        self.memory.use(stream)

    @property
    def shape(self) -> Tuple[int, ...]:
        """The shape of the weights."""
        view = lib.tenon_packed_view(self._c)
        return tuple(view.shape[0:view.rank])

    @property
    def dtype(self) -> str:
        """The element type, for example "f32"."""
        return text(lib.tenon_dtype_string(lib.tenon_packed_view(self._c).dtype))

    @property
    def nbytes(self) -> int:
        """The bytes of device memory owned by the object."""
        return lib.tenon_packed_bytes(self._c)

    def describe(self) -> str:
        """Returns one line with the purpose, type, shape, layout and bytes."""
        line = ffi.new("char[]", lib.tenon_packed_describe(self._c, ffi.NULL, 0) + 1)
        lib.tenon_packed_describe(self._c, line, len(line))
        return text(line)

    def unpack(self, stream: Optional[Stream] = None) -> Tensor:
        """Returns the original weights, bit for bit."""
        stream = stream_of(stream, self.context)
        made = empty(self.shape, self.dtype, self.context)
        for memory in (self.memory, made.memory):
            memory.use(stream)
        with stream.lock:
            check(lib.tenon_packed_unpack(stream._c, self._c, made._c, ffi.NULL))
        return made

    def __repr__(self) -> str:
        return f"<tenon.Packed {self.describe()}>"


def _pack(function: Any, name: str, weights: Any, layout: Optional[str], stream: Optional[Stream]) -> Packed:
    if not isinstance(weights, Tensor):
        weights = np.asarray(weights)
        if weights.dtype == object:
            raise TypeError(f"{name}: expected a tenon.Tensor or numpy.ndarray")
        weights = tensor(weights, stream=stream)
    stream = stream_of(stream, weights.context)
    params = defaults("tenon_pack_params")
    name = ffi.new("char[]", b"" if layout is None else string("layout", layout))
    params.layout = name if layout is not None else ffi.NULL
    out = ffi.new("tenon_packed **")
    weights.memory.use(stream)
    with stream.lock:
        check(function(stream._c, params, weights._c, out, ffi.NULL))
    return Packed(out[0], stream)


def gemm_pack(b: Any, *, layout: Optional[str] = None, stream: Optional[Stream] = None) -> Packed:
    """Packs the operand b of gemm_packed.

    Parameters
    ----------
    b : Tensor or numpy.ndarray
        … K N.
    layout : str, default None
        "panels" or "rows"; None: chosen for the device and the shape.
    stream : Stream, default None
        The stream to run on; None: the stream of the operand's context.

    Returns
    -------
    Packed

    Raises
    ------
    InvalidArgument (ValueError)
        The layout is unknown, or the shape is not that of matrices.
    Unsupported (NotImplementedError)
        The type cannot be packed in this layout, or not at all.
    """
    return _pack(lib.tenon_gemm_pack, "gemm_pack: b", b, layout, stream)


def conv_pack_filter(w: Any, *, layout: Optional[str] = None,
                     stream: Optional[Stream] = None) -> Packed:
    """Packs the filters of conv_forward_packed.

    Parameters
    ----------
    w : Tensor or numpy.ndarray
        K C/groups and the spatial sizes.
    layout : str, default None
        "filter_panels" (for 1x1 filters) or "filters"; None: chosen for the device and the shape.
    stream : Stream, default None
        The stream to run on; None: the stream of the operand's context.

    Returns
    -------
    Packed

    Raises
    ------
    InvalidArgument (ValueError)
        The layout is unknown, or the shape is not that of filters.
    Unsupported (NotImplementedError)
        The type cannot be packed in this layout, or not at all.
    """
    return _pack(lib.tenon_conv_pack_filter, "conv_pack_filter: w", w, layout, stream)

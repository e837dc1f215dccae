"""Device memory, which views share."""
import threading
from typing import Any

from ._context import Context, Stream
from ._loader import check, ffi, lib


def checked(value: Any) -> Any:
    """Returns a view made by a function of the library; raises if it is invalid."""
    if value.dtype == lib.TENON_DTYPE_INVALID:  # the function has set its message
        check(lib.TENON_ERROR_INVALID_ARGUMENT)
    view = ffi.new("tenon_tensor *", value)
    check(lib.tenon_tensor_check(view))
    return view


class Memory:
    """Device memory, and the streams that have used it and that no other use has waited for."""

    _lock = threading.Lock()
    owner: Any = None  # the sequence that the memory belongs to

    def __init__(self, context: Context, handle: Any):
        self.context = context
        self.c = handle if handle is None else ffi.gc(handle, lib.tenon_memory_destroy)
        self._streams: frozenset = frozenset()

    def use(self, stream: Stream) -> None:
        """Orders a stream after all other streams that have used the memory."""
        if self._streams is stream.only:
            return
        with Memory._lock:
            others, self._streams = self._streams - stream.only, stream.only
        for other in others:
            stream.wait(other)

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

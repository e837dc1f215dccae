"""Devices, contexts and streams. Functions use the default ones unless others are given."""
import threading
from types import SimpleNamespace
from typing import Any, Dict, List, Optional, Tuple

from ._arguments import integer, string, unsigned
from ._loader import check, defaults, ffi, lib, sized, text
from ._params import unknown


def _device(info) -> SimpleNamespace:
    """Returns a tenon_device_info as an object with the same field names."""
    fields: Dict[str, Any] = {}
    for name, _ in ffi.typeof(info).fields:
        value = getattr(info, name)
        if isinstance(value, ffi.CData) and ffi.typeof(value).kind == "array":
            fields[name] = text(value)
        elif isinstance(value, int) and name not in ("reserved", "struct_size"):
            fields[name] = value
    return SimpleNamespace(**fields)


def device_list() -> List[SimpleNamespace]:
    """Lists every OpenCL device, and the platforms without one, whose `note` has the reason.

    Returns
    -------
    list of SimpleNamespace
        They have the fields of the C API's tenon_device_info: `selector`, `name`, `platform_name`,
        `note` and others. Empty if no driver is installed.

    Raises
    ------
    DeviceNotFound (LookupError)
        No OpenCL loader is installed.
    """
    count = ffi.new("uint32_t *")
    check(lib.tenon_device_list(ffi.NULL, 0, count))
    infos = ffi.new("tenon_device_info[]", count[0] + 1)  # one entry at least, to hold the size
    infos[0].struct_size = ffi.sizeof("tenon_device_info")
    check(lib.tenon_device_list(infos, len(infos) - 1, count))
    return [_device(info) for info in infos[0:min(count[0], len(infos) - 1)]]


def device_select(selector: Optional[str] = None) -> SimpleNamespace:
    """Finds the device that matches a selector.

    Parameters
    ----------
    selector : str, default None
        "gpu", "cpu", "1:0", or part of a name, followed by "/N:K" for part K of N equal parts of
        the device ("cpu/2:1"); None: TENON_DEVICE in the environment, otherwise the
        first GPU, accelerator or other device.

    Returns
    -------
    SimpleNamespace
        As in device_list.

    Raises
    ------
    DeviceNotFound (LookupError)
        No device matches; the message lists the available devices.
    """
    info = sized("tenon_device_info")
    check(lib.tenon_device_select(ffi.NULL if selector is None else string("selector", selector), info))
    return _device(info[0])


_POOL_DEFAULT = 2**64 - 1  # TENON_POOL_DEFAULT


class Context:
    """A device, its capabilities, and the programs and plans built for it. Usable from any thread.

    Parameters
    ----------
    device : str, default None
        A selector, as for device_select.
    workspace_limit : int, default None
        The largest workspace of a plan, in bytes; None: the library's default.
    measurements : int, default 0
        tenon.MEASUREMENTS_USUAL, MEASUREMENTS_NONE or MEASUREMENTS_MADE: how measurements choose solvers.
    unchecked : bool, default False
        True skips the self-check of each kernel against its reference.
    pool_limit : int, default None
        The most bytes of freed tensor memory that are kept for reuse; None: 1 GiB or an eighth of the
        device's memory, whichever is smaller.

    Raises
    ------
    DeviceNotFound (LookupError)
        No device matches; the message lists the available devices.
    """

    def __init__(self, device: Optional[str] = None, *, workspace_limit: Optional[int] = None,
                 measurements: int = 0, unchecked: bool = False,
                 pool_limit: Optional[int] = None):
        params = defaults("tenon_context_params")
        name = None if device is None else ffi.new("char[]", string("device", device))
        if name is not None:
            params.device = name
        if workspace_limit is not None:
            params.workspace_limit = unsigned("workspace_limit", workspace_limit)
        # All work on tensors is enqueued on the context's streams, so their memory can be pooled.
        params.pool_limit = _POOL_DEFAULT if pool_limit is None else unsigned("pool_limit", pool_limit)
        params.measurements = unsigned("measurements", measurements, 32)
        params.unchecked = integer("unchecked", unchecked, 0, 1)
        out = ffi.new("tenon_context **")
        check(lib.tenon_context_create(params, out))
        self._c = ffi.gc(out[0], lib.tenon_context_release)
        self._lock = threading.Lock()
        self._stream: Optional["Stream"] = None

    @property
    def stream(self) -> "Stream":
        """The stream used by calls without a stream."""
        with self._lock:
            if self._stream is None:
                self._stream = Stream(self)
            return self._stream

    @property
    def device(self) -> SimpleNamespace:
        """The context's device, as in device_select."""
        info = sized("tenon_device_info")
        check(lib.tenon_context_device(self._c, info))
        return _device(info[0])

    def capability(self, name: str) -> Tuple[bool, str]:
        """Returns whether the device has a capability ("f64", "f16", …), and the result of its probe."""
        values = ffi.typeof("tenon_capability").elements
        names = {text(lib.tenon_capability_string(v)): v for v in values
                 if lib.tenon_capability_string(v) != ffi.NULL}
        string("capability", name)
        if name not in names:
            raise unknown("capability", name, names)
        available, reason = ffi.new("uint32_t *"), ffi.new("char[]", 1024)
        check(lib.tenon_context_capability(self._c, names[name], available, reason, 1024))
        return bool(available[0]), text(reason)

    def statistics(self) -> SimpleNamespace:
        """Returns the context's statistics: counters, and times in seconds."""
        out = sized("tenon_statistics")
        check(lib.tenon_context_statistics(self._c, out))
        return SimpleNamespace(**{name: getattr(out, name) for name, _ in ffi.typeof(out[0]).fields
                                  if name not in ("struct_size", "reserved")})

    def trim(self, bytes: int = 0) -> None:
        """Frees memory kept for reuse, except for `bytes` bytes."""
        check(lib.tenon_context_trim(self._c, unsigned("bytes", bytes)))

    def keep(self) -> None:
        """Writes built programs that are not in the store yet to the store now. Otherwise this happens when
        the process is idle or ends. Waits for the context's streams.

        Raises
        ------
        Unsupported (NotImplementedError)
            On PoCL, if there is another context.
        """
        check(lib.tenon_context_keep(self._c))

    def prepare(self) -> "Preparation":
        """Returns a context manager: in `with context.prepare():`, plans requested by this thread are made in the
        background. Plan.wait, and the first run, wait for them.
        """
        return Preparation(self)

    def prepare_progress(self) -> Tuple[int, int]:
        """Returns the number of background plans that have been made, and the number requested."""
        made, asked = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        check(lib.tenon_prepare_progress(self._c, made, asked))
        return made[0], asked[0]

    def __repr__(self) -> str:
        return f"<tenon.Context on {self.device.name}>"


class Preparation:
    """The context manager returned by Context.prepare."""

    def __init__(self, context: Context):
        self._context = context

    def __enter__(self) -> None:
        check(lib.tenon_prepare_begin(self._context._c))

    def __exit__(self, *_) -> None:
        check(lib.tenon_prepare_end(self._context._c))


class Stream:
    """An in-order queue of a context. Threads may share it; their calls are serialized."""

    def __init__(self, context: Optional[Context] = None):
        self.context = context_of(context)
        out = ffi.new("tenon_stream **")
        check(lib.tenon_stream_create(self.context._c, ffi.NULL, out))
        self._c = ffi.gc(out[0], lib.tenon_stream_destroy)
        self.lock = threading.RLock()
        self.only = frozenset({self})  # the users of memory that only this stream has used
        self.constants: Dict[Any, Any] = {}  # tensors of one number, by type and number (_direct.py)

    def flush(self) -> None:
        """Submits the enqueued work to the device."""
        with self.lock:
            check(lib.tenon_stream_flush(self._c))

    def finish(self) -> None:
        """Waits until all enqueued work is done."""
        with self.lock:
            check(lib.tenon_stream_finish(self._c))

    def wait(self, other: "Stream") -> None:
        """Makes later work of this stream wait for the earlier work of another one of the same context. Does not
        wait itself. Calls do this for tensors that were last used on another stream.

        Raises
        ------
        InvalidArgument (ValueError)
            The other stream belongs to another context.
        """
        if not isinstance(other, Stream):
            raise TypeError(f"other: expected a tenon.Stream, got {type(other).__name__}")
        first, second = sorted((self, other), key=id)  # in one order, so that two threads cannot block each other
        with first.lock, second.lock:
            check(lib.tenon_stream_wait(self._c, other._c))

    def reserve_workspace(self, bytes: int) -> None:
        """Allocates workspace in advance: runs of plans that need at most `bytes` do not allocate."""
        with self.lock:
            check(lib.tenon_stream_reserve_workspace(self._c, unsigned("bytes", bytes)))


_lock = threading.Lock()
_default: Optional[Context] = None


def default_context() -> Context:
    """Returns the default context: on the device in TENON_DEVICE, otherwise on the default device.

    Returns
    -------
    Context
        The same object each time; the first call creates it.

    Raises
    ------
    DeviceNotFound (LookupError)
        The device does not exist, or no OpenCL loader is installed.
    """
    global _default
    with _lock:
        if _default is None:
            _default = Context()
        return _default


def context_of(context: Optional[Context]) -> Context:
    if context is None:
        return default_context()
    if not isinstance(context, Context):
        raise TypeError(f"context: expected a tenon.Context, got {type(context).__name__}")
    return context

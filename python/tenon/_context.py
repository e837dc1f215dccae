"""Devices, contexts and streams. A program that names none of them works on the default ones."""
import threading
from types import SimpleNamespace
from typing import Any, Dict, List, Optional, Tuple

from ._arguments import integer, string, unsigned
from ._loader import check, defaults, ffi, lib, sized, text
from ._params import unknown


def _device(info) -> SimpleNamespace:
    """A tenon_device_info as an object with the same names."""
    fields: Dict[str, Any] = {}
    for name, _ in ffi.typeof(info).fields:
        value = getattr(info, name)
        if isinstance(value, ffi.CData) and ffi.typeof(value).kind == "array":
            fields[name] = text(value)
        elif isinstance(value, int) and name not in ("reserved", "struct_size"):
            fields[name] = value
    return SimpleNamespace(**fields)


def device_list() -> List[SimpleNamespace]:
    """Every OpenCL device, and the platforms without one: their `note` says why.

    Returns
    -------
    list of SimpleNamespace
        With the fields of the C API's tenon_device_info: `selector`, `name`, `platform_name`, `note`
        and others. Empty where there is no driver.

    Raises
    ------
    DeviceNotFound (LookupError)
        There is no OpenCL.
    """
    count = ffi.new("uint32_t *")
    check(lib.tenon_device_list(ffi.NULL, 0, count))
    infos = ffi.new("tenon_device_info[]", count[0] + 1)  # one to hold the size, at least
    infos[0].struct_size = ffi.sizeof("tenon_device_info")
    check(lib.tenon_device_list(infos, len(infos) - 1, count))
    return [_device(info) for info in infos[0:min(count[0], len(infos) - 1)]]


def device_select(selector: Optional[str] = None) -> SimpleNamespace:
    """The device that a selector names.

    Parameters
    ----------
    selector : str, default None
        "gpu", "cpu", "1:0", a part of a name; None: TENON_DEVICE in the environment, or else the best
        there is.

    Returns
    -------
    SimpleNamespace
        As device_list gives it.

    Raises
    ------
    DeviceNotFound (LookupError)
        No device matches; the message lists those there are.
    """
    info = sized("tenon_device_info")
    check(lib.tenon_device_select(ffi.NULL if selector is None else string("selector", selector), info))
    return _device(info[0])


_POOL_DEFAULT = 2**64 - 1  # TENON_POOL_DEFAULT


class Context:
    """One device, what is known of it, and the programs and plans made for it. From any thread.

    Parameters
    ----------
    device : str, default None
        As device_select takes it.
    workspace_limit : int, default None
        The most bytes of workspace that a plan may need; None: the library's default.
    measurements : int, default 0
        tenon.MEASUREMENTS_USUAL, MEASUREMENTS_NONE or MEASUREMENTS_MADE: which solvers are measured.
    unchecked : bool, default False
        Leaves out the check of each kernel against its reference.
    pool_limit : int, default None
        Up to so many bytes of memory that tensors have left are kept for others; None: 1 GiB, or an
        eighth of the device's memory.

    Raises
    ------
    DeviceNotFound (LookupError)
        No device matches; the message lists those there are.
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
        # All work on tensors is enqueued in the context's streams.
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
        """The stream of calls that name none."""
        with self._lock:
            if self._stream is None:
                self._stream = Stream(self)
            return self._stream

    @property
    def device(self) -> SimpleNamespace:
        """Its device, as device_select gives it."""
        info = sized("tenon_device_info")
        check(lib.tenon_context_device(self._c, info))
        return _device(info[0])

    def capability(self, name: str) -> Tuple[bool, str]:
        """Whether the device has a capability ("f64", "f16", …), and what the trial of it found."""
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
        """What the context has done so far: counts, and seconds that went into them."""
        out = sized("tenon_statistics")
        check(lib.tenon_context_statistics(self._c, out))
        return SimpleNamespace(**{name: getattr(out, name) for name, _ in ffi.typeof(out[0]).fields
                                  if name not in ("struct_size", "reserved")})

    def trim(self, bytes: int = 0) -> None:
        """Gives memory that is kept for other tensors back, but for so many bytes."""
        check(lib.tenon_context_trim(self._c, unsigned("bytes", bytes)))

    def keep(self) -> None:
        """Writes to the store what has been built and is not there yet, now; it is done by itself when
        the process is idle, or ends. Waits for the context's streams.

        Raises
        ------
        Unsupported (NotImplementedError)
            On PoCL, while there is another context.
        """
        check(lib.tenon_context_keep(self._c))

    def prepare(self) -> "Preparation":
        """`with context.prepare():` plans that this thread asks for are made in the background;
        Plan.wait, and the first run, wait for them."""
        return Preparation(self)

    def prepare_progress(self) -> Tuple[int, int]:
        """How many plans in the background have been made, and how many were asked for."""
        made, asked = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        check(lib.tenon_prepare_progress(self._c, made, asked))
        return made[0], asked[0]

    def __repr__(self) -> str:
        return f"<tenon.Context on {self.device.name}>"


class Preparation:
    """What Context.prepare gives."""

    def __init__(self, context: Context):
        self._context = context

    def __enter__(self) -> None:
        check(lib.tenon_prepare_begin(self._context._c))

    def __exit__(self, *_) -> None:
        check(lib.tenon_prepare_end(self._context._c))


class Stream:
    """An in-order queue of a context. Calls of several threads take their turns on it."""

    def __init__(self, context: Optional[Context] = None):
        self.context = context_of(context)
        out = ffi.new("tenon_stream **")
        check(lib.tenon_stream_create(self.context._c, ffi.NULL, out))
        self._c = ffi.gc(out[0], lib.tenon_stream_destroy)
        self.lock = threading.RLock()

    def flush(self) -> None:
        """Sends what is enqueued to the device."""
        with self.lock:
            check(lib.tenon_stream_flush(self._c))

    def finish(self) -> None:
        """Waits until all that is enqueued is done."""
        with self.lock:
            check(lib.tenon_stream_finish(self._c))

    def reserve_workspace(self, bytes: int) -> None:
        """Allocates workspace in advance, so that no run of a plan that needs less allocates."""
        with self.lock:
            check(lib.tenon_stream_reserve_workspace(self._c, unsigned("bytes", bytes)))


_lock = threading.Lock()
_default: Optional[Context] = None


def default_context() -> Context:
    """The context of calls that name none: on the device of TENON_DEVICE, or the best there is.

    Returns
    -------
    Context
        The same one each time; the first call makes it.

    Raises
    ------
    DeviceNotFound (LookupError)
        There is no such device, or no OpenCL.
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
        raise TypeError(f"context: a tenon.Context is needed, this is a {type(context).__name__}")
    return context

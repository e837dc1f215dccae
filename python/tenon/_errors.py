"""The exceptions, and the status that raises each."""


class Error(Exception):
    """Another failure, for example of a driver that cannot compile a kernel: the message has the reason."""

    status = 0  # the tenon_status


class InvalidArgument(Error, ValueError):
    """An argument is invalid on every device."""


class Unsupported(Error, NotImplementedError):
    """This combination of types, layouts or a forced solver is not implemented, or not on this device."""


class DeviceNotFound(Error, LookupError):
    """No device matches the selector (the message lists the available devices), or there is no OpenCL loader."""


class OutOfMemory(Error, MemoryError):
    """Host or device memory is exhausted, or a buffer exceeds the device's largest allocation."""


class PeerLost(Error, ConnectionError):
    """Another process of a group has ended, or the connection to it."""


class Timeout(Error, TimeoutError):
    """A collective of a group did not end within its deadline."""


class Mismatch(Error, ValueError):
    """The processes of a group made different calls: of another function, type, size, root or kind."""


EXCEPTIONS = {
    "TENON_ERROR_INVALID_ARGUMENT": InvalidArgument,
    "TENON_ERROR_UNSUPPORTED": Unsupported,
    "TENON_ERROR_UNSUPPORTED_DEVICE": Unsupported,
    "TENON_ERROR_DEVICE_NOT_FOUND": DeviceNotFound,
    "TENON_ERROR_NO_OPENCL": DeviceNotFound,
    "TENON_ERROR_OUT_OF_MEMORY": OutOfMemory,
    "TENON_ERROR_PEER_LOST": PeerLost,
    "TENON_ERROR_TIMEOUT": Timeout,
    "TENON_ERROR_MISMATCH": Mismatch,
}

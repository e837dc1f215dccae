"""The exceptions, and which status raises which."""


class Error(Exception):
    """What fails otherwise, as where a driver refuses a kernel: the message has the reason."""

    status = 0  # the tenon_status


class InvalidArgument(Error, ValueError):
    """An argument is wrong whatever the device."""


class Unsupported(Error, NotImplementedError):
    """This combination of types, layouts or a forced solver is not implemented, or not here."""


class DeviceNotFound(Error, LookupError):
    """No device matches the selector, and the message lists those there are; or no OpenCL."""


class OutOfMemory(Error, MemoryError):
    """Host or device memory is exhausted, or a buffer would be larger than the device allows."""


EXCEPTIONS = {
    "TENON_ERROR_INVALID_ARGUMENT": InvalidArgument,
    "TENON_ERROR_UNSUPPORTED": Unsupported,
    "TENON_ERROR_UNSUPPORTED_DEVICE": Unsupported,
    "TENON_ERROR_DEVICE_NOT_FOUND": DeviceNotFound,
    "TENON_ERROR_NO_OPENCL": DeviceNotFound,
    "TENON_ERROR_OUT_OF_MEMORY": OutOfMemory,
}

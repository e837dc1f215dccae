"""Stands for dpnp: what scripts/gpu/onemkl_peer.py calls of it, on shapes alone."""
from types import SimpleNamespace

__version__ = "0"
float64, float32 = "float64", "float32"


class Array:
    """A shape and a type, on a GPU."""

    def __init__(self, shape, dtype, device):
        assert device.name == "a GPU"
        self.shape, self.dtype, self.device = tuple(shape), dtype, device
        self.sycl_queue = SimpleNamespace(wait=lambda: None)

    def astype(self, dtype):
        return Array(self.shape, dtype, self.device)


def uniform(low, high, size, device):
    assert (low, high) == (-1, 1)
    return Array(size, float64, device)


random = SimpleNamespace(uniform=uniform)


def empty(shape, dtype, device):
    return Array(shape, dtype, device)


def swapaxes(array, first, second):
    assert {first, second} == {-1, -2}
    return Array((*array.shape[:-2], array.shape[-1], array.shape[-2]), array.dtype, array.device)


def matmul(a, b, out):
    assert a.shape[:-2] == b.shape[:-2] == out.shape[:-2] and a.dtype == b.dtype == out.dtype
    assert (*a.shape[-2:], b.shape[-1]) == (out.shape[-2], b.shape[-2], out.shape[-1]), (a.shape, b.shape, out.shape)

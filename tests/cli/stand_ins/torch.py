"""Stands for PyTorch: what scripts/gpu/torch_peer.py calls of it, on shapes alone. The variable FAKE_TORCH says for
which cards it is built (cuda, hip or xpu), FAKE_TORCH_BLAS which library of products it prefers."""
import os
import time
from types import SimpleNamespace

BUILT = os.environ["FAKE_TORCH"]
DEVICE = "xpu" if BUILT == "xpu" else "cuda"
__version__ = "0"
float64, float32, float16, bfloat16 = "float64", "float32", "float16", "bfloat16"
contiguous_format, channels_last = "contiguous", "last"
version = SimpleNamespace(hip="0" if BUILT == "hip" else None)


class Tensor:
    """A shape and a type, on the device."""

    def __init__(self, shape, device, dtype):
        assert device == DEVICE, device
        self.shape, self.dtype = tuple(shape), dtype

    def mul_(self, _):
        return self

    sub_ = mul_

    def to(self, dtype):
        return Tensor(self.shape, DEVICE, dtype)

    def contiguous(self, memory_format):
        assert memory_format in (contiguous_format, channels_last)
        return self

    def transpose(self, first, second):
        shape = list(self.shape)
        shape[first], shape[second] = shape[second], shape[first]
        return Tensor(shape, DEVICE, self.dtype)

    def __getitem__(self, _):
        return Tensor(self.shape[1:], DEVICE, self.dtype)


def rand(shape, device, dtype):
    return Tensor(shape, device, dtype)


empty = rand


def bmm(a, b, out):
    assert a.shape[:-2] == b.shape[:-2] == out.shape[:-2] and a.dtype == b.dtype == out.dtype
    assert (*a.shape[-2:], b.shape[-1]) == (out.shape[-2], b.shape[-2], out.shape[-1]), (a.shape, b.shape, out.shape)
    assert not backends.cuda.matmul.allow_tf32


def mm(a, b, out):
    assert len(out.shape) == 2
    bmm(a, b, out)


def conv2d(x, w, stride, padding):
    assert x.shape[1] == w.shape[1] and x.dtype == w.dtype and stride > 0 and padding >= 0
    assert not backends.cudnn.allow_tf32


def set_grad_enabled(enabled):
    assert not enabled


class Event:
    """The host's clock."""

    def __init__(self, enable_timing):
        assert enable_timing
        self.at = None

    def record(self):
        self.at = time.perf_counter()

    def elapsed_time(self, last):
        return 1e3 * (last.at - self.at)


def module(there):
    """torch.cuda, or torch.xpu."""
    return SimpleNamespace(is_available=lambda: there, Event=Event, synchronize=lambda: None,
                           get_device_name=lambda number: "card of " + BUILT)


nn = SimpleNamespace(functional=SimpleNamespace(conv2d=conv2d))
backends = SimpleNamespace(
    cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=True),
                         preferred_blas_library=lambda: "_BlasBackend." + os.environ.get("FAKE_TORCH_BLAS", "Default")),
    cudnn=SimpleNamespace(allow_tf32=True, benchmark=False))
cuda, xpu = module(BUILT != "xpu"), module(BUILT == "xpu")

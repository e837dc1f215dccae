#!/usr/bin/env python3
"""The shapes of the GPU suites by PyTorch, which calls the vendor's libraries: cuBLAS and cuDNN, rocBLAS (or
hipBLASLt) and MIOpen, oneDNN. f32 without TF32, f16, bf16. Times are the devices' own events', medians.

    torch_peer.py CASES.json OUT.json [nvidia|amd|intel]    CASES: [{"suite", "case", "dtypes": […]}, …]

The vendor is that of the card under test; without it the first card is taken, or the CPU.
"""
import sys

import torch

import peer_loop
import shapes

TYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def accelerator(vendor=None):
    """The module that has events, and the device's name for tensors. PyTorch built for ROCm calls AMD's cards
    "cuda"."""
    if torch.cuda.is_available() and vendor in (None, "amd" if torch.version.hip else "nvidia"):
        return torch.cuda, "cuda"
    if hasattr(torch, "xpu") and torch.xpu.is_available() and vendor in (None, "intel"):
        return torch.xpu, "xpu"
    return None, "cpu"


def libraries(device):
    """Who does the work: of the products, of the convolutions. Intel's oneMKL gets only complex products from
    PyTorch: onemkl_peer.py asks it for real ones."""
    if device == "xpu":
        return {"gemm": "oneDNN", "conv": "oneDNN"}
    if device == "cpu":
        return {"gemm": "CPU", "conv": "CPU"}
    preferred = getattr(torch.backends.cuda, "preferred_blas_library", None)
    light = preferred is not None and str(preferred()).lower().endswith("cublaslt")
    if torch.version.hip:
        return {"gemm": "hipBLASLt" if light else "rocBLAS", "conv": "MIOpen"}
    return {"gemm": "cuBLASLt" if light else "cuBLAS", "conv": "cuDNN"}


def random(shape, dtype, device):
    """Values in [-1, 1]."""
    return torch.rand(shape, device=device, dtype=torch.float32).mul_(2).sub_(1).to(dtype)


def gemm(product, dtype, device):
    """A product as the bench has it: the one way to call it, and its operations."""
    z, m, n, k, a_turned, b_turned = product

    def matrix(rows, cols, turned):
        stored = random((z, cols, rows) if turned else (z, rows, cols), dtype, device)
        return stored.transpose(1, 2) if turned else stored

    a, b = matrix(m, k, a_turned), matrix(k, n, b_turned)
    out = torch.empty((z, m, n), device=device, dtype=dtype)
    call = (lambda: torch.mm(a[0], b[0], out=out[0])) if z == 1 else (lambda: torch.bmm(a, b, out=out))
    return {"": call}, 2.0 * z * m * n * k


def conv(convolution, dtype, device):
    """A convolution as the bench has it, and with channels last, which some kernels of the vendors' want."""
    n, c, h, k, r, stride, pad = convolution
    calls = {}
    for layout, form in (("NCHW", torch.contiguous_format), ("NHWC", torch.channels_last)):
        x = random((n, c, h, h), dtype, device).contiguous(memory_format=form)
        w = random((k, c, r, r), dtype, device).contiguous(memory_format=form)
        calls[layout] = lambda x=x, w=w: torch.nn.functional.conv2d(x, w, stride=stride, padding=pad)
    p = (h + 2 * pad - r) // stride + 1
    return calls, 2.0 * n * k * p * p * c * r * r


def calls_of(case, dtype, device):
    """The calls and their operations; None for a case that PyTorch is not asked for."""
    if case["suite"].startswith("gemm") and shapes.product(case["case"]):
        return gemm(shapes.product(case["case"]), dtype, device)
    if case["suite"].startswith("conv") and shapes.convolution(case["case"]):
        return conv(shapes.convolution(case["case"]), dtype, device)
    return None


def timed(call, module):
    """took() by the device's events; without a device by the clock."""
    if module is None:
        return peer_loop.waiting(call, lambda: None)

    def took(count):
        first, last = module.Event(enable_timing=True), module.Event(enable_timing=True)
        first.record()
        for _ in range(count):
            call()
        last.record()
        module.synchronize()
        return first.elapsed_time(last) / 1e3
    return took


def main(cases, path, vendor=None):
    """Measures all cases."""
    module, device = accelerator(vendor)
    if vendor and module is None:
        return peer_loop.left_out(path, f"this PyTorch ({torch.__version__}) has no card of {vendor}'s")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch.set_grad_enabled(False)
    by = libraries(device)

    def work_of(case, dtype):
        calls = calls_of(case, TYPES[dtype], device) if dtype in TYPES else None
        if calls is None:
            return None
        ways, operations = calls
        return by[case["suite"].split("-")[0]], {layout: timed(call, module) for layout, call in ways.items()}, operations

    header = {"torch": torch.__version__, "device": module.get_device_name(0) if module else "cpu", "libraries": by}
    return peer_loop.measure(peer_loop.read_cases(cases), path, header, work_of)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

#!/usr/bin/env python3
"""The shapes of the GPU suites by PyTorch, which calls the vendor's libraries (cuBLAS and cuDNN, rocBLAS
and MIOpen, oneDNN): f32 without TF32, f16, bf16. Times are the devices' own events', medians.

    torch_peer.py CASES.json OUT.json    CASES: [{"suite", "case", "dtypes": […]}, …]
"""
import json
import statistics
import sys
import time

import torch

import shapes

TYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
SECONDS = 0.15


def accelerator():
    """The module that has events, and the device's name for tensors."""
    if torch.cuda.is_available():
        return torch.cuda, "cuda"
    if hasattr(torch, "xpu") and torch.xpu.is_available():
        return torch.xpu, "xpu"
    return None, "cpu"


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


def work_of(case, dtype, device):
    """The calls and their operations; None for a case that PyTorch is not asked for."""
    if case["suite"].startswith("gemm") and shapes.product(case["case"]):
        return gemm(shapes.product(case["case"]), dtype, device)
    if case["suite"].startswith("conv") and shapes.convolution(case["case"]):
        return conv(shapes.convolution(case["case"]), dtype, device)
    return None


def median_ns(call, module):
    """Calls back to back between two events, several times."""
    for _ in range(3):
        call()
    if module is None:
        start = time.perf_counter()
        call()
        return 1e9 * (time.perf_counter() - start)
    module.synchronize()
    count, values, end = 1, [], time.monotonic() + SECONDS
    while len(values) < 5 or time.monotonic() < end:
        first, last = module.Event(enable_timing=True), module.Event(enable_timing=True)
        first.record()
        for _ in range(count):
            call()
        last.record()
        module.synchronize()
        took = first.elapsed_time(last)  # milliseconds
        if took < 5 and count < 4096 and not values:
            count *= 2
            continue
        values.append(1e6 * took / count)
    return statistics.median(values)


def main():
    """Measures all cases; the file is written after each."""
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    module, device = accelerator()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch.set_grad_enabled(False)
    name = module.get_device_name(0) if module else "cpu"
    results = {"torch": torch.__version__, "device": name, "results": []}
    for case in cases:
        for dtype in case["dtypes"]:
            if dtype not in TYPES:
                continue
            try:
                work = work_of(case, TYPES[dtype], device)
                if work is None:
                    continue
                times = {layout: median_ns(call, module) for layout, call in work[0].items()}
                layout = min(times, key=times.get)
                time_of_call = times[layout]
            except RuntimeError as error:
                print(f"{case['case']} {dtype}: {str(error).splitlines()[0]}", file=sys.stderr)
                continue
            results["results"].append({"suite": case["suite"], "case": case["case"], "dtype": dtype,
                                       "median_ns": time_of_call, "gflops": work[1] / time_of_call, "layout": layout})
            print(f"{case['case']:36} {dtype:5} {time_of_call / 1e3:10.1f} us {work[1] / time_of_call:10.1f} GF", flush=True)
            with open(sys.argv[2], "w", encoding="utf-8") as file:
                json.dump(results, file, indent=1)
    return 0 if results["results"] else 1


if __name__ == "__main__":
    sys.exit(main())

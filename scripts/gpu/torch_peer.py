#!/usr/bin/env python3
"""The shapes of the GPU suites by PyTorch, which calls the vendor's libraries (cuBLAS and cuDNN, rocBLAS
and MIOpen, oneDNN): f32 without TF32, f16, bf16. Times are the devices' own events', medians.

    torch_peer.py CASES.json OUT.json    CASES: [{"suite", "case", "dtypes": […]}, …]
"""
import json
import re
import statistics
import sys
import time

import torch

TYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
GEMM = re.compile(r"^(?P<what>.*?) (?:(?P<z>\d+)x )?(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)(?: (?P<t>[ab']+))?$")
CONV = re.compile(r"^\S+ (?P<c>\d+)@(?P<h>\d+) k(?P<k>\d+) (?P<r>\d+)x\d+(?:/(?P<s>\d+))? n(?P<n>\d+)$")
PADDING = {7: 3, 3: 1, 1: 0}
SECONDS = 0.15


def accelerator():
    """The module that has events, and the device's name for tensors."""
    if torch.cuda.is_available():
        return torch.cuda, "cuda"
    if hasattr(torch, "xpu") and torch.xpu.is_available():
        return torch.xpu, "xpu"
    return None, "cpu"


def gemm(match, dtype, device):
    """A product as the bench has it; its operations."""
    z, m, n, k = (int(match[x] or 1) for x in "zmnk")
    turned = match["t"] or ""

    def matrix(rows, cols, flipped):
        shape = (z, cols, rows) if flipped else (z, rows, cols)
        stored = torch.rand(shape, device=device, dtype=torch.float32).mul_(2).sub_(1).to(dtype)
        return stored.transpose(1, 2) if flipped else stored

    a, b = matrix(m, k, "a" in turned), matrix(k, n, "b" in turned)
    out = torch.empty((z, m, n), device=device, dtype=dtype)
    if z == 1:
        return lambda: torch.mm(a[0], b[0], out=out[0]), 2.0 * m * n * k
    return lambda: torch.bmm(a, b, out=out), 2.0 * z * m * n * k


def conv(match, dtype, device):
    """A convolution as the bench has it, N C H W; its operations."""
    n, c, h, k, r = (int(match[x]) for x in "nchkr")
    stride, pad = int(match["s"] or 1), PADDING[r]
    x = torch.rand((n, c, h, h), device=device).mul_(2).sub_(1).to(dtype)
    w = torch.rand((k, c, r, r), device=device).mul_(2).sub_(1).to(dtype)
    p = (h + 2 * pad - r) // stride + 1
    return lambda: torch.nn.functional.conv2d(x, w, stride=stride, padding=pad), 2.0 * n * k * p * p * c * r * r


def work_of(case, dtype, device):
    """The call and its operations; None for a case that PyTorch is not asked for."""
    match = GEMM.match(case["case"])
    if case["suite"].startswith("gemm") and match:
        return gemm(match, dtype, device)
    match = CONV.match(case["case"])
    if case["suite"].startswith("conv") and match:
        return conv(match, dtype, device)
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
                time_of_call = median_ns(work[0], module)
            except RuntimeError as error:
                print(f"{case['case']} {dtype}: {str(error).splitlines()[0]}", file=sys.stderr)
                continue
            results["results"].append({"suite": case["suite"], "case": case["case"], "dtype": dtype,
                                       "median_ns": time_of_call, "gflops": work[1] / time_of_call})
            print(f"{case['case']:36} {dtype:5} {time_of_call / 1e3:10.1f} us {work[1] / time_of_call:10.1f} GF", flush=True)
            with open(sys.argv[2], "w", encoding="utf-8") as file:
                json.dump(results, file, indent=1)
    return 0 if results["results"] else 1


if __name__ == "__main__":
    sys.exit(main())

"""python -m tenon.bench: compares matrix products and convolutions with NumPy, and PyTorch if installed.

Prints the f32 GFLOP/s of the fastest of several calls. Tenon runs on the default device, with operands already on
the device; NumPy and PyTorch run on the CPU. For publishable figures use ./run bench.
"""
import argparse
import os
import time
from typing import Any, Callable, List

import numpy as np

import tenon

try:
    import torch
except ImportError:
    torch = None

PRODUCTS = [(512, 512, 512), (1024, 1024, 1024), (32, 4096, 1024)]
CONVOLUTIONS = [(1, 64, 56, 64, 3), (8, 128, 28, 128, 3), (8, 256, 14, 512, 1)]


def fastest(call: Callable[[], Any], seconds: float) -> float:
    """Returns the shortest time of a call, after an untimed one."""
    call()
    times: List[float] = []
    while not times or sum(times) < seconds:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def on_device(function: Callable[..., Any], *arrays: np.ndarray, **parameters: Any) -> Any:
    """Returns a function that runs a plan and waits for its end."""
    stream = tenon.default_context().stream
    tensors = [tenon.tensor(a) for a in arrays]
    plan = function(*tensors, **parameters)
    output = plan.run(*tensors)
    name = list(plan.operands)[-1]

    def call() -> None:
        plan.run(*tensors, **{name: output})
        stream.finish()
    return call


def columns(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Computes NumPy's convolution: windows as columns, and a matrix product."""
    pad = w.shape[2] // 2
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, tuple(w.shape[2:]), axis=(2, 3))  # type: ignore[call-overload]
    return np.tensordot(windows, w, axes=((1, 4, 5), (1, 2, 3)))


def row(what: str, flops: float, calls: List[Any], seconds: float) -> None:
    cells = ["" if c is None else f"{flops / fastest(c, seconds) / 1e9:.1f}" for c in calls]
    print(f"{what:24}" + "".join(f"{cell:>10}" for cell in cells), flush=True)


def product(m: int, n: int, k: int, seconds: float) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape, dtype="f4") for shape in ((m, k), (k, n)))
    calls = [on_device(tenon.gemm_plan, a, b), lambda: a @ b]
    if torch:
        ta, tb = torch.from_numpy(a), torch.from_numpy(b)
        calls.append(lambda: ta @ tb)
    row(f"gemm {m}x{n}x{k}", 2 * m * n * k, calls, seconds)


def convolution(n: int, c: int, size: int, k: int, r: int, seconds: float) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, c, size, size), dtype="f4")
    w = rng.standard_normal((k, c, r, r), dtype="f4")
    pad = r // 2
    calls = [on_device(tenon.conv_forward_plan, x, w, pad_begin=pad, pad_end=pad),
             lambda: columns(x, w)]
    if torch:
        tx, tw = torch.from_numpy(x), torch.from_numpy(w)
        calls.append(lambda: torch.nn.functional.conv2d(tx, tw, padding=pad))
    row(f"conv {n}x{c}x{size}x{size} {k}x{r}x{r}", 2 * n * size**2 * k * c * r**2, calls, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tenon.bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.5, help="measuring time for each figure")
    args = parser.parse_args()
    os.environ.setdefault("POCL_AFFINITY", "1")  # otherwise PoCL's threads may share a core
    print(f"{tenon.default_context().device.name}; f32, GFLOP/s")
    print(f"{'':24}{'tenon':>10}{'numpy':>10}" + (f"{'torch':>10}" if torch else ""))
    for m, n, k in PRODUCTS:
        product(m, n, k, args.seconds)
    for images, channels, size, filters, taps in CONVOLUTIONS:
        convolution(images, channels, size, filters, taps, args.seconds)


if __name__ == "__main__":
    main()

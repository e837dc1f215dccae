#!/usr/bin/env python3
"""The products of the GPU suites by oneMKL on Intel's cards, in f64 and f32. Its C interface does not reach a
card but by a compiler with OpenMP's offloading, so it is reached through dpnp, whose matmul calls it. Times are
of calls back to back with one wait, medians.

    onemkl_peer.py CASES.json OUT.json    CASES: [{"suite", "case", "dtypes": […]}, …]
"""
import sys

import dpctl
import dpnp

import peer_loop
import shapes

TYPES = {"f64": dpnp.float64, "f32": dpnp.float32}


def card():
    """The first of Intel's GPUs, or None."""
    found = [d for d in dpctl.get_devices(device_type="gpu") if "Intel" in d.vendor]
    return found[0] if found else None


def gemm(product, dtype, device):
    """A product as the bench has it: what times it, and its operations."""
    z, m, n, k, a_turned, b_turned = product

    def matrix(rows, cols, turned):
        shape = (cols, rows) if turned else (rows, cols)
        stored = dpnp.random.uniform(-1, 1, size=shape if z == 1 else (z, *shape), device=device).astype(dtype)
        return dpnp.swapaxes(stored, -1, -2) if turned else stored

    a, b = matrix(m, k, a_turned), matrix(k, n, b_turned)
    out = dpnp.empty((m, n) if z == 1 else (z, m, n), dtype=dtype, device=device)
    return peer_loop.waiting(lambda: dpnp.matmul(a, b, out=out), out.sycl_queue.wait), 2.0 * z * m * n * k


def main(cases, path):
    """Measures all products."""
    device = card()
    if device is None:
        return peer_loop.left_out(path, f"dpnp {dpnp.__version__} finds no GPU of Intel's")

    def work_of(case, dtype):
        product = shapes.product(case["case"]) if case["suite"].startswith("gemm") else None
        if product is None or dtype not in TYPES:
            return None
        took, operations = gemm(product, TYPES[dtype], device)
        return None, {"": took}, operations

    return peer_loop.measure(peer_loop.read_cases(cases), path, {"dpnp": dpnp.__version__, "device": device.name}, work_of)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

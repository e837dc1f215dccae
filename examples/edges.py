#!/usr/bin/env python3
"""Edge detection in Python: filters a disc on the device with the two Sobel operators, as one
convolution with two filters, and prints it before and after. NumPy verifies the result. edges.cpp
is the same program in C++.

    pip install ./python && python examples/edges.py
"""
import numpy as np
import tenon

HEIGHT, WIDTH = 20, 44
SOBEL = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], "f4")
FILTERS = np.stack([SOBEL, SOBEL.T])[:, np.newaxis]  # 2 1 3 3: along x and along y


def disc():
    down, right = np.ogrid[1 - HEIGHT:HEIGHT:2, -(WIDTH // 2):WIDTH - WIDTH // 2]
    return (down**2 + right**2 < 225).astype("f4")


def edges_on_device(pixels):
    x = tenon.tensor(pixels[np.newaxis, np.newaxis])
    # A plan selects and compiles a kernel once; run it for any number of pictures.
    plan = tenon.conv_forward_plan(x, FILTERS, pad_begin=1, pad_end=1, activation="abs")
    y = plan.run(x, FILTERS)
    return (y[0, 0] + y[0, 1]).numpy()


def edges_on_host(pixels):
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(pixels, 1), (3, 3))
    return sum(abs((windows * f).sum((2, 3))) for f in FILTERS[:, 0])


def draw(pixels):
    for row in pixels:
        print("".join("#" if p > 0 else "." for p in row))
    print()


def main():
    pixels = disc()
    edges = edges_on_device(pixels)
    draw(pixels)
    draw(edges)
    if not np.array_equal(edges, edges_on_host(pixels)):  # small integers: must match bit for bit
        raise SystemExit("edges: the results of device and host differ")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Measures why large training steps differ: by rounded sums, or by units for which rounding decides whether ReLU or
pooling passes their gradient.

    decisions.py [IMAGES]

Takes a step of AlexNet in NumPy in single precision, and two in double precision from the same values: one that decides
for itself, and one with the decisions of the first. Prints the units that differ, and the largest differences of the
results, as parts of the largest element."""
import sys
import types
from pathlib import Path

import numpy

SIDE, FILTERS, SIZES, GROUPS, OUTPUTS = 227, (96, 256, 384, 384, 256), (11, 5, 3, 3, 3), (1, 2, 1, 2, 2), (4096, 4096, 1000)


def historic(dtype, decide):
    """Returns the module historic.py with another type, in which `decide` is called with each decision."""
    text = Path(__file__).with_name("historic.py").read_text(encoding="utf-8").replace("float32", dtype)
    for before, after in (("* (self.y > 0)", "* decide(self, self.y > 0)"),
                          ("here = (tap == layer.pooled) & left", "here = decide(layer, (tap == layer.pooled) & left)")):
        if before not in text:
            raise SystemExit(f"historic.py has no longer \"{before}\"")
        text = text.replace(before, after)
    module = types.ModuleType(dtype)
    module.decide = decide
    exec(text, module.__dict__)
    return module


def initial_values(module, images):
    """Returns the images, the parameters of the layers and the labels."""
    values = []

    def add(shape, limit, integer=False, channels_last=False):
        values.append(module.initial({"seed": len(values) + 1, "shape": shape, "low": 0 if integer else -limit, "high": limit,
                                      "integer": integer, "channels_last": channels_last}))

    add((images, 3, SIDE, SIDE), 10, channels_last=True)
    channels, side = 3, SIDE
    for filters, size, groups, (stride, padding, _, pools) in zip(FILTERS, SIZES, GROUPS, module.CONVOLUTIONS):
        inputs = channels // groups * size * size
        add((filters, channels // groups, size, size), (6 / inputs)**0.5)
        add((filters,), 0.1)
        side = (side + 2 * padding - size) // stride + 1
        side = (side - 3) // 2 + 1 if pools else side
        channels = filters
    inputs = channels * side * side
    for outputs in OUTPUTS:
        add((inputs, outputs), (6 / inputs)**0.5)
        add((outputs,), 0.1)
        inputs = outputs
    add((images,), OUTPUTS[-1] - 1, integer=True)
    return values


class Decisions:
    """The decisions of the first step, in their order, with which the later ones are compared."""

    def __init__(self):
        self.made, self.next, self.differing, self.replay = [], None, 0, False

    def start(self, replay):
        self.next, self.differing, self.replay = 0, 0, replay

    def __call__(self, _layer, decision):
        if self.next is None:
            self.made.append(decision)
            return decision
        first = self.made[self.next]
        self.next += 1
        self.differing += int((first != decision).sum())
        return first if self.replay else decision


def step(module, values):
    draws = module.Draws()
    draws.exact = True
    model = module.Alexnet([value.copy() for value in values], draws)
    model.step()
    return model.results()


def main():
    images = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    decisions = Decisions()
    single, double = historic("float32", decisions), historic("float64", decisions)
    values = initial_values(single, images)
    results = step(single, values)
    exact = [value.astype(numpy.float64) if value.dtype == numpy.float32 else value for value in values]
    for replay, what in ((False, "with its own decisions"), (True, "with those of the step in single precision")):
        decisions.start(replay)
        others = step(double, exact)
        worst = max(float(abs(a - b).max() / abs(b).max()) for a, b in zip(results, others))
        print(f"{images} images, double precision {what}: {decisions.differing} decisions differ, results by up to {worst:.2g}",
              flush=True)


if __name__ == "__main__":
    main()

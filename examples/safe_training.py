#!/usr/bin/env python3
"""Trains a classifier of handwritten digits in f16 with a dynamic loss scale, without waiting for the device.

Small gradients would underflow in f16, so the gradient of the loss is multiplied by a scale. If the scale is too large,
gradients overflow: then the step is skipped and the scale halved, all on the device (P. Micikevicius et al., "Mixed
Precision Training", 2018). The scale begins so large that the first steps overflow. The program prints the number of
skipped steps, the final scale, and the share of held-out digits that are recognized.

    pip install ./python && python examples/safe_training.py
"""
from pathlib import Path

import numpy as np
import tenon

DIGITS = Path(__file__).with_name("data") / "digits.csv"
BATCH, STEPS, HIDDEN, CLASSES, HELD_OUT = 64, 200, 128, 10, 597


class Parameter:
    """A parameter in f16, a copy in f32 that is updated, and the state of Adam."""

    def __init__(self, values):
        self.master = tenon.tensor(values.astype("f4"))
        self.value = tenon.tensor(values.astype("f2"))
        self.first, self.second = tenon.zeros(values.shape), tenon.zeros(values.shape)


class Network:
    def __init__(self, inputs):
        random = np.random.default_rng(1)
        draw = lambda rows, columns: Parameter(random.normal(0, (2 / rows)**0.5, (rows, columns)))
        self.parameters = [draw(inputs, HIDDEN), Parameter(np.zeros(HIDDEN)), draw(HIDDEN, CLASSES),
                           Parameter(np.zeros(CLASSES))]
        self.skip = tenon.zeros((1,), dtype="i32")
        # Scale, inverse scale, steps since the scale changed, skipped steps.
        self.state = tenon.tensor(np.array([2.0**24, 2.0**-24, 0, 0], "f4"))

    def forward(self, x):
        w1, b1, w2, b2 = (p.value for p in self.parameters)
        h = tenon.gemm(x, w1, bias=b1, activation="relu")
        return h, tenon.gemm(h, w2, bias=b2)

    def gradients(self, x, labels):
        """Returns the gradients of scale · loss, in f16."""
        h, logits = self.forward(x)
        wide = tenon.copy(logits, y=tenon.empty(logits.shape))  # the loss is computed in f32
        scales = self.state[:1].broadcast((len(labels),))
        d = tenon.cross_entropy_backward(wide, labels, dloss=scales, scale=1 / len(labels))
        d = tenon.copy(d, y=tenon.empty(d.shape, dtype="f16"))
        dh = tenon.activation_backward(h, d @ self.parameters[2].value.T, activation="relu")
        return [x.T @ dh, tenon.reduce(dh, axes=0), h.T @ d, tenon.reduce(d, axes=0)]

    def step(self, x, labels, number):
        gradients = self.gradients(x, labels)
        for i, gradient in enumerate(gradients):  # skip becomes 1 if an element is infinite or NaN
            tenon.nonfinite(gradient, flag=self.skip, flags=tenon.NONFINITE_KEEP if i > 0 else 0)
        for p, gradient in zip(self.parameters, gradients):
            tenon.adam(gradient, p.value, p.first, p.second, master=p.master, learning_rate=0.01, step=number,
                       skip=self.skip, gradient_scale=self.state[1:2])
        tenon.loss_scale(self.skip, self.state, interval=50)


def main():
    data = np.loadtxt(DIGITS, delimiter=",", dtype="f4")
    np.random.default_rng(2).shuffle(data)
    images, labels = (data[:, :-1] / 16).astype("f2"), data[:, -1].astype("i4")
    x, y = tenon.tensor(images[HELD_OUT:]), tenon.tensor(labels[HELD_OUT:])
    network = Network(images.shape[1])
    for number in range(1, STEPS + 1):
        at = number * BATCH % (len(x) - BATCH)
        network.step(x[at:at + BATCH], y[at:at + BATCH], number)

    _, logits = network.forward(tenon.tensor(images[:HELD_OUT]))
    right = np.mean(logits.numpy().argmax(1) == labels[:HELD_OUT])
    scale, _, _, skipped = network.state.numpy()
    print(f"{skipped:.0f} of {STEPS} steps skipped, final scale {scale:.0f}, "
          f"{100 * right:.1f} % of held-out digits right")
    if right < 0.93 or not 0 < skipped < STEPS / 4:
        raise SystemExit("safe_training: too few are right, or no step or too many were skipped")


if __name__ == "__main__":
    main()

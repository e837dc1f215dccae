#!/usr/bin/env python3
"""Trains AlexNet on two devices as its authors did (A. Krizhevsky, I. Sutskever and G. Hinton, "ImageNet classification
with deep convolutional neural networks", 2012): each device has half of the filters of every layer. The second, fourth
and fifth convolutions read only the maps of their own device; all other layers read those of both.

    alexnet_halves.py [IMAGES [STEPS [PART]]]     2 images and 3 steps, if they are not given

PART is a divisor of the layers' widths, to try the program on a small network: 1 if it is not given, at most 16. The
images are random, and repeated, so the loss must fall. The result has the same bits as on one device that computes the
halves one after the other and adds their gradients in this order.
"""
import sys

import numpy as np
import tenon
from tenon import parallel

SIDE, CLASSES, RATE = 227, 1000, 0.001
# Outputs, size, stride and padding of the filters; reads both devices' maps; normalizes; pools; start of the bias.
CONVOLUTIONS = [(96, 11, 4, 0, True, True, True, 0), (256, 5, 1, 2, False, True, True, 1),
                (384, 3, 1, 1, True, False, False, 0), (384, 3, 1, 1, False, False, False, 1),
                (256, 3, 1, 1, False, False, True, 1)]
DENSE = [4096, 4096, CLASSES]
POOL = dict(kind="max", window=3, stride=2)
NORM = dict(size=5, alpha=5e-4, beta=0.75, k=2)


class Half:
    """Half of the network, on one device."""

    def __init__(self, rank, part, stream):
        self.rank, self.stream, self.step = rank, stream, 0
        self.outputs = [c[0] // part // 2 for c in CONVOLUTIONS] + [n // part // 2 for n in DENSE]
        starts = [c[-1] for c in CONVOLUTIONS] + [1, 1, 0]
        random, self.parameters, inputs = np.random.default_rng(rank), [], 3
        for i, (outputs, start) in enumerate(zip(self.outputs, starts)):
            size = CONVOLUTIONS[i][1] if i < 5 else 6 if i == 5 else 1  # the last maps have 6 × 6 elements
            count = inputs * (2 if self.reads_both(i) and i > 0 else 1)
            shape = (outputs, count, size, size) if i < 5 else (count * size * size, outputs)
            w = random.normal(0, 0.01 * part**0.5, shape).astype("f4")
            self.parameters.append([tenon.tensor(w, stream=stream), tenon.full(outputs, start, context=stream.context)])
            inputs = outputs
        self.velocities = [[tenon.zeros(t.shape, context=stream.context) for t in pair] for pair in self.parameters]
        self.kept = [None] * len(self.outputs)

    @staticmethod
    def reads_both(i):
        return i >= 5 or CONVOLUTIONS[i][4]

    def geometry(self, i):
        _, _, stride, padding, *_ = CONVOLUTIONS[i]
        return dict(stride=stride, pad_begin=padding, pad_end=padding)

    def forward(self, i, x):
        """Returns the result of layer i."""
        w, b = self.parameters[i]
        s = dict(stream=self.stream)
        if i >= 5:
            last = i == 7
            y = tenon.gemm(x, w, bias=b, activation="identity" if last else "relu", **s)
            self.kept[i] = (x, y)
            return y if last else tenon.dropout(y, seed=16 * i + self.rank, sequence=self.step, **s)
        y = n = tenon.conv_forward(x, w, bias=b, activation="relu", **self.geometry(i), **s)
        normalizes, pools = CONVOLUTIONS[i][5:7]
        if normalizes:
            n = tenon.lrn_forward(y, **NORM, **s)
        pooled, places = tenon.pool_forward(n, indices=True, **POOL, **s) if pools else (n, None)
        self.kept[i] = (x, y, n.shape, places)
        return pooled

    def backward(self, i, d):
        """Updates the parameters of layer i, and returns the gradient of its input."""
        (w, b), s = self.parameters[i], dict(stream=self.stream)
        if i >= 5:
            x, y = self.kept[i]
            if i < 7:
                d = tenon.dropout(d, seed=16 * i + self.rank, sequence=self.step, **s)
                d = tenon.activation_backward(y, d, activation="relu", **s)
            gradients = tenon.gemm(x.T, d, **s), tenon.reduce(d, axes=0, **s)
            dx = tenon.gemm(d, w.T, **s)
        else:
            x, y, shape, places = self.kept[i]
            if places is not None:
                d = tenon.pool_backward(d, indices=places, dx=shape, **POOL, **s)
            if CONVOLUTIONS[i][5]:
                d = tenon.lrn_backward(y, d, **NORM, **s)
            d = tenon.activation_backward(y, d, activation="relu", **s)
            gradients = (tenon.conv_backward_filter(x, d, dw=w.shape, **self.geometry(i), **s),
                         tenon.conv_backward_bias(d, **s))
            dx = None if i == 0 else tenon.conv_backward_data(d, w, dx=x.shape, **self.geometry(i), **s)
        for gradient, parameter, velocity in zip(gradients, self.parameters[i], self.velocities[i]):
            tenon.sgd(gradient, parameter, velocity=velocity, learning_rate=RATE, momentum=0.9, weight_decay=0.0005,
                      **s)
        return dx


class TwoDevices:
    """Exchanges maps, which are the second dimension, between the devices of a group."""

    def __init__(self, group):
        self.group = group

    def join(self, halves):
        whole = [tenon.empty((t.shape[0], 2 * t.shape[1], *t.shape[2:]), context=t.context) for t in halves]
        self.group.all_gather([t.transpose(0, 1) for t in halves], y=[t.transpose(0, 1) for t in whole])
        return whole

    def add(self, gradients):
        """Returns each device's half of the sum."""
        made = [tenon.empty((t.shape[0], t.shape[1] // 2, *t.shape[2:]), context=t.context) for t in gradients]
        self.group.reduce_scatter([t.transpose(0, 1) for t in gradients], y=[t.transpose(0, 1) for t in made])
        return made


class OneDevice:
    """Does the same where both halves are on one device."""

    def __init__(self, stream):
        self.stream = stream

    def join(self, halves):
        return [tenon.concat(halves, axis=1, stream=self.stream)] * 2

    def add(self, gradients):
        total = tenon.elementwise(*gradients, kind="add", stream=self.stream)
        size = total.shape[1] // 2
        return [tenon.copy(total[:, m * size:(m + 1) * size], stream=self.stream) for m in range(2)]


def train(halves, links, images, labels, steps):
    """Trains with one batch, and returns the losses."""
    losses, count = [], len(halves[0].outputs)
    for step in range(steps):
        x = [tenon.tensor(images, stream=h.stream) for h in halves]
        for i in range(count):
            if i == 5:
                x = [tenon.copy(t, y=tenon.empty(t.shape, context=t.context), stream=h.stream)
                     for t, h in zip(x, halves)]
                x = [t.reshape((t.shape[0], -1)) for t in x]
            if halves[0].reads_both(i) and i > 0:
                x = links.join(x)
            x = [h.forward(i, t) for h, t in zip(halves, x)]
        d = []
        for logits, h in zip(links.join(x), halves):
            y = tenon.tensor(labels, stream=h.stream)
            losses.append(tenon.cross_entropy_forward(logits, y, stream=h.stream).numpy().mean())
            whole, size = tenon.cross_entropy_backward(logits, y, scale=1 / len(labels), stream=h.stream), x[0].shape[1]
            d.append(tenon.copy(whole[:, h.rank * size:(h.rank + 1) * size], stream=h.stream))
        for i in reversed(range(count)):
            d = [h.backward(i, t) for h, t in zip(halves, d)]
            if halves[0].reads_both(i) and i > 0:
                d = links.add(d)
            if i == 5:
                maps = halves[0].outputs[4]
                d = [t.reshape((t.shape[0], maps, 6, 6)) for t in d]
        for h in halves:
            h.step += 1
        print(f"step {step + 1}  loss {losses[-1]:.4f}")
    return losses


def main():
    try:
        given = [int(a) for a in sys.argv[1:]]
        count, steps, part = [*given, *[2, 3, 1][len(given):]]
    except ValueError:
        count = steps = part = 0
    if count < 1 or steps < 2 or not 1 <= part <= 16:
        raise SystemExit("usage: alexnet_halves.py [IMAGES [STEPS [PART]]], at least 1, at least 2, and 1 to 16")
    random = np.random.default_rng(1)
    images = random.normal(size=(count, 3, SIDE, SIDE)).astype("f4")
    labels = (np.arange(count) * 37 % (CLASSES // part // 2)).astype("i4")

    group = tenon.Group(parallel.streams(2))
    halves = [Half(m, part, s) for m, s in enumerate(group.streams)]
    losses = train(halves, TwoDevices(group), images, labels, steps)
    trained = [t.numpy() for h in halves for pair in h.parameters for t in pair]
    del halves
    stream = tenon.Stream(group.streams[0].context)
    alone = [Half(m, part, stream) for m in range(2)]
    again = train(alone, OneDevice(alone[0].stream), images, labels, steps)
    expected = [t.numpy() for h in alone for pair in h.parameters for t in pair]
    different = sum(int(np.sum(a.view("u4") != b.view("u4"))) for a, b in zip(trained, expected))
    print(f"2 devices: {different} of {sum(a.size for a in trained)} parameters differ from one device")
    if different > 0 or losses != again or not losses[-1] < losses[0]:
        raise SystemExit("alexnet_halves: parameters differ, or the loss does not fall")


if __name__ == "__main__":
    main()

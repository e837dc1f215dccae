"""Dense layers with ReLU, and the handwritten digits: used by the examples of parallel training."""
import sys
from pathlib import Path

import numpy as np
import tenon
from tenon import parallel

DIGITS = Path(__file__).with_name("data") / "digits.csv"
INPUTS, CLASSES, HELD_OUT = 64, 10, 597


def streams(count):
    """Returns the streams of the members in this process: `count` on one device, or with the argument --mpi one in each
    process of an MPI job."""
    if "--mpi" not in sys.argv:
        return parallel.streams(count)
    return [tenon.Context(measurements=tenon.MEASUREMENTS_NONE).stream]  # choices are the same everywhere


def group(members):
    """Returns the group of these streams, with --mpi together with those of the other processes."""
    if "--mpi" not in sys.argv:
        return tenon.Group(members)
    from mpi4py import MPI  # initializes MPI
    from tenon import mpi
    return tenon.Group(members, transport=mpi.Transport(MPI.COMM_WORLD))


def digits():
    """Returns the images and labels to train with, and those that are held out."""
    data = np.loadtxt(DIGITS, delimiter=",", dtype="f4")
    np.random.default_rng(2).shuffle(data)
    images, labels = np.ascontiguousarray(data[:, :-1] / 16), data[:, -1].astype("i4")
    return (images[HELD_OUT:], labels[HELD_OUT:]), (images[:HELD_OUT], labels[:HELD_OUT])


def initial(widths, seed=1):
    """Returns the initial parameters [w1, b1, w2, b2, …] of layers with these widths, as arrays."""
    random, made = np.random.default_rng(seed), []
    for rows, columns in zip(widths, widths[1:]):
        made.append(random.normal(0, (2 / rows)**0.5, (rows, columns)).astype("f4"))
        made.append(np.zeros(columns, "f4"))
    return made


def forward(x, w, b, is_last, stream):
    """Returns the result of a layer."""
    return tenon.gemm(x, w, bias=b, activation="identity" if is_last else "relu", stream=stream)


def loss_gradient(logits, labels, scale, stream):
    """Returns the gradient of the sum of the losses times a scale."""
    return tenon.cross_entropy_backward(logits, labels, scale=scale, stream=stream)


def backward(x, y, dy, w, is_last, dw, db, stream):
    """Writes the gradients of a layer's parameters, and returns that of its input."""
    if not is_last:
        dy = tenon.activation_backward(y, dy, activation="relu", stream=stream)
    tenon.gemm(x.T, dy, d=dw, stream=stream)
    tenon.reduce(dy, axes=0, y=db, stream=stream)
    return tenon.gemm(dy, w.T, stream=stream)


class Training:
    """Training on one device, which adds the gradients of parts of a batch in their order: what the examples compare
    parallel training with."""

    def __init__(self, parameters, stream, learning_rate):
        self.stream, self.learning_rate, self.steps = stream, learning_rate, 0
        self.parameters = [tenon.tensor(p, stream=stream) for p in parameters]
        zeros = lambda: [tenon.zeros(p.shape, context=stream.context) for p in parameters]
        self.sums, self.gradients, self.first, self.second = zeros(), zeros(), zeros(), zeros()

    def compute(self, x, labels, scale, gradients):
        """Computes the gradients of a part of a batch."""
        layers = len(self.parameters) // 2
        values = [x]
        for i in range(layers):
            w, b = self.parameters[2 * i:2 * i + 2]
            values.append(forward(values[i], w, b, i == layers - 1, self.stream))
        d = loss_gradient(values[-1], labels, scale, self.stream)
        for i in reversed(range(layers)):
            dw, db = gradients[2 * i:2 * i + 2]
            d = backward(values[i], values[i + 1], d, self.parameters[2 * i], i == layers - 1, dw, db, self.stream)

    def step(self, parts, scale):
        """Makes a step with the parts of a batch, pairs of images and labels."""
        self.steps += 1
        for number, (x, labels) in enumerate(parts):
            x, labels = tenon.tensor(x, stream=self.stream), tenon.tensor(labels, stream=self.stream)
            self.compute(x, labels, scale, self.gradients if number > 0 else self.sums)
            if number > 0:
                for total, gradient in zip(self.sums, self.gradients):
                    tenon.elementwise(total, gradient, kind="add", d=total, stream=self.stream)
        for state in zip(self.sums, self.parameters, self.first, self.second):
            tenon.adam(*state, step=self.steps, learning_rate=self.learning_rate, stream=self.stream)


def share_recognized(parameters, images, labels):
    """Returns the share of digits that parameters, as arrays, recognize."""
    x = images
    for i in range(0, len(parameters), 2):
        x = x @ parameters[i] + parameters[i + 1]
        x = np.maximum(x, 0) if i + 2 < len(parameters) else x
    return np.mean(x.argmax(1) == labels)


def report(name, trained, expected, held_out, least=0.9):
    """Prints the result of an example. Ends the program with an error if parameters differ from the expected ones or
    recognize too little."""
    different = sum(int(np.sum(a.view("u4") != b.view("u4"))) for a, b in zip(trained, expected))
    share = share_recognized(trained, *held_out)
    print(f"{name}: {different} parameters differ from one device, {100 * share:.1f} % of held-out digits right")
    if different > 0 or share < least:
        raise SystemExit(f"{name}: parameters differ, or too few digits are right")

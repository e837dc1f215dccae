#!/usr/bin/env python3
"""Trains a classifier of handwritten digits on several devices at once: each computes the gradients of its part of a
batch, and they are added in buckets during the backward pass.

The members are equal parts of the CPU, or any devices that are given as arguments. The result has the same bits as
training on one device that adds the gradients of the same parts in the same order, provided that the devices are equal.

    pip install ./python && python examples/data_parallel.py [DEVICE DEVICE …]
    mpirun -n 4 python3 examples/data_parallel.py --mpi
"""
import sys

import tenon
from tenon import parallel

import perceptron as p

WIDTHS, BATCH, STEPS, RATE = [p.INPUTS, 256, 128, p.CLASSES], 96, 60, 0.003
LAYERS = len(WIDTHS) - 1


class Member:
    """A device's parameters and the state of Adam."""

    def __init__(self, parameters, stream, batch=BATCH):
        self.stream, self.batch = stream, batch
        self.parameters = [tenon.tensor(a, stream=stream) for a in parameters]
        self.first = [tenon.zeros(a.shape, context=stream.context) for a in parameters]
        self.second = [tenon.zeros(a.shape, context=stream.context) for a in parameters]

    def forward(self, x, labels):
        """Computes the values of all layers and the gradient of the loss."""
        self.values = [tenon.tensor(x, stream=self.stream)]
        for i in range(LAYERS):
            w, b = self.parameters[2 * i:2 * i + 2]
            self.values.append(p.forward(self.values[i], w, b, i == LAYERS - 1, self.stream))
        labels = tenon.tensor(labels, stream=self.stream)
        self.d = p.loss_gradient(self.values[-1], labels, 1 / self.batch, self.stream)

    def backward(self, i, dw, db):
        """Computes the gradients of layer i."""
        self.d = p.backward(self.values[i], self.values[i + 1], self.d, self.parameters[2 * i], i == LAYERS - 1,
                            dw, db, self.stream)

    def update(self, gradients, step):
        for state in zip(gradients, self.parameters, self.first, self.second):
            tenon.adam(*state, step=step, learning_rate=RATE, stream=self.stream)


def compute(member, m, buckets, part):
    """Enqueues the computation of a member's gradients of its part of a batch."""
    member.forward(*part)
    for i in reversed(range(LAYERS)):
        member.backward(i, *buckets.gradients[m][2 * i:2 * i + 2])
        buckets.ready(m, 2 * i)
        buckets.ready(m, 2 * i + 1)  # a bucket whose gradients are all ready is added now


def update(members, buckets, step):
    """Ends a step with the sums of the gradients."""
    buckets.finish()
    for m, member in enumerate(members):
        member.update(buckets.gradients[m], step)


def parts_of(batch, count):
    """Divides a batch into equal parts, one for each member."""
    x, labels = batch
    size = len(labels) // count
    return [(x[m * size:(m + 1) * size], labels[m * size:(m + 1) * size]) for m in range(count)]


def main():
    devices = [word for word in sys.argv[1:] if word != "--mpi"]
    streams = [tenon.Context(d).stream for d in devices] or p.streams(2)
    # Streams of their own, so that the backward pass does not wait for the sums.
    group = p.group([tenon.Stream(s.context) for s in streams])
    parameters, (training, held_out) = p.initial(WIDTHS), p.digits()
    starts = [BATCH * i % (len(training[1]) - BATCH) for i in range(STEPS)]
    batches = [parts_of([a[at:at + BATCH] for a in training], group.size) for at in starts]

    members = [Member(parameters, stream) for stream in streams]
    buckets = parallel.Buckets(group, [a.shape for a in parameters], bytes=32 << 10)
    for step, parts in enumerate(batches, 1):
        for m, (member, rank) in enumerate(zip(members, group.ranks)):
            compute(member, m, buckets, parts[rank])
        update(members, buckets, step)

    alone = p.Training(parameters, tenon.Stream(streams[0].context), RATE)
    for parts in batches:
        alone.step(parts, 1 / BATCH)
    expected = [t.numpy() for t in alone.parameters]
    group.wait()
    for rank, member in zip(group.ranks, members):
        p.report(f"member {rank} of {group.size}, {len(buckets)} buckets", [t.numpy() for t in member.parameters],
                 expected, held_out)


if __name__ == "__main__":
    main()

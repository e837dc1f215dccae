#!/usr/bin/env python3
"""Trains a classifier of handwritten digits on several devices, each of which keeps only its part of the optimizer's
state (ZeRO-1): after the backward pass a member receives the sum of its part of the gradients, updates that part of the
parameters and gives it to the others.

The result has the same bits as training on one device that adds the same gradients in the same order.

    pip install ./python && python examples/sharded_optimizer.py
    mpirun -n 4 python3 examples/sharded_optimizer.py --mpi
"""
import tenon
from tenon import parallel

import perceptron as p

WIDTHS, BATCH, STEPS, RATE, MEMBERS = [p.INPUTS, 256, 128, p.CLASSES], 96, 60, 0.003, 3
LAYERS = len(WIDTHS) - 1


def compute(x, labels, parameters, gradients, stream):
    """Computes the gradients of one member."""
    values = [tenon.tensor(x, stream=stream)]
    for i in range(LAYERS):
        w, b = parameters[2 * i:2 * i + 2]
        values.append(p.forward(values[i], w, b, i == LAYERS - 1, stream))
    d = p.loss_gradient(values[-1], tenon.tensor(labels, stream=stream), 1 / BATCH, stream)
    for i in reversed(range(LAYERS)):
        dw, db = gradients[2 * i:2 * i + 2]
        d = p.backward(values[i], values[i + 1], d, parameters[2 * i], i == LAYERS - 1, dw, db, stream)


def main():
    parameters, (training, held_out) = p.initial(WIDTHS), p.digits()
    group = p.group(p.streams(MEMBERS))
    optimizer = parallel.ShardedAdam(group, parameters, learning_rate=RATE)
    alone = p.Training(parameters, tenon.Stream(group.streams[0].context), RATE)

    size = BATCH // group.size
    for step in range(STEPS):
        starts = [BATCH * step % (len(training[1]) - BATCH) + m * size for m in range(group.size)]
        parts = [[a[at:at + size] for a in training] for at in starts]
        for m, rank in enumerate(group.ranks):
            compute(*parts[rank], optimizer.parameters[m], optimizer.gradients[m], group.streams[m])
        optimizer.step()
        alone.step(parts, 1 / BATCH)

    expected = [t.numpy() for t in alone.parameters]
    group.wait()
    for m, rank in enumerate(group.ranks):
        p.report(f"member {rank} of {group.size}", [t.numpy() for t in optimizer.parameters[m]], expected, held_out)


if __name__ == "__main__":
    main()

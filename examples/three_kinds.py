#!/usr/bin/env python3
"""Trains a classifier of handwritten digits on eight members with three kinds of parallel training together: two copies
of the network (data), each of two stages (pipeline), each of which divides its products between two members (tensor).

The result has the same bits as on one device that computes the parts of the products one after the other, and adds
their sums, and the gradients of the copies, in the same order.

    pip install ./python && python examples/three_kinds.py
"""
import numpy as np
import tenon
from tenon import parallel

import perceptron as p

WIDTHS, BATCH, MICRO_BATCHES, STEPS, RATE = [p.INPUTS, 256, 64, 128, p.CLASSES], 96, 3, 60, 0.003
DATA, PIPELINE, TENSOR = 2, 2, 2
ROWS = BATCH // DATA // MICRO_BATCHES


class Stage:
    """Two products of one copy, divided by columns and rows among the members of a group, and the state of Adam."""

    def __init__(self, number, parameters, group):
        w1, b1, w2, b2 = parameters[4 * number:4 * number + 4]
        self.number, self.streams, self.is_last = number, group.streams, number == PIPELINE - 1
        self.first = parallel.ColumnParallel(group, w1, b1, "relu")
        self.second = parallel.RowParallel(group, w2, b2)
        self.parameters = [self.first.w, self.first.bias, self.second.w, self.second.bias]
        zeros = lambda: [[tenon.zeros(t.shape, context=t.context) for t in ts] for ts in self.parameters]
        self.sums, self.moments, self.inputs = zeros(), (zeros(), zeros()), {}

    def forward(self, i, x):
        """Returns the result of each member. Values are computed again in the backward pass, not kept."""
        self.inputs[i] = x
        y = self.second.forward(self.first.forward(x))
        return y if self.is_last else [tenon.activation_forward(t, activation="relu", stream=s)
                                       for t, s in zip(y, self.streams)]

    def backward(self, i, gradient):
        """Adds the gradients of a micro-batch, and returns that of the input. `gradient` gives that of y."""
        x = self.inputs[i]
        y = self.forward(i, x)
        d = gradient(y)
        if not self.is_last:
            d = [tenon.activation_backward(t, g, activation="relu", stream=s) for t, g, s in zip(y, d, self.streams)]
        dx = self.first.backward(self.second.backward(d))
        del self.inputs[i]
        found = [self.first.dw, self.first.dbias, self.second.dw, self.second.dbias]
        for totals, gradients in zip(self.sums, found):
            for total, g, s in zip(totals, gradients, self.streams):
                if i == 0:
                    tenon.copy(g, y=total, stream=s)
                else:
                    tenon.elementwise(total, g, kind="add", d=total, stream=s)
        return dx

    def update(self, step):
        for state in zip(self.sums, self.parameters, *self.moments):
            for *tensors, s in zip(*state, self.streams):
                tenon.adam(*tensors, step=step, learning_rate=RATE, stream=s)


def compute(stages, parts, send, receive):
    """Computes the gradients of one copy of the network. `send` and `receive` exchange tensors of stages."""
    for s, is_forward, i in parallel.one_forward_one_backward(PIPELINE, len(parts)):
        stage, (x, labels) = stages[s], parts[i]

        def loss(y, labels=labels, streams=stage.streams):
            return [p.loss_gradient(t, tenon.tensor(labels, stream=q), 1 / BATCH, q) for t, q in zip(y, streams)]
        if is_forward:
            given = [tenon.tensor(x, stream=q) for q in stage.streams] if s == 0 else receive(s - 1, s)
            y = stage.forward(i, given)
            if not stage.is_last:
                send(s, s + 1, y)
        else:
            d = stage.backward(i, loss if stage.is_last else lambda _, s=s: receive(s + 1, s))
            if s > 0:
                send(s, s - 1, d)


def links(groups):
    """Returns functions that send tensors between stages, and receive them, through the pipelines of one copy."""
    def send(source, target, tensors):
        for group, t in zip(groups, tensors):
            group.send(t, source, target)

    def receive(source, target):
        return [group.receive(source, target, (ROWS, WIDTHS[2])) for group in groups]
    return send, receive


def queue():
    """Returns the same functions for stages on one device."""
    waiting = {}

    def send(source, target, tensors):
        waiting.setdefault((source, target), []).append(tensors)
    return send, lambda source, target: waiting[source, target].pop(0)


def arrays(stages):
    """Returns the parameters of all members of the stages."""
    return [t.numpy() for stage in stages for tensors in stage.parameters for t in tensors]


def main():
    parameters, (training, held_out) = p.initial(WIDTHS), p.digits()
    streams = parallel.streams(DATA * PIPELINE * TENSOR)
    groups = parallel.mesh(streams, data=DATA, pipeline=PIPELINE, tensor=TENSOR)
    copies = [[Stage(s, parameters, groups["tensor"][c, s]) for s in range(PIPELINE)] for c in range(DATA)]
    exchanges = [links([groups["pipeline"][c, t] for t in range(TENSOR)]) for c in range(DATA)]
    # On one device: the members of each group are two streams of its context.
    one = tenon.Group([tenon.Stream(streams[0].context) for _ in range(TENSOR)])
    alone = [Stage(s, parameters, one) for s in range(PIPELINE)]

    for step in range(1, STEPS + 1):
        first = BATCH * step % (len(training[1]) - BATCH)
        starts = range(first, first + BATCH, ROWS)
        parts = [[a[at:at + ROWS] for a in training] for at in starts]
        by_copy = [parts[c * MICRO_BATCHES:(c + 1) * MICRO_BATCHES] for c in range(DATA)]
        for c in range(DATA):
            compute(copies[c], by_copy[c], *exchanges[c])
        for s in range(PIPELINE):
            for t in range(TENSOR):
                sums = [[tensors[t] for tensors in copies[c][s].sums] for c in range(DATA)]
                groups["data"][s, t].all_reduce_many(sums, y=sums)
        for stage in [stage for copy in copies for stage in copy]:
            stage.update(step)

        total = None
        for c in range(DATA):
            compute(alone, by_copy[c], *queue())
            flat = [(t, s) for stage in alone for tensors in stage.sums for t, s in zip(tensors, one.streams)]
            if total is None:
                total = [tenon.copy(t, stream=s) for t, s in flat]
            else:
                for a, (t, s) in zip(total, flat):
                    tenon.elementwise(a, t, kind="add", d=t, stream=s)
        for stage in alone:
            stage.update(step)

    expected = arrays(alone)
    for c, copy in enumerate(copies):
        different = sum(int(np.sum(a.view("u4") != b.view("u4"))) for a, b in zip(arrays(copy), expected))
        print(f"copy {c}: {different} of {sum(a.size for a in expected)} parameters differ from one device")
        if different > 0:
            raise SystemExit("three_kinds: parameters differ")
    whole = []
    for stage in copies[0]:
        w1, b1, w2, b2 = ([t.numpy() for t in tensors] for tensors in stage.parameters)
        whole += [np.concatenate(w1, 1), np.concatenate(b1), np.concatenate(w2), b2[0]]
    share = p.share_recognized(whole, *held_out)
    print(f"{len(streams)} members, {100 * share:.1f} % of held-out digits right")
    if share < 0.9:
        raise SystemExit("three_kinds: too few digits are right")


if __name__ == "__main__":
    main()

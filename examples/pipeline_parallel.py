#!/usr/bin/env python3
"""Trains a classifier of handwritten digits whose layers are divided among several devices: a pipeline of stages, each
of which works on another micro-batch at the same time (1F1B).

The result has the same bits as training on one device that adds the gradients of the micro-batches in their order.

    pip install ./python && python examples/pipeline_parallel.py
    mpirun -n 4 python3 examples/pipeline_parallel.py --mpi
"""
import tenon
from tenon import parallel

import perceptron as p

WIDTHS, BATCH, MICRO_BATCHES, STEPS, RATE = [p.INPUTS, 192, 128, 64, p.CLASSES], 96, 6, 60, 0.003
STAGES, LAYERS = 3, len(WIDTHS) - 1


class Stage:
    """Some layers, the values of the micro-batches in flight, and the state of Adam."""

    def __init__(self, number, stages, parameters, stream):
        self.first, self.end, self.stream = LAYERS * number // stages, LAYERS * (number + 1) // stages, stream
        zeros = lambda: [tenon.zeros(a.shape, context=stream.context) for a in self.parameters]
        self.parameters = [tenon.tensor(a, stream=stream) for a in parameters[2 * self.first:2 * self.end]]
        self.sums, self.gradients, self.moments = zeros(), zeros(), (zeros(), zeros())
        self.values, self.most = {}, 0

    def forward(self, i, x):
        values = [x]
        for layer in range(self.first, self.end):
            w, b = self.parameters[2 * (layer - self.first):][:2]
            values.append(p.forward(values[-1], w, b, layer == LAYERS - 1, self.stream))
        self.values[i] = values
        self.most = max(self.most, len(self.values))
        return values[-1]

    def backward(self, i, d):
        """Adds the gradients of micro-batch i, and returns that of the stage's input."""
        values, gradients = self.values.pop(i), self.gradients if i > 0 else self.sums
        for layer in reversed(range(self.first, self.end)):
            at = layer - self.first
            d = p.backward(values[at], values[at + 1], d, self.parameters[2 * at], layer == LAYERS - 1,
                           *gradients[2 * at:2 * at + 2], self.stream)
        if i > 0:
            for total, gradient in zip(self.sums, self.gradients):
                tenon.elementwise(total, gradient, kind="add", d=total, stream=self.stream)
        return d

    def update(self, step):
        for state in zip(self.sums, self.parameters, *self.moments):
            tenon.adam(*state, step=step, learning_rate=RATE, stream=self.stream)


def step(stages, group, parts, number):
    """Makes a step with the stages of this process, by their numbers. A stage receives a tensor only when it needs it,
    so that it never waits for another too early."""
    last, rows = group.size - 1, len(parts[0][1])
    for s, is_forward, i in parallel.one_forward_one_backward(group.size, len(parts)):
        if s not in stages:
            continue
        stage, (x, labels) = stages[s], parts[i]
        if is_forward:
            x = tenon.tensor(x, stream=stage.stream) if s == 0 else group.receive(s - 1, s, (rows, WIDTHS[stage.first]))
            y = stage.forward(i, x)
            if s < last:
                group.send(y, s, s + 1)
        else:
            if s < last:
                d = group.receive(s + 1, s, (rows, WIDTHS[stage.end]))
            else:
                labels = tenon.tensor(labels, stream=stage.stream)
                d = p.loss_gradient(stage.values[i][-1], labels, 1 / BATCH, stage.stream)
            d = stage.backward(i, d)
            if s > 0:
                group.send(d, s, s - 1)
    for stage in stages.values():
        stage.update(number)


def main():
    parameters, (training, held_out) = p.initial(WIDTHS), p.digits()
    group = p.group(p.streams(STAGES))
    stages = {s: Stage(s, group.size, parameters, stream) for s, stream in zip(group.ranks, group.streams)}
    alone = p.Training(parameters, tenon.Stream(group.streams[0].context), RATE)

    size = BATCH // MICRO_BATCHES
    for number in range(1, STEPS + 1):
        first = BATCH * number % (len(training[1]) - BATCH)
        parts = [[a[first + i * size:first + (i + 1) * size] for a in training] for i in range(MICRO_BATCHES)]
        step(stages, group, parts, number)
        alone.step(parts, 1 / BATCH)

    group.wait()
    expected = [t.numpy() for t in alone.parameters]
    trained = list(expected)
    for s, stage in stages.items():
        print(f"stage {s}: layers {stage.first} to {stage.end - 1}, at most {stage.most} micro-batches at a time")
        if stage.most > group.size - s:
            raise SystemExit("pipeline_parallel: a stage keeps too many micro-batches")
        trained[2 * stage.first:2 * stage.end] = [t.numpy() for t in stage.parameters]
    p.report(f"{len(stages)} stages", trained, expected, held_out)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Trains a classifier of handwritten digits on several devices, each of which keeps only its part of the parameters, of
their gradients and of the optimizer's state (ZeRO-3, FSDP). A layer's parameters are gathered when it is computed.

The result has the same bits as training on one device that adds the same gradients in the same order. The example
fails if a member ever needed more memory than its part of one device's, the parameters and gradients of two layers, and
what the batch needs.

    pip install ./python && python examples/sharded_parameters.py
"""
import tenon
from tenon import parallel

import perceptron as p

WIDTHS, BATCH, STEPS, RATE, MEMBERS = [p.INPUTS] + [512] * 5 + [p.CLASSES], 64, 20, 0.001, 4
LAYERS = len(WIDTHS) - 1


def step(layers, parts):
    streams = layers.group.streams
    values = [[tenon.tensor(x, stream=s)] for s, (x, _) in zip(streams, parts)]
    for i in range(LAYERS):
        for m, (w, b) in enumerate(layers.gather(i)):
            values[m].append(p.forward(values[m][i], w, b, i == LAYERS - 1, streams[m]))
    d = [p.loss_gradient(values[m][-1], tenon.tensor(labels, stream=streams[m]), 1 / BATCH, streams[m])
         for m, (_, labels) in enumerate(parts)]
    for i in reversed(range(LAYERS)):
        for m, ((w, _), (dw, db)) in enumerate(zip(layers.gather(i), layers.gradients(i))):
            d[m] = p.backward(values[m][i], values[m][i + 1], d[m], w, i == LAYERS - 1, dw, db, streams[m])
        layers.reduce(i)
    layers.step()


def check_memory(contexts, alone, parameters):
    """Compares the most memory that members have had with that of one device."""
    sizes = [4 * sum(a.size for a in parameters[i:i + 2]) for i in range(0, len(parameters), 2)]
    peak = alone.statistics().memory_peak
    batch = peak - 5 * sum(sizes)  # parameters, two moments, gradients and their sums are as large as the parameters
    most = 4 * sum(sizes) / MEMBERS + 2 * 2 * max(sizes) + batch
    peaks = [c.statistics().memory_peak for c in contexts]
    print(f"one device: {peak / 2**20:.1f} MiB; members: {', '.join(f'{m / 2**20:.1f}' for m in peaks)} MiB, "
          f"of at most {most / 2**20:.1f}")
    if max(peaks) > most:
        raise SystemExit("sharded_parameters: a member needed too much memory")


def main():
    parameters, (training, held_out) = p.initial(WIDTHS), p.digits()
    selector = tenon.default_context().device.selector
    # A context counts the memory of one member. Without a pool, sizes are not rounded up.
    contexts = [tenon.Context(selector, pool_limit=0) for _ in range(MEMBERS)]
    alone_in = tenon.Context(selector, pool_limit=0)
    group = tenon.Group(contexts)
    pairs = [parameters[i:i + 2] for i in range(0, len(parameters), 2)]
    layers = parallel.ShardedLayers(group, pairs, learning_rate=RATE)
    alone = p.Training(parameters, alone_in.stream, RATE)

    size = BATCH // MEMBERS
    for number in range(STEPS):
        starts = [BATCH * number % (len(training[1]) - BATCH) + m * size for m in range(MEMBERS)]
        parts = [[a[at:at + size] for a in training] for at in starts]
        step(layers, parts)
        alone.step(parts, 1 / BATCH)

    group.wait()
    check_memory(contexts, alone_in, parameters)
    expected = [t.numpy() for t in alone.parameters]
    gathered = [[t.numpy() for i in range(LAYERS) for t in layers.gather(i)[m]] for m in range(MEMBERS)]
    for m in range(MEMBERS):
        p.report(f"member {m} of {MEMBERS}", gathered[m], expected, held_out)


if __name__ == "__main__":
    main()

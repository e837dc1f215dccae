#!/usr/bin/env python3
"""Trains a mixture of experts that recognizes handwritten digits on several devices, each of which has its part of the
experts (expert parallel). A gate chooses two experts for each digit; an all-to-all brings the digit to the devices that
have them, and another one brings the results back. Nothing waits for the devices: the numbers of digits per expert are
never read by the host.

The result has the same bits as training on one device that has all experts and adds the gradients of the gate in the
same order.

    pip install ./python && python examples/expert_parallel.py
    mpirun -n 4 python3 examples/expert_parallel.py --mpi
"""
import numpy as np
import tenon
from tenon import parallel

import perceptron as p

EXPERTS, CHOSEN, HIDDEN, BATCH, STEPS, RATE, MEMBERS = 12, 2, 32, 96, 60, 0.01, 3


def initial():
    """Returns the weights of the gate and of the experts' two layers."""
    random = np.random.default_rng(1)
    shapes = (p.INPUTS, EXPERTS), (EXPERTS, p.INPUTS, HIDDEN), (EXPERTS, HIDDEN, p.CLASSES)
    return [random.normal(0, (2 / s[-2])**0.5, s).astype("f4") for s in shapes]


class Gate:
    """The gate of one part of a batch: chooses experts, and weighs their results."""

    def __init__(self, x, labels, w, stream):
        self.x, self.labels = tenon.tensor(x, stream=stream), tenon.tensor(labels, stream=stream)
        self.stream, self.size = stream, len(labels)
        logits = tenon.gemm(self.x, w, stream=stream)
        self.experts = tenon.empty((self.size, CHOSEN), "i32", stream.context)
        best, _ = tenon.top_k(logits, y=(self.size, CHOSEN), indices=self.experts, stream=stream)
        self.weights = tenon.softmax_forward(best, stream=stream)

    def rows(self):
        """Returns each digit once for each of its experts."""
        twice = self.x.reshape((self.size, 1, p.INPUTS)).broadcast((self.size, CHOSEN, p.INPUTS))
        return tenon.copy(twice, stream=self.stream).reshape((self.size * CHOSEN, p.INPUTS))

    def backward(self, results):
        """Returns the gradients of the experts' results and of the gate's weights."""
        s, weights = self.stream, self.weights.reshape((self.size, CHOSEN, 1))
        results = results.reshape((self.size, CHOSEN, p.CLASSES))
        weighted = tenon.elementwise(results, weights.broadcast(results.shape), kind="multiply", stream=s)
        d = p.loss_gradient(tenon.reduce(weighted, axes=1, stream=s), self.labels, 1 / BATCH, s)
        d = d.reshape((self.size, 1, p.CLASSES)).broadcast(results.shape)
        dresults = tenon.elementwise(d, weights.broadcast(results.shape), kind="multiply", stream=s)
        dweights = tenon.reduce(tenon.elementwise(d, results, kind="multiply", stream=s), axes=2, stream=s)
        dbest = tenon.softmax_backward(self.weights, dweights, stream=s)
        dlogits = tenon.zeros((self.size, EXPERTS), context=s.context)
        tenon.scatter(dbest, self.experts, dlogits, mode="elements", axis=1, stream=s)
        return dresults.reshape((self.size * CHOSEN, p.CLASSES)), tenon.gemm(self.x.T, dlogits, stream=s)


class Member:
    """A device's experts, its copy of the gate, and the state of Adam."""

    def __init__(self, rank, count, stream):
        gate, *layers = initial()
        self.stream, part = stream, EXPERTS // count
        weights = [gate, *(w[rank * part:(rank + 1) * part] for w in layers)]
        self.weights = [tenon.tensor(w, stream=stream) for w in weights]
        self.moments = [[tenon.zeros(w.shape, context=stream.context) for w in weights] for _ in range(2)]

    def forward(self, x, offsets):
        self.x = x
        self.h = tenon.gemm_ragged(x, self.weights[1], offsets, activation="relu", stream=self.stream)
        return tenon.gemm_ragged(self.h, self.weights[2], offsets, stream=self.stream)

    def backward(self, d, offsets):
        """Returns the gradient of the hidden values."""
        dh = tenon.gemm_ragged(d, self.weights[2].transpose(1, 2), offsets, stream=self.stream)
        return tenon.activation_backward(self.h, dh, activation="relu", stream=self.stream)

    def update(self, gradients, step):
        for state in zip(gradients, self.weights, *self.moments):
            tenon.adam(*state, step=step, learning_rate=RATE, stream=self.stream)


def step(members, exchange, parts, number, add_gates):
    """Makes a step. A member has one part of the batch or more; `add_gates` adds the gradients of the gate."""
    each = len(parts) // len(members)
    gates = [Gate(*part, members[i // each].weights[0], members[i // each].stream) for i, part in enumerate(parts)]

    def joined(tensors):
        """Joins the tensors of each member's parts."""
        return [tenon.concat(tensors[m * each:(m + 1) * each], axis=0, stream=member.stream)
                for m, member in enumerate(members)]
    offsets = exchange.route([t.reshape((-1,)) for t in joined([g.experts for g in gates])])
    rows = exchange.dispatch(joined([g.rows() for g in gates]))
    results = exchange.collect([m.forward(*of) for m, *of in zip(members, rows, offsets)])
    size = gates[0].size * CHOSEN
    found = [gate.backward(results[i // each][i % each * size:(i % each + 1) * size]) for i, gate in enumerate(gates)]
    d = exchange.dispatch(joined([dresults for dresults, _ in found]))
    dh = [m.backward(*of) for m, *of in zip(members, d, offsets)]
    blocks = [exchange.blocks(tensors) for tensors in ([m.x for m in members], [m.h for m in members], dh, d)]
    for m, dgate, x, h, dfirst, dsecond in zip(members, add_gates([dgate for _, dgate in found]), *blocks):
        gradients = [tenon.gemm(a.transpose(1, 2), b, stream=m.stream) for a, b in ((x, dfirst), (h, dsecond))]
        m.update([dgate, *gradients], number)


def recognized(weights, images, labels):
    """Returns the share of digits that are recognized, computed by NumPy."""
    gate, first, second = (w.astype("f8") for w in weights)
    logits = images @ gate
    best = np.argsort(-logits, axis=1)[:, :CHOSEN]
    share = np.exp(np.take_along_axis(logits, best, 1))
    hidden = np.maximum(np.einsum("ni,eih->neh", images, first), 0)
    results = np.einsum("neh,eho->neo", hidden, second)
    y = np.einsum("nk,nko->no", share / share.sum(1, keepdims=True), np.take_along_axis(results, best[:, :, None], 1))
    return np.mean(y.argmax(1) == labels)


def main():
    training, held_out = p.digits()
    group = p.group(p.streams(MEMBERS))
    members = [Member(rank, group.size, stream) for rank, stream in zip(group.ranks, group.streams)]
    exchange = parallel.Exchange(group, EXPERTS)
    one = tenon.Group([tenon.Stream(group.streams[0].context)])
    alone, all_here = [Member(0, 1, one.streams[0])], parallel.Exchange(one, EXPERTS)

    def add_in_order(gradients):
        total = gradients[0]
        for other in gradients[1:]:
            total = tenon.elementwise(total, other, kind="add", stream=one.streams[0])
        return [total]

    size = BATCH // group.size
    for number in range(1, STEPS + 1):
        starts = [BATCH * number % (len(training[1]) - BATCH) + m * size for m in range(group.size)]
        parts = [[a[at:at + size] for a in training] for at in starts]
        step(members, exchange, [parts[rank] for rank in group.ranks], number, group.all_reduce)
        step(alone, all_here, parts, number, add_in_order)

    expected = [w.numpy() for w in alone[0].weights]
    layers = [group.all_gather([m.weights[i] for m in members])[0] for i in (1, 2)]
    group.wait()
    trained = [members[0].weights[0].numpy(), *(w.numpy() for w in layers)]
    different = sum(int(np.sum(a.view("u4") != b.view("u4"))) for a, b in zip(trained, expected))
    share = recognized(trained, *held_out)
    print(f"{group.size} members: {different} weights differ from one device, {100 * share:.1f} % of held-out digits "
          "right")
    if different > 0 or share < 0.9:
        raise SystemExit("expert_parallel: weights differ, or too few digits are right")


if __name__ == "__main__":
    main()

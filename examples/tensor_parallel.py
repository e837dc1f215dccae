#!/usr/bin/env python3
"""Trains a classifier of handwritten digits whose products are divided among several devices: the first by columns, the
second by rows (tensor parallel, as in Megatron-LM). A step has one all-reduce in the forward pass.

Sums over the rows are divided among the devices, so the result does not have the same bits as on one device. The example
computes the gradients of the first step in double precision, together with bounds of the errors that single precision
may cause in sums of any order (docs/numerics.md), and fails if a gradient is not within its bound.

    pip install ./python && python examples/tensor_parallel.py
"""
import numpy as np
import tenon
from tenon import parallel

import perceptron as p

WIDTHS, BATCH, STEPS, RATE, MEMBERS = [p.INPUTS, 384, p.CLASSES], 96, 60, 0.003, 3


def gamma(roundings):
    return roundings * 2.0**-24 / (1 - roundings * 2.0**-24)


def product(a, ea, b, eb, bias=0.0):
    """Returns a product with its error bound; ea and eb are the bounds of the factors."""
    large_a, large_b, terms = np.abs(a) + ea, np.abs(b) + eb, a.shape[1]
    rounded = gamma(terms + terms // 32 + 8 + MEMBERS) * (large_a @ large_b + np.abs(bias))
    return a @ b + bias, ea @ large_b + large_a @ eb + rounded


def gradients_with_bounds(x, labels, w1, b1, w2, b2):
    """Returns the gradients of all parameters in double precision, each with its error bound."""
    h, eh = product(x, 0 * x, w1, 0 * w1, b1)
    may_change = np.abs(h) <= eh  # ReLU's derivative may be 0 or 1
    h = np.maximum(h, 0)
    logits, e = product(h, eh, w2, 0 * w2, b2)
    q = np.exp(logits - logits.max(1, keepdims=True))
    q /= q.sum(1, keepdims=True)
    roundings = 24 + 2 * np.ptp(logits) + p.CLASSES  # of softmax itself
    eq = q * (np.expm1(2 * e.max(1, keepdims=True)) + gamma(roundings))
    d = (q - np.eye(p.CLASSES)[labels]) / len(labels)
    ed = eq / len(labels) + gamma(5) * (np.abs(d) + eq / len(labels))
    dw2, edw2 = product(h.T, eh.T, d, ed)
    db2, edb2 = product(np.ones((1, len(labels))), np.zeros((1, len(labels))), d, ed)
    dh, edh = product(d, ed, w2.T, 0 * w2.T)
    edh = np.where(may_change, np.abs(dh) + edh, np.where(h > 0, edh, 0))
    dh = np.where(h > 0, dh, 0)
    dw1, edw1 = product(x.T, 0 * x.T, dh, edh)
    db1, edb1 = product(np.ones((1, len(labels))), np.zeros((1, len(labels))), dh, edh)
    return (dw1, edw1), (db1[0], edb1[0]), (dw2, edw2), (db2[0], edb2[0])


class Network:
    """Two products on the members of a group, and the state of Adam."""

    def __init__(self, group, parameters):
        w1, b1, w2, b2 = parameters
        self.group = group
        self.first, self.second = parallel.ColumnParallel(group, w1, b1, "relu"), parallel.RowParallel(group, w2, b2)
        self.products = (self.first, self.second)
        zeros = lambda t: tenon.zeros(t.shape, context=t.context)
        self.moments = {id(t): (zeros(t), zeros(t)) for q in self.products for t in q.w + q.bias}

    def step(self, x, labels, number):
        """Makes a step with a batch that all members have."""
        streams = self.group.streams
        y = self.second.forward(self.first.forward([tenon.tensor(x, stream=s) for s in streams]))
        d = [p.loss_gradient(t, tenon.tensor(labels, stream=s), 1 / BATCH, s) for t, s in zip(y, streams)]
        self.first.backward(self.second.backward(d))
        for q in self.products:
            for parameters, gradients in ((q.w, q.dw), (q.bias, q.dbias)):
                for parameter, gradient, stream in zip(parameters, gradients, streams):
                    tenon.adam(gradient, parameter, *self.moments[id(parameter)], step=number, learning_rate=RATE,
                               stream=stream)

    def whole(self, w1, b1, w2, b2):
        """Joins tensors of the members: columns, rows, and the first of those that are the same on all members."""
        same = [t.numpy() for t in b2]
        if any(np.any(t.view("u4") != same[0].view("u4")) for t in same):
            raise SystemExit("tensor_parallel: members differ in the second bias")
        join = lambda tensors, axis: np.concatenate([t.numpy() for t in tensors], axis)
        return [join(w1, 1), join(b1, 0), join(w2, 0), same[0]]

    def gradients(self):
        return self.whole(self.first.dw, self.first.dbias, self.second.dw, self.second.dbias)

    def parameters(self):
        return self.whole(self.first.w, self.first.bias, self.second.w, self.second.bias)


def main():
    parameters, (training, held_out) = p.initial(WIDTHS), p.digits()
    network = Network(tenon.Group(parallel.streams(MEMBERS)), parameters)
    for number in range(1, STEPS + 1):
        at = BATCH * number % (len(training[1]) - BATCH)
        x, labels = (a[at:at + BATCH] for a in training)
        network.step(x, labels, number)
        if number == 1:
            exact = gradients_with_bounds(x.astype("f8"), labels, *(a.astype("f8") for a in parameters))
            share = max(np.max(np.abs(g - e) / np.maximum(bound, 2.0**-126))
                        for g, (e, bound) in zip(network.gradients(), exact))
            print(f"gradients of the first step: errors of at most {100 * share:.1f} % of their bounds")
            if not share <= 1:
                raise SystemExit("tensor_parallel: a gradient is not within its bound")
    recognized = p.share_recognized(network.parameters(), *held_out)
    print(f"{MEMBERS} members, {100 * recognized:.1f} % of held-out digits right")
    if recognized < 0.9:
        raise SystemExit("tensor_parallel: too few are right")


if __name__ == "__main__":
    main()

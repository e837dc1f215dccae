#!/usr/bin/env python3
"""Trains a classifier of handwritten digits on unequal devices: each gets a share of the batch by its speed, which is
measured in the first steps. A device that is too slow for a single sample is left out.

The members are any devices that are given as arguments. Without arguments they are equal parts of the CPU, the second
of which computes everything several times, so that it is slow. The result is compared with training on one device that
adds the gradients of the same parts in the same order: same bits if the devices are equal.

    pip install ./python && python examples/unequal_devices.py [DEVICE DEVICE …]
"""
import sys

import numpy as np
import tenon
from tenon import parallel

import perceptron as p
from data_parallel import LAYERS, RATE, WIDTHS, Member, compute, update

BATCH, STEPS, SLOWNESS = 600, 60, 8


class SlowMember(Member):
    """Stands for a slower device: computes several times what the others compute once."""

    def forward(self, x, labels):
        for _ in range(SLOWNESS):
            super().forward(x, labels)

    def backward(self, i, dw, db):
        d = self.d
        for _ in range(SLOWNESS):
            self.d = d
            super().backward(i, dw, db)


class Team:
    """Members that train together."""

    def __init__(self, members, shapes):
        self.members = members
        # Streams of their own, so that the times of members do not include the sums of gradients.
        group = tenon.Group([tenon.Stream(m.stream.context) for m in members])
        self.buckets = parallel.Buckets(group, shapes)

    def step(self, parts, number, shares):
        for m, (member, part) in enumerate(zip(self.members, parts)):
            with shares.measure(m, member.stream):
                compute(member, m, self.buckets, part)
        update(self.members, self.buckets, number)


def train(team, shapes, shares, batches):
    """Returns the members that are left, and the parts of each batch."""
    used, all_members = [], range(len(team.members))
    for number, (x, labels) in enumerate(batches, 1):
        before, places = shares.counts, [shares.slices[m] for m in (shares.active if shares.is_fixed else all_members)]
        used.append([(x[place], labels[place]) for place in places])
        team.step(used[-1], number, shares)
        if shares.counts != before:
            print(f"step {number}: {before} samples; from now on {shares.counts}")
        if len(team.members) > len(shares.active) and shares.is_fixed:
            team = Team([team.members[m] for m in shares.active], shapes)
    return team.members, used


def report(member, expected, held_out):
    trained = [t.numpy() for t in member.parameters]
    worst = max(float(np.abs(a - b).max()) for a, b in zip(trained, expected))
    share = p.share_recognized(trained, *held_out)
    print(f"largest difference from one device {worst:.2g}, {100 * share:.1f} % of held-out digits right")
    if not share >= 0.9:
        raise SystemExit("too few digits are right")


def main():
    streams = [tenon.Context(d).stream for d in sys.argv[1:]] or parallel.streams(2)
    parameters, (training, held_out) = p.initial(WIDTHS), p.digits()
    shapes = [a.shape for a in parameters]
    starts = [BATCH * i % (len(training[1]) - BATCH) for i in range(STEPS)]
    kinds = [Member] * len(streams) if sys.argv[1:] else [Member, SlowMember]
    team = Team([kind(parameters, stream, BATCH) for kind, stream in zip(kinds, streams)], shapes)
    shares = parallel.Shares(len(streams), BATCH)
    members, used = train(team, shapes, shares, [[a[at:at + BATCH] for a in training] for at in starts])
    print(f"{shares.counts} samples, kept: {shares.is_fixed}")

    alone = p.Training(parameters, tenon.Stream(streams[0].context), RATE)
    for parts in used:
        alone.step(parts, 1 / BATCH)
    expected = [t.numpy() for t in alone.parameters]
    are_equal = len({(s.context.device.name, s.context.device.compute_units) for s in streams}) == 1
    for m, member in enumerate(members):
        if are_equal:
            p.report(f"member {m} of {len(members)}", [t.numpy() for t in member.parameters], expected, held_out)
        else:
            report(member, expected, held_out)


if __name__ == "__main__":
    main()

"""Shares of a batch by speed: the arithmetic with imaginary devices, and members of contexts of one device."""
import itertools
import threading
import unittest

import numpy as np
import tenon
from tenon import parallel

from common import Arrays, assert_within, gamma
from test_groups import members
from transports import Transport, World


def longest(counts, speeds):
    """Returns the time of the slowest member."""
    return max(c / s for c, s in zip(counts, speeds) if c > 0)


def run(shares, speeds, slowed=lambda: 1.0):
    """Records steps of imaginary devices until the shares are fixed. Returns the number of steps."""
    steps = 0
    while not shares.is_fixed:
        shares.record([c / s * slowed() for c, s in zip(shares.counts, speeds)])
        steps += 1
        if steps > 1000:
            raise AssertionError("the shares are never fixed")
    return steps


class Divide(Arrays):
    def test_known_speeds(self):
        for batch, speeds, expected in ((96, [1, 1], [48, 48]), (96, [1, 3], [24, 72]), (40, [1, 50], [0, 40]),
                                        (7, [2, 2], [4, 3]), (3, [1] * 5, [1, 1, 1, 0, 0]), (9, [0, 1, 0], [0, 9, 0]),
                                        (0, [1, 2], [0, 0]), (102, [1, 50], [2, 100]), (5, [1e-300, 1e300], [0, 5])):
            self.assertEqual(parallel.divide(batch, speeds), expected)

    def test_no_division_is_faster(self):
        for batch, count in ((1, 3), (2, 2), (7, 2), (6, 3), (5, 4)):
            for _ in range(20):
                speeds = np.exp(self.rng.normal(0, 2, count)).tolist()
                found = parallel.divide(batch, speeds)
                self.assertEqual(sum(found), batch)
                best = min(longest(c, speeds) for c in itertools.product(range(batch + 1), repeat=count)
                           if sum(c) == batch)
                self.assertLessEqual(longest(found, speeds), best * (1 + 1e-15))

    def test_shares_are_those_of_the_speeds(self):
        for count in range(1, 9):
            speeds = self.rng.uniform(1, 10, count)
            found = parallel.divide(100000, speeds)
            self.assertEqual(sum(found), 100000)
            np.testing.assert_allclose(found, 100000 * speeds / speeds.sum(), atol=count)

    def test_invalid_input(self):
        for bad in (float("nan"), float("inf"), -1.0):
            with self.assertRaisesRegex(ValueError, f"divide: speeds: the speed of member 1 is {bad}"):
                parallel.divide(4, [1.0, bad])
        for speeds in ([], [0, 0]):
            with self.assertRaisesRegex(ValueError, f"none of {len(speeds)} members has a speed above 0"):
                parallel.divide(4, speeds)
        with self.assertRaisesRegex(ValueError, "divide: batch: -1 is out of range"):
            parallel.divide(-1, [1.0])
        with self.assertRaisesRegex(TypeError, "divide: speeds: expected a number, got str"):
            parallel.divide(1, ["fast"])


class Imaginary(Arrays):
    def test_they_begin_equal(self):
        for batch, count, expected in ((96, 2, [48, 48]), (7, 3, [3, 2, 2]), (2, 3, [1, 1, 0])):
            shares = parallel.Shares(count, batch)
            self.assertFalse(shares.is_fixed)
            self.assertEqual(shares.counts, expected)

    def test_steady_speeds(self):
        for count in range(2, 9):
            for ratio in (1, 3, 50):
                for batch in (1, count - 1, count, 37, 1000):
                    speeds = [100.0 * ratio**(m / (count - 1)) for m in range(count)]
                    shares = parallel.Shares(count, batch)
                    steps = run(shares, speeds)
                    turns = -(-count // batch)
                    self.assertLessEqual(steps, 2 * (turns + 3))
                    best = longest(parallel.divide(batch, speeds), speeds)
                    self.assertLessEqual(longest(shares.counts, speeds), best * (1 + 1e-12), (count, ratio, batch))

    def test_a_slow_member_costs_nothing(self):
        shares = parallel.Shares(2, 40)
        run(shares, [1.0, 50.0])
        self.assertEqual((shares.counts, shares.active, shares.weights), ([0, 40], [1], [0.0, 1.0]))
        self.assertEqual(shares.slices, [slice(0, 0), slice(0, 40)])

    def test_noise(self):
        for count in range(2, 9):
            for batch in (count, 96, 1000):
                speeds = np.exp(self.rng.uniform(0, 4, count)).tolist()
                shares = parallel.Shares(count, batch)
                run(shares, speeds, lambda: self.rng.uniform(1, 1.2))
                # Speeds and the times of steps are each measured to within 20 %.
                best = longest(parallel.divide(batch, speeds), speeds)
                self.assertLessEqual(longest(shares.counts, speeds), best * 1.2**2 * (1 + 1e-12), f"seed {self.seed}")

    def test_the_first_step_with_a_division_may_be_slow(self):
        shares, steps, seen = parallel.Shares(2, 80), 0, None
        while not shares.is_fixed:
            extra = 10.0 if shares.counts != seen else 0.0  # kernels are compiled
            seen = shares.counts
            shares.record([seen[0] / 1e3 + extra, seen[1] / 3e3 + extra])
            steps += 1
        self.assertEqual(shares.counts, [20, 60])
        self.assertEqual(steps, 4)

    def test_time_that_does_not_depend_on_the_samples(self):
        shares = parallel.Shares(2, 64)
        times = lambda counts: [0.001 + counts[0] * 0.001, 0.020 + counts[1] * 0.0001]
        while not shares.is_fixed:
            shares.record(times(shares.counts))
        best = min(max(times([c, 64 - c])) for c in range(1, 64))
        self.assertLess(max(times(shares.counts)), 1.1 * best)
        self.assertLess(max(times(shares.counts)), max(times([32, 32])))

    def test_the_best_division_is_kept(self):
        shares = parallel.Shares(2, 10, repeats=1)
        shares.record([1.0, 2.0])
        shares.record([9.0, 9.0])  # the devices disturb each other
        while not shares.is_fixed:
            shares.record([5.0, 5.0])
        self.assertEqual(shares.counts, [5, 5])

    def test_they_stay_fixed(self):
        shares = parallel.Shares(3, 60)
        run(shares, [1.0, 2.0, 3.0])
        self.assertEqual(shares.counts, [10, 20, 30])
        for _ in range(20):
            shares.record([1.0, 1.0, 100.0])
        self.assertEqual(shares.counts, [10, 20, 30])
        again = parallel.Shares(3, 60, counts=shares.counts)
        self.assertTrue(again.is_fixed)
        self.assertEqual((again.counts, again.slices), (shares.counts, shares.slices))

    def test_one_member(self):
        shares = parallel.Shares(1, 5)
        self.assertTrue(shares.is_fixed)
        self.assertEqual(shares.counts, [5])

    def test_invalid_times(self):
        shares = parallel.Shares(2, 4)
        for bad in (0.0, -1.0, float("nan"), float("inf")):
            with self.assertRaisesRegex(ValueError, f"record: times: {bad} s for 2 samples of member 1"):
                shares.record([1.0, bad])
        for times in ([], [1.0], [1.0] * 3):
            with self.assertRaisesRegex(ValueError, f"{len(times)} of them, but there are 2 members"):
                shares.record(times)
        run(shares, [1.0, 3.0])  # refused times have left nothing behind
        self.assertEqual(shares.counts, [1, 3])
        idle = parallel.Shares(2, 4, counts=[0, 4])
        idle.record([float("nan"), 1.0])

    def test_invalid_parameters(self):
        for name, arguments in (("members", (0, 4)), ("batch", (2, 0))):
            with self.assertRaisesRegex(ValueError, f"Shares: {name}: 0 is out of range"):
                parallel.Shares(*arguments)
        for name in ("rounds", "repeats"):
            with self.assertRaisesRegex(ValueError, f"Shares: {name}: 0 is out of range"):
                parallel.Shares(2, 4, **{name: 0})
        for counts in ([4], [2, 1], [1, 1, 2]):
            with self.assertRaisesRegex(ValueError, r"are not 4 samples of 2 members"):
                parallel.Shares(2, 4, counts=counts)
        with self.assertRaisesRegex(ValueError, "Shares: counts: -1 is out of range"):
            parallel.Shares(2, 4, counts=[-1, 5])


class Measured(Arrays):
    def test_real_members(self):
        """Gradients by samples are those of the whole batch on one device, whatever the shares are."""
        batch, inputs, outputs = 37, 19, 5
        x, dy = (self.rng.normal(size=(batch, n)).astype("f4") for n in (inputs, outputs))
        whole = tenon.gemm(tenon.tensor(x).T, tenon.tensor(dy / np.float32(batch))).numpy()
        size = np.abs(x.astype("f8")).T @ np.abs(dy) / batch
        for count in (1, 2, 3, 40):
            streams = members(count)
            group = tenon.Group([tenon.Stream(s.context) for s in streams])
            shares = parallel.Shares(count, batch)
            for _ in range(20):
                buckets = parallel.Buckets(group, [(inputs, outputs)])
                for m, (part, stream) in enumerate(zip(shares.slices, streams)):
                    with shares.measure(m, stream):
                        a = tenon.tensor(x[part], stream=stream)
                        d = tenon.tensor(dy[part] / np.float32(batch), stream=stream)
                        tenon.gemm(a.T, d, d=buckets.gradients[m][0], stream=stream)
                        buckets.ready(m, 0)
                buckets.finish()
                for m in (0, count - 1):
                    # Both results are within the bound of a product, whose sums have at most this many roundings.
                    assert_within(self, buckets.gradients[m][0].numpy(), whole,
                                  2 * gamma(batch + count + 2, "f4") * size)
                if shares.is_fixed:
                    break
            self.assertTrue(shares.is_fixed)
            self.assertEqual(sum(shares.counts), batch)

    def test_weights(self):
        """Means over each member's samples, weighted, are the mean over all samples."""
        shares = parallel.Shares(3, 64, counts=[40, 0, 24])  # sums of integers and divisions are exact
        values = self.rng.integers(-9, 9, (64, 4)).astype("f8")
        means = [values[part].mean(0) if c else np.zeros(4) for part, c in zip(shares.slices, shares.counts)]
        total = sum(w * mean for w, mean in zip(shares.weights, means))
        assert_within(self, total, values.mean(0), gamma(8, "f8") * 9)

    def test_the_slower_member_gets_less(self):
        streams, shares = members(2), parallel.Shares(2, 64)
        w = self.rng.normal(size=(256, 256)).astype("f4")
        x = [tenon.zeros((64 * 64 * rate, 256), context=s.context) for rate, s in zip((1, 20), streams)]
        w = [tenon.tensor(w, stream=s) for s in streams]
        while not shares.is_fixed:
            for m, rate in ((0, 1), (1, 20)):
                with shares.measure(m, streams[m]):
                    tenon.gemm(x[m][:64 * rate * shares.counts[m]], w[m], stream=streams[m])
        self.assertGreater(shares.counts[0], shares.counts[1])

    def test_nothing_is_measured_once_fixed(self):
        shares = parallel.Shares(2, 4, counts=[1, 3])
        for stream in members(2):
            with shares.measure(0, stream):
                pass
        self.assertEqual(shares.counts, [1, 3])

    def test_threads(self):
        shares, streams = parallel.Shares(4, 40, rounds=1, repeats=1), members(4)

        def member(rank):
            with shares.measure(rank, streams[rank]):
                tenon.zeros(1000, context=streams[rank].context).fill(1, stream=streams[rank])

        for _ in range(2):  # the equal division and another one, unless that is equal too
            threads = [threading.Thread(target=member, args=(rank,)) for rank in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertTrue(shares.is_fixed)
        self.assertEqual(sum(shares.counts), 40)

    def test_a_failed_step_is_made_again(self):
        shares, streams = parallel.Shares(2, 4), members(2)
        for _ in range(5):
            with shares.measure(0, streams[0]):
                pass
            with self.assertRaises(KeyError), shares.measure(1, streams[1]):
                raise KeyError
        self.assertEqual((shares.counts, shares.is_fixed), ([2, 2], False))

    def test_processes_agree(self):
        for has_threads in (True, False):
            world, fixed = World(2), {}

            def process(rank):
                streams = members(1 + rank)
                group = tenon.Group([tenon.Stream(s.context) for s in streams],
                                    transport=Transport(world, rank, has_threads), deadline=60)
                shares = parallel.Shares(group, 30)
                while not shares.is_fixed:
                    for member, stream in zip(group.ranks, streams):
                        with shares.measure(member, stream):
                            tenon.zeros(1000, context=stream.context).fill(1, stream=stream)
                fixed[rank] = shares.counts

            threads = [threading.Thread(target=process, args=(rank,)) for rank in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(fixed[0], fixed[1])
            self.assertEqual((len(fixed[0]), sum(fixed[0])), (3, 30))

    def test_a_group_in_one_process(self):
        streams = members(2)
        shares = parallel.Shares(tenon.Group(streams), 8)
        while not shares.is_fixed:
            for rank, stream in enumerate(streams):
                with shares.measure(rank, stream):
                    tenon.zeros(1000, context=stream.context).fill(1, stream=stream)
        self.assertEqual(sum(shares.counts), 8)

    def test_invalid_members(self):
        shares, streams = parallel.Shares(2, 4), members(2)
        with shares.measure(1, streams[1]):
            pass
        for rank in (-1, 1, 2):
            with self.assertRaisesRegex(ValueError, f"measure: rank {rank} is not in this process, or was measured"):
                with shares.measure(rank, streams[0]):
                    pass
        with self.assertRaisesRegex(TypeError, "Shares.measure: stream: expected a tenon.Stream, got str"):
            with shares.measure(0, "cpu"):
                pass
        with self.assertRaisesRegex(TypeError, "Shares: members: expected an integer, got list"):
            parallel.Shares(streams, 4)


if __name__ == "__main__":
    unittest.main()

"""Collectives of tenon.Group, compared with NumPy in the order of the ranks."""
import gc
import unittest

import numpy as np
import tenon

from common import Arrays
from transports import in_processes


def members(count):
    """Returns streams: of one context, of another one and, where the device can be divided, of a part of it."""
    first = tenon.default_context()
    contexts = [first, first, tenon.Context(first.device.selector)]
    try:
        contexts.append(tenon.Context(f"{first.device.selector}/2:1"))
    except tenon.Error:
        pass
    return [tenon.Stream(contexts[m % len(contexts)]) for m in range(count)]


class Groups(Arrays):
    def draw(self, group, shape, dtype="f4"):
        """Returns an array and a tensor for each member."""
        arrays = [self.rng.integers(-9, 9, shape).astype(dtype) for _ in range(len(group))]
        if dtype[0] == "f":
            arrays = [self.rng.normal(size=shape).astype(dtype) for _ in range(len(group))]
        return arrays, [tenon.tensor(a, stream=s) for a, s in zip(arrays, group.streams)]

    def all_same(self, got, expected):
        self.assertEqual(len(got), len(expected))
        for g, e in zip(got, expected):
            self.same(g, e)

    def test_combinations(self):
        for count in (1, 2, 3, 4):
            group = tenon.Group(members(count))
            self.assertEqual((group.size, len(group), len(group.streams)), (count,) * 3)
            a, x = self.draw(group, (3 * count, 5))
            total = np.add.accumulate(a)[-1]
            for kind, expected in (("sum", total), ("max", np.max(a, 0)), ("min", np.min(a, 0)),
                                   (tenon.GROUP_PRODUCT, np.multiply.accumulate(a)[-1])):
                with self.subTest(count=count, kind=kind, seed=self.seed):
                    self.all_same(group.all_reduce(x, kind=kind), [expected] * count)
                    self.all_same(group.reduce_scatter(x, kind=kind), np.split(expected, count))
                    for root in range(count):
                        y = group.reduce(x, root, kind=kind)
                        self.same(y, expected)
                        self.assertIs(y.context, group.streams[root].context)

    def test_copies(self):
        for count in (1, 2, 3, 4):
            group = tenon.Group(members(count))
            a, x = self.draw(group, (2 * count, 3), "i2")
            with self.subTest(count=count, seed=self.seed):
                self.all_same(group.all_gather(x), [np.concatenate(a)] * count)
                parts = [np.split(one, count) for one in a]
                self.all_same(group.all_to_all(x), [np.concatenate([p[m] for p in parts]) for m in range(count)])
                for root in range(count):
                    self.all_same(group.broadcast(x[root], root), [a[root]] * count)
                    self.same(group.transfer(x[root], root, count - 1 - root), a[root])

    def test_many_tensors_at_once(self):
        group, shapes = tenon.Group(members(3)), [(3, 2), (), (5,), (0, 4)]
        arrays = [[np.asarray(self.rng.normal(size=s), "f4") for s in shapes] for _ in range(3)]
        x = [[tenon.tensor(a, stream=s) for a in row] for row, s in zip(arrays, group.streams)]
        sums = [np.add.accumulate([row[i] for row in arrays])[-1] for i in range(len(shapes))]
        for row in group.all_reduce_many(x):
            self.all_same(row, sums)
        found = group.all_reduce_many(arrays, kind="max")
        np.testing.assert_array_equal(found[2][0], np.max([row[0] for row in arrays], 0))
        y = group.all_reduce_many(x, y=x)
        self.assertIs(y[1][2], x[1][2])
        self.all_same(x[2], sums)
        for bad in ([row[:2] for row in x[:2]], [x[0], x[1], x[2][:2]]):
            with self.assertRaisesRegex(ValueError, "a list for each of 3 members, all of one length"):
                group.all_reduce_many(bad)

    def test_sends_and_receives(self):
        group = tenon.Group(members(3))
        a, x = self.draw(group, (4, 3), "i4")
        for i in range(3):
            group.send(x[i], i, 2)
        self.same(group.receive(1, 2, (4, 3), dtype="i4"), a[1])
        group.send(2 * x[0], 0, 2)
        self.same(group.receive(0, 2, (4, 3), dtype="i4"), a[0])  # in the order of the sends
        y = tenon.empty((4, 3), "i4", group.streams[2].context)
        self.assertIs(group.receive(2, 2, y), y)
        self.same(y, a[2])
        self.same(group.receive(0, 2, y), 2 * a[0])
        group.wait()
        self.assertFalse(group.poll())

    def test_the_given_outputs_are_written(self):
        group = tenon.Group(members(3))
        a, x = self.draw(group, (6, 2), "i4")
        y = group.all_reduce(x, y=x)
        self.assertTrue(all(p is q for p, q in zip(x, y)))
        self.all_same(x, [sum(a)] * 3)
        whole = [tenon.zeros((6, 4), "i4", context=s.context).transpose(0, 1)[:, :6] for s in group.streams]
        group.broadcast(x[1], 1, y=[w[:2].transpose(0, 1) for w in whole])
        self.all_same(whole, [np.concatenate([sum(a).T, 0 * a[0].T])] * 3)
        group.all_gather([w[:2] for w in whole], y=[w for w in (tenon.empty((6, 6), "i4", s.context)
                                                                for s in group.streams)])
        one = group.reduce([t[:3] for t in x], 2, y=x[2][3:])
        self.same(one, 3 * sum(a)[:3])
        self.assertIs(one.memory, x[2].memory)
        self.same(group.transfer(x[0], 0, 1, y=x[1]), sum(a))

    def test_arrays_give_arrays(self):
        group = tenon.Group(members(2))
        a = [self.rng.normal(size=4).astype("f4") for _ in range(2)]
        for got in (group.all_reduce(a), group.all_gather(a), group.broadcast(a[0])):
            self.assertTrue(all(isinstance(y, np.ndarray) for y in got))
        self.assertIsInstance(group.reduce(a), np.ndarray)
        np.testing.assert_array_equal(group.transfer(a[0], 0, 1), a[0])
        mixed = [a[0], tenon.tensor(a[1], stream=group.streams[1])]
        self.all_same(group.all_reduce(mixed, kind="mean"), [(a[0] + a[1]) / 2] * 2)

    def test_order_without_waiting(self):
        """Collectives use the results of earlier work, and later work theirs; tensors may be deleted meanwhile."""
        group = tenon.Group(members(3))
        first = group.streams[0].context
        limited = tenon.Group([tenon.Stream(tenon.Context(first.device.selector, pool_limit=0)) for _ in range(2)])
        for g in (group, limited):
            a, x = self.draw(g, (1000,), "i4")
            for _ in range(150):
                x = g.all_reduce(x, kind="max")
                x = [tenon.elementwise(t, 1, kind="add", stream=s) for t, s in zip(x, g.streams)]
            g.barrier()
            self.all_same(x, [np.max(a, 0) + 150] * g.size)
            g.wait()

    def test_a_group_may_end_before_its_work(self):
        group = tenon.Group(members(2))
        a, x = self.draw(group, (50000,))
        y = group.all_reduce(x)
        del group, x
        gc.collect()
        self.all_same(y, [a[0] + a[1]] * 2)

    def test_empty_tensors(self):
        group = tenon.Group(members(2))
        _, x = self.draw(group, (0, 3))
        self.all_same(group.all_reduce(x), [np.empty((0, 3))] * 2)
        self.all_same(group.all_gather(x), [np.empty((0, 3))] * 2)

    def test_members(self):
        first = tenon.default_context()
        group = tenon.Group([first, first.device.selector])
        self.assertIs(group.streams[0], first.stream)
        self.assertEqual(group.streams[1].context.device.selector, first.device.selector)
        self.assertEqual(repr(group), "<tenon.Group of 2 members>")

    def test_invalid_input(self):
        group = tenon.Group(members(2))
        _, x = self.draw(group, (4, 3))
        other = tenon.tensor(np.ones((4, 3), "f4"), context=tenon.Context(group.streams[0].context.device.selector))
        many = tenon.Stream()
        for call, kind, message in (
                (lambda: tenon.Group([]), tenon.InvalidArgument, "count is 0"),
                (lambda: tenon.Group([many, many]), tenon.InvalidArgument, "the same stream"),
                (lambda: tenon.Group(3), TypeError, "members: expected a sequence"),
                (lambda: tenon.Group([3]), TypeError, r"members\[0\]: expected a tenon.Stream"),
                (lambda: tenon.Group(["no such device"]), tenon.DeviceNotFound, "no such device"),
                (lambda: group.all_reduce_many([[t] for t in x], y=[None, None]), TypeError, r"y\[0\]: expected a seq"),
                (lambda: group.all_reduce(x[:1]), ValueError, "x: 1 tensors; expected 2"),
                (lambda: group.all_reduce(x, y=x[:1]), ValueError, "y: 1 tensors; expected 2"),
                (lambda: group.all_reduce(x[0]), ValueError, "x: 4 tensors; expected 2"),
                (lambda: group.all_reduce([x[0], 3]), TypeError, r"x\[1\]: expected a tenon.Tensor"),
                (lambda: group.all_reduce(x, y=[x[0], np.ones((4, 3), "f4")]), TypeError, "which is written"),
                (lambda: group.all_reduce([x[0], other]), ValueError, r"x\[1\] belongs to another context"),
                (lambda: group.all_reduce([x[0], x[1][:3]]), tenon.InvalidArgument, "shape is 3x3, must be 4x3"),
                (lambda: group.all_reduce(x, kind="sums"), ValueError, "unknown 'sums'; valid: 'sum'"),
                (lambda: group.all_reduce(x, kind=99), tenon.InvalidArgument, "kind is 99"),
                (lambda: group.all_reduce([t.astype("i4") for t in x], kind="mean"), tenon.Unsupported, "kind 1 is"),
                (lambda: group.all_reduce(x, kind=1.5), TypeError, "kind: expected an integer"),
                (lambda: group.reduce(x, 2), ValueError, "root: 2 is out of range"),
                (lambda: group.transfer(x[0], 0, -1), ValueError, "target: -1 is out of range"),
                (lambda: group.transfer(x[0], 0, 1, y=x[1][:2]), ValueError, "y is f32"),
                (lambda: group.send(x[0], 0, 2), ValueError, "target: 2 is out of range"),
                (lambda: group.receive(2, 0, (3,)), ValueError, "source: 2 is out of range"),
                (lambda: group.receive(1, 0, "3"), TypeError, "a tenon.Tensor or a shape"),
                (lambda: group.shrink(), tenon.Unsupported, "shrink"),
                (lambda: tenon.Group([many], deadline=0), tenon.InvalidArgument, "deadline"),
                (lambda: tenon.Group([many], deadline="1"), TypeError, "deadline: expected a number"),
                (lambda: tenon.Group([many], chunk_bytes=-1), ValueError, "chunk_bytes: -1 is out of range"),
                (lambda: tenon.Group([many], transport=3), TypeError, "whose `table` is a tenon_transport"),
                (lambda: tenon.Group([many], transport=tenon.ffi.new("int *")), TypeError, "tenon_transport"),
                (lambda: group.broadcast(x[0], 1.0), TypeError, "root: expected an integer"),
                (lambda: group.reduce_scatter([t[:3] for t in x]), tenon.InvalidArgument, "multiple"),
                (lambda: group.all_gather([t[0, 0] for t in x]), tenon.InvalidArgument, "rank"),
                (lambda: group.all_to_all(x, y=x), tenon.InvalidArgument, "overlap")):
            with self.assertRaisesRegex(kind, message):
                call()
        self.all_same(group.all_reduce(x, kind="max"), [np.maximum(x[0].numpy(), x[1].numpy())] * 2)


class Processes(Arrays):
    """Groups that a transport connects; threads are its processes."""

    def right(self, results):
        for result in results:
            if isinstance(result, Exception):
                raise result

    def test_collectives(self):
        a = [self.rng.normal(size=(6, 5)).astype("f4") for _ in range(3)]

        def work(rank, group, _):
            x = tenon.tensor(a[rank], stream=group.streams[0])
            self.assertEqual((group.size, group.ranks, len(group.streams)), (3, range(rank, rank + 1), 1))
            self.same(group.all_reduce([x])[0], a[0] + a[1] + a[2])
            self.same(group.all_reduce_many([[x, x[:1]]])[0][1], (a[0] + a[1] + a[2])[:1])
            self.same(group.reduce_scatter([x], kind="max")[0], np.max(a, 0)[2 * rank:2 * rank + 2])
            self.same(group.all_gather([x])[0], np.concatenate(a))
            self.same(group.all_to_all([x])[0], np.concatenate([one[2 * rank:2 * rank + 2] for one in a]))
            y = group.reduce([x], 1)
            if rank == 1:
                self.same(y, a[0] + a[1] + a[2])
                y = group.broadcast(x, 1)[0]
            else:
                self.assertIsNone(y)
                with self.assertRaisesRegex(ValueError, "x must be None and y is required"):
                    group.broadcast(x, 1)
                y = group.broadcast(None, 1, y=[tenon.empty((6, 5), context=x.context)])[0]
            self.same(y, a[1])
            group.send(x, rank, (rank + 1) % 3)
            self.same(group.receive((rank + 2) % 3, rank, (6, 5)), a[(rank + 2) % 3])
            with self.assertRaisesRegex(ValueError, "is not a member of this process"):
                group.send(x, (rank + 1) % 3, rank)
            group.barrier()
            group.wait()
        results, transports = in_processes(3, work)
        self.right(results)
        gc.collect()
        self.assertTrue(all(t.is_freed for t in transports))

    def test_without_a_thread(self):
        def work(rank, group, _):
            y = group.all_reduce([tenon.tensor(np.array([rank + 1], "i4"), stream=group.streams[0])])[0]
            while group.poll():
                pass
            self.same(y, np.array([3]))
        self.right(in_processes(2, work, has_threads=False)[0])

    def test_calls_that_differ(self):
        def work(rank, group, _):
            group.all_reduce([tenon.zeros(4 + rank, context=group.streams[0].context)])
            group.wait()
        for result in in_processes(2, work)[0]:
            self.assertIsInstance(result, tenon.Mismatch)
            self.assertIsInstance(result, ValueError)
            self.assertEqual(result.status, tenon.lib.TENON_ERROR_MISMATCH)
            self.assertIn("tenon.Group.all_reduce", str(result))

    def test_a_process_that_does_not_answer(self):
        def work(rank, group, world):
            x = [tenon.zeros(4, context=group.streams[0].context)]
            group.all_reduce(x)
            group.wait()
            world.dropped = 1
            group.all_reduce(x)
            if rank == 0:
                group.wait()
        results, _ = in_processes(2, work, deadline=0.5)
        self.assertIsInstance(results[0], tenon.Timeout)
        self.assertIsInstance(results[0], TimeoutError)


if __name__ == "__main__":
    unittest.main()

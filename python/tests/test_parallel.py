"""The helpers of tenon.parallel, on members of one and of several contexts. The examples test them in whole trainings."""
import unittest

import numpy as np
import tenon
from tenon import parallel

from common import Arrays, assert_within, gamma
from test_groups import members


class Streams(unittest.TestCase):
    def test_each_member_has_its_own(self):
        for count in (1, 2, 5, 64):
            found = parallel.streams(count)
            self.assertEqual(len({id(s) for s in found}), count)
            units = {s.context.device.compute_units for s in found}
            self.assertEqual(len(units), 1, "the members are not equal")
            self.assertEqual(tenon.Group(found).size, count)

    def test_a_selector(self):
        device = tenon.default_context().device
        for stream in parallel.streams(3, device.selector):
            self.assertEqual(stream.context.device.name, device.name)
        with self.assertRaises(tenon.DeviceNotFound):
            parallel.streams(2, "no such device")


class Buckets(Arrays):
    def test_sums(self):
        shapes = [(5, 3), (7,), (), (4, 4), (0, 2), (129,)]
        for count, size, expected in ((1, 0, 6), (2, 300, 3), (3, 25 << 20, 1)):
            group = tenon.Group(members(count))
            buckets = parallel.Buckets(group, shapes, bytes=size)
            self.assertEqual(len(buckets), expected)
            for _ in range(2):
                arrays = [[self.rng.normal(size=s).astype("f4") for s in shapes] for _ in range(count)]
                for i in reversed(range(len(shapes))):
                    for m, stream in enumerate(group.streams):
                        buckets.gradients[m][i].upload(np.asarray(arrays[m][i]), stream)
                        buckets.ready(m, i)
                buckets.finish()
                for m in range(count):
                    for i in range(len(shapes)):
                        total = arrays[0][i]
                        for other in arrays[1:]:
                            total = total + other[i]
                        self.same(buckets.gradients[m][i], total, "f32")

    def test_kinds_and_types(self):
        group = tenon.Group(members(2))
        buckets = parallel.Buckets(group, [(3,)], dtype="f64", kind="mean")
        for m, stream in enumerate(group.streams):
            buckets.gradients[m][0].upload(np.array([1.0, 2.0, 4.0]) * (m + 1), stream)
            buckets.ready(m, 0)
        buckets.finish()
        self.same(buckets.gradients[1][0], np.array([1.5, 3.0, 6.0]), "f64")

    def test_gradients_must_be_ready_once(self):
        buckets = parallel.Buckets(tenon.Group(members(2)), [(3,), (4,)])
        buckets.ready(1, 0)
        for member, index in ((1, 0), (2, 0), (0, 2), (0, -1)):
            with self.assertRaisesRegex(ValueError, f"gradient {index} of member {member} does not exist or is ready"):
                buckets.ready(member, index)
        with self.assertRaisesRegex(ValueError, "gradient 0 of member 0 is not ready"):
            buckets.finish()
        for member, index in ((0, 0), (0, 1), (1, 1)):
            buckets.ready(member, index)
        buckets.finish()


class Sharded(Arrays):
    """Compared with Adam on whole parameters and on sums in the order of the ranks, bit for bit."""

    shapes = [[(5, 3), (3,)], [(70, 2), (2,)], [(1,)]]

    def draw(self):
        return [[self.rng.normal(size=s).astype("f4") for s in layer] for layer in self.shapes]

    def alone(self, given, all_gradients):
        """Returns the parameters of layers after a step with each element of all_gradients, lists by member."""
        found = [[tenon.tensor(v) for v in layer] for layer in given]
        moments = [[(tenon.zeros(v.shape), tenon.zeros(v.shape)) for v in layer] for layer in given]
        for step, gradients in enumerate(all_gradients, 1):
            for i, layer in enumerate(found):
                for j, value in enumerate(layer):
                    total = gradients[0][i][j]
                    for other in gradients[1:]:
                        total = total + other[i][j]
                    tenon.adam(tenon.tensor(total), value, *moments[i][j], step=step, learning_rate=0.1)
        return [[t.numpy() for t in layer] for layer in found]

    def test_optimizer_state(self):
        for count in (1, 2, 3):
            group, given = tenon.Group(members(count)), self.draw()
            flat = [v for layer in given for v in layer]
            optimizer = parallel.ShardedAdam(group, flat, learning_rate=0.1)
            steps = [[self.draw() for _ in range(count)] for _ in range(2)]
            for gradients in steps:
                for m, stream in enumerate(group.streams):
                    for tensor, value in zip(optimizer.gradients[m], (v for layer in gradients[m] for v in layer)):
                        tensor.upload(value, stream)
                optimizer.step()
            expected = [v for layer in self.alone(given, steps) for v in layer]
            for m in range(count):
                for tensor, value in zip(optimizer.parameters[m], expected):
                    self.same(tensor, value)

    def test_layers(self):
        for count in (1, 2, 3):
            group, given = tenon.Group(members(count)), self.draw()
            layers = parallel.ShardedLayers(group, given, learning_rate=0.1)
            self.assertEqual(len(layers), len(given))
            steps = [[self.draw() for _ in range(count)] for _ in range(2)]
            for gradients in steps:
                for i in reversed(range(len(given))):
                    for m, stream in enumerate(group.streams):
                        for tensor, value in zip(layers.gradients(i)[m], gradients[m][i]):
                            tensor.upload(value, stream)
                    layers.reduce(i)
                layers.step()
            expected = self.alone(given, steps)
            for i in (0, 1, 0, 2, 1, 0):
                for tensors in layers.gather(i):
                    for tensor, value in zip(tensors, expected[i]):
                        self.same(tensor, value)

    def test_two_layers_are_valid_at_a_time(self):
        group, given = tenon.Group(members(2)), self.draw()
        layers = parallel.ShardedLayers(group, given)
        first, second = layers.gather(0), layers.gather(1)
        again = layers.gather(0)
        for m in range(2):
            for a, b, expected in zip(first[m], again[m], given[0]):
                self.same(a, expected)
                self.assertIs(a.memory, b.memory)
            layers.gather(2)  # replaces layer 1, which was not used last
            self.same(first[m][0], given[0][0])
            self.assertIs(second[m][0].memory, layers.gather(2)[m][0].memory)

    def test_invalid_input(self):
        group = tenon.Group(members(2))
        for parameters in ([], [np.ones(3, "f4"), np.ones(3, "f8")]):
            with self.assertRaisesRegex(ValueError, "parameters of one type are required"):
                parallel.ShardedAdam(group, parameters)
            with self.assertRaisesRegex(ValueError, "parameters of one type are required"):
                parallel.ShardedLayers(group, [parameters])


class Tensors(Arrays):
    def test_columns_and_rows(self):
        for count in (1, 2, 3):
            group = tenon.Group(members(count))
            inputs, hidden, outputs, batch = 5, 6 * count, 4, 7
            x, w1, b1, w2, b2, dy = (self.rng.integers(-3, 4, s).astype("f4") for s in (
                (batch, inputs), (inputs, hidden), hidden, (hidden, outputs), outputs, (batch, outputs)))
            first = parallel.ColumnParallel(group, w1, b1, "relu")
            second = parallel.RowParallel(group, w2, b2)
            give = lambda a: [tenon.tensor(a, stream=s) for s in group.streams]
            y = second.forward(first.forward(give(x)))
            dx = first.backward(second.backward(give(dy)))
            h = np.maximum(x @ w1 + b1, 0)  # sums of small integers are exact
            dh = dy @ w2.T * (h > 0)
            columns = [slice(6 * m, 6 * m + 6) for m in range(count)]
            for m, part in enumerate(columns):
                self.same(y[m], h @ w2 + b2)
                self.same(dx[m], dh @ w1.T)
                self.same(first.dw[m], (x.T @ dh)[:, part])
                self.same(first.dbias[m], dh.sum(0)[part])
                self.same(second.dw[m], (h.T @ dy)[part])
                self.same(second.dbias[m], dy.sum(0))

    def test_real_numbers(self):
        group = tenon.Group(members(3))
        x, w, b = (self.rng.normal(size=s).astype("f4") for s in ((20, 300), (300, 10), 10))
        parts = [tenon.tensor(np.ascontiguousarray(p), stream=s)
                 for p, s in zip(np.split(x, 3, 1), group.streams)]
        for y in parallel.RowParallel(group, w, b).forward(parts):
            expected = x.astype("f8") @ w + b
            assert_within(self, y.numpy(), expected, gamma(300 + 9 + 8 + 4, "f4") * (np.abs(x) @ np.abs(w) + np.abs(b)))

    def test_invalid_sizes(self):
        with self.assertRaises(ValueError):
            parallel.ColumnParallel(tenon.Group(members(2)), np.ones((2, 3), "f4"), np.ones(3, "f4"))


class Experts(Arrays):
    def test_rows_find_their_experts_and_return(self):
        for count in (1, 2, 3):
            group, own, slots = tenon.Group(members(count)), 2, 17
            exchange = parallel.Exchange(group, own * count)
            for high in (own * count, 1):  # any experts, and all rows to one
                chosen = self.rng.integers(0, high, (count, slots)).astype("i4")
                x = self.rng.normal(size=(count, slots, 5)).astype("f4")
                give = lambda arrays: [tenon.tensor(a, stream=s) for a, s in zip(arrays, group.streams)]
                offsets = [t.numpy() for t in exchange.route(give(chosen))]
                rows = exchange.dispatch(give(x))
                blocks = exchange.blocks(rows)
                for m in range(count):
                    for e in range(own):
                        wanted = x[chosen == own * m + e]  # in the order of the members and of their rows
                        self.same(rows[m][int(offsets[m][e]):int(offsets[m][e + 1])], wanted)
                        filled = np.zeros((count * slots, 5), "f4")
                        filled[:len(wanted)] = wanted
                        self.same(blocks[m][e], filled)
                    self.assertEqual(rows[m].shape, (count * slots, 5))
                    self.assertFalse(rows[m][int(offsets[m][-1]):].numpy().any())
                for m, y in enumerate(exchange.collect(rows)):
                    self.same(y, x[m])

    def test_the_number_of_experts(self):
        for experts in (0, 3, -2):
            with self.assertRaisesRegex(ValueError, f"{experts} experts are not a multiple of 2 members"):
                parallel.Exchange(tenon.Group(members(2)), experts)


class Pipeline(unittest.TestCase):
    def test_order(self):
        for stages in range(1, 6):
            for count in range(8):
                steps = list(parallel.one_forward_one_backward(stages, count))
                self.assertEqual(len(set(steps)), len(steps))
                self.assertEqual(len(steps), 2 * stages * count)
                at = {step: number for number, step in enumerate(steps)}
                for (stage, is_forward, i), number in at.items():
                    if is_forward and stage > 0:
                        self.assertLess(at[stage - 1, True, i], number)
                    if not is_forward:
                        self.assertLess(at[stage, True, i], number)
                        self.assertLess(at.get((stage + 1, False, i), -1), number)
                for stage in range(stages):
                    own, kept = [s for s in steps if s.stage == stage], 0
                    self.assertEqual([s.micro_batch for s in own if not s.is_forward], list(range(count)))
                    for step in own:
                        kept += 1 if step.is_forward else -1
                        self.assertLessEqual(kept, stages - stage)


class Mesh(Arrays):
    def test_groups_along_axes(self):
        streams = members(12)
        groups = parallel.mesh(streams, data=2, pipeline=3, tensor=2)
        self.assertEqual({name: len(found) for name, found in groups.items()}, dict(data=6, pipeline=4, tensor=6))
        self.assertEqual(groups["pipeline"][1, 0].streams, [streams[i] for i in (6, 8, 10)])
        self.assertEqual(groups["data"][2, 1].streams, [streams[i] for i in (5, 11)])
        x = [tenon.tensor(np.array([m + 1], "i4"), stream=s) for m, s in enumerate(streams)]
        for axis in ("tensor", "pipeline", "data"):  # together the sum of all
            for index, group in groups[axis].items():
                mine = [streams.index(s) for s in group.streams]
                for m, y in zip(mine, group.all_reduce([x[m] for m in mine])):
                    x[m] = y
        for y in x:
            self.same(y, np.array([78], "i4"))

    def test_wrong_size(self):
        with self.assertRaisesRegex(ValueError, "3 members, but a grid of 2 × 2"):
            parallel.mesh(members(3), a=2, b=2)


if __name__ == "__main__":
    unittest.main()

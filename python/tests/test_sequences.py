"""Tests tenon.Sequence and runs with bound operands."""
import threading
import unittest

import numpy as np
import tenon

from common import integers


class Sequences(unittest.TestCase):
    def setUp(self):
        self.x, self.w, self.v = integers(1, 5, 7), integers(2, 7, 9), integers(3, 9, 4)
        self.expected = np.maximum(self.x @ self.w, 0) @ self.v

    def layers(self):
        """Returns relu(x w) v; the intermediate is activated in a step that merges."""
        layers = tenon.Sequence()
        x, h, r, y = (layers.tensor((5, 7), name="x"), layers.tensor((5, 9)), layers.tensor((5, 9)),
                      layers.tensor((5, 4), name="y"))
        w, v = tenon.tensor(self.w), tenon.tensor(self.v)
        layers.add(tenon.gemm_plan(x, w, d=h), a=x, b=w, d=h)
        layers.add(tenon.activation_forward_plan(h, y=r, activation="relu"), x=h, y=r)
        layers.add(tenon.gemm_plan(r, v, d=y), label="last", a=r, b=v, d=y)
        return layers

    def test_runs(self):
        layers = self.layers()
        self.assertEqual(len(layers), 3)
        self.assertIs(layers.finish(), layers)
        self.assertEqual(len(layers), 2)
        self.assertEqual(layers.operands, ["x", "y"])
        self.assertGreaterEqual(layers.workspace, 4 * 5 * 9)
        self.assertIn("gemm/", layers.describe()[0])
        y = tenon.zeros((5, 4))
        layers.run(x=tenon.tensor(self.x), y=y)  # the weights are kept by the sequence
        np.testing.assert_array_equal(y.numpy(), self.expected)
        layers.run(x=tenon.tensor(2 * self.x), y=y, scalars={"last.alpha": 3})
        np.testing.assert_array_equal(y.numpy(), 6 * self.expected)
        layers.run(x=tenon.tensor(2 * self.x), y=y, scalars={"last.alpha": 0.5})
        np.testing.assert_array_equal(y.numpy(), self.expected)

    def test_slices_are_operands(self):
        layers, many, y = self.layers().finish(), integers(4, 3, 5, 7), tenon.zeros((3, 5, 4))
        x = tenon.tensor(many)
        for i in range(3):
            layers.run(x=x[i], y=y[i])
        np.testing.assert_array_equal(y.numpy(), np.maximum(many @ self.w, 0) @ self.v)

    def test_threads(self):
        layers, wrong = self.layers().finish(), []

        def run(factor):
            stream = tenon.Stream()
            x, y = tenon.tensor(factor * self.x, stream=stream), tenon.zeros((5, 4))
            bound = layers.bind(x=x, y=y, stream=stream)
            for _ in range(50):
                self.assertIsNone(bound.run())
                if not np.array_equal(y.numpy(stream), factor * self.expected):
                    wrong.append(factor)

        threads = [threading.Thread(target=run, args=(f,)) for f in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_copies_concatenations_and_packed_weights(self):
        layers = tenon.Sequence()
        x, h, y = layers.tensor((5, 7), name="x"), layers.tensor((5, 9)), layers.tensor((5, 14), name="y")
        plan = tenon.gemm_packed_plan(x, tenon.gemm_pack(self.w), d=h)
        layers.add(plan, a=x, d=h)
        del plan
        part = tenon.tensor(self.x[:, :5])
        layers.concat([h, part], y, axis=1)
        layers.copy(x[:, :2], y[:, :2])
        layers.finish()
        out = tenon.zeros((5, 14))
        layers.run(x=tenon.tensor(self.x), y=out)
        np.testing.assert_array_equal(out.numpy(), np.hstack([self.x[:, :2], (self.x @ self.w)[:, 2:], self.x[:, :5]]))

    def test_bad_input(self):
        layers = self.layers().finish()
        x, y = tenon.tensor(self.x), tenon.zeros((5, 4))
        other = tenon.Sequence()
        t = other.tensor((5, 7), name="x")
        plan = tenon.gemm_plan(t, tenon.tensor(self.w))
        for error, pattern, call in (
                (tenon.InvalidArgument, '"y" is missing', lambda: layers.run(x=x)),
                (tenon.InvalidArgument, '"z" is not an operand', lambda: layers.run(x=x, y=y, z=y)),
                (TypeError, "x: expected a tenon.Tensor, got ndarray", lambda: layers.run(x=self.x, y=y)),
                (ValueError, "y has .type, shape, strides.", lambda: layers.run(x=x, y=y[:2])),
                (tenon.InvalidArgument, "no step of the sequence", lambda: layers.run(x=x, y=y, scalars={"a.b": 1})),
                (TypeError, "last.alpha: expected a number", lambda: layers.run(x=x, y=y, scalars={"last.alpha": "1"})),
                (tenon.InvalidArgument, "is finished", lambda: layers.tensor((1,))),
                (tenon.InvalidArgument, "is not finished", lambda: other.run(x=x)),
                (tenon.InvalidArgument, "no step uses the operand", other.finish),
                (tenon.InvalidArgument, "is an operand", lambda: other.tensor((1,), name="x")),
                (TypeError, "name: expected a str", lambda: other.tensor((1,), name=1)),
                (TypeError, "plan: expected a tenon.Plan", lambda: other.add(None)),
                (TypeError, "b: expected a tenon.Tensor", lambda: other.add(plan, a=t)),
                (TypeError, "unknown or too many", lambda: other.add(plan, e=t)),
                (TypeError, "copy: x: expected a tenon.Tensor", lambda: other.copy(1, y)),
                (tenon.InvalidArgument, "memory is that of a sequence", t.numpy),
                (tenon.InvalidArgument, "memory is that of a sequence", lambda: t + t)):
            with self.subTest(pattern=pattern), self.assertRaisesRegex(error, pattern):
                call()


class BoundPlans(unittest.TestCase):
    def test_runs(self):
        a, b = integers(5, 4, 6), integers(6, 6, 3)
        x, w = tenon.tensor(a), tenon.tensor(b)
        bound = tenon.gemm_plan(x, w).bind(x, b=w)
        d = bound.run()
        np.testing.assert_array_equal(d.numpy(), a @ b)
        x.fill(1)
        self.assertIs(bound.run(), d)
        np.testing.assert_array_equal(d.numpy(), np.ones_like(a) @ b)

    def test_bad_input(self):
        x, w = tenon.zeros((4, 6)), tenon.zeros((6, 3))
        plan = tenon.gemm_plan(x, w)
        with self.assertRaisesRegex(TypeError, "unknown or too many"):
            plan.bind(x, w, alpha=2)
        with self.assertRaisesRegex(TypeError, "b: expected"):
            plan.bind(x)


if __name__ == "__main__":
    unittest.main()

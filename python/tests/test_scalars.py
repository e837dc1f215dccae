"""Scalars of a plan's run give the same bits as the immediate call with these parameters, for that run only."""
import threading
import unittest

import numpy as np
import tenon
from common import reals
from tenon import _calls


def by_calls(x, steps):
    """Trains a layer with dropout by immediate calls."""
    w, first, second = tenon.tensor(reals(1, 12, 8)), tenon.zeros((12, 8)), tenon.zeros((12, 8))
    for step in range(1, steps + 1):
        h = tenon.dropout(x, seed=5, sequence=step, probability=0.25)
        d = tenon.gemm(h, w)
        tenon.adam(tenon.gemm(h.T, d), w, first, second, step=step, learning_rate=0.1 / step)
    return w.numpy()


def by_plans(x, steps):
    """Trains the same layer by runs of plans that were made for other scalars."""
    w, first, second = tenon.tensor(reals(1, 12, 8)), tenon.zeros((12, 8)), tenon.zeros((12, 8))
    drop = tenon.dropout_plan(x)
    forward, backward = tenon.gemm_plan(x, w), tenon.gemm_plan(x.T, tenon.view((16, 8)))
    update = tenon.adam_plan(tenon.view(w.shape), w, first, second)
    for step in range(1, steps + 1):
        h = drop.run(x, seed=5, sequence=step, probability=0.25)
        d = forward.run(h, w)
        update.run(backward.run(h.T, d), w, first, second, step=np.int64(step),
                   learning_rate=np.float64(0.1 / step))
    return w.numpy()


class Scalars(unittest.TestCase):
    def test_plans_train_as_calls_do(self):
        x = tenon.tensor(reals(0, 16, 12))
        trained = by_calls(x, 5)
        np.testing.assert_array_equal(by_plans(x, 5), trained)
        self.assertFalse(np.array_equal(trained, reals(1, 12, 8)))

    def test_they_are_listed(self):
        plan = tenon.random_plan(y=(4,), kind="normal", seed=2**64 - 1, mean=0.5)
        self.assertEqual(plan.scalars, {"seed": 2**64 - 1, "sequence": 0, "mean": 0.5, "deviation": 1.0})
        plan.run(seed=3, mean=8)
        self.assertEqual(plan.scalars["seed"], 2**64 - 1)
        self.assertEqual(tenon.activation_forward_plan(tenon.view(4), activation="relu").scalars, {})

    def test_names_with_dots(self):
        x = tenon.tensor(reals(0, 40))
        plan = tenon.activation_forward_plan(x, activation=tenon.Activation("leaky_relu", 0.25))
        self.assertEqual(plan.scalars, {"activation.alpha": 0.25})
        expected = tenon.activation_forward(x, activation=tenon.Activation("leaky_relu", 0.5)).numpy()
        np.testing.assert_array_equal(plan.run(x, **{"activation.alpha": 0.5}).numpy(), expected)

    def test_no_parameter_has_the_name_of_an_operand(self):
        for name, (_, operands, _, _, parameters) in _calls.OPERATIONS.items():
            self.assertFalse({*operands} & {*parameters, "stream"}, name)

    def test_threads_have_their_own(self):
        plan, wrong = tenon.random_plan(y=(500,)), []
        expected = [tenon.random(y=(500,), seed=seed).numpy() for seed in range(4)]

        def run(seed):
            stream = tenon.Stream()
            for _ in range(50):
                got = plan.run(seed=seed, stream=stream).numpy(stream)
                if not np.array_equal(got, expected[seed]):
                    wrong.append(seed)

        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_wrong_ones(self):
        plan = tenon.random_plan(y=(4,), kind="normal")
        for error, pattern, named in (
                (TypeError, "operands are y; the scalars are seed, sequence, mean, deviation", {"low": 1}),
                (TypeError, "random: seed: expected an integer, got float", {"seed": 0.5}),
                (TypeError, "seed: expected an integer, got str", {"seed": "1"}),
                (TypeError, "seed: expected an integer, got NoneType", {"seed": None}),
                (ValueError, "seed: -1 is out of range, allowed are 0 to 18446744073709551615", {"seed": -1}),
                (ValueError, "seed: 18446744073709551616 is out of range", {"seed": 2**64}),
                (TypeError, "mean: expected a number, got str", {"mean": "1"}),
                (ValueError, "mean: the integer is too large", {"mean": 10**400}),
                (tenon.InvalidArgument, "tenon.random_plan: .*mean is nan", {"mean": float("nan")}),
                (tenon.InvalidArgument, "deviation is -1", {"deviation": -1})):
            with self.subTest(named=named), self.assertRaisesRegex(error, pattern):
                plan.run(**named)
        product = tenon.gemm_plan(tenon.view((4, 4)), tenon.view((4, 4)))
        with self.assertRaisesRegex(tenon.InvalidArgument, "alpha.* must not be 0"):
            product.run(tenon.zeros((4, 4)), tenon.zeros((4, 4)), alpha=0)


if __name__ == "__main__":
    unittest.main()

"""Methods of tensors and NumPy's functions on them, compared with NumPy on arrays."""
import unittest

import numpy as np
import tenon
from common import Arrays, pair, random_shape, reals
from tenon import _functions, _operations
from tenon._methods import FUNCTIONS
from tenon._protocols import FUNCTIONS as NUMPYS
from tenon._protocols import UFUNCS
from tenon._words import WORDS

# Functions that are computed here; the tests of the operations compute all.
SOME = {"sqrt": "sqrt", "exp": "exp", "log": "log", "tanh": "tanh", "asinh": "arcsinh", "floor": "floor",
        "sign": "sign", "abs": "absolute"}


class Functions(Arrays):
    def test_they_are_methods_and_functions(self):
        x = np.abs(reals(1, 4, 9)) + np.float32(0.25)
        t = tenon.tensor(x)
        for name, numpys in SOME.items():
            with self.subTest(name):
                got = getattr(t, name)()
                np.testing.assert_allclose(got.numpy(), getattr(np, numpys)(x), 1e-6, 1e-6)
                self.same(getattr(np, numpys)(t), got.numpy())
                if name != "abs":  # would hide Python's
                    self.same(getattr(tenon, name)(t), got.numpy())
                    np.testing.assert_array_equal(getattr(tenon, name)(x), got.numpy())
        np.testing.assert_array_equal(tenon.maximum(x, 1), np.maximum(x, 1))
        self.same(tenon.minimum(0.5, t), np.minimum(x, np.float32(0.5)))

    def test_the_tables_are_complete(self):
        kinds = set(WORDS["tenon_function_kind"])
        self.assertEqual(set(FUNCTIONS) | {"neg", "round"}, kinds)
        for kind in FUNCTIONS:
            self.assertEqual(getattr(tenon.Tensor, kind).__name__, kind)
            if kind != "abs":
                self.assertIn(kind, tenon.__all__)
        self.assertFalse({*_functions.__all__} & {*_operations.__all__})
        for name in UFUNCS:
            self.assertIsInstance(getattr(np, name), np.ufunc)
        for name in NUMPYS:
            self.assertTrue(callable(getattr(np, name)), name)

    def test_of_integers(self):
        i = tenon.tensor(np.array([-2, 0, 3], "i4"))
        self.same(i.abs(), [2, 0, 3], "i32")
        self.same(i.sign(), [-1, 0, 1], "i32")
        self.same(i.floor(), [-2, 0, 3], "i32")
        self.assertEqual(i.exp().dtype, "f32")
        self.same(i.isnan(), [False] * 3, "bool")
        self.same(i.isfinite(), [True] * 3, "bool")
        self.assertIsInstance(tenon.exp(np.zeros(2, "i4")), np.ndarray)

    def test_tests(self):
        x = np.array([np.nan, np.inf, -np.inf, 1], "f4")
        t = tenon.tensor(x)
        self.same(t.isnan(), np.isnan(x))
        self.same(t.isinf(), np.isinf(x))
        self.same(np.isfinite(t), np.isfinite(x))

    def test_limits_and_roundings(self):
        x = reals(2, 40) * 3
        t = tenon.tensor(x)
        self.same(t.clip(-1, 2), x.clip(-1, 2))
        self.same(t.clip(min=tenon.tensor(x[::-1].copy())), np.maximum(x, x[::-1]))
        self.same(np.clip(t, None, 0.5), np.minimum(x, np.float32(0.5)))
        np.testing.assert_allclose(t.round(1).numpy(), x.round(1), 1e-6, 1e-6)
        self.same(t.round(), x.round())
        i = tenon.tensor(np.arange(5, dtype="i4"))
        self.same(i.clip(1, 3), [1, 1, 2, 3, 3], "i32")
        self.same(i.round(2), np.arange(5), "i32")
        with self.assertRaisesRegex(ValueError, "decimals is -1"):
            i.round(-1)


class Reductions(Arrays):
    def axes(self, rank):
        """Returns None, an axis, and some axes, counted from either end."""
        some = [int(d) - rank * int(self.rng.integers(2)) for d in self.rng.permutation(rank)[:max(rank - 1, 1)]]
        return None, int(self.rng.integers(-rank, rank)), tuple(some)

    def test_numbers(self):
        for dtype in ("f4", "i4", "u1"):
            shape = random_shape(self.rng, int(self.rng.integers(1, 5)))
            a, t = pair(self.rng, shape, dtype, -3, 3)
            for axis in self.axes(len(shape)):
                for keep in (False, True):
                    for name in ("sum", "prod", "max", "min", "any", "all"):
                        with self.subTest(seed=self.seed, dtype=dtype, name=name, axis=axis, shape=shape):
                            wide = a.astype("i8") if dtype != "f4" and name in ("sum", "prod") else a
                            expected = getattr(wide, name)(axis, keepdims=keep)
                            self.same(getattr(t, name)(axis, keepdims=keep), expected)
                            self.same(getattr(np, name)(t, axis, keepdims=keep), expected)
                    self.same(t.count_nonzero(axis, keepdims=keep), np.count_nonzero(a, axis, keepdims=keep))
                    for name, given in (("mean", {}), ("var", {}), ("std", {"correction": 0})):
                        got = getattr(t, name)(axis, keepdims=keep, **given).numpy()
                        expected = getattr(a.astype("f8"), name)(axis, keepdims=keep)
                        np.testing.assert_allclose(got, expected, 1e-5, 1e-5)

    def test_truths(self):
        a, t = pair(self.rng, (4, 5), "?", 0, 1)
        for axis in (None, 0, 1):
            self.same(t.sum(axis), a.sum(axis), "i64")
            self.same(t.any(axis), a.any(axis), "bool")
            self.same(t.all(axis), a.all(axis), "bool")
            self.same(t.max(axis), a.max(axis), "bool")
            self.same(t.min(axis), a.min(axis), "bool")
            np.testing.assert_allclose(t.mean(axis).numpy(), a.mean(axis), 1e-6)

    def test_of_samples(self):
        x = reals(3, 6, 7)
        t = tenon.tensor(x)
        np.testing.assert_allclose(t.var(1, correction=1).numpy(), x.var(1, ddof=1), 1e-5)
        np.testing.assert_allclose(np.std(t, axis=0, ddof=1).numpy(), x.std(0, ddof=1), 1e-5)
        np.testing.assert_allclose(t.logsumexp(1).numpy(), np.log(np.exp(x).sum(1)), 1e-5)

    def test_places(self):
        for dtype in ("f4", "i4"):
            a, t = pair(self.rng, (3, 4, 5), dtype, -2, 2)
            for axis in (None, 0, -1, 1):
                for name in ("argmax", "argmin"):
                    self.same(getattr(t, name)(axis), getattr(a, name)(axis), "i32")
                    self.same(getattr(np, name)(t, axis, keepdims=True), getattr(a, name)(axis, keepdims=True))

    def test_types(self):
        h = tenon.tensor(np.full(3000, 40, "f2"))
        self.assertEqual(h.sum(dtype="f32").item(), 120000)
        self.assertEqual(h.sum().item(), float("inf"))
        self.assertEqual(tenon.tensor(np.full(7, 2**62, "i8")).max().item(), 2**62)
        self.assertEqual(tenon.tensor(np.full(7, 100, "i1")).sum().item(), 700)
        self.assertEqual(tenon.tensor(np.full(3, 2**62 + 1, "i8")).argmax().item(), 0)

    def test_nothing_and_scalars(self):
        t = tenon.zeros((0, 3))
        self.same(t.sum(0), np.zeros(3))
        self.same(t.sum(1), np.zeros(0))
        self.same(t.astype("i32").prod(0), np.ones(3), "i64")
        self.same(t.any(), np.array(False))
        one = tenon.full((), 5)
        self.same(one.sum(), np.array(5))
        self.same(one.argmax(), np.array(0))
        self.same(tenon.zeros((2, 3)).sum(()), np.zeros((2, 3)))
        for call in (lambda: t.max(0), lambda: t.argmax(0), lambda: t.astype("i32").min(0)):
            self.assertRaises(ValueError, call)
        for error, call in ((IndexError, lambda: t.sum(2)), (ValueError, lambda: t.sum((0, 0))),
                            (TypeError, lambda: t.sum("0")), (IndexError, lambda: t.argmax(2))):
            self.assertRaises(error, call)


class Order(Arrays):
    def test_sums_and_products_so_far(self):
        for dtype in ("f4", "i4", "u1", "i8"):
            a, t = pair(self.rng, (3, 5), dtype, -2, 2)
            for axis in (None, 0, 1):
                self.same(t.cumsum(axis), a.cumsum(axis))
                self.same(t.cumprod(axis), a.cumprod(axis))
        self.same(tenon.zeros((0, 2)).cumsum(0), np.zeros((0, 2)))

    def test_sorting(self):
        for dtype in ("f4", "i4", "u1"):
            a, t = pair(self.rng, (6, 7), dtype)
            for axis in (0, -1):
                self.same(t.sort(axis), np.sort(a, axis), t.dtype)
                self.same(t.argsort(axis), np.argsort(a, axis, kind="stable"), "i32")
                self.same(np.sort(t, axis=axis), np.sort(a, axis))
            self.same(t.sort(0, descending=True), -np.sort(-a.astype("i8"), 0))
        self.assertRaises(IndexError, lambda: tenon.zeros(()).sort())


class Forms(Arrays):
    def test_views_share_memory_and_copies_do_not(self):
        a, t = pair(self.rng, (2, 3, 4))
        c, u = np.ascontiguousarray(a), t.copy()
        for got, expected, of in ((u.reshape(6, 4), c.reshape(6, 4), u), (u.flatten(), c.reshape(-1), u),
                                  (t.T, a.T, t), (t.mT, a.swapaxes(1, 2), t),
                                  (t.permute((2, 0, 1)), a.transpose(2, 0, 1), t),
                                  (t.expand_dims(-1), a[..., None], t), (t[:1].squeeze(), a[:1].squeeze(), t),
                                  (t[:1].squeeze(0), a[0], t), (t[:, None].broadcast_to((2, 5, 3, 4)),
                                                                np.broadcast_to(a[:, None], (2, 5, 3, 4)), t),
                                  (np.transpose(t, (1, 0, 2)), a.transpose(1, 0, 2), t),
                                  (np.moveaxis(t, 0, -1), np.moveaxis(a, 0, -1), t),
                                  (np.swapaxes(t, 0, 2), a.swapaxes(0, 2), t), (np.ravel(u), c.ravel(), u)):
            self.same(got, expected)
            self.assertIs(got.memory, of.memory)
        for got, expected in ((t.T.reshape(-1), a.T.reshape(-1)), (t.T.flatten(), a.T.flatten()), (t.copy(), a),
                              (u.reshape(24, copy=True), c.reshape(24)), (t.flip(1), a[:, ::-1]),
                              (np.flip(t), np.flip(a)), (np.copy(t), a)):
            self.same(got, expected)
            self.assertIsNot(got.memory, t.memory)
            self.assertIsNot(got.memory, u.memory)
        with self.assertRaises(tenon.Unsupported):
            u.T.reshape(-1, copy=False)
        with self.assertRaises(tenon.InvalidArgument):
            u.reshape(5)
        with self.assertRaisesRegex(IndexError, "axis 5 is out of range"):
            u.expand_dims(5)

    def test_types(self):
        a = np.array([-300, -1, 0, 1, 70000, 2**40], "i8")
        t = tenon.tensor(a)
        for name in ("i1", "u2", "i4", "?"):
            self.same(t.astype(name), a.astype(name))
        x = np.array([1.75, -1.75, 0], "f4")
        u = tenon.tensor(x)
        for name in ("i4", "f2", "?"):
            self.same(u.astype(name), x.astype(name))
        self.same(tenon.tensor(np.array([300, -300, np.nan], "f4")).astype("i8"), [127, -128, 0])
        self.assertIs(u.astype("f32", copy=False), u)
        self.assertIsNot(u.astype("f32"), u)
        self.assertEqual(u.astype("bf16").astype(np.float64).tolist(), [1.75, -1.75, 0])
        self.assertRaises(TypeError, lambda: u.astype("c8"))


class Protocols(Arrays):
    """NumPy's functions either run on the device or raise."""

    def test_functions(self):
        (a, t), (b, u) = pair(self.rng, (3, 4)), pair(self.rng, (3, 4))
        for call in (lambda x, y: np.add(x, y), lambda x, y: np.multiply(x, 2), lambda x, y: np.maximum(x, y),
                     lambda x, y: np.maximum(0, x), lambda x, y: np.minimum(x, a), lambda x, y: np.less(2, x),
                     lambda x, y: np.logical_and(x, y > 0), lambda x, y: np.logical_not(x), lambda x, y: np.square(x),
                     lambda x, y: np.where(x > 0, x, y), lambda x, y: np.where(x > 0, x, 0),
                     lambda x, y: np.where(x > y, np.float32(1), -x), lambda x, y: np.concatenate([x, y, a], 1),
                     lambda x, y: np.concatenate((a, y), None), lambda x, y: np.stack([x, y], -1),
                     lambda x, y: np.roll(x, 2, 1), lambda x, y: np.roll(x, (1, -1), (0, 1)),
                     lambda x, y: np.roll(x, 5),
                     lambda x, y: np.tile(x, (2, 1, 3)), lambda x, y: np.tril(x, -1), lambda x, y: np.triu(y),
                     lambda x, y: np.dot(x, y.T), lambda x, y: np.matmul(x, y.T), lambda x, y: np.take(x, [2, 0], 1),
                     lambda x, y: np.zeros_like(x), lambda x, y: np.ones_like(x), lambda x, y: np.full_like(x, 3),
                     lambda x, y: np.float32(3) - x, lambda x, y: np.float64(3) * x, lambda x, y: a / (abs(y) + 4)):
            expected = call(a, b)
            got = call(t, u)
            self.assertIsInstance(got, tenon.Tensor)
            self.assertEqual(got.numpy().dtype.kind, expected.dtype.kind)
            np.testing.assert_allclose(got.numpy(), expected, 1e-6)
        self.assertIs(np.array_equal(t, a), True)
        self.assertIs(np.array_equal(a, u + 1), False)
        self.assertIs(np.allclose(t, a * np.float32(1 + 1e-6)), True)
        self.assertEqual((np.shape(t), np.ndim(t), np.size(t)), ((3, 4), 2, 12))
        for got, expected in zip(np.nonzero(t), np.nonzero(a)):
            self.same(got, expected, "i32")
        self.assertEqual(np.where(t > 0, 1, 0).dtype, "i32")
        self.assertEqual(np.where(t > 0, 1.5, 0).dtype, "f32")

    def test_out(self):
        a, t = pair(self.rng, (3, 4))
        d = tenon.zeros((3, 4))
        self.assertIs(np.add(t, 1, out=d), d)
        self.same(d, a + 1)
        array = np.ones((3, 4), "f4")
        with self.assertRaisesRegex(TypeError, r"numpy.add does not accept a tenon.Tensor with an array as out"):
            array += t
        with self.assertRaisesRegex(ValueError, "numpy.add: the result is f32"):
            np.add(t, 1, out=tenon.zeros((3, 4), "i32"))

    def test_all_others_raise(self):
        t, a = tenon.zeros((2, 2)), np.zeros((2, 2), "f4")
        for name, call in (("median", lambda: np.median(t)), ("linalg.norm", lambda: np.linalg.norm(t)),
                           ("hypot", lambda: np.hypot(t, t)), ("add.reduce", lambda: np.add.reduce(t)),
                           ("add.at", lambda: np.add.at(a, [0], t)), ("fft.fft", lambda: np.fft.fft(t)),
                           ("add", lambda: np.add(t, 1, where=True)), ("einsum", lambda: np.einsum("ij", t)),
                           ("sum", lambda: np.sum(t, out=a)), ("percentile", lambda: np.percentile(a, t)),
                           ("sin", lambda: np.sin(t, dtype="f8"))):
            with self.subTest(name), self.assertRaisesRegex(
                    TypeError, rf"numpy.{name} does not accept a tenon.Tensor.*t\.numpy\(\)"):
                call()

    def test_conversions_are_explicit(self):
        t = tenon.tensor(np.arange(4, dtype="f4"))
        for array in (np.asarray(t), np.array(t), t.numpy(), np.from_dlpack(t), np.array([t, t])[1]):
            np.testing.assert_array_equal(array, np.arange(4))
        self.assertIsInstance(np.ones(4, "f4") + t, tenon.Tensor)
        with self.assertRaisesRegex(ValueError, "without a copy"):
            t.__array__(copy=False)


if __name__ == "__main__":
    unittest.main()

"""Operations compared with NumPy, arrays in and arrays out."""
import math
import unittest

import numpy as np
import tenon
from common import (DTYPES, TINY, UNIT, assert_within, conv, gamma, integers, reals, stored)
from tenon._calls import OPERATIONS
from tenon._loader import ffi, lib
from tenon._words import ACTIVATIONS



class Products(unittest.TestCase):
    def test_integers_match_in_every_type(self):
        for dtype in DTYPES:
            a, b = integers(1, 3, 17, 20, dtype=dtype), integers(2, 20, 9, dtype=dtype)
            d = tenon.gemm(a, b)
            self.assertEqual((d.dtype, d.shape), (np.dtype(dtype), (3, 17, 9)))
            np.testing.assert_array_equal(d, a.astype("f8") @ b.astype("f8"))

    def test_reals_are_within_the_bound(self):
        for dtype in DTYPES:
            a, b = reals(3, 33, 70, dtype=dtype), reals(4, 70, 21, dtype=dtype)
            exact = a.astype("f8") @ b.astype("f8")
            magnitude = np.abs(a.astype("f8")) @ np.abs(b.astype("f8"))
            k = 70
            bound = gamma(2.5 * k + k / 32 + 8, dtype) * magnitude + (k + 8) * TINY[dtype]
            assert_within(self, tenon.gemm(a, b), exact, bound + stored(exact, dtype))

    def test_mixed_types(self):
        a, b = integers(20, 6, 8), integers(21, 8, 5, dtype="f2")
        d = tenon.gemm(a, b)
        self.assertEqual(d.dtype, np.dtype("f4"))
        np.testing.assert_array_equal(d, a @ b.astype("f4"))
        wide = tenon.empty((5, 5), "f32")
        tenon.gemm(b.T.copy(), b, d=wide)
        np.testing.assert_array_equal(wide.numpy(), b.T.astype("f4") @ b.astype("f4"))
        x, w = integers(22, 2, 3, 6, 7), integers(23, 4, 3, 3, 3, dtype="f2")
        np.testing.assert_array_equal(tenon.conv_forward(x, w), conv(x, w))

    def test_epilogue(self):
        a, b, c = integers(5, 6, 8), integers(6, 8, 5), integers(7, 6, 5)
        bias = integers(8, 5)
        d = tenon.gemm(a, b, c=c, bias=bias, alpha=2, beta=-1, activation="relu")
        np.testing.assert_array_equal(d, np.maximum(2 * (a @ b) - c + bias, 0))
        np.testing.assert_array_equal(tenon.gemm(a, b, activation=tenon.ACTIVATION_RELU),
                                      np.maximum(a @ b, 0))
        for scaled, kwargs in ((1, {}), (1, {"beta": 1}), (0, {"beta": 0}), (3, {"beta": 3})):
            np.testing.assert_array_equal(tenon.gemm(a, b, c=c, **kwargs), a @ b + scaled * c)
        np.testing.assert_array_equal(tenon.gemm(a, b, c=bias), a @ b + bias)  # a bias passed as c
        np.testing.assert_array_equal(tenon.gemm(a, b, beta=0), a @ b)
        d = tenon.gemm(a, b, activation=tenon.Activation("clipped_relu", 5))
        np.testing.assert_array_equal(d, np.clip(a @ b, 0, 5))

    def test_terms_after_the_activation(self):
        a, b, residual = integers(5, 6, 8), integers(6, 8, 5), integers(7, 6, 5)
        scale, shift = integers(8, 5), integers(9, 5)
        terms = {"post_scale": scale, "post_shift": shift, "residual": residual}
        expected = scale * np.maximum(a @ b, 0) + shift + residual
        np.testing.assert_array_equal(tenon.gemm(a, b, activation="relu", **terms), expected)
        np.testing.assert_array_equal(tenon.gemm(a, b, residual=residual), a @ b + residual)
        np.testing.assert_array_equal(tenon.gemm_packed(a, tenon.gemm_pack(b), post_shift=shift), a @ b + shift)
        views = {name: tenon.view(term.shape) for name, term in terms.items()}
        plan = tenon.gemm_plan(tenon.view((6, 8)), tenon.view((8, 5)), activation="relu", **views)
        self.assertEqual(list(plan.operands)[5:], list(terms))
        tensors = {name: tenon.tensor(term) for name, term in terms.items()}
        got = plan.run(tenon.tensor(a), tenon.tensor(b), **tensors)
        np.testing.assert_array_equal(got.numpy(), expected)
        x, w = integers(13, 2, 3, 6, 6), integers(14, 4, 3, 3, 3)
        y = tenon.conv_forward(x, w, post_scale=integers(15, 4))
        np.testing.assert_array_equal(y, conv(x, w) * integers(15, 4)[:, None, None])

    def test_integer_types(self):
        a, b = integers(9, 7, 30, dtype="i1", low=-128, high=127), integers(10, 30, 5, dtype="i1")
        np.testing.assert_array_equal(tenon.gemm(a, b), a.astype("i4") @ b.astype("i4"))
        scale, zero = np.float32(0.5), np.array(3, "i1")
        d = tenon.gemm(a, b, d=tenon.empty((7, 5), "f32"), scale=(scale, scale, None),
                       zero_point=(zero, None, None))
        np.testing.assert_array_equal(d.numpy(), 0.25 * ((a.astype("f8") - 3) @ b.astype("f8")))

    def test_packed(self):
        a, b = integers(11, 4, 40), integers(12, 40, 50)
        packed = tenon.gemm_pack(b)
        self.assertEqual((packed.shape, packed.dtype), ((40, 50), "f32"))
        np.testing.assert_array_equal(packed.unpack().numpy(), b)
        np.testing.assert_array_equal(tenon.gemm_packed(a, packed), a @ b)
        x, w = integers(13, 2, 3, 6, 6), integers(14, 4, 3, 3, 3)
        y = tenon.conv_forward_packed(x, tenon.conv_pack_filter(w))
        np.testing.assert_array_equal(y, conv(x, w))

    def test_ragged(self):
        a, b = integers(15, 7, 6), integers(16, 2, 6, 4)
        d = tenon.gemm_ragged(a, b, np.array([0, 3, 7], "i4"))
        np.testing.assert_array_equal(d, np.concatenate([a[:3] @ b[0], a[3:] @ b[1]]))


class Convolutions(unittest.TestCase):
    def test_forward(self):
        for dtype in DTYPES:
            x, w = integers(20, 2, 4, 9, 8, dtype=dtype), integers(21, 6, 2, 3, 3, dtype=dtype)
            y = tenon.conv_forward(x, w, bias=np.arange(6, dtype=dtype), groups=2, stride=2,
                                   pad_begin=1, pad_end=1)
            expected = conv(x, w, stride=2, pad=1, groups=2) + np.arange(6).reshape(6, 1, 1)
            np.testing.assert_array_equal(y, expected)
            self.assertEqual(y.dtype, np.dtype(dtype))

    def test_dilation_and_columns(self):
        x, w = integers(22, 1, 3, 10, 10), integers(23, 5, 3, 3, 3)
        expected = conv(x, w, dilation=2)
        np.testing.assert_array_equal(tenon.conv_forward(x, w, dilation=(2, 2)), expected)
        columns = tenon.im2col(x, filter=3, dilation=2)
        np.testing.assert_array_equal(w.reshape(5, -1) @ columns[0], expected.reshape(5, -1))

    def test_gradients_are_adjoint(self):
        x, w, dy = integers(24, 2, 3, 7, 7), integers(25, 4, 3, 3, 3), integers(26, 2, 4, 7, 7)
        y = conv(x, w, pad=1)
        same = dict(pad_begin=1, pad_end=1)
        dx = tenon.conv_backward_data(dy, w, dx=x.shape, **same)
        dw = tenon.conv_backward_filter(x, dy, dw=w.shape, **same)
        self.assertEqual(np.vdot(dx, x), np.vdot(dy, y))
        self.assertEqual(np.vdot(dw, w), np.vdot(dy, y))
        np.testing.assert_array_equal(tenon.conv_backward_bias(dy), dy.sum((0, 2, 3)))

    def test_transposed(self):
        x, w = integers(27, 1, 4, 5, 5), integers(28, 4, 3, 3, 3)
        y = tenon.conv_transpose_forward(x, w, stride=2, output_padding=1)
        self.assertEqual(y.shape, (1, 3, 12, 12))
        other = integers(29, 1, 3, 12, 12)
        self.assertEqual(np.vdot(y, other), np.vdot(x, conv(other, w, stride=2)[:, :, :5, :5]))


class Elements(unittest.TestCase):
    def test_activations(self):
        x = np.concatenate([reals(30, 200) * 3, np.zeros(1, "f4")])
        exact = x.astype("f8")
        u, tiny = UNIT["f4"], TINY["f4"]
        cases = {  # NumPy's formula, and the number of roundings in the table of docs/numerics.md
            "relu": (np.maximum(exact, 0), 0), "abs": (np.abs(exact), 0),
            "sigmoid": (1 / (1 + np.exp(-exact)), 16), "tanh": (np.tanh(exact), 12),
            "silu": (exact / (1 + np.exp(-exact)), 18), "softplus": (np.log1p(np.exp(exact)), 14),
            "softsign": (exact / (1 + np.abs(exact)), 7), "exp": (np.exp(exact), 8),
            "square": (exact * exact, 2), "elu": (np.where(exact > 0, exact, np.expm1(exact)), 9),
        }
        self.assertLess(set(cases), set(ACTIVATIONS))
        for name in ACTIVATIONS:
            with self.subTest(name):
                y = tenon.activation_forward(x, activation=name)
                number = getattr(tenon, f"ACTIVATION_{name.upper()}")
                np.testing.assert_array_equal(y, tenon.activation_forward(x, activation=number))
                expected, n = cases.get(name, (y, 0))
                assert_within(self, y, expected, n * u * np.abs(expected) + tiny)

    def test_activation_backward(self):
        x, dy = integers(31, 50), integers(32, 50)
        np.testing.assert_array_equal(tenon.activation_backward(x, dy, activation="relu"),
                                      np.where(x > 0, dy, 0))

    def test_elementwise(self):
        a, b = integers(33, 4, 1, 5), integers(34, 3, 5)
        for kind, expected in (("add", a + b), ("subtract", a - b), ("multiply", a * b),
                               ("max", np.maximum(a, b)), ("min", np.minimum(a, b))):
            np.testing.assert_array_equal(tenon.elementwise(a, b, kind=kind), expected)
        d = tenon.elementwise(a, b, kind="scale_add", alpha=2, beta=3)
        np.testing.assert_array_equal(d, 2 * a + 3 * b)

    def test_chain(self):
        x, s, t = integers(35, 6, 7), integers(36, 7), integers(37, 6, 7)
        y = tenon.elementwise_chain(x, x1=s, x2=t, steps=[
            {"op": "multiply", "operand": "x1"}, {"op": "add", "operand": "x2"},
            {"op": "add", "alpha": 1}, {"op": "activate", "activation": "relu"}])
        np.testing.assert_array_equal(y, np.maximum(x * s + t + 1, 0))

    def test_functions(self):
        x = np.abs(reals(43, 50)) + 0.5
        for kind, expected in (("sqrt", np.sqrt), ("log", np.log), ("sin", np.sin)):
            np.testing.assert_allclose(tenon.function(x, kind=kind), expected(x), 1e-6, 1e-6)
        whole = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], "f4")
        np.testing.assert_array_equal(tenon.function(whole, kind="round"), np.rint(whole))
        b = np.array([3, -3, 3, -3, 0.75, -0.75], "f4")
        np.testing.assert_array_equal(tenon.elementwise(whole, b, kind="remainder"), whole % b)
        np.testing.assert_array_equal(tenon.elementwise(whole, b, kind="fmod"), np.fmod(whole, b))
        y = tenon.elementwise_chain(x, steps=[{"op": "pow", "alpha": 2}, {"op": "log"}, {"op": "exp"}])
        np.testing.assert_allclose(y, x * x, 1e-5)

    def test_gated_and_prelu(self):
        a, b = integers(38, 40), integers(39, 40)
        np.testing.assert_array_equal(tenon.gated_forward(a, b, activation="relu"),
                                      a * np.maximum(b, 0))
        da, db = tenon.gated_backward(a, b, np.ones_like(a), activation="identity")
        np.testing.assert_array_equal((da, db), (b, a))
        x, slope = integers(40, 2, 3, 4), integers(41, 3, 1)
        np.testing.assert_array_equal(tenon.prelu_forward(x, slope), np.where(x > 0, x, slope * x))
        dx, dslope = tenon.prelu_backward(x, slope, np.ones_like(x))
        np.testing.assert_array_equal(dx, np.where(x > 0, 1, slope + 0 * x))
        np.testing.assert_array_equal(dslope, np.where(x > 0, 0, x).sum((0, 2)).reshape(3, 1))

    def test_copy_converts(self):
        x = reals(42, 30)
        half = tenon.copy(x, y=tenon.empty(30, "f16")).numpy()
        np.testing.assert_array_equal(half, x.astype("f2"))
        whole = tenon.copy(np.array([1.5, 2.5, -300, np.nan], "f4"), y=tenon.empty(4, "i8"))
        np.testing.assert_array_equal(whole.numpy(), [1, 2, -128, 0])
        x = np.array([1.5, 2.5, 300.9, -1], "f4")
        flags = tenon.COPY_NEAREST | tenon.COPY_WRAP
        np.testing.assert_array_equal(tenon.copy(x, y=tenon.empty(4, "u8"), flags=flags).numpy(), [2, 2, 45, 255])
        np.testing.assert_array_equal(tenon.copy(x, y=tenon.empty(4, "bool")).numpy(), [True] * 4)

    def test_comparisons(self):
        a, b = integers(43, 5, 7, low=-2, high=2), integers(44, 7, low=-2, high=2)
        for kind, expected in (("equal", a == b), ("not_equal", a != b), ("less", a < b),
                               ("less_equal", a <= b), ("greater", a > b), ("greater_equal", a >= b)):
            got = tenon.compare(a, b, kind=kind)
            self.assertEqual(got.dtype, "bool")
            np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(tenon.compare(tenon.tensor(a), 0, kind="greater"), a > 0)
        x = np.array([np.nan, np.inf, -np.inf, 0], "f4")
        for kind, expected in (("nan", np.isnan(x)), ("infinite", np.isinf(x)), ("finite", np.isfinite(x)),
                               ("positive_infinite", x == np.inf), ("negative_infinite", x == -np.inf)):
            np.testing.assert_array_equal(tenon.classify(x, kind=kind), expected)

    def test_logic(self):
        a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
        np.testing.assert_array_equal(tenon.logic(a, b=b, kind="and"), a & b)
        np.testing.assert_array_equal(tenon.logic(a, b=b, kind="xor"), a ^ b)
        np.testing.assert_array_equal(tenon.logic(a, kind="not"), ~a)
        x, y = np.array([-5, 3, 1 << 40], "i8"), np.array([1, 2, 65], "i8")
        np.testing.assert_array_equal(tenon.logic(x, b=y, kind="or"), x | y)
        np.testing.assert_array_equal(tenon.logic(x, b=y, kind="shift_right"), [-3, 0, 0])
        np.testing.assert_array_equal(tenon.logic(x, kind="not"), ~x)

    def test_where(self):
        x = reals(45, 4, 6)
        positive = x > 0
        np.testing.assert_array_equal(tenon.where(positive, x, np.zeros(1, "f4")), np.where(positive, x, 0))
        got = tenon.where(tenon.tensor(positive), 1, tenon.tensor(x))
        np.testing.assert_array_equal(got, np.where(positive, np.float32(1), x))

    def test_arithmetic_of_integers(self):
        for name in ("i1", "u1", "i2", "u2", "i4", "u4", "i8"):
            a, b = integers(46, 50, dtype=name, low=0, high=100), integers(47, 50, dtype=name, low=0, high=3)
            np.testing.assert_array_equal(tenon.elementwise(a, b, kind="multiply"), a * b)
            safe = np.where(b == 0, 1, b)
            np.testing.assert_array_equal(tenon.elementwise(a, b, kind="divide"), np.where(b == 0, 0, a // safe))
            np.testing.assert_array_equal((tenon.tensor(a) - tenon.tensor(b)), a - b)

    def test_dropout_and_random(self):
        x = np.ones(1000, "f4")
        y = tenon.dropout(x, seed=7, probability=0.25)
        kept = tenon.random(y=1000, kind="bernoulli", seed=7, probability=0.25).numpy() == 0
        np.testing.assert_array_equal(y == 0, ~kept)
        u = tenon.random(y=(10, 100), seed=2**63, low=-1, high=1).numpy()
        self.assertTrue(((u >= -1) & (u < 1)).all())
        other = tenon.random(y=(10, 100), seed=1, low=-1, high=1).numpy()
        self.assertFalse(np.array_equal(u, other))


class Rows(unittest.TestCase):
    def test_softmax(self):
        x = reals(50, 6, 40)
        e = x.astype("f8")
        d = e - e.max(-1, keepdims=True)
        y = np.exp(d) / np.exp(d).sum(-1, keepdims=True)
        u, n = UNIT["f4"], 40
        off = np.exp((6 + np.abs(d)) * u) - 1
        s = np.exp(d).sum(-1, keepdims=True)
        error = (np.exp(d) * off).sum(-1, keepdims=True) + n * TINY["f4"]
        b = (error + gamma(n, "f4") * (s + error)) / s
        bound = y * ((1 + off) * (1 + 6 * u) / (1 - b) - 1) + 2 * TINY["f4"]
        assert_within(self, tenon.softmax_forward(x), y, bound)
        ones = tenon.softmax_forward(np.zeros((4, 8), "f4"), axis=0)
        np.testing.assert_array_equal(ones, np.full((4, 8), 0.25, "f4"))
        got = tenon.softmax_backward(integers(51, 3, 4), integers(52, 3, 4))
        a, da = integers(51, 3, 4), integers(52, 3, 4)
        np.testing.assert_array_equal(got, a * (da - (a * da).sum(-1, keepdims=True)))

    def test_losses(self):
        logits, labels = np.zeros((5, 4), "f4"), np.array([0, 1, 2, 3, 0], "i4")
        loss = tenon.cross_entropy_forward(logits, labels)
        # log 4 of an exact sum: the error of log is within 6u, the two sums round once each.
        assert_within(self, loss, np.full(5, math.log(4)), gamma(8, "f4") * math.log(4))
        dlogits = tenon.cross_entropy_backward(logits, labels)
        np.testing.assert_array_equal(dlogits, 0.25 - np.eye(4)[labels])
        x, t = integers(53, 4, 8), integers(54, 4, 8)
        self.assertEqual(tenon.mse_forward(x, t, flags=0), ((x - t)**2).sum())
        np.testing.assert_array_equal(tenon.mse_forward(x, t, axes=1), ((x - t)**2).mean(1))
        np.testing.assert_array_equal(tenon.mse_backward(x, t, flags=0), 2 * (x - t))

    def test_reductions(self):
        x = integers(55, 4, 6, 8)
        np.testing.assert_array_equal(tenon.reduce(x), x.sum())
        np.testing.assert_array_equal(tenon.reduce(x, axes=(0, -1)), x.sum((0, 2)))
        np.testing.assert_array_equal(tenon.reduce(x, kind="max", axes=1), x.max(1))
        np.testing.assert_array_equal(tenon.reduce(x, kind="sum_squares", axes=-1), (x * x).sum(-1))
        np.testing.assert_array_equal(tenon.reduce(x, kind="sum_abs", axes=-1), np.abs(x).sum(-1))
        counts = tenon.reduce(x, kind="count", axes=0)
        np.testing.assert_array_equal(counts, np.count_nonzero(x, 0))
        np.testing.assert_array_equal(tenon.reduce(x, kind="all", axes=1), x.all(1))
        place = tenon.reduce(x, kind="argmax", axes=2)
        self.assertEqual(place.dtype, np.dtype("i4"))
        np.testing.assert_array_equal(place, x.argmax(2))
        mean, variance = tenon.moments(np.array([[1, 3], [2, 6]], "f4"), kind="variance",
                                       axes=1)
        np.testing.assert_array_equal((mean, variance), ([2, 4], [1, 4]))
        self.assertEqual(tenon.square_sum(x), (x * x).sum())

    def test_normalization(self):
        x = np.array([[1, 3], [2, 6], [0, 8]], "f4")  # deviations 1, 2, 4, all exact
        y, mean, rstd = tenon.norm_forward(x, mean=True, rstd=True, epsilon=0)
        u = UNIT["f4"]
        exact = np.array([[-1, 1]] * 3)
        assert_within(self, y, exact, gamma(8, "f4") * np.abs(exact))  # rsqrt: 4u, and the products
        np.testing.assert_array_equal(mean, [2, 4, 4])
        assert_within(self, rstd, np.array([1, 0.5, 0.25]), 4 * u)
        y = tenon.norm_inference(x, gamma=np.array([2, 2], "f4"), mean=np.array([1, 2], "f4"),
                                 variance=np.ones(2, "f4"), kind="batch", epsilon=0)
        exact = (x - np.array([1, 2])) * 2
        assert_within(self, y, exact, gamma(8, "f4") * np.abs(exact))
        dx, dbeta = tenon.norm_backward(x, np.ones_like(x), mean=mean, rstd=np.float32([1, 1, 1]),
                                        dbeta=True)
        np.testing.assert_array_equal(dbeta, [3, 3])
        self.assertEqual(dx.shape, x.shape)

    def test_batch_normalization_keeps_statistics(self):
        x = integers(56, 4, 2, 3, 1)
        running_mean, running_variance = tenon.zeros(2), tenon.full(2, 1)
        y = tenon.norm_forward(x, kind="batch", momentum=1, running_mean=running_mean,
                               running_variance=running_variance)
        self.assertIsInstance(y, tenon.Tensor)
        means = x.astype("f8").mean((0, 2, 3))
        assert_within(self, running_mean.numpy(), means,
                      gamma(12 + 12 + 6 + 12, "f4") * np.abs(x).mean((0, 2, 3)))


class Images(unittest.TestCase):
    def test_pooling(self):
        x = integers(60, 2, 3, 6, 8)
        blocks = x.reshape(2, 3, 3, 2, 4, 2)
        y, indices = tenon.pool_forward(x, kind="max", window=2, stride=2, indices=True)
        np.testing.assert_array_equal(y, blocks.max((3, 5)))
        planes = x.reshape(2, 3, -1)
        np.testing.assert_array_equal(
            np.take_along_axis(planes, indices.reshape(2, 3, -1), 2).reshape(y.shape), y)
        np.testing.assert_array_equal(tenon.pool_forward(x, kind="average", window=2, stride=2),
                                      blocks.mean((3, 5)))
        whole = tenon.pool_forward(x[:, :, :4], kind="max", flags=tenon.POOL_GLOBAL)
        np.testing.assert_array_equal(whole, x[:, :, :4].max((2, 3), keepdims=True))
        dx = tenon.pool_backward(np.ones_like(y), x=x, indices=indices, kind="max", window=2,
                                 stride=2)
        self.assertEqual(dx.sum(), y.size)

    def test_moves(self):
        x = integers(61, 5, 4)
        padded = tenon.pad_forward(x, begin=(1, 0), end=(2, 3), value=7)
        np.testing.assert_array_equal(padded, np.pad(x, ((1, 2), (0, 3)), constant_values=7))
        np.testing.assert_array_equal(tenon.pad_forward(x, begin=(1, 1), mode="reflect"),
                                      np.pad(x, ((1, 0), (1, 0)), mode="reflect"))
        rows = np.array([[4, 0], [1, 1]], "i4")
        np.testing.assert_array_equal(tenon.gather_forward(x, rows), x[rows])
        dx = tenon.gather_backward(np.ones((2, 2, 4), "f4"), rows, dx=x.shape)
        np.testing.assert_array_equal(dx[:, 0], [1, 2, 0, 0, 1])
        elements = np.array([[4, 0, -1, 1]], "i4")
        np.testing.assert_array_equal(
            tenon.gather_forward(x, elements, mode="elements", flags=tenon.INDEX_FROM_END),
            np.take_along_axis(x, elements, 0))
        tuples = np.array([[4, 0], [1, 1], [2, 3]], "i4")
        np.testing.assert_array_equal(tenon.gather_forward(x, tuples, mode="tuples"),
                                      x[tuple(tuples.T)])
        y = tenon.tensor(x)
        tenon.scatter(x[:4].reshape(2, 2, 4), rows, y, op="add")
        wanted = x.copy()
        np.add.at(wanted, rows, x[:4].reshape(2, 2, 4))
        np.testing.assert_array_equal(y.numpy(), wanted)
        np.testing.assert_array_equal(tenon.concat([x, x[:, :1]], axis=1), np.hstack([x, x[:, :1]]))

    def test_unique_and_segments(self):
        x = integers(64, 60)
        y, first, inverse, counts, count = tenon.unique(
            x, y=(60,), first=tenon.zeros((60,), "i32"), inverse=True,
            counts=tenon.zeros((60,), "i32"))
        found = int(count.numpy())
        for got, wanted in zip((y.numpy()[:found], first.numpy()[:found], inverse.numpy(), counts.numpy()[:found]),
                               np.unique(x, return_index=True, return_inverse=True, return_counts=True)):
            np.testing.assert_array_equal(got, wanted)
        bins = tenon.histogram(x, y=tenon.zeros((8,), "i32"), low=-2, high=6)
        np.testing.assert_array_equal(bins, np.histogram(x, 8, (-2, 6))[0])
        offsets = np.array([0, 10, 10, 60], "i4")
        rows = integers(65, 60, 3)
        sums = tenon.segment_reduce(rows, segments=offsets)
        np.testing.assert_array_equal(sums, [rows[:10].sum(0), np.zeros(3), rows[10:].sum(0)])
        scan = tenon.segment_scan(x, np.repeat(np.array([4, 7], "i4"), 30))
        np.testing.assert_array_equal(scan, np.concatenate([x[:30].cumsum(), x[30:].cumsum()]))
        mask, target = x > 0, tenon.tensor(x)
        tenon.masked_put(mask, np.arange(60, dtype="f4"), target)
        np.place(x, mask, np.arange(60, dtype="f4"))
        np.testing.assert_array_equal(target, x)

    def test_rearrangements(self):
        x = integers(62, 5, 4)
        np.testing.assert_array_equal(tenon.rearrange(x, shift=(2, -1)), np.roll(x, (2, -1), (0, 1)))
        np.testing.assert_array_equal(tenon.rearrange(x, flip=2), np.flip(x, 1))
        np.testing.assert_array_equal(tenon.rearrange(x, y=(10, 12)), np.tile(x, (2, 3)))
        np.testing.assert_array_equal(tenon.triangle(x, diagonal=-1), np.tril(x, -1))
        np.testing.assert_array_equal(tenon.triangle(x, flags=tenon.TRIANGLE_UPPER), np.triu(x))
        reverse = tenon.reverse_lengths(x, np.array([2, 0, 5, 1], "i4"))
        np.testing.assert_array_equal(reverse[:2, 0], x[1::-1, 0])
        np.testing.assert_array_equal(reverse[:, 2], x[::-1, 2])
        hot = tenon.one_hot(np.array([1, 0, 2], "i4"), y=tenon.zeros((3, 4)))
        np.testing.assert_array_equal(hot.numpy(), np.eye(4, dtype="f4")[[1, 0, 2]])
        image = integers(63, 2, 8, 3, 5)
        blocks = image.reshape(2, 2, 2, 2, 3, 5)
        space = tenon.depth_to_space(image, block=2)
        np.testing.assert_array_equal(
            space, blocks.transpose(0, 3, 4, 1, 5, 2).reshape(2, 2, 6, 10))
        np.testing.assert_array_equal(tenon.space_to_depth(space, block=2), image)
        np.testing.assert_array_equal(
            tenon.channel_shuffle(image, groups=2),
            image.reshape(2, 2, 4, 3, 5).transpose(0, 2, 1, 3, 4).reshape(image.shape))


class Shapes(unittest.TestCase):
    def test_outputs_whose_shape_the_caller_chooses(self):
        """signatures.txt marks the outputs that the library does not infer."""
        for name, (_, names, _, outputs, _) in OPERATIONS.items():
            function = f"tenon_{name.removesuffix('_packed')}".encode()
            for output, marks in outputs.items():
                with self.subTest(name, output=output):
                    status = lib.tenon_output_shape(function, ffi.NULL, [ffi.NULL] * len(names), len(names),
                                                    names.index(output), ffi.new("tenon_tensor *"))
                    self.assertEqual(status == lib.TENON_ERROR_UNSUPPORTED, "=" in marks)

    def test_gradient_of_weights_of_segments(self):
        x, dy = integers(82, 5, 3), integers(83, 2, 3)
        rows, ends = np.array([4, 0, 9, 2], "i8"), np.array([0, 1, 4], "i8")
        found = tenon.segment_reduce_backward_weights(x, dy, indices=rows, segments=ends)
        np.testing.assert_array_equal(found, [x[4] @ dy[0], x[0] @ dy[1], 0, x[2] @ dy[1]])

    def test_sampled_image(self):
        x = integers(80, 1, 2, 3, 3)
        corners = np.array([[[[-1, -1], [1, -1]], [[-1, 1], [1, 1]]]], "f4")
        y = tenon.grid_sample(x, corners, flags=tenon.GRID_SAMPLE_ALIGN_CORNERS)
        np.testing.assert_array_equal(y, x[:, :, ::2, ::2])
        dx, dgrid = tenon.grid_sample_backward(corners, y, x=x, dx=True, dgrid=True,
                                               flags=tenon.GRID_SAMPLE_ALIGN_CORNERS)
        expected = np.zeros_like(x)
        expected[:, :, ::2, ::2] = y
        np.testing.assert_array_equal(dx, expected)
        self.assertEqual(dgrid.shape, corners.shape)


class Optimizers(unittest.TestCase):
    def test_steps(self):
        p, g = integers(70, 9), integers(71, 9)
        parameter = tenon.tensor(p)
        self.assertIsNone(tenon.sgd(g, parameter, learning_rate=0.5))
        np.testing.assert_array_equal(parameter.numpy(), p - 0.5 * g)
        first, second = tenon.zeros(9), tenon.zeros(9)
        tenon.adam(np.zeros(9, "f4"), parameter, first, second)
        np.testing.assert_array_equal(parameter.numpy(), p - 0.5 * g)
        gradient = tenon.tensor(np.array([3, 4], "f4"))
        self.assertEqual(tenon.clip_by_norm([gradient], max_norm=10).numpy(), 25)
        np.testing.assert_array_equal(gradient.numpy(), [3, 4])


if __name__ == "__main__":
    unittest.main()

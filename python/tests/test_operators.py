"""Operators and comparisons of tensors, compared with NumPy over random shapes, layouts and types."""
import copy
import operator
import unittest

import numpy as np
import tenon
from common import Arrays, integers, pair, random_shape, reals
from tenon._types import DTYPES, NUMPY, beside_number, promoted

ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod)
COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
BITS = (operator.and_, operator.or_, operator.xor)


class Random(Arrays):
    def shapes(self):
        """Returns two shapes that broadcast to each other."""
        full = random_shape(self.rng, int(self.rng.integers(1, 5)))
        other = tuple(1 if self.rng.integers(3) == 0 else n for n in full)[int(self.rng.integers(len(full))):]
        return (full, other) if self.rng.integers(2) else (other, full)

    def test_arithmetic(self):
        for dtype in ("f4", "i4", "u1"):
            for function in ARITHMETIC:
                first, second = self.shapes()
                (a, t), (b, u) = pair(self.rng, first, dtype), pair(self.rng, second, dtype)
                if function in (operator.floordiv, operator.mod):
                    b, u = b.copy(), u.copy()
                    b[b == 0] = 3
                    u[u == 0] = 3
                with self.subTest(seed=self.seed, dtype=dtype, function=function.__name__):
                    self.same(function(t, u), function(a, b), t.dtype)
                    self.same(function(t, b), function(a, b), t.dtype)
                    self.same(function(a, u), function(a, b), t.dtype)

    def test_numbers(self):
        for dtype in ("f4", "i4", "u1"):
            a, t = pair(self.rng, (3, 4), dtype, low=1)
            a, t = a + a.dtype.type(1), t + 1
            for function in (*ARITHMETIC, *COMPARISONS):
                with self.subTest(seed=self.seed, dtype=dtype, function=function.__name__):
                    for number in (3, np.uint8(3), True):
                        one = np.array(number, dtype)
                        self.same(function(t, number), function(a, one))
                        self.same(function(number, t), function(one, a))

    def test_comparisons(self):
        for dtype in ("f4", "i4", "?"):
            for function in COMPARISONS:
                first, second = self.shapes()
                (a, t), (b, u) = pair(self.rng, first, dtype, -2, 2), pair(self.rng, second, dtype, -2, 2)
                with self.subTest(seed=self.seed, dtype=dtype, function=function.__name__):
                    self.same(function(t, u), function(a, b), "bool")
                    self.same(function(a, u), function(a, b), "bool")

    def test_comparisons_of_integers_with_any_number(self):
        a = np.arange(-3, 4, dtype="i4")
        t = tenon.tensor(a)
        numbers = (0.5, -0.5, -1.0, 2**40, -2**40, 1e300, float("inf"), -float("inf"), float("nan"), 2**31 - 1)
        for function in COMPARISONS:
            for number in numbers:
                with self.subTest(function=function.__name__, number=number):
                    self.same(function(t, number), function(a.astype("f8"), number), "bool")
                    self.same(function(number, t), function(number, a.astype("f8")), "bool")

    def test_bits(self):
        for dtype in ("?", "i4", "u1"):
            for function in BITS:
                first, second = self.shapes()
                (a, t), (b, u) = pair(self.rng, first, dtype), pair(self.rng, second, dtype)
                with self.subTest(seed=self.seed, dtype=dtype, function=function.__name__):
                    self.same(function(t, u), function(a, b), t.dtype)
                    self.same(~t, ~a, t.dtype)
        a, t = pair(self.rng, (20,), "i4", -1000, 1000)
        self.same(t << 2, a << 2)
        self.same(t >> 3, a >> 3)
        self.same(1 << abs(t % 8), np.left_shift(1, a % 8, dtype="i4"))

    def test_in_place(self):
        for dtype in ("f4", "i4"):
            for function in (operator.iadd, operator.isub, operator.imul, operator.ifloordiv, operator.imod):
                a, t = pair(self.rng, (4, 3), dtype)
                b, u = pair(self.rng, (3,), dtype, low=1)
                a = a.copy()
                b, u = b + a.dtype.type(1), u + 1
                whole = t.memory
                kept = t
                with self.subTest(seed=self.seed, dtype=dtype, function=function.__name__):
                    for other, on_device in ((b, u), (np.array(2, dtype), 2), (a, t)):
                        if function in (operator.ifloordiv, operator.imod) and on_device is t:
                            continue
                        a, t = function(a, other), function(t, on_device)
                        self.assertIs(t, kept)
                        self.assertIs(t.memory, whole)
                        self.same(t, a)

    def test_in_place_on_parts(self):
        a = integers(1, 6, 5)
        t = tenon.tensor(a)
        t[1:3] += 10
        a[1:3] += 10
        t[:, ::2] *= t[:, 1:4:1]
        a[:, ::2] *= a[:, 1:4:1]
        t[t < 0] -= 1
        a[a < 0] -= 1
        half = tenon.tensor(a.astype("f2"))
        half += t * 0.5  # computed in f32, rounded once
        self.same(t, a)
        self.same(half, (a.astype("f2") + a * np.float32(0.5)).astype("f2"), "f16")
        mask = t > 0
        mask |= t == 0
        mask &= ~(t == 3)
        self.same(mask, (a >= 0) & (a != 3), "bool")

    def test_powers(self):
        x = np.abs(reals(2, 30)) + np.float32(0.5)
        t = tenon.tensor(x)
        self.same(t ** 2, x * x)
        np.testing.assert_allclose((t ** 0.5).numpy(), np.sqrt(x), 1e-6)
        np.testing.assert_allclose((t ** -1.5).numpy(), x ** np.float32(-1.5), 1e-5)
        np.testing.assert_allclose((2 ** t).numpy(), 2 ** x, 1e-5)
        np.testing.assert_allclose((t ** t).numpy(), x ** x, 1e-5)
        a, u = pair(self.rng, (10,), "i4", -5, 5)
        self.same(u ** 3, a ** 3)
        self.same(u ** 2, a ** 2)
        self.same(u ** abs(u), a ** abs(a))

    def test_divisions(self):
        a, b = reals(3, 50) * 10, reals(4, 50)
        t, u = tenon.tensor(a), tenon.tensor(b)
        np.testing.assert_allclose((t / u).numpy(), a / b, 3e-7)
        self.same(t % u, a % b)
        self.same(t // u, a // b)
        self.same(tenon.tensor(np.array([1, -1, 6], "f4")) // 0.1, np.array([1, -1, 6], "f4") // np.float32(0.1))
        i = tenon.tensor(np.array([7, -7, 6, -128], "i1"))
        self.same(i // 3, [2, -3, 2, -43], "i8")
        self.same(i % -3, [-2, -1, 0, -2], "i8")
        self.same(i / 2, [3.5, -3.5, 3, -64], "f32")
        quotient, rest = divmod(i, 4)
        self.same(quotient * 4 + rest, i.numpy())
        self.same(divmod(9, abs(tenon.tensor(np.array([2, 4], "i4"))))[1], [1, 1])

    def test_unary(self):
        a, t = pair(self.rng, (3, 5), "f4")
        self.same(-t, -a)
        self.same(+t, a)
        self.assertIsNot((+t).memory, t.memory)
        self.same(abs(t), abs(a))
        i, u = pair(self.rng, (7,), "i4")
        self.same(-u, -i, "i32")
        self.same(abs(u), abs(i), "i32")
        self.same(round(t / 4), np.rint(a / 4))

    def test_matrices(self):
        for first, second in (((3, 4), (4, 2)), ((4,), (4, 2)), ((3, 4), (4,)), ((4,), (4,)), ((2, 1, 3, 4), (5, 4, 2)),
                              ((2, 3, 4), (4,)), ((4,), (2, 4, 3))):
            (a, t), (b, u) = pair(self.rng, first), pair(self.rng, second)
            with self.subTest(first=first, second=second):
                self.same(t @ u, a @ b)
                self.same(a @ u, a @ b)
                self.same(t @ b, a @ b)
        a, t = pair(self.rng, (3, 3), "f2")
        self.same(t @ t.copy().astype("f32"), a.astype("f4") @ a.astype("f4"), "f32")
        x = t.copy()
        x @= t
        self.same(x, a @ a)
        i, u = pair(self.rng, (4, 4), "i1")
        self.same(u @ u, i.astype("i4") @ i.astype("i4"), "i32")
        with self.assertRaisesRegex(ValueError, r"@=: the result is i32 \(2, 4, 4\)"):
            u @= tenon.zeros((2, 4, 4), "i8")
        with self.assertRaises(tenon.Error):
            u.astype("i64") @ u.astype("i64")

    def test_nothing(self):
        t = tenon.zeros((0, 3))
        self.same(t + 1, np.zeros((0, 3)))
        self.same(t > tenon.zeros(3), np.zeros((0, 3), bool))
        self.same(-(t // t), np.zeros((0, 3)))
        t *= 2


class Types(unittest.TestCase):
    def test_promotion_is_symmetric_and_associative_for_one_kind(self):
        for a in DTYPES:
            self.assertEqual(promoted(a, a), a)
            self.assertEqual(promoted(a, "bool"), a)
            for b in DTYPES:
                self.assertEqual(promoted(a, b), promoted(b, a))
                both = {a[0], b[0]}
                if both <= set("ui"):  # as NumPy's
                    self.assertEqual(NUMPY[promoted(a, b)], np.promote_types(NUMPY[a], NUMPY[b]))
        for a, b, expected in (("f16", "bf16", "f32"), ("f16", "f32", "f32"), ("bf16", "f64", "f64"),
                               ("f16", "i64", "f16"), ("f32", "u8", "f32"), ("u32", "i8", "i64")):
            self.assertEqual(promoted(a, b), expected)

    def test_results(self):
        f, h, i, u, b = (tenon.zeros(2, d) for d in ("f32", "f16", "i32", "u8", "bool"))
        for got, expected in ((f + h, "f32"), (i + u, "i32"), (u + 1, "u8"), (i + 1.5, "f32"), (h * 0.1, "f16"),
                              (b + 1, "i32"), (i / i, "f32"), (b == 1, "bool"), (h + np.float64(1), "f16"),
                              (i ** 0.5, "f32"), (u // 2, "u8"), (f ** 2, "f32"), (i - True, "i32")):
            self.assertEqual(got.dtype, expected)
        for number, results in ((True, ("bool", "i32", "f16")), (2, ("i32", "i32", "f16")),
                                (2.5, ("f32", "f32", "f16"))):
            self.assertEqual(tuple(beside_number(t.dtype, number) for t in (b, i, h)), results)

    def test_numbers_take_the_tensors_type(self):
        h = tenon.tensor(np.array([0.1, 0.2], "f2"))
        np.testing.assert_array_equal((h == 0.1).numpy(), [True, False])
        big = tenon.tensor(np.array([2**53 + 1], "i8"))
        self.assertTrue(big == 2**53 + 1)
        self.assertFalse(big == 2**53)
        self.assertEqual((big + (2**53 + 1)).item(), 2**54 + 2)
        self.assertEqual(str((tenon.zeros(1) * -0.0).item()), "-0.0")
        self.assertEqual((tenon.zeros(1) + 1e300).item(), float("inf"))

    def test_errors(self):
        f, i, u, b = (tenon.zeros(2, d) for d in ("f32", "i32", "u8", "bool"))

        def into(function, target, other):
            return lambda: function(target, other)
        for error, pattern, call in (
                (TypeError, r"\+ of bool is not defined.*use & \| \^ ~", lambda: b + b),
                (TypeError, r"- of bool is not defined; use ~", lambda: -b),
                (TypeError, "~ of f32 is not defined", lambda: ~f),
                (TypeError, "& of f32 is not defined: it accepts bool and integers", lambda: f & 1),
                (TypeError, "<< of bool is not defined", lambda: b << b),
                (ValueError, r"\+: 256 is out of the range of u8", lambda: u + 256),
                (ValueError, r"-: -1 is out of the range of u8", lambda: -1 - u),
                (ValueError, r"\*\*: integers have no powers with negative exponents", lambda: i ** -1),
                (ValueError, r"\+: the shapes \(2,\) and \(3,\) do not broadcast", lambda: f + tenon.zeros(3)),
                (ValueError, r"@: \(2,\) and \(3, 2\) do not match", lambda: f @ tenon.zeros((3, 2))),
                (ValueError, "@: a tensor of rank 0", lambda: f @ tenon.zeros(())),
                (TypeError, "@: a number is not a matrix", lambda: f @ 2),
                (TypeError, r"/=: the result has the type f32, which a tensor of i32", into(operator.itruediv, i, 2)),
                (TypeError, r"\+=: the result has the type f32", into(operator.iadd, i, f)),
                (ValueError, r"\+=: the result has the shape \(3, 2\)", into(operator.iadd, f, tenon.zeros((3, 2)))),
                (TypeError, "unsupported operand", lambda: f + "1"),
                (TypeError, "unsupported operand", lambda: f + None),
                (TypeError, "unsupported operand", lambda: f * 1j),
                (TypeError, "unhashable type", lambda: {f}),
                (ValueError, r"different contexts", lambda: f + tenon.zeros(2, context=tenon.Context())),
                (ValueError, "the truth value of a tensor with 2 elements", lambda: bool(f == f)),
                (ValueError, "the truth value of a tensor with 0 elements", lambda: bool(tenon.zeros(0))),
                (TypeError, "float: only a tensor with one element", lambda: float(f)),
                (TypeError, "only a tensor of an integer type and of rank 0", lambda: [1][tenon.zeros(())]),
                (ValueError, "item: the tensor has 2 elements", f.item),
                (TypeError, "a tensor of rank 0 has no length", lambda: len(tenon.zeros(()))),
                (TypeError, "a tensor of rank 0 is not iterable", lambda: list(tenon.zeros(()))),
                (tenon.InvalidArgument, "overlap", into(operator.iadd, f[:1].broadcast(4), 1))):
            with self.subTest(pattern), self.assertRaisesRegex(error, pattern):
                call()
        for other in (None, "t", [0, 0], object()):
            self.assertFalse(f == other)
            self.assertTrue(f != other)


class Numbers(unittest.TestCase):
    def test_conversions(self):
        t = tenon.tensor(np.array([[2.5, 0]], "f4"))
        self.assertEqual((float(t[0, 0]), int(t[0, 0]), t.item(0, 0), t[0, 0].item()), (2.5, 2, 2.5, 2.5))
        self.assertEqual((bool(t[0, 0]), bool(t[0, 1]), complex(t[0, :1])), (True, False, 2.5 + 0j))
        self.assertEqual(t.tolist(), [[2.5, 0.0]])
        i = tenon.tensor(np.array(3, "i8"))
        self.assertEqual((list(range(10))[i], range(i)), (3, range(3)))
        self.assertTrue(2.5 in t)
        self.assertFalse(3 in t)
        self.assertEqual([x.item() for x in t[0]], [2.5, 0])
        self.assertEqual((f"{t.sum():.2f}", f"{i:03d}", f"{t}"), ("2.50", "003", repr(t)))
        with self.assertRaisesRegex(TypeError, "format: only a tensor with one element"):
            f"{t:.2f}"

    def test_copies(self):
        t = tenon.zeros(2)
        for u in (copy.copy(t), copy.deepcopy([t])[0]):
            u += 1
        self.assertEqual(t.tolist(), [0, 0])

    def test_equal_objects_are_found_in_lists(self):
        t = tenon.zeros(2)
        self.assertIn(t, [None, t])


if __name__ == "__main__":
    unittest.main()

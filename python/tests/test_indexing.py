"""Reading and assigning by index, compared with NumPy over random indices."""
import unittest

import numpy as np
import tenon
from common import Arrays, integers, pair, random_shape


class Random(Arrays):
    def simple(self, size):
        """Returns an integer, a slice or …, which changes no other dimension."""
        kind = self.rng.integers(4)
        if kind == 0:
            return int(self.rng.integers(-size, size))
        low, high = sorted(int(n) for n in self.rng.integers(-size - 2, size + 3, 2))
        step = int(self.rng.choice([1, 2, 3, -1, -2]))
        return slice(low, high, step) if step > 0 else slice(high, low, step)

    def keys(self, shape, with_tensors):
        """Returns a random index for an array, and the same index with tensors."""
        array, device, d = [], [], 0
        broadcast = [(3,), (2, 1), (2, 3), ()][int(self.rng.integers(4))]
        while d < len(shape):
            kind = int(self.rng.integers(6 if with_tensors else 3))
            k = u = None
            if kind == 0 and len(array) < 4 and len(shape) < 4:
                pass  # a new dimension; with those of an index of two dimensions, a tensor has at most 8
            elif kind in (3, 4):
                k = self.rng.integers(-shape[d], shape[d], broadcast)
                u = tenon.tensor(k.astype("i4")) if kind == 3 else k.tolist() if broadcast else tenon.tensor(k)
                d += 1
            elif kind == 5 and broadcast == (3,):
                k = np.zeros(shape[d], bool)
                k[self.rng.permutation(shape[d])[:3]] = True
                k = k if k.sum() == 3 else self.rng.integers(0, shape[d], 3)
                u = tenon.tensor(k)
                d += 1
            else:
                k = u = self.simple(shape[d])
                d += 1
            array.append(k)
            device.append(u)
        if self.rng.integers(3) == 0:
            del array[-1:], device[-1:]
        return tuple(array), tuple(device)

    def test_reading(self):
        for number in range(150):
            shape = random_shape(self.rng, int(self.rng.integers(1, 5)))
            a, t = pair(self.rng, shape, "i4" if number % 3 == 0 else "f4")
            key, on_device = self.keys(shape, number % 2 == 1)
            with self.subTest(seed=self.seed, number=number, shape=shape, key=key):
                self.same(t[on_device], a[key])
                self.same(t[key], a[key])

    def test_assigning(self):
        for number in range(150):
            shape = random_shape(self.rng, int(self.rng.integers(1, 5)))
            a, t = pair(self.rng, shape, "i4" if number % 3 == 0 else "f4")
            a = a.copy()
            key, on_device = self.keys(shape, number % 2 == 1)
            selected = a[key].shape
            value = integers(number, *selected).astype(a.dtype) if self.rng.integers(3) else a.dtype.type(number % 7)
            if self.rng.integers(5) == 0 and selected:
                value = integers(number, *selected[1:]).astype("f4")
            with self.subTest(seed=self.seed, number=number, shape=shape, key=key):
                a[key] = value
                t[on_device] = tenon.tensor(value) if number % 2 else value
                self.same(t, a)


class Masks(Arrays):
    def test_reading(self):
        a, t = pair(self.rng, (4, 5, 3))
        for mask, of in ((a > 0, t > 0), (a[:, :, 0] > 0, t[:, :, 0] > 0), (a[:, 0, 0] < 0, t[:, 0, 0] < 0),
                         (a > 100, t > 100), (a < 100, t < 100)):
            self.same(t[of], a[mask])
            self.same(t[mask], a[mask])
        self.same(t[:, (t[0, :, 0] > 0), 1:], a[:, a[0, :, 0] > 0, 1:])
        self.same(t[..., t[0, 0] > 0], a[..., a[0, 0] > 0])
        b, u = pair(self.rng, (7,), "?", 0, 1)
        self.same(u[u], b[b])

    def test_assigning(self):
        for dtype in ("f4", "i4", "?"):
            a, t = pair(self.rng, (4, 5), dtype)
            a, row = a.copy(), pair(self.rng, (5,), dtype)
            for key, value in (((t > 2, a > 2), 1), ((t[:, 0] > 0, a[:, 0] > 0), 0), ((t[:, 1] > 0, a[:, 1] > 0), row),
                               ((t < 1, a < 1), (a[a < 1] * 3, a[a < 1] * 3)), ((t > 100, a > 100), 7)):
                value = value if isinstance(value, tuple) else (value, value)
                a[key[1]] = value[0]
                t[key[0]] = value[1]
                self.same(t, a)


class Assigning(Arrays):
    def test_parts_of_the_same_tensor(self):
        a, t = integers(1, 6, 6), tenon.tensor(integers(1, 6, 6))
        for to, of in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None)),
                       (slice(None, None, -1), slice(None)), ([1, 2], slice(0, 2))):
            a[to] = a[of].copy()
            t[to] = t[of]
            self.same(t, a)
        t[...] = t.T
        self.same(t, a.T)

    def test_the_last_of_equal_indices_remains(self):
        a, t = np.zeros(5, "f4"), tenon.zeros(5)
        a[[1, 1, 3]] = t[[1, 1, 3]] = [1, 2, 3]
        self.same(t, a)

    def test_conversion(self):
        t = tenon.zeros(4, "i32")
        t[0] = 2.75
        t[1] = True
        t[2:] = np.array([1.5, -1.5])
        self.same(t, np.array([2, 1, 1, -1]))
        big = tenon.zeros(2, "i64")
        big[:] = 2**53 + 1
        self.same(big, np.full(2, 2**53 + 1))
        h = tenon.zeros(3, "bf16")
        h[1:] = 0.5
        self.same(h, np.array([0, 0.5, 0.5]))
        b = tenon.zeros(2, "bool")
        b[0] = 5
        self.same(b, np.array([True, False]))

    def test_views_and_copies(self):
        t = tenon.zeros((4, 4))
        for key in (0, (slice(None), 1), (..., None), slice(None, None, 2), ()):
            self.assertIs(t[key].memory, t.memory)
        for key in ([0], slice(None, None, -1), t > 0, tenon.zeros(1, "i32")):
            self.assertIsNot(t[key].memory, t.memory)

    def test_indices_out_of_range(self):
        t = tenon.tensor(np.arange(4, dtype="f4"))
        for wrong in ([4], [-5], np.array([0, 7])):
            with self.assertRaisesRegex(IndexError, "is out of range for dimension 0 of size 4"):
                t[wrong]
            with self.assertRaisesRegex(IndexError, "is out of range"):
                t[wrong] = 1
        indices = tenon.tensor(np.array([1, 4, -5], "i4"))  # on the device: not checked, never accessed
        np.testing.assert_array_equal(t[indices].numpy(), [1, np.nan, np.nan])
        t[indices] = 9
        np.testing.assert_array_equal(t.numpy(), [0, 9, 2, 3])

    def test_errors(self):
        t = tenon.zeros((3, 4))

        def put(key, value):
            return lambda: t.__setitem__(key, value)
        for error, pattern, call in (
                (IndexError, "index 3 is out of range for dimension 0 of size 3", lambda: t[3]),
                (IndexError, "too many indices: 3 for 2", lambda: t[0, 0, 0]),
                (IndexError, "only one …", lambda: t[..., ...]),
                (IndexError, "an index must be an integer.*got str", lambda: t["a"]),
                (IndexError, "an index must be an integer.*got float", lambda: t[1.0]),
                (IndexError, "got bool", lambda: t[True]),
                (IndexError, "got f32 of rank 1", lambda: t[tenon.zeros(2)]),
                (IndexError, "got f64 of rank 1", lambda: t[[0.5]]),
                (IndexError, "step 0", lambda: t[::0]),
                (IndexError, "stop of a slice must be an integer, got float", lambda: t[:1.5]),
                (IndexError, r"the mask has the shape \(3,\), the indexed dimensions \(4,\)",
                 lambda: t[:, tenon.zeros(3, "bool")]),
                (IndexError, r"the mask has the shape \(4, 3\), the tensor \(3, 4\)",
                 lambda: t[tenon.zeros((4, 3), "bool")]),
                (IndexError, "do not broadcast", lambda: t[[0, 1], [0, 1, 2]]),
                (IndexError, "a dimension of size 0 is indexed", lambda: tenon.zeros((0, 2))[tenon.zeros(1, "i32")]),
                (ValueError, r"the value has the shape \(3,\), the elements have \(3, 4\)", put(..., np.zeros(3))),
                (ValueError, r"the value has the shape \(5,\), the elements have \(2, 4\)", put([0, 1], np.zeros(5))),
                (ValueError, r"the value has the shape \(2,\)", put(tenon.zeros((3, 4), "bool"), np.zeros(2))),
                (ValueError, "300 is out of the range of u8",
                 lambda: tenon.zeros(2, "u8").__setitem__(0, 300)),
                (ValueError, "nan is not a value of i32", lambda: tenon.zeros(2, "i32").__setitem__(0, float("nan"))),
                (TypeError, "expected a number, a tensor or an array, got str", put(0, "1")),
                (TypeError, "expected a number.*NoneType", put(0, None)),
                (tenon.InvalidArgument, "overlap", lambda: t[0].broadcast(5, 4).__setitem__(..., 1))):
            with self.subTest(pattern), self.assertRaisesRegex(error, pattern):
                call()


if __name__ == "__main__":
    unittest.main()

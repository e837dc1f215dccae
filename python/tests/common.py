"""References and error bounds; docs/numerics.md derives the bounds.

The tests check the package, not the kernels. Most use small integers, whose results every type represents exactly,
so that results must match bit for bit.
"""
import random
import unittest

import numpy as np

DTYPES = ("f8", "f4", "f2")
UNIT = {"f8": 2.0**-53, "f4": 2.0**-24, "f2": 2.0**-24}  # unit roundoff of the accumulation type
TINY = {"f8": 2.0**-1022, "f4": 2.0**-126, "f2": 2.0**-126}


def integers(seed, *shape, dtype="f4", low=-4, high=4):
    return np.random.default_rng(seed).integers(low, high + 1, shape).astype(dtype)


def reals(seed, *shape, dtype="f4"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def gamma(n, dtype):
    """Returns the bound for n roundings; in f64 the roundings of the reference count as well."""
    nu = n * UNIT[dtype] * (2 if dtype == "f8" else 1)
    return nu / (1 - nu)


def stored(value, dtype):
    """Returns the error of the final rounding to a 16-bit type."""
    return 2.0**-11 * np.abs(value) + 2.0**-25 if dtype == "f2" else 0.0


def assert_within(test, got, expected, bound):
    error = np.abs(np.asarray(got, "f8") - expected)
    worst = np.unravel_index(np.argmax(error - bound), error.shape)
    test.assertTrue((error <= bound).all(), f"at {worst}: {np.asarray(got)[worst]} for "
                                            f"{np.asarray(expected)[worst]}")


def conv(x, w, stride=1, pad=0, dilation=1, groups=1):
    """Computes a two-dimensional convolution in float64, tap by tap."""
    x = np.pad(x.astype("f8"), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    n, c, height, width = x.shape
    k, _, r, s = w.shape
    p = (height - dilation * (r - 1) - 1) // stride + 1
    q = (width - dilation * (s - 1) - 1) // stride + 1
    y = np.zeros((n, k, p, q))
    for g in range(groups):
        channels = slice(g * c // groups, (g + 1) * c // groups)
        filters = slice(g * k // groups, (g + 1) * k // groups)
        for i in range(r):
            for j in range(s):
                top, left = i * dilation, j * dilation
                part = x[:, channels, top:top + (p - 1) * stride + 1:stride,
                         left:left + (q - 1) * stride + 1:stride]
                y[:, filters] += np.einsum("nchw,kc->nkhw", part, w[filters, :, i, j].astype("f8"))
    return y


def pair(rng, shape, dtype="f4", low=-6, high=6):
    """Returns an array of integers in a random layout, and the tensor with the same layout."""
    import tenon
    order = rng.permutation(len(shape))
    steps = rng.integers(1, 3, len(shape))
    low = 0 if dtype[0] in "u?" else low
    whole = rng.integers(low, high + 1, [shape[d] * steps[d] + 1 for d in order]).astype(dtype)
    a, t = whole, tenon.tensor(whole)
    back = np.argsort(order)
    a, t = a.transpose(back), t.permute(back)
    for d, (n, step) in enumerate(zip(shape, steps)):
        a = a[(slice(None),) * d + (slice(1, n * step + 1, step),)]
        t = t.slice(d, 1, n, int(step))
    return a, t


def random_shape(rng, rank, most=5):
    return tuple(int(n) for n in rng.integers(1, most + 1, rank))


class Arrays(unittest.TestCase):
    """Tests that compare tensors with arrays. Messages show the seed of random numbers."""

    seed = random.SystemRandom().randrange(2**32)

    def setUp(self):
        self.rng = np.random.default_rng(self.seed)

    def same(self, got, expected, dtype=None):
        """Compares a tensor with an array bit for bit, and with a type."""
        import tenon
        self.assertIsInstance(got, tenon.Tensor)
        if dtype is not None:
            self.assertEqual(got.dtype, dtype)
        self.assertEqual(got.shape, np.shape(expected))
        np.testing.assert_array_equal(got.numpy(), expected)

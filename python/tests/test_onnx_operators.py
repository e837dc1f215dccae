"""tenon.onnx: operators compared with NumPy in double precision, and the rule that NumPy computes only shapes."""
import ast
import math
import unittest
from pathlib import Path

import numpy as np

try:
    import ml_dtypes  # noqa: F401  (a dependency of onnx)
    from onnx import helper
except ImportError as error:
    raise unittest.SkipTest(f"the package onnx is not installed: {error}") from error

import tenon.onnx
from test_onnx import array, info, model_of

TRAINING = "ai.onnx.preview.training"


def run(node, *arrays, opset=None):
    return tenon.onnx.run_node(node, list(arrays), **({} if opset is None else {"opset_version": opset}))


class Optimizers(unittest.TestCase):
    """One step of two tensors of different shapes, at the first and at a later step."""

    def compare(self, op, kinds, expected, **attributes):
        shapes, rate = [(3, 4), (5,)], np.array(0.1, "f4")
        names = [f"{k}{i}" for k in range(kinds) for i in range(2)]
        for count in (0, 3):
            arrays = [array(10 * i + count, *shapes[i % 2]) for i in range(2 * kinds)]
            arrays[-2:] = map(np.abs, arrays[-2:])  # states that are sums of squares
            outputs = [f"y{i}" for i in range(2 * (kinds - 1))]
            node = helper.make_node(op, ["r", "t", *names], outputs, domain=TRAINING, **attributes)
            found = run(node, rate, np.array(count), *arrays, opset=1)
            wide = [a.astype("f8") for a in arrays]
            wanted = [expected(0.1, count, *wide[i::2]) for i in range(2)]
            for place, y in enumerate(found):
                np.testing.assert_allclose(y, wanted[place % 2][place // 2], rtol=2e-5, atol=2e-6)

    def test_adagrad(self):
        def expected(rate, count, x, g, h):
            g = g + 0.01 * x
            h = h + g * g
            return x - rate / (1 + count * 0.1) * g / (np.sqrt(h) + 1e-3), h
        self.compare("Adagrad", 3, expected, decay_factor=0.1, epsilon=1e-3, norm_coefficient=0.01)

    def test_adam(self):
        def expected(rate, count, x, g, v, h):
            g = g + 0.01 * x
            v, h = 0.9 * v + 0.1 * g, 0.999 * h + 0.001 * g * g
            rate *= math.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count) if count else 1
            return (1 - 0.02) * (x - rate * v / (np.sqrt(h) + 1e-3)), v, h
        self.compare("Adam", 4, expected, alpha=0.9, beta=0.999, epsilon=1e-3, norm_coefficient=0.01,
                     norm_coefficient_post=0.02)

    def test_momentum(self):
        for mode in ("standard", "nesterov"):
            def expected(rate, count, x, g, v, mode=mode):
                g = g + 0.01 * x
                v = 0.95 * v + (0.5 if count else 1) * g
                return x - rate * (v if mode == "standard" else g + 0.95 * v), v
            self.compare("Momentum", 3, expected, alpha=0.95, beta=0.5, mode=mode, norm_coefficient=0.01)


def sample(image, row, column):
    """Interpolates an image at a position; elements outside are 0."""
    top, left = math.floor(row), math.floor(column)
    total = 0.0
    for r, c in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        if 0 <= r < image.shape[0] and 0 <= c < image.shape[1]:
            total += image[r, c] * (1 - abs(row - r)) * (1 - abs(column - c))
    return total


def deformed(x, w, offset, bias, mask, groups, offset_groups, stride, dilation, pad):
    """Computes a deformable convolution in two dimensions element by element."""
    count, channels, kernel, out = x.shape[0], x.shape[1], w.shape[2:], offset.shape[2:]
    offset = offset.reshape(count, offset_groups, *kernel, 2, *out)
    mask = mask.reshape(count, offset_groups, *kernel, *out)
    y = np.zeros((count, w.shape[0], *out)) + bias.reshape(1, -1, 1, 1)
    for n, k, i, j in np.ndindex(*y.shape):
        group = k // (w.shape[0] // groups)
        for c, r, s in np.ndindex(*w.shape[1:]):
            channel = group * w.shape[1] + c
            g = channel // (channels // offset_groups)
            row = i * stride - pad + r * dilation + offset[n, g, r, s, 0, i, j]
            column = j * stride - pad + s * dilation + offset[n, g, r, s, 1, i, j]
            y[n, k, i, j] += w[k, c, r, s] * mask[n, g, r, s, i, j] * sample(x[n, channel], row, column)
    return y


class Images(unittest.TestCase):
    def test_deformable_convolution(self):
        x, w, out = array(1, 2, 4, 7, 6), array(2, 6, 2, 3, 2), (3, 3)
        offset, mask = 2 * array(3, 2, 2 * 2 * 6, *out), array(4, 2, 2 * 6, *out)
        bias = array(5, 6)
        node = helper.make_node("DeformConv", ["x", "w", "o", "b", "m"], ["y"], group=2, offset_group=2,
                                strides=[2, 2], dilations=[2, 2], pads=[1, 1, 1, 1])
        y, = run(node, x, w, offset, bias, mask)
        wanted = deformed(*(a.astype("f8") for a in (x, w, offset, bias, mask)), 2, 2, 2, 2, 1)
        np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-4)

    def test_regions_of_old_operator_sets_are_not_shifted(self):
        x = np.broadcast_to(np.arange(10, dtype="f4"), (1, 1, 10, 10)).copy()
        rois, batch = np.array([[2, 2, 6, 6]], "f4"), np.array([0])
        node = helper.make_node("RoiAlign", ["x", "r", "i"], ["y"], sampling_ratio=2)
        for opset, center in ((10, 4.0), (16, 3.5)):
            y, = run(node, x, rois, batch, opset=opset)
            self.assertAlmostEqual(float(y.reshape(())), center, places=5)

    def test_coordinates_of_grids(self):
        theta = np.array([[[1, 0, 0], [0, 1, 0]]], "f4")
        for align, line in ((0, (2 * np.arange(5) + 1) / 5 - 1), (1, np.linspace(-1, 1, 5))):
            node = helper.make_node("AffineGrid", ["t", "s"], ["y"], align_corners=align)
            y, = run(node, theta, np.array([1, 1, 1, 5]))
            np.testing.assert_allclose(y[0, 0, :, 0], line, atol=1e-6)


class Products(unittest.TestCase):
    def test_diagonals(self):
        a, b = array(1, 4, 3, 4), array(2, 3, 3, 5)
        for equation, arrays in (("iji->j", [a]), ("iji->ij", [a]), ("iji,jjk->ik", [a, b]), ("iji->", [a])):
            node = helper.make_node("Einsum", list("ab")[:len(arrays)], ["y"], equation=equation)
            y, = run(node, *arrays)
            np.testing.assert_allclose(y, np.einsum(equation, *(v.astype("f8") for v in arrays)), rtol=1e-5, atol=1e-5)

    def test_diagonals_of_different_sizes(self):
        with self.assertRaises(tenon.onnx.NodeError) as caught:
            run(helper.make_node("Einsum", ["a"], ["y"], equation="ii->i"), array(1, 2, 3))
        self.assertIn("different sizes [2, 3]", str(caught.exception))

    def test_mel_bands(self):
        bands, length, rate = 6, 64, 8000
        node = helper.make_node("MelWeightMatrix", list("abcde"), ["y"])
        y, = run(node, np.array(bands), np.array(length), np.array(rate), np.array(100, "f4"), np.array(3500, "f4"))
        edges = np.linspace(*(2595 * math.log10(1 + f / 700) for f in (100, 3500)), bands + 2, endpoint=False)
        places = np.floor((length + 1) * 700 * (10 ** (edges / 2595) - 1) / rate)
        bins, wanted = np.arange(length // 2 + 1), np.zeros((length // 2 + 1, bands))
        for band in range(bands):
            begin, center, end = places[band:band + 3]
            self.assertTrue(begin < center < end)
            wanted[:, band] = np.interp(bins, [begin, center, end], [0, 1, 0])
        np.testing.assert_allclose(y, wanted, atol=1e-5)


# NumPy's functions that modules other than _hostops.py call: conversions, shapes, and lists of positions, which depend
# on shapes and attributes only.
SHAPES = {"ndarray", "asarray", "array", "atleast_1d", "broadcast_shapes", "dtype", "floor", "prod", "issubdtype"}
POSITIONS = {"_attention": {"arange"}, "_control": {"stack"}, "_functions": {"arange", "outer"}, "_images": {"arange"},
             "_layout": {"arange", "where", "zeros"}, "_reductions": {"arange"}, "_sampling": {"arange", "indices"},
             "_sorting": {"arange"}}
MATCHED = {"_fusion": {"allclose", "sqrt", "pi"}}  # constants of the model are compared, not computed with


class Sorting(unittest.TestCase):
    def test_unique(self):
        """Every type, the elements or the entries of an axis, sorted or by the first index."""
        random = np.random.default_rng(5)
        for dtype in ("f4", "f8", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "?"):
            for axis, order in ((None, 1), (None, 0), (0, 1), (1, 0)):
                x = random.integers(0, 3, (5, 7)).astype(dtype)
                y, first, inverse, counts = np.unique(x, True, True, True, axis)
                if not order:
                    by_first = np.argsort(first)
                    y = y[by_first] if axis is None else np.take(y, by_first, axis)
                    inverse = np.argsort(by_first)[inverse]
                    first, counts = first[by_first], counts[by_first]
                node = helper.make_node("Unique", ["x"], ["y", "f", "i", "c"], sorted=order,
                                        **({} if axis is None else {"axis": axis}))
                for found, expected in zip(run(node, x), (y, first, inverse.ravel(), counts)):
                    np.testing.assert_array_equal(found, expected, f"{dtype} {axis} {order}")

    def test_unique_of_no_elements(self):
        node = helper.make_node("Unique", ["x"], ["y", "f", "i", "c"])
        for found, dtype in zip(run(node, np.zeros((0, 3), "f4")), ("f4", "i8", "i8", "i8")):
            self.assertEqual((found.shape, found.dtype), ((0,), np.dtype(dtype)))


class Numpy(unittest.TestCase):
    def test_it_computes_only_shapes(self):
        for path in sorted(Path(tenon.onnx.__file__).parent.glob("_*.py")):
            if path.stem in ("__init__", "__main__", "_hostops"):
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
                    and isinstance(node.value, ast.Name) and node.value.id == "np"}
            allowed = SHAPES | POSITIONS.get(path.stem, set()) | MATCHED.get(path.stem, set())
            self.assertEqual(used - allowed, set(), path.stem)

    def test_results_that_depend_on_values_are_computed_on_the_device(self):
        nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Mul", ["w", "w"], ["b"]),
                 helper.make_node("Sub", ["a", "b"], ["y"])]
        proto = model_of(nodes, [info("x", [2])], [info("y", [2])], {"w": np.array([1, 2], "f4")})
        model, computed = tenon.onnx.prepare(proto), []
        operators = tenon.onnx._hostops.SHAPE_OPERATORS
        saved = dict(operators)
        try:
            for name, function in saved.items():
                operators[name] = lambda *x, f=function, n=name, **k: computed.append(n) or f(*x, **k)
            y, = model.run([np.array([3, 4], "f4")])
        finally:
            operators.update(saved)
        self.assertEqual((y.tolist(), computed), ([3, 2], []))


if __name__ == "__main__":
    unittest.main()

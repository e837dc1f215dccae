"""tenon.onnx: replacements of nodes, compared with NumPy in double precision and with models that stay as they are."""
import math
import unittest

import numpy as np

try:
    import ml_dtypes  # noqa: F401  (a dependency of onnx)
    from onnx import helper
except ImportError as error:
    raise unittest.SkipTest(f"the package onnx is not installed: {error}") from error

import tenon.onnx
from test_onnx import array, info, model_of


def model(text, constants, shape, opset=17):
    """Makes a model with the input x and the output y of lines such as "c = Conv(x, w)"."""
    nodes = []
    for line in text.strip().splitlines():
        results, _, call = line.partition("=")
        op, _, inputs = call.strip().rstrip(")").partition("(")
        attributes = {"pads": [1, 1, 1, 1]} if op == "Conv" else {"axes": [-1]} if op == "ReduceMean" else \
            {"to": 1} if op == "Cast" else {}
        nodes.append(helper.make_node(op, [i.strip() for i in inputs.split(",")],
                                      [r.strip() for r in results.split(",")], **attributes))
    return model_of(nodes, [info("x", shape)], [info("y", [f"d{i}" for i in range(len(shape))])], constants, opset)


HARD_SWISH = """
a = Add(x, three)
c = Clip(a, zero, six)
m = Mul(x, c)
y = Div(m, six)
"""
GELU = """
s = Mul(small, x)
q = Mul(x, s)
c = Mul(x, q)
t = Add(x, c)
u = Mul(scale, t)
h = Tanh(u)
o = Add(one, h)
f = Mul(half, o)
y = Mul(x, f)
"""
NORM = """
m = ReduceMean(x)
d = Sub(x, m)
p = Pow(d, two)
v = ReduceMean(p)
e = Add(v, tiny)
r = Sqrt(e)
n = Div(d, r)
g = Mul(n, gain)
y = Add(g, shift)
"""
CONV = """
c = Conv(x, w)
f = Mul(factor, c)
s = Add(f, channels)
a = Add(s, three)
k = Clip(a, zero, six)
m = Mul(s, k)
h = Div(m, six)
u = Mul(h, two)
y = Add(u, one)
"""
NUMBERS = {"zero": 0, "half": 0.5, "one": 1, "two": 2, "three": 3, "six": 6, "small": 0.044715, "tiny": 1e-5,
           "scale": math.sqrt(2 / math.pi)}


def constants(text, **more):
    found = {name: np.array(value, "f4") for name, value in NUMBERS.items()}
    return {**{name: v for name, v in found.items() if name in text}, **more}


class Fusion(unittest.TestCase):
    def check(self, proto, x, expected, ops):
        made = tenon.onnx.prepare(proto)
        self.assertEqual([node.op for node in made.graph.nodes], ops)
        for found in (made, tenon.onnx.TenonBackend.prepare(proto, record=False)):
            y, = found.run([x])
            np.testing.assert_allclose(y, expected, rtol=2e-5, atol=2e-5)

    def test_hard_swish(self):
        x = 4 * array(1, 3, 50)
        self.check(model(HARD_SWISH, constants(HARD_SWISH), x.shape), x, x * np.clip(x + 3.0, 0, 6) / 6, ["HardSwish"])

    def test_other_constants_are_no_hard_swish(self):
        x = 4 * array(1, 3, 50)
        other = constants(HARD_SWISH, three=np.array(2, "f4"))
        self.check(model(HARD_SWISH, other, x.shape), x, x * np.clip(x + 2.0, 0, 6) / 6, ["Add", "Clip", "Mul", "Div"])

    def test_sums_of_integers_remain(self):
        x = np.arange(6, dtype="i4").reshape(2, 3)
        proto = model("a = Mul(x, k)\ny = Add(a, k)", {"k": np.array(3, "i4")}, x.shape)
        for value in (*proto.graph.input, *proto.graph.output):
            value.type.tensor_type.elem_type = 6  # i32
        self.check(proto, x, x * 3 + 3, ["Mul", "Add"])

    def test_swish(self):
        x = 4 * array(2, 3, 50)
        cases = (("s = Sigmoid(x)\ny = Mul(x, s)", 1), ("a = Mul(x, two)\ns = Sigmoid(a)\ny = Mul(s, x)", 2))
        for text, alpha in cases:
            self.check(model(text, constants(text), x.shape), x, x / (1 + np.exp(-alpha * x.astype("f8"))), ["Swish"])

    def test_gelu(self):
        x = 2 * array(3, 3, 50)
        wide = x.astype("f8")
        expected = 0.5 * wide * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide ** 3)))
        self.check(model(GELU, constants(GELU), x.shape), x, expected, ["Gelu"])

    def test_magnitudes(self):
        x, other = array(3, 3, 50), array(4, 50)
        wide = np.sqrt(x.astype("f8") ** 2 + other.astype("f8") ** 2)
        squares = ("p = Pow(x, two)\nq = Pow(other, two)\nt = Add(p, q)\ny = Sqrt(t)",
                   "p = Mul(x, x)\nq = Mul(other, other)\nt = Add(q, p)\ny = Sqrt(t)")
        for text, before in zip(squares, ("Pow", "Mul")):
            self.check(model(text, constants(text, other=other), x.shape), x, wide, [before, "RootOfSquare"])

    def test_bodies_of_control_flow(self):
        x = 4 * array(2, 3, 50)
        body = model("a = Mul(x, two)\ns = Sigmoid(a)\ny = Mul(s, x)", constants("two"), x.shape).graph
        del body.input[:]
        other = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "other", [], body.output)
        node = helper.make_node("If", ["yes"], ["y"], then_branch=body, else_branch=other)
        proto = model_of([node], [info("x", x.shape)], [info("y", x.shape)], {"yes": np.array(True)})
        self.check(proto, x, x / (1 + np.exp(-2 * x.astype("f8"))), ["If"])
        made = tenon.onnx.prepare(proto)
        self.assertEqual([n.op for n in made.graph.nodes[0].attributes["then_branch"].nodes], ["Swish"])

    def test_layer_normalization(self):
        x, gain, shift = array(4, 2, 5, 32), array(5, 32), array(6, 32)
        wide = x.astype("f8") - x.mean(-1, keepdims=True, dtype="f8")
        expected = wide / np.sqrt((wide ** 2).mean(-1, keepdims=True) + 1e-5) * gain + shift
        self.check(model(NORM, constants(NORM, gain=gain, shift=shift), x.shape), x, expected, ["LayerNormalization"])

    def test_an_intermediate_that_is_an_output_remains(self):
        x, text = 4 * array(1, 3, 50), HARD_SWISH
        proto = model(text, constants(text), x.shape)
        proto.graph.output.append(info("c", ["a", "b"]))
        made = tenon.onnx.prepare(proto)
        self.assertEqual([node.op for node in made.graph.nodes], ["Add", "Clip", "Mul", "Div"])
        np.testing.assert_allclose(made.run([x])[1], np.clip(x + 3.0, 0, 6), rtol=1e-6)

    def test_a_convolution_with_products_and_sums(self):
        x, w, channels = array(7, 2, 3, 9, 8), array(8, 6, 3, 3, 3), array(9, 1, 6, 1, 1)
        text = constants(CONV, w=w, factor=np.array([1.5], "f4"), channels=channels)
        wide = np.lib.stride_tricks.sliding_window_view(np.pad(x.astype("f8"), ((0, 0), (0, 0), (1, 1), (1, 1))),
                                                        (3, 3), (2, 3))
        s = 1.5 * np.einsum("nchwrs,kcrs->nkhw", wide, w.astype("f8")) + channels
        proto = model(CONV, text, x.shape)
        self.check(proto, x, 2 * s * np.clip(s + 3, 0, 6) / 6 + 1, ["ConvAffine", "HardSwish", "ScaleShift"])
        made = tenon.onnx.prepare(proto)
        made.run([x])
        # All of it is part of the convolution, or of one chain after it if the device's convolution takes less.
        steps = [text.split("/")[0] for text in made.describe()]
        self.assertIn(steps, (["conv"], ["conv", "elementwise_chain"]), made.describe())

    def test_a_convolution_of_a_scaled_image(self):
        x, w, bias = array(7, 2, 4, 5, 5), array(8, 6, 2, 1, 1), array(9, 6)
        for padded in (0, 1):
            proto = model("a = Mul(x, two)\nb = Add(a, three)\ny = Conv(b, w, bias)",
                          {**constants("two three"), "w": w, "bias": bias}, x.shape)
            proto.graph.node[2].attribute[0].CopyFrom(helper.make_attribute("pads", [padded] * 4))
            proto.graph.node[2].attribute.append(helper.make_attribute("group", 2))
            image = np.pad(2 * x.astype("f8") + 3, ((0, 0), (0, 0), (padded, padded), (padded, padded)))
            groups = [np.einsum("nchw,kc->nkhw", image[:, 2 * g:2 * g + 2], w[3 * g:3 * g + 3, :, 0, 0])
                      for g in range(2)]
            expected = np.concatenate(groups, 1) + bias.reshape(6, 1, 1)
            self.check(proto, x, expected, ["ScaleShift", "Conv"] if padded else ["ConvAffine"])

    def test_a_sum_that_is_not_by_channel_stays_one(self):
        x, w, added = array(7, 2, 3, 9, 8), array(8, 8, 3, 3, 3), array(9, 8)
        text = "c = Conv(x, w)\ny = Add(c, added)"  # added has an element for each column
        wide = np.lib.stride_tricks.sliding_window_view(np.pad(x.astype("f8"), ((0, 0), (0, 0), (1, 1), (1, 1))),
                                                        (3, 3), (2, 3))
        expected = np.einsum("nchwrs,kcrs->nkhw", wide, w.astype("f8")) + added
        self.check(model(text, {"w": w, "added": added}, x.shape), x, expected, ["ConvAffine"])

    def test_convolutions_whose_windows_are_views(self):
        bias = array(9, 5)
        cases = [((2, 1, 100), (5, 1, 17), dict(strides=[7], dilations=[2])),   # windows of a row
                 ((1, 1, 64), (5, 1, 16), dict(strides=[16])),
                 ((2, 3, 4), (5, 3, 4), {}),                                     # one window
                 ((2, 3, 2), (5, 3, 3), dict(strides=[2], pads=[1, 1])),
                 ((1, 3, 1), (5, 3, 3), dict(pads=[1, 1])),
                 ((2, 3, 3), (5, 3, 2), dict(dilations=[2])),                    # a window with gaps is none
                 ((2, 3, 5, 4), (5, 3, 5, 4), {}),
                 ((2, 3, 2, 2), (5, 3, 3, 3), dict(pads=[1, 0, 0, 1], strides=[3, 3]))]
        for shape, filters, attributes in cases:
            x, w, rank = array(7, *shape), array(8, *filters), len(shape) - 2
            pads = attributes.get("pads", [0] * 2 * rank)
            steps, apart = (attributes.get(k, [1] * rank) for k in ("strides", "dilations"))
            wide = np.pad(x.astype("f8"), ((0, 0), (0, 0), *zip(pads[:rank], pads[rank:])))
            reach = [(k - 1) * d + 1 for k, d in zip(filters[2:], apart)]
            windows = np.lib.stride_tricks.sliding_window_view(wide, reach, range(2, 2 + rank))
            windows = windows[(..., *(slice(None, None, s) for s in steps), *(slice(None, None, d) for d in apart))]
            letters = "pqrs"[:2 * rank]
            expected = np.einsum(f"nc{letters},kc{letters[rank:]}->nk{letters[:rank]}", windows, w.astype("f8"))
            node = helper.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)
            proto = model_of([node], [info("x", shape)], [info("y", expected.shape)], {"w": w, "b": bias})
            made = tenon.onnx.prepare(proto)
            y, = made.run([x])
            np.testing.assert_allclose(y, expected + bias.reshape(-1, *[1] * rank), 1e-4, 1e-5, err_msg=f"{shape}")
            is_product = all(line.startswith("gemm") for line in made.describe())
            self.assertEqual(is_product, shape != (2, 3, 3), f"{shape} {made.describe()}")

    def test_a_product_with_a_bias(self):
        x, w = array(7, 2, 5, 8), array(8, 8, 6)
        for added in (array(9, 6), array(9, 1, 1, 6), array(9, 5, 1), array(9, 1)):
            proto = model("c = MatMul(x, w)\ny = Add(added, c)", {"w": w, "added": added}, x.shape)
            self.check(proto, x, x.astype("f8") @ w + added, ["MatMulAdd"])

    def quantized(self, text, constants, x, expected, ops, scale_shape):
        """Checks a model of the quantized input x, whose scale is multiplied by that of the weights."""
        proto = model(text, constants, x.shape)
        made = tenon.onnx.prepare(proto)
        self.assertEqual([node.op for node in made.graph.nodes], ops, scale_shape)
        whole = tenon.onnx.TenonBackend.prepare(proto, record=False).run([x])[0]
        np.testing.assert_allclose(made.run([x])[0], expected, rtol=2e-6, atol=1e-5)
        np.testing.assert_array_equal(whole, made.run([x])[0])

    def dynamic(self, x):
        """Returns what a dynamic quantization of x keeps of it, in steps, and the step."""
        high, low = max(x.max(), 0), min(x.min(), 0)
        step = np.float32((high - low) / np.float32(255))
        zero = np.clip(np.rint(-low / step), 0, 255)
        return np.clip(np.rint(x / step) + zero, 0, 255) - zero, step

    def convolved(self, whole, w, zero):
        wide = np.lib.stride_tricks.sliding_window_view(whole.astype("f8"), (3, 3), (2, 3))
        return np.einsum("nchwrs,kcrs->nkhw", wide, w.astype("f8") - zero)

    def test_dynamically_quantized_convolutions(self):
        x, w = 4 * array(7, 2, 3, 9, 8), np.random.default_rng(8).integers(-128, 128, (6, 3, 3, 3), dtype="i1")
        bias = array(9, 1, 6, 1, 1)
        whole, step = self.dynamic(x)
        for shape in ((), (1,), (6, 1, 1), (1, 6, 1, 1), (1, 1, 7, 1)):  # the last has one for each row
            scale = np.abs(array(10, *shape)).astype("f4") + np.float32(0.01)
            w_zero = np.array(3, "i1")
            text = """
            q, s, z = DynamicQuantizeLinear(x)
            i = ConvInteger(q, w, z, w_zero)
            f = Cast(i)
            m = Mul(s, scale)
            v = Mul(f, m)
            y = Add(v, bias)
            """
            self.quantized(text, {"w": w, "w_zero": w_zero, "scale": scale, "bias": bias}, x,
                           self.convolved(whole, w, 3) * (step * scale).astype("f8") + bias,
                           ["DynamicQuantizeLinear", "ConvIntegerScaled"], shape)

    def test_dynamically_quantized_products(self):
        x, w = 4 * array(7, 2, 5, 9), np.random.default_rng(8).integers(0, 256, (9, 6), dtype="u1")
        bias = array(9, 6)
        whole, step = self.dynamic(x)
        for shape in ((), (6,), (1, 6), (5, 1)):
            scale = np.abs(array(10, *shape)).astype("f4") + np.float32(0.01)
            text = """
            q, s, z = DynamicQuantizeLinear(x)
            i = MatMulInteger(q, w, z, w_zero)
            f = Cast(i)
            m = Mul(s, scale)
            v = Mul(m, f)
            y = Add(bias, v)
            """
            self.quantized(text, {"w": w, "w_zero": np.array(120, "u1"), "scale": scale, "bias": bias}, x,
                           whole @ (w.astype("f8") - 120) * (step * scale).astype("f8") + bias,
                           ["DynamicQuantizeLinear", "MatMulIntegerScaled"], shape)

    def test_products_and_sums_around_a_dynamic_quantization(self):
        x, w = 4 * array(7, 2, 3, 9, 8), np.random.default_rng(8).integers(-128, 128, (6, 3, 3, 3), dtype="i1")
        end = """
        i = ConvInteger(q, w, z, w_zero)
        f = Cast(i)
        m = Mul(s, scale)
        v = Mul(f, m)
        {}
        g = Mul({}, after)
        h = Add(g, two)
        y = Relu(h)
        """
        for factor in (0.75, -0.75, 1):  # with a negative one the least is the greatest
            given = np.float32(factor) * x + np.float32(2)
            whole, step = self.dynamic(given)
            for bias in (array(9, 1, 6, 1, 1), array(9, 1), None):
                text = "a = Mul(x, factor)\nb = Add(a, two)\nq, s, z = DynamicQuantizeLinear(b)" + (
                    end.format("", "v") if bias is None else end.format("b2 = Add(v, bias)", "b2"))
                values = {"w": w, "w_zero": np.array(3, "i1"), "scale": np.array(0.01, "f4"),
                          "factor": np.array(factor, "f4"), "after": np.array(-1.5, "f4"), "two": np.array(2, "f4"),
                          **({} if bias is None else {"bias": bias})}
                text = "\n".join(line for line in text.splitlines() if line.strip())
                sums = self.convolved(whole, w, 3) * float(step * np.float32(0.01)) + (0 if bias is None else bias)
                self.quantized(text, values, x, np.maximum(-1.5 * sums + 2, 0),
                               ["DynamicQuantizeScaled", "ConvIntegerScaled", "Relu"], f"{factor} {bias is None}")

    def test_a_dynamic_quantization_of_zeros(self):
        x = np.zeros((2, 3), "f4")
        proto = model_of([helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])], [info("x", x.shape)],
                         [info("q", x.shape, 2), info("s", ()), info("z", (), 2)], {}, 17)
        for found in (tenon.onnx.prepare(proto), tenon.onnx.TenonBackend.prepare(proto, record=False)):
            q, s, z = found.run([x])
            self.assertEqual((q.dtype, q.tolist(), s.item(), z.item()), ("u1", [[0] * 3] * 2, 0, 0))


if __name__ == "__main__":
    unittest.main()

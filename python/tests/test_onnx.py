"""tenon.onnx: the table, checks of models, and a small network compared with NumPy; skipped without onnx."""
import contextlib
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

try:
    import ml_dtypes  # noqa: F401  (a dependency of onnx)
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    raise unittest.SkipTest(f"the package onnx is not installed: {error}") from error

import tenon
import tenon.onnx
from tenon.onnx import _graph, _hostops, _table


def array(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def info(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def model_of(nodes, inputs, outputs, constants=None, opset=17):
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()]
    graph = helper.make_graph(nodes, "test", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def network():
    """A convolution with normalization, pooling, and a classifier whose shapes come from Shape."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "g", "b", "m", "v"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Shape", ["p"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["count"]),
        helper.make_node("Unsqueeze", ["count", "axes"], ["rows"]),
        helper.make_node("Concat", ["rows", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["p", "shape"], ["flat"]),
        helper.make_node("Gemm", ["flat", "u", "t"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["y"])]
    constants = {"w": array(1, 4, 3, 3, 3), "g": array(2, 4), "b": array(3, 4), "m": array(4, 4),
                 "v": abs(array(5, 4)) + 1, "zero": np.array(0), "axes": np.array([0]), "rest": np.array([-1]),
                 "u": array(6, 64, 10) / 8, "t": array(7, 10)}
    return model_of(nodes, [info("x", ["n", 3, 8, 8])], [info("y", ["n", 10])], constants), constants


def expected(x, w):
    """Computes the network in f64."""
    x, wide = x.astype("f8"), np.pad(x.astype("f8"), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))
    c = np.einsum("nchwrs,kcrs->nkhw", windows, w["w"])
    g, b, m, v = (w[k].astype("f8").reshape(1, 4, 1, 1) for k in "gbmv")
    r = np.maximum((c - m) / np.sqrt(v + 1e-5) * g + b, 0)
    p = r.reshape(len(x), 4, 4, 2, 4, 2).max((3, 5))
    logits = p.reshape(len(x), -1) @ w["u"].astype("f8") + w["t"]
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


class Networks(unittest.TestCase):
    def test_results_for_several_shapes_and_again(self):
        proto, weights = network()
        model = tenon.onnx.prepare(proto)
        for count in (1, 3, 1):
            x = array(count, count, 3, 8, 8)
            for _ in range(2):
                y, = model.run([x])
                self.assertEqual((y.shape, y.dtype), ((count, 10), np.float32))
                np.testing.assert_allclose(y, expected(x, weights), rtol=2e-5, atol=1e-6)
        self.assertEqual(len(model._programs), 2)

    def test_recorded_and_node_by_node_agree(self):
        proto, _ = network()
        model, x = tenon.onnx.prepare(proto), array(9, 2, 3, 8, 8)
        y, = model.run({"x": x})
        times = model.times({"x": x})
        self.assertEqual([t.op for t in times][:2], ["ConvAffine", "Relu"])
        host, device = model._divided(model._given({"x": x}))
        z, = model._each(host, model._uploaded(device))
        np.testing.assert_allclose(z.numpy(), y, rtol=2e-5, atol=1e-6)

    def test_the_normalization_and_the_activation_are_in_the_convolution(self):
        proto, _ = network()
        model = tenon.onnx.prepare(proto)
        model.run([array(1, 1, 3, 8, 8)])
        steps = [line.split(":")[0] for line in model.describe()]
        self.assertEqual([s.split("/")[0] for s in steps][1:], ["pool", "gemm_packed", "softmax"])
        self.assertIn("conv", steps[0])

    def test_tensors_stay_on_the_device(self):
        proto, weights = network()
        x = array(3, 2, 3, 8, 8)
        y, = tenon.onnx.run_model(proto, [tenon.tensor(x)])
        self.assertIsInstance(y, tenon.Tensor)
        np.testing.assert_allclose(y.numpy(), expected(x, weights), rtol=2e-5, atol=1e-6)

    def test_a_state_stays_on_the_device(self):
        nodes = [helper.make_node("Mul", ["s", "x"], ["p"]), helper.make_node("Add", ["p", "x"], ["t"]),
                 helper.make_node("ReduceSum", ["t"], ["y"], keepdims=0)]
        model = tenon.onnx.prepare(model_of(nodes, [info("x", [3]), info("s", [3])], [info("t", [3]), info("y", [])]))
        x, states = tenon.zeros((3,)), [tenon.zeros((3,)), tenon.empty((3,))]
        runs = [model.bind({"x": x, "s": states[i]}, {"t": states[1 - i]}) for i in (0, 1)]
        state = np.zeros(3)
        for step in range(5):
            given = array(step, 3)
            x.upload(given)
            _, total = runs[step % 2].run()
            state = state * given + given
            np.testing.assert_allclose(total.numpy(), state.sum(), 1e-4, 1e-5)
            np.testing.assert_allclose(states[1 - step % 2].numpy(), state, 1e-4, 1e-5)

    def test_bound_arrays_are_copied_once(self):
        proto, constants = network()
        model, x = tenon.onnx.prepare(proto), array(8, 2, 3, 8, 8)
        bound = model.bind([x])
        np.testing.assert_allclose(bound.run()[0].numpy(), expected(x, constants), 1e-4, 1e-5)
        bound.inputs["x"].upload(-x)
        self.assertIs(bound.run()[0], bound.outputs[0])
        np.testing.assert_allclose(bound.outputs[0].numpy(), expected(-x, constants), 1e-4, 1e-5)

    def test_what_cannot_be_bound(self):
        proto, _ = network()
        model, x = tenon.onnx.prepare(proto), array(8, 2, 3, 8, 8)
        with self.assertRaisesRegex(tenon.onnx.ModelError, "the outputs are y; given are z"):
            model.bind([x], {"z": tenon.empty((2, 10))})
        for shape in ((2, 9), (10, 2)):
            with self.assertRaisesRegex(ValueError, "shape"):
                model.bind([x], {"y": tenon.empty(shape)})
        with self.assertRaisesRegex(NotImplementedError, "cannot be bound"):
            tenon.onnx.TenonBackend.prepare(proto, record=False).bind([x])
        fixed = tenon.onnx.prepare(model_of([helper.make_node("Identity", ["c"], ["y"])], [info("x", [2])],
                                            [info("y", [2])], {"c": np.ones(2, "f4")}))
        with self.assertRaisesRegex(ValueError, "does not depend on the inputs"):
            fixed.bind([np.zeros(2, "f4")], {"y": tenon.empty((2,))})

    def test_small_and_large_arrays(self):
        nodes = [helper.make_node("Add", ["a", "b"], ["s"]),
                 helper.make_node("Cast", ["c"], ["d"], to=TensorProto.DOUBLE),
                 helper.make_node("Not", ["n"], ["m"])]
        model = tenon.onnx.prepare(model_of(
            nodes, [info("a", ["k"]), info("b", ["k"]), info("c", [], TensorProto.INT64),
                    info("n", [3], TensorProto.BOOL)],
            [info("s", ["k"]), info("d", [], TensorProto.DOUBLE), info("m", [3], TensorProto.BOOL)]))
        for count in (0, 1, 77, 20000):
            for seed in (1, 2):
                a, b = array(seed, count), array(seed + 2, count)
                given = {"a": a[::-1], "b": b, "c": np.array(seed, "i8"), "n": np.array([True, False, seed == 1])}
                total, number, truths = model.run(given)
                np.testing.assert_array_equal(total, a[::-1] + b)
                self.assertEqual((number.dtype, number), (np.dtype("f8"), seed))
                np.testing.assert_array_equal(truths, [False, True, seed != 1])

    def test_outputs_do_not_share_memory(self):
        nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Identity", ["y"], ["z"]),
                 helper.make_node("Identity", ["x"], ["same"])]
        proto = model_of(nodes, [info("x", [4])], [info(n, [4]) for n in ("y", "z", "same")])
        x = tenon.tensor(np.array([-1, 2, -3, 4], "f4"))
        outputs = tenon.onnx.prepare(proto).run([x])
        self.assertEqual(len({t.memory for t in [x, *outputs]}), 4)
        self.assertEqual([t.numpy().tolist() for t in outputs], [[0, 2, 0, 4], [0, 2, 0, 4], [-1, 2, -3, 4]])

    def test_a_condition_on_the_host_selects_a_branch(self):
        def branch(op):
            return helper.make_graph([helper.make_node(op, ["x"], ["out"])], op, [], [info("out", [3])])
        node = helper.make_node("If", ["flag"], ["y"], then_branch=branch("Relu"), else_branch=branch("Neg"))
        proto = model_of([node], [info("x", [3]), info("flag", [], TensorProto.BOOL)], [info("y", [3])])
        model, x = tenon.onnx.prepare(proto), np.array([-1, 0, 2], "f4")
        self.assertEqual(model.run([x, np.array(True)])[0].tolist(), [0, 0, 2])
        self.assertEqual(model.run([x, np.array(False)])[0].tolist(), [1, 0, -2])

    def test_nodes_in_another_order(self):
        nodes = [helper.make_node("Mul", ["b", "b"], ["y"]), helper.make_node("Neg", ["a"], ["b"]),
                 helper.make_node("Relu", ["x"], ["a"])]
        proto = model_of(nodes, [info("x", [2])], [info("y", [2])])
        self.assertEqual(tenon.onnx.run_model(proto, [np.array([-1, 3], "f4")])[0].tolist(), [0, 9])
        self.assertEqual(proto.graph.node[0].op_type, "Mul")

    def test_results_are_written_to_their_parts_of_a_concatenation(self):
        nodes = [helper.make_node("Exp", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"]),
                 helper.make_node("Concat", ["a", "b", "a", "x"], ["c"], axis=0),
                 helper.make_node("Relu", ["b"], ["d"]), helper.make_node("Abs", ["c"], ["e"]),
                 helper.make_node("Concat", ["c", "d", "e"], ["f"], axis=0),
                 helper.make_node("Sqrt", ["f"], ["y"]), helper.make_node("Concat", ["a", "b"], ["z"], axis=1)]
        x = np.random.default_rng(5).standard_normal((3, 5)).astype("f4")
        proto = model_of(nodes, [info("x", x.shape)], [info("y", (30, 5)), info("z", (3, 10))])
        made = tenon.onnx.prepare(proto)
        with np.errstate(invalid="ignore"):
            c = np.concatenate([np.exp(x), -x, np.exp(x), x])
            expected = np.sqrt(np.concatenate([c, np.maximum(-x, 0), abs(c)]))
        for model in (made, tenon.onnx.TenonBackend.prepare(proto, record=False)):
            y, z = model.run([x])
            np.testing.assert_allclose(y, expected, 1e-5)
            np.testing.assert_allclose(z, np.concatenate([np.exp(x), -x], 1), 1e-5)
        copies = [line for line in made.describe() if line.startswith("copy")]
        self.assertEqual(len(copies), 4, made.describe())  # a again, x, and both parts of z, whose rows have gaps

    def test_run_node(self):
        node = helper.make_node("MatMul", ["a", "b"], ["y"])
        y, = tenon.onnx.run_node(node, [np.eye(2, dtype="f4"), np.ones((2, 3), "f4")])
        self.assertEqual(y.tolist(), [[1, 1, 1], [1, 1, 1]])


class Table(unittest.TestCase):
    def test_every_operator_exists_in_onnx(self):
        names = {schema.name for schema in onnx.defs.get_all_schemas()}
        newer = {"SwiGLU", "Swish", "RotaryEmbedding", "RMSNormalization", "TensorScatter", "Upsample"}
        for name in [*_table.OPERATORS, *_hostops.SHAPE_OPERATORS, *_table.CONTROL]:
            domain, _, op = name.rpartition(".")
            self.assertTrue(domain == "tenon" or op in names | newer, name)

    def test_inputs_on_the_host_are_parameters_of_the_function(self):
        import inspect
        for name, row in _table.OPERATORS.items():
            kinds = inspect.signature(row.run).parameters.values()
            places = [p for p in kinds if p.kind is p.POSITIONAL_OR_KEYWORD]
            for place in (*row.host, *row.either):
                self.assertLess(place + 1, len(places), name)

    def test_old_operator_sets(self):
        nodes = [helper.make_node("Unsqueeze", ["x"], ["u"], axes=[0]),
                 helper.make_node("Clip", ["u"], ["c"], min=-1.0, max=1.0),
                 helper.make_node("ReduceSum", ["c"], ["r"], axes=[1], keepdims=0),
                 helper.make_node("Pad", ["r"], ["p"], pads=[0, 1, 0, 2], value=5.0),
                 helper.make_node("Softmax", ["x"], ["s"])]
        proto = model_of(nodes, [info("x", [2, 3])], [info("p", [1, 6]), info("s", [2, 3])], opset=9)
        p, s = tenon.onnx.run_model(proto, [np.array([[0.5, 3, -2], [1, 0, -0.5]], "f4")])
        self.assertEqual(p.tolist(), [[5, 1.5, 1, -1.5, 5, 5]])
        np.testing.assert_allclose(s.sum(1), [1, 1], rtol=1e-6)


class Refused(unittest.TestCase):
    def refused(self, proto, *texts, kind=tenon.onnx.ModelError):
        with self.assertRaises(kind) as caught:
            tenon.onnx.prepare(proto)
        for text in texts:
            self.assertIn(text, str(caught.exception))
        self.assertFalse(tenon.onnx.is_compatible(proto))

    def test_all_unsupported_nodes_are_listed(self):
        nodes = [helper.make_node("Relu", ["x"], ["a"], name="first"),
                 helper.make_node("RandomNormalLike", ["a"], ["b"], name="second"),
                 helper.make_node("Einsum", ["a"], ["c"], name="third", equation="ij->ji"),
                 helper.make_node("RandomNormalLike", ["c"], ["d"], name="fourth")]
        proto = model_of(nodes, [info("x", [2, 2])], [info("b", [2, 2]), info("d", [2, 2])])
        self.refused(proto, 'RandomNormalLike "second": operator set 17: not supported', 'RandomNormalLike "fourth"',
                     kind=tenon.onnx.UnsupportedModel)

    def test_types(self):
        node = helper.make_node("Add", ["x", "x"], ["y"])
        proto = model_of([node], [info("x", [2], TensorProto.UINT64)], [info("y", [2], TensorProto.UINT64)])
        self.refused(proto, "input x has the type UINT64", kind=tenon.onnx.UnsupportedModel)

    def test_operator_sets(self):
        def relu(*imports, domain=""):
            node = helper.make_node("Relu", ["x"], ["y"], domain=domain)
            proto = model_of([node], [info("x", [2])], [info("y", [2])])
            del proto.opset_import[:]
            proto.opset_import.extend(helper.make_opsetid(*i) for i in imports)
            return proto
        unsupported = tenon.onnx.UnsupportedModel
        self.refused(relu(("", 99)), "operator set 99 of ai.onnx: the newest supported one is 28", kind=unsupported)
        self.refused(relu(("", 17), ("ai.onnx.ml", 99)), "operator set 99 of ai.onnx.ml", kind=unsupported)
        self.refused(relu(("", 0)), "operator set 0 of ai.onnx: the first is 1")
        self.refused(relu(("", 9), ("", 17)), "operator sets 9 and 17 of ai.onnx")
        self.refused(relu(), "opset_import")
        self.refused(relu(("", 17), domain="other"), "No opset import for domain 'other'")
        self.refused(relu(("", 17), ("other", 2), domain="other"), "other.Relu", "operator set 2", kind=unsupported)

    def test_nothing_is_set_up_for_a_refused_model(self):
        node = helper.make_node("RandomNormalLike", ["x"], ["y"])
        proto = model_of([node], [info("x", [2])], [info("y", [2])])
        with mock.patch("tenon.default_context", side_effect=AssertionError("the device is used")):
            self.refused(proto, "RandomNormalLike", kind=tenon.onnx.UnsupportedModel)

    def test_nodes_of_branches_are_listed(self):
        body = helper.make_graph([helper.make_node("RandomNormalLike", ["x"], ["o"], name="inner")], "b", [],
                                 [info("o", [1])])
        node = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
        proto = model_of([node], [info("x", [1]), info("c", [], TensorProto.BOOL)], [info("y", [1])])
        self.refused(proto, 'RandomNormalLike "inner"', kind=tenon.onnx.UnsupportedModel)

    def test_cycles_and_unknown_inputs(self):
        nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
        nodes += [helper.make_node("Neg", ["x"], ["before"]), helper.make_node("Neg", ["b"], ["after"])]
        self.refused(model_of(nodes, [info("x", [2])], [info("b", [2])]), 'form a cycle: Add "a", Relu "b"')
        itself = helper.make_node("Relu", ["y"], ["y"], name="r")
        self.refused(model_of([itself], [info("x", [2])], [info("y", [2])]), 'form a cycle: Relu "r"')
        self.refused(model_of([helper.make_node("Relu", ["z"], ["y"])], [], [info("y", [2])]), "input 'z'")
        same = [helper.make_node(op, ["x"], ["y"]) for op in ("Relu", "Neg")]
        self.refused(model_of(same, [info("x", [2])], [info("y", [2])]), "'y' has been used as output names")

    def test_constants_of_the_wrong_size(self):
        for dims, text in (([1 << 40], "raw_data size (8 bytes) is too small"), ([3], "too small"),
                           ([1], "the file has 8"), ([-2], "Negative dimension"), ([1 << 62] * 2, "overflow")):
            proto = model_of([helper.make_node("Add", ["x", "w"], ["y"])], [info("x", [2])], [info("y", [2])],
                             {"w": np.ones(2, "f4")})
            del proto.graph.initializer[0].dims[:]
            proto.graph.initializer[0].dims.extend(dims)
            with self.subTest(dims):
                self.refused(proto, "w", text)

    def test_constants_that_are_no_raw_bytes(self):
        proto = model_of([helper.make_node("Add", ["x", "w"], ["y"])], [info("x", [2])], [info("y", [2])],
                         {"w": np.ones(2, "f4")})
        proto.graph.initializer[0].ClearField("raw_data")
        self.refused(proto, "one and only one value field")
        proto.graph.initializer[0].float_data.extend([1, 2, 3])
        self.refused(proto, "w: invalid constant of shape [2]")

    def test_inputs(self):
        proto, _ = network()
        model = tenon.onnx.prepare(proto)
        for given, text in (([array(1, 1, 3, 8, 9)], "the shape is [1, 3, 8, 9]"),
                            ([array(1, 1, 3, 8, 8).astype("f8")], "float64"),
                            ({"z": array(1, 1, 3, 8, 8)}, "the inputs are x"), ([], "the inputs are x"),
                            ([array(1, 1)] * 2, "2 inputs are given")):
            with self.subTest(text), self.assertRaises(tenon.onnx.ModelError) as caught:
                model.run(given)
            self.assertIn(text, str(caught.exception))

    def test_a_failing_node_is_named(self):
        node = helper.make_node("MatMul", ["a", "b"], ["y"], name="product")
        proto = model_of([node], [info("a", [2, "k"]), info("b", ["l", 2])], [info("y", [2, 2])])
        with self.assertRaises(tenon.onnx.NodeError) as caught:
            tenon.onnx.run_model(proto, [array(1, 2, 3), array(2, 4, 2)])
        self.assertIn('MatMul "product"', str(caught.exception))


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name, "model.onnx")
        self.proto, _ = network()
        onnx.save(self.proto, str(self.path))

    def test_truncated_and_missing_files(self):
        data = self.path.read_bytes()
        for size in (0, 10, len(data) // 2, len(data) - 1):
            self.path.write_bytes(data[:size])
            with self.subTest(size), self.assertRaises(tenon.onnx.ModelError) as caught:
                tenon.onnx.load(self.path)
            self.assertIn("model.onnx", str(caught.exception))
        with self.assertRaises(tenon.onnx.ModelError):
            tenon.onnx.load(Path(self.folder.name, "missing.onnx"))

    def external(self, **changed):
        """Saves the model with external constants; changes entries of the first one."""
        proto = onnx.ModelProto()
        proto.CopyFrom(self.proto)
        Path(self.folder.name, "weights").unlink(missing_ok=True)
        onnx.save(proto, str(self.path), save_as_external_data=True, location="weights", size_threshold=0)
        proto = onnx.load(str(self.path), load_external_data=False)
        for entry in proto.graph.initializer[0].external_data:
            entry.value = changed.get(entry.key, entry.value)
        self.path.write_bytes(proto.SerializeToString())
        return Path(self.folder.name, "weights")

    def load_is_refused(self, *texts):
        with self.assertRaises(tenon.onnx.ModelError) as caught:
            tenon.onnx.load(self.path)
        for text in ("model.onnx", *texts):
            self.assertIn(text, str(caught.exception))

    def test_external_constants(self):
        self.external()
        self.assertEqual(tenon.onnx.load(self.path).outputs, ["y"])
        for changed, text in (({"offset": "999999999"}, "offset (999999999) exceeds file size"),
                              ({"offset": "-4"}, "non-negative"), ({"length": "99999999999"}, "exceeds available data"),
                              ({"length": "4"}, "too small for the declared shape"), ({"length": "abc"}, "abc"),
                              ({"location": "../weights"}, "outside"), ({"location": "/etc/hostname"}, "absolute path"),
                              ({"location": "none"}, "none")):
            with self.subTest(changed):
                self.external(**changed)
                self.load_is_refused(text)

    def test_external_constants_without_their_file(self):
        self.external().unlink()
        self.load_is_refused("weights")
        weights = self.external()
        weights.write_bytes(weights.read_bytes()[:100])
        self.load_is_refused("exceeds available data")

    def test_files_that_are_no_models(self):
        for data in (b"a text, not a model", bytes(range(256))):
            self.path.write_bytes(data)
            self.load_is_refused("cannot be read")

    def command(self, *arguments):
        return subprocess.run([sys.executable, "-m", "tenon.onnx", *map(str, arguments)], check=False,
                              capture_output=True, text=True)

    def test_the_command(self):
        np.save(Path(self.folder.name, "x.npy"), array(1, 2, 3, 8, 8))
        done = self.command(self.path, "--input", f"x={self.folder.name}/x.npy", "--compare", "--runs", 1)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("y: float32 [2, 10]", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^MaxPool +1 +\d")
        self.assertTrue("largest difference" in done.stdout or "not installed" in done.stdout)

    def test_comparing_without_onnx_runtime(self):
        from tenon.onnx.__main__ import compare
        said = io.StringIO()
        with mock.patch.dict(sys.modules, {"onnxruntime": None}), contextlib.redirect_stdout(said):
            self.assertTrue(compare(str(self.path), {}, {}, 1, 1e-3))
        self.assertIn("onnxruntime is not installed: nothing is compared", said.getvalue())

    def test_the_command_lists_unsupported_operators(self):
        nodes = [helper.make_node("RandomNormalLike", ["x"], [name], name=name) for name in "ab"]
        onnx.save(model_of(nodes, [info("x", [2])], [info(n, [2]) for n in "ab"]), str(self.path))
        done = self.command(self.path)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        for name in "ab":
            self.assertIn(f'RandomNormalLike "{name}": operator set 17: not supported', done.stderr)

    def test_the_command_refuses(self):
        for arguments in ([Path(self.folder.name, "none")], [self.path, "--shape", "z=1"],
                          [self.path, "--input", "x=none.npy"], [self.path, "--shape", "x=1,3,8,9"]):
            done = self.command(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertRegex(done.stderr, r"^tenon\.onnx: .+\n$")


class ShapeArithmetic(unittest.TestCase):
    def test_division_truncates(self):
        found = _hostops.SHAPE_OPERATORS["Div"](np.array([7, -7, 7]), np.array([2, 2, -2]))
        self.assertEqual(found.tolist(), [3, -3, -3])

    def test_slices_with_negative_steps(self):
        found = _hostops.SHAPE_OPERATORS["Slice"](np.arange(5), np.array([-1]), np.array([-9]), np.array([0]),
                                                  np.array([-2]))
        self.assertEqual(found.tolist(), [4, 2, 0])

    def test_bodies_are_read(self):
        body = helper.make_graph([helper.make_node("Identity", ["x"], ["o"])], "b", [], [info("o", [1])])
        node = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
        graph = _graph.graph_of(model_of([node], [], []).graph, {"": 17})
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(len(_graph.subgraphs(graph.nodes[0])), 2)


if __name__ == "__main__":
    unittest.main()

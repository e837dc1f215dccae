"""Texts of tensors, and the notebook of the examples."""
import ast
import contextlib
import io
import json
import os
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import tenon
from common import integers

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


class Texts(unittest.TestCase):
    def test_small_ones_have_all_elements(self):
        a = np.array([[1, -2.5], [0.125, 3e9]], "f4")
        t = tenon.tensor(a)
        device = tenon.default_context().device.name
        shown = np.array2string(a, separator=", ", prefix="tenon.Tensor(")
        self.assertEqual(repr(t), f"tenon.Tensor({shown}, shape=(2, 2), dtype=f32, device={device!r})")
        self.assertIn("Tensor(True, shape=(), dtype=bool", repr(tenon.tensor(np.array(True))))
        self.assertIn("Tensor([], shape=(0,)", repr(tenon.zeros(0)))
        self.assertIn("[0.5, 0.5]", repr(tenon.full(2, 0.5, "bf16")))
        self.assertRegex(repr(tenon.view((2, 3))), r"tenon.view\(\(2, 3\), dtype=f32\) with no memory")
        self.assertIn("sequence", repr(tenon.Sequence().tensor((2, 3))))

    def test_of_large_ones_the_edges_are_read(self):
        for shape in ((5000,), (70, 80), (20, 3, 90), (4, 5, 6, 40)):
            for dtype in ("f4", "i4", "?"):
                a = integers(1, *shape, dtype=dtype, high=1000)
                for view, array in ((lambda x: x, a), (lambda x: x.T, a.T)):
                    t = view(tenon.tensor(a))
                    numpy = tenon.Tensor.numpy
                    with mock.patch.object(tenon.Tensor, "numpy", autospec=True, side_effect=numpy) as read:
                        text = repr(t)
                        html = t._repr_html_()
                    most = max(call.args[0].size for call in read.call_args_list)
                    self.assertLessEqual(most, 6**len(shape))
                    shown = np.array2string(array, separator=", ", prefix="tenon.Tensor(", threshold=0)
                    self.assertIn(f"Tensor({shown}, shape={array.shape}", text)
                    self.assertIn(" × ".join(map(str, array.shape)), html)

    def test_html(self):
        html = tenon.tensor(np.arange(6, dtype="i4").reshape(2, 3))._repr_html_()
        self.assertIn("2 × 3, i32", html)
        self.assertIn("<tr><td>3</td><td>4</td><td>5</td></tr>", html)
        html = tenon.zeros((100, 2))._repr_html_()
        self.assertEqual((html.count("<tr>"), html.count("<td>…</td>"), html.count("<td>0</td>")), (7, 2, 12))
        self.assertIn("<pre>0.</pre>", tenon.zeros(())._repr_html_())
        self.assertIn("no memory", tenon.view(3)._repr_html_())


def run(cell, names):
    """Runs the code of a cell as a notebook does: the value of a last expression is shown."""
    tree = ast.parse(cell)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        repr(value)
        if hasattr(value, "_repr_html_"):
            value._repr_html_()


class Notebooks(unittest.TestCase):
    def setUp(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(EXAMPLES)  # the folder in which a notebook runs

    def test_all_cells_run(self):
        self.assertGreater(len(NOTEBOOKS), 0)
        for path in NOTEBOOKS:
            notebook, names = json.loads(path.read_text(encoding="utf-8")), {"__name__": "__main__"}
            self.assertEqual(notebook["nbformat"], 4)
            cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
            self.assertGreater(len(cells), 5)
            for number, cell in enumerate(cells):
                with self.subTest(path.name, number=number, cell=cell), contextlib.redirect_stdout(io.StringIO()):
                    run(cell, names)

    def test_they_are_stored_without_results(self):
        for path in NOTEBOOKS:
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                if cell["cell_type"] == "code":
                    self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))

    def test_a_kernel_runs_them(self):
        try:
            import ipykernel  # noqa: F401  # the kernel
            import nbclient
            import nbformat
        except ImportError:
            self.skipTest("nbclient or ipykernel is not installed; test_all_cells_run runs the cells")
        for path in NOTEBOOKS:
            nbclient.NotebookClient(nbformat.read(path, as_version=4), timeout=300, kernel_name="python3").execute()


if __name__ == "__main__":
    unittest.main()

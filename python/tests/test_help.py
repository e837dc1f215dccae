"""help(tenon), signatures, docstrings and stubs, which generate.py writes, must be correct."""
import ast
import inspect
import pydoc
import re
import traceback
import unittest
from pathlib import Path

import numpy as np
import tenon
from tenon import _calls, _loader, _params, _words
from tenon._loader import ffi

A = np.ones((4, 4), "f4")
PUBLIC = {name: getattr(tenon, name) for name in tenon.__all__}
FUNCTIONS = {name: o for name, o in PUBLIC.items() if inspect.isfunction(o)}
CLASSES = {name: o for name, o in PUBLIC.items() if inspect.isclass(o)}
OPERATIONS = {name + end: row for name, row in _calls.OPERATIONS.items() for end in ("", "_plan")}
LISTS = {"concat": "tenon_concat_params", "clip_by_norm": "tenon_clip_params"}


def defaults_of(function):
    return {name: p.default for name, p in inspect.signature(function).parameters.items()}


class Listing(unittest.TestCase):
    def test_help_lists_functions_and_no_constants(self):
        text = pydoc.render_doc(tenon, renderer=pydoc.plaintext)
        for name, function in FUNCTIONS.items():
            self.assertRegex(text, rf"(?m)^    {name}\(")
            self.assertEqual(function.__module__, "tenon")
        self.assertNotRegex(text, r"(?m)^ +[A-Z]+_[A-Z0-9_]+ = ")
        first = text[:text.index("CLASSES")]
        for name in _calls.OPERATIONS:
            self.assertRegex(first, rf"(?m)^ +{name}\(")

    def test_dir_has_what_is_public(self):
        names = dir(tenon)
        self.assertLess({*FUNCTIONS, *CLASSES, "POOL_MAX", "GEMM_ALLOW_TF32"}, set(names))
        for name in set(names) - {"lib"}:  # cffi's lib is a module
            self.assertFalse(inspect.ismodule(getattr(tenon, name)), name)
            self.assertRegex(name, r"^(__\w+__|[A-Za-z]\w*)$")

    def test_classes_are_tenons(self):
        for name, found in CLASSES.items():
            self.assertEqual((found.__module__, found.__qualname__), ("tenon", name))
        with self.assertRaises(tenon.InvalidArgument) as caught:
            tenon.gemm(A, A[:3])
        shown = traceback.format_exception_only(type(caught.exception), caught.exception)[0]
        self.assertTrue(shown.startswith("tenon.InvalidArgument: tenon.gemm: "), shown)


class Docstrings(unittest.TestCase):
    def test_they_are_pythons(self):
        for name, found in {**FUNCTIONS, **CLASSES, "tenon": tenon}.items():
            text = inspect.getdoc(found)
            for word in (r"\bNULL\b", r"\bsync\b", "@return", "@param", "TENON_OK", "TENON_ERROR", "_INIT",
                         r"\w_params\b", r"\bin the initializer\b"):
                self.assertIsNone(re.search(word, text), f"{name}: {word}")

    def test_functions_tell_what_they_take_return_and_raise(self):
        for name, function in FUNCTIONS.items():
            text = inspect.getdoc(function)
            self.assertRegex(text.splitlines()[0], r"\w", name)
            self.assertIn("\nReturns\n-------\n", text, name)
            self.assertIn("\nRaises\n------\n", text, name)
            if inspect.signature(function).parameters:
                self.assertIn("\nParameters\n----------\n", text, name)

    def test_methods_have_docstrings(self):
        for owner, found in CLASSES.items():
            if not issubclass(found, tuple):
                methods = {name: m for base in reversed(found.__mro__[:-1]) for name, m in vars(base).items()}
                for name, method in methods.items():
                    if not name.startswith("_") and (callable(method) or isinstance(method, property)):
                        self.assertTrue(inspect.getdoc(method), f"{owner}.{name}")

    def test_each_argument_is_told_with_its_default(self):
        for name in [*_calls.OPERATIONS, *LISTS]:
            text = inspect.getdoc(getattr(tenon, name))
            for argument, default in defaults_of(getattr(tenon, name)).items():
                line = re.search(rf"(?m)^{argument} : .*$", text)
                self.assertIsNotNone(line, f"{name}: {argument}")
                if name not in LISTS and default is not inspect.Parameter.empty:
                    self.assertTrue(line[0].endswith("default " + repr(default).replace("'", '"')), line[0])

    def test_outputs_are_told_in_the_order_of_the_result(self):
        for name, (*_, outputs, _) in _calls.OPERATIONS.items():
            text = inspect.getdoc(getattr(tenon, name)).split("\nReturns\n-------\n")[1]
            if len(outputs) > 1:
                self.assertIn(f"tuple ({', '.join(outputs)})", text.splitlines()[0])
            else:
                self.assertEqual(text.splitlines()[0], next(iter(outputs), "None"))
        y, mean = tenon.norm_forward(A, mean=True)
        self.assertEqual((y.shape, mean.shape), ((4, 4), (4,)))
        self.assertIsInstance(tenon.norm_forward(A), np.ndarray)

    def test_words_are_told_and_taken(self):
        for name, (struct, *_, defaults) in _calls.OPERATIONS.items():
            for keyword in {"kind", "mode", "activation"} & set(defaults):
                field = "tenon_activation.kind" if keyword == "activation" else f"{struct}.{keyword}"
                members = ffi.typeof(_words.FIELDS[field]).relements
                taken = {w: _params.word(*field.split("."), w) for w in _words.WORDS[_words.FIELDS[field]]}
                self.assertEqual(sorted(taken.values()), sorted(members.values()))
                for word, value in taken.items():
                    self.assertIn(f'"{word}"', inspect.getdoc(getattr(tenon, name)))
                    self.assertTrue(ffi.typeof(_words.FIELDS[field]).elements[value].endswith("_" + word.upper()))


class Signatures(unittest.TestCase):
    def test_defaults_are_the_librarys(self):
        for name, struct in {**{n: row[0] for n, row in OPERATIONS.items()}, **LISTS}.items():
            fields = {field for field, _ in ffi.typeof(struct).fields}
            keywords = OPERATIONS[name][-1] if name in OPERATIONS else fields
            chosen = {k: v for k, v in defaults_of(getattr(tenon, name)).items() if k in keywords}
            self.assertIn("solver", chosen)
            made, library = _params.Params(struct, chosen).c, _loader.defaults(struct)
            self.assertEqual(bytes(ffi.buffer(made)), bytes(ffi.buffer(library)), name)

    def test_they_are_the_stubs(self):
        source = Path(inspect.getfile(_calls)).with_name("_operations.pyi").read_text(encoding="utf-8")
        stubs = {item.name: item.args for item in ast.parse(source).body if isinstance(item, ast.FunctionDef)}
        self.assertEqual(sorted(stubs), sorted(OPERATIONS))
        for name, stub in stubs.items():
            defaults = [None if d is None else ast.literal_eval(d) for d in stub.kw_defaults]
            typed = dict.fromkeys((a.arg for a in stub.args), inspect.Parameter.empty)
            typed.update(zip((a.arg for a in stub.kwonlyargs), defaults))
            self.assertEqual(list(typed.items()), list(defaults_of(getattr(tenon, name)).items()), name)
            self.assertTrue(all(a.annotation for a in stub.args + stub.kwonlyargs))

    def test_what_is_given_counts_where_it_is_a_default_too(self):
        np.testing.assert_array_equal(tenon.gemm(A, A, alpha=1.0, activation="identity"), A @ A)
        np.testing.assert_array_equal(tenon.gemm(A, A, c=A, beta=0), A @ A)
        self.assertEqual(tenon.mse_forward(A, 0 * A, flags=0), 16)  # the default is the mean
        self.assertEqual(tenon.mse_forward(A, 0 * A), 1)
        self.assertEqual(tenon.mse_forward(A, 0 * A, scale=3), 3)


class Names(unittest.TestCase):
    def test_messages_have_names_that_there_are(self):
        for name in set(_words.NAMES.values()):
            if name.startswith("tenon."):
                found = tenon
                for part in name.split(".")[1:]:
                    found = getattr(found, part)
        self.assertEqual(_loader.said("tenon_tensor_nhwc, TENON_GEMM_ALLOW_TF32, tenon_gemm_plan, NULL, tenon_gemms"),
                         "tenon.Tensor.nhwc, tenon.GEMM_ALLOW_TF32, tenon.gemm_plan, None, tenon_gemms")

    def test_unknown_words_list_the_others(self):
        sigmoit, ad = tenon.Activation("sigmoit"), [{}, {"op": "ad"}]
        cases = (
            (tenon.gemm, (A, A), dict(activation="rely"), "activation: unknown 'rely'; valid: 'relu', .*'elu'"),
            (tenon.gemm, (A, A), dict(activation=sigmoit), "activation: unknown 'sigmoit'; valid: 'sigmoid', "),
            (tenon.norm_forward, (A,), dict(kind="layr"), "kind: unknown 'layr'; valid: 'layer', .*'batch'"),
            (tenon.pad_forward, (A,), dict(mode="reflec"), "mode: unknown 'reflec'; valid: 'reflect', "),
            (tenon.elementwise_chain, (A,), dict(steps=ad), r"steps\[1\]\['op'\]: unknown 'ad'; valid: 'add', "),
            (tenon.default_context().capability, ("f61",), {}, "capability: unknown 'f61'; valid: 'f64', "))
        for function, operands, keywords, text in cases:
            with self.subTest(text), self.assertRaisesRegex(ValueError, text):
                function(*operands, **keywords)

    def test_images_whose_channels_lie_last(self):
        x, w = tenon.zeros((1, 9, 9, 3)), tenon.zeros((8, 5, 5, 3))
        with self.assertRaisesRegex(ValueError, r"as N H W C.*tenon\.Tensor\.nhwc"):
            tenon.conv_forward(x, w, y=(1, 5, 5, 8))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests cl_kernels/embed.py: names, comments, line numbers, errors, and that the generated C
compiles."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

EMBED = Path(__file__).resolve().parents[2] / "cl_kernels" / "embed.py"

FILES = {
    "common/base.clh": "#pragma once\n#define BASE 1\n",
    "common/more.clh": '#include "base.clh"\n#define MORE 2\n',
    "b/second.cl": '#include "common/more.clh"\n#include "common/base.clh"\nline_three\n',
    "a/first.cl": "// naïve — \\ \"quoted\" ??/\nint x;\n",
}


class Embed(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tenon-embed-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = self.folder / "kernels"
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run_embed(self, *names):
        args = ["--output", "k.c", "--depfile", "k.d", "--root", "kernels"]
        args += [f"kernels/{name}" for name in names]
        return subprocess.run([sys.executable, str(EMBED), *args], cwd=self.folder,
                              capture_output=True, text=True, check=False)

    def embedded(self, *names):
        """Returns the names in table order, and the texts by name."""
        done = self.run_embed(*names)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (self.folder / "k.c").read_text(encoding="utf-8")
        arrays = re.findall(r"text_\d+\[\] = \{\n(.*?)\n\};", text, re.S)
        data = [bytes(int(n) for n in re.findall(r"\d+", a)) for a in arrays]
        rows = re.findall(r'\{"([^"]+)", text_\d+, (\d+)u\}', text)
        for bytes_, (_, length) in zip(data, rows):
            self.assertEqual(bytes_[-1], 0)
            self.assertEqual(len(bytes_) - 1, int(length))
        self.assertIn(f'{{"kernels", files, {len(rows)}u}}', text)
        return {name: bytes_[:-1].decode("utf-8") for bytes_, (name, _) in zip(data, rows)}

    def test_sorted_and_each_file_once(self):
        texts = self.embedded("b/second.cl", "a/first.cl")
        self.assertEqual(list(texts), ["a/first.cl", "b/second.cl", "common/base.clh",
                                       "common/more.clh"])

    def test_includes_name_files_of_the_table(self):
        texts = self.embedded("b/second.cl")
        self.assertEqual(texts["common/more.clh"], '#include "common/base.clh"\n#define MORE 2\n')
        self.assertEqual(texts["b/second.cl"].splitlines()[1:],
                         ['#include "common/base.clh"', "line_three"])
        self.assertEqual(texts["common/base.clh"], "\n#define BASE 1\n")

    def test_comments_are_removed_and_lines_kept(self):
        self.write("a/commented.cl",
                   "/* one\n * two */ int x; // three\n"
                   "#define M(a)   /* four \\\n   five */ \\\n    (a)\n"
                   'const char *s = "/* no comment */";\n'
                   "char c = '\"'; /* six */ int/**/y;\n")
        self.assertEqual(self.embedded("a/commented.cl")["a/commented.cl"],
                         "\n int x;\n"
                         "#define M(a) \\\n \\\n    (a)\n"
                         'const char *s = "/* no comment */";\n'
                         "char c = '\"';   int y;\n")

    def test_depfile_lists_every_file(self):
        self.embedded("b/second.cl", "a/first.cl")
        text = (self.folder / "k.d").read_text(encoding="utf-8")
        self.assertTrue(text.startswith("k.c: "))
        for name in FILES:
            self.assertIn(str(self.root / name), text)

    def test_output_does_not_depend_on_argument_order(self):
        self.embedded("b/second.cl", "a/first.cl")
        first = (self.folder / "k.c").read_bytes()
        self.embedded("a/first.cl", "b/second.cl")
        self.assertEqual((self.folder / "k.c").read_bytes(), first)

    def test_missing_include_names_file_and_line(self):
        self.write("a/bad.cl", 'int x;\n#include "nowhere.clh"\n')
        done = self.run_embed("a/bad.cl")
        self.assertEqual(done.returncode, 1)
        self.assertIn('kernels/a/bad.cl:2: cannot find "nowhere.clh"', done.stderr)

    def test_system_include_stays(self):
        text = "#ifndef __OPENCL_VERSION__\n#include <stdint.h>\n#endif\n"
        self.write("a/shared.cl", text)
        self.assertEqual(self.embedded("a/shared.cl")["a/shared.cl"], text)

    def test_other_include_is_refused(self):
        self.write("a/bad.cl", "#include MACRO\n")
        done = self.run_embed("a/bad.cl")
        self.assertEqual(done.returncode, 1)
        self.assertIn("kernels/a/bad.cl:1:", done.stderr)

    def test_variadic_macro_is_refused(self):
        self.write("a/bad.cl", "#define CALL(f, ...) \\\n    f(__VA_ARGS__)\n")
        done = self.run_embed("a/bad.cl")
        self.assertEqual(done.returncode, 1)
        self.assertIn("kernels/a/bad.cl:1: OpenCL C has no macros with a variable number of arguments", done.stderr)

    def test_output_compiles(self):
        compiler = os.environ.get("CC", "cc").split()
        if not shutil.which(compiler[0]):
            self.skipTest("no C compiler is installed")
        self.embedded("b/second.cl", "a/first.cl")
        subprocess.run([*compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                        "-fsyntax-only", "-I", str(EMBED.parents[1] / "src"), "k.c"],
                       cwd=self.folder, check=True)


if __name__ == "__main__":
    unittest.main()

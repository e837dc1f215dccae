#!/usr/bin/env python3
"""Tests cl_kernels/embed.py: expansion, line numbers, errors, determinism, and that the C compiles."""
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
        done = self.run_embed(*names)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (self.folder / "k.c").read_text(encoding="utf-8")
        arrays = re.findall(r"source_\d+\[\] = \{\n(.*?)\n\};", text, re.S)
        data = [bytes(int(n) for n in re.findall(r"\d+", a)) for a in arrays]
        rows = re.findall(r'\{"([^"]+)", source_\d+, (\d+)u, 0x([0-9a-f]{16})ULL\}', text)
        return data, rows

    def test_sorted_terminated_and_counted(self):
        data, rows = self.embedded("b/second.cl", "a/first.cl")
        self.assertEqual([row[0] for row in rows], ["a/first", "b/second"])
        for bytes_, (_, length, _) in zip(data, rows):
            self.assertEqual(bytes_[-1], 0)
            self.assertEqual(len(bytes_) - 1, int(length))
        self.assertIn(FILES["a/first.cl"].encode("utf-8"), data[0])

    def test_each_file_once_with_line_directives(self):
        data, _ = self.embedded("b/second.cl")
        lines = data[0][:-1].decode("utf-8").splitlines()
        self.assertEqual(sum(line.startswith("#define BASE") for line in lines), 1)
        where = self.positions(lines)
        self.assertEqual(where["#define BASE 1"], ("kernels/common/base.clh", 2))
        self.assertEqual(where["#define MORE 2"], ("kernels/common/more.clh", 2))
        self.assertEqual(where["line_three"], ("kernels/b/second.cl", 3))

    @staticmethod
    def positions(lines):
        """What a preprocessor would take each line's file and number to be."""
        found, path, number = {}, None, 0
        for line in lines:
            directive = re.match(r'#line (\d+) "([^"]+)"', line)
            if directive:
                path, number = directive.group(2), int(directive.group(1))
            else:
                found[line] = (path, number)
                number += 1
        return found

    def test_hash_is_fnv1a(self):
        data, rows = self.embedded("a/first.cl")
        value = 14695981039346656037
        for byte in data[0][:-1]:
            value = (value ^ byte) * 1099511628211 % 2**64
        self.assertEqual(int(rows[0][2], 16), value)

    def test_depfile_lists_every_file(self):
        self.embedded("b/second.cl", "a/first.cl")
        text = (self.folder / "k.d").read_text(encoding="utf-8")
        self.assertTrue(text.startswith("k.c: "))
        for name in FILES:
            self.assertIn(str(self.root / name), text)

    def test_same_bytes_again(self):
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
        data, _ = self.embedded("a/shared.cl")
        self.assertIn(text.encode("utf-8"), data[0])

    def test_other_include_is_refused(self):
        self.write("a/bad.cl", "#include MACRO\n")
        done = self.run_embed("a/bad.cl")
        self.assertEqual(done.returncode, 1)
        self.assertIn("kernels/a/bad.cl:1:", done.stderr)

    def test_output_compiles(self):
        compiler = os.environ.get("CC", "cc").split()
        if not shutil.which(compiler[0]):
            self.skipTest("no C compiler")
        self.embedded("b/second.cl", "a/first.cl")
        header = self.folder / "runtime" / "kernel_sources.h"
        header.parent.mkdir()
        header.write_text(
            "#include <stddef.h>\n#include <stdint.h>\n"
            "struct tenon_kernel_source { const char *name; const unsigned char *data;"
            " size_t length; uint64_t hash; };\n"
            "extern const struct tenon_kernel_source tenon_kernel_sources[];\n"
            "extern const size_t tenon_kernel_source_count;\n", encoding="utf-8")
        subprocess.run([*compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                        "-fsyntax-only", "-I.", "k.c"], cwd=self.folder, check=True)


if __name__ == "__main__":
    unittest.main()

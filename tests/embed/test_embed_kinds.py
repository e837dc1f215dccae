#!/usr/bin/env python3
"""Tests src/device/embed_kinds.py: inheritance between kinds, new files, and errors."""
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

EMBED = Path(__file__).resolve().parents[2] / "src" / "device" / "embed_kinds.py"


class EmbedKinds(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tenon-kinds-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.write("base", {"lanes": 8, "match": {"nvidia": 10}, "rates": {"f32": 1.5, "f64": 2}})

    def write(self, name, kind):
        text = kind if isinstance(kind, str) else json.dumps(kind)
        (self.folder / f"{name}.json").write_text(text)

    def run_embed(self):
        return subprocess.run(
            [sys.executable, EMBED, "--output", "kinds.c", "--depfile", "kinds.d", self.folder],
            cwd=self.folder, capture_output=True, text=True, check=False)

    def embedded(self):
        done = self.run_embed()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return (self.folder / "kinds.c").read_text()

    def test_kinds_inherit_values(self):
        self.write("more", {"like": "base", "rates": {"f64": 4}, "tiles": [[1, 2], []]})
        text = self.embedded()
        self.assertIn('{.name = "more", .lanes = 8, .rates = {.f32 = 1.5, .f64 = 4}, '
                      '.tiles = {{1, 2}, {0}}}', text)
        self.assertIn("tn_device_kind_count = 2;", text)

    def test_match_is_not_inherited(self):
        self.write("more", {"like": "base"})
        self.assertEqual(self.embedded().count(".nvidia = 10"), 1)

    def test_extensions_are_strings_and_not_inherited(self):
        self.write("phone", {"like": "base", "match": {"extensions": ["cl_a", "cl_b"]}})
        self.write("tablet", {"like": "phone"})
        text = self.embedded()
        self.assertIn('.match = {.extensions = {"cl_a", "cl_b"}}', text)
        self.assertEqual(text.count("cl_a"), 1)

    def test_the_depfile_names_files_and_folder(self):
        self.embedded()
        depends = (self.folder / "kinds.d").read_text().split()
        self.assertIn(str(self.folder), depends)
        self.assertIn(str(self.folder / "base.json"), depends)

    def test_a_missing_or_circular_kind_is_refused(self):
        for like in ("nothing", "more"):
            self.write("more", {"like": like})
            done = self.run_embed()
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"more.json: like: there is no kind {like}", done.stderr)

    def test_invalid_json_is_refused(self):
        self.write("broken", "{")
        done = self.run_embed()
        self.assertEqual(done.returncode, 1)
        self.assertIn("broken.json: ", done.stderr)


if __name__ == "__main__":
    unittest.main()

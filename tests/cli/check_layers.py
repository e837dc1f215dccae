#!/usr/bin/env python3
"""Tests that no layer of the library refers to one above it: each is linked with those below it alone.

    check_layers.py ARCHIVE … -- COMPILER [FLAG …]

Archives are in the order of the layers, the lowest first. The flags make the linker take archives whole.
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

MARK = sys.argv.index("--")
ARCHIVES, LINK = sys.argv[1:MARK], sys.argv[MARK + 1:]
WHOLE = "-Wl,--whole-archive" in LINK
SYSTEM = ["-lm"] if sys.platform == "win32" else ["-lm", "-ldl"]
MAIN = "int main(void) { return 0; }\n"
# What a function of check would be that named the list of operations.
UPWARD = MAIN + "extern const char tn_library_registry; const void *upward(void) { return &tn_library_registry; }\n"


def layer_of(archive):
    return Path(archive).stem.removeprefix("lib").removeprefix("layer_")


class Layers(unittest.TestCase):
    def link(self, archives, code=MAIN):
        """What the linker says of a program with these layers; "" where it has all that they name."""
        with tempfile.TemporaryDirectory() as place:
            source = Path(place) / "main.c"
            source.write_text(code, encoding="utf-8")
            end = ["-Wl,--no-whole-archive"] if WHOLE else []
            done = subprocess.run([*LINK, str(source), *archives, *end, *SYSTEM, "-o", str(Path(place) / "main")],
                                  capture_output=True, text=True, check=False)
        return done.stderr if done.returncode != 0 else ""

    def test_each_layer_links_without_those_above_it(self):
        names = [layer_of(archive) for archive in ARCHIVES]
        self.assertEqual(names, ["base", "device", "runtime", "dispatch", "check", "ops"])
        for count, name in enumerate(names, 1):
            with self.subTest(layer=name):
                self.assertEqual(self.link(ARCHIVES[:count]), "")

    def test_a_reference_upwards_is_found(self):
        self.assertIn("tn_library_registry", self.link(ARCHIVES[:-1], UPWARD))
        self.assertEqual(self.link(ARCHIVES, UPWARD), "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

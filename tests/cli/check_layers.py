#!/usr/bin/env python3
"""Tests that no layer of the library refers to one above it: each is linked with those below it alone; and that the
operations' files and folders include one another in one direction only.

    check_layers.py ARCHIVE … -- COMPILER [FLAG …]

Archives are in the order of the layers, the lowest first. The flags make the linker take archives whole.
"""
import re
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


SOURCES = Path(__file__).resolve().parents[2] / "src"


def includes(folder, node):
    """{node: the other nodes that it includes} of the files below a folder of src, where node(path) is a file's."""
    graph = {}
    for path in sorted((SOURCES / folder).rglob("*.[ch]")):
        found = graph.setdefault(node(path.relative_to(SOURCES)), set())
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.M):
            if (SOURCES / name).is_relative_to(SOURCES / folder) and (SOURCES / name).exists():
                found.add(node(Path(name)))
    return {name: found - {name} for name, found in graph.items()}


def circle(graph):
    """What is left of a graph without the nodes that begin no circle; empty where there is none."""
    left = dict(graph)
    while ends := [name for name, found in left.items() if not found & left.keys()]:
        for name in ends:
            del left[name]
    return left


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

    def test_no_operation_has_a_circle_of_files_or_folders(self):
        for folder in sorted(path.name for path in (SOURCES / "ops").iterdir() if path.is_dir()):
            for node in (lambda path: path.with_suffix(""), lambda path: path.parent):
                with self.subTest(operation=folder):
                    self.assertEqual(circle(includes(f"ops/{folder}", node)), {})

    def test_a_circle_is_found(self):
        self.assertEqual(circle({"a": {"b"}, "b": {"a"}, "c": {"a"}, "d": set()}).keys(), {"a", "b", "c"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

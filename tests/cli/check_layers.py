#!/usr/bin/env python3
"""Tests that each layer of the library links with only the layers below it, and that the include graphs of the
operations' files and folders have no cycles.

    check_layers.py ARCHIVE … -- COMPILER [FLAG …]

The archives are the layers, the lowest first. The flags make the linker include whole archives.
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
# A function that refers to the list of operations, which belongs to the highest layer.
UPWARD = MAIN + "extern const char tn_library_registry; const void *upward(void) { return &tn_library_registry; }\n"
SOURCES = Path(__file__).resolve().parents[2] / "src"


def includes(folder, node):
    """Returns {node: the other nodes that it includes} for the files in a folder of src; node(path) is a file's node."""
    graph = {}
    for path in sorted((SOURCES / folder).rglob("*.[ch]")):
        found = graph.setdefault(node(path.relative_to(SOURCES)), set())
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.M):
            if (SOURCES / name).is_relative_to(SOURCES / folder) and (SOURCES / name).exists():
                found.add(node(Path(name)))
    return {name: found - {name} for name, found in graph.items()}


def circle(graph):
    """Returns the part of a graph from which a cycle can be reached; empty if there is no cycle."""
    left = dict(graph)
    while ends := [name for name, found in left.items() if not found & left.keys()]:
        for name in ends:
            del left[name]
    return left


def layer_of(archive):
    return Path(archive).stem.removeprefix("lib").removeprefix("layer_")


class Layers(unittest.TestCase):
    def link(self, archives, code=MAIN):
        """Links a program with these layers. Returns the linker's errors, or ""."""
        with tempfile.TemporaryDirectory() as place:
            source = Path(place) / "main.c"
            source.write_text(code, encoding="utf-8")
            end = ["-Wl,--no-whole-archive"] if WHOLE else []
            done = subprocess.run([*LINK, str(source), *archives, *end, *SYSTEM, "-o", str(Path(place) / "main")],
                                  capture_output=True, text=True, check=False)
        return done.stderr if done.returncode != 0 else ""

    def test_each_layer_links_without_higher_layers(self):
        names = [layer_of(archive) for archive in ARCHIVES]
        self.assertEqual(names, ["base", "device", "runtime", "dispatch", "check", "ops", "group", "parallel",
                                 "checkpoint"])
        for count, name in enumerate(names, 1):
            with self.subTest(layer=name):
                self.assertEqual(self.link(ARCHIVES[:count]), "")

    def test_an_upward_reference_is_found(self):
        below = [archive for archive in ARCHIVES if layer_of(archive) not in ("ops", "group", "parallel", "checkpoint")]
        self.assertIn("tn_library_registry", self.link(below, UPWARD))
        self.assertEqual(self.link(ARCHIVES, UPWARD), "")

    def test_operations_have_no_include_cycles(self):
        for folder in sorted(path.name for path in (SOURCES / "ops").iterdir() if path.is_dir()):
            for node in (lambda path: path.with_suffix(""), lambda path: path.parent):
                with self.subTest(operation=folder):
                    self.assertEqual(circle(includes(f"ops/{folder}", node)), {})

    def test_a_cycle_is_found(self):
        self.assertEqual(circle({"a": {"b"}, "b": {"a"}, "c": {"a"}, "d": set()}).keys(), {"a", "b", "c"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""Tests that names in the sources can be searched for: every public function is defined without macros, no name of a
static function is used in more than six files, and `operation` never denotes the name of a public function.

    check_entries.py SOURCE_ROOT
"""
import collections
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".")
DEFINITION = re.compile(r"^TENON_API [\w \*]*?\*?(tenon_\w+)\([^;{]*\)\n\{", re.MULTILINE)
STATIC = re.compile(r"^static [^;={}()]*?\b(\w+)\(", re.MULTILINE)
MOST_FILES = 6


def sources(*patterns):
    return [path.read_text(encoding="utf-8") for pattern in patterns for path in sorted((ROOT / "src").rglob(pattern))]


class Entries(unittest.TestCase):
    def test_exported_functions_are_defined_once_without_macros(self):
        found = [name for text in sources("*.c") for name in DEFINITION.findall(text)]
        exported = (ROOT / "src" / "tenon.symbols").read_text(encoding="utf-8").split()
        self.assertGreater(len(exported), 100)
        self.assertEqual(sorted(found), sorted(exported))

    def test_names_of_static_functions_are_rarely_reused(self):
        count = collections.Counter(name for text in sources("*.c") for name in set(STATIC.findall(text)))
        self.assertGreater(len(count), 1000)
        self.assertEqual({name: files for name, files in count.items() if files > MOST_FILES}, {})

    def test_operation_is_never_the_name_of_a_function(self):
        named = [line for text in sources("*.c", "*.h") for line in re.findall(r"char \*?operation\b.*", text)]
        self.assertEqual(named, [])


if __name__ == "__main__":
    unittest.main()

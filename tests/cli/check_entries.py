#!/usr/bin/env python3
"""Tests that every public function has a definition that a search for its name finds.

    check_entries.py SOURCE_ROOT
"""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".")
DEFINITION = re.compile(r"^TENON_API [\w \*]*?\*?(tenon_\w+)\([^;{]*\)\n\{", re.MULTILINE)


class Entries(unittest.TestCase):
    def test_each_exported_function_is_defined_once_in_plain_c(self):
        found = [name for path in sorted((ROOT / "src").rglob("*.c"))
                 for name in DEFINITION.findall(path.read_text(encoding="utf-8"))]
        exported = (ROOT / "src" / "tenon.symbols").read_text(encoding="utf-8").split()
        self.assertGreater(len(exported), 100)
        self.assertEqual(sorted(found), sorted(exported))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests docs/architecture.md's count of what an operation costs, by its example, `pad`."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECTION = re.compile(r"(?ms)^## Adding an operation\n(.*?)^## ")
NAMED = re.compile(r"X\(pad\)|'pad'|\bpad/\w|\bpad\.h\b|tn_operation_pad\b|tenon_pad_")
OWN = re.compile(r"(^|/)(pad/|pad\.h$|test_pad\.c$)")
MOST_PLACES = 6


def rows_of(table):
    """The cells of a table's rows, without its head."""
    lines = table.splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


class AddingAnOperation(unittest.TestCase):
    def setUp(self):
        section = SECTION.search((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))[1]
        self.own, self.places = map(rows_of, re.findall(r"(?m)(?:^\|.*\n)+", section))

    def test_the_files_of_its_own_have_as_many_lines(self):
        for names, told, _ in self.own:
            paths = [Path(name) for name in re.findall(r"`([^`]*)`", names)]
            paths = [path if len(path.parts) > 1 else paths[0].parent / path for path in paths]
            texts = [(ROOT / path).read_text(encoding="utf-8") for path in paths]
            lines = sum(len(text.splitlines()) for text in texts)
            self.assertAlmostEqual(int(told), lines, delta=0.1 * lines, msg=names)

    def test_the_places_outside_are_those_and_no_more(self):
        found = set()
        for folder in ("include", "src", "cl_kernels", "tests"):
            for path in (ROOT / folder).rglob("*"):
                name = path.relative_to(ROOT).as_posix()
                if name.startswith("tests/docs/"):  # what the page's own code takes for given
                    continue
                if path.suffix in (".c", ".h", ".cl", ".clh", ".build") and not OWN.search(name) \
                        and NAMED.search(path.read_text(encoding="utf-8")):
                    found.add(name)
        self.assertEqual(found, {place.strip("`") for place, _ in self.places})
        self.assertLessEqual(len(found), MOST_PLACES)


if __name__ == "__main__":
    unittest.main()

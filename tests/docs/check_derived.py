#!/usr/bin/env python3
"""Tests what pages derive from files: README's program, chart and table of devices, and the places that an operation
is named in, by the example of docs/architecture.md, `pad`."""
import copy
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import chart  # noqa: E402
import devices  # noqa: E402

README = (ROOT / "README.md").read_text(encoding="utf-8")


class Readme(unittest.TestCase):
    def test_its_program_is_the_example(self):
        source = (ROOT / "examples" / "product.c").read_text(encoding="utf-8")
        self.assertIn("```c\n" + source[source.index("#include"):] + "```\n", README)

    def test_it_names_each_example(self):
        for path in (ROOT / "examples").iterdir():
            if path.suffix in (".c", ".cpp", ".py") and not path.stem.startswith("digits_"):
                self.assertIn(f"(examples/{path.name})", README)


class Chart(unittest.TestCase):
    def test_it_shows_what_the_files_say(self):
        picture = chart.CHART.read_text(encoding="utf-8")
        for _, label, *figures in chart.bars():
            self.assertIn(f">{label}<", picture, "./run docs draws it anew")
            self.assertIn(f">{chart.said(*figures)}<", picture, "./run docs draws it anew")
        for line in chart.caption().splitlines():
            self.assertIn(line, picture, "./run docs draws it anew")


class Devices(unittest.TestCase):
    def test_each_claim_has_its_evidence(self):
        self.assertEqual(devices.wrong(devices.read()), [])

    def test_the_table_is_what_the_file_says(self):
        self.assertEqual(devices.filled(README), README, "./run docs writes it anew")

    def test_claims_without_evidence_are_found(self):
        card = next(row for row in devices.read() if row.get("card") and "compiled" in row)
        for change, message in [
                ({"tested": card["compiled"]}, "no results"),
                ({"measured": {"file": "bench/results/2026-11-23-cpu-regret.json", "says": "EPYC"},
                  "name": "Tesla"}, "no results"),
                ({"compiled": {"file": "docs/absent.md", "says": "x"}}, "there is no"),
                ({"compiled": {"file": "README.md", "says": "never said" + " so"}}, "does not say"),
                ({"driven": card["compiled"]}, "does not know")]:
            row = {**copy.deepcopy(card), **change}
            self.assertRegex("\n".join(devices.wrong([row])), message)


class AddingAnOperation(unittest.TestCase):
    NAMED = re.compile(r"X\(pad\)|'pad'|\bpad/\w|\bpad\.h\b|tn_operation_pad\b|tenon_pad_")
    OWN = re.compile(r"(^|/)(pad/|pad\.h$|test_pad\.c$)")

    def files_that_name_pad(self):
        for folder in ("include", "src", "cl_kernels", "tests"):
            for path in (ROOT / folder).rglob("*"):
                name = path.relative_to(ROOT).as_posix()
                if path.suffix in (".c", ".h", ".cl", ".clh", ".build") and not self.OWN.search(name) \
                        and not name.startswith("tests/docs/") and self.NAMED.search(path.read_text(encoding="utf-8")):
                    yield name

    def test_the_places_outside_its_own_files_are_those_of_the_page(self):
        page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
        places = page.split("## Adding an operation\n")[1].split("| Place | Lines |\n|---|---|\n")[1].split("\n\n")[0]
        self.assertEqual(sorted(self.files_that_name_pad()), sorted(re.findall(r"(?m)^\| `([^`]*)` \|", places)))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests what pages derive from files: README's program, chart and table of devices."""
import copy
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


if __name__ == "__main__":
    unittest.main()

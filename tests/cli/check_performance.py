#!/usr/bin/env python3
"""Tests that the measured tables of docs/performance.md match their files."""
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import performance  # noqa: E402

WRITTEN = {
    "version": 2, "tenon": "0.2.0", "date": "2026-01-02T03:04:05Z", "complete": True,
    "command": ["tenon-bench", "run", "--filter", "3x3 n"],
    "device": {"name": "card", "platform": "vendor", "driver": "1.2"}, "host": {"processors": 4},
    "summary": {"slowest": [], "ratios": [
        {"suite": "gemm", "dtype": "f32", "peer": "best", "cases": 3, "mean": 1.249, "least": 0.5,
         "least_case": "64x64x64"}]},
}
RACED = dict(WRITTEN, command=["tenon-bench", "regret"], summary={"cases": 21}, results=[
    {"suite": "gemm-cpu", "case": f"case {i}", "dtype": "f32", "ratio": 1 + i / 100,
     "measured": [{}] * (4 + i)} for i in range(21)])


class Performance(unittest.TestCase):
    def setUp(self):
        self.text = performance.DOCUMENT.read_text(encoding="utf-8")

    def test_tables_are_up_to_date(self):
        self.assertGreater(len(performance.names(self.text)), 5)
        self.assertEqual(performance.filled(self.text), self.text, "./run docs updates it")

    def test_no_table_is_written_by_hand(self):
        self.assertEqual(performance.typed(self.text), [])

    def test_tables_say_if_their_measurements_are_available(self):
        self.assertIn("[The measurements](../bench/results/written.json)", performance.table("written", WRITTEN))
        for path in performance.RESULTS.glob("*.json"):
            text, file = performance.table(path.stem, performance.read(path.stem)), performance.read(path.stem)
            self.assertEqual("not kept" in text, "results" not in file, path.name)

    def test_tables_contain_their_measures(self):
        for path in performance.RESULTS.glob("*.json"):
            file = performance.read(path.stem)
            if "results" in file:
                continue
            cells = " ".join(cell for row in file["rows"] for cell in row)
            for measure in file["measures"]:
                for figure in (measure["least"], measure.get("mean", measure["least"])):
                    self.assertRegex(cells, rf"(?<![\d.]){re.escape(figure)}(?![\d])", path.name)

    def test_minima_are_measured(self):
        for path in performance.RESULTS.glob("*.json"):
            file = performance.read(path.stem)
            if "results" in file or "Minimum" not in file["columns"]:
                continue
            at = file["columns"].index("Minimum")
            told = {measure["least"] for measure in file["measures"]}
            for row in file["rows"]:
                if "an earlier tree" not in row[0]:
                    self.assertIn(row[at].split()[0], told, path.name)

    def test_every_file_has_a_table(self):
        kept = {path.stem for path in performance.RESULTS.glob("*.json")}
        self.assertEqual(kept, set(performance.names(self.text)))

    def test_manual_edits_are_found(self):
        edited = self.text.replace("| 1.", "| 9.", 1)
        self.assertNotEqual(edited, self.text)
        self.assertEqual(performance.filled(edited), self.text)
        self.assertEqual(performance.typed("text\n| a | b |\n|---|---|\n"),
                         ["| a | b |\n", "|---|---|\n"])

    def test_a_benchmark_file_becomes_its_summary(self):
        text = performance.table("written", WRITTEN)
        self.assertIn("| gemm | f32 | best | 3 | 1.25 | 0.50 | 64x64x64 |\n", text)
        self.assertIn("2026-01-02, card (vendor, driver 1.2), 4 processors.", text)
        self.assertIn("tenon-bench run --filter '3x3 n'\n", text)

    def test_a_file_becomes_a_row_per_case(self):
        result = {"case": "sort 1 Mi", "dtype": "f32", "median_ns": 2000.0, "gflops": 0.0, "gbps": 12.34,
                  "verified": True, "peers": {"numpy": {"ratio": 1.239}}}
        text = performance.table("written", dict(WRITTEN, results=[result]), by_case=True)
        self.assertIn("| Case | Type | µs | GB/s | numpy |\n", text)
        self.assertIn("| sort 1 Mi | f32 | 2 | 12.3 | 1.24 |\n", text)
        self.assertIn("Every result was verified.", text)

    def test_a_file_of_networks_becomes_a_row_per_network(self):
        ran = dict(WRITTEN, results=[{
            "case": "net n1", "dtype": "f32", "median_ns": 1.5e6, "layers_ns": {"1x1": 3.0, "pooling": 1.0},
            "peers": {"other": {"ratio": 0.5}}}])
        self.assertIn("| Network | Type | ms | other | Largest shares of the time |\n"
                      "|---|---|---|---|---|\n| net n1 | f32 | 1.50 | 0.50 | 1x1 75 %, pooling 25 % |\n",
                      performance.table("ran", ran))

    def test_a_regret_file_becomes_a_row_per_suite_and_type(self):
        text = performance.table("raced", RACED)
        self.assertIn("| gemm-cpu | f32 | 21 | 4 | 1.100 | 1.19 | 1.20 | case 20 |\n", text)
        self.assertIn("tenon-bench regret\n", text)

    def test_short_rows_are_refused(self):
        file = {"columns": ["a", "b"], "rows": [["1"]]}
        with self.assertRaisesRegex(SystemExit, "short: a row has 1 cells, must have 2"):
            performance.table("short", file)

    def test_a_missing_file_is_named(self):
        with self.assertRaisesRegex(SystemExit, "nothing.json"):
            performance.read("nothing")


if __name__ == "__main__":
    unittest.main()

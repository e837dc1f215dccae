#!/usr/bin/env python3
"""Tests that the measured tables and figures of docs/performance.md match their files, and that the files can be traced."""
import copy
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import measures  # noqa: E402
import performance  # noqa: E402
import provenance  # noqa: E402
from result_files import keep, result, run_file, version_3  # noqa: E402

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
        for page in performance.PAGES:
            text = page.read_text(encoding="utf-8")
            self.assertEqual(performance.filled(text), text, "./run docs updates it")

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
        self.assertEqual(kept, {name for page in performance.PAGES for name in performance.names(page.read_text(encoding="utf-8"))})

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
        text = performance.table("written", dict(WRITTEN, results=[result]), [])
        self.assertIn("| Case | Type | µs | GB/s | numpy |\n", text)
        self.assertIn("| sort 1 Mi | f32 | 2 | 12.3 | 1.24 |\n", text)
        self.assertIn("Every result was verified.", text)
        other = dict(result, suite="reduce", case="sum 1 Mi")
        text = performance.table("written", dict(WRITTEN, results=[dict(result, suite="sorting"), other]), ["reduce", "1 Mi"])
        self.assertIn("| sum 1 Mi |", text)
        self.assertNotIn("sort 1 Mi", text)
        with self.assertRaisesRegex(SystemExit, "no case has nothing"):
            performance.table("written", dict(WRITTEN, results=[other]), ["nothing"])

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

    def test_a_file_of_first_calls_becomes_a_row_per_call(self):
        file = dict(WRITTEN, command=["tenon-bench", "first"], summary={"ratios": [], "slowest": []}, results=[
            {"suite": "first", "case": case, "device": 0, "caches": caches, "median_ns": ns, "rounds_ns": [ns, ns]}
            for case, caches, ns in (("a product", "cold", 1.5e9), ("a product", "exited", 2.5e6), ("plans", "cold", 4e9))])
        text = performance.table("started", file)
        self.assertIn("| First call | cold | exited |\n|---|---|---|\n| a product | 1500.0 | 2.5 |\n| plans | 4000.0 |  |\n", text)
        self.assertIn("medians of 2 processes", text)

    def test_short_rows_are_refused(self):
        file = {"columns": ["a", "b"], "rows": [["1"]]}
        with self.assertRaisesRegex(SystemExit, "short: a row has 1 cells, must have 2"):
            performance.table("short", file)

    def test_a_missing_file_is_named(self):
        with self.assertRaisesRegex(SystemExit, "nothing.json"):
            performance.read("nothing")

    def test_a_file_of_several_devices_names_them(self):
        file = version_3([result("gemm", "a", 2000.0, {"onednn": 2.0}, device=1)], devices=2)
        file["summary"]["ratios"] = [{"device": 1, "suite": "gemm", "dtype": "f32", "peer": "onednn", "cases": 1, "mean": 2.0,
                                      "least": 2.0, "least_case": "a"}]
        text = performance.table("both", file)
        self.assertIn("| Card 1 | gemm | f32 | onednn | 1 | 2.00 | 2.00 | a |\n", text)
        self.assertIn("Card 0 (Portable Computing Language, driver 3.1); Card 1 (Portable", text)
        self.assertIn("| Card 1 | a | f32 | 2 |", performance.table("both", file, []))


class Figures(unittest.TestCase):
    def filled(self, text):
        return performance.FIGURE.sub(lambda match: match[1] + performance.figure(match, measures.files()), text)

    def test_figures_of_the_text_are_generated(self):
        of = measures.files()
        mean = min((m["mean"] for _, m in measures.newest_editions("gemm-cpu", "onednn", of).values()), key=float)
        self.assertEqual(self.filled("<!-- mean gemm-cpu f32 onednn -->9.9. Then"), f"<!-- mean gemm-cpu f32 onednn -->{mean}. Then")
        least = min(float(m["least"]) for peer in measures.editions("onednn") for _, _, m in measures.found("conv-cpu", peer, of))
        self.assertEqual(self.filled("<!-- worst conv-cpu f32 onednn -->1"), f"<!-- worst conv-cpu f32 onednn -->{least:.2f}")
        with self.assertRaisesRegex(SystemExit, "no mean of none f32 compared with onednn"):
            self.filled("<!-- mean none f32 onednn -->1")
        with self.assertRaisesRegex(SystemExit, "no comparison of gemm-cpu f32 with none"):
            self.filled("<!-- worst gemm-cpu f32 none -->1")

    def test_the_faster_version_of_a_peer_counts(self):
        def file(complete=True, **ratios):
            return {"complete": complete, "command": ["tenon-bench", "run"], "summary": {"ratios": [
                {"suite": "gemm", "dtype": "f32", "peer": peer.replace("_", "-"), "mean": mean, "least": mean / 2}
                for peer, mean in ratios.items()]}}

        def figure(of, kind="mean"):
            match = performance.FIGURE.match(f"<!-- {kind} gemm f32 onednn -->1")
            return performance.figure(match, of)

        of = [("older", file(onednn=0.5)), ("newer", file(onednn=3.0, onednn_pypi=2.0))]
        self.assertEqual([figure(of), figure(of, "worst")], ["2.00", "0.25"])
        cut = [*of, ("cut", file(False, onednn=0.3))]  # the mean of a part of a suite is not shown, its worst case is
        self.assertEqual([figure(cut), figure(cut, "worst")], ["2.00", "0.15"])
        few = file(onednn=0.3)
        few["command"].append("--filter=1 Mi")
        self.assertEqual(figure([*of, ("few", few)]), "2.00")

    def test_times_of_first_use(self):
        def file(ns):
            return {"results": [{"case": "first product 512x512x512", "caches": "cold", "median_ns": ns}]}

        def text(ns):
            match = performance.FIGURE.fullmatch("<!-- first cold product -->9.9 s")
            return performance.figure(match, [("old", file(1.0)), ("new", file(ns))])

        self.assertEqual([text(ns) for ns in (1.62e9, 27.8e9, 0.951e9, 7.44e6, 123e6, 949.9e6)],
                         ["1.6 s", "28 s", "0.95 s", "7.4 ms", "120 ms", "950 ms"])
        with self.assertRaisesRegex(SystemExit, 'no first use of "inference" with cold caches'):
            measures.newest_first("cold", "inference", [("one", file(1.0))])

    def test_figures_of_columns(self):
        values = measures.column({"rows": [["a", "f16", "2"], ["b", "f32", "9"], ["c", "f16", "8"]]}, 3, "f16")
        self.assertEqual([measures.of_column(kind, values) for kind in ("mean", "worst", "best")], [4, 2, 8])
        with self.assertRaises(SystemExit):
            measures.column({"rows": [["a", "1"]]}, 2, "f16")

    def test_figures_without_a_file_are_found(self):
        table = "<!-- table: x -->\n| a | 0.75 |\n<!-- end of the table -->\n"
        text = (f"# Page\n## One\n{table}It is 0.75 with PoCL 3.1, 2.6 GHz, of 2026-11-27 and 0.3.0.\n## Two\nIt is 0.75, at worst 0.5.\n"
                "```sh\nrun --time 0.3\n```\n## Three\n<!-- mean a f32 b -->0.8 and 3/4\n")
        self.assertEqual(provenance.typed_figures(text), {"Two": ["0.75", "0.5"]})


class Provenance(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def good(self):
        """Returns a file in which nothing is wrong."""
        cases = [result("gemm", name, 1000.0, {"onednn": ratio, "tenon-f32": 0.1}, gflops=1e4) for name, ratio in (("a", 2.0), ("b", 0.5))]
        cases.append(result("gemm", "small", 1000.0, {"onednn": 0.25}, gflops=1.0))
        file = version_3(cases)
        rows = {"onednn": (3, 0.25 ** (1 / 3), 0.25, "small"), "tenon-f32": (2, 0.1, 0.1, "b"), "best": (2, 1.0, 0.5, "b")}
        file["summary"]["ratios"] = [{"device": 0, "suite": "gemm", "dtype": "f32", "peer": peer, "cases": cases, "mean": mean,
                                      "least": least, "least_case": case} for peer, (cases, mean, least, case) in rows.items()]
        return file

    def wrong(self, file, name="2026-12-01-gemm", listed=()):
        """Returns the complaints about a tree with this file alone."""
        path = Path(keep(self.folder / f"{name}.json", file))
        with mock.patch.object(provenance, "RESULTS", self.folder), mock.patch.object(performance, "RESULTS", self.folder), \
                mock.patch.object(provenance, "PAGES", ()):
            by_kind, errors = provenance.needed()
            path.unlink()
        return provenance.wrong(by_kind, errors, {kind: {n for k, n in listed if k == kind} for kind in provenance.KINDS})

    def test_the_tree_has_nothing_wrong(self):
        listed = provenance.exceptions(provenance.README.read_text(encoding="utf-8"))
        self.assertTrue(all(listed.values()), listed)
        self.assertEqual(provenance.wrong(*provenance.needed(), listed), [])

    def test_a_good_file_has_nothing_wrong(self):
        self.assertEqual(self.wrong(self.good()), [])

    def test_files_without_provenance_are_refused(self):
        for change, words in (({"commit": "unknown"}, 'its commit is "unknown"'), ({"tree": "modified"}, "its tree was modified")):
            file = self.good()
            file["build"].update(change)
            self.assertRegex("\n".join(self.wrong(file)), words)
        old = run_file([result("gemm", "a", 1.0, {})])
        self.assertRegex(self.wrong(old)[0], "does not state the commit")
        self.assertEqual(self.wrong(old, "2026-11-27-old", [(provenance.UNTRACED, "2026-11-27-*")]), [])
        self.assertRegex(self.wrong(old, listed=[(provenance.UNTRACED, "2026-*")])[0], "only for files up to 2026-11-27")
        table = {"recorded": "2026-12-01", "columns": ["a"], "rows": [["1"]], "measures": []}
        self.assertRegex(self.wrong(table)[0], "measurements were not kept")
        self.assertRegex("\n".join(self.wrong({**self.good(), "version": 7})), "version 7 of the format")

    def test_unverified_results_and_predictions_are_refused(self):
        file = self.good()
        file["results"][1]["verified"] = False
        self.assertEqual(self.wrong(file), ["2026-12-01-gemm: 1 results were not verified: measure without --no-verify"])
        estimate = {"suite": "gemm", "case": "a", "dtype": "f32", "device": 0, "solver": "x", "predicted": True, "median_ns": 1.0,
                    "gflops": 1.0, "gbps": 1.0}
        self.assertRegex("\n".join(self.wrong(version_3([estimate], predicted=True))), "is a prediction")

    def test_a_summary_that_disagrees_is_refused(self):
        for at, change, words in ((0, {"mean": 0.7}, "says mean 0.7"), (0, {"least": 0.5}, "says least 0.5, the results 0.25"),
                                  (0, {"cases": 2}, "says cases 2, the results 3"), (2, {"least_case": "a"}, "names a as the worst case"),
                                  (1, {"peer": "numpy"}, "no tenon-f32|has gemm f32 numpy")):
            file = self.good()
            file["summary"]["ratios"][at].update(change)
            self.assertRegex("\n".join(self.wrong(file)), words)
        file = self.good()
        file["results"][0]["peers"]["onednn"]["ratio"] = 3.0
        self.assertRegex("\n".join(self.wrong(file)), "the ratio of a to onednn is 3, that of the times 2")

    def test_the_summary_of_regret_is_checked(self):
        regrets = [{"suite": "gemm", "case": "a", "dtype": "f32", "device": 0, "chosen": "x", "best": "y", "chosen_ns": r, "best_ns": 1.0,
                    "ratio": r, "measured": [{}] * 3} for r in (1.0, 1.5, 3.0)]
        file = version_3([], summary={"cases": 3, "median": 1.5, "percentile_95": 3.0, "least_candidates": 3})
        file["results"] = regrets
        self.assertEqual(self.wrong(file), [])
        for key in file["summary"]:
            wrong = copy.deepcopy(file)
            wrong["summary"][key] += 1
            self.assertRegex("\n".join(self.wrong(wrong)), f"says {key} ")

    def test_exceptions_that_are_not_needed_are_reported(self):
        (said,) = self.wrong(self.good(), listed=[(provenance.UNVERIFIED, "2026-11-2?-x")])
        self.assertRegex(said, 'exception "not verified" of 2026-11-2\\?-x is not needed')
        with self.assertRaisesRegex(SystemExit, "has no reason"):
            provenance.exceptions("| not verified | `a` | later |\n")
        self.assertEqual(provenance.exceptions("| not verified | `a`, `b` | to be measured again |\n")[provenance.UNVERIFIED], {"a", "b"})


if __name__ == "__main__":
    unittest.main()

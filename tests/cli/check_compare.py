#!/usr/bin/env python3
"""Tests tenon-bench compare (python/tenon/bench), and how compare and report read files."""
import json
import math
import re
import unittest

from result_files import DEVICE, InFolder, first_file, result, run, run_file, version_3


class Reading(InFolder):
    def refusal(self, content, *words):
        path = self.file("wrong", content) if content is not None else str(self.folder / "wrong.json")
        for done in (run("compare", path, path), run("report", path, "-o", self.folder / "page.html")):
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            for word in ("tenon-bench: ", "wrong", *words):
                self.assertIn(word, done.stderr)
        self.assertFalse((self.folder / "page.html").exists())

    def test_files_that_are_none(self):
        whole = json.dumps(run_file([result("gemm", "a", 10.0, {})]))
        self.refusal(None, "No such file")
        self.refusal("", "empty or truncated")
        self.refusal(whole[:len(whole) // 2], "not valid JSON")
        self.refusal('{"version": 2', "empty or truncated")
        self.refusal("[1]", "another kind of JSON")
        self.refusal({"name": "package"}, 'neither "results" nor "ceilings"')
        (self.folder / "wrong.json").write_bytes(b"\xff\xfe\x00")
        self.refusal(None, "not a text file")

    def test_contents_that_are_wrong(self):
        good = result("gemm", "square 8", 10.0, {"onednn": 2.0})
        self.refusal(run_file([good], version=9), "version 9", "2 to 3")
        for change, words in (({"median_ns": "1"}, ['"median_ns" is "1", not a number']), ({"median_ns": 0}, ["not a positive"]),
                              ({"low_ns": 11.0}, ["not in its interval", "square 8"]), ({"verified": 1}, ["true or false"]),
                              ({"peers": {"onednn": {}}}, ["peer onednn", 'no "median_ns"']), ({"suite": None}, ["a string"]),
                              ({"gflops": -1.0}, ['"gflops" is -1'])):
            self.refusal(run_file([{**good, **change}]), *words)
        self.refusal(json.dumps(run_file([{**good, "gflops": 1.5}])).replace("1.5", "NaN"), '"gflops" is nan')
        without = {key: value for key, value in DEVICE.items() if key != "driver"}
        self.refusal(run_file([good], device=without), 'no "driver"')
        self.refusal(version_3([{**good, "device": 1}]), '"device" is 1', "1 devices")
        self.refusal({**run_file([good]), "results": {}}, '"results"', "not a list")
        for rounds in ([], ["1"], [0.0]):
            self.refusal(first_file({("product", "cold"): [1.0]}) | {"results": [
                {"suite": "first", "case": "product", "device": 0, "caches": "cold", "median_ns": 1.0, "rounds_ns": rounds}]}, "rounds_ns")

    def test_both_versions_can_be_read(self):
        cases = [result("gemm", "a", 10.0, {})]
        old, new = self.file("old", run_file(cases)), self.file("new", version_3(cases))
        done = run("compare", "--other-machine", old, new)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("different machines: device: pthread-skylake-avx512-Card 7 and Card 0", done.stdout)


class Comparing(InFolder):
    def compare(self, before, after, *options):
        return run("compare", self.file("a", before), self.file("b", after), *options)

    def test_ratios_and_means(self):
        times = {"x": (400.0, 100.0), "y": (100.0, 300.0), "z": (50.0, 50.0)}
        before = [result("gemm", name, t[0], {"onednn": 2.0, "tenon-f32": 9.0}) for name, t in times.items()]
        after = [result("gemm", name, t[1], {"onednn": 2.0, "tenon-f32": 9.0}) for name, t in times.items()]
        done = self.compare(run_file([*before, result("conv", "only", 1.0, {})]), run_file(after), "--limit", "300")
        self.assertEqual(done.returncode, 0, done.stdout)
        mean = (4 * 1 / 3) ** (1 / 3)
        (row,) = re.findall(r"(?m)^gemm +f32 .*$", done.stdout)
        cells = row.split()
        self.assertEqual(cells[2:4], ["3", f"{mean:.3f}"])
        error = math.log(1.1) * math.sqrt(2 * 3) / 3  # of the mean, in halves of a 95 % interval
        self.assertEqual(cells[4], f"{mean * math.exp(-error):.3f}-{mean * math.exp(error):.3f}")
        self.assertEqual(cells[5:], ["0.33", "4.00", "1", "1", f"{mean:.3f}"])
        self.assertIn("1 cases are in only one of the files", done.stdout)

    def test_the_exit_status_follows_the_limit(self):
        before = run_file([result("gemm", name, 100.0, {}, spread=1.001) for name in "abcd"])
        for ratio, limit, spread, status in ((1.0, "0", 1.001, 0), (1.2, "10", 1.001, 1), (1.2, "25", 1.001, 0), (0.5, "10", 1.001, 0),
                                             (1.2, "10", 1.5, 0)):
            after = run_file([result("gemm", "a", 100.0 * ratio, {}, spread=spread)])
            done = self.compare(before, after, "--limit", limit)
            self.assertEqual(done.returncode, status, (ratio, limit, spread, done.stdout))
            self.assertEqual("Slower in B" in done.stdout, status == 1)
        done = self.compare(before, run_file([result("gemm", name, 120.0, {}, spread=1.18) for name in "abcd"]), "--limit", "5")
        self.assertEqual(done.returncode, 1, "the interval of the mean is narrower than those of the cases")
        self.assertIn("compare: 0 of 4 cases, and 1 of 1 means are slower in B by more than 5 %: gemm f32", done.stdout)

    def test_other_machines_are_stated_and_compared_on_request(self):
        a, b = run_file([result("gemm", "a", 1.0, {})]), run_file([result("gemm", "a", 1.0, {})])
        b["device"] = {**DEVICE, "name": "Other"}
        done = self.compare(a, b)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("different machines: device: pthread-skylake-avx512-Card 7 and Other. --other-machine compares", done.stderr)
        done = self.compare(a, b, "--other-machine")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("different machines: device", done.stdout)

    def test_devices_are_compared_with_themselves(self):
        both = [result("gemm", "a", 100.0, {}, device=0, spread=1.001), result("gemm", "a", 300.0, {}, device=1, spread=1.001)]
        slower = [both[0], {**both[1], "median_ns": 600.0, "low_ns": 599.0, "high_ns": 601.0}]
        done = self.compare(version_3(both, 2), version_3(slower, 2))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(re.findall(r"(?m)^gemm +f32 +1 +(\S+)", done.stdout), ["1.000", "0.500"])

    def test_conditions_are_stated(self):
        cases = [result("gemm", "a", 1.0, {}, verified=False)]
        other = version_3(cases, complete=False, build={"commit": "1" * 40, "tree": "clean", "compiler": "clang 14", "flags": "-O3"})
        other["results"][0]["load"]["disturbed"] = True
        other["failures"] = [{"device": 0, "suite": "gemm", "case": "b", "why": "lost"}]
        done = self.compare(version_3(cases), other)
        for said in ("different build compiler: gcc 12 and clang 14", "B is incomplete", "A: 1 of 1 results were not verified",
                     "B: other work disturbed 1 of 1 cases", "B: 1 cases failed"):
            self.assertIn(said, done.stdout)

    def test_predictions_are_labelled(self):
        estimate = {"suite": "gemm", "case": "a", "dtype": "f32", "device": 0, "solver": "gemm/tiled", "predicted": True, "median_ns": 50.0,
                    "gflops": 1.0, "gbps": 1.0}
        done = self.compare(version_3([estimate], predicted=True), version_3([result("gemm", "a", 100.0, {})]))
        self.assertIn("A is a prediction of the device model: nothing was measured", done.stdout)
        self.assertIn("0.500", done.stdout)

    def test_first_uses_are_compared_by_the_state_of_the_caches(self):
        before = first_file({("product", "cold"): [3e9, 2e9, 4e9], ("product", "warm"): [1e7] * 5, ("net", "cold"): [1e9, 1e9, 1e9]})
        after = first_file({("product", "cold"): [2e9, 1.5e9, 3e9], ("product", "warm"): [2e7] * 5, ("net", "cold"): [1e9, 1e9, 1e9]})
        done = self.compare(before, after, "--limit", "50")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, rf"(?m)^first +cold +2 +{math.sqrt(1.5):.3f} ")
        self.assertRegex(done.stdout, r"(?m)^first +warm +1 +0\.500 +0\.500-0\.500 ")
        self.assertRegex(done.stdout, r"(?m)^first +product +0\.500 .* warm$")
        self.assertIn("no case in common", self.compare(before, run_file([result("gemm", "a", 1.0, {})]), "--other-machine").stderr)

    def test_files_that_cannot_be_compared(self):
        a = run_file([result("gemm", "a", 1.0, {})])
        self.assertIn("no case in common", self.compare(a, run_file([result("gemm", "b", 1.0, {})])).stderr)
        regret = {"suite": "gemm", "case": "a", "dtype": "f32", "chosen": "x", "best": "y", "chosen_ns": 1.0, "best_ns": 1.0,
                  "ratio": 1.0, "measured": []}
        done = self.compare(a, run_file([regret]))
        self.assertEqual(done.returncode, 2)
        self.assertIn("a file of tenon-bench regret", done.stderr)
        for limit in ("-1", "x"):
            self.assertEqual(self.compare(a, a, "--limit", limit).returncode, 2)

    def test_solvers_that_were_forced_in_turn_are_separate_cases(self):
        both = [{**result("gemm", "a", t, {}), "solver": solver} for t, solver in ((1.0, "gemm/plain"), (2.0, "gemm/tiled"))]
        self.assertRegex(self.compare(run_file(both), run_file(both)).stdout, r"gemm +f32 +2 +1\.000")

    def test_markdown(self):
        a = run_file([result("gemm", "a|b", 100.0, {}, spread=1.01)])
        done = self.compare(a, run_file([result("gemm", "a|b", 200.0, {}, spread=1.01)]), "--markdown")
        self.assertIn("|---|---|---:|", done.stdout)
        self.assertIn("| gemm | a\\|b | 0.500 |", done.stdout)


if __name__ == "__main__":
    unittest.main()

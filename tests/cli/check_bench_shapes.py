#!/usr/bin/env python3
"""Tests suites that are data: the files in bench/shapes, and users' files of tenon-bench run --shapes. The arguments
are those of bench_program.py."""
import copy
import json
import os
import tempfile
import unittest
from pathlib import Path

from bench_program import Bench, bench

SHAPES = Path(__file__).resolve().parents[2] / "bench" / "shapes"
VALID = {
    "format": "tenon-bench shapes 1",
    "about": "for tests",
    "sources": {"made up": "this test"},
    "suites": [
        {"name": "products", "kind": "gemm", "source": "made up", "seconds": 0.01, "peers": "cpu", "cases": [
            {"name": "odd", "m": 17, "n": 19, "k": 23, "transposed": "ab"},
            {"name": "batch", "batch": 3, "m": 8, "n": 9, "k": 10}]},
        {"name": "images-cpu", "kind": "conv", "n": [1, 2], "seconds": 0.01, "cases": [
            {"name": "wide", "source": "made up", "c": 4, "h": 9, "w": 7, "k": 6, "r": 3, "s": 2, "pad": 1, "groups": 2}]},
        {"name": "selected", "kind": "conv gradients", "from": "images-cpu", "match": ["wide * n2"]},
        {"name": "lines", "kind": "calls", "sizes": [1024], "cases": [
            {"name": "sum", "call": "reduce x=T:$N y=T:"}, {"name": "sort", "call": "sort x=i32:$N y=i32:$N"}]},
    ],
}


class Files(Bench):
    def run_text(self, text, *args):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "shapes")
            Path(path).write_bytes(text if isinstance(text, bytes) else text.encode())
            done = bench("run", "--peers", "none", "--time", "0.01", "--repeats", "0", "--shapes", path, *args)
        return done

    def measure(self, text, *args):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "shapes")
            Path(path).write_text(text, encoding="utf-8")
            found, _ = self.run_json("run", "--peers", "none", "--time", "0.01", "--repeats", "0", "--shapes", path, *args)
        self.assertTrue(found["complete"])
        self.assertTrue(all(r["verified"] for r in found["results"]))
        return found["results"]

    def test_suites_of_a_file_are_measured(self):
        results = self.measure(json.dumps(VALID))
        self.assertEqual([(r["suite"], r["case"]) for r in results], [
            ("products", "odd 17x19x23 a'b'"), ("products", "batch 3x 8x9x10"), ("images-cpu", "wide 4@9 k6 3x2 n1"),
            ("images-cpu", "wide 4@9 k6 3x2 n2"), ("selected", "dx wide 4@9 k6 3x2 n2"),
            ("selected", "dw wide 4@9 k6 3x2 n2"), ("lines", "sum 1 Ki")])
        for result, operations in zip(results, (2 * 17 * 19 * 23, 3 * 2 * 8 * 9 * 10, 2 * 6 * 9 * 8 * 2 * 3 * 2)):
            self.assertAlmostEqual(result["gflops"] * result["median_ns"] / operations, 1, delta=1e-6)
        (result,) = self.measure(json.dumps(VALID), "--suite", "lines", "--dtype", "i32")
        self.assertEqual((result["case"], result["dtype"]), ("sort 1 Ki", "i32"))
        (result,) = self.measure(json.dumps(VALID), "--suite", "reduce", "--filter", "sum columns 64 Ki")
        self.assertEqual(result["suite"], "reduce")

    def test_recorded_calls_keep_their_types(self):
        results = self.measure("# recorded\ntenon check gemm a=f32:5x6 b=f32:6x7 d=f32:5x7\n\n"
                               "sort x=i64:33 y=i64:33\ngemm a=f32:5x6 b=f32:6x7 d=f32:5x7\r\n"
                               "conv x=f32:1x3x8x8 w=f32:4x3x3x3 y=f32:1x4x6x6")
        self.assertEqual([(r["suite"], r["case"], r["dtype"]) for r in results], [
            ("recorded", "gemm, line 2", "f32"), ("recorded", "sort, line 4", "i64"), ("recorded", "conv, line 6", "f32")])
        self.assertAlmostEqual(results[0]["gflops"] * results[0]["median_ns"] / (2 * 5 * 6 * 7), 1, delta=1e-6)
        self.assertAlmostEqual(results[2]["gflops"] * results[2]["median_ns"] / (2 * 4 * 36 * 27), 1, delta=1e-6)

    def test_calls_are_recorded_by_the_library(self):
        """TENON_RECORD writes files that --shapes reads."""
        with tempfile.TemporaryDirectory() as folder:
            record = os.path.join(folder, "calls")
            self.run_json("run", "--peers", "none", "--time", "0.01", "--suite", "gemm", "--filter", "64x64x64",
                          TENON_RECORD=record)
            found, _ = self.run_json("run", "--peers", "none", "--time", "0.01", "--shapes", record)
        self.assertEqual({r["suite"] for r in found["results"]}, {"recorded"})
        self.assertIn("gemm, line 1", [r["case"] for r in found["results"]])

    def test_only_one_file_of_recorded_calls_is_allowed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "calls")
            Path(path).write_text("copy x=f32:4 y=f32:4", encoding="utf-8")
            done = bench("run", "--shapes", f"{path},{path}")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("only one file of recorded calls is allowed", done.stderr)

    def refuses(self, text, message):
        done = self.run_text(text)
        self.assertEqual((done.returncode, done.stdout), (2, ""), (message, done.stderr))
        self.assertIn("/shapes: ", done.stderr)
        self.assertIn(message, done.stderr)

    def test_malformed_lines_are_named(self):
        for text, message in (("gemm a=f32:5x6\nsort x=f32:4 y=f32:4\n", "line 1: "), ("\n\nwalk x=f32:4", "line 3: "),
                              ("copy x=f32:4 y=f32:q", "line 1: "), ("# nothing\n\n", "the file has no call"),
                              ("", "the file has no call"), (b"a\0b", "neither a JSON document nor a list of calls")):
            self.refuses(text, message)

    def test_truncated_json_is_refused(self):
        text = json.dumps(VALID, indent=1)
        for length in (1, len(text) // 2, len(text) - 2):
            self.refuses(text[:length], "line ")

    def test_malformed_suites_are_named(self):
        def changed(change):
            document = copy.deepcopy(VALID)
            change(document)
            return json.dumps(document)

        def case(**members):
            return lambda d: d["suites"][0]["cases"][1].update(members)

        def suite(number, **members):
            return lambda d: d["suites"][number].update(members)
        for change, message in (
                (lambda d: d.pop("format"), 'the member "format" is missing'),
                (lambda d: d.update(format="tenon-bench shapes 9"), 'must be "tenon-bench shapes 1"'),
                (lambda d: d.update(suites=[]), '"suites" must be an array'),
                (lambda d: d.update(more=1), 'unknown member "more"'),
                (lambda d: d["suites"].append(3), "suites[4]: it must be a JSON object"),
                (suite(0, name="gemm"), 'there is a suite "gemm" already'),
                (suite(0, name="a,b"), '"a,b" is not a word'), (suite(0, kind="gem"), '"gem" is none of gemm, conv'),
                (suite(0, seconds="long"), '"seconds" must be a number from 0.001'),
                (suite(0, peers="mine"), '"peers" must be'), (suite(0, cases={}), '"cases" must be an array'),
                (suite(0, cases=[]), "it has no cases"), (suite(0, sizes=[1024]), 'unknown member "sizes"'),
                (suite(0, source="elsewhere"), 'have no "elsewhere"'),
                (case(m=0), 'cases[1]: "m" must be an integer from 1'), (case(m=1.5), '"m" must be an integer'),
                (case(m="8"), '"m" must be an integer'), (case(transposed="c"), '"transposed" must be'),
                (case(name=""), '"name" must be a text'), (case(size=3), 'unknown member "size"'),
                (lambda d: d["suites"][0]["cases"].append(d["suites"][0]["cases"][0]), "an earlier case has the same"),
                (suite(1, n=[]), '"n" must be an array of 1 to 16'), (suite(1, n=[0]), "integers from 1 to"),
                (lambda d: d["suites"][1]["cases"][0].update(groups=3), '"groups" must divide'),
                (lambda d: d["suites"][1]["cases"][0].update(r=12), "the filters are larger"),
                (case(m=1 << 40, k=1 << 40), "cases[1]: the factor a of 3x1099511627776x1099511627776 elements is larger than"),
                (case(k=1 << 20, n=1 << 20), "the factor b of 3x"), (case(m=1 << 20, n=1 << 20), "the product of 3x"),
                (lambda d: d["suites"][1]["cases"][0].update(h=1 << 40), "an image of 4x1099511627776x7 elements is larger than"),
                (lambda d: d["suites"][1]["cases"][0].update(r=1 << 38, pad=1 << 38), "a filter of all channels of 4x"),
                (lambda d: d["suites"][1]["cases"][0].update(k=1 << 40), "the filters of 1099511627776x2x6 elements"),
                (lambda d: d["suites"][1]["cases"][0].update(pad=1 << 40), "an output image of 6x"),
                (suite(2, **{"from": "products"}), 'there is no suite of convolutions "products"'),
                (suite(2, match=[3]), '"match" must be an array of patterns'), (suite(2, match=["none"]), "it has no cases"),
                (suite(3, sizes=[1000]), '"sizes" must be multiples of 1024'),
                (lambda d: d["suites"][3]["cases"][0].update(call="reduce x=T:$Q y"), "lines cases[0]: "),
                (lambda d: d["suites"][3]["cases"][0].update(by_rows=1), '"by_rows" must be true or false')):
            self.refuses(changed(change), message)

    def test_names_of_own_suites_are_taken(self):
        document = copy.deepcopy(VALID)
        document["suites"][0]["name"] = "networks"
        done = self.run_text(json.dumps(document))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn('--shapes: there is a suite "networks" already', done.stderr)

    def test_missing_files_are_named(self):
        done = bench("run", "--shapes", "/no/such/file")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("/no/such/file: No such file or directory", done.stderr)

    def test_own_suites_have_sources(self):
        names = set()
        for path in SHAPES.glob("*.json"):
            document = json.loads(path.read_text(encoding="utf-8"))
            for suite in document["suites"]:
                names.add(suite["name"])
                for case in [suite] if "source" in suite else suite["cases"]:
                    self.assertIn(case["source"], document["sources"], (path.name, suite["name"], case["name"]))
        self.assertGreater(len(names), 15)
        self.assertLessEqual(names, {line.split()[0] for line in bench("list").stdout.splitlines()})


if __name__ == "__main__":
    unittest.main()

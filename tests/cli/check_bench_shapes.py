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
# A suite of each kind whose cases are a list of their own.
KINDS = {
    "format": "tenon-bench shapes 1",
    "suites": [
        {"name": "functions", "kind": "activation", "seconds": 0.01, "sizes": [3072], "cases": [
            {"name": "mine", "activation": "mish"}, {"name": "larger", "activation": "relu", "sizes": [2048, 1573888]}]},
        {"name": "passes", "kind": "bandwidth", "seconds": 0.01, "sizes": [17408], "cases": [
            {"name": "both", "operation": "add"}, {"name": "turned", "operation": "transpose"},
            {"name": "rows", "operation": "row sums", "sizes": [1024]}]},
        {"name": "pictures", "kind": "calls nhwc", "seconds": 0.01, "images": [{"n": 2, "c": 3, "h": 5, "w": 7}], "cases": [
            {"name": "softmax", "call": "softmax x=$X y=$X axis=1"},
            {"name": "halves", "call": "pool x=$X y=$F window=2,2 stride=2,2"}]},
        {"name": "pools", "kind": "pool", "seconds": 0.01, "n": [2], "layouts": ["nchw", "nhwc"], "cases": [
            {"name": "odd", "pool": "average", "c": 3, "h": 9, "w": 7, "window": 3, "stride": 2, "pad": 1}]},
        {"name": "weights", "kind": "packed", "seconds": 0.01, "m": [1, 5], "cases": [
            {"name": "narrow", "k": 33, "n": 17}, {"name": "own", "k": 8, "n": 9, "m": 7}]},
        {"name": "cells", "kind": "recurrence", "seconds": 0.01, "n": [2], "steps": [3], "cases": [
            {"name": "a", "cell": "lstm", "hidden": 5}, {"name": "b", "cell": "gru", "hidden": 5},
            {"name": "c", "cell": "tanh", "hidden": 5, "n": [1, 2], "steps": [1]}]},
        {"name": "groups", "kind": "collectives", "seconds": 0.01, "bytes": [96], "members": [3], "cases": [
            {"name": "sums", "collective": "all-reduce"}, {"name": "all", "collective": "all-to-all", "bytes": [72]}]},
        {"name": "steps", "kind": "scaling", "seconds": 0.01, "n": [12], "members": [2, 3], "cases": [
            {"name": "odd", "widths": [5, 7, 3]}, {"name": "one", "widths": [17, 9], "n": [66], "members": [2]}]},
        {"name": "nets", "kind": "networks", "seconds": 0.01, "cases": [
            {"name": "small", "n": [2], "input": {"channels": 2, "height": 9, "width": 8}, "layers": [
                {"layer": "conv", "channels": 4, "filter": 3, "stride": [2, 1]},
                {"layer": "depthwise", "filter": 3, "activation": "hard_swish"},
                {"layer": "conv", "channels": 4, "activation": "identity", "add": 1},
                {"layer": "global pool"}, {"layer": "connected", "channels": 4, "activation": "hard_sigmoid"},
                {"layer": "scale", "x": 3, "by": 5}, {"layer": "pool", "filter": 2, "stride": 2},
                {"layer": "connected", "channels": 3, "activation": "identity"}]},
            {"name": "steps", "n": [2], "trains": True, "input": {"channels": 2, "height": 6, "width": 5}, "layers": [
                {"layer": "conv", "channels": 4, "filter": 3}, {"layer": "conv", "channels": 4, "add": 1},
                {"layer": "global pool"}, {"layer": "connected", "channels": 3, "activation": "identity"}]}]},
        {"name": "old", "kind": "historic", "seconds": 0.01, "cases": [
            {"name": "belief", "workload": "dbn", "n": 2, "units": [6, 5, 4, 3]}]},
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

    def test_suites_of_each_kind_are_measured(self):
        results = self.measure(json.dumps(KINDS), "--device", "cpu")
        # Need two or three compute units.
        parts = [("groups", "sums 96 B 3 parts"), ("groups", "all 72 B 3 parts"), ("steps", "odd n12 2 members"),
                 ("steps", "odd n12 3 members"), ("steps", "one n66 2 members")]
        self.assertEqual([r for r in [(r["suite"], r["case"]) for r in results] if r not in parts], [
            ("functions", "mine 3072"), ("functions", "larger 2048"), ("functions", "larger 1573888"),
            ("passes", "both 17 Ki"), ("passes", "turned 17 Ki"), ("passes", "rows 1 Ki"), ("pictures", "softmax 3@5 n2"),
            ("pictures", "halves 3@5 n2"), ("pools", "odd avg 3@9 3x3/2 n2 nchw"), ("pools", "odd avg 3@9 3x3/2 n2 nhwc"),
            ("weights", "narrow 1x17x33"), ("weights", "narrow 5x17x33"), ("weights", "own 7x9x8"), ("cells", "a h5 n2 t3"),
            ("cells", "b h5 n2 t3"), ("cells", "c h5 n1 t1"), ("cells", "c h5 n2 t1"), ("groups", "sums 96 B 3 contexts"),
            ("groups", "all 72 B 3 contexts"), ("nets", "small n2"), ("nets", "steps n2"), ("old", "belief n2")])
        operations = {r["case"]: r["gflops"] * r["median_ns"] for r in results if r["gflops"]}
        for case, expected in (("narrow 5x17x33", 2 * 5 * 17 * 33), ("a h5 n2 t3", 2 * 8 * 2 * 3 * 25), ("c h5 n2 t1", 2 * 2 * 2 * 25),
                               ("small n2", 2 * 2 * (5 * 8 * (4 * 18 + 4 * 9 + 16) + 16 + 3 * 4 * 8))):
            self.assertAlmostEqual(operations[case] / expected, 1, delta=1e-6, msg=case)

    def test_networks_that_cannot_be_trained_are_refused(self):
        """An image that is added must have no later reader."""
        document = copy.deepcopy(KINDS)
        document["suites"] = [{"name": "nets", "kind": "networks", "cases": [
            {"name": "steps", "trains": True, "input": {"channels": 2, "height": 6, "width": 5}, "layers": [
                {"layer": "conv", "channels": 4}, {"layer": "conv", "channels": 4, "add": 1},
                {"layer": "conv", "channels": 4, "add": 1}]}]}]
        done = self.run_text(json.dumps(document))
        self.assertIn("steps n1 has layers that cannot be trained here", done.stderr)
        self.assertNotEqual(done.returncode, 0)

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

    def test_malformed_suites_of_each_kind_are_named(self):
        """Each change of a case, or of the suite, is refused before anything is measured."""
        for name, number, members, message in (
                ("functions", 0, {"activation": "step"}, 'cases[0]: "activation": "step" is none of identity, relu'),
                ("functions", 0, {"activation": None}, 'the member "activation" is missing'),
                ("functions", 0, {"size": [1024]}, 'unknown member "size"'),
                ("functions", 1, {"sizes": [0]}, 'cases[1]: "sizes" must be an array of integers from 1024'),
                ("functions", 1, {"sizes": [1 << 41]}, '"sizes" must be an array of integers from 1024 to 1099511627776'),
                ("functions", 1, {"sizes": [1025]}, '"sizes" must be multiples of 1024, not 1025'),
                ("functions", 1, {"sizes": []}, '"sizes" must be an array of 1 to 16 integers'),
                ("functions", 1, {"sizes": [2048, 2048]}, 'an earlier case has the name "larger 2048"'),
                ("functions", None, {"sizes": None}, 'functions cases[0]: the member "sizes" is missing'),
                ("passes", 0, {"operation": "walk"}, '"operation": "walk" is none of copy, scale'),
                ("passes", 0, {"sizes": [-1024]}, '"sizes" must be an array of integers'),
                ("pictures", 0, {"call": "softmax x=$Q y=$X"}, "unknown letter after $"),
                ("pictures", 0, {"call": "softmax x=$X q=$X"}, "pictures cases[0]: "),
                ("pictures", 0, {"call": "softmax " + "x" * 4000}, "or is too long"),
                ("pictures", None, {"images": []}, '"images" must be an array that is not empty'),
                ("pictures", None, {"images": [{"n": 0, "c": 3, "h": 5}]}, '"n" must be an integer from 1'),
                ("pictures", None, {"images": [{"n": 1, "c": 3}]}, 'the member "h" is missing'),
                ("pictures", None, {"images": [{"n": 1, "c": 3, "h": 5, "d": 1}]}, 'unknown member "d"'),
                ("pictures", None, {"images": [{"n": 1 << 20, "c": 65536, "h": 65536}]}, "the images of "),
                ("pools", 0, {"pool": "median"}, '"median" is none of max, average'),
                ("pools", 0, {"window": 0}, '"window" must be an integer from 1'),
                ("pools", 0, {"window": None}, 'the member "window" is missing'),
                ("pools", 0, {"window": 12}, "the window is larger than the padded images"),
                ("pools", 0, {"pad": 3}, '"pad" must be less than "window"'),
                ("pools", 0, {"c": 65537}, '"c" must be an integer from 1 to 65536'),
                ("pools", 0, {"k": 1}, 'unknown member "k"'),
                ("pools", None, {"layouts": ["chwn"]}, '"layouts" must be an array of "nchw" and "nhwc"'),
                ("pools", None, {"n": [0]}, '"n" must be an array of integers from 1'),
                ("weights", 0, {"k": 0}, '"k" must be an integer from 1'), ("weights", 0, {"n": None}, '"n" is missing'),
                ("weights", 0, {"k": 1 << 40}, "the weights of 1x1099511627776x17 elements"),
                ("weights", 0, {"transposed": "b"}, 'unknown member "transposed"'),
                ("weights", 1, {"name": "narrow", "k": 33, "n": 17, "m": 5}, "an earlier case has the same name and sizes"),
                ("weights", None, {"m": None}, 'weights cases[0]: the member "m" is missing'),
                ("cells", 0, {"cell": "nerve"}, '"nerve" is none of lstm, gru, tanh'),
                ("cells", 0, {"hidden": 0}, '"hidden" must be an integer from 1 to 65536'),
                ("cells", 0, {"hidden": None}, 'the member "hidden" is missing'),
                ("cells", 0, {"inputs": 3}, 'unknown member "inputs"'),
                ("cells", 2, {"steps": [0]}, 'cases[2]: "steps" must be an array of integers from 1'),
                ("cells", 2, {"n": [1 << 20], "steps": [65536], "hidden": 65536}, "the result of 65536x1048576x65536 elements"),
                ("groups", 0, {"collective": "gossip"}, '"gossip" is none of all-reduce, all-gather'),
                ("groups", 0, {"bytes": [100]}, '"bytes" must be multiples of 8 for each of 3 members, not 100'),
                ("groups", 0, {"bytes": [0]}, '"bytes" must be an array of integers from 1'),
                ("groups", 0, {"members": [1]}, '"members" must be an array of integers from 2 to 16'),
                ("groups", 0, {"root": 0}, 'unknown member "root"'),
                ("groups", None, {"members": None}, 'groups cases[0]: the member "members" is missing'),
                ("steps", 0, {"widths": [5]}, '"widths" must have at least two integers'),
                ("steps", 0, {"widths": [5, 0]}, '"widths" must be an array of integers from 1'),
                ("steps", 0, {"widths": None}, 'the member "widths" is missing'),
                ("steps", 0, {"n": [13]}, '"n" must be multiples of 2 members, not 13'),
                ("steps", 0, {"members": [1]}, '"members" must be an array of integers from 2 to 16'),
                ("steps", 0, {"depth": 2}, 'unknown member "depth"'),
                ("steps", None, {"n": None}, 'steps cases[0]: the member "n" is missing'),
                ("nets", 0, {"input": None}, 'the member "input" is missing'),
                ("nets", 0, {"input": {"channels": 0, "height": 1, "width": 1}}, '"channels" must be an integer from 1'),
                ("nets", 0, {"layers": []}, '"layers" must be an array of 1 to 80 layers'),
                ("nets", 0, {"layers": [{"layer": "global pool"}] * 81}, '"layers" must be an array of 1 to 80 layers'),
                ("nets", 0, {"trains": 1}, '"trains" must be true or false'),
                ("nets", 1, {"layers_of": "large"}, '"layers_of": there is no earlier case "large"'),
                ("nets", 0, {"batch": 1}, 'unknown member "batch"'),
                ("old", 0, {"workload": "lenet"}, '"lenet" is none of alexnet, dbn'),
                ("old", 0, {"units": [6, 5, 4]}, '"units" must be an array of 4 integers'),
                ("old", 0, {"units": [6, 5, 4, 0]}, '"units" must be an array of integers from 1'),
                ("old", 0, {"n": None}, 'the member "n" is missing'), ("old", 0, {"side": 99}, 'unknown member "side"'),
                ("old", 0, {"workload": "alexnet", "units": None, "side": 66}, '"side" must be an integer from 67'),
                ("old", 0, {"workload": "alexnet", "units": None, "side": 67, "filters": [2, 2, 3, 2, 2]},
                 '"filters" must be multiples of 2, not 3')):
            document = copy.deepcopy(KINDS)
            suite = next(s for s in document["suites"] if s["name"] == name)
            changed = suite if number is None else suite["cases"][number]
            for key, value in members.items():
                changed[key] = value
                if value is None:
                    del changed[key]
            self.refuses(json.dumps(document), message)

    def test_malformed_layers_are_named(self):
        for number, members, message in (
                (0, {"layer": "walk"}, 'nets cases[0].layers[0]: "layer": "walk" is none of conv, depthwise'),
                (0, {"channels": 0}, '"channels" must be an integer from 1'), (6, {"x": 4}, "layers[6]: the windows are larger"),
                (0, {"filter": 0}, '"filter" must be an integer from 1'), (0, {"stride": [1, 1, 1]}, "one integer or two"),
                (0, {"stride": 0}, '"stride" must be an array of integers from 1'), (0, {"pad": 1}, 'unknown member "pad"'),
                (1, {"channels": 3}, 'layers[1]: unknown member "channels"'), (1, {"x": 2}, '"x" must be an integer from 0 to 1'),
                (1, {"activation": "mish"}, '"mish" is none of identity, relu, clipped_relu'),
                (2, {"add": 3}, '"add" must be an integer from 0 to 2'), (2, {"add": 0}, "image 0 is 2@9x8, must be 4@5x8"),
                (5, {"by": 1}, '"by": image 1 is 4@5x8, must be 4@1x1'), (5, {"by": None}, 'the member "by" is missing'),
                (7, {"x": 6}, "no layer reads image 7"), (7, {"channels": None}, 'the member "channels" is missing')):
            document = copy.deepcopy(KINDS)
            layer = next(s for s in document["suites"] if s["name"] == "nets")["cases"][0]["layers"][number]
            for key, value in members.items():
                layer[key] = value
                if value is None:
                    del layer[key]
            self.refuses(json.dumps(document), message)

    def test_names_of_own_suites_are_taken(self):
        document = copy.deepcopy(VALID)
        document["suites"][0]["name"] = "start"
        done = self.run_text(json.dumps(document))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn('--shapes: there is a suite "start" already', done.stderr)

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
        listed = {line.split()[0] for line in bench("list").stdout.splitlines()}
        self.assertEqual(names, listed - {"start"})  # which has no shapes


if __name__ == "__main__":
    unittest.main()

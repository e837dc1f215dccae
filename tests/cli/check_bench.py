#!/usr/bin/env python3
"""Tests tenon-bench from outside: its files, its refusals, and what an interruption leaves.

    check_bench.py path/to/tenon-bench path/to/results.schema.json
"""
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import jsonschema

SCHEMA = sys.argv.pop(2)
BENCH = sys.argv.pop(1)
QUICK = ["run", "--time", "0.01", "--peers", "none"]


def bench(*args):
    return subprocess.run([BENCH, *args], capture_output=True, text=True, check=False)


def read_results(path):
    with open(SCHEMA, encoding="utf-8") as schema, open(path, encoding="utf-8") as file:
        results = json.load(file)
        jsonschema.validate(results, json.load(schema))
    return results


class Usage(unittest.TestCase):
    def test_help_and_list(self):
        self.assertIn("--suite", bench("help").stdout)
        listed = bench("list").stdout
        for suite in ("gemm", "conv", "activation", "packed-cpu", "start"):
            self.assertRegex(listed, rf"(?m)^{suite} ")

    def test_wrong_usage_is_2_and_names_what_is_wrong(self):
        for args, named in (([], "usage"), (["walk"], "usage"), (["run", "--none"], "none"),
                            (["run", "extra"], "extra"), (["run", "--suite", "gemn"], "gemn"),
                            (["run", "--suite", ""], "suite"), (["run", "--dtype", "f33"], "f33"),
                            (["run", "--peers", "mkl"], "mkl"), (["run", "--time", "0"], "--time"),
                            (["run", "--time", "1s"], "--time"),
                            (["run", "--filter", "no such case"], "no such case")):
            done = bench(*args)
            self.assertEqual(done.returncode, 2, (args, done.stdout))
            self.assertEqual(done.stdout, "", args)
            self.assertIn(named, done.stderr, args)

    def test_a_file_that_cannot_be_written_is_refused_before_the_work(self):
        for option in ("--json", "--csv"):
            done = bench(*QUICK, option, "/no/such/folder/file")
            self.assertEqual(done.returncode, 2)
            self.assertIn("/no/such/folder/file", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_an_unknown_device_is_named(self):
        done = bench(*QUICK, "--device", "nothing-like-it")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing-like-it", done.stderr)

    def test_a_solver_that_is_none_is_named(self):
        done = bench(*QUICK, "--suite", "gemm", "--filter", "64x64x64", "--solver", "gemm/none")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("gemm/none", done.stderr)


class Files(unittest.TestCase):
    def test_json_and_csv_say_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            path, table = os.path.join(folder, "r.json"), os.path.join(folder, "r.csv")
            done = bench(*QUICK, "--suite", "gemm,conv,activation,start", "--filter", "16384",
                         "--dtype", "f32,bf16", "--json", path, "--csv", table)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(os.listdir(folder)), ["r.csv", "r.json"])
            results = read_results(path)
            self.assertTrue(results["complete"])
            self.assertIn("--csv", results["command"])
            with open(table, encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual([(r["case"], r["dtype"], r["solver"]) for r in rows],
                             [(r["case"], r["dtype"], r["solver"]) for r in results["results"]])
            self.assertEqual({r["dtype"] for r in rows}, {"f32", "bf16"})
            for result in results["results"]:
                self.assertTrue(result["verified"], result)
                self.assertLessEqual(result["low_ns"], result["median_ns"])
                self.assertLessEqual(result["median_ns"], result["high_ns"])
                self.assertGreater(result["event_ns"], 0)
                self.assertGreater(result["gbps"], 0)
            self.assertLessEqual(max(map(len, done.stdout.splitlines()[1:])), 100)

    def test_a_forced_solver_is_the_one_that_ran(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            done = bench(*QUICK, "--suite", "gemm", "--filter", "64x64x64", "--solver",
                         "gemm/plain", "--json", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual({r["solver"] for r in read_results(path)["results"]}, {"gemm/plain"})

    def test_an_interruption_leaves_what_was_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            with subprocess.Popen([BENCH, "run", "--suite", "activation", "--peers", "none",
                                   "--time", "0.5", "--json", path], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True) as process:
                for line in process.stdout:
                    if line.startswith("relu"):
                        break
                time.sleep(0.1)
                process.send_signal(signal.SIGINT)
                process.stdout.read()
            self.assertEqual(process.returncode, 130)
            results = read_results(path)
            self.assertFalse(results["complete"])
            self.assertGreaterEqual(len(results["results"]), 1)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests tenon-bench: its files, errors, and the results kept after an interruption.

The arguments are those of bench_program.py.
"""
import csv
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from bench_program import BENCH, QUICK, Bench, bench, features, read_results

class Usage(unittest.TestCase):
    def test_help_and_list(self):
        self.assertRegex(bench("help").stdout, r"(?m)^  run +measure ")
        self.assertEqual(bench("--version").stdout.split()[0], "tenon-bench")
        self.assertEqual({line.split()[0] for line in bench("list", "--suites").stdout.splitlines()},
                         {line.split()[0] for line in bench("list").stdout.splitlines()})
        listed = bench("list").stdout
        for suite in ("gemm", "gemm-cpu", "gemm-deepbench", "conv", "conv-cpu", "conv-cpu-backward",
                      "conv-cpu-depthwise", "conv-cpu-nhwc", "conv-cpu-nhwc-backward", "activation",
                      "bandwidth-cpu", "bandwidth-cpu-nhwc", "collectives", "scaling",
                      "packed-cpu", "pool-cpu", "recurrence", "conv-int8", "elementwise", "reduce", "indexing",
                      "sorting", "images", "mixed", "random", "networks", "historic",
                      "start", "gemm-gpu", "conv-gpu",
                      "bandwidth-gpu", "conv-deepbench", "recurrence-deepbench", "recurrence-backward",
                      "collectives-deepbench", "gemm-transformer", "transformer", "training"):
            self.assertRegex(listed, rf"(?m)^{suite} ")

    def test_wrong_usage_is_2_and_names_the_argument(self):
        for args, named in (([], "Usage: tenon-bench"), (["walk"], 'unknown command "walk"'), (["run", "--none"], 'unknown option "--none"'),
                            (["ceilings", "--suite", "gemm"], 'ceilings: unknown option "--suite"'),
                            (["list", "--solver", "x"], 'list: unknown option "--solver"'),
                            (["run", "extra"], "extra"), (["run", "--suite", "gemn"], "gemn"),
                            (["run", "--suite", ""], "suite"), (["run", "--dtype", "f33"], "f33"),
                            (["run", "--peers", "mkl"], "mkl"), (["run", "--time", "0"], "--time"),
                            (["run", "--time", "1s"], '--time: "1s" is not a number from 0.001 to 3600'),
                            (["run", "--time", "nan"], '--time: "nan" is not'),
                            (["run", "--workspace", "-1"], "--workspace"),
                            (["run", "--workspace", "much"], "--workspace"),
                            (["run", "--min-flops", ""], "--min-flops"),
                            (["run", "--filter", "no such case"], "no such case")):
            done = bench(*args)
            self.assertEqual(done.returncode, 2, (args, done.stdout))
            self.assertEqual(done.stdout, "", args)
            self.assertIn(named, done.stderr, args)

    def test_help_has_only_the_options_of_the_command(self):
        own = {command: set(re.findall(r"(?m)^ +(?:-h, )?(--[a-z-]+)", bench("help", command).stdout))
               for command in ("run", "regret", "predict", "ceilings", "build", "first", "list", "peers")}
        self.assertEqual(own["peers"], {"--help"})
        self.assertEqual(own["first"], {"--json", "--help"})
        self.assertEqual(own["ceilings"], {"--device", "--filter", "--emulated", "--json", "--help"})
        self.assertIn("--target", own["predict"])
        for command, options in own.items():
            self.assertEqual("--csv" in options, command == "run", command)
            self.assertEqual("--part" in options, command == "build", command)

    def test_unwritable_files_are_refused_before_measuring(self):
        for option in ("--json", "--csv"):
            done = bench(*QUICK, option, "/no/such/folder/file")
            self.assertEqual(done.returncode, 2)
            self.assertIn("/no/such/folder/file", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_an_unknown_device_is_named(self):
        done = bench(*QUICK, "--device", "nothing-like-it")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing-like-it", done.stderr)

    def test_an_unknown_solver_is_named(self):
        done = bench(*QUICK, "--suite", "gemm", "--filter", "64x64x64", "--solver", "gemm/none")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("gemm/none", done.stderr)


class Device(Bench):
    """Commands that query or measure the device itself."""

    def ask(self, *args):
        return self.run_json(*args, valid=False)[0]

    def test_emulated_matrix_units_are_correct(self):
        found = self.ask("ceilings", "--emulated", "--filter", "wgmma f16")["ceilings"]
        self.assertEqual([(c["name"], c["verified"]) for c in found], [("matrix unit wgmma f16, emulated", True)])

    def test_cpu_ceilings_use_all_cores_and_vectors(self):
        """The measured rate exceeds what scalar code on one core can reach."""
        found = {c["name"]: c for c in self.ask("ceilings", "--filter", "multiply-add f32")["ceilings"]}
        self.assertTrue(found["multiply-add f32"]["verified"])
        if {"avx2", "fma"} <= features():
            self.assertGreater(found["multiply-add f32"]["value"], 16)  # two units, four operations a nanosecond each

    def test_build_reports_each_solver_without_measuring(self):
        names = "gemm/cpu_direct gemm/none"
        built = self.ask("build", "--suite", "gemm", "--filter", "64x64x64", "--solver", "gemm/cpu_direct gemm/gemv_split")["built"]
        self.assertEqual([(b["asked"], b["serves"]) for b in built], [("gemm/cpu_direct", True), ("gemm/gemv_split", False)])
        self.assertGreater(built[0]["predicted_ns"], 0)
        self.assertTrue(all(k["builds"] for k in built[0]["kernels"]), built)
        self.assertIn("gemv_split", built[1]["why"])
        self.assertEqual(bench("build", "--suite", "gemm", "--filter", "64x64x64", "--solver", names).returncode, 1)

    def test_parts_divide_the_cases(self):
        parts = [bench("build", "--suite", "bandwidth-cpu", "--filter", "copy", "--part", f"{i}/2").stdout.splitlines()
                 for i in (1, 2)]
        whole = bench("build", "--suite", "bandwidth-cpu", "--filter", "copy").stdout.splitlines()
        self.assertEqual(sorted(parts[0] + parts[1]), sorted(whole))
        self.assertTrue(parts[0] and parts[1])
        for wrong in ("0/2", "3/2", "1", "1/2x"):
            self.assertEqual(bench("build", "--part", wrong).returncode, 2, wrong)


class Suites(Bench):
    def setUp(self):
        self.cases = {}
        for line in bench("list").stdout.splitlines():
            suite, name = line.split(maxsplit=1)
            self.cases.setdefault(suite, []).append(name)

    def test_case_names_are_unique_and_fit_the_table(self):
        for suite, names in self.cases.items():
            self.assertEqual(len(names), len(set(names)), suite)
            self.assertLessEqual(max(map(len, names)), 34, suite)

    def test_networks_are_complete(self):
        """The numbers of distinct convolutions are counted from the networks' definitions."""
        for network, count in (("resnet50", 23), ("vgg16", 9), ("alexnet", 5), ("mobilenet2", 30)):
            for images in (1, 8):
                names = [n for n in self.cases["conv-cpu"]
                         if n.startswith(network) and n.endswith(f" n{images}")]
                self.assertEqual(len(names), count, names)
        self.assertEqual(self.cases["conv-cpu-nhwc"], self.cases["conv-cpu"])
        for suite, count in (("conv-cpu-backward", 23), ("conv-cpu-depthwise", 10)):
            for gradient in ("dx", "dw"):
                names = [n for n in self.cases[suite] if n.startswith(gradient)]
                self.assertEqual(len(names), 2 * count, names)
        self.assertEqual(self.cases["conv-cpu-nhwc-backward"],
                         [f"{gradient} {n}" for n in self.cases["conv-cpu"] for gradient in ("dx", "dw")])

    def test_gemm_has_all_transposes_and_sizes(self):
        names = self.cases["gemm-cpu"]
        for end in ("512x512x512", "512x512x512 a'", "512x512x512 b'", "512x512x512 a'b'"):
            self.assertEqual(len([n for n in names if n == f"square {end}"]), 1, end)
        # ResNet-50's 20 distinct products, and those with eight images.
        resnet = [n for n in names if n.startswith("resnet50 ") and " fc " not in n]
        self.assertEqual(len(resnet), 40, resnet)
        self.assertIn("resnet50 512x49x4608", resnet)
        self.assertIn("resnet50 392x512x4608 b'", resnet)

    def test_every_type_of_gemm_is_correct(self):
        types = ["f64", "f32", "f16", "bf16", "i8"]
        for case in ("8x 128x128x64", "prime 127x127x127", "gemv 1024x1x1024 a'"):
            results = self.results("--suite", "gemm-cpu", "--dtype", ",".join(types), "--filter", case)
            self.assertEqual(sorted(r["dtype"] for r in results), sorted(types))
            self.assertTrue(all(r["verified"] for r in results), results)

    def test_gradients_with_channels_last_are_correct(self):
        """Of images and filters; strided, and depthwise."""
        for case, count in (("resnet50 1024@14 k2048 1x1/2 n1", 2), ("mobilenet2 576@14 dw 3x3/2 n1", 2)):
            results = self.results("--suite", "conv-cpu-nhwc-backward", "--dtype", "f32,bf16", "--filter", case)
            self.assertEqual(len(results), 2 * count, results)
            self.assertTrue(all(r["verified"] for r in results), results)

    def test_training_steps_are_correct(self):
        (result,) = self.results("--suite", "networks", "--filter", "tiny-train")
        self.assertTrue(result["verified"])
        self.assertLessEqual({"first", "dx", "dw", "norm", "pointwise", "update"}, set(result["layers_ns"]))

    def test_memory_bound_cases_are_correct(self):
        results = self.results("--suite", "bandwidth-cpu", "--filter", "64 Ki")
        self.assertEqual(len(results), 12)
        self.assertTrue(all(r["verified"] and r["gbps"] > 0 for r in results), results)

    def test_collectives_are_correct_and_count_the_bytes_that_move(self):
        moved = {"all-reduce": 2, "all-gather": 1, "reduce-scatter": 1, "broadcast": 1, "all-to-all": 2}
        found, _ = self.run_json("run", "--time", "0.01", "--suite", "collectives", "--filter", " 4 KiB 2 contexts",
                                 "--dtype", "f32,f64,f16,bf16", "--peers", "memcpy", "--repeats", "0")
        results = found["results"]
        self.assertEqual(len(results), 4 * len(moved))
        for result in results:
            self.assertTrue(result["verified"], result)
            self.assertLessEqual(result["error_over_bound"], 1)
            self.assertGreater(result["peers"]["memcpy"]["median_ns"], 0)
            self.assertAlmostEqual(result["gbps"] * result["median_ns"] / 4096 / moved[result["case"].split()[0]], 1, 3)
        self.assertTrue(any(0 < r["error_over_bound"] for r in results if r["case"].startswith("all-reduce")))

    def test_a_cpu_with_too_few_units_is_not_divided(self):
        found, done = self.run_json("run", "--time", "0.01", "--suite", "collectives", "--filter", "broadcast 4 KiB",
                                    "--peers", "none", "--repeats", "0", POCL_MAX_PTHREAD_COUNT="2")
        if found["devices"][0]["compute_units"] != 2 or "cpu" not in found["devices"][0]["kind"]:
            self.skipTest("the device is not a CPU whose compute units PoCL limits")
        self.assertEqual({r["case"] for r in found["results"]},
                         {f"broadcast 4 KiB {members}" for members in ("2 contexts", "2 parts", "4 contexts")})
        self.assertIn("broadcast 4 KiB 4 parts is skipped: the CPU has too few compute units", done.stderr)

    def test_steps_of_several_members_have_the_bits_of_one(self):
        suite = {"name": "steps", "kind": "scaling", "members": [2, 3], "cases": [{"name": "small", "widths": [33, 65, 7], "n": 42}]}
        with tempfile.TemporaryDirectory() as folder:
            shapes = os.path.join(folder, "shapes.json")
            Path(shapes).write_text(json.dumps({"format": "tenon-bench shapes 1", "suites": [suite]}), encoding="utf-8")
            found, done = self.run_json("run", "--time", "0.01", "--repeats", "0", "--shapes", shapes, "--device", "cpu")
        measured = {r["case"]: r for r in found["results"]}
        units = found["devices"][0]["compute_units"]
        for members in (2, 3):
            name = f"small n42 {members} members"
            self.assertEqual(name in measured, units >= members, done.stderr)
            if units < members:
                self.assertIn(f"{name} is skipped: the device has fewer compute units than members", done.stderr)
                continue
            result = measured[name]
            self.assertTrue(result["verified"], result)
            self.assertGreater(result["peers"]["one-member"]["median_ns"], 0)
            self.assertAlmostEqual(result["gflops"] * result["median_ns"] / (42 * (4 * 33 * 65 + 6 * 65 * 7)), 1, 6)
        if not measured:
            self.skipTest("the CPU has one compute unit")


class Summary(Bench):
    def summarize(self, *args):
        found, done = self.run_json("run", "--time", "0.01", *args)
        self.assertLessEqual(max(map(len, done.stdout.splitlines()[1:])), 100)
        return found, done.stdout

    def test_the_summary_follows_from_the_results(self):
        found, printed = self.summarize("--suite", "bandwidth-cpu", "--filter", "64 Ki", "--peers", "loop")
        ratios = [r["peers"]["loop"]["ratio"] for r in found["results"]]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        rows = {r["peer"]: r for r in found["summary"]["ratios"]}
        self.assertEqual(sorted(rows), ["best", "loop"])
        for row in rows.values():
            self.assertEqual((row["suite"], row["dtype"], row["cases"]), ("bandwidth-cpu", "f32", 12))
            self.assertAlmostEqual(row["mean"], mean, places=5)
            self.assertAlmostEqual(row["least"], min(ratios), places=5)
            least = found["results"][ratios.index(min(ratios))]["case"]
            self.assertEqual(row["least_case"], least)
        slowest = found["summary"]["slowest"]
        self.assertEqual([round(s["ratio"], 5) for s in slowest],
                         [round(r, 5) for r in sorted(ratios)[:10]])
        self.assertIn("slowest beside the best peer", printed)
        for result in found["results"]:
            self.assertIn(result["peers"]["loop"]["algorithm"].split(",")[0], ("one thread", "threads"))

    def test_best_excludes_small_cases_and_tenons_own_f32(self):
        args = ["--suite", "gemm-cpu", "--dtype", "f16", "--filter", "square 64x64x64"]
        for limit, filtered in ((["--min-flops", "0"], args), ([], args)):
            found, _ = self.summarize(*filtered, *limit)
            self.assertEqual([r["peer"] for r in found["summary"]["ratios"]], ["tenon-f32"])
            self.assertEqual(found["summary"]["slowest"], [])
        found, _ = self.summarize("--suite", "gemm-cpu", "--filter", "square 64x64x64", "--peers", "clblast")
        rows = [r["peer"] for r in found["summary"]["ratios"]]
        self.assertNotIn("best", rows)
        if rows:
            found, _ = self.summarize("--suite", "gemm-cpu", "--filter", "square 64x64x64", "--peers",
                                     "clblast", "--min-flops", "0")
            self.assertEqual([r["peer"] for r in found["summary"]["ratios"]], ["clblast", "best"])

    def test_the_summary_is_empty_without_peers(self):
        found, printed = self.summarize("--suite", "gemm-cpu", "--filter", "square 64x64x64", "--peers",
                                       "none")
        self.assertEqual(found["summary"], {"ratios": [], "slowest": []})
        self.assertNotIn("peer time / Tenon time\n\n", printed)


class Regret(Bench):
    def regret(self, *args):
        found, done = self.run_json("regret", *args)
        return found, done.stdout

    def test_the_choice_is_compared_with_the_candidates(self):
        found, printed = self.regret("--suite", "bandwidth-cpu", "--filter", "relu 64 Ki")
        (result,) = found["results"]
        self.assertTrue(found["complete"])
        names = [m["solver"] for m in result["measured"]]
        self.assertEqual(names[0], result["chosen"])
        self.assertEqual(len(names), len(set(names)))
        self.assertIn(result["best"], names)
        # The default choice, another solver, and one that differs in a parameter.
        self.assertLessEqual({"activation/dense:nt1", "activation/dense:nt2", "activation/strided"},
                             set(names))
        self.assertAlmostEqual(result["ratio"], result["chosen_ns"] / result["best_ns"], places=5)
        self.assertEqual(found["summary"], {"cases": 1, "median": result["ratio"],
                                            "percentile_95": result["ratio"],
                                            "least_candidates": len(names)})
        self.assertIn(f"at least {len(names)} candidates", printed)
        self.assertLessEqual(max(map(len, printed.splitlines()[1:])), 100)

    def test_packed_weights_are_those_of_the_case(self):
        found, _ = self.regret("--suite", "packed-cpu", "--dtype", "f32", "--filter", "packed 1x512x512")
        names = [m["solver"] for m in found["results"][0]["measured"]]
        self.assertEqual(names[0], found["results"][0]["chosen"])
        self.assertGreater(len(names), 1)
        for name in names:
            self.assertTrue(name.startswith("gemm_packed/"), name)

    def test_the_95th_percentile_is_one_of_the_ratios(self):
        found, _ = self.regret("--suite", "bandwidth-cpu", "--filter", "x 64 Ki")
        ratios = sorted(r["ratio"] for r in found["results"])
        self.assertGreater(len(ratios), 1)
        self.assertAlmostEqual(found["summary"]["percentile_95"],
                               ratios[math.ceil(0.95 * len(ratios)) - 1], places=5)

    def test_unsupported_arguments_are_refused(self):
        for args, named in ((["--csv", "x"], "--csv"), (["--solver", "gemm/plain"], "--solver"),
                            (["--filter", "no such case"], "no such case")):
            done = bench("regret", *args)
            self.assertEqual((done.returncode, done.stdout), (2, ""), args)
            self.assertIn(named, done.stderr)
        done = bench("regret", "--suite", "start", "--filter", "32x32x32")
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not measure a plan", done.stderr)


class Files(Bench):
    def test_json_and_csv_agree(self):
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

    def test_without_verification_nothing_is_verified(self):
        results = self.results("--suite", "gemm", "--filter", "64x64x64", "--no-verify")
        self.assertEqual({r["verified"] for r in results}, {False})

    def test_forced_solvers_run_in_turn(self):
        for forced, run, skips in (("gemm/plain", ["gemm/plain"], False),
                                   ("gemm/plain gemm/gemv_dot gemm/cpu_direct", ["gemm/plain", "gemm/cpu_direct"], True)):
            found, done = self.run_json(*QUICK, "--suite", "gemm", "--filter", "64x64x64", "--solver", forced)
            solvers = [r["solver"] for r in found["results"]]
            self.assertEqual([name.partition(":")[0] for name in solvers] if skips else solvers, run)
            self.assertEqual("left out" in done.stderr, skips, done.stderr)

    def test_solvers_list_their_parameters(self):
        solvers = json.loads(bench("solvers").stdout)
        self.assertEqual(set(solvers["gemm/tiled"]) & {"mb", "nb", "kb"}, {"mb", "nb", "kb"})
        for name, parameters in solvers.items():
            for low, high in parameters.values():
                self.assertLessEqual(low, high, name)

    def test_no_workspace_is_required(self):
        solvers = [r["solver"] for r in self.results("--suite", "conv-cpu,conv-cpu-backward", "--filter", "512@7 k512 3x3 n1",
                                                     "--workspace", "0")]
        self.assertEqual(len(solvers), 3)
        self.assertFalse([s for s in solvers if "col2im_gemm" in s], solvers)

    def test_an_interruption_keeps_the_results(self):
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

#!/usr/bin/env python3
"""Tests tenon-bench: its files, errors, and the results kept after an interruption.

    check_bench.py path/to/tenon-bench path/to/results.schema.json path/to/fake_openblas path/to/fake_onednn
"""
import csv
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import jsonschema

FAKE_ONEDNN = os.path.abspath(sys.argv.pop(4))
FAKE_OPENBLAS = os.path.abspath(sys.argv.pop(3))
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


class Bench(unittest.TestCase):
    def run_json(self, *args, valid=True, **environment):
        """Runs tenon-bench with --json. Returns the file, which must match the schema if `valid`, and the process."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            done = subprocess.run([BENCH, *args, "--json", path], capture_output=True, text=True, check=False,
                                  env={**os.environ, **environment})
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                return (read_results(path) if valid else json.load(file)), done

    def results(self, *args):
        """Runs a benchmark briefly without peers. Returns its results."""
        return self.run_json(*QUICK, *args)[0]["results"]


class Usage(unittest.TestCase):
    def test_help_and_list(self):
        said = bench("help").stdout
        self.assertIn("--suite", said)
        self.assertEqual(set(re.findall(r"(?m)^  (\S+)", said[said.index("\nsuites:\n"):])),
                         {line.split()[0] for line in bench("list").stdout.splitlines()})
        listed = bench("list").stdout
        for suite in ("gemm", "gemm-cpu", "conv", "conv-cpu", "conv-cpu-backward",
                      "conv-cpu-depthwise", "conv-cpu-nhwc", "conv-cpu-nhwc-backward", "activation",
                      "bandwidth-cpu", "bandwidth-cpu-nhwc",
                      "packed-cpu", "pool-cpu", "recurrence", "conv-int8", "elementwise", "reduce", "indexing",
                      "sorting", "images", "random", "networks", "historic",
                      "start", "gemm-gpu", "conv-gpu",
                      "bandwidth-gpu"):
            self.assertRegex(listed, rf"(?m)^{suite} ")

    def test_wrong_usage_is_2_and_names_the_argument(self):
        for args, named in (([], "usage"), (["walk"], "usage"), (["run", "--none"], "none"),
                            (["run", "extra"], "extra"), (["run", "--suite", "gemn"], "gemn"),
                            (["run", "--suite", ""], "suite"), (["run", "--dtype", "f33"], "f33"),
                            (["run", "--peers", "mkl"], "mkl"), (["run", "--time", "0"], "--time"),
                            (["run", "--time", "1s"], "--time"),
                            (["run", "--workspace", "-1"], "--workspace"),
                            (["run", "--workspace", "much"], "--workspace"),
                            (["run", "--min-flops", ""], "--min-flops"),
                            (["run", "--filter", "no such case"], "no such case")):
            done = bench(*args)
            self.assertEqual(done.returncode, 2, (args, done.stdout))
            self.assertEqual(done.stdout, "", args)
            self.assertIn(named, done.stderr, args)

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


def features():
    """Returns the processor's features, as reported by the system."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return set(next((line.split() for line in file if line.startswith("flags")), []))


class Peers(Bench):
    """Which kernels OpenBLAS runs, and which peers are skipped."""

    def peers(self, *args, **environment):
        found, done = self.run_json("run", "--time", "0.01", "--suite", "gemm", "--filter", "64x64x64", "--no-verify", *args,
                                    **environment)
        return found["peers"], done.stdout

    def best(self):
        """Returns OpenBLAS's names for the best kernels that the processor supports."""
        have = features()
        if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= have:
            return {"SkylakeX"}
        return {"Haswell", "Zen"} if {"avx2", "fma"} <= have else None

    def test_openblas_uses_the_best_kernels_of_the_processor(self):
        best = self.best()
        if best is None or self.peers("--peers", "openblas")[0]["openblas"] is None:
            self.skipTest("no OpenBLAS, or a processor without AVX2")
        # Neither the environment's choice nor the library's choice for an unknown processor is used.
        for asked in ({}, {"OPENBLAS_CORETYPE": "Nehalem"}):
            told, printed = self.peers("--peers", "openblas", LD_PRELOAD=FAKE_OPENBLAS, FAKE_CORE="Prescott", **asked)
            self.assertIn(told["openblas"]["kernels"], best)
            self.assertEqual(told["openblas"]["own"], "Prescott")
            self.assertIn("its own selection is Prescott", printed)

    def test_openblas_keeps_its_choice_for_known_processors(self):
        if self.peers("--peers", "openblas")[0]["openblas"] is None:
            self.skipTest("no OpenBLAS")
        told, printed = self.peers("--peers", "openblas", LD_PRELOAD=FAKE_OPENBLAS, FAKE_CORE="SapphireRapids")
        self.assertEqual((told["openblas"]["kernels"], told["openblas"]["own"]), ("SapphireRapids", "SapphireRapids"))
        self.assertRegex(printed, r"(?m)^openblas: version [\d.]+\nopenblas: kernels for SapphireRapids$")

    def test_skipped_peers_are_reported(self):
        told, _ = self.peers("--peers", "openblas,onednn,cublas,rocblas")
        missing = [line.split()[0] for line in bench("peers").stdout.splitlines() if " is left out: " in line]
        built_in = [line.split()[0] for line in bench("peers").stdout.splitlines() if line.endswith(" is built in")]
        self.assertEqual(sorted(missing + built_in), ["boost-compute", "clblast", "cublas", "cudnn", "onednn",
                                                      "onednn-blocked", "openblas", "rocblas"])
        names = [name for one in told["left_out"] for name in one["name"].split() if name != "and"]
        self.assertEqual({n for n in names if n in ("openblas", "onednn")}, {n for n in missing if n in ("openblas", "onednn")})
        # On a CPU, the libraries of GPU vendors are skipped.
        self.assertTrue({"cublas", "rocblas"} <= set(names), told)
        self.assertEqual(self.peers("--peers", "none")[0], {"openblas": None, "onednn": None, "left_out": []})


def command(program):
    return shlex.join([sys.executable, program])


class NetworkPrograms(Bench):
    """Peers that run networks in a process of their own."""

    RUNS = """import json, sys
network = json.loads(input())
sys.stderr.write(f"{len(network['layers'])} layers, {network['n']} images\\n")
print("ready 1.2", flush=True)
for line in sys.stdin:
    print("done", flush=True)
"""

    def measure(self, program, *args):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(program)
            file.flush()
            found, done = self.run_json("run", "--time", "0.01", "--suite", "networks", "--filter", "tiny n8", "--peers",
                                        "onnxruntime", "--network-program", command(file.name), *args)
        return found["results"][0]["peers"], found["peers"]["left_out"], done.stderr

    def test_a_program_is_measured(self):
        peers, left_out, printed = self.measure(self.RUNS)
        self.assertGreater(peers["onnxruntime"]["median_ns"], 0)
        self.assertEqual(left_out, [])
        self.assertEqual(peers["onnxruntime"]["algorithm"], "1.2")
        self.assertRegex(printed, r"(?m)^2\d layers, 8 images$")  # a driver may print more

    def test_missing_libraries_and_programs_are_reported(self):
        for program, why in (("print('absent: no library')", "no library"), ("raise SystemExit(1)", "its program failed")):
            peers, left_out, _ = self.measure(program)
            self.assertEqual(peers, {})
            self.assertEqual(left_out, [{"name": "onnxruntime", "why": why}])

    def test_a_program_that_ends_is_reported(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write("input()\nprint('ready 1.2', flush=True)\ninput()\n")
            file.flush()
            done = bench("run", "--time", "0.01", "--suite", "networks", "--filter", "tiny n1", "--peers", "onnxruntime",
                         "--network-program", command(file.name))
        self.assertIn("the program of onnxruntime has ended", done.stderr)


class Calls(Bench):
    """Suites of listed calls."""

    PROGRAM = """import json, sys
source = sys.stdin.buffer
call = json.loads(source.readline())
inputs = [o for o in call["operands"] if not o["output"]]
print("ready", call["statement"], len(source.read(4 * sum(o["shape"][0] for o in inputs))), flush=True)
for line in source:
    print("done", flush=True)
"""

    def test_results_are_verified(self):
        for suite, case, args in (("sorting", "scan 1 Ki", ()), ("indexing", "one_hot 1 Mi", ()),
                                  ("reduce", "argmax 64 Ki", ()), ("elementwise", "xor i32 64 Ki", ("--dtype", "i32"))):
            [result] = self.results("--suite", suite, "--filter", case, *args)
            self.assertTrue(result["verified"])
            self.assertEqual(result["case"], case)
            self.assertGreater(result["gbps"], 0)

    def test_bytes_are_those_that_a_call_must_move(self):
        # A gather reads as many elements as it selects.
        for case, size in (("copy 1 Mi", 8 << 20), ("gather 1 Mi", 12 << 20), ("one_hot 1 Mi", (4 << 20) + (4 << 10))):
            [result] = [r for r in self.results("--suite", "indexing", "--filter", case) if r["case"] == case]
            self.assertAlmostEqual(result["gbps"] * result["median_ns"] / size, 1, delta=1e-6)

    def test_a_program_gets_the_inputs(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(self.PROGRAM)
            file.flush()
            found, _ = self.run_json("run", "--time", "0.01", "--suite", "sorting", "--filter", "sort i32 1 Ki", "--dtype",
                                     "i32", "--peers", "numpy", "--network-program", command(file.name))
        self.assertEqual(found["results"][0]["peers"]["numpy"]["algorithm"], "np.copyto(y, x); y.sort() 4096")
class HistoricWorkloads(Bench):
    """Training steps, and the same in NumPy, which are compared with Tenon's before they are measured."""

    PROGRAM = os.path.join(os.path.dirname(__file__), "..", "..", "bench", "peers", "network.py")
    KINDS = {"connected", "dw", "random", "pointwise", "update"}

    @classmethod
    def setUpClass(cls):
        cls.store = tempfile.TemporaryDirectory()  # the cases share kernels
        cls.addClassCleanup(cls.store.cleanup)

    def measure(self, program, case, *args):
        found, _ = self.run_json("run", "--time", "0.01", "--suite", "historic", "--filter", case, "--peers", "numpy",
                                 "--network-program", program, *args, TENON_CACHE="1", TENON_CACHE_DIR=self.store.name)
        (result,) = found["results"]
        return result, found["peers"]["left_out"]

    def test_results_agree_with_references_and_numpy(self):
        pythons = [p for p in (sys.executable, "/usr/bin/python3") if os.path.exists(p) and
                   subprocess.run([p, "-c", "import numpy"], capture_output=True, check=False).returncode == 0]
        program = shlex.join([*(pythons or [sys.executable])[:1], self.PROGRAM])
        for case, kinds in (("alexnet-tiny", self.KINDS | {"first", "kxk", "dx", "norm", "pooling"}),
                            ("dbn-tiny", self.KINDS)):
            result, left_out = self.measure(program, case)
            self.assertTrue(result["verified"])
            self.assertEqual(set(result["layers_ns"]), kinds)
            if pythons:
                self.assertEqual(left_out, [])
                self.assertRegex(result["peers"]["numpy"]["algorithm"], r"^\d+\.\d+\.\d+/")

    def test_wrong_results_are_left_out(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write("input()\nprint('ready 1.2', flush=True)\ninput()\nprint([[1.0]] * 12, flush=True)\ninput()\n")
            file.flush()
            result, left_out = self.measure(command(file.name), "dbn-tiny", "--no-verify")
        self.assertEqual(result["peers"], {})
        self.assertEqual(left_out, [{"name": "numpy", "why": "wrong result 1 of 12"}])

    def test_missing_numpy_is_named(self):
        result, left_out = self.measure(shlex.join([sys.executable, "-S", "-E", self.PROGRAM]), "dbn-tiny", "--no-verify")
        self.assertEqual(result["peers"], {})
        self.assertEqual(left_out, [{"name": "numpy", "why": "No module named 'numpy'"}])


class NetworksInOnednn(Bench):
    """oneDNN's networks, whose results are compared with Tenon's before anything is measured."""

    def setUp(self):
        if "onednn is built in" not in bench("peers").stdout.splitlines():
            self.skipTest("the benchmark was built without oneDNN")

    def measure(self, *args, **environment):
        found, done = self.run_json("run", "--time", "0.01", "--suite", "networks", "--peers", "onednn", "--no-verify",
                                    "--filter", *args, **environment)
        self.assertRegex(found["peers"]["onednn"], r"^\d+\.\d+\.\d+$")
        self.assertIn(f"onednn: version {found['peers']['onednn']}\n", done.stdout)
        return found["results"], found["peers"]

    def test_results_agree_with_tenon(self):
        results, peers = self.measure("tiny n")
        self.assertEqual(peers["left_out"], [])
        self.assertEqual([r["case"] for r in results], ["tiny n1", "tiny n8"])
        for result in results:
            self.assertGreater(result["peers"]["onednn"]["median_ns"], 0)
            self.assertEqual(result["peers"]["onednn"]["algorithm"], peers["onednn"])

    def test_a_wrong_result_is_reported(self):
        (result,), peers = self.measure("tiny n1", LD_PRELOAD=FAKE_ONEDNN)
        self.assertEqual(result["peers"], {})
        self.assertEqual([one["name"] for one in peers["left_out"]], ["onednn"])
        self.assertRegex(peers["left_out"][0]["why"], r"^wrong result: \S+ instead of \S+$")


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

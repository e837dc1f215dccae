#!/usr/bin/env python3
"""Tests the peers of tenon-bench: libraries, and programs in processes of their own. The arguments are those of
bench_program.py."""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

from bench_program import FAKE_CARDS, FAKE_ONEDNN, FAKE_OPENBLAS, Bench, bench, features


def command(program):
    return shlex.join([sys.executable, program])


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
        self.assertEqual(sorted(name for name in missing + built_in if not name.endswith("-pypi")),
                         ["boost-compute", "clblast", "cublas", "cudnn", "onednn", "onednn-blocked", "openblas", "rocblas"])
        names = [name for one in told["left_out"] for name in one["name"].split() if name != "and"]
        self.assertEqual({n for n in names if n in ("openblas", "onednn")}, {n for n in missing if n in ("openblas", "onednn")})
        # On a CPU, the libraries of GPU vendors are skipped.
        self.assertTrue({"cublas", "rocblas"} <= set(names), told)
        self.assertEqual(self.peers("--peers", "none")[0], {"openblas": None, "openblas-pypi": None, "onednn": None,
                                                            "versions": {}, "left_out": []})

    def test_two_versions_of_a_library(self):
        others = ["openblas-pypi", "onednn-pypi", "onednn-blocked-pypi"]
        built_in = [line.split()[0] for line in bench("peers").stdout.splitlines() if line.endswith(" is built in")]
        found, _ = self.run_json("run", "--time", "0.01", "--suite", "gemm", "--filter", "64x64x64", "--no-verify", "--peers",
                                 ",".join(["openblas", "onednn", *others]))
        there = [name for name in others if name in built_in]
        self.assertEqual([name for name in others if name in found["results"][0]["peers"]], there)
        self.assertLessEqual({name for name in there if "blocked" not in name}, set(found["peers"]["versions"]))
        self.assertEqual(sorted(one["name"] for one in found["peers"]["left_out"] if one["name"] in others),
                         sorted(name for name in others if name not in built_in))
        if {"openblas", "openblas-pypi"} <= set(built_in):
            self.assertNotEqual(found["peers"]["openblas"]["config"], found["peers"]["openblas-pypi"]["config"])


class TunedClblast(Bench):
    """CLBlast with its default parameters and with those of its tuners, in one run."""

    PARAMETERS = ("GEMMK=0 KREG=1 KWG=32 KWI=2 MDIMA=8 MDIMC=8 MWG={0} NDIMB=8 NDIMC=8 NWG={0} PRECISION=32 SA=0 SB=0 STRM=0 "
                  "STRN=0 VWM=4 VWN=4")

    def setUp(self):
        if "clblast is built in" not in bench("peers").stdout.splitlines():
            self.skipTest("the benchmark was built without CLBlast")

    def measure(self, *args):
        found, done = self.run_json("run", "--time", "0.01", "--suite", "gemm", "--filter", "64x64x64", "--no-verify", "--peers",
                                    "clblast,clblast-tuned", *args)
        return found["results"][0]["peers"], found["peers"], done

    def test_both_are_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "tuned.json"), "w", encoding="utf-8") as file:
                json.dump({"kernel_family": "xgemm_2", "precision": "32", "best_parameters": self.PARAMETERS.format(64)}, file)
            peers, told, _ = self.measure("--clblast-tuning", folder)
        self.assertEqual(sorted(peers), ["clblast", "clblast-tuned"])
        self.assertEqual(sorted(told["versions"]), ["clblast", "clblast-tuned"])
        self.assertEqual(told["left_out"], [])

    def test_without_results_only_the_default_is_measured(self):
        peers, told, done = self.measure()
        self.assertEqual(list(peers), ["clblast"])
        self.assertEqual(told["left_out"], [{"name": "clblast-tuned", "why": "--clblast-tuning is not given"}])
        self.assertIn("clblast-tuned is left out", done.stderr)

    def test_a_file_that_is_not_a_tuners_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "other.json"), "w", encoding="utf-8") as file:
                file.write("{}")
            done = bench("run", "--suite", "gemm", "--filter", "64x64x64", "--clblast-tuning", folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("other.json is not a file of CLBlast's tuners", done.stderr)


class Cards(Bench):
    """Libraries of GPU vendors, replaced by ones whose card is the host."""

    LIBRARIES = ("libcuda.so.1", "libcublas.so", "libcudnn.so", "libamdhip64.so", "librocblas.so")
    SHAPES = {"format": "tenon-bench shapes 1", "sources": {"test": "test"}, "suites": [
        {"name": "products", "kind": "gemm", "source": "test", "cases": [
            {"name": "plain", "m": 13, "n": 24, "k": 35},
            {"name": "transposed", "m": 13, "n": 24, "k": 35, "batch": 3, "transposed": "ab"}]},
        {"name": "convolutions", "kind": "conv", "source": "test", "n": [2], "cases": [
            {"name": "grouped", "c": 6, "h": 9, "k": 4, "r": 3, "pad": 1, "stride": 2, "groups": 2}]}]}

    def setUp(self):
        if "cublas is built in" not in bench("peers").stdout.splitlines():
            self.skipTest("the benchmark was built without the libraries of GPU vendors")
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = place.name
        for name in self.LIBRARIES:
            os.symlink(FAKE_CARDS, os.path.join(self.folder, name))

    def measure(self, suite, **environment):
        path = os.path.join(self.folder, "shapes.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.SHAPES, file)
        found, _ = self.run_json("run", "--time", "0.01", "--no-verify", "--peers", "cublas,cudnn,rocblas", "--shapes", path,
                                 "--suite", suite, LD_PRELOAD=FAKE_CARDS, LD_LIBRARY_PATH=self.folder, **environment)
        return found["results"], found["peers"]

    def test_products(self):
        results, told = self.measure("products")
        # A peer whose result is wrong is left out.
        self.assertEqual([sorted(r["peers"]) for r in results], [["cublas", "rocblas"]] * 2)
        self.assertEqual(told["versions"], {"cublas": "12.2.5", "rocblas": "4.2.1.abcdef"})
        self.assertEqual(told["left_out"], [])

    def test_convolutions(self):
        for number, version in (("90100", "9.1.0"), ("8904", "8.9.4")):
            (result,), told = self.measure("convolutions", FAKE_VERSION=number)
            # The fake library finds a faster algorithm, too, which uses TF32.
            self.assertEqual(result["peers"]["cudnn"]["algorithm"], "implicit precomputed gemm")
            self.assertEqual(told["versions"], {"cudnn": version})

    def test_a_missing_library_is_reported(self):
        os.unlink(os.path.join(self.folder, "libcublas.so"))
        results, told = self.measure("products")
        if "cublas" in results[0]["peers"]:
            self.skipTest("cuBLAS is installed")
        self.assertEqual([sorted(r["peers"]) for r in results], [["rocblas"]] * 2)
        self.assertEqual([one["name"].lower() for one in told["left_out"]], ["cublas"])  # one that is installed finds no card


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


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests ./run gpu where there is no GPU: its stages on another device, what a cut leaves, what a second
run skips, and the carried folder.

    check_gpu.py path/to/source path/to/build
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

BUILD = os.path.abspath(sys.argv.pop(2))
SOURCE = os.path.abspath(sys.argv.pop(1))
STAND_INS = os.path.join(SOURCE, "tests", "cli", "stand_ins")
sys.path.insert(0, os.path.join(SOURCE, "scripts", "gpu"))

import host  # noqa: E402
import jobs  # noqa: E402
import pack  # noqa: E402
import report  # noqa: E402
import shapes  # noqa: E402
import stages  # noqa: E402
import sweep  # noqa: E402


def gpu(*args):
    return subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "gpu"), *args], capture_output=True, text=True,
                          check=False)


class Usage(unittest.TestCase):
    def test_what_is_unknown_is_named(self):
        for args, named in ((["--stages", "walk"], "walk"), (["--again", "walk"], "walk"), (["--budget", "0"], "budget"),
                            (["--nothing"], "nothing")):
            done = gpu(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(named, done.stderr)


class Jobs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_of(self, budget=60, again=()):
        run = jobs.Run(self.folder.name, budget, dict(os.environ), again)
        return run

    def test_a_cut_leaves_the_rest_and_what_it_wrote(self):
        run = self.run_of()
        script = "trap 'echo kept; exit 0' TERM; echo begun; sleep 60 & wait"
        self.assertEqual(run.job("a/long", ["sh", "-c", script], limit=2), jobs.CUT)
        self.assertIn("begun\nkept", run.log("a/long"))
        self.assertEqual(run.job("a/next", ["true"]), jobs.OK)
        self.assertEqual(run.job("a/wrong", ["sh", "-c", "exit 3"]), jobs.FAILED)
        self.assertEqual(run.job("a/none", ["/no/such/program"]), jobs.FAILED)
        state = json.loads(Path(self.folder.name, "state.json").read_text(encoding="utf-8"))
        self.assertEqual([j["status"] for j in state["jobs"].values()], ["cut", "ok", "failed", "failed"])

    def test_one_that_ignores_the_asking_is_ended(self):
        run, start = self.run_of(), time.monotonic()
        grace, jobs.GRACE = jobs.GRACE, 1
        try:
            self.assertEqual(run.job("a/deaf", ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"], limit=2), jobs.CUT)
        finally:
            jobs.GRACE = grace
        self.assertLess(time.monotonic() - start, 10)

    def test_a_second_run_does_what_is_not_done(self):
        run, mark = self.run_of(), Path(self.folder.name, "mark")
        command = ["sh", "-c", f"echo x >> {mark}"]
        run.job("a/one", command, needs=[mark])
        run.job("b/fails", ["false"])
        again = self.run_of()
        self.assertEqual(again.job("a/one", command, needs=[mark]), jobs.SKIPPED)
        self.assertEqual(again.job("b/fails", ["true"]), jobs.OK)
        mark.unlink()
        self.assertEqual(again.job("a/one", command, needs=[mark]), jobs.OK)
        self.assertEqual(self.run_of(again=["a"]).job("a/one", command, needs=[mark]), jobs.OK)
        self.assertEqual(mark.read_text(encoding="utf-8"), "x\nx\n")

    def test_other_programs_or_another_device_begin_anew(self):
        run = self.run_of()
        run.adopt("first")
        run.job("a/one", ["true"])
        again = self.run_of()
        again.adopt("first")
        self.assertEqual(again.job("a/one", ["true"]), jobs.SKIPPED)
        again.adopt("second")
        self.assertEqual(again.job("a/one", ["true"]), jobs.OK)

    def test_without_time_nothing_is_begun(self):
        run = self.run_of(budget=1)
        self.assertEqual(run.job("a/late", ["true"]), jobs.NO_TIME)


class Host(unittest.TestCase):
    """The programs that tell of the host, by scripts that stand for them."""

    def host(self, programs, budget):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, script in programs.items():
            path = Path(folder.name, name)
            path.write_text("#!/bin/sh\n" + script + "\n", encoding="utf-8")
            path.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, {"PATH": folder.name + ":/usr/bin:/bin"}):
            run = jobs.Run(Path(folder.name, "out"), budget, dict(os.environ))
            run.device, run.describe_host = "cpu", []
            run.host = {"found": [], "registered": {"a.icd": "a.so"}}
            run.stage_end = run.now() + 0.9  # the stage's share of a quick run
            stages.host(run)
        return run

    def test_their_time_is_not_the_share_of_the_stage(self):
        run = self.host({name: "sleep 1; echo told" for name, _ in stages.TELLERS}, budget=400)
        self.assertEqual([run.status("host/" + name) for name, _ in stages.TELLERS], ["ok"] * 3)

    def test_one_that_is_slow_or_fails_spoils_nothing(self):
        run = self.host({"nvidia-smi": "sleep 60", "rocm-smi": "exit 2", "clinfo": "echo told"}, budget=25)
        found = {name: run.state["jobs"]["host/" + name] for name, _ in stages.TELLERS}
        self.assertEqual([j["status"] for j in found.values()], ["skipped", "skipped", "ok"])
        self.assertIn("limit", found["nvidia-smi"]["why"])
        self.assertIn("exit status 2", found["rocm-smi"]["why"])
        self.assertIn("told", run.log("host/clinfo"))
        self.assertEqual(report.write(run, ["host"]), 0)


class Pieces(unittest.TestCase):
    def test_an_unregistered_library_gets_an_icd_beside_the_registered_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "libnvidia-opencl.so.1")
            env = host.environment_for([library], folder, {})
            texts = {p.name: p.read_text(encoding="utf-8").strip() for p in Path(env["OCL_ICD_VENDORS"]).iterdir()}
            self.assertEqual(texts["libnvidia-opencl.so.1.icd"], library)
            self.assertEqual(len(texts), 1 + len(host.registered()))
            self.assertEqual(env["LD_LIBRARY_PATH"].split(":")[0], folder)

    def test_a_library_that_does_not_load_says_why(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as broken:
            self.assertIn(broken.name, host.loads(broken.name, dict(os.environ)))

    def test_a_search_begins_at_the_default_and_tries_nothing_twice(self):
        search = sweep.Search({"mb": [8, 256], "kb": [4, 64]}, "gemm/tiled")
        search.best = sweep.parse("gemm/tiled:mb64,kb16")
        first, second = search.batch(4), search.batch(4)
        near = {"gemm/tiled:mb32,kb16", "gemm/tiled:mb128,kb16", "gemm/tiled:mb64,kb8", "gemm/tiled:mb64,kb32"}
        self.assertEqual(set(first), near)
        self.assertFalse(set(first) & set(second))

    def test_the_names_of_all_cases_are_read_back(self):
        listed = subprocess.run([os.path.join(BUILD, "bench", "tenon-bench"), "list"], capture_output=True, text=True, check=True)
        cases = [line.split(None, 1) for line in listed.stdout.splitlines()]
        for suite, read in (("gemm-gpu", shapes.product), ("conv-gpu", shapes.convolution)):
            names = [name for of, name in cases if of == suite]
            self.assertGreater(len(names), 10)
            self.assertEqual([n for n in names if read(n) is None], [])
        self.assertEqual(shapes.product("former scores 128x 512x512x64 b'"), (128, 512, 512, 64, False, True))
        self.assertEqual(shapes.convolution("resnet50 256@28 k256 3x3/2 n32"), (32, 256, 28, 256, 3, 2, 1))

    def test_registers_and_spills_are_read_from_the_compiler_s_log(self):
        log = "ptxas info : 16 bytes stack frame, 24 bytes spill stores, 8 bytes spill loads\nptxas info : Used 96 registers"
        self.assertEqual(report.registers_of({"log": log}), (96, 24))

    def test_what_is_carried_compiles_and_links(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            modules, missing = pack.add_modules(folder)
            self.assertFalse(set(missing) - pack.OPTIONAL, missing)
            jobs.write_json(folder / "modules.json", modules)
            (folder / "bin").mkdir()
            program = folder / "bin" / "pkg-config"
            program.write_text(Path(SOURCE, "scripts/gpu/pkg_config.py").read_text(encoding="utf-8"), encoding="utf-8")
            flags = []
            for name in modules:
                asked = subprocess.run([sys.executable, program, "--cflags", "--libs", name], capture_output=True, text=True,
                                       check=True)
                flags += asked.stdout.split()
            self.assertIn(f"-L{folder.resolve()}/lib", flags)
            source = folder / "a.c"
            source.write_text("#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\n#include <jansson.h>\n#include <xxhash.h>\n"
                              "int main(void) { cl_uint n; json_decref(json_object());\n"
                              "return clGetPlatformIDs(0, NULL, &n) == CL_INVALID_VALUE; }\n", encoding="utf-8")
            done = subprocess.run(["cc", str(source), "-o", str(folder / "a"), *flags], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)


class Tests(unittest.TestCase):
    def test_of_two_runs_the_latest_counts_unless_it_was_cut(self):
        with tempfile.TemporaryDirectory() as folder:
            path, log = Path(folder, "tests.jsonl"), Path(folder, "log")
            log.write_text('{"name": "a", "result": "OK"}\n{"name": "b", "result": "FAIL"}\n{"name": "c", "resu', encoding="utf-8")
            stages.keep_tests(path, log)
            log.write_text('{"name": "a", "result": "INTERRUPT"}\n{"name": "b", "result": "OK"}\n', encoding="utf-8")
            stages.keep_tests(path, log)
            self.assertEqual(report.tests_of(Path(folder)), {"OK": 2})


class Peers(unittest.TestCase):
    """The vendors' libraries, by one that stands for them on the host (fake_card.h)."""

    def peers_of(self, card, *args, **more):
        fake = os.path.join(BUILD, "tests", "cli", "libfake_card.so")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("libcuda.so.1", "libcublas.so", "libcudnn.so", "libamdhip64.so", "librocblas.so"):
                os.symlink(fake, os.path.join(folder, name))
            path = os.path.join(folder, "r.json")
            done = subprocess.run([os.path.join(BUILD, "bench", "tenon-bench"), "run", "--time", "0.01", "--json", path, *args],
                                  capture_output=True, text=True, check=False,
                                  env={**os.environ, "LD_PRELOAD": fake, "LD_LIBRARY_PATH": folder, "FAKE_CARD": card, **more})
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                return json.load(file)["results"], done.stderr

    def test_products_are_asked_for_as_each_vendor_has_them(self):
        """Of the two peers the one whose card it is, in every type, layout and batch."""
        for card, peer in (("nvidia", "cublas"), ("amd", "rocblas")):
            for suite, case, dtypes in (("gemm", "64x64x64", "f32,f64,f16,bf16"), ("gemm", "head 128x128x64 b'", "f32"),
                                        ("gemm", "gemv 4096x1x4096 a'", "f32"), ("gemm-gpu", "gemv", "i8")):
                results, errors = self.peers_of(card, "--suite", suite, "--filter", case, "--dtype", dtypes, "--peers",
                                                "cublas,rocblas")
                self.assertEqual(len(results), len(dtypes.split(",")))
                for result in results:
                    self.assertEqual(list(result["peers"]), [peer], errors)

    def test_a_card_that_is_none_of_theirs_has_no_peers(self):
        results, errors = self.peers_of("intel", "--suite", "gemm", "--filter", "64x64x64", "--peers", "cublas,cudnn,rocblas")
        self.assertEqual([result["peers"] for result in results], [{}])
        self.assertEqual(errors.count("left out"), 0, errors)

    def test_of_two_cards_at_one_place_none_is_taken(self):
        results, errors = self.peers_of("amd", "--suite", "gemm", "--filter", "64x64x64", "--peers", "rocblas", FAKE_CARD_TWICE="1")
        self.assertEqual([result["peers"] for result in results], [{}])
        self.assertIn("HIP does not start on the card at :3b:03.: it has 2 there", errors)

    def test_convolutions_are_asked_for_as_cudnn_has_them(self):
        results, errors = self.peers_of("nvidia", "--suite", "conv", "--filter", "512@7 k512 3x3 n1", "--dtype", "f32", "--peers",
                                        "cudnn")
        self.assertEqual([r["peers"]["cudnn"]["algorithm"] for r in results], ["implicit precomputed gemm"], errors)


class PythonPeers(unittest.TestCase):
    """PyTorch and dpnp, by modules that stand for them and know the shapes alone (stand_ins)."""

    CASES = [{"suite": "gemm-gpu", "case": "square 64x64x64", "dtypes": ["f32", "bf16"]},
             {"suite": "gemm-gpu", "case": "batch 3x 8x16x32 a'b'", "dtypes": ["f32"]},
             {"suite": "conv-gpu", "case": "resnet50 256@28 k128 3x3/2 n4", "dtypes": ["f16"]}]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        jobs.write_json(self.folder / "cases.json", self.CASES)

    def peer(self, script, *args, **env):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "gpu", script), self.folder / "cases.json",
                               self.folder / "out.json", *args], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": STAND_INS, **env})
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return json.loads((self.folder / "out.json").read_text(encoding="utf-8"))

    def test_results_name_the_vendor_s_library(self):
        for built, vendor, blas, products, convolutions in (
                ("cuda", "nvidia", "Default", "cuBLAS", "cuDNN"), ("cuda", "nvidia", "Cublaslt", "cuBLASLt", "cuDNN"),
                ("hip", "amd", "Cublas", "rocBLAS", "MIOpen"), ("hip", "amd", "Cublaslt", "hipBLASLt", "MIOpen"),
                ("xpu", "intel", "Cublas", "oneDNN", "oneDNN")):
            found = self.peer("torch_peer.py", vendor, FAKE_TORCH=built, FAKE_TORCH_BLAS=blas)
            self.assertEqual(found["device"], "card of " + built)
            self.assertEqual([(r["case"], r["dtype"], r["library"]) for r in found["results"]],
                             [(c["case"], d, products if c["suite"] == "gemm-gpu" else convolutions)
                              for c in self.CASES for d in c["dtypes"]])
            self.assertTrue(all(r["median_ns"] > 0 and r["gflops"] > 0 for r in found["results"]), found)

    def test_another_vendor_s_card_is_not_measured(self):
        for built, vendor in (("cuda", "amd"), ("hip", "nvidia"), ("cuda", "intel"), ("xpu", "nvidia")):
            found = self.peer("torch_peer.py", vendor, FAKE_TORCH=built)
            self.assertEqual(found["results"], [])
            self.assertIn(vendor, found["left_out"])

    def test_onemkl_multiplies_on_intel_s_gpu(self):
        found = self.peer("onemkl_peer.py", FAKE_SYCL="Intel(R) Corporation")
        self.assertEqual([(r["case"], r["dtype"]) for r in found["results"]],
                         [("square 64x64x64", "f32"), ("batch 3x 8x16x32 a'b'", "f32")])
        self.assertEqual(self.peer("onemkl_peer.py", FAKE_SYCL="NVIDIA Corporation")["results"], [])

    def test_a_vendor_is_known_by_its_cards(self):
        for text, vendor in (("NVIDIA Corporation", "nvidia"), ("Advanced Micro Devices, Inc.", "amd"), ("AMD", "amd"),
                             ("Intel(R) Corporation", "intel"), ("GenuineIntel", None), ("AuthenticAMD", None)):
            self.assertEqual(stages.vendor_of({"vendor": text}), vendor, text)
        self.assertIsNone(stages.vendor_of({}))

    def test_the_stage_asks_both_for_intel_s_cards_and_the_report_shows_them(self):
        listing = self.folder / "bench.sh"
        listing.write_text("#!/bin/sh\necho 'gemm-gpu  square 64x64x64'\necho 'start  a plan'\n", encoding="utf-8")
        listing.chmod(0o755)
        env = {"PYTHONPATH": STAND_INS, "FAKE_TORCH": "xpu", "FAKE_SYCL": "Intel(R) Corporation",
               "TENON_TORCH_PYTHON": sys.executable, "TENON_DPNP_PYTHON": sys.executable}
        for vendor, names in (("Intel(R) Corporation", ["torch", "onemkl"]), ("GenuineIntel", ["torch"])):
            out = self.folder / vendor
            with unittest.mock.patch.dict(os.environ, env):
                run = jobs.Run(out, 60, dict(os.environ))
                run.quick, run.bench = False, str(listing)
                jobs.write_json(out / "facts.json", {"device": {"name": "a card", "vendor": vendor}})
                stages.torch(run)
            others = report.by_python(out)[("gemm-gpu", "square 64x64x64", "f32")]
            self.assertEqual([name for name, _, _ in others], names)
            text = report.peer_text({"peers": {}, "median_ns": 1.0}, others)
            self.assertRegex(text, r"^torch [0-9.e+]+ \(oneDNN\)" + (", onemkl [0-9.e+]+$" if len(names) > 1 else "$"))


class Whole(unittest.TestCase):
    """All that runs on any device, in the build that is there."""

    def test_report_and_files_are_there_and_a_second_run_skips(self):
        with tempfile.TemporaryDirectory() as folder:
            args = ["--build", BUILD, "--out", folder, "--device", "cpu", "--quick", "--budget", "400", "--stages",
                    "host,build,facts,ceilings,selftest,bench,sweep"]
            done = gpu(*args)
            text = Path(folder, "REPORT.md").read_text(encoding="utf-8")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr + text)
            for name in ("host", "facts", "ceilings", "solvers", "sweep", "report", "bench/gemm-f32"):
                with open(Path(folder, name + ".json"), encoding="utf-8") as file:
                    json.load(file)
            for heading in ("## Ceilings", "## What it can do", "## gemm", "## Parameters", "## Jobs"):
                self.assertIn(heading, text)
            found = json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))
            self.assertEqual(found["failures"], [])
            self.assertTrue(all(c["verified"] and c["value"] > 0 for c in found["ceilings"].values()), found["ceilings"])
            self.assertGreater(len(json.loads(Path(folder, "sweep.json").read_text(encoding="utf-8"))[0]["results"]), 1)
            start = time.monotonic()
            again = gpu(*args)
            self.assertEqual(again.returncode, 0, again.stdout)
            measured = [j for j in found["jobs"] if re.match("(facts|ceilings|selftest|bench)/", j)]
            kept = re.findall("^  (.*): done before$", again.stdout, re.M)
            self.assertEqual([j for j in kept if not j.startswith("host/")], measured, again.stdout)
            self.assertLess(time.monotonic() - start, 20)

    def test_a_device_that_is_not_there_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            done = gpu("--build", BUILD, "--out", folder, "--device", "no-such-device", "--quick", "--stages", "host,build,ceilings")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("no-such-device", Path(folder, "logs", "ceilings-all.log").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()

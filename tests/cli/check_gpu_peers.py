#!/usr/bin/env python3
"""Tests what ./run gpu asks of the vendors' own libraries, by libraries and modules that stand for them: cuBLAS, cuDNN,
rocBLAS, PyTorch, dpnp, and NVIDIA's driver without OpenCL.

    check_gpu_peers.py path/to/source path/to/build
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

BUILD = os.path.abspath(sys.argv.pop(2))
SOURCE = os.path.abspath(sys.argv.pop(1))
STAND_INS = os.path.join(SOURCE, "tests", "cli", "stand_ins")
FAKE = os.path.join(BUILD, "tests", "cli", "libfake_card.so")
sys.path.insert(0, os.path.join(SOURCE, "scripts", "gpu"))

import cuda_stage  # noqa: E402
import jobs  # noqa: E402
import ptx  # noqa: E402
import report  # noqa: E402
import stages  # noqa: E402


class Peers(unittest.TestCase):
    """The vendors' libraries, by one that stands for them on the host (fake_card.h)."""

    def peers_of(self, card, *args, **more):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("libcuda.so.1", "libcublas.so", "libcudnn.so", "libamdhip64.so", "librocblas.so"):
                os.symlink(FAKE, os.path.join(folder, name))
            path = os.path.join(folder, "r.json")
            done = subprocess.run([os.path.join(BUILD, "bench", "tenon-bench"), "run", "--time", "0.01", "--json", path, *args],
                                  capture_output=True, text=True, check=False,
                                  env={**os.environ, "LD_PRELOAD": FAKE, "LD_LIBRARY_PATH": folder, "FAKE_CARD": card, **more})
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


class Cuda(unittest.TestCase):
    """A host that has NVIDIA's driver and no OpenCL for it, by a library that stands for the driver."""

    def asked(self, **env):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        folder = Path(folder.name)
        os.symlink(FAKE, folder / "libcuda.so.1")
        programs = folder / "carried" / "ptx"
        programs.mkdir(parents=True)
        kernels = {"memory.sm_75": ("write", "copy", "read", "multiply_add"), "mma-f16.sm_80": ("matrix_peak",),
                   "mma-i8.sm_80": ("matrix_peak",), "wgmma-f16.sm_90a": ("wgmma_peak",), "mma-f16.sm_100": ("matrix_peak",)}
        for name, entries in kernels.items():
            text = f".version 8.0\n.target {name.split('.')[1]}\n" + "".join(f".visible .entry {e}(\n)\n" for e in entries)
            (programs / (name + ".ptx")).write_text(text, encoding="utf-8")
        run = jobs.Run(folder / "out", 60, {**os.environ, "TENON_GPU_BYTES": str(1 << 24), **env})
        run.carried, run.device, run.describe_host = folder / "carried", "gpu", []
        run.host = {"found": [], "registered": {}, "libcuda": str(folder / "libcuda.so.1")}
        cuda_stage.ask(run)
        status = report.write(run, ["cuda"])
        return jobs.read_json(run.out / "cuda.json"), (run.out / "REPORT.md").read_text(encoding="utf-8"), status

    def test_kernels_are_loaded_as_ptx_and_timed(self):
        found, text, status = self.asked()
        self.assertEqual((found["device"]["name"], found["device"]["major"], status), ("a card of none", 9, 0))
        self.assertEqual(sorted(found["files"]), ["memory.sm_75", "mma-f16.sm_80", "mma-i8.sm_80", "wgmma-f16.sm_90a"])
        limits = {c["name"]: c for one in found["files"].values() for c in one["ceilings"]}
        self.assertEqual(sorted(limits), ["copy by a kernel", "matrix unit f16", "matrix unit i8", "matrix unit wgmma f16",
                                          "multiply-add f32", "read", "write"])
        self.assertTrue(all(c["verified"] and c["value"] > 0 for c in limits.values()), limits)
        self.assertIn("OpenCL is not", text)
        self.assertIn("matrix unit wgmma f16", text)

    def test_what_is_refused_or_killed_is_said_and_the_rest_goes_on(self):
        found, text, _ = self.asked(FAKE_PTX_REFUSED=".target sm_90a", FAKE_KERNEL_KILLED="read")
        files = found["files"]
        self.assertEqual([files[n].get("loads") for n in sorted(files)], [True, True, True, False])
        self.assertEqual([c["name"] for c in files["memory.sm_75"]["ceilings"]], ["write", "copy by a kernel"])
        self.assertIn("702", files["memory.sm_75"]["fails"])
        self.assertIn("not on this card", text)
        self.assertTrue(files["mma-i8.sm_80"]["ceilings"][0]["verified"])

    def test_programs_are_made_where_there_is_a_compiler(self):
        with tempfile.TemporaryDirectory() as folder:
            why = ptx.make(Path(folder, "ptx"))
            if why is not None:
                self.skipTest(why)
            made = sorted(Path(folder, "ptx").glob("*.ptx"))
            self.assertEqual(len(made), len(ptx.PROGRAMS))
            self.assertIn((90, True), [ptx.target_of(path) for path in made])
            for path in made:
                text = path.read_text(encoding="utf-8")
                self.assertIn(".target " + path.suffixes[-2][1:], text)
                self.assertIn(".entry", text)


if __name__ == "__main__":
    unittest.main()

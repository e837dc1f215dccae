#!/usr/bin/env python3
"""Tests ./run gpu with a CPU device in place of a GPU.

    check_gpu.py SOURCE_ROOT BUILD_ROOT
"""
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
import unittest
from pathlib import Path

from in_folder import InFolder

BUILD, ROOT = sys.argv.pop(), sys.argv.pop()
LIMIT = 600  # seconds to wait for an expected event


class Gpu(InFolder):
    def command(self, *options):
        return [sys.executable, str(Path(ROOT, "scripts", "gpu.py")), "--device", "cpu", "--build", BUILD,
                "--out", str(self.place / "out"), "--archive", str(self.place / "all.tar.gz"), *options]

    def gpu(self, status, *options, **environment):
        done = subprocess.run(self.command(*options), capture_output=True, text=True, check=False, timeout=LIMIT,
                              env=dict(os.environ, **environment))
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def archived(self):
        with tarfile.open(self.place / "all.tar.gz") as archive:
            return {name: archive.extractfile(name).read().decode() for name in archive.getnames() if archive.getmember(name).isfile()}

    def test_the_archive_is_complete(self):
        self.gpu(0, "--filter", "copy", "--parts", "device,ceilings,selftest,tune,tests")
        files = self.archived()
        report = files["gpu/REPORT.md"]
        for heading in ("Capabilities", "Correctness", "Speed compared with other libraries", "Failures"):
            self.assertIn("## " + heading, report)
        self.assertRegex(report, r"Self-test: [1-9]\d* solvers correct, 0 wrong")
        self.assertIn("None.", report)
        self.assertEqual(json.loads(files["gpu/report.json"])["tests/all"]["status"], "skipped")
        self.assertIn("ceilings", json.loads(files["gpu/ceilings.json"]))

    def test_speed_compared_with_peers(self):
        self.gpu(0, "--filter", "64x64x64", "--parts", "bench")
        self.assertRegex(self.archived()["gpu/REPORT.md"], r"\| gemm \| [^|]*64x64x64[^|]* \| f32 \| [\d.]+ \|")

    def test_wrong_usage(self):
        self.assertIn("unknown part dog", self.gpu(2, "--parts", "dog"))
        self.assertIn("--minutes must be above 0", self.gpu(2, "--minutes", "0"))

    def test_a_missing_build(self):
        out = self.gpu(1, "--build", str(self.place))
        self.assertIn("has no tools/tenon and bench/tenon-bench", out)
        self.assertIn("- build/programs: failed", self.archived()["gpu/REPORT.md"])

    def test_no_device(self):
        (self.place / "none").mkdir()
        out = self.gpu(1, "--parts", "device", OCL_ICD_VENDORS=str(self.place / "none"))
        self.assertIn("device/capabilities: failed", out)

    # The benchmarks take a fixed time for each case, so they last long enough on any machine.

    def test_the_time_limit(self):
        out = self.gpu(3, "--parts", "device,bench", "--minutes", "0.05")
        self.assertIn("out of time", out)
        self.assertIn("out of time", self.archived()["gpu/REPORT.md"])

    def test_an_interrupted_run_keeps_its_results(self):
        with subprocess.Popen(self.command("--parts", "bench"), stdout=subprocess.PIPE, text=True) as process:
            until = time.monotonic() + LIMIT
            while not (self.place / "all.tar.gz").exists() and time.monotonic() < until:
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            out = process.communicate(timeout=LIMIT)[0]
        self.assertEqual(process.returncode, 3, out)
        self.assertIn("- run/all: out of time, interrupted", self.archived()["gpu/REPORT.md"])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests ./run gpu on a driver that loses its device in the middle of a stage, as after its watchdog has ended
a kernel, or that ends the process: the report says so, later stages run, and the archive is whole.

    check_gpu_losses.py path/to/source path/to/build
"""
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

BUILD = os.path.abspath(sys.argv.pop(2))
SOURCE = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, os.path.join(SOURCE, "scripts", "gpu"))

import archive  # noqa: E402
import jobs  # noqa: E402

LOST_DEVICE = os.path.join(BUILD, "tests", "cli", "liblost_device.so")
NOT_AVAILABLE, OUT_OF_RESOURCES, NVIDIA_FAULT, SEGV, KILL = -2, -5, -9999, 11, 9


def gpu(folder, losses, stages):
    """A quick run; `losses` are those of lost_device.c."""
    env = {**os.environ, "LD_PRELOAD": LOST_DEVICE, "LOST_DEVICE": ",".join(" ".join(map(str, loss)) for loss in losses)}
    return subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "gpu"), "--build", BUILD, "--out", folder + "/out",
                           "--device", "cpu", "--quick", "--budget", "300", "--stages", "host,build," + stages],
                          capture_output=True, text=True, check=False, env=env)


class Losses(unittest.TestCase):
    def lose(self, losses, stages):
        """A run's report as a value, its text, and what the jobs printed that are named in it."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name, "out")
        done = gpu(folder.name, losses, stages)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.whole(Path(folder.name, "out.tar.gz"), Path(folder.name, "again"))
        found = json.loads((self.out / "report.json").read_text(encoding="utf-8"))
        return found, (self.out / "REPORT.md").read_text(encoding="utf-8")

    def whole(self, path, again):
        """Nothing of the run is missing in the archive, and another run can go on from it."""
        with tarfile.open(path) as tar:
            names = tar.getnames()
        for name in ("report.json", "REPORT.md", "state.json", *(str(p.relative_to(self.out)) for p in self.out.glob("logs/*.log"))):
            self.assertIn(name, names)
        archive.resume(path, again)
        self.assertEqual(jobs.read_json(again / "report.json"), jobs.read_json(self.out / "report.json"))

    def told_of(self, found, job):
        """The lines on a job under what is not as it should be."""
        lines = [line for line in found["surprises"] if line.startswith(job + ":")]
        self.assertTrue(lines, (job, found["surprises"], self.log(job)))
        return "\n".join(lines)

    def log(self, job):
        return (self.out / "logs" / (job.replace("/", "-") + ".log")).read_text(encoding="utf-8")

    def test_errors_that_drivers_give_after_they_have_ended_a_kernel(self):
        found, text = self.lose([("ceilings", 3, NVIDIA_FAULT), ("selftest", 4, NOT_AVAILABLE), ("start", 2, OUT_OF_RESOURCES)],
                                "ceilings,selftest,ahead,bench")
        for job, error in (("ceilings/all", "-9999"), ("bench/start-f32", "CL_OUT_OF_RESOURCES")):
            line = self.told_of(found, job)
            self.assertIn("the driver ended a kernel", line)
            self.assertIn(error, line)
            self.assertIn(line.splitlines()[0], text)
        lost = [job for job in found["jobs"] if job.startswith("selftest/")]
        self.assertIn("CL_DEVICE_NOT_AVAILABLE", self.told_of(found, lost[0]))
        # What does not lose its device goes on.
        self.assertEqual([found["jobs"][job]["status"] for job in ("bench/gemm-f32", "bench/bandwidth-cpu-f32")], ["ok", "ok"])
        self.assertIn("bench/gemm-f32.json", [str(p.relative_to(self.out)) for p in self.out.glob("bench/*.json")])

    def test_a_process_that_the_driver_ends(self):
        found, text = self.lose([("ceilings", 5, SEGV), ("selftest", 3, KILL), ("groups", 3, KILL)],
                                "facts,ceilings,selftest,bench")
        self.assertIn("signal 11", self.told_of(found, "ceilings/all"))
        lost = [job for job in found["jobs"] if job.startswith("selftest/")]
        self.assertIn("signal 9", self.told_of(found, lost[0]))
        self.assertRegex(text, "the question groups ended its process: .*signal 9")
        answers = jobs.read_json(self.out / "questions.json")
        self.assertEqual([row["works"] for row in answers["groups"]], [True, True, False], "what came before is kept")
        self.assertTrue(answers["local-argument"][0]["works"])
        self.assertIn("edited-ptx", answers, "the questions behind it are asked")
        self.assertEqual(found["jobs"]["facts/device"]["status"], "ok")
        self.assertEqual(found["jobs"]["bench/gemm-f32"]["status"], "ok")


if __name__ == "__main__":
    unittest.main()

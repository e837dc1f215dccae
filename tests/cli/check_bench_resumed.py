#!/usr/bin/env python3
"""Tests runs of tenon-bench that were interrupted: what they keep, and how they resume. The arguments are those of
bench_program.py."""
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from bench_program import BENCH, QUICK, Bench, bench, read_results

CASE = ["--suite", "gemm", "--filter", "64x64x64"]


class Interrupted(Bench):
    """What the tests of interrupted runs share. Classes that inherit it have the command as ARGS."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "r.json")
        self.args = [BENCH, *self.ARGS, "--json", self.path]

    def resumed(self, least, key):
        """Runs the command again. Returns the file before and after; it must have had `least` results, and have more afterwards."""
        before = read_results(self.path)
        self.assertFalse(before["complete"])
        self.assertGreaterEqual(len(before["results"]), least)
        done = subprocess.run(self.args, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"resuming {self.path}, which has {len(before['results'])} results", done.stdout)
        after = read_results(self.path)
        self.assertTrue(after["complete"])
        self.assertGreater(len(after["results"]), len(before["results"]))
        keys = [tuple(r[name] for name in key) for r in after["results"]]
        self.assertEqual(len(keys), len(set(keys)))
        return before, after

    def foreign_file_is_kept(self, args, text, why):
        """Checks that a file which is none of tenon-bench is refused and kept."""
        Path(self.path).write_text(text, encoding="utf-8")
        done = subprocess.run(args, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, Path(self.path).read_text(encoding="utf-8")), (2, text))
        self.assertIn(why, done.stderr)
        self.assertIn(self.path, done.stderr)


class Resuming(Interrupted):
    ARGS = ["run", "--suite", "activation", "--peers", "none", "--time", "0.03", "--repeats", "0"]

    def interrupt(self, number):
        """Sends a signal after the first few results."""
        with subprocess.Popen(self.args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            rows = 0
            for line in process.stdout:
                rows += re.search(r" f32 +[\d.]+ +[\d.]+-", line) is not None
                if rows == 3:
                    break
            process.send_signal(number)
            process.stdout.read()
        return process.returncode

    def resume(self):
        before, after = self.resumed(2, ("case",))
        for earlier, result in zip(before["results"], after["results"]):
            self.assertEqual(set(earlier), set(result))
            for member, value in earlier.items():
                if isinstance(value, float):
                    self.assertAlmostEqual(result[member], value, delta=1e-6 * abs(value), msg=member)
                elif member != "roofline":
                    self.assertEqual(result[member], value, member)

    def test_an_interrupted_run_resumes(self):
        self.assertEqual(self.interrupt(signal.SIGINT), 130)
        self.resume()

    def test_a_killed_run_resumes(self):
        self.assertEqual(self.interrupt(signal.SIGKILL), -signal.SIGKILL)
        self.resume()

    def test_a_case_that_is_interrupted_is_not_a_failure(self):
        args = [*self.args[:-1], self.path, "--filter", "relu 16384", "--time", "3000"]
        with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if line.startswith("case "):
                    break
            time.sleep(0.2)
            process.send_signal(signal.SIGTERM)
            rest, said = process.communicate()
        self.assertEqual((process.returncode, said), (130, ""))
        self.assertNotIn("failed", rest)
        found = read_results(self.path)
        self.assertEqual((found["complete"], found["results"], found["failures"]), (False, [], []))

    def test_the_expected_time_is_printed(self):
        def seconds(text):
            count, time, unit = re.search(r"(?m)^(\d+) cases, about (\d+) (seconds|minutes)$", text).groups()
            return int(count), int(time) * {"seconds": 1, "minutes": 60}[unit]
        first = seconds(bench(*self.ARGS, "--filter", "relu", "--json", self.path).stdout)
        self.assertLess(first[1], 90)
        again = seconds(bench(*self.ARGS, "--filter", "relu", "--solver", "activation/dense activation/strided").stdout)
        self.assertEqual(again[0], first[0])
        self.assertGreater(again[1], first[1])
        found = read_results(self.path)
        found["complete"] = False
        Path(self.path).write_text(json.dumps(found), encoding="utf-8")
        self.assertIn(" cases, about 0 seconds\n", bench(*found["command"][1:]).stdout)

    def test_another_command_does_not_resume(self):
        self.interrupt(signal.SIGINT)
        done = bench(*self.ARGS, "--filter", "relu", "--json", self.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("resuming", done.stdout)

    def test_foreign_and_truncated_files_are_kept(self):
        for text, why in (('{"results": [', "not a complete JSON document"), ("# notes\n", "not a complete JSON document"),
                          ('{"a": 1}', "not one of tenon-bench"), ("[]", "not one of tenon-bench")):
            self.foreign_file_is_kept([BENCH, *QUICK, *CASE, "--json", self.path], text, why)

    def test_a_full_disk_loses_no_results(self):
        def limit():  # writing beyond a kibibyte fails, as on a full disk
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
        store = os.path.join(os.path.dirname(self.path), "store")
        environment = {**os.environ, "TENON_CACHE": "1", "TENON_CACHE_DIR": store}
        # Stores the kernels, so that a driver writes no large files later.
        subprocess.run([BENCH, *QUICK, *CASE], env=environment, stdout=subprocess.DEVNULL, check=True)
        done = subprocess.run([BENCH, *QUICK, *CASE, "--json", self.path], capture_output=True, text=True, check=False,
                              env=environment, preexec_fn=limit)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"{self.path}: could not be written", done.stderr)
        text = done.stdout[done.stdout.index("could not be written:\n") + len("could not be written:\n"):]
        found, _ = json.JSONDecoder().raw_decode(text)
        self.assertEqual(len(found["results"]), 1)
        self.assertFalse(os.path.exists(self.path + ".new"))


class ResumingRegret(Interrupted):
    """tenon-bench regret on a few small cases."""
    ARGS = ["regret", "--suite", "bandwidth-cpu", "--filter", "x 64 Ki", "--dtype", "f32,f64"]

    def interrupt(self, number):
        """Sends a signal after the first result. Returns the exit status."""
        with subprocess.Popen(self.args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            for line in process.stdout:
                if line.startswith("    chosen "):
                    break
            # The result is printed before it is written.
            while not (os.path.exists(self.path) and Path(self.path).stat().st_size > 0):
                time.sleep(0.01)
            process.send_signal(number)
            process.stdout.read()
        return process.returncode

    def resume(self):
        before, after = self.resumed(1, ("case", "dtype"))
        self.assertEqual(after["summary"]["cases"], len(after["results"]))
        for earlier, result in zip(before["results"], after["results"]):
            for member in ("suite", "case", "dtype", "chosen", "best", "measured"):
                self.assertEqual(result[member], earlier[member])
            for member in ("chosen_ns", "best_ns", "ratio"):
                self.assertAlmostEqual(result[member], earlier[member], delta=1e-6 * earlier[member])

    def test_an_interrupted_run_resumes(self):
        self.assertEqual(self.interrupt(signal.SIGINT), 130)
        self.resume()

    def test_a_killed_run_resumes(self):
        self.assertEqual(self.interrupt(signal.SIGKILL), -signal.SIGKILL)
        self.resume()

    def test_a_failed_case_is_measured_again(self):
        self.assertEqual(self.interrupt(signal.SIGINT), 130)
        found = read_results(self.path)
        kept = found["results"][0]
        found["failures"] = [{"device": 0, "suite": kept["suite"], "case": kept["case"], "dtype": kept["dtype"], "why": "a test"}]
        kept["measured"] = [{"solver": "no/solver", "median_ns": 1.0, "rounds": 1}]
        Path(self.path).write_text(json.dumps(found), encoding="utf-8")
        done = subprocess.run(self.args, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        after = read_results(self.path)
        self.assertEqual((after["complete"], after["failures"]), (True, []))
        self.assertNotEqual(after["results"][0]["measured"], kept["measured"])

    def test_foreign_files_are_kept(self):
        self.foreign_file_is_kept(self.args, "# notes\n", "not a complete JSON document")


if __name__ == "__main__":
    unittest.main()

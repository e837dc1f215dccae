#!/usr/bin/env python3
"""Tests that a failed test does not affect other tests.

    check_failures.py path/to/failing path/to/scripts

`failing` is a test program. Four of its tests fail on purpose and leave a context, a temporary folder and a
changed process behind.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, SCRIPTS = sys.argv[1:3]
del sys.argv[1:3]
sys.path.insert(0, SCRIPTS)

import count_tests  # noqa: E402

FAILED = ["leaves_a_context", "leaves_the_process_changed", "crashes", "fails_at_the_end"]
PASSED = ["passes", "has_state", "counts_one", "counts_two"]


class Failures(unittest.TestCase):
    def test_a_failure_does_not_affect_other_tests(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([PROGRAM], capture_output=True, text=True, check=False,
                                  env={**os.environ, "TMPDIR": folder})
            self.assertEqual(list(Path(folder).iterdir()), [], "temporary folders are left")
        if done.returncode == 77:
            self.skipTest("no device")
        self.assertEqual(re.findall(r"^\[       OK \] (\w+)", done.stdout, re.M), PASSED, done.stdout + done.stderr)
        self.assertEqual(done.returncode, len(FAILED))
        self.assertEqual(len(re.findall("^left /", done.stdout, re.M)), 2)
        entry = {"result": "FAIL", "stdout": done.stdout}
        self.assertEqual(count_tests.count(entry), (len(PASSED), len(FAILED), 1))
        for name in FAILED:
            self.assertIn(f"[  FAILED  ] {name}", done.stdout + done.stderr)


class Counting(unittest.TestCase):
    """How scripts/count_tests.py counts tests in the output."""

    def count(self, *lines):
        return count_tests.count({"result": "FAIL", "stdout": "".join(f"{line} a\n" for line in lines)})

    def test_restarts_are_not_counted(self):
        run, good, restart = "[ RUN      ]", "[       OK ]", "[ RESTART  ]"
        self.assertEqual(self.count(run, good, run, run, restart, run, good), (2, 1, 0))
        self.assertEqual(self.count(run, good, run), (1, 1, 0))
        self.assertEqual(self.count(run, good, run, run, restart), (1, 1, 0))
        self.assertEqual(self.count(run, good), (1, 1, 0))


if __name__ == "__main__":
    unittest.main()

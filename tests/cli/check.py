#!/usr/bin/env python3
"""Tests the `tenon` command from outside: what it prints where, and its exit status.

    check.py path/to/tenon
"""
import os
import subprocess
import sys
import unittest

TENON = sys.argv.pop(1) if len(sys.argv) > 1 else "build/tools/tenon"


def tenon(*args, **environment):
    return subprocess.run([TENON, *args], capture_output=True, text=True, check=False,
                          env=dict(os.environ, **environment))


class Usage(unittest.TestCase):
    def test_help_goes_to_standard_output(self):
        for args in (["help"], ["--help"]):
            done = tenon(*args)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("usage", done.stdout.lower())
            self.assertIn("devices", done.stdout)

    def test_version(self):
        done = tenon("--version")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^tenon \d+\.\d+\.\d+")

    def test_wrong_usage_is_2_and_goes_to_standard_error(self):
        for args in ([], ["no-such-command"], ["devices", "--no-such-option"]):
            done = tenon(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertEqual(done.stdout, "", args)
            self.assertIn("usage", done.stderr.lower(), args)


class Devices(unittest.TestCase):
    def test_lists_a_device(self):
        done = tenon("devices")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\b0:0\b")

    def test_verbose_says_more(self):
        short, long = tenon("devices"), tenon("devices", "-v")
        self.assertEqual(long.returncode, 0, long.stderr)
        self.assertGreater(len(long.stdout), len(short.stdout))

    def test_no_drivers_is_said_not_crashed_on(self):
        done = tenon("devices", OCL_ICD_VENDORS="/nonexistent", OPENCL_VENDOR_PATH="/nonexistent")
        self.assertIn(done.returncode, (0, 1))
        self.assertNotEqual(done.stdout + done.stderr, "")


if __name__ == "__main__":
    unittest.main()

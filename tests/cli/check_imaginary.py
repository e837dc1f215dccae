#!/usr/bin/env python3
"""Tests the preloaded driver that reports given device properties (tests/common/imaginary_device.c).

    check_imaginary.py path/to/tenon path/to/libimaginary_device.so
"""
import os
import subprocess
import sys
import unittest

TENON, DRIVER = sys.argv[1:3]
del sys.argv[1:3]


def devices(numbers):
    done = subprocess.run([TENON, "devices"], capture_output=True, text=True, check=False,
                          env={**os.environ, "LD_PRELOAD": DRIVER, "IMAGINARY_DEVICE": numbers})
    return done.stdout


class ImaginaryDevice(unittest.TestCase):
    def setUp(self):
        if "CPU" not in devices(""):
            self.skipTest("no device")

    def test_given_properties_are_reported(self):
        for units, memory in ((1, 64), (48, 512), (256, 768)):
            said = devices(f"units={units} memory={memory << 20} cache=0")
            self.assertRegex(said, rf"CPU +{units} +{memory} MiB")

    def test_other_properties_are_unchanged(self):
        self.assertEqual(devices("").splitlines(), devices("nothing=1").splitlines())


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests the demo: its first lines, its progress, and its final message.

    check_demo.py path/to/digits
"""
import os
import pty
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DIGITS = sys.argv.pop(1) if len(sys.argv) > 1 else "build/examples/digits"


def on_terminal(*args):
    """Runs the demo on a terminal. Returns its exit status and output."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(DIGITS, [DIGITS, *args])
    output = b""
    try:
        while piece := os.read(terminal, 4096):
            output += piece
    except OSError:  # the terminal is closed
        pass
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), output.decode()


def random_digits(path, count):
    """Writes random digits, from which nothing can be learned."""
    draw = random.Random(1)
    lines = [",".join(str(draw.randint(0, 16)) for _ in range(64)) + f",{draw.randint(0, 9)}"
             for _ in range(count)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


class Demo(unittest.TestCase):
    def test_output_of_a_run(self):
        done = subprocess.run([DIGITS, "--type", "f32", "--seeds", "1"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        lines = [line for line in done.stdout.splitlines() if re.match("[a-z]", line)]
        self.assertRegex(lines[0], "^device ")
        self.assertRegex(lines[1], r"^learning .* 1 type x 1 seed x \d+ steps$")
        self.assertRegex(lines[2], r"^f32   untrained \d+\.\d\d % of the held-out digits recognized$")
        self.assertLess(float(lines[2].split()[2]), 50)  # 10 % by chance
        self.assertRegex(lines[3], r"^f32   kernels   compiled in [0-9.]+ s$")
        shown = [re.match(r"training +(\d+) %  about (\d+) s left$", line) for line in lines[4:9]]
        self.assertEqual([int(s[1]) for s in shown], [20, 40, 60, 80, 100], lines)
        trained = float(re.search(r"^f32   worst .*, ([0-9.]+) s,", done.stdout, re.M)[1])
        self.assertLess(int(shown[0][2]), 5 * trained + 5)  # excludes compilation
        self.assertRegex(lines[-1], r"^done +in [0-9.]+ s\. Next: \./run test, .*tenon selftest")
        self.assertIn("docs/", done.stdout.splitlines()[-1])

    def test_progress_on_a_terminal_and_advice_after_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder, "digits.csv")
            random_digits(data, 200)
            status, output = on_terminal("--type", "f32", "--seeds", "2", "--data", str(data))
        self.assertEqual(status, 1, output)
        self.assertIn("1 type x 2 seeds x 30 steps", output)
        ready = [(int(done), int(of))
                 for done, of in re.findall(r"kernels   (\d+) of (\d+) calls ready", output)]
        self.assertEqual(ready, [(i + 1, len(ready)) for i in range(len(ready))], output)
        self.assertGreater(len(ready), 30)
        for line in output.split("\n"):
            last = line.rstrip("\r").split("\r")[-1]  # the text that remains visible
            self.assertNotIn("training  [", last)
        self.assertIn("[########################################] 100 %", output)
        self.assertRegex(output, r"wrong +too few were recognized; run build/tools/tenon selftest")

    def test_too_few_digits_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder, "digits.csv")
            random_digits(data, 191)
            done = subprocess.run([DIGITS, "--data", str(data)], capture_output=True, text=True,
                                  check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("191 digits are not enough", done.stderr)


if __name__ == "__main__":
    unittest.main()

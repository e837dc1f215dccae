#!/usr/bin/env python3
"""Tests the examples by their output. Each example also compares its results with the host's.

    check_examples.py NAME=PROGRAM …
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PHOTO = EXAMPLES / "data" / "cat.png"
DRAWING = ROOT / "docs" / "images" / "cat-drawing.png"
MOST_LINES = 249  # except for the demo, which is a complete application
ALWAYS_BUILT = {"product", "int8", "devices", "group_by", "join", "options", "alexnet", "dbn", "resume",
                "data_parallel", "sharded_optimizer", "sharded_parameters", "tensor_parallel", "pipeline_parallel",
                "expert_parallel", "three_kinds", "unequal_devices", "alexnet_halves"}
SAME = r" \d: 0 parameters differ from one device; error .*\n"
SMALL = {"alexnet": ["2", "3"], "dbn": ["150", "64"], "alexnet_halves": ["2", "3", "16"]}  # arguments for less work
OUTPUT = {
    "product": r"\A4 5\n10 11\n\Z",
    "int8": r"\A8 bits differ from float by [01]\.\d\d %",
    "group_by": r"\A(shop \d+: \d+ sales, \d+ cents, at most \d+\n){3}30 shops, 50000 sales, 0 wrong rows\n\Z",
    "join": r"\A(region \d: \d+ cents\n){3}18\d\d\d of 20000 orders have a customer, 0 wrong sums\n\Z",
    "devices": r"\A(rows \d+ to \d+ on \d+:\d+, .+\n){2,}1000 rows, 0 wrong elements\n\Z",
    # These fail themselves if a price is wrong, or an error does not fall.
    "options": r"\AEuropean .*\nAsian geometric .*closed form .*\nAsian arithmetic  +\d+\.\d+, standard error .*\n\Z",
    "alexnet": r"\A(step \d  loss \d+\.\d+  \d+\.\d\d s\n){3}\Z",
    "dbn": r"\A(layer \d  step \d+  error 0\.\d+  \d+\.\d+ s\n){6}\Z",
    # These fail themselves if bits differ, an error does not fall, or a member needs too much memory.
    "data_parallel": rf"\A(member{SAME}){{2}}\Z",
    "sharded_optimizer": rf"\Amoments: one device \d+, a member \d+\n(member{SAME}){{4}}\Z",
    "sharded_parameters": rf"\Aone device: .* MiB; a member: .* MiB, of at most .*\n(member{SAME}){{4}}\Z",
    "tensor_parallel": r"\A2 members: 0 gradients of whole numbers differ from one device\nerror .*\n\Z",
    "pipeline_parallel": rf"\A(stage{SAME}){{3}}\Z",
    "expert_parallel": r"\A(member \d: 0 weights differ from one device\n){3}error .*\n\Z",
    "three_kinds": r"\A(copy [01], stage [01], part [01]: 0 parameters differ from one device\n){8}error .*\n\Z",
    "unequal_devices": rf"\Astep 1, rows: 128 128\n(step .*\n)+step 100, rows: .*, kept\n(member{SAME}){{1,2}}\Z",
    "alexnet_halves": r"\A(step \d  loss \d+\.\d+\n){3}0 of 240678 parameters differ from one device\n\Z",
    "shared": r"\A( 20.0 % ?){5}\n  1.2 %   3.2 %   8.6 %  23.4 %  63.6 %\n.*\n\Z",
    "pipeline": r"\A8 batches of 64 rows, 0 wrong elements\n\Z",
    "edges": r"\A([.#]{44}\n){20}\n([.#]{44}\n){20}\n\Z",
    "clblast_port": r"\A20 20 34\n80 52 80\n\Z"}
PROGRAMS = {}


def run(name, *args, **environment):
    return subprocess.run([PROGRAMS[name], *map(str, args)], capture_output=True, text=True,
                          check=False, env={**os.environ, **environment})


class Examples(unittest.TestCase):
    def needs(self, *names):
        for name in names:
            if name not in PROGRAMS:
                self.skipTest(f"{name} was not built")

    def test_output(self):
        for name, pattern in OUTPUT.items():
            with self.subTest(name):
                if name not in ALWAYS_BUILT:
                    self.needs(name)
                done = run(name, *SMALL.get(name, []))
                self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
                self.assertRegex(done.stdout, pattern)

    def test_port_prints_the_same_as_clblast(self):
        self.needs("clblast_port", "clblast_before")
        before, after = run("clblast_before"), run("clblast_port")
        self.assertEqual((before.returncode, before.stderr), (0, ""))
        self.assertEqual(before.stdout, after.stdout)

    def resume(self, path, *args):
        done = run("resume", path, *args)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def end(self, path, number):
        """Starts the example, sends a signal when it has saved its first checkpoint, and returns its output."""
        with subprocess.Popen([PROGRAMS["resume"], path, "100000"], stdout=subprocess.PIPE, text=True) as process:
            first = process.stdout.readline()
            while not first.endswith("0\n") or "saved" not in first:
                line = process.stdout.readline()
                self.assertNotEqual(line, "", first)
                first += line
            process.send_signal(number)
            rest = process.stdout.read()
        self.assertEqual(process.returncode, 0 if number == signal.SIGTERM else -number)
        return first + rest

    def test_training_resumes_with_the_same_bits(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "f")
            step = lambda: int(re.search(rb'"step":"(\d+)"', path.read_bytes())[1])
            # Ended by SIGTERM: saves the step it has reached.
            self.assertRegex(self.end(path, signal.SIGTERM), r"(?s)\Asaved step 100\n.*saved step (\d+)\nstep \1  ")
            reached = step()
            self.assertLess(reached, 100000)
            # Killed: the last checkpoint is whole.
            self.assertRegex(self.end(path, signal.SIGKILL), rf"\Aresumed step {reached}\n")
            steps = step() + 50
            last = self.resume(path, steps).splitlines()[-1]
            self.assertRegex(last, rf"\Astep {steps}  loss \d+\.\d+  bits [0-9a-f]{{16}}\Z")
            self.assertEqual(os.listdir(folder), ["f"])
            self.assertEqual(self.resume(Path(folder, "g"), steps).splitlines()[-1], last)

    def test_resuming_refuses_other_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "f")
            self.resume(path, 1)
            whole = path.read_bytes()
            for damaged, message in ((whole[:-1], "it is truncated"), (whole.replace(b'"b1"', b'"c1"'), '"b1"'),
                                     (whole.replace(b'"step"', b'"stop"'), '"step"')):
                path.write_bytes(damaged)
                done = run("resume", path)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(message, done.stderr)
                self.assertEqual(path.read_bytes(), damaged)

    def test_photo(self):
        self.needs("photo", "photo_reference")
        with tempfile.TemporaryDirectory() as folder:
            drawing = Path(folder, "drawing.png")
            done = run("photo", PHOTO, drawing)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            self.assertEqual(done.stdout, f"{drawing}: 360 × 240 pixels\n")
            done = run("photo_reference", PHOTO, drawing)
            self.assertEqual(done.returncode, 0, done.stderr)
        # The picture in the documentation is what the example draws, and the comparison detects a
        # wrong picture.
        done = run("photo_reference", PHOTO, DRAWING)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(run("photo_reference", PHOTO, PHOTO).returncode, 1)

    def test_photo_refuses_invalid_files(self):
        self.needs("photo")
        for words in [(__file__, "out.png"), ("absent.png", "out.png"), (PHOTO, "/absent/out.png")]:
            done = run("photo", *words)
            self.assertEqual(done.returncode, 1, words)
            self.assertRegex(done.stderr, "^photo: .*: .", words)

    def test_wrong_arguments_are_refused(self):
        wrong = (["0"], ["3", "0"], ["2", "2", "2"])
        for name, lists in (("alexnet", wrong), ("dbn", wrong), ("resume", ([], ["f", "0"], ["f", "1", "1"])),
                            ("alexnet_halves", (["0"], ["2", "1"], ["2", "3", "17"]))):
            for words in lists:
                done = run(name, *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""), [name, *words])
                self.assertIn(f"usage: {name}", done.stderr)

    def test_a_missing_device_is_reported(self):
        for name in {"product", "int8", "pipeline", "edges", "options", "alexnet"} & set(PROGRAMS):
            done = run(name, TENON_DEVICE="no such device")
            self.assertEqual(done.returncode, 1, name)
            self.assertIn("no such device", done.stderr, name)

    def test_examples_are_short(self):
        sources = [s for s in EXAMPLES.iterdir()
                   if s.suffix in (".c", ".cpp", ".py", ".h") and not s.stem.startswith("digits")]
        self.assertGreater(len(sources), 9)
        for source in sources:
            lines = len(source.read_text(encoding="utf-8").splitlines())
            self.assertLessEqual(lines, MOST_LINES, source.name)


if __name__ == "__main__":
    PROGRAMS.update(word.split("=", 1) for word in sys.argv[1:])
    unittest.main(argv=sys.argv[:1])

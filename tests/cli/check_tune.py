#!/usr/bin/env python3
"""Tests `tenon tune`: stored results, continuing after an interruption, export and import.

    check_tune.py path/to/tenon [no-json]

no-json is given if tenon was built without a JSON library.
"""
import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from in_folder import WithStore

TENON = sys.argv.pop(1) if len(sys.argv) > 1 else "build/tools/tenon"
HAS_JSON = sys.argv[1:2] != ["no-json"]
if not HAS_JSON:
    del sys.argv[1]
SEED = int(os.environ.get("TENON_TEST_SEED") or time.time())
PRELU = ("prelu", "x=f32:64x64", "slope=f32:64", "y=f32:64x64")
BYTES = ("gemm_int8", "a=u8:4x50", "b=i8:50x6", "d=f32:4x6", "scale_of_a=f32:4")
PRODUCT = ("gemm", "a=f32:40x50", "b=f32:50x60", "d=f32:40x60")
PACKED = ("gemm_packed", "a=f32:4x50", "d=f32:4x60", "k=50", "n=60")
COPY = ("copy", "x=f32:64x64", "y=f32:64x64")
FIELDS = {"call", "solver", "nanoseconds", "candidates", "searched", "key"}


def lines_of(*calls):
    return "".join(f"tenon check {' '.join(call)} --seed 1\n" for call in calls)


class Tune(WithStore):
    def tenon(self, *args, **environment):
        return subprocess.run([TENON, *args], capture_output=True, text=True, check=False,
                              env=dict(self.environment, **environment))

    def tune(self, *args, status=0, **environment):
        """Runs tenon tune without parallel builds, which are useless for candidates that are built already."""
        others = {"--jobs", "--build", "--export", "--import", "--merge"}
        jobs = () if others & set(args) else ("--jobs", "1")
        done = self.tenon("tune", *jobs, *args, **environment)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def write(self, name, text):
        path = self.place / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    def export(self):
        path = self.place / "exported.json"
        self.tune("--export", str(path))
        self.assertEqual([p.name for p in self.place.glob("exported.json*")], [path.name])
        return json.loads(path.read_text())


def tuned_before(text):
    return text.count("tuned before")


class Calls(Tune):
    def test_results_are_used_and_not_measured_again(self):
        self.assertIn("lowest estimate", self.tenon("explain", *PRELU).stdout)
        first = self.tune(*PRELU)
        self.assertRegex(first, r"(?m)^ +\d+ +\d+\.\d +\d+\.\d +\d+\.\d\d  prelu x=f32:64x64 ")
        self.assertRegex(first, r"(?m)^    fastest +prelu/\w+")
        explained = self.tenon("explain", *PRELU).stdout
        self.assertRegex(explained, r"chosen: prelu/\S+: measured as the fastest\n")
        self.assertEqual(explained.count("\n* "), 1, explained)
        self.assertIn("lowest estimate", self.tenon("explain", *PRELU, TENON_TUNE="0").stdout)
        self.assertEqual(tuned_before(self.tune(*PRELU)), 1)
        self.assertEqual(tuned_before(self.tune(*PRELU, "--force")), 0)

    def test_duplicate_calls_are_tuned_once(self):
        copy_of_other_seed = lines_of(COPY).replace("--seed 1", "--seed 9")
        path = self.write("calls", "# a remark\n\n" + lines_of(PRELU, COPY, PRELU) +
                          copy_of_other_seed)
        out = self.tune("--calls", path)
        self.assertEqual(out.count("    fastest"), 2, out)
        self.assertEqual(tuned_before(self.tune("--calls", path)), 2)

    def test_recorded_calls_are_tuned(self):
        path = str(self.place / "calls")
        for call in (PRELU, PRELU, BYTES, PACKED):
            self.assertEqual(self.tenon("check", *call, TENON_RECORD=path).returncode, 0)
        self.assertGreater(Path(path).read_text().count("\n"), 0)
        self.assertIn("    fastest", self.tune("--calls", path, TENON_RECORD=path))
        for call in (PRELU, BYTES, PACKED):
            self.assertIn("measured as the fastest", self.tenon("explain", *call).stdout)

    def test_progress_on_a_terminal(self):
        path = self.write("calls", lines_of(PRELU, COPY))
        ours, theirs = pty.openpty()
        with subprocess.Popen([TENON, "tune", "--calls", path, "--jobs", "1"],
                              stdout=subprocess.DEVNULL,
                              stderr=theirs, env=self.environment) as process:
            os.close(theirs)
            shown = b""
            try:
                while part := os.read(ours, 4096):
                    shown += part
            except OSError:  # the other end is closed
                pass
        os.close(ours)
        self.assertEqual(process.returncode, 0, shown)
        self.assertRegex(shown, rb"\r\x1b\[K\[\.{20}\] 0/2  \d+ candidates of prelu x=f32")
        self.assertRegex(shown, rb"\[#{10}\.{10}\] 1/2, \d+:\d\d left  \d+ candidates of copy ")
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown)

    def test_wrong_files_of_calls(self):
        for text, why in (("copy x=f3\n", ":1: not a call"), ("# a\n\ndog\n", ":3: not a call"),
                          (b"copy\0 x=f32:3\n", ":1: contains a null byte")):
            path = self.write("calls", text)
            self.assertIn(path + why, self.tune("--calls", path, status=2))
        self.assertIn("cannot read", self.tune("--calls", str(self.place / "none"), status=2))
        self.assertIn("cannot read", self.tune("--calls", str(self.place), status=2))

    def test_wrong_usage(self):
        for args, why in (((), "specify exactly one of"), ((*COPY, "--suite", "gemm"), "specify exactly one of"),
                          ((*COPY, "--time", "soon"), '--time: "soon" is not a number'), ((*COPY, "--time", "0"), '--time: "0" is not'),
                          (("--suite", "dog"), 'unknown suite "dog", allowed: '),
                          ((*COPY, "--dtype", "f31"), 'unknown type "f31"'), (("--calls",), "is missing"),
                          ((*COPY, "--jobs", "0"), '--jobs: "0" is not an integer from 1 to'),
                          ((*COPY, "--jobs", "many"), '--jobs: "many" is not an integer from 1 to'),
                          (("--build", "copy/rows", "--suite", "gemm"), "the call of --build is missing")):
            self.assertIn(why, self.tune(*args, status=2))

    def test_candidates_are_built_in_advance(self):
        self.tune("--build", "prelu/rows:nt1 prelu/rows:nt2", *PRELU)
        kept = sorted(path.suffix for path in self.store.iterdir())
        self.assertIn(".check", kept)
        self.assertNotIn(".tuning", kept)
        self.assertNotIn(".running", kept)
        self.assertIn("prelu/none", self.tune("--build", "prelu/none prelu/rows", *PRELU, status=1))

    def test_the_number_of_build_processes(self):
        for jobs in ("1", "3"):
            done = self.tune("--force", "--jobs", jobs, *PRODUCT)
            self.assertGreaterEqual(int(re.search(r"(?m)^ +(\d+) .* gemm a=", done)[1]), 2)
            ahead = re.search(r"(?m)^    (\d+) processes built", done)
            self.assertEqual(ahead is not None and int(ahead[1]) >= 2, jobs == "3", done)
            self.assertEqual(list(self.store.glob("*.running")), [])

    def test_without_a_store_nothing_is_tuned(self):
        self.assertIn("results cannot be stored", self.tune(*COPY, status=1, TENON_CACHE="0"))

    def test_unmeasurable_calls_are_reported(self):
        out = self.tune("cross_entropy", "logits=f32:4x5", "labels=i32:4", "loss=f32:4")
        self.assertIn("its time depends on its values", out)


class Interrupted(Tune):
    CALLS = lines_of(PRELU, ("gemm", "a=f32:96x96", "b=f32:96x96", "d=f32:96x96"), COPY)

    def wait_for_an_outcome(self):
        """Waits for a result that stays; the command first stores and removes one as a test."""
        seen = set()
        for _ in range(3000):
            before, seen = seen, set(self.store.glob("*.tuning"))
            if seen & before:
                return
            time.sleep(0.1)
        self.fail("nothing was tuned")

    def test_an_interrupted_run_keeps_its_results(self):
        """The product has dozens of candidates to compile, so the interruption comes before its end."""
        path = self.write("calls", self.CALLS)
        with subprocess.Popen([TENON, "tune", "--calls", path, "--jobs", "1"],
                              stdout=subprocess.PIPE, text=True,
                              env=self.environment) as process:
            self.wait_for_an_outcome()
            process.send_signal(signal.SIGINT)
            out = process.communicate()[0]
        self.assertEqual(process.returncode, 1, out)
        self.assertIn("interrupted: 2 of 3 calls are left", out)
        out = self.tune("--calls", path, "--time", "0.001")
        self.assertEqual(tuned_before(out), 1)
        self.assertIn("time limit reached: 2 of 3 calls are left", out)
        path = self.write("calls", lines_of(PRELU, COPY))
        self.assertEqual(tuned_before(self.tune("--calls", path)), 1)


@unittest.skipIf(HAS_JSON, "built with a JSON library")
class WithoutJson(Tune):
    def test_files_are_refused(self):
        for option in ("--export", "--import", "--merge"):
            self.assertIn("x.json: Tenon was built without Jansson",
                          self.tune(option, "x.json", status=1))


@unittest.skipUnless(HAS_JSON, "built without a JSON library")
class Files(Tune):
    tuned = None  # a store with the results of two calls

    @classmethod
    def tearDownClass(cls):
        if cls.tuned is not None:
            cls.tuned.cleanup()

    def setUp(self):
        super().setUp()
        if Files.tuned is None:
            self.tune("--calls", self.write("calls", lines_of(PRELU, COPY)))
            Files.tuned = tempfile.TemporaryDirectory()
            shutil.copytree(self.store, Path(self.tuned.name) / "store")
        else:
            shutil.copytree(Path(self.tuned.name) / "store", self.store)
        self.document = self.export()

    def take(self, option, document, **options):
        return self.tune(option, self.write("taken.json", document if isinstance(document, bytes)
                                            else json.dumps(document)), **options)

    def solver(self):
        """Returns the stored solver of the copy, the first outcome."""
        return self.export()["outcomes"][0]["solver"]

    def test_contents_of_the_file(self):
        self.assertEqual(self.document["format"], "tenon tuning")
        self.assertEqual(set(self.document["machine"]),
                         {"library", "platform", "driver", "device", "processor"})
        self.assertEqual(["tenon check copy" in o["call"] for o in self.document["outcomes"]],
                         [True, False])
        for outcome in self.document["outcomes"]:
            self.assertEqual(set(outcome), FIELDS)
        device = self.document["device"]
        self.assertLessEqual({"name", "kind", "compute_units", "cache"}, set(device))
        self.assertIn(device["name"], self.document["machine"]["device"])

    def test_import_to_another_store(self):
        self.environment["TENON_CACHE_DIR"] = str(self.place / "other")
        self.assertIn("imported 2 of 2", self.take("--import", self.document))
        self.assertIn("measured as the fastest", self.tenon("explain", *COPY).stdout)
        again = self.export()
        # Imported results do not include the measured speeds of the device.
        again["device"].pop("speed", None)
        self.document["device"].pop("speed", None)
        self.assertEqual(again, self.document)

    def test_import_replaces_but_merge_keeps_the_faster(self):
        outcome = self.document["outcomes"][0]
        own, outcome["solver"] = outcome["solver"], "copy/transpose"
        time_was, outcome["nanoseconds"] = outcome["nanoseconds"], outcome["nanoseconds"] + 1
        self.assertIn("imported 0 of 2", self.take("--merge", self.document))
        self.assertEqual(self.solver(), own)
        outcome["nanoseconds"] = time_was - 1
        self.assertIn("imported 1 of 2", self.take("--merge", self.document))
        self.assertEqual(self.solver(), "copy/transpose")
        outcome["solver"], outcome["nanoseconds"] = own, time_was + 9
        self.assertIn("imported 2 of 2", self.take("--import", self.document))
        self.assertEqual(self.solver(), own)

    def test_files_with_an_invalid_outcome_are_refused(self):
        for field, value, why in (
                ("solver", "gemm/plain", "is not a solver of prelu"), ("solver", 3, "is not a string"),
                ("solver", "copy/" + "x" * 200, "too long"), ("call", "", "is empty"),
                ("call", "a\nb", "control character"), ("nanoseconds", 0, "is not a number above 0"),
                ("nanoseconds", "1", "is not a number"), ("candidates", 1.5, "is not an integer"),
                ("candidates", -1, "is not an integer"), ("searched", 1, "neither true nor false"),
                ("key", "copy 12", "is not an operation and 32"),
                ("key", "dog " + "0" * 32, "is not an operation and 32")):
            document = json.loads(json.dumps(self.document))
            document["outcomes"][0]["nanoseconds"] = 1
            document["outcomes"][1][field] = value
            message = self.take("--import", document, status=1)
            self.assertIn(f"outcome 2: {field}", message)
            self.assertIn(why, message)
        self.assertEqual(self.export(), self.document)

    def test_files_of_another_machine_are_refused(self):
        self.document["machine"]["driver"] = "0.1"
        self.assertIn('machine: driver is "0.1", must be "',
                      self.take("--merge", self.document, status=1))

    def test_files_of_another_format_are_refused(self):
        for key, value in (("format", "dog"), ("version", 2), ("machine", []), ("outcomes", {})):
            self.assertIn(f"{key} is ",
                          self.take("--import", {**self.document, key: value}, status=1))

    def test_random_bytes_are_handled(self):
        draw = random.Random(SEED)
        whole = (self.place / "exported.json").read_bytes()
        for i in range(40):
            text = bytearray(whole if i % 4 else draw.randbytes(200))
            for _ in range(draw.randint(1, 3)):
                text[draw.randrange(len(text))] = draw.randrange(256)
            if i % 3 == 0:
                del text[draw.randrange(len(text)):]
            done = self.tenon("tune", "--import", self.write("taken.json", bytes(text)))
            self.assertIn(done.returncode, (0, 1), f"seed {SEED}: {done.stderr}")
            if done.returncode == 1:
                self.assertIn("taken.json: ", done.stderr)

    def test_files_that_cannot_be_read_or_written(self):
        path = str(self.place / "none" / "x.json")
        self.assertIn(path + ": cannot write the file: No such file", self.tune("--export", path,
                                                                            status=1))
        self.assertIn(path, self.tune("--import", path, status=1))


if __name__ == "__main__":
    unittest.main()

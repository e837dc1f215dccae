#!/usr/bin/env python3
"""Tests tenon-bench hosts (python/tenon/bench/hosts.py): the model on measurements made from known constants, and its
reading of both kinds of files."""
import os
import random
import re
import signal
import subprocess
import sys
import unittest

from result_files import FOLDER, InFolder, result, run, run_file

sys.path.insert(0, str(FOLDER.parent))
from bench import hosts  # noqa: E402 (from the folder above)

SIZES = {"4 KiB": 4 << 10, "64 KiB": 64 << 10, "1 MiB": 1 << 20, "8 MiB": 8 << 20, "64 MiB": 64 << 20}
LATENCY, BANDWIDTH = 20e-6, 5e9
SEED = 20261128


def seconds_of(members, size, latency=LATENCY, bandwidth=BANDWIDTH):
    """The time by the formulas of docs/benchmarks.md."""
    if size <= 32 << 10:
        return latency * (members - 1) + members * (members - 1) * size / bandwidth
    return latency * 2 * (members - 1) + 2 * (members - 1) * size / bandwidth


def points(factor=lambda: 1.0, **constants):
    return [hosts.Point(n, size, seconds_of(n, size, **constants) * factor()) for n in (2, 3, 4) for size in SIZES.values()]


def suite(name=lambda size, n: f"all-reduce {size} {n} contexts"):
    return run_file([result("collectives", name(size, n), 1e9 * seconds_of(n, SIZES[size]), {"memcpy": 0.5})
                     for n in (2, 4) for size in SIZES])


def cluster():
    """The table of ./run cluster, among other lines."""
    rows = [f"{'Open MPI 4.1.4':18} {n:>5} {size:>9} {1e3 * seconds_of(n, size):10.3f} {1.5:10.3f} {1.25:10.3f} {1.0:6.2f}"
            for n in (2, 3, 4) for size in SIZES.values()]
    return "\n".join(["seed 1; rounds of kills: 5", f"{'MPI':18} {'ranks':>5} {'bytes':>9}", *rows, "", "9 passed, 0 failed"])


class Model(unittest.TestCase):
    def test_known_constants_are_found(self):
        for latency, bandwidth in ((LATENCY, BANDWIDTH), (1e-6, 1e11), (1e-3, 1e8), (0.0, 1e10)):
            model = hosts.fit(points(latency=latency, bandwidth=bandwidth))
            self.assertAlmostEqual(model.latency, latency, delta=1e-6 * latency + 1e-12)
            self.assertAlmostEqual(model.bandwidth / bandwidth, 1, 6)

    def test_noise_changes_them_little(self):
        numbers = random.Random(SEED)
        model = hosts.fit(points(lambda: numbers.uniform(0.95, 1.05)))
        self.assertAlmostEqual(model.latency / LATENCY, 1, delta=0.1)
        self.assertAlmostEqual(model.bandwidth / BANDWIDTH, 1, delta=0.1)

    def test_the_latency_is_not_negative(self):
        shrinking = [hosts.Point(2, size, (size / BANDWIDTH) * (1 - 1e3 / size)) for size in (1 << 16, 1 << 18, 1 << 20)]
        model = hosts.fit(shrinking)
        self.assertEqual(model.latency, 0)
        squares = [sum(e ** 2 for e in hosts.errors(hosts.Model(0.0, model.bandwidth * factor), shrinking))
                   for factor in (0.999, 1, 1.001)]
        self.assertEqual(min(squares), squares[1])

    def test_measurements_that_do_not_determine_it(self):
        with self.assertRaisesRegex(ValueError, "do not differ enough"):
            hosts.fit([hosts.Point(2, 1 << 20, 1e-3), hosts.Point(2, 1 << 20, 2e-3)])
        with self.assertRaisesRegex(ValueError, "does not grow"):
            hosts.fit([hosts.Point(2, 1 << 16, 1e-2), hosts.Point(2, 1 << 20, 1e-4)])

    def test_hosts_are_limited_by_the_slower_of_link_and_memory(self):
        model, size = hosts.Model(LATENCY, BANDWIDTH), 64 << 20
        for count in (2, 64):
            moved = 2 * (count - 1) / count * size
            self.assertAlmostEqual(hosts.on_hosts(model, count, size, 25e9), LATENCY * 2 * (count - 1) + moved / (25e9 / 8))
            self.assertAlmostEqual(hosts.on_hosts(model, count, size, 400e9), LATENCY * 2 * (count - 1) + moved / BANDWIDTH)
            self.assertAlmostEqual(hosts.on_hosts(model, count, size, 400e9, 1e-3),
                                   (LATENCY + 1e-3) * 2 * (count - 1) + moved / BANDWIDTH)


class ClosedPipe(InFolder):
    def test_commands_end_quietly_if_their_reader_has_gone(self):
        """As with `| head`."""
        path = self.folder / "cluster.txt"
        path.write_text(cluster(), encoding="utf-8")
        for words in (["hosts", str(path)], ["hosts", "--help"], ["compare", "--help"], ["report", "--help"]):
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run([sys.executable, str(FOLDER), *words], stdout=writer, stderr=subprocess.PIPE, text=True,
                                  check=False)
            os.close(writer)
            self.assertEqual(done.stderr, "", words)
            self.assertIn(done.returncode, (0, 128 + signal.SIGPIPE), words)  # argparse ignores that its help cannot be written
            if "--help" not in words:
                self.assertEqual(done.returncode, 128 + signal.SIGPIPE, words)


class Command(InFolder):
    def said(self, *words):
        done = run("hosts", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr)
        return done.stdout

    def check(self, text, counts):
        """The output for the known constants: fitted, compared with 4 members, and a labelled prediction."""
        self.assertIn(f"with {counts} members\n", text)
        fitted = re.search(r"\n  fitted: ([\d.]+) us per step, ([\d.]+) GB/s;", text)
        self.assertAlmostEqual(float(fitted[1]), 20, delta=0.15, msg=text)  # the tables are rounded
        self.assertAlmostEqual(float(fitted[2]), 5, delta=0.02, msg=text)
        compared = re.findall(r"(?m)^ +\d+ [KM]iB +[\d.]+ +[\d.]+ +([\d.]+)$", text)
        self.assertEqual(compared, ["1.00"] * len(SIZES), text)
        part = text[text.index("PREDICTION, not measured: ms of an all-reduce of 64 MiB"):]
        rows = {int(row.split()[0]): list(map(float, row.split()[1:])) for row in part.splitlines()[2:8]}
        self.assertEqual(list(rows), [2, 4, 8, 16, 32, 64])
        for count, times in rows.items():
            for link, time in zip((25, 50, 100, 200, 400), times):
                bandwidth = min(5.0, link / 8) * 1e9
                expected = LATENCY * 2 * (count - 1) + 2 * (count - 1) / count * (64 << 20) / bandwidth
                self.assertAlmostEqual(time / (1e3 * expected), 1, 2)

    def test_a_file_of_the_suite(self):
        self.check(self.said(self.file("suite", suite())), "2, 4")

    def test_the_output_of_run_cluster(self):
        path = self.folder / "cluster.txt"
        path.write_text(cluster(), encoding="utf-8")
        text = self.said(path)
        self.assertTrue(text.startswith("Open MPI 4.1.4: 15 measurements"), text)
        self.check(text, "2, 3, 4")

    def test_without_4_members_nothing_is_compared(self):
        file = suite()
        file["results"] = [r for r in file["results"] if " 2 contexts" in r["case"]]
        text = self.said(self.file("two", file), "--bytes", 65536)
        self.assertIn("no comparison: 4 members, or fewer, were not measured", text)
        self.assertIn("all-reduce of 64 KiB, one member", text)

    def test_files_that_cannot_be_used(self):
        one = suite()
        one["results"] = one["results"][:1]
        for content, word in ((suite(lambda size, n: f"broadcast {size} {n} contexts"), "no measured all-reduce"),
                              (one, "do not differ enough"), ("", "no measured all-reduce"), ("{", "empty or truncated")):
            done = run("hosts", self.file("wrong", content))
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stdout)
            self.assertRegex(done.stderr, rf"^tenon-bench: .*wrong.*{word}.*\n$")
        done = run("hosts", self.folder / "none.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("No such file", done.stderr)
        self.assertEqual(run("hosts", self.file("good", suite()), "--bytes", 0).returncode, 2)


if __name__ == "__main__":
    print(f"seed {SEED}")
    unittest.main()

#!/usr/bin/env python3
"""Tests scripts/cluster.py with replacements of launchers and their programs: which jobs fail, and what remains of them.

    check_cluster.py path/to/scripts
"""
import contextlib
import io
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, sys.argv.pop(1) if len(sys.argv) > 1 else str(Path(__file__).resolve().parents[2] / "scripts"))
# pylint: disable=wrong-import-position
import cluster  # noqa: E402
import cluster_checks  # noqa: E402
import cluster_faults as faults  # noqa: E402
import cluster_jobs as jobs  # noqa: E402
import cluster_programs  # noqa: E402
import cluster_results as results_of  # noqa: E402

LIMIT = 300  # seconds to wait for an expected event

# Prints what two survivors of rank 2 of three processes print.
FAULT = """
import sys
print("ends 100.0")
print("told 0 {when} {status} tenon_group_wait: all_reduce, call 7: nothing from rank {named}")
print("told 2 300.0 TENON_ERROR_TIMEOUT tenon_group_wait: the victim itself, continued")
print("told 1 100.1 {status} tenon_group_wait: all_reduce, call 7: rank {named}")
print("{more}")
print("shrunk 0 0.01\\nshrunk 1 0.02")
sys.exit({code})
"""


@unittest.skipUnless(Path("/proc/self/environ").exists(), "no /proc, in which processes are found")
class Jobs(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        patch = mock.patch.object(jobs, "FOLDER", Path(place.name))
        patch.start()
        self.addCleanup(patch.stop)
        self.results = results_of.Results()
        self.said = io.StringIO()

    def mpi(self, code):
        """An MPI whose launcher runs this Python code, whatever the program is."""
        programs = {name: [name] for name in ("faults", "table")}
        return jobs.Mpi("openmpi", "cc", [sys.executable, "-c", code], [], version="MPI 0", programs=programs)

    def wait_until(self, condition):
        """Waits for an event that must occur, however busy the machine is."""
        ends = time.monotonic() + LIMIT
        while not condition():
            self.assertLess(time.monotonic(), ends)
            time.sleep(0.01)

    def outcome(self, function, mpi, *words):
        """Returns (passed, failed) of one test."""
        with contextlib.redirect_stdout(self.said):
            function(mpi, self.results, *words)
        return self.results.passed, self.results.failed

    def fault(self, when="100.2", status="TENON_ERROR_PEER_LOST", named=2, more="", code=1):
        return self.mpi(FAULT.format(when=when, status=status, named=named, more=more, code=code))

    def test_a_job_that_ends_well_passes(self):
        self.assertEqual(self.outcome(results_of.plain, self.mpi("print('fine')"), 2, "table"), (1, 0))

    def test_a_failed_job_is_reported_with_its_output(self):
        self.assertEqual(self.outcome(results_of.plain, self.mpi("print('reason'); raise SystemExit(3)"), 2, "table"), (0, 1))
        self.assertIn("FAILED: MPI 0, 2 processes: table : status 3\nreason", self.said.getvalue())

    def test_a_process_left_behind_is_found_and_ended(self):
        code = ("import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', "
                "'import time; time.sleep(60)'], start_new_session=True); print(child.pid)")
        job = jobs.launch(self.mpi(code), 2, "table")
        self.assertEqual((job.status, job.left), (0, 1))
        def is_gone():
            state = subprocess.run(["ps", "-o", "stat=", "-p", job.lines[0]], capture_output=True, text=True,
                                   check=False).stdout.strip()
            return not state or state.startswith("Z")
        self.wait_until(is_gone)

    def test_a_job_that_hangs_is_ended(self):
        job = jobs.launch(self.mpi("import time; time.sleep(60)"), 2, "table", limit=0.3)
        self.assertIsNone(job.status)
        self.assertGreater(job.left, 0)
        self.assertIn("left behind", results_of.problem_of(job))

    def test_an_interruption_leaves_no_process(self):
        """Ctrl-C during a job ends its processes, also those with a session of their own, and the others do not run."""
        code = ("import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], "
                "start_new_session=True); time.sleep(60)")
        marks = []

        def interrupted(*_):
            marks.append(next(iter(jobs.FOLDER.glob("log/*.txt"))).stem)
            self.wait_until(lambda: len(jobs.marked(marks[0])) == 2)
            raise KeyboardInterrupt
        with mock.patch.object(jobs, "wait_for", interrupted), self.assertRaises(KeyboardInterrupt):
            jobs.launch(self.mpi(code), 2, "table")
        self.assertEqual(jobs.marked(marks[0]), [])

    def test_ctrl_c_prints_the_tables(self):
        with mock.patch.object(jobs, "installed", lambda short: [self.mpi("")]), \
                mock.patch.object(cluster, "check", side_effect=KeyboardInterrupt), \
                mock.patch.object(cluster_programs, "assemble"), mock.patch.object(cluster_checks, "check_platforms"), \
                mock.patch.object(jobs, "version_of", lambda mpi: "MPI 0"), \
                mock.patch.object(sys, "argv", ["c", "lib", "--rounds", "3"]), contextlib.redirect_stdout(self.said):
            self.assertEqual(cluster.main(), 130)
        self.assertIn("interrupted; no process is left", self.said.getvalue())
        self.assertIn("0 passed, 0 failed", self.said.getvalue())

    def test_rounds_are_continued_from_a_record(self):
        record = jobs.FOLDER / "record"
        for asked, rounds in ((2, 2), (3, 1), (3, 0)):
            results, calls = results_of.Results(record), []

            def resumes(mpi, results, *words, calls=calls):
                calls.append(words)
                results.add_run(mpi, results_of.RESUMED, "", None, jobs.Ended(0, [], 0.0, 0, 0.0))
            with mock.patch.multiple(faults, job_ends=mock.DEFAULT, deadline_ends=mock.DEFAULT, resumes=resumes):
                faults.check_faults(self.mpi(""), results, asked, random.Random(3))
            self.assertEqual((len(calls), results.rounds_of("MPI 0")), (rounds, asked))

    def test_no_round_starts_after_the_time(self):
        with mock.patch.object(faults, "check_round") as check:
            faults.check_faults(self.mpi(""), self.results, 5, random.Random(3), until=time.monotonic() - 1)
        check.assert_not_called()

    def test_the_table_counts_what_failed(self):
        job = jobs.Ended(1, ["WRONG RESULT: 1"], 0.0, 2, 0.0)
        with contextlib.redirect_stdout(self.said):
            self.results.add_run(self.mpi(""), "mode", "", results_of.WRONG, job, 0.5, 0.6)
            self.results.add_run(self.mpi(""), "mode", "", None, jobs.Ended(0, [], 0.0, 0, 0.0), 0.1, 0.2)
            faults.print_faults(self.results)
        row = self.said.getvalue().splitlines()[-1].split()
        self.assertEqual(row, ["MPI", "0", "mode", "2", "1", "1", "1", *"100 / 100 200 / 200".split()])

    def test_a_survivor_may_name_another_one_after_a_deadline(self):
        with mock.patch.object(jobs.time, "monotonic", lambda: 101.0):
            words = ("stop", 3, 2, 1, [], "stopped")
            job = self.fault("101.4", status="TENON_ERROR_TIMEOUT", named=0)
            self.assertEqual(self.outcome(faults.deadline_ends, job, *words), (1, 0))
            nameless = self.fault("101.4", status="TENON_ERROR_TIMEOUT", named="?")
            self.assertEqual(self.outcome(faults.deadline_ends, nameless, *words), (1, 1))

    def test_ranks_run_unpinned_with_one_thread(self):
        code = "import os; print(os.environ['POCL_MAX_PTHREAD_COUNT'], os.environ.get('POCL_AFFINITY'))"
        with mock.patch.dict(os.environ, {"POCL_AFFINITY": "1"}):
            self.assertEqual(jobs.launch(self.mpi(code), 2, "table").lines, ["1 None"])

    def test_survivors_that_continue_pass(self):
        self.assertEqual(self.outcome(faults.survivors_continue, self.fault(code=0), 3, 2, 1, "faults"), (1, 0))
        self.assertEqual(faults.seconds([run.told for run in self.results.runs["MPI 0", "ULFM, killed"]]), "200 / 200")

    def test_what_fails_of_survivors(self):
        for words, reason in (({"when": "100.6"}, "told after 0.600 s"),
                              ({"status": "TENON_ERROR_TIMEOUT"}, "was told TENON_ERROR_TIMEOUT"),
                              ({"named": 1}, "without rank 2"),
                              ({"more": "WRONG RESULT: 1"}, "a wrong result")):
            with self.subTest(words):
                before = self.results.failed
                self.outcome(faults.survivors_continue, self.fault(**words), 3, 2, 1, "faults")
                self.assertEqual(self.results.failed, before + 1)
                self.assertIn(reason, self.said.getvalue())
        self.outcome(faults.survivors_continue, self.fault(), 4, 2, 1, "faults")
        self.assertIn("2 of 3 survivors were told", self.said.getvalue())

    def test_deadlines(self):
        with mock.patch.object(jobs.time, "monotonic", lambda: 101.0):
            words = ("stop", 3, 2, 1, [], "stopped")
            timeout = {"status": "TENON_ERROR_TIMEOUT"}
            self.assertEqual(self.outcome(faults.deadline_ends, self.fault("101.4", **timeout), *words), (1, 0))
            self.assertEqual(self.outcome(faults.deadline_ends, self.fault("101.6", **timeout), *words), (1, 1))
            self.assertEqual(self.outcome(faults.deadline_ends, self.fault("101.4", code=0, **timeout), *words), (1, 2))

    def test_a_job_that_the_launcher_should_end(self):
        with mock.patch.object(jobs.time, "monotonic", lambda: 101.0):
            self.assertEqual(self.outcome(faults.job_ends, self.fault(), 3, 2, 1), (1, 0))
            self.assertEqual(self.outcome(faults.job_ends, self.fault(code=0), 3, 2, 1), (1, 1))
        with mock.patch.object(jobs.time, "monotonic", lambda: 106.0):
            self.assertEqual(self.outcome(faults.job_ends, self.fault(), 3, 2, 1), (1, 2))

    def test_without_an_mpi_all_is_skipped(self):
        with mock.patch.object(jobs, "installed", lambda short: []), mock.patch.object(sys, "argv", ["c", "lib"]), \
                contextlib.redirect_stdout(self.said):
            self.assertEqual(cluster.main(), 0)
        self.assertIn("0 passed, 0 failed, 1 skipped", self.said.getvalue())

    def test_a_seed_gives_the_same_rounds(self):
        seen = []
        for _ in range(2):
            calls = []
            with mock.patch.multiple(faults, job_ends=lambda *a: calls.append(a[2:]), deadline_ends=mock.DEFAULT,
                                     resumes=mock.DEFAULT):
                faults.check_faults(self.mpi(""), self.results, 4, random.Random(3))
            seen.append(calls)
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(len(seen[0]), 4)


if __name__ == "__main__":
    unittest.main()

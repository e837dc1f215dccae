#!/usr/bin/env python3
"""Tests processes that end during a trial or a self-check: an orderly end leaves no crash guard, any
other end counts as one crash. Also tests that a driver which registers an exit handler late is not
used once that handler runs.

    check_ends.py path/to/tenon path/to/background_process path/to/held_driver.so path/to/ending path/to/late_driver.so
"""
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from in_folder import WithStore

TENON, BACKGROUND, HELD_DRIVER, ENDING, LATE_DRIVER = sys.argv[1:6]
del sys.argv[1:6]
LIMIT = 300  # seconds to wait for an expected event
CALL = ("check", "gemm", "a=f32:64x64", "b=f32:64x64", "d=f32:64x64")
# In a process with an empty store, the first launch is the trial of fma, which every build requires,
# and the second is a self-check.
LAUNCHES = (1, 2)


class Ends(WithStore):
    def start(self, launch, *command, ignored=()):
        """Starts a process and waits until it is blocked in this launch. Returns the process."""
        for name in ("held", "go"):
            (self.place / name).unlink(missing_ok=True)
        environment = dict(self.environment, LD_PRELOAD=HELD_DRIVER, HELD_LAUNCH=str(launch), HELD_FOLDER=str(self.place))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
                                   preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN) for number in ignored])
        ends = time.monotonic() + LIMIT
        while not (self.place / "held").exists():
            if process.poll() is not None or time.monotonic() > ends:
                process.kill()
                self.fail(f"launch {launch} was not reached: {process.communicate()[0]}")
            time.sleep(0.01)
        return process

    def end(self, launch, number):
        """Starts a command and ends it with a signal during this launch."""
        process = self.start(launch, TENON, *CALL)
        process.send_signal(number)
        out = process.communicate(timeout=LIMIT)[0]
        self.assertEqual(process.returncode, -number, out)

    def marks(self):
        return sorted(path.name for path in self.store.glob("*.running"))

    def succeed(self, *args, **environment):
        done = subprocess.run([TENON, *args], capture_output=True, text=True, check=False,
                              env=dict(self.environment, **environment))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def fma(self, listed):
        return next(line for line in listed.splitlines() if "hardware_fma" in line).split()[:2]

    def check_next(self):
        """Checks that the next processes report no crash, and find the same fma as with an empty store."""
        listed, called = self.succeed("devices", "-v"), self.succeed(*CALL)
        self.assertNotIn("a process crashed", listed + called)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.fma(listed), self.fma(self.succeed("devices", "-v", TENON_CACHE_DIR=folder)))

    def test_an_interrupted_command_leaves_no_crash_guard(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for launch in LAUNCHES:
                self.use_store(f"{number}.{launch}")
                self.end(launch, number)
                self.assertEqual(self.marks(), [], (number, launch))
                self.check_next()

    def test_three_interrupts_end_at_once(self):
        """They end the process even if its orderly end waits; the exit status is the same."""
        process = self.start(1, TENON, *CALL)
        for _ in range(3):
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_an_ignored_interrupt_remains_ignored(self):
        process = self.start(1, TENON, *CALL, ignored=[signal.SIGINT])
        process.send_signal(signal.SIGINT)
        (self.place / "go").touch()
        out = process.communicate(timeout=LIMIT)[0]
        self.assertEqual(process.returncode, 0, out)

    def test_a_killed_command_counts_as_one_crash(self):
        """Each kill leaves one crash guard, and fma is still available."""
        for _ in range(2):
            self.end(1, signal.SIGKILL)
            self.assertEqual(len(self.marks()), 1)
        self.check_next()
        self.assertEqual(self.marks(), [])

    def test_ending_during_background_plans_leaves_no_crash_guard(self):
        for launch in LAUNCHES:
            for way in ("return", "exit", "keep"):
                self.use_store(f"{way}.{launch}")
                process = self.start(launch, BACKGROUND, way, str(self.place / "held"), str(self.place / "go"))
                process.communicate(timeout=LIMIT)
                self.assertEqual(self.marks(), [], (way, launch))
                self.check_next()

    def test_an_immediate_exit_counts_as_one_crash(self):
        process = self.start(1, BACKGROUND, "_exit", str(self.place / "held"), str(self.place / "go"))
        process.communicate(timeout=LIMIT)
        self.assertEqual(len(self.marks()), 1)
        self.check_next()

    def end_late(self, way, state, **late):
        """Ends a process whose driver registers an exit handler at this launch or query."""
        self.use_store(f"{way}.{late}")
        created = self.place / "late"
        created.unlink(missing_ok=True)
        done = subprocess.run([ENDING, way, state], capture_output=True, text=True, check=False, timeout=LIMIT,
                              env=dict(self.environment, LD_PRELOAD=LATE_DRIVER, LATE_FILE=str(created), **late))
        self.assertEqual(done.returncode, 0, (way, late, done.stdout + done.stderr))
        self.assertTrue(created.exists())

    def test_a_driver_that_registers_a_handler_in_a_query_of_a_binary(self):
        """The process ends during the query, in a thread that has used Tenon or in one that has not."""
        for query in ("1", "2"):
            for way in ("return", "exit-elsewhere"):
                self.end_late(way, "waiting", LATE_QUERY=query)

    def test_a_driver_that_registers_a_handler_after_many_launches(self):
        """Programs are still to be written when the process ends."""
        self.end_late("return", "calling", LATE_LAUNCH="200")


if __name__ == "__main__":
    unittest.main(verbosity=2)

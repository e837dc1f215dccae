#!/usr/bin/env python3
"""Runs many processes at once on an empty store and kills some of them at random. The other
processes must not fail, results must be correct, damaged entries must not be used, and the next
process must remove temporary files. If none is killed, together they check a kernel variant once.

    check_store.py path/to/store_process path/to/tenon

TENON_TEST_SEED repeats the random numbers. TENON_TEST_STORM is "PROCESSES ROUNDS", by default "8 3",
or "32 100" in ./run test full.
"""
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROCESS, TENON = sys.argv[1:3]
QUICK, FULL = "8 3", "32 100"
SOLVER = "gemm/plain"


def start(folder, *solver):
    return subprocess.Popen([PROCESS, *solver], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, TENON_CACHE="1", TENON_CACHE_DIR=folder))


def judge(done, folder):
    """Checks a process that was not killed. Returns its errors and the number of crashes that it reports."""
    out, err = done.communicate()
    faults = []
    if done.returncode != 0 or out != "right\n":
        faults.append(f"status {done.returncode}: {out}{err}")
    for line in err.splitlines():
        if "truncated or corrupted" in line or "the wrong key" in line or "rejected its own binary" in line:
            faults.append(line)
    return faults, sum("a process crashed or was killed" in line for line in err.splitlines())


def check_entries(folder):
    listed = subprocess.run([TENON, "cache", "list"], capture_output=True, text=True, check=False,
                            env=dict(os.environ, TENON_CACHE="1", TENON_CACHE_DIR=folder))
    return [] if listed.returncode == 0 else [listed.stdout + listed.stderr]


def temporaries(folder):
    return sorted(path.name for path in Path(folder).glob(".writing-*"))


def one_round(draw, count, seconds):
    """Kills half of the processes on average. Returns errors, counts for the report, and the seconds taken."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        running = [start(folder) for _ in range(count)]
        ends = sorted((draw.uniform(0, seconds), i) for i in range(count) if draw.random() < 0.5)
        killed = set()
        for when, i in ends:
            time.sleep(max(0, began + when - time.monotonic()))
            if running[i].poll() is None:
                running[i].kill()
                killed.add(i)
        faults, barred = [], 0
        for i, process in enumerate(running):
            if i in killed:
                process.communicate()
                continue
            found, lines = judge(process, folder)
            faults += found
            barred += lines
        took = time.monotonic() - began
        faults += check_entries(folder)
        left = len(temporaries(folder))
        found, lines = judge(start(folder), folder)
        faults += found + check_entries(folder)
        faults += [f"{name} is left" for name in temporaries(folder)]
        return faults, {"killed": len(killed), "temporaries": left, "barred": barred + lines}, took


def checks(processes):
    """Waits for processes that were not killed. Returns the sum of their self-checks, and errors."""
    total, faults = 0, []
    for process in processes:
        out, err = process.communicate()
        found = re.search(r"^(\d+) self-checks$", err, re.M)
        if process.returncode != 0 or out != "right\n" or not found:
            faults.append(f"status {process.returncode}: {out}{err}")
        total += int(found[1]) if found else 0
    return total, faults


def check_once(count):
    """Starts processes with one solver at the same time. Returns errors."""
    sums, faults = [], []
    for number in (1, count):
        with tempfile.TemporaryDirectory() as folder:
            total, found = checks([start(folder, SOLVER) for _ in range(number)])
            sums.append(total)
            faults += found
    if sums[0] == 0 or sums[0] != sums[1]:
        faults.append(f"1 process made {sums[0]} self-checks, {count} together {sums[1]}")
    return faults


HOLD = """
import fcntl, sys, time
held = [open(f"{sys.argv[1]}/.lock-{i:02x}", "w") for i in range(256)]
for file in held:
    fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


def killed_holder():
    """Kills the process that holds the locks of all checks. Returns errors."""
    with tempfile.TemporaryDirectory() as folder, \
            subprocess.Popen([sys.executable, "-c", HOLD, folder], stdout=subprocess.PIPE, text=True) as holder:
        holder.stdout.readline()
        waiting = start(folder, SOLVER)
        faults = []
        try:
            waiting.wait(3)
            faults.append("a process has not waited for the lock")
        except subprocess.TimeoutExpired:
            pass
        holder.kill()
        total, found = checks([waiting])
        return faults + found + ([] if total > 0 else ["the waiting process has not checked"])


def main():
    quick = "TENON_TEST_QUICK" in os.environ or "MESON_TEST_ITERATION" not in os.environ
    storm = os.environ.get("TENON_TEST_STORM") or (QUICK if quick else FULL)
    count, rounds = (int(word) for word in storm.split())
    seed = int(os.environ.get("TENON_TEST_SEED") or time.time())
    print(f"{count} processes, {rounds} rounds, TENON_TEST_SEED={seed}", flush=True)
    draw = random.Random(seed)
    totals = {}
    # The first round fills the driver's cache and measures how long processes take.
    faults, counts, seconds = one_round(draw, count, 1)
    for number in range(rounds):
        if faults:
            break
        faults, counts, took = one_round(draw, count, seconds)
        seconds = 0.5 * (seconds + took)
        for name, value in counts.items():
            totals[name] = totals.get(name, 0) + value
    number = "last"
    faults = faults or check_once(count) or killed_holder()
    print(", ".join(f"{value} {name}" for name, value in totals.items()))
    for fault in faults:
        print(f"round {number}: {fault}")
    return 1 if faults else 0


sys.exit(main())

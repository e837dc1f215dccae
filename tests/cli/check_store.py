#!/usr/bin/env python3
"""Runs many processes at once on an empty store and kills some of them at random. The other
processes must not fail, results must be correct, damaged entries must not be used, and the next
process must remove temporary files.

    check_store.py path/to/store_process path/to/tenon

TENON_TEST_SEED repeats the random numbers. TENON_TEST_STORM is "PROCESSES ROUNDS", by default "8 3",
or "32 100" in ./run test full.
"""
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROCESS, TENON = sys.argv[1:3]
QUICK, FULL = "8 3", "32 100"


def start(folder):
    return subprocess.Popen([PROCESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
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
    print(", ".join(f"{value} {name}" for name, value in totals.items()))
    for fault in faults:
        print(f"round {number}: {fault}")
    return 1 if faults else 0


sys.exit(main())

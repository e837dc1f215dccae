#!/usr/bin/env python3
"""Tests that a process that uses Tenon exits with the expected status and leaves an intact store,
however it ends.

    check_endings.py --ending path/to/ending [--tenon path/to/tenon]
    check_endings.py --library path/to/libtenon.so.0 --include include --folder FOLDER

The second form runs Python scripts with this interpreter and a package that is assembled in FOLDER.

Each way to end is tested with and without plans being built in the background, each time with a new
store: twice in the quick set, 50 times in ./run test full, or TENON_TEST_ENDINGS times.
TENON_TEST_SEED repeats the random times at which processes end.
"""
import argparse
import importlib.util
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GIVEN = argparse.ArgumentParser()
for name in ("ending", "tenon", "library", "folder"):
    GIVEN.add_argument("--" + name)
GIVEN.add_argument("--include", action="append")
GIVEN = GIVEN.parse_args()
QUICK, FULL = 2, 50
LONGEST = 300  # seconds, after which a process is considered to hang
LATEST = {QUICK: 0.6, FULL: 1.5}  # maximum delay in seconds before a process that builds ends

# Child processes inherit ignored signals: nohup ignores SIGHUP, and some shells SIGINT.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)

# The expected exit status of each way to end.
WAYS = {
    "return": 0, "exit": 0, "quick_exit": 0, "settle": 0, "_exit": 0, "abort": -signal.SIGABRT,
    "SIGINT": -signal.SIGINT, "SIGTERM": -signal.SIGTERM, "SIGKILL": -signal.SIGKILL,
    "SIGHUP": -signal.SIGHUP, "handled-signal": 3, "exit-elsewhere": 0, "main-ends-first": 0,
    "slow-handler-before": 0, "slow-handler-after": 0, "handler-before-exits": 0,
    "handler-after-exits": 0, "handler-before-uses": 0, "handler-after-uses": 0,
    "handler-joins-caller": 0, "fork-before": 0, "fork-after": 0, "fork-after-quick": 0, "exec": 0,
    "release": 0,
}

BUSY = """
import atexit, os, signal, sys, threading, time
import numpy as np
import tenon
x = tenon.tensor(np.ones((64, 64), "f4"))
if STATE == "building":
    with tenon.default_context().prepare():
        plans = [tenon.gemm_plan(tenon.view((64, n)), tenon.view((n, 64))) for n in (64, 80, 96)]
else:
    assert tenon.activation_forward(x, activation="relu").numpy().sum() == 4096
time.sleep(DELAY)
"""
CHILD = """
def refused(call):
    try:
        call()
    except tenon.Error as error:
        return "forked" in str(error)
    return False
child = os.fork()
if child == 0:
    well = refused(lambda: tenon.tensor(np.ones(4, "f4"))) and refused(x.numpy)
    sys.exit(0 if well else 7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
SCRIPTS = {
    "python": ("", 0),
    "python-sys.exit": ("sys.exit(4)", 4),
    "python-exception": ("raise ValueError('the end')", 1),
    "python-os._exit": ("os._exit(5)", 5),
    "python-interrupted": ("signal.raise_signal(signal.SIGINT)", -signal.SIGINT),
    "python-atexit": ("atexit.register(lambda: tenon.activation_forward(x, activation='relu').numpy())", 0),
    "python-daemon": ("def again():\n    while True:\n        tenon.activation_forward(x, activation='relu')\n"
                      "threading.Thread(target=again, daemon=True).start()", 0),
    "python-fork": (CHILD, 0),
    "python-keep": ("tenon.default_context().keep()", 0),
}


def command_of(way, state, delay):
    """Returns the command, its additional environment variables, and the expected status."""
    if way in WAYS:
        return [GIVEN.ending, way, state], {"TENON_TEST_DELAY": str(int(1e6 * delay))}, WAYS[way]
    script, status = SCRIPTS[way]
    text = f"STATE, DELAY = {state!r}, {delay!r}\n{BUSY}\n{script}\n"
    return ([sys.executable, "-c", text],
            {"PYTHONPATH": GIVEN.folder, "TENON_LIBRARY": str(Path(GIVEN.library).resolve())}, status)


def environment(folder, more=()):
    return dict(os.environ, TENON_CACHE="1", TENON_CACHE_DIR=str(folder / "store"), **dict(more))


def run(command, env, folder):
    """Returns the status, or "hangs", and the output. The output goes to a file, because children
    that outlive the process would keep a pipe open."""
    with open(folder / "output", "w+", encoding="utf-8") as output:
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            status = process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = "hangs"
        output.seek(0)
        return status, output.read()


def check_store(folder):
    if not GIVEN.tenon or not (folder / "store").exists():
        return ""
    listed = subprocess.run([GIVEN.tenon, "cache", "list"], capture_output=True, text=True, check=False,
                            env=environment(folder))
    return "" if listed.returncode == 0 else f"; the store: {listed.stdout}{listed.stderr}"


def one(task):
    """Tests one ending and returns a description of the error, or "". In the state "building", the
    driver's cache is empty, so that building takes time."""
    way, state, delay, shared = task
    folder = Path(tempfile.mkdtemp())
    try:
        command, more, expected = command_of(way, state, delay)
        if state == "building":
            (folder / "driver").mkdir()
            more["POCL_CACHE_DIR"] = str(folder / "driver")
        else:
            more["POCL_CACHE_DIR"] = shared
        status, text = run(command, environment(folder, more), folder)
        wrong = "" if status == expected else f"status {status}, expected {expected}: {text[-2000:]}"
        wrong += check_store(folder)
        return f"{way}, {state}, after {delay:.3f} s: {wrong}" if wrong else ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_used_by_the_next(task):
    """Tests that processes that end in this way fill the store, and that the next process then builds
    nothing even with an empty driver cache. Each process stores at least one program, so the loop
    runs at most once per program. Returns a description of the error, or ""."""
    way, state = task
    folder = Path(tempfile.mkdtemp())
    try:
        command, more, expected = command_of(way, state, 0)
        entries, text = -1, ""
        while True:
            more["POCL_CACHE_DIR"] = str(folder / "driver")
            shutil.rmtree(folder / "driver", ignore_errors=True)
            (folder / "driver").mkdir()
            status, text = run(command, environment(folder, more), folder)
            now = len(list((folder / "store").glob("*.program")))
            if status != expected or now == entries:
                break
            entries = now
        shutil.rmtree(folder / "driver")
        (folder / "driver").mkdir()
        counted, more, _ = command_of("python" if way in SCRIPTS else "return", "count", 0)
        if way in SCRIPTS:
            counted[-1] += "s = tenon.default_context().statistics()\n" \
                           "print('built', s.programs_built, 'loaded', s.programs_loaded)"
        more["POCL_CACHE_DIR"] = str(folder / "driver")
        _, seen = run(counted, environment(folder, more), folder)
        well = entries > 0 and seen.startswith("built 0 loaded ") and not seen.startswith("built 0 loaded 0")
        return "" if well else f"{way}, {state}: {entries} programs are stored, the next process says {seen!r}; {text[-2000:]}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put_package_together():
    sys.path.insert(0, str(ROOT / "python"))
    from generate import generate
    package = Path(GIVEN.folder, "tenon")
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "python" / "tenon", package, ignore=shutil.ignore_patterns("__pycache__"))
    generate(GIVEN.include, package)


def main():
    if GIVEN.library:
        if any(importlib.util.find_spec(name) is None for name in ("cffi", "numpy")):
            print("SKIPPED: Python has no cffi or no NumPy")
            return 77
        put_package_together()
    quick = "TENON_TEST_QUICK" in os.environ or "MESON_TEST_ITERATION" not in os.environ
    times = int(os.environ.get("TENON_TEST_ENDINGS") or (QUICK if quick else FULL))
    seed = int(os.environ.get("TENON_TEST_SEED") or time.time())
    ways = list(SCRIPTS if GIVEN.library else WAYS)
    print(f"{len(ways)} ways, {times} times each, TENON_TEST_SEED={seed}", flush=True)
    draw, latest = random.Random(seed), LATEST[QUICK if quick else FULL]
    with tempfile.TemporaryDirectory() as shared, ThreadPoolExecutor(4) as together:
        one((ways[0], "idle", 0, shared))
        tasks = [(way, state, draw.uniform(0, latest) if state == "building" else 0, shared)
                 for _ in range(times) for way in ways for state in ("idle", "building")]
        draw.shuffle(tasks)
        faults = [fault for fault in together.map(one, tasks) if fault]
        orderly = (["python", "python-sys.exit", "python-exception", "python-interrupted", "python-keep"]
                   if GIVEN.library else ["return", "exit", "settle", "exit-elsewhere", "release"])
        orderly = [(way, "idle") for way in orderly]
        if not GIVEN.library:  # programs written while the process was idle are kept however it ends
            orderly += [("abort", "rested"), ("SIGKILL", "rested"), ("quick_exit", "rested")]
        faults += [fault for fault in together.map(is_used_by_the_next, orderly) if fault]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


sys.exit(main())

#!/usr/bin/env python3
"""./run errors: measures the largest error of every operation and type, as a fraction of its bound.

    errors.py BUILD [PROBLEMS] [--test PATTERN] [--program NAME …] [--add]
    errors.py BUILD [PROBLEMS] --complete [--minutes N]
    errors.py

Runs the tests named random_problems* with PROBLEMS problems each (1000), with the seed in TENON_TEST_SEED if it is set, and
prints a table. --test and --program select some of them. --add adds the results to docs/errors.json, so that many short runs
with different seeds add up. --complete measures the operations that have fewer than PROBLEMS results of a floating-point type
in docs/errors.json, in portions with different seeds, until all have as many or N minutes have passed; it can be interrupted
and repeated, and several may run at once. Without arguments, writes the table in docs/errors.md from that file. Fails if a test
fails.
"""
import argparse
import fcntl
import json
import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, MEASURED = ROOT / "docs" / "errors.md", ROOT / "docs" / "errors.json"
BEGIN, END = "<!-- begin errors: written by scripts/errors.py -->\n", "<!-- end errors -->\n"
LINE = re.compile(r"^(\w+) (\w+): worst error (\S+) of its bound in (\d+) results$")
TYPES = ["f32", "f64", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "bool"]
FLOATS = ["f64", "f32", "f16", "bf16"]
PORTION = 100  # problems of each type in a run of --complete
UNTESTED = {"others"}  # results that a test compares with its own code
LOOSE = 1e-3
LIST = ROOT / "src" / "ops" / "operation_list.h"


def run(program, problems, pattern):
    environment = dict(os.environ, TENON_TEST_PROBLEMS=str(problems), TENON_TEST_FILTER=pattern)
    return program.name, subprocess.run([program], capture_output=True, text=True, check=False,
                                        env=environment)


def measure(build, problems, pattern, chosen):
    """Returns {operation: {type: [ratio, results]}} and the names of the programs that failed."""
    programs = sorted(path for path in (build / "tests" / "ops").glob("test_*")
                      if path.is_file() and os.access(path, os.X_OK)
                      and (not chosen or path.name.removeprefix("test_") in chosen))
    found, failed = {}, []
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for name, done in pool.map(lambda p: run(p, problems, pattern), programs):
            if done.returncode not in (0, 77):
                failed.append(name)
                print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
            add(found, results_of(done.stdout))
    return found, failed


def results_of(output):
    """Returns the results that a test program printed."""
    found = {}
    for line in output.splitlines():
        if (match := LINE.match(line)) and match[1] not in UNTESTED:
            add(found, {match[1]: {match[2]: [float(match[3]), int(match[4])]}})
    return found


def add(total, more):
    """Adds results to others: the larger ratio and the sum of the numbers of results."""
    for operation, types in more.items():
        for dtype, (ratio, results) in types.items():
            old = total.setdefault(operation, {}).get(dtype, [0, 0])
            total[operation][dtype] = [max(old[0], ratio), old[1] + results]


def direction(operation):
    """Returns the operation's name without the direction, and the direction."""
    name, _, what = operation.partition("_backward")
    return (name, f"backward{what.replace('_', ' ')}") if "_backward" in operation else (name, "forward")


def table(found):
    """Returns the Markdown lines of the table, and of the lists of exact and of loose ones."""
    rows = ["| Operation | Direction | Type | Problems | Worst error / bound |\n", "|---|---|---|---:|---:|\n"]
    exact, loose = {}, []
    for operation in sorted(found, key=direction):
        name, way = direction(operation)
        for dtype in sorted(found[operation], key=TYPES.index):
            ratio, results = found[operation][dtype]
            if ratio == 0:
                exact.setdefault((name, way), []).append(f"{dtype} ({results})")
                continue
            rows.append(f"| `{name}` | {way} | {dtype} | {results} | {ratio:.2g} |\n")
            if ratio < LOOSE:
                loose.append(f"`{name}` {way} {dtype} ({ratio:.1g})")
    same = [f"- `{name}` {way}: {', '.join(types)}\n" for (name, way), types in exact.items()]
    return [*rows, "\nResults without any error, with the number of problems:\n\n", *same,
            "\nBounds that were never approached within a factor of 1000: ", ", ".join(loose) or "none", ".\n"]


def measured():
    """Returns the results that were kept."""
    return json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}


def keep(found):
    """Adds results to those that were kept. Several runs may do so at the same time."""
    with open(MEASURED, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        text = MEASURED.read_text(encoding="utf-8")
        total = json.loads(text) if text else {}
        add(total, found)
        MEASURED.write_text(json.dumps(total, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def operations():
    return re.findall(r"X\((\w+)\)", LIST.read_text(encoding="utf-8"))


def count(found, operation):
    """Returns the number of results of an operation: of the floating-point type with the fewest, if it has one."""
    results = found.get(operation, {})
    floats = [results[t][1] for t in FLOATS if t in results]
    return min(floats) if floats else max((n for _, n in results.values()), default=0)


def complete(build, problems, minutes):
    """Measures what is missing, fewest results first; returns the names of the operations whose tests failed."""
    program, end = build / "tests" / "ops" / "test_worst_errors", time.monotonic() + 60 * minutes
    failed, idle = [], set()
    while time.monotonic() < end:
        found = measured()
        left = [name for name in operations() if name not in idle and count(found, name) < problems]
        if not left:
            break
        name = min(left, key=lambda n: (count(found, n), random.random()))
        environment = dict(os.environ, TENON_TEST_PROBLEMS=str(PORTION), TENON_TEST_FILTER=f"random_problems_{name}",
                           TENON_TEST_SEED=str(random.randrange(1, 1 << 31)))
        done = subprocess.run([program], capture_output=True, text=True, check=False, env=environment)
        more = results_of(done.stdout)
        if done.returncode not in (0, 77):
            failed.append(f"{name} with TENON_TEST_SEED={environment['TENON_TEST_SEED']}")
            print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
        keep(more)
        if done.returncode != 0 or name not in more:
            idle.add(name)
        print(f"{name}: {count(measured(), name)}", flush=True)
    return failed


def written(text):
    """Returns the page with the table of the measured errors, and the operations that have none."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    missing = ", ".join(f"`{name}`" for name in operations() if name not in measured())
    lines = table(measured()) + ([f"\nNot measured yet: {missing}.\n"] if missing else [])
    return before + BEGIN + "".join(lines) + END + after


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path, nargs="?")
    parser.add_argument("problems", type=int, nargs="?", default=1000)
    parser.add_argument("--test", default="random_problems*")
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("--add", action="store_true")
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("--minutes", type=float, default=1e9)
    given = parser.parse_args()
    if given.build is None:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
        return
    if given.complete:
        failed = complete(given.build, given.problems, given.minutes)
        if failed:
            sys.exit("errors: these tests failed: " + ", ".join(failed))
        return
    found, failed = measure(given.build, given.problems, given.test, given.program)
    print("".join(table(found)))
    if given.add:
        keep(found)
    if failed:
        sys.exit("errors: these tests failed: " + ", ".join(failed))


if __name__ == "__main__":
    main()

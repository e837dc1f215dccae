#!/usr/bin/env python3
"""./run errors: measures the largest error of every operation and type, as a fraction of its bound.

    errors.py BUILD [PROBLEMS] [--operation NAME …] [--minutes N]
    errors.py

Runs random problems of the operations that have fewer than PROBLEMS (1000) of a type in docs/errors.json, and adds the results.
The operation with the fewest comes first. --operation selects some of them. Each operation runs in a process of its own, with a
random seed, or with TENON_TEST_SEED. After N minutes no other operation is begun. It can be interrupted and repeated, and
several may run at once. Without arguments, writes the table in docs/errors.md from that file. Fails if a test fails.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, MEASURED = ROOT / "docs" / "errors.md", ROOT / "docs" / "errors.json"
BEGIN, END = "<!-- begin errors: written by scripts/errors.py -->\n", "<!-- end errors -->\n"
LINE = re.compile(r"^(\w+) (\w+): worst error (\S+) of its bound in (\d+) results with (\d+) shapes$")
TYPES = ["f32", "f64", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "bool"]
LOOSE = 1e-3
LIST = ROOT / "src" / "ops" / "operation_list.h"


def operations():
    return re.findall(r"X\((\w+)\)", LIST.read_text(encoding="utf-8"))


def results_of(output):
    """Returns the results that the test program printed: {operation: {type: [ratio, problems, shapes]}}."""
    found = {}
    for line in output.splitlines():
        if match := LINE.match(line):
            add(found, {match[1]: {match[2]: [float(match[3]), int(match[4]), int(match[5])]}})
    return found


def add(total, more):
    """Adds results to others: the larger ratio, and the sums of the numbers of problems and of shapes."""
    for operation, types in more.items():
        for dtype, (ratio, problems, shapes) in types.items():
            old = total.setdefault(operation, {}).get(dtype, [0, 0, 0])
            total[operation][dtype] = [max(old[0], ratio), old[1] + problems, old[2] + shapes]


def direction(operation):
    """Returns the operation's name without the direction, and the direction."""
    name, _, what = operation.partition("_backward")
    return (name, f"backward{what.replace('_', ' ')}") if "_backward" in operation else (name, "forward")


def table(found):
    """Returns the Markdown lines of the table, and of the lists of exact and of loose ones."""
    rows = ["| Operation | Direction | Type | Problems (shapes) | Worst error / bound |\n", "|---|---|---|---:|---:|\n"]
    exact, loose = {}, []
    for operation in sorted(found, key=direction):
        name, way = direction(operation)
        for dtype in sorted(found[operation], key=TYPES.index):
            ratio, problems, shapes = found[operation][dtype]
            if ratio == 0:
                exact.setdefault((name, way), []).append(f"{dtype} {problems} ({shapes})")
                continue
            rows.append(f"| `{name}` | {way} | {dtype} | {problems} ({shapes}) | {ratio:.3g} |\n")
            if ratio < LOOSE:
                loose.append(f"`{name}` {way} {dtype} ({ratio:.1g})")
    same = [f"- `{name}` {way}: {', '.join(types)}\n" for (name, way), types in exact.items()]
    return [*rows, "\nResults without any error, with the number of problems (shapes):\n\n", *same,
            "\nBounds that were never approached within a factor of 1000: ", ", ".join(loose) or "none", ".\n"]


def measured():
    """Returns the results that were kept."""
    return json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}


def written_results(found):
    """Returns the text of the file of results: one line per operation and type."""
    lines = [f'  "{name}": {{\n' + ",\n".join(f'    "{dtype}": {json.dumps(found[name][dtype])}'
                                              for dtype in sorted(found[name])) + "\n  }" for name in sorted(found)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def keep(found):
    """Adds results to those that were kept. Several runs may do so at the same time."""
    with open(MEASURED, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        text = MEASURED.read_text(encoding="utf-8")
        total = json.loads(text) if text else {}
        add(total, found)
        MEASURED.write_text(written_results(total), encoding="utf-8")


def count(found, operation):
    """Returns the number of problems of an operation, of the type with the fewest."""
    return min((problems for _, problems, _ in found.get(operation, {}).values()), default=0)


def measure(build, operation, problems):
    """Runs problems of an operation; returns the results, and the seed if the test failed."""
    seed = os.environ.get("TENON_TEST_SEED") or str(random.randrange(1, 1 << 31))
    program = build / "tests" / "ops" / "test_worst_errors"
    environment = dict(os.environ, TENON_TEST_PROBLEMS=str(problems), TENON_TEST_SEED=seed,
                       TENON_TEST_FILTER=f"random_problems_{operation}")
    done = subprocess.run([program], capture_output=True, text=True, check=False, env=environment)
    if done.returncode in (0, 77):
        return results_of(done.stdout), None
    print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
    return {}, seed


def complete(build, problems, chosen, minutes):
    """Measures what is missing, fewest problems first; returns the names of the operations whose tests failed."""
    end, failed = time.monotonic() + 60 * minutes, []
    left = {name for name in operations() if not chosen or name in chosen}
    while time.monotonic() < end:
        found = measured()
        left = {name for name in left if count(found, name) < problems}
        if not left:
            break
        name = min(left, key=lambda n: (count(found, n), random.random()))
        left.discard(name)
        begin = time.monotonic()
        more, seed = measure(build, name, problems - count(found, name))
        if seed is not None:
            failed.append(f"{name} with TENON_TEST_SEED={seed}")
        keep(more)
        print(f"{name}: {count(measured(), name)} problems after {time.monotonic() - begin:.0f} s", flush=True)
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
    parser.add_argument("--operation", action="append", default=[], choices=operations(), metavar="NAME")
    parser.add_argument("--minutes", type=float, default=1e9)
    given = parser.parse_args()
    if given.build is None:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
        return
    if failed := complete(given.build, given.problems, given.operation, given.minutes):
        sys.exit("errors: these tests failed: " + ", ".join(failed))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""./run errors: measures the largest error of every operation and type, as a fraction of its bound.

    errors.py BUILD [PROBLEMS]

Runs the tests named random_problems with PROBLEMS problems each (1000), with the seed in TENON_TEST_SEED if it is set, and
prints a table. Fails if a test fails, or if an operation has no such test.
"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TYPES = ["f32", "f64", "f16", "bf16", "i8", "u8", "i32"]
LINE = re.compile(r"^(\w+) (\w+): worst error ([0-9.]+) of its bound in (\d+) results$")
UNTESTED = {"others"}  # results that a test compares with its own code


def run(program, problems):
    environment = dict(os.environ, TENON_TEST_PROBLEMS=str(problems),
                       TENON_TEST_FILTER="random_problems*")
    return program.name, subprocess.run([program], capture_output=True, text=True, check=False,
                                        env=environment)


def main():
    build, problems = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    programs = sorted(path for path in (build / "tests" / "ops").glob("test_*")
                      if path.is_file() and os.access(path, os.X_OK))
    worst, counts, failed = {}, {}, []
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for name, done in pool.map(lambda p: run(p, problems), programs):
            if done.returncode not in (0, 77):
                failed.append(name)
                print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
            for line in done.stdout.splitlines():
                if (match := LINE.match(line)) and match[1] not in UNTESTED:
                    key = match[1], match[2]
                    worst[key] = max(worst.get(key, 0), float(match[3]))
                    counts[key] = counts.get(key, 0) + int(match[4])
    print(f"largest error / bound, over about {problems} random problems each (in parentheses: compared results)\n")
    print(f"{'operation':28}" + "".join(f"{t:>16}" for t in TYPES))
    for operation in sorted({key[0] for key in worst}):
        cells = [f"{worst[operation, t]:.3f} ({counts[operation, t]})" if (operation, t) in worst else "-"
                 for t in TYPES]
        print(f"{operation:28}" + "".join(f"{cell:>16}" for cell in cells))
    if failed:
        sys.exit("errors: these tests failed: " + ", ".join(failed))


if __name__ == "__main__":
    main()

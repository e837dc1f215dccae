#!/usr/bin/env python3
"""./run regress: compares the speed of this tree with another commit in one run.

    regress.py NEW_BENCH OLD_BENCH [tenon-bench run options …]

Both programs run alternately for several rounds; a case's ratio is the median over the rounds of new time / old time. A case
that appears slower is measured again for longer, and is a regression if it is still slower. Fails if there is a regression,
or if the geometric mean of a suite exceeds the limit. Results are compared with the reference only in the first round,
because the comparison takes longer than the timing.
"""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

LIMIT = 1.10
ROUNDS = 5
AGAIN = 11  # rounds of a case that appears slower
DEFAULTS = ["--suite", "gemm,conv,activation,start", "--peers", "none", "--time", "0.1"]


def has_no_verify(program):
    """Returns whether the program, which may be an older version, has --no-verify."""
    done = subprocess.run([program, "help"], stdout=subprocess.PIPE, text=True, check=False)
    return "--no-verify" in done.stdout


def measure(program, options, folder, verify):
    """Returns the medians in nanoseconds by (suite, case, type)."""
    path = os.path.join(folder, "results.json")
    if not verify and has_no_verify(program):
        options = [*options, "--no-verify"]
    done = subprocess.run([program, "run", *options, "--json", path], stdout=subprocess.DEVNULL,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"regress: {program} ended with status {done.returncode}")
    with open(path, encoding="utf-8") as file:
        results = json.load(file)["results"]
    return {(r["suite"], r["case"], r["dtype"]): r["median_ns"] for r in results}


def ratios(new, old, options, rounds, folder, is_first=False):
    """Returns the ratio new / old of each case that both programs have."""
    found = {}
    for number in range(rounds):
        start = time.monotonic()
        pair = [new, old] if number % 2 == 0 else [old, new]
        times = {program: measure(program, options, folder, is_first and number == 0) for program in pair}
        for key in times[new].keys() & times[old].keys():
            found.setdefault(key, []).append(times[new][key] / times[old][key])
        if is_first:
            print(f"round {number + 1} of {rounds}: {len(found)} cases, {time.monotonic() - start:.0f} s",
                  file=sys.stderr, flush=True)
    return {key: statistics.median(values) for key, values in found.items()}


def main():
    new, old, *options = sys.argv[1:]
    options = DEFAULTS + options
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        result = ratios(new, old, options, ROUNDS, folder, is_first=True)
        for key in [k for k, ratio in result.items() if ratio > LIMIT]:
            suite, case, dtype = key
            print(f"measuring again ({result[key]:.2f} times as long): {suite} {case} {dtype}",
                  file=sys.stderr, flush=True)
            again = ["--suite", suite, "--filter", case, "--dtype", dtype, "--peers", "none", "--time", "0.3"]
            result[key] = ratios(new, old, again, AGAIN, folder).get(key, result[key])
    if not result:
        sys.exit("regress: the programs have no case in common")
    for key, ratio in sorted(result.items(), key=lambda item: -item[1]):
        if ratio > LIMIT:
            bad.append(" ".join(key))
        if ratio > LIMIT or ratio < 1 / LIMIT:
            print(f"{ratio:6.2f}  {' '.join(key)}")
    for suite in sorted({key[0] for key in result}):
        mean = math.exp(statistics.mean(math.log(r) for k, r in result.items() if k[0] == suite))
        print(f"{suite:12} new time / old time, geometric mean {mean:.3f}")
        if mean > LIMIT:
            bad.append(suite)
    if bad:
        sys.exit("regress: slower by more than 10 %: " + ", ".join(bad))
    print(f"regress: {len(result)} cases, none slower by more than 10 %")


if __name__ == "__main__":
    main()

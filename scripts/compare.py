#!/usr/bin/env python3
"""Compares two files of tenon-bench --json.

    compare.py BEFORE.json AFTER.json

The ratio of a case is its time in BEFORE divided by its time in AFTER. Prints the geometric mean of each suite and type, and
the ten cases with the largest slowdown. Cases that are in only one of the files are counted.
"""
import json
import math
import statistics
import sys


def medians(path):
    """Returns {(suite, case, type): nanoseconds}."""
    try:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)["results"]
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"compare: {path}: {error}")
    return {(r["suite"], r["case"], r["dtype"]): r["median_ns"] for r in results}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    before, after = map(medians, sys.argv[1:])
    ratios = {key: before[key] / after[key] for key in before.keys() & after.keys()}
    if not ratios:
        sys.exit("compare: the files have no case in common")
    for suite, dtype in sorted({(key[0], key[2]) for key in ratios}):
        mine = [r for key, r in ratios.items() if (key[0], key[2]) == (suite, dtype)]
        mean = math.exp(statistics.mean(map(math.log, mine)))
        print(f"{suite:18} {dtype:5} {len(mine):4} cases, time before / time after: "
              f"geometric mean {mean:.2f}, least {min(mine):.2f}")
    for key in sorted(ratios, key=ratios.get)[:10]:
        print(f"{ratios[key]:6.2f}  {' '.join(key)}")
    alone = len(before.keys() ^ after.keys())
    if alone:
        print(f"{alone} cases are in only one of the files")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Reads Meson's testlog.json and prints `N passed, N failed, N skipped`.

Each test of a cmocka program is counted; any other program counts as one test. Fails if a test failed or none ran.
"""
import json
import re
import sys

MARK = re.compile(r"\[(?: (RUN)      |       (OK) |  (SKIPPED) | (RESTART)  )\] ")
GOOD = ("OK", "EXPECTEDFAIL")


def count_cmocka(stdout):
    """Returns (passed, failed, skipped). A test that started without printing OK or SKIPPED has failed. After a failed
    test the program continues in a new process, which starts that test again."""
    counts = {"OK": 0, "RUN": 0, "SKIPPED": 0}
    running = False
    for mark in [m.group(m.lastindex) for m in MARK.finditer(stdout)] + ["RUN"]:
        if mark == "RUN":
            counts["RUN"] += running
            running = True
        elif mark == "RESTART":
            running = False
        elif running:  # the final list of skipped tests repeats names outside of any run
            counts[mark] += 1
            running = False
    return counts["OK"], counts["RUN"], counts["SKIPPED"]


def count(entry):
    result = entry["result"]
    stdout = entry.get("stdout", "")
    if "[ RUN      ] " in stdout:
        passed, failed, skipped = count_cmocka(stdout)
        if result not in (*GOOD, "SKIP") and failed == 0:
            failed = 1  # outside any test: a group fixture, a leak at exit
        return passed, failed, skipped
    if result in GOOD:
        return 1, 0, 0
    return (0, 0, 1) if result == "SKIP" else (0, 1, 0)


def main():
    totals = [0, 0, 0]
    try:
        with open(sys.argv[1], encoding="utf-8") as log:
            for line in log:
                totals = [a + b for a, b in zip(totals, count(json.loads(line)))]
    except FileNotFoundError:
        pass
    print(f"{totals[0]} passed, {totals[1]} failed, {totals[2]} skipped")
    if totals[0] + totals[1] == 0:
        print("no test ran", file=sys.stderr)
        return 1
    return 1 if totals[1] else 0


if __name__ == "__main__":
    sys.exit(main())

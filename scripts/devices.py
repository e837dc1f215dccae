#!/usr/bin/env python3
"""./run docs: writes the table of devices in docs/platforms.md from docs/devices.json, and the table of test runs in
docs/drivers.md from docs/tested.json.

The column "Tested" refers to a run in docs/tested.json with its counts, and "Measured" to a file that tenon-bench wrote
on the device to bench/results/. For a graphics card, each target named in parentheses must have a row in the tables of
compiled kernels, and, if its matrix units are emulated, a kernel that uses them.
"""
import json
import os
import re
import sys
from pathlib import Path

from measures import devices_of

ROOT = Path(__file__).resolve().parents[1]
DEVICES = ROOT / "docs" / "devices.json"
RUNS = ROOT / "docs" / "tested.json"
TABLES = ROOT / "docs" / "gpu-kernels-tables.md"
PAGE = ROOT / "docs" / "platforms.md"
RUNS_PAGE = ROOT / "docs" / "drivers.md"
CLAIMS = ["compiled", "emulated", "tested", "measured"]
BEGIN, END = "<!-- devices -->\n", "<!-- end of the devices -->\n"
RUNS_BEGIN, RUNS_END = "<!-- runs -->\n", "<!-- end of the runs -->\n"


def read():
    return json.loads(DEVICES.read_text(encoding="utf-8"))


def runs():
    """Returns the test runs by their ids."""
    return {run["id"]: run for run in json.loads(RUNS.read_text(encoding="utf-8"))}


def counted(tests):
    """Returns the result of a test run as text."""
    if tests["passed"] is None:
        return "passed, count not kept"
    if not tests["failed"]:
        return f'all {tests["passed"]}'
    return f'{tests["passed"]} of {tests["passed"] + tests["failed"]}'


def short(run):
    """Returns the text for a run in the table of docs/platforms.md."""
    if "summary" in run:
        return run["summary"]
    if "tests" in run:
        return counted(run["tests"])
    return "self-test only" if "selftest" in run else "a few calls"


def written(path):
    """Reads a results file of tenon-bench; returns None if the file is something else."""
    if path.parent != ROOT / "bench" / "results" or not path.is_file():
        return None
    file = json.loads(path.read_text(encoding="utf-8"))
    return file if file.get("results") and all(isinstance(device, dict) for device in devices_of(file)) else None


def ran_on(row, path):
    """Returns whether tenon-bench wrote the file on the row's device; `name` is part of the device's name."""
    file = written(path)
    return file is not None and any(row.get("name", "\n") in d["name"] for d in devices_of(file))


def targets(row):
    """Returns the compiler targets that a card's row names."""
    named = re.search(r"\(([^)]*)\)", row["device"])
    return named[1].split(", ") if named else []


def wrong_targets(row, place, claim, evidence):
    """Reports targets of a card that have no compiled kernel, or none that uses the emulated matrix units."""
    tables = TABLES.read_text(encoding="utf-8")
    units = re.match(r'\{"(\w+)"', evidence["says"]) if claim == "emulated" else None
    solver = units[1] + " " if units else ""
    return [f"{place}: no {solver}kernel of {target} was compiled" for target in targets(row)
            if f"\n| {target} | {solver}" not in tables]


def wrong_text(row, place, claim, evidence):
    path = ROOT / evidence["file"]
    if not path.is_file() or not evidence["says"]:
        return [f'{place}: there is no {evidence["file"]}']
    if evidence["says"] not in path.read_text(encoding="utf-8"):
        return [f'{place}: {evidence["file"]} does not say "{evidence["says"]}"']
    return wrong_targets(row, place, claim, evidence) if row.get("card") else []


def wrong_claim(row, claim, evidence, known):
    place = f'{row["device"]}, {row["driver"]}, {claim}'
    if claim == "measured" or (row.get("card") and claim == "tested"):
        if "file" in evidence and ran_on(row, ROOT / evidence["file"]):
            return []
        return [f"{place}: no results in bench/results/ are of that device"]
    if "run" in evidence:
        return [] if evidence["run"] in known and "note" not in evidence else [f'{place}: there is no run "{evidence["run"]}"']
    if claim == "tested":
        return [f"{place}: names no run of docs/tested.json"]
    return wrong_text(row, place, claim, evidence)


def wrong(rows):
    """Returns the errors in the claims, one line each."""
    found, known = [], runs()
    for row in rows:
        for claim in CLAIMS:
            if row.get(claim) is not None:
                found += wrong_claim(row, claim, row[claim], known)
        unknown = set(row) - {"device", "driver", "card", "name", *CLAIMS}
        found += [f'{row["device"]}: does not know "{key}"' for key in sorted(unknown)]
    return found


def link(path):
    """Returns a path of the tree as a link from docs/platforms.md."""
    return Path(os.path.relpath(ROOT / path, PAGE.parent)).as_posix()


def cell(claim, evidence):
    if not evidence:
        return "no"
    if claim == "measured":
        file = written(ROOT / evidence["file"])
        whole = "" if file["complete"] else ", incomplete"
        return f'[{file["tenon"]}{whole}]({link(evidence["file"])})'
    if "run" in evidence:
        said = short(runs()[evidence["run"]]) if claim == "tested" else "yes"
        return f"[{said}]({RUNS_PAGE.name}#test-results)"
    return f'[{evidence.get("note", "yes")}]({link(evidence["file"])})'


def table(rows):
    lines = ["| Device | Driver or compiler | Compiled | Emulated | Tested | Measured |\n",
             "|" + "---|" * 6 + "\n"]
    for row in rows:
        cells = [row["device"], row["driver"], *(cell(claim, row.get(claim)) for claim in CLAIMS)]
        lines.append(f'| {" | ".join(cells)} |\n')
    return "".join(lines)


def runs_table():
    lines = ["| Implementation | Processor | `tenon selftest` | Demo | Tests |\n", "|" + "---|" * 5 + "\n"]
    for run in runs().values():
        said = run.get("selftest")
        selftest = f'{said["right"]} right, {said["wrong"]} wrong, {said["absent"]} not supported' if said else "not kept"
        tests = run.get("tests")
        if tests:
            last = f'{counted(tests)} ({tests["set"]} set of `{tests["tree"]}`, {tests["date"]})'
        else:
            last, selftest = run.get("calls", "not run"), "not run" if "calls" in run else selftest
        lines.append(f'| {run["implementation"]} | {run["processor"]} | {selftest} | {run.get("demo", "not run")} | {last} |\n')
    return "".join(lines)


def between(text, begin, end, content):
    before, rest = text.split(begin)
    return before + begin + content + end + rest.split(end)[1]


def filled(text):
    """Returns docs/platforms.md with the current table of devices."""
    return between(text, BEGIN, END, table(read()))


def filled_runs(text):
    """Returns docs/drivers.md with the current table of test runs."""
    return between(text, RUNS_BEGIN, RUNS_END, runs_table())


def main():
    bad = wrong(read())
    if bad:
        sys.exit("devices: " + "\n".join(bad))
    for page, fill in ((PAGE, filled), (RUNS_PAGE, filled_runs)):
        page.write_text(fill(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

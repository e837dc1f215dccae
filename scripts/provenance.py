#!/usr/bin/env python3
"""./run docs: checks that the files of bench/results/ can be traced, and that documents have no figures without a file.

A file must state the commit and a clean tree from which it was measured (version 3 of the format), all its results must have
been verified, and its summary must follow from its results. Figures with a decimal point in the pages must be generated, or
be in a table of their section. The exceptions are those in the table of bench/results/README.md, each with its reason; one
that is not needed any more is reported as well.
"""
import fnmatch
import math
import re
import statistics
import sys

import performance
from measures import RESULTS, ROOT

sys.path.append(str(ROOT / "python" / "tenon"))
from bench import results  # noqa: E402

README = RESULTS / "README.md"
PAGES = ("README.md", "docs/performance.md", "docs/ci.md")
NOT_KEPT, UNTRACED, UNVERIFIED, TYPED = KINDS = ("measurements not kept", "not traceable", "not verified", "figures without a file")
ROW = re.compile(r"(?m)^\| ({}) \| (.*?) \| (.*?) \|$".format("|".join(KINDS)))
DECIMAL = re.compile(r"(?<![\w./:-])\d+\.\d+(?![\w.]*\.\d|\w)")
# Versions of software and clock rates, which describe a machine.
VERSION = re.compile(r"(?:PoCL|oneDNN|OpenBLAS|NumPy|Boost\.Compute|CLBlast|ONNX Runtime|OpenCL|Meson|[Vv]ersion|Status:)\s+\d+\.\d+"
                     r"|\d+\.\d+(?= GHz)")
LAST = "2026-11-27"  # no exceptions are made for files of later days
LEAST_OPERATIONS = 4e6  # --min-flops
CLOSE = 1e-5  # relative difference of figures that must be equal


def exceptions(text):
    """Returns the names by kind of exception: of files, with patterns, or of sections."""
    found = {kind: set() for kind in KINDS}
    for kind, names, reason in ROW.findall(text):
        if len(reason.split()) < 3:
            sys.exit(f"bench/results/README.md: the exception {kind} of {names} has no reason")
        found[kind] |= set(re.findall(r"`([^`]+)`", names))
    return found


def untraced(file):
    """Returns why a file cannot be traced to a commit, or None."""
    build = file.get("build")
    if build is None:
        return "it does not state the commit, the compiler and the load: write it with the current tenon-bench"
    if not re.fullmatch("[0-9a-f]{40}", build["commit"]):
        return f'its commit is "{build["commit"]}": measure in a clone of the repository'
    return None if build["tree"] == "clean" else f'its tree was {build["tree"]}: commit before measuring'


def close(a, b):
    return math.isclose(a, b, rel_tol=CLOSE)


def least_operations(command):
    at = command.index("--min-flops") if "--min-flops" in command else None
    return float(command[at + 1]) if at is not None else LEAST_OPERATIONS


def ratios_of(part, operations):
    """Returns {(suite, type, peer): {case: ratio}}, with the peer "best" as in bench/summary.c."""
    found = {}
    for case in part.cases:
        peers = {peer: case.ratio(peer) for peer in case.peers}
        others = [ratio for peer, ratio in peers.items() if peer != "tenon-f32"]
        if others and (case.flops == 0 or case.flops >= operations * (1 - CLOSE)):
            peers["best"] = min(others)
        for peer, ratio in peers.items():
            found.setdefault((case.suite, case.dtype, peer), []).append((ratio, case.name))
    return found


def wrong_summary(part, number):
    """Returns what in the summary of a run disagrees with its results."""
    wanted = ratios_of(part, least_operations(part.command))
    said = {(r["suite"], r["dtype"], r["peer"]): r for r in part.raw["summary"]["ratios"] if r.get("device", 0) == number}
    found = [f"the summary has no {' '.join(key)}" for key in wanted.keys() - said.keys()]
    found += [f"no result has {' '.join(key)}, which is in the summary" for key in said.keys() - wanted.keys()]
    for key in wanted.keys() & said.keys():
        ratios, r = [ratio for ratio, _ in wanted[key]], said[key]
        least = min(wanted[key])
        for name, here, there in (("mean", r["mean"], results.geometric_mean(ratios)), ("least", r["least"], least[0]),
                                  ("cases", r["cases"], len(ratios))):
            if not close(here, there):
                found.append(f"the summary of {' '.join(key)} says {name} {here:g}, the results {there:g}")
        if not any(close(ratio, least[0]) and case == r["least_case"] for ratio, case in wanted[key]):
            found.append(f"the summary of {' '.join(key)} names {r['least_case']} as the worst case, the results {least[1]}")
    return found + wrong_ratios(part)


def wrong_ratios(part):
    """Returns the peers whose ratio is not that of the times."""
    return [f"the ratio of {case.name} to {peer} is {case.raw['peers'][peer]['ratio']:g}, that of the times {case.ratio(peer):g}"
            for case in part.cases for peer in case.peers if not close(case.raw["peers"][peer]["ratio"], case.ratio(peer))]


def wrong_regret(part):
    """Returns what in the summary of a file of regret disagrees with its results."""
    ratios = sorted(r["ratio"] for r in part.regrets)
    wanted = {"cases": len(ratios), "median": statistics.median(ratios), "percentile_95": ratios[math.ceil(0.95 * len(ratios)) - 1],
              "least_candidates": min(len(r["measured"]) for r in part.regrets)}
    said = part.raw["summary"]
    return [f"the summary says {key} {said[key]:g}, the results {value:g}" for key, value in wanted.items() if not close(said[key], value)]


def wrong_in(path):
    """Returns (kind of exception or None, complaint) of a file."""
    file = performance.read(path.stem)
    if "columns" in file:
        return [(NOT_KEPT, "its measurements were not kept")]
    try:
        parts = results.read(path)
    except results.FileError as error:
        return [(None, str(error))]
    found = [(UNTRACED, untraced(file))] if untraced(file) else []
    if file.get("predicted"):
        found.append((None, "it is a prediction, not a measurement"))
    unverified = sum(part.unverified for part in parts)
    if unverified:
        found.append((UNVERIFIED, f"{unverified} results were not verified: measure without --no-verify"))
    for number, part in enumerate(parts):
        wrong = wrong_regret(part) if part.kind == "regret" else wrong_summary(part, number)
        found += [(None, text) for text in wrong]
    return found


def typed_figures(text):
    """Returns {section: figures} of the figures that neither a comment nor a table of the section supports."""
    found = {}
    for section in re.split(r"(?m)^(?=##+ )", text):
        title = re.sub(r"^#+ |[`\[\]]|\]\(.*?\)", "", section.split("\n", 1)[0])
        tables = " ".join(performance.TABLE.findall("".join(m[0] for m in performance.PLACE.finditer(section))))
        prose = re.sub(r"(?ms)^```.*?^```\n", "", performance.PLACE.sub("", section))
        figures = DECIMAL.findall(VERSION.sub("", performance.FIGURE.sub("", prose)))
        figures = [f for f in figures if not re.search(rf"(?<![\d.]){re.escape(f)}(?!\d)", tables)]
        if figures:
            found[title] = figures
    return found


def needed():
    """Returns {kind: {name: complaint}} of all exceptions that the tree needs, and the complaints without one."""
    by_kind, errors = {kind: {} for kind in KINDS}, []
    for path in sorted(RESULTS.glob("*.json")):
        for kind, text in wrong_in(path):
            if kind is None:
                errors.append(f"{path.name}: {text}")
            else:
                by_kind[kind][path.stem] = text
    for page in PAGES:
        for section, figures in typed_figures((ROOT / page).read_text(encoding="utf-8")).items():
            by_kind[TYPED][f"{page}: {section}"] = f"no file supports {', '.join(figures)}"
    return by_kind, errors


def wrong(by_kind, errors, listed):
    """Returns all complaints: those without an exception, and the exceptions that are not needed."""
    found = list(errors)
    for kind, names in by_kind.items():
        for name, text in names.items():
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in listed[kind]):
                found.append(f"{name}: {text}")
            elif kind != TYPED and name[:10] > LAST:
                found.append(f"{name}: exceptions are only for files up to {LAST}: {text}")
        found += [f'bench/results/README.md: the exception "{kind}" of {pattern} is not needed' for pattern in sorted(listed[kind])
                  if not any(fnmatch.fnmatchcase(name, pattern) for name in names)]
    return found


def main():
    complaints = wrong(*needed(), exceptions(README.read_text(encoding="utf-8")))
    if complaints:
        sys.exit("\n".join(f"provenance: {text}" for text in complaints))
    print("the figures of the documents can be traced, except those that bench/results/README.md lists")


if __name__ == "__main__":
    main()

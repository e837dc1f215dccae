#!/usr/bin/env python3
"""Runs ONNX's single-node tests on tenon.onnx: onnx_tests.py [--jobs N] [--filter REGEX] [--every N] [--update].

scripts/onnx_tests.txt lists the tests that cannot be expressed, and those whose operators are not built yet; one of
the latter that passes is an error, so that the list shrinks (--update writes it again). Expanded forms, which replace
an operator by a graph of others, are not counted. Prints 'N passed, N failed, N skipped' and exits with 1 if a test
that should pass fails.
"""
import argparse
import collections
import multiprocessing
import os
import re
import sys
import time
import unittest
import warnings
from pathlib import Path

LISTS = Path(__file__).with_suffix(".txt")
EXCLUDED, PENDING = "cannot be expressed", "not built yet"
CASES = {}  # the tests by name, loaded before the workers are forked


def read_lists():
    """Returns {section: [(pattern, reason)]}."""
    found, section = {EXCLUDED: [], PENDING: []}, None
    for line in LISTS.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            section = line[3:].strip()
        elif line.strip() and not line.startswith("#"):
            pattern, reason = line.split(None, 1)
            found[section].append((re.compile(f"^test_({pattern})_cpu$"), reason.strip()))
    return found


def load_tests(lists, by_node):
    """Fills CASES from ONNX's test runner, without the excluded tests."""
    from onnx.backend.test import BackendTest
    from tenon.onnx import TenonBackend

    class NodeByNode(TenonBackend):
        @classmethod
        def prepare(cls, model, device="CPU", **kwargs):
            return super().prepare(model, device, record=False, **kwargs)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, from ONNX's reference results
        runner = BackendTest(NodeByNode if by_node else TenonBackend, __name__)
    for pattern, _ in lists[EXCLUDED]:
        runner.exclude(pattern.pattern)
    case = runner.test_cases["OnnxBackendNodeModelTest"]
    for name in unittest.defaultTestLoader.getTestCaseNames(case):
        if name.endswith("_cpu") and "_expanded" not in name:
            CASES[name] = case


def run_test(name):
    """Runs a test; returns its name, the outcome, a message and the seconds."""
    from tenon.onnx import NodeError, UnsupportedModel
    start, outcome, message = time.perf_counter(), "passed", ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(CASES[name](name), name)()
    except unittest.SkipTest as skipped:
        outcome, message = "skipped", str(skipped)
    except UnsupportedModel as error:
        outcome, message = "unsupported", " ".join(error.problems)
    except Exception as error:  # a failure of the test, whatever its kind
        missing = isinstance(error, NodeError) and isinstance(error.__cause__, (NotImplementedError, TypeError))
        outcome = "unsupported" if missing else "failed"
        message = str(error) if missing else f"{type(error).__name__}: {error}"
    return name, outcome, message, time.perf_counter() - start


def judged(results, lists):
    """Returns the counts, and the lines to print for tests that did not do what the lists say."""
    counts, wrong = collections.Counter(), []
    for name, outcome, message, _ in sorted(results):
        pending = any(p.match(name) for p, _ in lists[PENDING])
        if outcome == "skipped":
            counts[EXCLUDED] += 1
        elif pending and outcome == "unsupported":
            counts[PENDING] += 1
        elif pending and outcome == "passed":
            counts["failed"] += 1
            wrong.append(f"{name}: passes; remove it from {LISTS.name}")
        elif outcome == "passed":
            counts["passed"] += 1
        else:
            counts["failed"] += 1
            wrong.append(f"{name}: {message.strip()[:600]}")
    return counts, wrong


def unused(lists, names):
    """Returns a line for each pattern that matches no test."""
    return [f"{p.pattern}: matches no test; remove it from {LISTS.name}" for section in lists.values()
            for p, _ in section if not any(p.match(n) for n in names)]


def update(results):
    """Writes the list of tests that are not built yet."""
    text = LISTS.read_text(encoding="utf-8")
    rows = [(name[len("test_"):-len("_cpu")], message) for name, outcome, message, _ in sorted(results)
            if outcome == "unsupported"]
    lines = [f"{name:55} {' '.join(message.split())[:100]}".rstrip() for name, message in rows]
    start = text.index(f"== {PENDING}\n") + len(f"== {PENDING}\n")
    LISTS.write_text(text[:start] + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{LISTS.name}: {len(lines)} tests are not built yet")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    parser.add_argument("--filter", default="", metavar="REGEX", help="run only the tests whose names match")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="run only every N-th of these tests")
    parser.add_argument("--by-node", action="store_true", help="run models node by node instead of recording them")
    parser.add_argument("--verbose", action="store_true", help="print every test with its seconds")
    parser.add_argument("--update", action="store_true", help="write the list of tests that are not built yet again")
    options = parser.parse_args()
    lists = read_lists()
    load_tests(lists, options.by_node)
    every = sorted(CASES)
    names = [n for n in every if re.search(options.filter, n)][::options.every]
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:  # before the first use of tenon
        results = []
        for result in pool.imap_unordered(run_test, names, chunksize=8):
            results.append(result)
            if options.verbose:
                print(f"{result[1]:12} {result[3]:7.3f} s  {result[0]}  {result[2].strip()[:200]!r}", flush=True)
        pool.close()
        pool.join()
    if options.update and len(names) == len(every):
        update(results)
        lists = read_lists()
    counts, wrong = judged(results, lists)
    wrong += unused(lists, every)
    print("\n".join(wrong))
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts[EXCLUDED] + counts[PENDING]} skipped "
          f"({counts[EXCLUDED]} cannot be expressed, {counts[PENDING]} not built yet)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

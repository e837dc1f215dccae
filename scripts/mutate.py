#!/usr/bin/env python3
"""Measures the share of detectable faults that the quick set of tests detects.

    mutate.py [--count N] [--seed S] [--json FILE]

Changes one operator or constant of an operation's host code or kernels at a time, in a copy of the committed tree, and runs
the tests of that operation: first the quick set, and all tests on mutants that it does not detect. Mutants that do not build
are skipped. A mutant that no test detects may be equivalent to the original, for example in a time estimate. The same seed
gives the same mutants.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Prefixes of the tests for a folder of src/ops and cl_kernels; the default is the folder's name.
TESTS = {"common": ("pointwise", "reduce", "softmax", "norm", "activation"),
         "conv": ("conv", "col2im", "im2col"),
         "elementwise": ("elementwise", "integers", "copy", "concat", "pointwise"),
         "gated": ("gated", "pointwise"),
         "gemm": ("gemm", "blas"),
         "loss": ("loss", "mse"),
         "optimizer": ("optimizer", "clip"),
         "random": ("random",),
         "tensor": ("memory",)}
CHANGES = [(r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + "), (r" < ", " <= "), (r" <= ", " < "),
           (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
           (r" && ", " || "), (r" \|\| ", " && "), (r"\b1\b", "2"), (r"\b0\b", "1"),
           (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r" / ", " * "), (r" % ", " / ")]


def draw(tree, rng):
    """Chooses a mutation: returns a file, a line number and the new line."""
    files = sorted([*tree.glob("src/ops/*/**/*.c"), *tree.glob("cl_kernels/*/**/*.cl*")])
    files = [path for path in files if family_of(path, tree) != "capability"]
    while True:
        path = rng.choice(files)
        lines = path.read_text().split("\n")
        number = rng.randrange(len(lines))
        line = lines[number]
        if not line.startswith("    ") or line.lstrip().startswith(("*", "/*", "#", "return tn_fail")):
            continue
        places = [(match, new) for old, new in CHANGES for match in re.finditer(old, line)
                  if '"' not in line]
        if places:
            match, new = rng.choice(places)
            return path, number, line[:match.start()] + new + line[match.end():]


def family_of(path, tree):
    parts = path.relative_to(tree).parts
    return parts[2] if parts[0] == "src" else parts[1]


def run(command, tree, environment=None, limit=1200):
    try:
        done = subprocess.run(command, cwd=tree, env={**os.environ, **(environment or {})},
                              timeout=limit, capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def tests_of(family, names):
    beginnings = TESTS.get(family, (family,))
    return [name for name in names if name.startswith(beginnings)] or names


def passes(tree, names, quick):
    environment = {"TENON_SOURCE_ROOT": str(tree)}
    if quick:
        shutil.rmtree(tree / "build/quick", ignore_errors=True)
        (tree / "build/quick").mkdir()
        environment["TENON_TEST_QUICK"] = str(tree / "build/quick")
    return run(["meson", "test", "-C", "build", "--no-rebuild", "--maxfail", "1", "--quiet",
                *names], tree, environment)


def judge(tree, names, rng):
    """Tests one mutant; returns its record, or None if it does not build."""
    path, number, line = draw(tree, rng)
    text = path.read_text()
    lines = text.split("\n")
    record = {"file": str(path.relative_to(tree)), "line": number + 1, "was": lines[number].strip(),
              "is": line.strip()}
    lines[number] = line
    path.write_text("\n".join(lines))
    try:
        if not run(["ninja", "-C", "build"], tree):
            return None
        chosen = tests_of(family_of(path, tree), names)
        begun = time.monotonic()
        record["quick"] = not passes(tree, chosen, True)
        record["quick_seconds"] = round(time.monotonic() - begun, 1)
        begun = time.monotonic()
        record["full"] = record["quick"] or not passes(tree, chosen, False)
        record["full_seconds"] = round(time.monotonic() - begun, 1)
    finally:
        path.write_text(text)
    return record


def make_tree(folder):
    subprocess.run(["git", "worktree", "add", "--detach", "-q", str(folder)], cwd=ROOT, check=True)
    subprocess.run(["meson", "setup", "build", "--buildtype=release"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", "build"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    listed = subprocess.run(["meson", "test", "-C", "build", "--list", "--no-rebuild"], cwd=folder,
                            check=True, capture_output=True, text=True).stdout
    return re.findall(r"tenon:ops / (\S+)", listed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    tree = Path(tempfile.mkdtemp(prefix="tenon-mutants-")) / "tree"
    records = []
    try:
        names = make_tree(tree)
        while len(records) < args.count:
            record = judge(tree, names, rng)
            if record is None:
                continue
            records.append(record)
            found = "quick" if record["quick"] else "full" if record["full"] else "none"
            print(f"{found:6} {record['file']}:{record['line']}: {record['was']}  ->  {record['is']}",
                  flush=True)
            if args.json:
                args.json.write_text(json.dumps({"seed": args.seed, "mutants": records}, indent=1))
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=False)
    full, quick = (sum(record[which] for record in records) for which in ("full", "quick"))
    print(f"{len(records)} mutants: all tests detect {full}, the quick set {quick}")
    return 0 if quick >= 0.9 * full else 1


if __name__ == "__main__":
    sys.exit(main())

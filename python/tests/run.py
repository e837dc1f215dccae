#!/usr/bin/env python3
"""Runs the tests of the Python package with a library that is already built.

    run.py --library build/src/libtenon.so.0.3 --include include --include build/include \\
           --folder build/python [--no-tests] [ARGS of unittest]

Assembles the package in the folder as setup.py does, but with that library. Exits with 77 (skipped) if cffi or
NumPy is missing.
"""
import argparse
import importlib.util
import os
import shutil
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


def put_together(args):
    package = Path(args.folder, "tenon")
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(HERE.parent / "tenon", package, ignore=shutil.ignore_patterns("__pycache__"))
    sys.path.insert(0, str(HERE.parent))
    from generate import generate
    generate(args.include, package)
    os.environ["TENON_LIBRARY"] = str(Path(args.library).resolve())
    sys.path[0] = str(Path(args.folder).resolve())
    os.environ["PYTHONPATH"] = sys.path[0]  # for child processes of the tests


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--no-tests", action="store_true", help="only assemble the package")
    args, rest = parser.parse_known_args()
    missing = [name for name in ("cffi", "numpy") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"SKIPPED: {sys.executable} has no {' and no '.join(missing)}")
        return 77
    put_together(args)
    if args.no_tests:
        return 0
    sys.path.insert(1, str(HERE))
    suite = unittest.defaultTestLoader
    tests = suite.loadTestsFromNames(rest) if rest else suite.discover(str(HERE))
    done = unittest.TextTestRunner(verbosity=2).run(tests)
    return 0 if done.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())

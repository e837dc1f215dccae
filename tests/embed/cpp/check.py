#!/usr/bin/env python3
"""Tests tenon.hpp with each C++ compiler, with and without exceptions.

    check.py --library build/src --include include --include build/include [--flag=-I…] -- g++ [clang++ …]

Builds and runs main.cpp and the C++ programs in the documentation. Also fails if the header lacks
an operation of the library. Exit status 77 (skipped) without a compiler.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
STRICT = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


def lacking():
    """Returns the operations with a plan and the parameter structs that either the library or the
    header lacks."""
    names = (ROOT / "src" / "tenon.symbols").read_text(encoding="utf-8")
    header = (ROOT / "include" / "tenon" / "tenon.hpp").read_text(encoding="utf-8")
    bad = []
    for end, macro in (("_plan", "OPERATION"), ("_params_default", "PARAMS")):
        there = set(re.findall(rf"^TENON_HPP_{macro}\((\w+)", header, re.M))
        wanted = set(re.findall(rf"^tenon_(\w+){end}$", names, re.M))
        bad += sorted(wanted ^ there)
    return bad


def shown(folder):
    """Yields the C++ blocks of the pages, as files."""
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]:
        text = page.read_text(encoding="utf-8")
        for number, code in enumerate(re.findall(r"(?ms)^```cpp\n(.*?)^```$", text), 1):
            path = Path(folder, f"{page.stem}-{number}.cpp")
            path.write_text(code, encoding="utf-8")
            yield path


def try_it(compiler, source, mode, args, folder):
    program = Path(folder, "program")
    flags = [f"-I{folder}" for folder in args.include] + args.flag
    subprocess.run([compiler, *STRICT, *mode, *flags, str(source), "-o", str(program),
                    f"-L{args.library}", "-ltenon", "-lOpenCL"], check=True)
    path = os.pathsep.join(filter(None, [args.library, os.environ.get("LD_LIBRARY_PATH")]))
    done = subprocess.run([str(program)], env=dict(os.environ, LD_LIBRARY_PATH=path), check=False)
    return done.returncode == 0


def is_refused_by_an_older_language(compiler, args, folder):
    """Returns true if, with C++14, the first error of the header names the required standard."""
    source = Path(folder, "older.cpp")
    source.write_text("#include <tenon/tenon.hpp>\n", encoding="utf-8")
    flags = [f"-I{folder}" for folder in args.include] + args.flag
    done = subprocess.run([compiler, "-std=c++14", *flags, "-fsyntax-only", str(source)], text=True,
                          stderr=subprocess.PIPE, check=False)
    return done.returncode != 0 and "needs C++17" in (re.findall("error:.*", done.stderr) or [""])[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--flag", action="append", default=[])
    parser.add_argument("compiler", nargs="*")
    args = parser.parse_args()
    compilers = [c for c in args.compiler if shutil.which(c)]
    if not compilers:
        print("no C++ compiler")
        return 77
    bad = [f"tenon.hpp lacks {name}" for name in lacking()]
    with tempfile.TemporaryDirectory(prefix="tenon-cpp-") as folder:
        for compiler in compilers:
            for mode in ([], ["-fno-exceptions"], ["-DTENON_NO_EXCEPTIONS"]):
                print(compiler, *mode, flush=True)
                if not try_it(compiler, HERE / "main.cpp", mode, args, folder):
                    bad.append(" ".join([compiler, *mode]))
            if not is_refused_by_an_older_language(compiler, args, folder):
                bad.append(f"{compiler} -std=c++14")
        for source in shown(folder):
            print(source.name, flush=True)
            if not try_it(compilers[0], source, [], args, folder):
                bad.append(source.name)
    print("failed:", ", ".join(bad) or "none")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

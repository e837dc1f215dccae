#!/usr/bin/env python3
"""Compiles each public header alone, as C11 or as C++17, with warnings as errors.

    headers.py --language c --include include --include build/include [--flag=-I…] -- cc

Searches each --include folder for tenon/*.h. Each header is included twice to test its guard; every
TENON_…_INIT in it initializes an object of its type, and every tenon_…_params(…) is an object in C.
Exit status 77 (skipped) without a compiler.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

STANDARD = {"c": "c11", "c++": "c++17"}
INIT = re.compile(r"^\s*#\s*define\s+(TENON_(\w+)_INIT)\b", re.M)
LITERAL = re.compile(r"^\s*#\s*define\s+(tenon_\w+_params)\(", re.M)


def source_for(header, text, language):
    lines = [f"#include <tenon/{header}>"] * 2
    lines.append("typedef int tenon_test_not_empty;")
    for macro, stem in INIT.findall(text):
        name = stem.lower()
        lines.append(f"tenon_{name} test_{name}(void);")
        lines.append(f"tenon_{name} test_{name}(void) {{ tenon_{name} p = {macro}; return p; }}")
    for name in LITERAL.findall(text) if language == "c" else []:
        lines.append(f"uint32_t test_literal_{name}(const {name} *p);")
        lines.append(f"uint32_t test_{name}(void);")
        lines.append(f"uint32_t test_{name}(void) {{ return test_literal_{name}(&{name}(.struct_size = 3)); }}")
    return "\n".join(lines) + "\n"


def public_headers(folders):
    found = {}
    for folder in folders:
        for path in sorted(Path(folder, "tenon").glob("*.h")):
            found.setdefault(path.name, path)
    return found


def compile_alone(compiler, language, flags, path):
    command = [*compiler, "-x", language, f"-std={STANDARD[language]}", "-Wall", "-Wextra",
               "-Wpedantic", "-Werror", "-fsyntax-only", *flags, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(" ".join(command), done.stdout, done.stderr, sep="\n")
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--language", choices=sorted(STANDARD), required=True)
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--flag", action="append", default=[], help="one more compiler flag")
    parser.add_argument("compiler", nargs="*")
    args = parser.parse_args()
    if not args.compiler or not shutil.which(args.compiler[0]):
        print("no compiler is installed")
        return 77
    headers = public_headers(args.include)
    flags = [f"-I{folder}" for folder in args.include] + args.flag
    bad = []
    with tempfile.TemporaryDirectory(prefix="tenon-headers-") as folder:
        for name, path in headers.items():
            source = Path(folder, name + ".txt")
            source.write_text(source_for(name, path.read_text(encoding="utf-8"), args.language),
                              encoding="utf-8")
            if not compile_alone(args.compiler, args.language, flags, source):
                bad.append(name)
    print(f"{len(headers)} headers; fail to compile alone as {STANDARD[args.language]}: {', '.join(bad) or 'none'}")
    return 1 if bad or not headers else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares the binary interface of the public headers with the description that is checked in.

    abi.py --include include --include build/include --kept src/tenon.abi [--write] [--flag=-I…] -- cc

A library is generated from the headers with an empty body for each declared function, so it has
only the types that callers see. One extra function uses each enumeration, since most members of
enumeration type are declared as uint32_t. libabigail's abidw describes the library and abidiff
compares. --write replaces the checked-in description.

Exit status 77 (skipped) without libabigail, or on a machine whose type sizes differ from the
checked-in description's (x86-64).
"""
import argparse
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ENUM = re.compile(r"^typedef enum (tenon_\w+)", re.M)
DECLARATION = re.compile(r"^(TENON_(?:API|CALL) [^;{}]*\));", re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def stubs(folders):
    paths = {path.name: path for folder in folders for path in sorted(Path(folder, "tenon").glob("*.h"))}
    text = "".join(COMMENT.sub("", path.read_text(encoding="utf-8")) for _, path in sorted(paths.items()))
    functions = DECLARATION.findall(text) + [f"void uses_{name}({name} value)" for name in ENUM.findall(text)]
    return "#include <tenon/tenon.h>\n" + "".join(f"{function}\n{{\n    __builtin_trap();\n}}\n"
                                                   for function in functions)


def describe(args, folder):
    source, library, out = (Path(folder, name) for name in ("stubs.c", "libtenon.so", "tenon.abi"))
    source.write_text(stubs(args.include), encoding="utf-8")
    includes = [f"-I{include}" for include in args.include]
    subprocess.run([*args.compiler, "-std=c11", "-g", "-O0", "-fPIC", "-shared", "-w", "-Wl,-soname,libtenon.so",
                    f"-ffile-prefix-map={folder}=.", *includes, *args.flag, str(source), "-o", str(library)], check=True)
    subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed",
                    "--type-id-style", "hash", "--out-file", str(out), str(library)], check=True)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--kept", required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--flag", action="append", default=[], help="one more compiler flag")
    parser.add_argument("compiler", nargs="+")
    args = parser.parse_args()
    if not shutil.which("abidw") or not shutil.which("abidiff"):
        print("libabigail (abigail-tools) is not installed: skipped")
        return 77
    if platform.machine() != "x86_64" or sys.maxsize < 2**32:
        print(f"the checked-in interface is for x86-64, this machine is {platform.machine()}: skipped")
        return 77
    with tempfile.TemporaryDirectory(prefix="tenon-abi-") as folder:
        made = describe(args, folder)
        if args.write:
            shutil.copy(made, args.kept)
            print(f"{args.kept}: {made.stat().st_size} bytes")
            return 0
        done = subprocess.run(["abidiff", args.kept, str(made)], text=True, stdout=subprocess.PIPE, check=False)
    if done.returncode == 0:
        print("the interface is unchanged")
        return 0
    print(done.stdout, "\nThe interface has changed. docs/abi.md lists allowed changes; ./run symbols accepts this one.",
          sep="")
    return 1


if __name__ == "__main__":
    sys.exit(main())

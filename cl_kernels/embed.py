#!/usr/bin/env python3
"""Turns OpenCL C kernel files into one C file of byte arrays.

    embed.py --output kernels.c --depfile kernels.d --root cl_kernels gemm/plain.cl ...

`--symbol` names the table, `--search` adds a folder in which included files are looked up last.

Each kernel file becomes one self-contained text: `#include "x.clh"` is replaced by the file's text,
once a kernel (a second include of the same file expands to nothing, so shared files need no
guards and must not rely on being included twice). `#include <x.h>` stays as it is, for headers that the
host's C shares and keeps behind its own condition. Names are looked up from the root first, then from
the including file's folder. `#line` directives keep build logs pointing at the real file and line.
Everything else, comments included, is passed on as it stands.
"""
import argparse
import os
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'\s*#\s*include\b\s*(.*)$')
QUOTED = re.compile(r'"([^"]+)"\s*(//.*|/\*.*\*/\s*)?$')
PRAGMA_ONCE = re.compile(r'\s*#\s*pragma\s+once\s*$')

FNV_OFFSET = 0xCBF29CE484222325
FNV_PRIME = 0x100000001B3


class EmbedError(Exception):
    """What is wrong with a kernel file, as file:line: message."""


def fnv1a64(data):
    """The 64-bit FNV-1a hash of bytes."""
    value = FNV_OFFSET
    for byte in data:
        value = ((value ^ byte) * FNV_PRIME) & 0xFFFFFFFFFFFFFFFF
    return value


class Expander:
    """Expands one kernel file; remembers which files it has taken in."""

    def __init__(self, root, reads, search=()):
        self.root = root
        self.search = search
        self.reads = reads
        self.seen = set()
        self.lines = []

    def shown(self, path):
        """The path a build log shows: the root's own name and what follows."""
        return Path(self.root.name, os.path.relpath(path, self.root)).as_posix()

    def find(self, name, including):
        for folder in (self.root, including.parent, *self.search):
            candidate = Path(os.path.normpath(folder / name))
            if candidate.is_file():
                return candidate
        return None

    def expand(self, path):
        self.seen.add(path)
        self.reads.add(path)
        shown = self.shown(path)
        self.lines.append(f'#line 1 "{shown}"')
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            include = INCLUDE.match(line)
            if include:
                self.include(include.group(1), path, number)
            elif PRAGMA_ONCE.match(line):
                self.lines.append("")
            else:
                self.lines.append(line)

    def include(self, operand, path, number):
        shown = self.shown(path)
        quoted = QUOTED.match(operand)
        if operand.startswith("<"):
            self.lines.append(f"#include {operand}")
            return
        if not quoted:
            raise EmbedError(f'{shown}:{number}: expected #include "file", found {operand!r}')
        target = self.find(quoted.group(1), path)
        if target is None:
            raise EmbedError(f'{shown}:{number}: cannot find "{quoted.group(1)}"')
        if target in self.seen:
            self.lines.append("")
            return
        self.expand(target)
        self.lines.append(f'#line {number + 1} "{shown}"')


def c_array(symbol, data):
    rows = []
    terminated = data + b"\0"
    for start in range(0, len(terminated), 24):
        rows.append("    " + ",".join(str(b) for b in terminated[start:start + 24]) + ",")
    return f"static const unsigned char {symbol}[] = {{\n" + "\n".join(rows) + "\n};\n"


def c_file(kernels, symbol="tenon_kernel_source"):
    """kernels: sorted list of (name, bytes)."""
    parts = ['/* Made by cl_kernels/embed.py. */\n#include "runtime/kernel_sources.h"\n']
    rows = []
    for index, (name, data) in enumerate(kernels):
        parts.append(f"/* {name} */\n" + c_array(f"source_{index}", data))
        rows.append(f'    {{"{name}", source_{index}, {len(data)}u, 0x{fnv1a64(data):016x}ULL}},')
    parts.append(f"const struct tenon_kernel_source {symbol}s[] = {{\n"
                 + "\n".join(rows) + "\n};\n")
    parts.append(f"const size_t {symbol}_count = {len(kernels)};\n")
    return "\n".join(parts)


def depfile(output, reads):
    def escape(path):
        return str(path).replace("$", "$$").replace(" ", "\\ ").replace("#", "\\#")
    return escape(output) + ": " + " \\\n  ".join(escape(p) for p in sorted(reads)) + "\n"


def embed(root, files, reads, search=()):
    kernels = {}
    for path in files:
        name = Path(os.path.relpath(path, root)).with_suffix("").as_posix()
        if name in kernels:
            raise EmbedError(f"{name}: given twice")
        expander = Expander(root, reads, search)
        expander.expand(path)
        kernels[name] = ("\n".join(expander.lines) + "\n").encode("utf-8")
    return sorted(kernels.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", required=True)
    parser.add_argument("--depfile", required=True)
    parser.add_argument("--root", required=True, help="the folder that kernel names are relative to")
    parser.add_argument("--search", action="append", default=[], help="a folder of included files")
    parser.add_argument("--symbol", default="tenon_kernel_source", help="what the table is called, but for its s")
    parser.add_argument("files", nargs="+", help="kernel files")
    args = parser.parse_args()
    root = Path(os.path.abspath(args.root))
    reads = set()
    try:
        kernels = embed(root, [Path(os.path.abspath(f)) for f in args.files], reads,
                        [Path(os.path.abspath(f)) for f in args.search])
    except (EmbedError, OSError, UnicodeDecodeError) as error:
        print(f"embed.py: {error}", file=sys.stderr)
        return 1
    Path(args.output).write_text(c_file(kernels, args.symbol), encoding="utf-8")
    Path(args.depfile).write_text(depfile(args.output, reads), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

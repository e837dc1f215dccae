#!/usr/bin/env python3
"""Embeds OpenCL C files in one C source file, each file once.

    embed.py --output kernels.c --depfile kernels.d --root cl_kernels gemm/plain.cl ...

`--symbol` names the table. `--search` adds a folder that is searched last for included files.

The table contains the given kernel files and all files that they include, without comments. Line
numbers are preserved, and build logs therefore refer to the original file. `#include "x.clh"` is
searched in the root first, then in the including file's folder, and is replaced by the included
file's name in the table. The library assembles a program's text when it builds the program
(runtime/program/kernel_sources.h). `#include <x.h>` is kept, for headers that the host shares and
includes conditionally.
"""
import argparse
import os
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r"\s*#\s*include\b\s*(.*)$")
QUOTED = re.compile(r'"([^"]+)"\s*$')
PRAGMA_ONCE = re.compile(r"\s*#\s*pragma\s+once\s*$")
# A macro with a variable number of arguments, which OpenCL C does not have; clang accepts it, NVIDIA's compiler does not.
VARIADIC = re.compile(r"\s*#\s*define\s+\w+\([^)]*\.\.\.\s*\)")
# A string or character literal, which may contain comment delimiters; or a comment.
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.S)
CONTINUATION = re.compile(r"[ \t]+\\$", re.M)


class EmbedError(Exception):
    """An error in a kernel file, as file:line: message."""


def without_comments(text):
    """Returns the text with a space in place of each comment, and the same number of lines."""
    def replace(match):
        token = match.group(0)
        if token.startswith("//"):
            return ""
        if token.startswith("/*"):
            # A comment within a macro keeps its line continuations.
            return "".join(re.findall(r"\\?\n", token)) or " "
        return token
    lines = (line.rstrip() for line in TOKEN.sub(replace, text).split("\n"))
    return CONTINUATION.sub(r" \\", "\n".join(lines))


class Collector:
    """Collects files and the files they include, by their names in the table."""

    def __init__(self, root, search=()):
        self.root = root
        self.search = search
        self.texts = {}
        self.reads = set()

    def name_of(self, path):
        for folder in (self.root, *self.search):
            if path.is_relative_to(folder):
                return path.relative_to(folder).as_posix()
        raise EmbedError(f"{path}: is in none of the folders")

    def shown(self, path):
        """Returns the path for messages, which begins with the name of the root."""
        return Path(self.root.name, os.path.relpath(path, self.root)).as_posix()

    def find(self, name, including):
        for folder in (self.root, including.parent, *self.search):
            candidate = Path(os.path.normpath(folder / name))
            if candidate.is_file():
                return candidate
        return None

    def add(self, path):
        name = self.name_of(path)
        if name in self.texts:
            if path not in self.reads:
                raise EmbedError(f"{self.shown(path)}: {name} is another file already")
            return name
        self.texts[name] = None  # in progress: a file must not include itself
        self.reads.add(path)
        text = without_comments(path.read_text(encoding="utf-8"))
        lines = [self.line(path, number, line)
                 for number, line in enumerate(text.rstrip("\n").split("\n"), 1)]
        self.texts[name] = ("\n".join(lines) + "\n").encode("utf-8")
        return name

    def line(self, path, number, line):
        include = INCLUDE.match(line)
        where = f"{self.shown(path)}:{number}"
        if VARIADIC.match(line):
            raise EmbedError(f"{where}: OpenCL C has no macros with a variable number of arguments")
        if PRAGMA_ONCE.match(line):
            return ""  # the library includes each file once
        if not include or include.group(1).startswith("<"):
            return line
        quoted = QUOTED.match(include.group(1))
        if not quoted:
            raise EmbedError(f'{where}: expected #include "file", found {include.group(1)!r}')
        target = self.find(quoted.group(1), path)
        if target is None:
            raise EmbedError(f'{where}: cannot find "{quoted.group(1)}"')
        return f'#include "{self.add(target)}"'


def c_array(symbol, data):
    rows = []
    terminated = data + b"\0"
    for start in range(0, len(terminated), 24):
        rows.append("    " + ",".join(str(b) for b in terminated[start:start + 24]) + ",")
    return f"static const char {symbol}[] = {{\n" + "\n".join(rows) + "\n};\n"


def c_file(texts, root_name, symbol):
    """Returns the C file; texts is a sorted list of (name, bytes)."""
    parts = ['/* Made by cl_kernels/embed.py. */\n#include "runtime/program/kernel_sources.h"\n']
    rows = []
    for index, (name, data) in enumerate(texts):
        parts.append(f"/* {name} */\n" + c_array(f"text_{index}", data))
        rows.append(f'    {{"{name}", text_{index}, {len(data)}u}},')
    parts.append("static const struct tenon_kernel_file files[] = {\n" + "\n".join(rows) + "\n};\n")
    parts.append(f'const struct tenon_kernel_sources {symbol} = '
                 f'{{"{root_name}", files, {len(texts)}u}};\n')
    return "\n".join(parts)


def depfile(output, reads):
    def escape(path):
        return str(path).replace("$", "$$").replace(" ", "\\ ").replace("#", "\\#")
    return escape(output) + ": " + " \\\n  ".join(escape(p) for p in sorted(reads)) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", required=True)
    parser.add_argument("--depfile", required=True)
    parser.add_argument("--root", required=True, help="the folder that names are relative to")
    parser.add_argument("--search", action="append", default=[], help="a folder of included files")
    parser.add_argument("--symbol", default="tenon_kernel_sources", help="the table's name")
    parser.add_argument("files", nargs="+", help="kernel files")
    args = parser.parse_args()
    root = Path(os.path.abspath(args.root))
    collector = Collector(root, [Path(os.path.abspath(f)) for f in args.search])
    try:
        for file in args.files:
            collector.add(Path(os.path.abspath(file)))
    except (EmbedError, OSError, UnicodeDecodeError) as error:
        print(f"embed.py: {error}", file=sys.stderr)
        return 1
    text = c_file(sorted(collector.texts.items()), root.name, args.symbol)
    Path(args.output).write_text(text, encoding="utf-8")
    Path(args.depfile).write_text(depfile(args.output, collector.reads), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Writes the man page of a command from the command's own help, so that the two cannot differ.

    manual.py NAME PROGRAM OUTPUT

NAME.txt beside this script has the rest: sections in words, each "== TITLE" and its lines; a line "@help" stands
for what the program says of itself, "NAME: text" lines for a list, lines set in by four blanks for commands.
"""
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def said(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True,
                          encoding="utf-8").stdout


def escaped(line):
    """As roff takes a line of text."""
    line = line.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return "\\&" + line if line[:1] in (".", "'") else line


def as_it_stands(text):
    return [".nf", *map(escaped, text.rstrip("\n").splitlines()), ".fi"]


def helps(program):
    """What the program says, then what it says of each of its commands, where it has any."""
    text = said(program, "help")
    lines = as_it_stands(text)
    part = re.search(r"(?ms)^commands:\n(.*)", text)
    for command in re.findall(r"(?m)^  ([a-z]+) ", part[1]) if part else []:
        lines += [f".SS {escaped(command)}", *as_it_stands(said(program, "help", command))]
    return lines


def page(name, program):
    text = (HERE / f"{name}.txt").read_text(encoding="utf-8")
    lines = [f'.TH {name.upper()} 1 "2026-11-23" "Tenon" "Tenon"']
    for line in text.splitlines():
        item = re.fullmatch(r"([A-Z_]+|\d|[~/][^: ]+): (.*)", line)
        if line.startswith("== "):
            lines.append(f".SH {line[3:]}")
        elif line == "@help":
            lines += helps(program)
        elif line.startswith("    "):
            lines += [".RS 4", *as_it_stands(line[4:]), ".RE"]
        elif item:
            lines += [".TP", f".B {escaped(item[1])}", escaped(item[2])]
        elif line:
            lines.append(escaped(line))
        elif not lines[-1].startswith(".SH"):
            lines.append(".PP")
    kept = [line for i, line in enumerate(lines)
            if line != ".PP" or (i + 1 < len(lines) and not lines[i + 1].startswith((".SH", ".TP", ".PP", ".nf", ".RS")))]
    return "\n".join(kept) + "\n"


def main():
    name, program, output = sys.argv[1:]
    Path(output).write_text(page(name, program), encoding="utf-8")


if __name__ == "__main__":
    main()

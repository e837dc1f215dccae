#!/usr/bin/env python3
"""Generates the man page of a command from the command's own help, so that the two cannot differ.

    manual.py NAME PROGRAM OUTPUT

NAME.txt, in the folder of this script, has the other sections: each begins with "== TITLE". A line "@help" is replaced by
the program's help text, "NAME: text" lines form a list, and lines indented by four spaces are commands.
"""
import re
import subprocess
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
WIDTH = 70  # of preformatted lines: 80 columns minus the margins of man and of an example

KEEP = "\u00a0"  # non-breaking space


def said(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True,
                          encoding="utf-8").stdout


def escaped(line):
    """Returns a line of text escaped for roff."""
    line = line.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return "\\&" + line if line[:1] in (".", "'") else line


def items(text):
    """Splits a text into paragraphs and list entries: (first column, column of the further lines, is text, lines). The text of
    an entry begins at one column, at least two spaces after its name."""
    found = []
    for line in text.splitlines():
        blanks, entry = len(line) - len(line.lstrip()), re.match(r" *\S+(?: \S+)*  +(?=\S)", line)
        usage = re.match(r"[Uu]sage: \S+ (?=\S)", line)
        named = entry or usage
        goes_on = found and found[-1][2] and line.strip() and not named and blanks == found[-1][1]
        if goes_on:
            found[-1][3].append(line)
        else:
            found.append((blanks, len(named[0]) if named else blanks, line.strip() != "", [line]))
    return found


def wrapped(text):
    """Returns the lines of a text with a width of at most WIDTH; items with a longer line are wrapped again."""
    lines = []
    for _, column, _, own in items(text):
        if max(map(len, own)) > WIDTH:
            words = " ".join([own[0], *map(str.strip, own[1:])])
            if words.lower().startswith("usage: "):
                words = re.sub(r"\[[^][]*(\[[^][]*\])?[^][]*\]", lambda option: option[0].replace(" ", KEEP), words)
            own = textwrap.wrap(words[column:], WIDTH - column, break_long_words=False, break_on_hyphens=False)
            own = [words[:column] + own[0], *(" " * column + line for line in own[1:])]
        lines += [line.replace(KEEP, " ") for line in own]
    return lines


def as_it_stands(text):
    return [".nf", *map(escaped, wrapped(text.rstrip("\n"))), ".fi"]


def helps(program):
    """Returns the program's help, followed by the help of each of its commands."""
    text = said(program, "help")
    lines = as_it_stands(text)
    part = re.search(r"(?m)^Commands:\n((?:  .*\n)+)", text)
    for command in re.findall(r"(?m)^  ([a-z]+) ", part[1]):
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

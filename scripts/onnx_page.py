#!/usr/bin/env python3
"""./run docs: writes the lists in docs/onnx.md from the tables of tenon.onnx and the list of tests that are not run.

The tables are parsed, not imported: neither the package onnx nor a built library is needed.
"""
import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "onnx.md"
PACKAGE = ROOT / "python" / "tenon" / "onnx"
TESTS = ROOT / "scripts" / "onnx_tests.txt"
MARKS = "<!-- begin {0}: written by scripts/onnx_page.py -->\n", "<!-- end {0} -->\n"


def value_of(path, name):
    """Returns the source lines and the parsed value of a variable of a module."""
    text = path.read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        target = getattr(node, "target", None) or next(iter(getattr(node, "targets", [])), None)
        if getattr(target, "id", None) == name:
            return text.splitlines(), node.value
    raise SystemExit(f"{path.name} has no {name}")


def groups():
    """Returns [(comment, [operator])] of the table."""
    lines, table = value_of(PACKAGE / "_table.py", "OPERATORS")
    found = []
    keys = {key.lineno: key.value for key in table.keys}
    for number in range(table.lineno, table.end_lineno + 1):
        text = lines[number - 1].strip()
        if text.startswith("# "):
            found.append((text[2:], []))
        elif number in keys and not keys[number].startswith("tenon."):
            found[-1][1].append(keys[number])
    return found


def operators():
    rows = ["| | Operators |", "|---|---|"]
    rows += [f"| {name} | {', '.join(f'`{o}`' for o in sorted(listed))} |" for name, listed in groups() if listed]
    _, control = value_of(PACKAGE / "_table.py", "CONTROL")
    rows.append(f"| Shapes and control flow | {', '.join(f'`{o.value}`' for o in control.elts)} |")
    return "\n".join(rows) + "\n"


def shape_operators():
    _, table = value_of(PACKAGE / "_hostops.py", "SHAPE_OPERATORS")
    return ", ".join(f"`{name}`" for name in ["Shape", "Size", *(k.value for k in table.keys)]) + "\n"


def wrapped(text, width=100):
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines) + "\n"


def reasons():
    """Returns the reasons for tests that cannot be expressed, each once."""
    section = TESTS.read_text(encoding="utf-8").split("== ")[1]
    found = dict.fromkeys(line.split(None, 1)[1] for line in section.splitlines()[1:] if line.strip())
    return "".join(f"- {reason}\n" for reason in found)


def written(text):
    """Returns the page with new lists."""
    for name, content in (("operators", operators()), ("shape operators", wrapped(shape_operators())),
                          ("reasons", reasons())):
        begin, end = (mark.format(name) for mark in MARKS)
        pattern = re.compile(f"({re.escape(begin)}).*?({re.escape(end)})", re.S)
        if not pattern.search(text):
            raise SystemExit(f"{PAGE.name} has no marks for {name}")
        text = pattern.sub(lambda found, content=content: found[1] + "\n" + content + "\n" + found[2], text)
    return text


def main():
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Doxygen input filter for the Markdown pages (docs/Doxyfile): they are written for GitHub, whose anchors and relative links
Doxygen does not support.

    reference_filter.py PAGE

Adds an anchor to each heading, rewrites links between pages to these anchors, and makes links to other files relative to
build/reference/html.
"""
import os
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "build" / "reference" / "html"
LINK = re.compile(r"(?<!`)\]\((?!https?:)([^)\s]+)\)")


def name(page):
    """Returns a page's name: README.md is the main page, docs/guide.md is guide."""
    path = page.resolve().relative_to(ROOT)
    if str(path) == "README.md":
        return "mainpage"
    return re.sub(r"^docs-|\.md$", "", "-".join(path.parts)).lower()


def anchor(page, heading):
    """Returns GitHub's anchor of a heading, prefixed by the page's name; main() numbers repeated ones like GitHub."""
    text = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).strip().lower()
    return f"{name(page)}-" + re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def followed(page, target):
    path, _, part = target.partition("#")
    other = (page.parent / path).resolve() if path else page.resolve()
    if other.suffix == ".md":
        return f"](#{name(other)}{'-' + part if part else ''})"
    return f"]({os.path.relpath(other, OUTPUT)})"


def main():
    page = Path(sys.argv[1])
    in_code = titled = False
    known = Counter()
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            line = LINK.sub(lambda found: followed(page, found[1]), line)
            heading = re.fullmatch(r"#+ +(.*)", line)
            if heading:
                own = anchor(page, heading[1]) if titled else name(page)
                line += f" {{#{own}{f'-{known[own]}' if known[own] else ''}}}"
                known[own] += 1
                titled = True
        print(line)


if __name__ == "__main__":
    main()

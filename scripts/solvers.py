#!/usr/bin/env python3
"""./run docs: generates docs/solvers.md, the page of solvers, from the output of `tenon solvers`."""
import subprocess
import sys
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "solvers.md"
TITLE = """# Solvers

The solvers of each operation. `./run docs` generates this page from the output of `tenon solvers`;
the descriptions are in the source of each solver (`serves` and `needs`, `src/dispatch/solver.h`).
[Architecture](architecture.md#solvers) describes solver selection and the parameters. The numbers
after a parameter are the minimum and the maximum of its range.
"""
HEADER = "| Solver | Parameters | Supports | Requires |\n|---|---|---|---|\n"


def read(listing):
    """Parses the output of `tenon solvers`; returns [(name, {label: text})]."""
    solvers = []
    for line in listing.splitlines():
        if line.startswith("  "):
            label, text = line.split(maxsplit=1)
            solvers[-1][1][label] = text
        else:
            solvers.append((line, {}))
    return solvers


def row(name, facts):
    if "serves" not in facts:
        sys.exit(f"solvers: {name} has no description (tn_solver.serves)")
    parameters = facts.get("parameters", "").replace("..", "–")
    return f'| `{name}` | {parameters} | {facts["serves"]} | {facts.get("needs", "nothing")} |\n'


def page(listing):
    """Returns the text of the page."""
    text, family = TITLE, None
    for name, facts in read(listing):
        before, family = family, name.partition("/")[0]
        if family != before:
            text += f"\n## {family}\n\n{HEADER}"
        text += row(name, facts)
    return text


def main():
    tenon = sys.argv[1] if len(sys.argv) > 1 else "build/tools/tenon"
    done = subprocess.run([tenon, "solvers"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"solvers: {tenon} solvers failed:\n{done.stderr.strip()}")
    DOCUMENT.write_text(page(done.stdout), encoding="utf-8")
    print("wrote docs/solvers.md")


if __name__ == "__main__":
    main()

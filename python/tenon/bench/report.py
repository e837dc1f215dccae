"""tenon-bench report: draws the files of tenon-bench as one page."""
import argparse
import os
import sys
from pathlib import Path
from typing import List, Tuple

from .machines import group
from .results import KEPT, FileError, ResultFile, read

DESCRIPTION = """Writes one page, which works without a network, from files of tenon-bench run, regret, predict, first and ceilings --json,
also of several machines: machines, comparisons with other libraries, rooflines, a heat map, start, errors, selection, all
cases, and the commands."""
LIMIT = 2 << 20  # bytes of a page that a phone loads


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="tenon-bench report", description=DESCRIPTION)
    made.add_argument("files", metavar="FILE.json", nargs="+")
    made.add_argument("-o", "--output", metavar="PAGE.html", required=True)
    made.add_argument("--svg", metavar="FOLDER", help="also write each figure as an SVG file, for documents")
    return made


def readable(paths: List[str]) -> Tuple[List[ResultFile], List[str]]:
    """Returns the parts of all files, and which files were left out because their measurements were not kept."""
    parts, left_out = [], []
    for path in dict.fromkeys(paths):
        try:
            parts += read(path)
        except FileError as error:
            if not str(error).endswith(KEPT):
                raise
            left_out.append(Path(path).stem)
    return parts, left_out


def write(path: Path, text: str) -> None:
    """Writes a file under another name, and renames it when it is complete."""
    part = path.with_name(path.name + ".new")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise FileError(f"{path}: cannot be written: {error.strerror}") from None


def draw(args: argparse.Namespace) -> int:
    parts, left_out = readable(args.files)
    if not any(part.cases or part.regrets or part.firsts for part in parts):
        raise FileError("the files have no measurements: " + "; ".join(left_out or args.files))
    from . import page
    machines = group(parts)
    text, charts = page.page(machines, left_out)
    write(Path(args.output), text)
    if args.svg:
        try:
            Path(args.svg).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{args.svg}: cannot be created: {error.strerror}") from None
        for chart in charts + page.heat_charts(machines):
            write(Path(args.svg, f"{chart.name}.svg"), chart.svg(standalone=True))
    size = len(text.encode("utf-8"))
    print(f"{args.output}: {sum(len(m.cases) + len(m.firsts) for m in machines)} cases on {len(machines)} machines, {size / 1e6:.1f} MB"
          + (f"; {len(left_out)} files were left out" if left_out else ""))
    if size > LIMIT:
        print("tenon-bench: the page is larger than 2 MB; give it fewer files", file=sys.stderr)
    return 0


def main(words: List[str]) -> int:
    args = parser().parse_args(words)
    try:
        return draw(args)
    except FileError as error:
        print(f"tenon-bench: {error}", file=sys.stderr)
    except ImportError as error:
        print(f"tenon-bench: report draws with matplotlib 3.6 or later, but {sys.executable} has none ({error}); Debian's is "
              "python3-matplotlib, PyPI's matplotlib", file=sys.stderr)
    return 2

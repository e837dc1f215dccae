#!/usr/bin/env python3
"""Draws docs/images/timeline.svg: when the kernels, copies, reductions and messages of a data-parallel step run.

    timeline.py BUILD

The test group_timeline of the build folder, which must be built, records the times on this machine. Debian's
python3-matplotlib draws them.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "timeline.svg"
# Colors that are readable on white and on black, since the page may have either background.
INK = "#7d8590"
COLORS = {"kernel": "#388bfd", "message": "#db6d28", "copy": "#3fb950", "reduction": "#f85149"}
ROWS = {"kernel": "backward pass", "copy": "copies", "reduction": "reductions", "message": "messages"}


def record(build):
    """Runs the test, and returns the intervals with times in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "timeline.json"
        subprocess.run([build / "tests" / "ops" / "test_group_timeline"], check=True,
                       env=dict(os.environ, TENON_TIMELINE=str(path), TENON_SOURCE_ROOT=str(ROOT)))
        return json.loads(path.read_text(encoding="utf-8"))


def places(spans):
    """Returns the row of each process and kind, from the top."""
    pairs = [(process, kind) for process in sorted({span["process"] for span in spans}) for kind in ROWS]
    return {pair: -index - 0.6 * pair[0] for index, pair in enumerate(pairs)}


def draw(spans):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tenon", "font.size": 9, "font.family": "sans-serif",
                                "text.color": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
                                "axes.edgecolor": INK})
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(8.4, 3.2))
    rows = places(spans)
    for (process, kind), row in rows.items():
        mine = [span for span in spans if (span["process"], span["kind"]) == (process, kind)]
        # A hundredth of a millimeter would not be seen: every interval has a thin edge.
        axes.broken_barh([(span["begin"], span["end"] - span["begin"]) for span in mine], (row - 0.38, 0.76),
                         facecolor=COLORS[kind], edgecolor=COLORS[kind], linewidth=0.6, alpha=0.85)
    axes.set_yticks(list(rows.values()), [f"process {process}: {ROWS[kind]}" for process, kind in rows])
    axes.set_xlabel("milliseconds")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.savefig(PICTURE, transparent=True, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
    text = PICTURE.read_text(encoding="utf-8")
    PICTURE.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", encoding="utf-8")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        draw(record(Path(sys.argv[1])))
    except ImportError as error:
        sys.exit(f"timeline: {error}; Debian's python3-matplotlib draws it")
    print(f"wrote {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

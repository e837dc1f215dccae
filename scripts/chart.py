#!/usr/bin/env python3
"""./run docs: draws docs/images/speed.svg, the chart of README.md, from files of bench/results/.

A bar is the geometric mean of a suite's ratios, a peer's time over Tenon's; its dot is the worst case.
What is drawn is the newest file of each kind that is kept; the caption says where it was measured, and beside which versions.
"""
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
CHART = ROOT / "docs" / "images" / "speed.svg"

# What of it is drawn: a file's kind, its suite, and peers by their names in the file and here.
GROUPS = [
    ("Matrix products", [
        ("cpu-suites", "gemm-cpu f32", "OpenBLAS", "OpenBLAS"),
        ("cpu-suites", "gemm-cpu f32", "oneDNN", "oneDNN"),
        ("cpu-clblast", "gemm-cpu f32", "CLBlast, tuned", "CLBlast, after its tuners"),
    ]),
    ("Convolutions", [
        ("cpu-suites", "conv-cpu", "oneDNN, plain", "oneDNN, the same layout"),
        ("cpu-suites", "conv-cpu", "oneDNN, blocked", "oneDNN, a layout of its own"),
    ]),
    ("Their gradients", [
        ("cpu-suites", "conv-cpu-backward", "oneDNN, plain", "oneDNN, the same layout"),
        ("cpu-suites", "conv-cpu-depthwise (gradients)", "oneDNN, plain",
         "oneDNN, depthwise"),
    ]),
]

# Each can be read on white and on black: the page may be either.
INK, BAR, WORST = "#7d8590", "#388bfd", "#db6d28"


def newest(kind):
    """The newest file of a kind."""
    names = sorted(RESULTS.glob(f"????-??-??-{kind}.json"))
    if not names:
        sys.exit(f"chart: bench/results has no {kind}")
    return json.loads(names[-1].read_text(encoding="utf-8"))


def bars():
    """(group, peer, geometric mean, least) of each, as texts of the files."""
    found = []
    for group, rows in GROUPS:
        for kind, suite, peer, label in rows:
            file = newest(kind)
            columns = file["columns"]
            row = next(r for r in file["rows"] if r[0] == suite and r[1] == peer)
            found.append((group, label, row[columns.index("Geometric mean")],
                          row[columns.index("Least")]))
    return found


def said(mean, least):
    """What stands at the end of a bar."""
    return f"{mean}, worst {least}"


def beside(file):
    """A file's day, and the versions of the peers in it."""
    peers = (f"{name} {version}" for name, version in file["peers"].items())
    return f'{" and ".join(peers)} on {file["recorded"]}'


def caption():
    """Where it was measured, and beside what, as the files say: two lines for each place."""
    kinds = sorted({kind for _, rows in GROUPS for kind, *_ in rows})
    files = sorted((newest(kind) for kind in kinds), key=lambda file: file["recorded"])
    places = {}
    for file in files:
        places.setdefault(file["device"], []).append(beside(file))
    return "\n".join(f'{place}\n{", ".join(of)}' for place, of in places.items())


def draw():
    """The chart as SVG, whose texts are texts."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tenon", "font.size": 10,
                                "font.family": "sans-serif", "text.color": INK,
                                "axes.labelcolor": INK, "xtick.color": INK,
                                "ytick.color": INK, "axes.edgecolor": INK})
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(8.4, 3.9))
    place, ticks = 0.0, []
    group_of = None
    for group, label, *texts in bars():
        mean, least = map(float, texts)
        if group != group_of:
            place -= 0.5
            axes.text(0.01, place, group, transform=axes.get_yaxis_transform(), weight="bold",
                      ha="left", va="center")
            place -= 0.85
            group_of = group
        axes.barh(place, mean - 1, left=1, height=0.62, color=BAR)
        axes.plot([least], [place], "o", color=WORST, markersize=5)
        axes.text(max(mean, 1) * 1.06, place, said(*texts), va="center")
        ticks.append((place, label))
        place -= 0.9
    axes.set_xscale("log")
    axes.set_xlim(0.12, 32)
    axes.set_xticks([0.125, 0.25, 0.5, 1, 2, 4, 8, 16],
                    ["⅛", "¼", "½", "1", "2", "4", "8", "16"])
    axes.minorticks_off()
    axes.set_yticks(*zip(*ticks))
    axes.axvline(1, color=INK, linewidth=1)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.text(0.5, -0.02, "times as fast as the peer, f32: bars are geometric means, dots the worst case of the suite\n"
                + caption(), fontsize=8.5, ha="center", va="top")
    CHART.parent.mkdir(exist_ok=True)
    figure.savefig(CHART, transparent=True, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)


def main():
    try:
        draw()
    except ImportError as error:
        sys.exit(f"chart: {error}; Debian's python3-matplotlib draws it")
    text = CHART.read_text(encoding="utf-8")
    CHART.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n",
                     encoding="utf-8")
    print(f"wrote {CHART.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

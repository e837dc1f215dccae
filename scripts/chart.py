#!/usr/bin/env python3
"""./run docs: draws docs/images/speed.svg, the chart of README.md, from files of bench/results/.

A bar is the geometric mean of a suite's ratios (the peer's time over Tenon's) from the newest file that has one; its dot is
the worst case in all files. If that file has two versions of a peer, each has a bar. A bar whose individual measurements were
not kept is marked. The caption names the machines and the versions of the peers.
"""
import sys

from measures import ROOT, devices_of, files, least, newest_editions

CHART = ROOT / "docs" / "images" / "speed.svg"

# The suites in the chart, with each peer's name in the result files and its label in the chart.
GROUPS = [
    ("Matrix products", [
        ("gemm-cpu", "openblas", "OpenBLAS"),
        ("gemm-cpu", "onednn", "oneDNN"),
        ("gemm-cpu", "clblast", "CLBlast"),
    ]),
    ("Convolutions", [
        ("conv-cpu", "onednn", "oneDNN, the same layout"),
        ("conv-cpu", "onednn-blocked", "oneDNN, a layout of its own"),
    ]),
    ("Their gradients", [
        ("conv-cpu-backward", "onednn", "oneDNN, the same layout"),
        ("conv-cpu-depthwise", "onednn", "oneDNN, depthwise"),
    ]),
]
NAMES = {"openblas": "OpenBLAS", "onednn": "oneDNN", "onednn-blocked": "oneDNN", "clblast": "CLBlast"}
# Peer versions that tenon-bench did not record before version 3 of its files: those of Debian 12, which the machines ran.
VERSIONS = {"OpenBLAS": "0.3.21", "oneDNN": "2.6"}
MARK = "*"

# Colors that are readable on white and on black, since the page may have either background.
INK, BAR, WORST = "#7d8590", "#388bfd", "#db6d28"


def bars(of=None):
    """Returns (group, peer, geometric mean, least, mark) of each bar, as strings from the files."""
    of = of or files()
    drawn = []
    for group, rows in GROUPS:
        for suite, peer, label in rows:
            measured = newest_editions(suite, peer, of)
            for edition, (file, measure) in measured.items():
                text = label.replace(NAMES[peer], version_of(file, peer, edition), 1) if len(measured) > 1 else label
                drawn.append((group, text, measure["mean"], least(suite, [edition], of), "" if "results" in file else MARK))
    return drawn


def said(mean, least, mark):
    """Returns the label at the end of a bar."""
    return f"{mean}{mark}, worst {least}"


def place_of(file):
    if isinstance(file.get("device"), str):
        return file["device"]
    return "; ".join(f'{device["platform"]}, {device["name"]}' for device in devices_of(file))


def day_of(file):
    return file.get("recorded", file.get("date", ""))[:10]


def version_of(file, peer, edition):
    """Returns the name and the version, without its fourth and later numbers, of an edition of a peer."""
    if "results" not in file:
        return f"{NAMES[peer]} {file['peers'].get(NAMES[peer], VERSIONS.get(NAMES[peer]))}"
    recorded = file.get("peers", {}).get("versions", {})
    version = recorded.get(edition) or recorded.get(edition.replace("-blocked", "")) or VERSIONS.get(NAMES[peer], "")
    return f"{NAMES[peer]} {'.'.join(version.split('.')[:3])}".strip()


def caption(of=None):
    """Returns the caption: two lines for each machine, with its dates and the versions of the peers."""
    of = of or files()
    places = {}
    for suite, peer in ((suite, peer) for _, rows in GROUPS for suite, peer, _ in rows):
        for edition, (file, _) in newest_editions(suite, peer, of).items():
            places.setdefault(place_of(file), {}).setdefault(day_of(file), set()).add(version_of(file, peer, edition))
    lines = []
    for place, days in sorted(places.items(), key=lambda pair: min(pair[1])):
        lines += [place, ", ".join(f'{" and ".join(sorted(days[day]))} on {day}' for day in sorted(days))]
    return "\n".join([*lines, f"{MARK} the individual measurements were not kept"])


def draw():
    """Draws the chart as SVG, with text as text instead of outlines."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tenon", "font.size": 10,
                                "font.family": "sans-serif", "text.color": INK,
                                "axes.labelcolor": INK, "xtick.color": INK,
                                "ytick.color": INK, "axes.edgecolor": INK})
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(8.4, 1.1 + 0.4 * len(bars())))
    place, ticks = 0.0, []
    group_of = None
    for group, label, *texts in bars():
        mean, least = map(float, texts[:2])
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
    figure.text(0.5, -0.02, "times as fast as the peer, f32: bars are geometric means, dots the worst case of all runs\n"
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

"""The comparisons of suites with peers in bench/results/: the newest mean and the worst case, for the chart and the pages."""
import json
import math
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"


def is_emulated(file):
    """Returns whether a file was measured on a device whose properties were overridden (tests/common/imaginary_device.c)."""
    return any(word.startswith("IMAGINARY_DEVICE=") for word in file.get("command", []))


def files():
    """Returns (name, content) of the result files, the oldest first, without those of emulated devices and of predictions."""
    read = [(path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in sorted(RESULTS.glob("*.json"))]
    return [(name, file) for name, file in read if not is_emulated(file) and not file.get("predicted")]


def devices_of(file):
    """Returns the devices of a file that tenon-bench wrote: several since version 3 of the format."""
    return file.get("devices") or [file["device"]]


def ratio_text(ratio):
    """Returns a ratio with two decimals, or two digits of a small one."""
    return f"{ratio:.2f}" if ratio >= 0.095 else f"{ratio:.2g}"


def is_whole(file):
    """Returns whether a file of tenon-bench run has all cases of its suites."""
    return file["complete"] and not any(re.match("--(filter|quick|solver)", word) for word in file["command"])


def measures(file):
    """Returns the comparisons in a file: suite, dtype, peer, least ratio, and the mean if it covers a whole suite."""
    if "ratios" in file.get("summary", {}):
        found = [{"suite": r["suite"], "dtype": r["dtype"], "peer": r["peer"], "least": ratio_text(r["least"])}
                 for r in file["summary"]["ratios"]]
        means = [{"mean": ratio_text(r["mean"])} if is_whole(file) else {} for r in file["summary"]["ratios"]]
        return [{**measure, **mean} for measure, mean in zip(found, means)]
    return file.get("measures", [])


def editions(peer):
    """Returns the names of a peer's two versions, which a file has or has not: the system's and PyPI's."""
    return peer, f"{peer}-pypi"


def found(suite, peer, of, dtype="f32"):
    """Returns (name, file, measure) for each comparison of a suite and type with a peer."""
    return [(name, file, m) for name, file in of for m in measures(file)
            if (m["suite"], m["dtype"], m["peer"]) == (suite, dtype, peer)]


def newest_editions(suite, peer, of, dtype="f32"):
    """Returns {edition: (file, measure)} of the means in the newest file that compares the whole suite with the peer."""
    whole = [(file, m) for _, file in of for m in measures(file)
             if (m["suite"], m["dtype"]) == (suite, dtype) and m["peer"] in editions(peer) and "mean" in m]
    if not whole:
        sys.exit(f"bench/results has no mean of {suite} {dtype} compared with {peer}")
    return {m["peer"]: (file, m) for file, m in whole if file is whole[-1][0]}


def least(suite, names, of, dtype="f32"):
    """Returns the smallest ratio of all files to the peers with these names."""
    ratios = [m["least"] for name in names for _, _, m in found(suite, name, of, dtype)]
    if not ratios:
        sys.exit(f"bench/results has no comparison of {suite} {dtype} with {names[0]}")
    return min(ratios, key=float)


def worst(suite, peer, of, dtype="f32"):
    """Returns the smallest ratio of all files to a peer, in any version."""
    return least(suite, editions(peer), of, dtype)


def newest_first(caches, words, of):
    """Returns the nanoseconds of the first use whose name contains the words, from the newest file that has it."""
    times = [r["median_ns"] for _, file in of for r in file.get("results", [])
             if r.get("caches") == caches and words in r["case"]]
    if not times:
        sys.exit(f"bench/results has no first use of \"{words}\" with {caches} caches")
    return times[-1]


def column(file, number, cell):
    """Returns the numbers in a column, from 1, of a file that is a table: of the rows that have the cell, or of all."""
    rows = [row for row in file["rows"] if cell is None or cell in row]
    if not rows:
        sys.exit(f"bench/results has no row with {cell}")
    return [float(row[number - 1]) for row in rows]


def of_column(kind, values):
    """Returns the geometric mean, the least or the largest value."""
    if kind == "mean":
        return math.exp(sum(map(math.log, values)) / len(values))
    return min(values) if kind == "worst" else max(values)

#!/usr/bin/env python3
"""Turns measurements of devices of one kind into its table, src/device/kinds/NAME.json.

    device_table.py FILE… [--as NAME] [--write]

Each FILE is what `tenon tune --export` wrote (the fastest of each call, and of a CPU how fast it
is), or `tenon-bench regret --json` (every candidate's time). The table of the devices' kind comes
out with what the files know better: a CPU's speeds, as medians of the devices, and the lists of
tiles, each of which serves most calls that those before it do not serve. --as makes a table of its
own, which has the rest from its kind, told apart from it by the last cache; --write puts it into
the tree instead of printing it.
"""
import argparse
import json
import re
import statistics
import sys
from pathlib import Path

KINDS = Path(__file__).resolve().parents[1] / "src" / "device" / "kinds"
NEAR = 1.02  # times the fastest: as good, by what two runs differ
# Lists of the table, of which solvers and types, their parameters, and how many fit
# (src/device/kind.h).
LISTS = [
    ("tiled f32", "gemm/tiled", {"f32", "f16", "bf16"}, ("mb", "nb", "kb", "mr", "nr", "lb"), 5),
    ("tiled f64", "gemm/tiled", {"f64"}, ("mb", "nb", "kb", "mr", "nr", "lb"), 5),
    ("matrix blocks", "gemm/(mma|mfma|wmma|xmx):.*st1\\b.*", None, ("mb", "nb", "wm", "wn"), 8),
    ("copied blocks", "gemm/mma:.*st[2-9].*", None, ("mb", "nb", "wm", "wn", "line"), 8),
    ("wgmma blocks", "gemm/wgmma", None, ("mb", "nb", "wm", "wn"), 8),
]
CPU_TILES, MOST_CPU_TILES = "gemm/cpu_(direct|packed)", 3
# Bytes of K in a line of a block, unless its point says otherwise.
LINE = 64
BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i8": 1, "u8": 1}
# A table's field of the model, and the measured speed that it follows.
SPEEDS = [("memory bandwidth", "memory"), ("memory cache", "cache")]
# The shares of the rate that are left to a factor that is read in place: fields, and measured names.
SHARES = [("in_place pages", "pages"), ("in_place unaligned", "unaligned")]


class Wrong(Exception):
    """A file that cannot be used, or files that do not go together."""


def whole(name):
    """The kind with all that it has from others."""
    try:
        kind = json.loads((KINDS / f"{name}.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise Wrong(f"there is no kind {name}") from error
    base = whole(kind["like"]) if "like" in kind else {}
    for key, value in kind.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        base[key] = {**base[key], **value} if both else value
    return base


def parameters(solver, dtype):
    values = {word: int(number)
              for word, number in re.findall(r"([a-z]+)(-?\d+)", solver.partition(":")[2])}
    values["line"] = values.get("kb", 0) * BYTES[dtype]
    return values


def read(path):
    """(device, [(type, {solver: nanoseconds})]) of a file."""
    try:
        file = json.loads(Path(path).read_text(encoding="utf-8"))
        device = file["device"]
        if not isinstance(device["kind"], str):
            raise TypeError("device.kind is no text")
        if file.get("format") == "tenon tuning":
            calls = [(re.search(r"=([a-z]+\d+):", o["call"])[1], {o["solver"]: o["nanoseconds"]})
                     for o in file["outcomes"]]
        else:
            calls = [(c["dtype"], {m["solver"]: m["median_ns"] for m in c["measured"]})
                     for c in file["results"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Wrong(f"{path}: {type(error).__name__}: {error}") from error
    return device, calls


def matches(solver, name):
    """Whether a name with its parameters is of solvers that are given with some or without."""
    return re.fullmatch(solver, name if ":" in solver else name.partition(":")[0])


def near_best(calls, solver, types, point_of):
    """Of each call that such a solver serves best, or nearly: the points that do."""
    sets = []
    for dtype, times in calls:
        best = min(times.values())
        points = {point_of(name, dtype) for name, time in times.items()
                  if matches(solver, name) and time <= NEAR * best}
        if points and (types is None or dtype in types):
            sets.append(points)
    return sets


def cover(sets, most):
    """The points that serve most calls, each of those that none before it serves."""
    chosen = []
    while sets and len(chosen) < most:
        counts = {}
        for points in sets:
            for point in points:
                counts[point] = counts.get(point, 0) + 1
        best = max(sorted(counts), key=counts.get)
        chosen.append(best)
        sets = [points for points in sets if best not in points]
    return chosen


def put(table, path, value):
    first, last = path.split()
    table.setdefault(first, {})[last] = value


def tile_times(calls, chosen, point_of):
    """How much longer calls take by each tile alone than by the fastest of them."""
    ratios = {tile: [] for tile in chosen}
    for dtype, times in calls:
        least = {}
        for name, time in times.items():
            if matches(CPU_TILES, name):
                tile = point_of(name, dtype)
                least[tile] = min(time, least.get(tile, time))
        for tile in set(least) & set(chosen) if len(least) > 1 else ():
            ratios[tile].append(least[tile] / min(least.values()))
    return [[*tile, round(statistics.geometric_mean(ratios[tile] or [1.0]), 2)] for tile in chosen]


def add_cpu_tiles(table, base, calls):
    def point_of(name, dtype):
        values = parameters(name, dtype)
        return (values["mr"], values["nr"] // base["lanes"])

    chosen = cover(near_best(calls, CPU_TILES, {"f32"}, point_of), MOST_CPU_TILES)
    if chosen:
        table["cpu_tiles"] = tile_times(calls, chosen, point_of)


def add_lists(table, calls):
    for path, solver, types, names, most in LISTS:
        def point_of(name, dtype, names=names):
            values = parameters(name, dtype)
            point = tuple(values[word] for word in names)
            return point[:-1] if names[-1] == "line" and values["line"] == LINE else point

        chosen = cover(near_best(calls, solver, types, point_of), most)
        if chosen:
            put(table, path, [list(point) for point in chosen])


def add_speeds(table, base, devices):
    """Of several devices the median counts; steps of a kernel follow the rate."""
    speeds = [device["speed"] for device in devices if device.get("speed")]
    if not speeds:
        return
    rate = base["reached"]["rate"] * statistics.median(speed["rate"] for speed in speeds)
    factor = rate / base["rates"]["f32"]
    for field in ("f32", "f64", "scalar"):
        put(table, f"rates {field}", round(base["rates"][field] * factor, 2))
    for field in base["steps"]:
        put(table, f"steps {field}", round(base["steps"][field] / factor, 4))
    for path, name in SPEEDS:
        median = statistics.median(speed[name] for speed in speeds)
        put(table, path, round(base["reached"][name] * median, 1))
    for path, name in SHARES:
        put(table, path, round(statistics.median(speed[name] for speed in speeds), 2))


def table_of(paths, own_name):
    """(name, table) of what all files say together."""
    files = [read(path) for path in paths]
    devices = [device for device, _ in files]
    kinds = sorted({device["kind"] for device in devices})
    if len(kinds) > 1:
        raise Wrong(f"the files are of devices of different kinds: {', '.join(kinds)}")
    base = whole(kinds[0])
    calls = [call for _, of_file in files for call in of_file if call[1]]
    if own_name is None:
        table = json.loads((KINDS / f"{kinds[0]}.json").read_text(encoding="utf-8"))
    else:
        table = {"like": kinds[0], "match": {**base["match"], "cpu_cache": min(
            device["cache"] for device in devices)}}
    names = sorted({device["name"] for device in devices})
    table["source"] = f"{len(calls)} calls measured on {', '.join(names)}."
    if base["match"].get("cpu_lanes"):
        add_speeds(table, base, devices)
        add_cpu_tiles(table, base, calls)
    add_lists(table, calls)
    return own_name or kinds[0], table


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", metavar="FILE", nargs="+")
    parser.add_argument("--as", dest="name", help="a table of its own beside that of the kind")
    parser.add_argument("--write", action="store_true", help="into the tree")
    args = parser.parse_args()
    try:
        name, table = table_of(args.files, args.name)
    except Wrong as error:
        return f"device_table: {error}"
    text = json.dumps(table, indent=2) + "\n"
    if args.write:
        (KINDS / f"{name}.json").write_text(text, encoding="utf-8")
        print(f"wrote {name}.json")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

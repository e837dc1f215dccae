#!/usr/bin/env python3
"""Converts measurements of devices of one kind to the table of the kind, src/device/kinds/NAME.json.

    device_table.py FILE… [--as NAME] [--write]

Each FILE was written by `tenon tune --export` (the fastest solver of each call, and the speed of a CPU) or by
`tenon-bench regret --json` (the time of every candidate). The script prints the table of the kind with the values replaced
for which the files have better ones: the speeds of a CPU, as medians of the devices, and the lists of tiles, in which each
tile is the best for most of the calls that the previous tiles do not cover. --as creates a separate table, which inherits the
other values from the kind and is distinguished from it by the last-level cache; --write writes to the source tree.
"""
import argparse
import json
import re
import statistics
import sys
from pathlib import Path

KINDS = Path(__file__).resolve().parents[1] / "src" / "device" / "kinds"
NEAR = 1.02  # times the fastest: equal within the variation between runs
# Lists of the table with their solvers, types, parameters and maximum lengths (src/device/kind.h).
LISTS = [
    ("tiled f32", "gemm/tiled", {"f32", "f16", "bf16"}, ("mb", "nb", "kb", "mr", "nr", "lb"), 5),
    ("tiled f64", "gemm/tiled", {"f64"}, ("mb", "nb", "kb", "mr", "nr", "lb"), 5),
    ("matrix blocks", "gemm/(mma|mfma|wmma|xmx):.*st1\\b.*", None, ("mb", "nb", "wm", "wn"), 8),
    ("copied blocks", "gemm/mma:.*st[2-9].*", None, ("mb", "nb", "wm", "wn", "line"), 8),
    ("wgmma blocks", "gemm/wgmma", None, ("mb", "nb", "wm", "wn"), 8),
]
CPU_TILES, MOST_CPU_TILES = "gemm/cpu_(direct|packed)", 3
# Default number of bytes of K in a line of a block.
LINE = 64
BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i8": 1, "u8": 1}
# Fields of the model in the table, and the measured speeds that they scale with.
SPEEDS = [("memory bandwidth", "memory"), ("memory cache", "cache")]
# Relative rates for a factor that is read in place: fields, and names of the measurements.
SHARES = [("in_place pages", "pages"), ("in_place unaligned", "unaligned")]


class Wrong(Exception):
    """A file is unusable, or the files are inconsistent."""


def whole(name):
    """Returns a kind with all inherited values."""
    try:
        kind = json.loads((KINDS / f"{name}.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise Wrong(f"unknown kind {name}") from error
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
    """Reads a file; returns (device, [(type, {solver: nanoseconds})])."""
    try:
        file = json.loads(Path(path).read_text(encoding="utf-8"))
        (device,) = file["devices"] if "devices" in file else [file["device"]]
        if not isinstance(device["kind"], str):
            raise TypeError("device.kind is not a string")
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
    """Returns whether a solver's full name matches a pattern, which may omit the parameters."""
    return re.fullmatch(solver, name if ":" in solver else name.partition(":")[0])


def near_best(calls, solver, types, point_of):
    """Returns, for each call for which such a solver is the fastest or nearly so, the set of its points."""
    sets = []
    for dtype, times in calls:
        best = min(times.values())
        points = {point_of(name, dtype) for name, time in times.items()
                  if matches(solver, name) and time <= NEAR * best}
        if points and (types is None or dtype in types):
            sets.append(points)
    return sets


def cover(sets, most):
    """Selects points greedily: each covers the most calls that the previous ones do not cover."""
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
    """Returns each tile with the geometric mean of its time relative to the fastest tile of each call."""
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
    """Sets speeds to the medians of the devices; steps of a kernel scale with the rate."""
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
    """Returns (name, table) for all files."""
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
    parser.add_argument("--as", dest="name", help="create a separate table in addition to that of the kind")
    parser.add_argument("--write", action="store_true", help="write to the source tree")
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

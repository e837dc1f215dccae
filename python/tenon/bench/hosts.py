"""tenon-bench hosts: predicts the all-reduce of many hosts from measurements on one machine."""
import argparse
import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

from .results import FileError, read

DESCRIPTION = """Fits the time of an all-reduce, latency · steps + bytes / bandwidth, to the measurements in a file, and predicts
the time of 2 to 64 hosts with one member each, connected by links of 25 to 400 Gbit/s. The file is one of tenon-bench run
--suite collectives --json, or the text that ./run cluster has printed. A measurement with 4 members is compared with the
prediction from those with fewer members."""
EPILOG = """The latency of a step is that of this machine: that of the network's cards and switches is not in it (--link-latency
adds it). A host moves its bytes at the bandwidth of the link or at the fitted one, whichever is lower; contention in the
network is not in the model. Exit status: 0; 2 if the file cannot be used."""

HOSTS = (2, 4, 8, 16, 32, 64)
LINKS = (25, 50, 100, 200, 400)  # Gbit/s
CHECKED = 4  # members whose measurements are compared with a prediction
SMALL = 32768  # bytes up to which each member combines the whole tensor, as tenon_group_all_reduce documents
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}
CASE = re.compile(r"all-reduce (\d+) (KiB|MiB) (\d+) (contexts|parts)")
ROW = re.compile(r"(.{18}) +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)")  # of ./run cluster


@dataclass(frozen=True)
class Point:
    """The measured time of an all-reduce of a tensor."""
    members: int
    size: int  # bytes of the tensor
    seconds: float


@dataclass(frozen=True)
class Model:
    """The seconds of a step, and the bytes that are moved in a second."""
    latency: float
    bandwidth: float


def cost(members: int, size: int) -> Tuple[int, float]:
    """Returns the messages that a member sends one after the other, and their bytes. Each member receives a share of
    every other tensor and then the other members' results; if the tensor is small, it receives all other tensors."""
    if size <= SMALL:
        return members - 1, float((members - 1) * size)
    return 2 * (members - 1), 2 * (members - 1) / members * size


def on_one_machine(model: Model, members: int, size: int) -> float:
    """Returns the predicted seconds of members that share one memory."""
    steps, size_moved = cost(members, size)
    return model.latency * steps + members * size_moved / model.bandwidth


def on_hosts(model: Model, hosts: int, size: int, link: float, link_latency: float = 0.0) -> float:
    """Returns the predicted seconds of hosts with one member each.

    link: bits per second. link_latency: seconds that a message needs on the network."""
    steps, size_moved = cost(hosts, size)
    return (model.latency + link_latency) * steps + size_moved / min(model.bandwidth, link / 8)


def fit(points: Sequence[Point]) -> Model:
    """Returns the model with the least squares of the relative errors of members of one machine. The latency is 0
    where a negative one would fit better. Raises ValueError if the points do not determine the bandwidth."""
    rows = []
    for point in points:
        steps, size_moved = cost(point.members, point.size)
        rows.append((steps / point.seconds, point.members * size_moved / point.seconds))
    ss, sb, bb = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    s, b = (sum(row[i] for row in rows) for i in (0, 1))
    determinant = ss * bb - sb * sb
    if determinant <= 1e-9 * ss * bb:
        raise ValueError("the measurements do not differ enough in size to separate latency and bandwidth")
    latency = (s * bb - b * sb) / determinant
    inverse = (b * ss - s * sb) / determinant
    if latency < 0:
        latency, inverse = 0.0, b / bb
    if inverse <= 0:
        raise ValueError("the time does not grow with the size, so it determines no bandwidth")
    return Model(latency, 1 / inverse)


def errors(model: Model, points: Sequence[Point]) -> List[float]:
    """Returns the relative errors of the model's times."""
    return [abs(on_one_machine(model, p.members, p.size) / p.seconds - 1) for p in points]


def series_of_run(path: Path, dtype: str) -> Dict[str, List[Point]]:
    """Returns the all-reduces of a file of tenon-bench by device and kind of members."""
    found: Dict[str, List[Point]] = {}
    for part in read(path):
        for case in part.cases:
            match = CASE.fullmatch(case.name)
            if part.kind == "run" and case.suite == "collectives" and case.dtype == dtype and match:
                key = f"{part.device['name']}, {match[4]}"
                found.setdefault(key, []).append(Point(int(match[3]), int(match[1]) * UNITS[match[2]], case.median * 1e-9))
    return found


def series_of_cluster(text: str) -> Dict[str, List[Point]]:
    """Returns the all-reduces in the output of ./run cluster by MPI."""
    found: Dict[str, List[Point]] = {}
    for match in filter(None, map(ROW.fullmatch, text.splitlines())):
        if float(match[4]) > 0 and int(match[2]) > 1:
            found.setdefault(match[1].strip(), []).append(Point(int(match[2]), int(match[3]), float(match[4]) * 1e-3))
    return found


def series_of(path: Path, dtype: str) -> Dict[str, List[Point]]:
    """Returns the all-reduces of a file. Raises FileError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = "{"  # read() states the reason
    found = series_of_run(path, dtype) if text.lstrip().startswith("{") else series_of_cluster(text)
    if not found:
        raise FileError(f"{path}: no measured all-reduce of {dtype}: neither the suite collectives of tenon-bench run --json "
                        "nor the table of ./run cluster")
    return found


def size_text(size: int) -> str:
    return f"{size / (1 << 20):g} MiB" if size >= 1 << 20 else f"{size / 1024:g} KiB"


def check_lines(points: Sequence[Point]) -> List[str]:
    """Returns the comparison of measurements with CHECKED members with a model of those with fewer."""
    fewer, checked = ([p for p in points if test(p.members)] for test in (CHECKED.__gt__, CHECKED.__eq__))
    if not fewer or not checked:
        return [f"  no comparison: {CHECKED} members, or fewer, were not measured"]
    try:
        model = fit(fewer)
    except ValueError as error:
        return [f"  no comparison: {error}"]
    lines = [f"  {CHECKED} members on this machine, predicted from those with fewer:",
             f"  {'size':>10} {'measured ms':>12} {'predicted ms':>13} {'ratio':>6}"]
    for p in sorted(checked, key=lambda point: point.size):
        seconds = on_one_machine(model, p.members, p.size)
        lines.append(f"  {size_text(p.size):>10} {1e3 * p.seconds:12.3f} {1e3 * seconds:13.3f} {seconds / p.seconds:6.2f}")
    return lines


def report(name: str, points: Sequence[Point], sizes: Sequence[int], link_latency: float) -> List[str]:
    """Returns the lines about a series. Raises ValueError as fit."""
    model = fit(points)
    wrong = errors(model, points)
    counts = sorted({p.members for p in points})
    lines = [f"{name}: {len(points)} measurements with {', '.join(map(str, counts))} members",
             f"  fitted: {1e6 * model.latency:.1f} us per step, {model.bandwidth * 1e-9:.2f} GB/s; errors of the fit: median "
             f"{100 * statistics.median(wrong):.0f} %, at most {100 * max(wrong):.0f} %", *check_lines(points)]
    for size in sizes:
        lines += [f"  PREDICTION, not measured: ms of an all-reduce of {size_text(size)}, one member on each host",
                  f"  {'hosts':>10}" + "".join(f"{link:>6} Gbit/s" for link in LINKS)]
        for hosts in HOSTS:
            times = (on_hosts(model, hosts, size, link * 1e9, link_latency) for link in LINKS)
            lines.append(f"  {hosts:>10}" + "".join(f"{1e3 * seconds:13.3f}" for seconds in times))
    return lines


def main(words: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="tenon-bench hosts", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("file", type=Path)
    parser.add_argument("--dtype", default="f32", help="the type, in a file of tenon-bench (f32)")
    parser.add_argument("--bytes", type=int, action="append", help="the size of the tensor; may be repeated (1 and 64 MiB)")
    parser.add_argument("--link-latency", type=float, default=0.0, metavar="US",
                        help="microseconds that a message needs on the network, in addition (0)")
    args = parser.parse_args(words)
    sizes = args.bytes or [1 << 20, 64 << 20]
    if min(sizes) <= 0 or not 0 <= args.link_latency < 1e9:
        parser.error("--bytes must be greater than 0, and --link-latency from 0 on")
    status = 0
    try:
        for name, points in series_of(args.file, args.dtype).items():
            try:
                print("\n".join(report(name, points, sizes, args.link_latency * 1e-6)))
            except ValueError as error:
                print(f"tenon-bench: {args.file}: {name}: {error}", file=sys.stderr)
                status = 2
    except FileError as error:
        print(f"tenon-bench: {error}", file=sys.stderr)
        status = 2
    return status

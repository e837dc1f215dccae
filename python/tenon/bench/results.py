"""Reads the files that tenon-bench run, regret, first and ceilings write with --json, of all versions of the format."""
import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Tuple

VERSIONS = (2, 3)  # of files of run and regret
NORMAL = 1.959964  # a 95 % interval is this many standard errors wide on either side
OWN = ("tenon-f32", "unpacked", "nchw")  # peers that are Tenon itself, by another method
KEPT = "a table whose individual measurements were not kept"


class FileError(Exception):
    """A file that cannot be used; the message has its path, and what is wrong."""


@dataclass
class Peer:
    """A peer's time of a case, in nanoseconds; the interval is missing in most files."""
    median: float
    low: Optional[float]
    high: Optional[float]
    algorithm: str


@dataclass
class Case:
    """One measured case. Times are in nanoseconds; `flops` and `bytes` are 0 if the file has no rate."""
    suite: str
    name: str
    dtype: str
    solver: str
    median: float
    low: float
    high: float
    latency: float
    flops: float
    bytes: float
    verified: bool
    error: float
    peers: Dict[str, Peer]
    raw: Dict[str, Any]
    number: int = -1  # its row in the page's table of cases

    @property
    def disturbed(self) -> bool:
        """Whether other work disturbed every attempt at the case; False before version 3, which records it."""
        return bool(self.raw.get("load", {}).get("disturbed", False))

    @property
    def unverified(self) -> bool:
        """Whether a result was not verified; the cases of start, which have no rate, compute none or repeat one."""
        return not self.verified and bool(self.flops or self.bytes)

    @property
    def key(self) -> Tuple[str, str, str]:
        return self.suite, self.name, self.dtype

    def ratio(self, peer: str) -> float:
        """Returns a peer's time over Tenon's: above 1, Tenon is faster."""
        return self.peers[peer].median / self.median

    def ratio_interval(self, peer: str) -> Tuple[float, float]:
        """Returns the 95 % interval of the ratio, from those of both times (of Tenon's alone if the peer has none)."""
        spread = math.hypot(log_error(self.low, self.high), log_error(self.peers[peer].low, self.peers[peer].high))
        return around(self.ratio(peer), spread)

    def best_peer(self) -> Optional[str]:
        """Returns the fastest peer of another library, or None."""
        others = [peer for peer in self.peers if peer not in OWN]
        return min(others, key=lambda peer: self.peers[peer].median) if others else None


@dataclass
class ResultFile:
    """What a file has of one device: of `run` or `predict` cases, of `regret` regrets, of `first` first uses (cases whose type
    is the state of the caches), of `ceilings` limits."""
    path: Path
    kind: str
    raw: Dict[str, Any]
    device: Dict[str, Any]
    cases: List[Case] = field(default_factory=list)
    regrets: List[Dict[str, Any]] = field(default_factory=list)
    firsts: List[Case] = field(default_factory=list)
    limits: List[Dict[str, Any]] = field(default_factory=list)
    failures: List[Dict[str, Any]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def date(self) -> str:
        return str(self.raw["date"])

    @property
    def host(self) -> Dict[str, Any]:
        return dict(self.raw["host"])

    @property
    def command(self) -> List[str]:
        return list(self.raw.get("command", []))

    @property
    def complete(self) -> bool:
        return bool(self.raw.get("complete", True)) and "failed" not in self.device

    @property
    def emulated(self) -> bool:
        """Whether the device's properties were overridden (tests/common/imaginary_device.c)."""
        return any(word.startswith("IMAGINARY_DEVICE=") for word in self.command)

    @property
    def machine(self) -> Tuple[Any, ...]:
        """Identifies the machine. The driver and the system may be updated without making another of it."""
        return tuple(self.value(part, key) for _, part, key in MACHINE)

    def value(self, part: str, key: str) -> Any:
        return (self.device if part == "device" else self.host)[key]

    @property
    def store(self) -> str:
        """The state of Tenon's store when the run began: cold, warm or off; empty before version 3."""
        return str(self.raw.get("store", ""))

    def version_of(self, peer: str) -> str:
        """Returns the version of a peer that the file states, or an empty string."""
        versions = self.raw.get("peers", {}).get("versions", {})
        return str(versions.get(peer) or versions.get(peer.replace("-blocked", ""), ""))

    @property
    def unverified(self) -> int:
        return sum(case.unverified for case in self.cases)

    @property
    def disturbed(self) -> int:
        return sum(case.disturbed for case in self.cases)


# What a machine is identified by: its name in messages, the part of the file, the key in it.
MACHINE = (("device", "device", "name"), ("platform", "device", "platform"), ("compute units", "device", "compute_units"),
           ("kind", "device", "kind"), ("cache", "device", "cache"), ("architecture", "host", "machine"),
           ("processors", "host", "processors"))


def log_error(low: Optional[float], high: Optional[float]) -> float:
    """Returns the standard error of a time's logarithm, from its 95 % interval; 0 without one."""
    return math.log(high / low) / (2 * NORMAL) if low and high else 0.0


def around(ratio: float, error: float) -> Tuple[float, float]:
    """Returns the 95 % interval around a ratio whose logarithm has this standard error."""
    return ratio * math.exp(-NORMAL * error), ratio * math.exp(NORMAL * error)


def median_interval(values: Iterable[float]) -> Tuple[float, float]:
    """Returns the 95 % interval of the median of measured values, by their ranks, as in bench/runner.c."""
    ranked = sorted(values)
    half = 0.98 * math.sqrt(len(ranked))
    return ranked[max(0, math.floor(len(ranked) / 2 - half))], ranked[min(len(ranked) - 1, math.ceil(len(ranked) / 2 + half))]


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def machine_name(device: Dict[str, Any]) -> str:
    """Returns a device's name without PoCL's prefix, which is that of the processor's compiler target."""
    return re.sub(r"^(?:pthread|cpu|basic)-[a-z0-9-]*?-(?=[A-Z])", "", str(device["name"]))


class Reader:
    """Checks the parts of one file."""

    def __init__(self, path: Path):
        self.path = path

    def fail(self, text: str) -> FileError:
        return FileError(f"{self.path}: {text}")

    def get(self, item: Any, key: str, kind: Any, where: str) -> Any:
        if not isinstance(item, dict):
            raise self.fail(f"{where} is not an object")
        if key not in item:
            raise self.fail(f'{where} has no "{key}"')
        value = item[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.fail(f'{where}: "{key}" is {json.dumps(value)[:40]}, not {wanted(kind)}')
        return value

    def number(self, item: Any, key: str, where: str, positive: bool = False) -> float:
        value = float(self.get(item, key, (int, float), where))
        if not math.isfinite(value) or value < 0 or (positive and value == 0):
            raise self.fail(f'{where}: "{key}" is {value:g}, not a {"positive " if positive else ""}number from 0 on')
        return value

    def optional(self, item: Dict[str, Any], key: str, where: str) -> Optional[float]:
        return self.number(item, key, where, True) if item.get(key) is not None else None

    def peer(self, item: Any, where: str) -> Peer:
        return Peer(self.number(item, "median_ns", where, True), self.optional(item, "low_ns", where),
                    self.optional(item, "high_ns", where), str(item.get("algorithm", "")))

    def names(self, item: Any, where: str) -> List[str]:
        return [self.get(item, key, str, where) for key in ("suite", "case", "dtype", "solver")]

    def case(self, item: Any, where: str) -> Case:
        suite, name, dtype, solver = self.names(item, where)
        where = f'{where} ("{name}")'
        median, low, high, latency = (self.number(item, key, where, True)
                                      for key in ("median_ns", "low_ns", "high_ns", "latency_ns"))
        if not low <= median <= high:
            raise self.fail(f"{where}: the median {median:g} is not in its interval from {low:g} to {high:g}")
        peers = self.get(item, "peers", dict, where)
        return Case(suite, name, dtype, solver, median, low, high, latency, self.number(item, "gflops", where) * median,
                    self.number(item, "gbps", where) * median, self.get(item, "verified", bool, where),
                    self.number(item, "error_over_bound", where),
                    {name: self.peer(peer, f"{where}, peer {name}") for name, peer in peers.items()}, item)

    def prediction(self, item: Any, where: str) -> Case:
        """Returns an estimate as a case without peers, latency and interval."""
        suite, name, dtype, solver = self.names(item, where)
        median = self.number(item, "median_ns", where, True)
        return Case(suite, name, dtype, solver, median, median, median, 0.0, self.number(item, "gflops", where) * median,
                    self.number(item, "gbps", where) * median, False, 0.0, {}, item)

    def regret(self, item: Any, where: str) -> Dict[str, Any]:
        for key in ("suite", "case", "dtype", "chosen", "best"):
            self.get(item, key, str, where)
        self.number(item, "ratio", where, True)
        self.get(item, "measured", list, where)
        return dict(item)

    def first(self, item: Any, where: str) -> Case:
        """Returns a first use as a case without peers, rate and latency, whose type is the state of the caches."""
        suite, name, caches = (self.get(item, key, str, where) for key in ("suite", "case", "caches"))
        rounds = self.get(item, "rounds_ns", list, where)
        if not rounds or not all(isinstance(r, (int, float)) and 0 < r < math.inf for r in rounds):
            raise self.fail(f'{where}: "rounds_ns" is not a list of positive numbers')
        low, high = median_interval(rounds)
        return Case(suite, name, caches, "", self.number(item, "median_ns", where, True), low, high, 0.0, 0.0, 0.0, True, 0.0, {}, item)

    def check_device(self, device: Any, where: str) -> None:
        for key, kind in (("name", str), ("platform", str), ("driver", str), ("kind", str), ("compute_units", int),
                          ("cache", int)):
            self.get(device, key, kind, where)

    def head(self, content: Dict[str, Any]) -> List[Dict[str, Any]]:
        """Checks what the files of all kinds have, and returns the devices."""
        for key in ("tenon", "date"):
            self.get(content, key, str, "the file")
        host = self.get(content, "host", dict, "the file")
        for key, kind in (("system", str), ("release", str), ("machine", str), ("processors", int)):
            self.get(host, key, kind, '"host"')
        devices = self.get(content, "devices", list, "the file") if "devices" in content else \
            [self.get(content, "device", dict, "the file")]
        for i, device in enumerate(devices):
            self.check_device(device, f"device {i}")
        return [dict(device) for device in devices]

    def files(self, content: Any) -> List[ResultFile]:
        if not isinstance(content, dict):
            raise self.fail("another kind of JSON: a file of tenon-bench is an object")
        if "columns" in content and "rows" in content:
            raise self.fail(KEPT)
        if not {"results", "ceilings"} & content.keys():
            raise self.fail('not a file of tenon-bench --json: it has neither "results" nor "ceilings"')
        version = self.get(content, "version", int, "the file")
        devices = self.head(content)
        if "results" not in content:
            return [ResultFile(self.path, "ceilings", content, device, limits=self.limits(content["ceilings"], "the file"))
                    for device in devices]
        if version not in VERSIONS:
            raise self.fail(f"version {version} of the format; this program reads {VERSIONS[0]} to {VERSIONS[-1]}")
        self.get(content, "complete", bool, "the file")
        self.get(content, "command", list, "the file")
        return self.parts(content, devices)

    def parts(self, content: Dict[str, Any], devices: List[Dict[str, Any]]) -> List[ResultFile]:
        """Returns what the file has of each device."""
        items = self.get(content, "results", list, "the file")
        kind = "predict" if content.get("predicted") else "run"
        if any("chosen_ns" in item for item in items if isinstance(item, dict)):
            kind = "regret"
        if any("caches" in item for item in items if isinstance(item, dict)):
            kind = "first"
        made = [ResultFile(self.path, kind, content, device, limits=self.limits(device.get("ceilings"), f"device {i}"))
                for i, device in enumerate(devices)]
        for i, item in enumerate(items):
            part, where = made[self.number_of(item, devices, f"result {i + 1}")], f"result {i + 1}"
            if kind == "regret":
                part.regrets.append(self.regret(item, where))
            elif kind == "first":
                part.firsts.append(self.first(item, where))
            else:
                part.cases.append(self.case(item, where) if kind == "run" else self.prediction(item, where))
        for i, item in enumerate(content.get("failures", [])):
            made[self.number_of(item, devices, f"failure {i + 1}")].failures.append(item)
        return made

    def number_of(self, item: Any, devices: List[Dict[str, Any]], where: str) -> int:
        number = item.get("device", 0) if isinstance(item, dict) else 0
        if not isinstance(number, int) or not 0 <= number < len(devices):
            raise self.fail(f'{where}: "device" is {number}, but there are {len(devices)} devices')
        return number

    def limits(self, content: Any, where: str) -> List[Dict[str, Any]]:
        """Returns a list of limits, which version 3 has within an object; empty for None."""
        limits = content.get("limits") if isinstance(content, dict) else content
        if limits is None:
            return []
        if not isinstance(limits, list):
            raise self.fail(f'{where}: "ceilings" is not a list of limits')
        for i, limit in enumerate(limits):
            for key in ("name", "unit"):
                self.get(limit, key, str, f"limit {i + 1}")
            self.number(limit, "value", f"limit {i + 1}")
        return limits


def wanted(kind: Any) -> str:
    names = {str: "a string", bool: "true or false", dict: "an object", list: "a list", int: "an integer"}
    return names.get(kind, "a number")


def read(path: Any) -> List[ResultFile]:
    """Reads and checks a file, and returns a part for each device in it. Raises FileError."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FileError(f"{path}: not a text file") from None
    try:
        content = json.loads(text)
    except ValueError as error:
        at = getattr(error, "pos", 0)
        cut = " at its end: the file is empty or truncated" if at >= len(text.rstrip()) else f": {error}"
        raise FileError(f"{path}: not valid JSON{cut}") from None
    return Reader(path).files(content)


def keyed(cases: Iterable[Case]) -> Dict[Tuple[str, ...], Case]:
    """Returns the cases by suite, name and type, and by solver too if several solvers were forced in turn."""
    found: Dict[Tuple[str, ...], List[Case]] = {}
    for case in cases:
        found.setdefault(case.key, []).append(case)
    return {(*key, case.solver) if len(same) > 1 else key: case for key, same in found.items() for case in same}

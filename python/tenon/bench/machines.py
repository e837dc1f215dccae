"""Groups the files of tenon-bench by machine, with the newest measurement of each case, and the ceilings of each machine."""
import math
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from .results import Case, ResultFile, keyed, machine_name

MEBIBYTE = 1 << 20


@dataclass
class Ceiling:
    """A limit of a device: GFLOP/s for `dtype`, or GB/s of a memory level that holds `size` bytes (0: any number)."""
    name: str
    value: float
    dtype: str = ""
    size: int = 0
    spread: Tuple[float, float] = (0.0, 0.0)  # of the rounds; zeros if the file has none


@dataclass
class Machine:
    """A machine, with a letter for the figures; `cases` has (file, case) by suite, case and type, the newest of each, and
    `firsts` the first uses in the same way."""
    letter: str
    files: List[ResultFile] = field(default_factory=list)
    cases: Dict[Tuple[str, ...], Tuple[ResultFile, Case]] = field(default_factory=dict)
    ceilings: List[Ceiling] = field(default_factory=list)
    source: str = ""  # of the ceilings
    superseded: int = 0
    predictions: Dict[Tuple[str, ...], Tuple[ResultFile, Case]] = field(default_factory=dict)
    firsts: Dict[Tuple[str, ...], Tuple[ResultFile, Case]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        file = self.files[-1]
        emulated = ", emulated" if file.emulated else ""
        if "failed" in file.device:
            return f"{machine_name(file.device)}, not opened"
        return f"{machine_name(file.device)}, {file.device['kind']}{emulated}"

    @property
    def label(self) -> str:
        return f"{self.letter}: {self.name}"


def limits_of(file: ResultFile) -> List[Ceiling]:
    """Returns the measured limits in a file of `tenon-bench ceilings`, or of a run that contains them: those of arithmetic, and
    the highest bandwidth of each memory level (reading, writing and copying are measured)."""
    found = [ceiling for limit in file.limits if limit["value"] > 0 and limit.get("verified") is not False
             for ceiling in [limit_of(limit)] if ceiling]
    best = {c.size: c for c in sorted(found, key=lambda c: c.value) if not c.dtype}
    return [c for c in found if c.dtype or best[c.size] is c]


def limit_of(limit: Dict[str, Any]) -> Optional[Ceiling]:
    """Returns a limit on arithmetic or on reading; None for others. Older files have types and windows in the names."""
    name, value, spread = str(limit["name"]), float(limit["value"]), (limit.get("low", 0.0), limit.get("high", 0.0))
    if limit["unit"] == "GFLOP/s":
        return Ceiling(name, value, str(limit.get("dtype", name.split()[-1])), spread=spread)
    if limit["unit"] != "GB/s" or not (limit.get("kind") == "bandwidth" and "window" in limit or name.startswith("read")):
        return None
    window = re.match(r"read (\d+) MiB again", name)
    size = int(limit.get("window", int(window[1]) * MEBIBYTE if window else 0))
    return Ceiling(name, value, size=0 if limit.get("level") == "memory" else size, spread=spread)


def constants_of(file: ResultFile) -> List[Ceiling]:
    """Returns the limits that follow from the constants of a CPU, by which Tenon selects its kernels."""
    speed, units = file.device.get("speed"), file.device["compute_units"]
    if not speed:
        return []
    return [Ceiling("multiply-add f32", 2 * speed["rate"] * units, dtype="f32"),
            Ceiling("memory", speed["memory"]),
            Ceiling("cache", speed["cache"] * units, size=int(speed["cache_size"]))]


def set_ceilings(machine: Machine) -> None:
    for file in reversed(machine.files):
        machine.ceilings = limits_of(file)
        if machine.ceilings:
            machine.source = f"measured by tenon-bench ceilings ({file.name}, {file.date[:10]})"
            return
    for file in reversed(machine.files):
        machine.ceilings = constants_of(file)
        if machine.ceilings:
            machine.source = f"the constants by which Tenon selects kernels ({file.name}); no file has ceilings of the device"
            return
    machine.source = "none: no file has ceilings of the device; tenon-bench ceilings measures them"


def group(files: List[ResultFile]) -> List[Machine]:
    """Returns the machines, those with the first dates first."""
    found: Dict[Tuple[Any, ...], Machine] = {}
    for file in sorted(files, key=lambda f: f.date):
        key = (*file.machine, file.emulated)
        machine = found.setdefault(key, Machine(chr(ord("A") + len(found)) if len(found) < 26 else f"M{len(found) + 1}"))
        machine.files.append(file)
        machine.firsts.update({case.key: (file, case) for case in file.firsts})
        to = machine.predictions if file.kind == "predict" else machine.cases
        for name, case in keyed(file.cases).items():
            if case.suite == "start":  # measured with a cold and with a warm store, if files of both are given
                name = (*name, file.store)
            machine.superseded += name in to
            to[name] = (file, case)
    for machine in found.values():
        set_ceilings(machine)
    for number, (_, case) in enumerate(pair for machine in found.values() for pair in machine.cases.values()):
        case.number = number
    return list(found.values())


def predicted(machines: List[Machine]) -> List[Tuple[Machine, ResultFile, Case, Optional[Case]]]:
    """Returns the estimates of the device model, each with the case as measured on a device of the same kind, if there is one."""
    measured = {(m.files[-1].device["kind"], key): case for m in machines for key, (_, case) in m.cases.items()}
    return [(m, file, case, measured.get((file.device["kind"], key))) for m in machines for key, (file, case) in m.predictions.items()]


def arithmetic(machine: Machine, dtype: str) -> Optional[Ceiling]:
    """Returns the highest arithmetic limit for a type, or None."""
    mine = [c for c in machine.ceilings if c.dtype == dtype]
    return max(mine, key=lambda c: c.value) if mine else None


def bandwidth(machine: Machine, size: float) -> Optional[Ceiling]:
    """Returns the limit of the smallest memory level that holds so many bytes, or None."""
    levels = sorted((c for c in machine.ceilings if not c.dtype), key=lambda c: c.size or math.inf)
    return next((c for c in levels if not c.size or size <= c.size), levels[-1] if levels else None)


def share(machine: Machine, case: Case) -> Tuple[Optional[float], str]:
    """Returns the part of what the device can attain that a case reaches, and the name of the ceiling that binds. The file's own
    value counts, if it has one."""
    own = case.raw.get("roofline")
    if isinstance(own, dict) and isinstance(own.get("share"), (int, float)):
        return float(own["share"]), str(own.get("ceiling", ""))
    peak, level = arithmetic(machine, case.dtype), bandwidth(machine, case.bytes)
    times = [(case.flops / peak.value, peak.name)] if peak and case.flops else []
    times += [(case.bytes / level.value, level.name)] if level and case.bytes else []
    if not times or (case.flops and not peak):
        return None, ""
    least, name = max(times)
    return least / case.median, name

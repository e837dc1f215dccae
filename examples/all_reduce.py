"""Estimates pi with all processes of an MPI job: each averages sqrt(1 - u * u) over its own random numbers on its
device, and the group averages the results. With Open MPI 5 and --with-ft ulfm the job survives processes that are
killed.

    mpirun -n 4 python3 all_reduce.py
"""
import os
import sys

from mpi4py import MPI

import tenon
import tenon.mpi

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20


def sample(sequence):
    """Returns one value of this process: the mean of a million samples."""
    u = tenon.random(y=1 << 20, seed=1, sequence=sequence)
    return tenon.reduce(tenon.sqrt(1 - u * u), kind="mean")


def main():
    # Each process has one member. No collective waits longer than ten seconds for the others.
    group = tenon.Group([tenon.default_context()], transport=tenon.mpi.Transport(MPI.COMM_WORLD), deadline=10)
    values, has_lost = [], False
    while len(values) < ROUNDS:
        mean = sample(len(values) * 1000 + group.ranks[0])
        try:
            group.all_reduce([mean], kind="mean", y=[mean])
            group.wait()
        except tenon.PeerLost:
            group = group.shrink()
            print(group.size, "processes are left", file=sys.stderr)
            has_lost = True
            continue
        values.append(mean.numpy().item())
    if group.ranks[0] == 0:
        print(f"{group.size} processes: pi is about {4 * sum(values) / ROUNDS:.4f}", flush=True)
    if has_lost:
        os._exit(0)  # MPI_Finalize might wait for the lost process


if __name__ == "__main__":
    main()

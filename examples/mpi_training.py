"""Data-parallel training in the processes of an MPI job: a linear model finds its weights, each process has samples of
its own, and the gradients are averaged. The weights are saved every hundred steps; a job that is started again
continues from there, with any number of processes.

    mpirun -n 4 python3 mpi_training.py model.safetensors
"""
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import tenon
import tenon.mpi

SAMPLES, SAVE_EVERY = 256, 100


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "model.safetensors")
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    group = tenon.Group([tenon.default_context()], transport=tenon.mpi.Transport(MPI.COMM_WORLD))
    rank = group.ranks[0]
    weights = tenon.tensor(np.arange(-3, 5, dtype="f4").reshape(8, 1))  # to be found
    x = tenon.random(y=(SAMPLES, 8), seed=1, sequence=rank)
    y = x @ weights
    w, step = tenon.zeros(weights.shape), 0
    if path.exists():  # every process reads
        with tenon.Checkpoint(path) as checkpoint:
            w, step = checkpoint.read("w"), int(checkpoint.metadata["step"])
    while step < steps:
        gradient = x.T @ (x @ w - y) / SAMPLES
        group.all_reduce([gradient], kind="mean", y=[gradient])
        w = w - 0.3 * gradient
        step += 1
        if step % SAVE_EVERY == 0:
            group.wait()  # also reports failures
            if rank == 0:  # all have the same weights
                tenon.save(path, {"w": w}, {"step": str(step)})
    if rank == 0:
        print(*(f"{value:.2f}" for value in w.numpy().ravel()))


if __name__ == "__main__":
    main()

"""The speed of collectives of ./run cluster, compared with MPI's."""
from cluster_results import plain

SIZES = [4 << 10, 64 << 10, 1 << 20, 8 << 20, 64 << 20]


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

"""The programs that ./run cluster compiles with each MPI, and the Python package for its interpreters."""
import os
import shutil
import subprocess

import cluster_jobs as jobs

TESTS = ["table", "table_faults", "collectives", "faults", "resume", "speed"]
# Examples of parallel training, which compare their parameters with those of one device. The others need a number of
# processes and words.
TRAINING = ["data_parallel", "sharded_optimizer", "sharded_parameters", "tensor_parallel", "pipeline_parallel",
            "expert_parallel", "unequal_devices"]
TRAINING_WITH = {"alexnet_halves": (2, ["2", "3", "16"]), "three_kinds": (8, [])}
SIMPLE = "mpi_training"  # an example that saves and resumes
TRAINING_PYTHON = ["data_parallel", "sharded_optimizer", "pipeline_parallel", "expert_parallel"]
SOURCES = [*(jobs.TREE / "tests" / "cluster" / f"{name}.c" for name in TESTS),
           *(jobs.TREE / "examples" / f"{name}.c" for name in ("all_reduce", *TRAINING, *TRAINING_WITH, SIMPLE))]


def compiles(mpi, results, name, command, library):
    """Returns whether a program is compiled without warnings."""
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{jobs.TREE / 'include'}", f"-I{library.parents[1] / 'include'}"]
    done = subprocess.run([*command, *flags], capture_output=True, text=True, check=False)
    results.add(f"{mpi.version}: compiling {name}", done.stderr[:3000] or None)
    return done.returncode == 0


def build(mpi, results, library):
    """Compiles the programs, and tenon/mpi.h as C++. Returns False if a program cannot be compiled."""
    folder = jobs.FOLDER / "programs" / mpi.name
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
                                                      str(jobs.TREE / "include" / "tenon" / "mpi.h")], library)
    if mpi.python:
        mpi.programs["python"] = [mpi.python, str(jobs.TREE / "examples" / "all_reduce.py")]
        mpi.programs[f"{SIMPLE}.py"] = [mpi.python, str(jobs.TREE / "examples" / f"{SIMPLE}.py")]
        for name in TRAINING_PYTHON:
            mpi.programs[f"{name}.py"] = [mpi.python, str(jobs.TREE / "examples" / f"{name}.py"), "--mpi"]
    return good


def assemble(mpis, library):
    """Assembles the Python package in build/cluster/package if an interpreter has mpi4py."""
    python = next((mpi.python for mpi in mpis if mpi.python), None)
    if python is None:
        return
    includes = [f"--include={jobs.TREE / 'include'}", f"--include={library.parents[1] / 'include'}"]
    assembles = jobs.TREE / "python" / "tests" / "run.py"
    subprocess.run([python, str(assembles), "--no-tests", f"--library={library}", *includes,
                    f"--folder={jobs.FOLDER / 'package'}"], check=True, stdout=subprocess.DEVNULL)
    os.environ["TENON_LIBRARY"] = str(library)
    os.environ["PYTHONPATH"] = str(jobs.FOLDER / "package")

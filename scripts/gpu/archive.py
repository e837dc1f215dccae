"""One file that has all of a run: results, logs, Tenon's store and the driver's cache. A later run, on another
machine too, goes on from it."""
import io
import os
import re
import shutil
import tarfile
import tempfile
import time
from pathlib import Path

from jobs import read_json, write_json

# Bytes of an archive: what a lender of machines may still hand back as one file.
MOST = 15 << 20
# What belongs to the machine at hand, or is made anew.
LEFT_BEHIND = {"vendors", "cache"}
# Folders of out/cache, the most useful first. Each is whole in the archive, or not there.
CACHES = ["tenon", "driver"]
# A mark of the store says which process was at a kernel that ended it. A run that is cut ends its programs itself, and
# the kernels they were at are to be tried again.
MARKS = ".running"
# Jobs whose results are no files of the output folder.
OF_A_MACHINE = re.compile("^(host|build)/|/build$")


class Refused(Exception):
    """Why an archive cannot be taken."""


def environment(out):
    """Where programs keep what they have compiled: in the output folder, so that it is in the archive. PoCL is left
    its own place, which it shares with everything else on the machine."""
    cache = Path(out, "cache").resolve()
    driver = cache / "driver"
    for folder in (cache / "tenon", driver):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for mark in (cache / "tenon").glob("*" + MARKS):
        mark.unlink(missing_ok=True)
    return {"TENON_CACHE_DIR": str(cache / "tenon"),
            # NVIDIA's, AMD's compiler and Intel's: each reads its own.
            "CUDA_CACHE_PATH": str(driver), "CUDA_CACHE_MAXSIZE": str(1 << 30),
            "AMD_COMGR_CACHE": "1", "AMD_COMGR_CACHE_DIR": str(driver),
            "NEO_CACHE_PERSISTENT": "1", "NEO_CACHE_DIR": str(driver)}


def files_of(folder):
    """All files of a folder, in order."""
    return sorted(p for p in Path(folder).rglob("*") if p.is_file() and not p.is_symlink() and not p.name.endswith(MARKS))


def add(tar, path, name):
    """Adds a file, unless the program that writes it has just renamed it."""
    try:
        tar.add(path, name.as_posix(), recursive=False)
    except FileNotFoundError:
        pass


def packed(folder):
    """A folder as one compressed file; None where there is nothing in it."""
    files = files_of(folder)
    if not files:
        return None
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w:gz", compresslevel=3) as tar:
        for path in files:
            add(tar, path, path.relative_to(folder))
    return memory.getvalue()


def write(run, path, most=MOST):
    """Writes the archive beside its place and renames it. Returns what was left out for its size."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    left_out = []
    with open(beside, "wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as tar:
            for found in files_of(run.out):
                name = found.relative_to(run.out)
                if name.parts[0] not in LEFT_BEHIND and found.resolve() not in (path.resolve(), beside.resolve()):
                    add(tar, found, name)
            room = most - file.tell()
            for cache in CACHES:
                content = packed(run.out / "cache" / cache)
                if content is None:
                    continue
                if len(content) > room:
                    left_out.append(f"cache/{cache} ({len(content) / 1e6:.0f} MB)")
                    continue
                room -= len(content)
                member = tarfile.TarInfo(f"cache/{cache}.tar.gz")
                member.size, member.mtime = len(content), int(time.time())
                tar.addfile(member, io.BytesIO(content))
    beside.replace(path)
    return left_out


def extract(tar, folder):
    """Regular files and nothing else, and none outside the folder."""
    for member in tar:
        name = Path(member.name)
        if member.isdir():
            continue
        if not member.isfile() or name.is_absolute() or ".." in name.parts:
            raise Refused(f"{member.name} in it is no file of a run")
        target = Path(folder, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tar.extractfile(member) as content, open(target, "wb") as file:
            shutil.copyfileobj(content, file)
        os.utime(target, (member.mtime, member.mtime))


def unpack(path, folder):
    """The archive's files, and those of the caches in it. Raises Refused."""
    try:
        with tarfile.open(path, "r:gz") as tar:
            extract(tar, folder)
        for cache in CACHES:
            inner = Path(folder, "cache", cache + ".tar.gz")
            if inner.exists():
                made = Path(folder, "cache", cache)
                made.mkdir(mode=0o700)  # the store takes no folder that others may write into
                with tarfile.open(inner, "r:gz") as tar:
                    extract(tar, made)
                inner.unlink()
    except (OSError, EOFError, tarfile.TarError) as error:
        raise Refused(f"it cannot be read: {error}") from error
    state = read_json(Path(folder, "state.json"))
    if state is None:
        raise Refused("it is no archive of ./run gpu: it has no state.json")
    # What is built, and what was found of the host, is not here yet.
    state["jobs"] = {key: job for key, job in state.get("jobs", {}).items() if not OF_A_MACHINE.search(key)}
    write_json(Path(folder, "state.json"), state)


def resume(path, out):
    """Puts what an archive has into the place of the output folder, unless that has gone further. Returns a line that
    says what was done; raises Refused, having changed nothing."""
    out = Path(out)
    if out.exists() and any(out.iterdir()) and not (out / "state.json").exists():
        raise Refused(f"{out} is there and is no folder of a run")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=out.name + ".") as folder:
        fresh = Path(folder, "out")
        fresh.mkdir()
        unpack(path, fresh)
        state = read_json(fresh / "state.json")
        mine = (read_json(out / "state.json") or {}).get("saved", 0)
        if mine >= state.get("saved", 0) > 0:
            return f"{out} has all that {path} has, or more: going on there"
        if out.exists():
            out.rename(Path(folder, "before"))
        fresh.rename(out)
    done = sum(job["status"] == "ok" for job in state.get("jobs", {}).values())
    return f"going on from {path}: {done} jobs are done"

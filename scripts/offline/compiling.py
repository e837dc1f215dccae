"""Compiles the programs planned by check_kernels.py in parallel, and caches the measures."""
import concurrent.futures
import hashlib
import json
import os
import sys
import time
from pathlib import Path

from offline.compilers import Failure
from offline.passed import strip


class Cache:
    """A cache of measures, one file each, named by a hash of everything that they depend on."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, *parts):
        text = "\0".join(parts).encode()
        return self.folder / (hashlib.sha256(text).hexdigest()[:32] + ".json")

    @staticmethod
    def get(path):
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    @staticmethod
    def put(path, result):
        mine = path.with_suffix(f".{os.getpid()}.{time.monotonic_ns()}")
        mine.write_text(json.dumps(result), encoding="utf-8")
        mine.rename(path)


class Progress:
    """Prints the progress: one updated line on a terminal, otherwise occasional lines."""

    def __init__(self, total):
        self.total, self.done, self.start, self.told = total, 0, time.monotonic(), 0.0
        self.live = sys.stderr.isatty()

    def step(self):
        self.done += 1
        now = time.monotonic()
        if self.done < self.total and now - self.told < (0.2 if self.live else 60):
            return
        self.told = now
        left = (now - self.start) / self.done * (self.total - self.done)
        text = f"{self.done} of {self.total} programs compiled, about {left:.0f} s left"
        if self.live:
            print(f"\r{text:<72}", end="\n" if self.done == self.total else "", file=sys.stderr, flush=True)
        elif self.done < self.total:
            print(text, file=sys.stderr, flush=True)


def compile_one(compilers, cache, texts, key):
    """Compiles one program; returns {"seconds", "cached", and "kernels" or "error"}."""
    machine, source, options = key
    path = cache.path(machine.name, machine.ptx, options, strip(texts[source].decode()), compilers.version(machine.vendor))
    result = cache.get(path)
    if result is not None:
        return dict(result, cached=True)
    start = time.monotonic()
    try:
        result = {"kernels": compilers.compile(machine, texts[source], options)}
    except Failure as error:
        result = {"error": str(error)}
    result["seconds"] = round(time.monotonic() - start, 3)
    if "error" not in result:
        cache.put(path, result)
    return dict(result, cached=False)


def compile_all(compilers, folder, workers, texts, jobs):
    """Runs compile_one for all jobs with the given number of compilers and a cache; returns {key: result}."""
    cache, progress, results = Cache(folder), Progress(len(jobs)), {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=workers) as pool:
        futures = {pool.submit(compile_one, compilers, cache, texts, key): key for key in jobs}
        try:
            for future in concurrent.futures.as_completed(futures):
                results[futures[future]] = future.result()
                progress.step()
        except KeyboardInterrupt:
            pool.shutdown(wait=True, cancel_futures=True)
            sys.exit("check-kernels: interrupted; what was compiled is kept for the next run")
    return results

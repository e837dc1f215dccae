"""Made-up files of tenon-bench, and how tests of its readers run them."""
import copy
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "python" / "tenon" / "bench"

DEVICE = {"name": "pthread-skylake-avx512-Card 7", "vendor": "v", "platform": "Portable Computing Language",
          "version": "OpenCL 3.0", "driver": "3.1", "compute_units": 2, "vector_width_f32": 16, "kind": "cpu_16", "cache": 1 << 25}
LIMITS = [("read", "bandwidth", 20.0, "GB/s", {"level": "memory", "window": 1 << 30}),
          ("read 1 MiB again", "bandwidth", 100.0, "GB/s", {"level": "L2", "window": 1 << 20}),
          ("write", "bandwidth", 10.0, "GB/s", {"level": "memory", "window": 1 << 30}),
          ("multiply-add f32", "vector", 400.0, "GFLOP/s", {"dtype": "f32"}), ("a launch", "launch", 4.0, "us", {})]


def result(suite, case, median, peers, dtype="f32", spread=1.1, **more):
    """Returns a result; `peers` has the ratios of the peers."""
    return {"suite": suite, "case": case, "dtype": dtype, "solver": "gemm/plain", "median_ns": median, "low_ns": median / spread,
            "high_ns": median * spread, "event_ns": median * 0.9, "latency_ns": median + 20000.0, "gflops": 1e6 / median,
            "gbps": 1e5 / median, "verified": True, "error_over_bound": 0.25,
            "peers": {name: {"median_ns": median * ratio, "ratio": ratio} for name, ratio in peers.items()}, **more}


def run_file(results, **changes):
    """Returns a file of version 2."""
    return {"version": 2, "tenon": "0.3.0", "date": "2026-01-02T03:04:05Z", "command": ["tenon-bench", "run", "--filter", "3x3 n"],
            "complete": True, "device": dict(DEVICE), "peers": {"openblas": None, "onednn": "2.6", "left_out": []},
            "host": {"system": "Linux", "release": "6.1", "machine": "x86_64", "processors": 2}, "results": results,
            "summary": {"ratios": [], "slowest": []}, **changes}


def version_3(results, devices=1, **changes):
    """Returns a file of version 3; the devices differ in their names. Results without `device` are of the first one."""
    file = run_file([{"device": 0, "load": {"other": 0.0, "steal": 0.0, "disturbed": False, "repeats": 0}, **r} for r in results])
    del file["device"]
    limits = [{"name": name, "kind": kind, "value": value, "low": value * 0.9, "high": value * 1.1, "unit": unit, "verified": True, **more}
              for name, kind, value, unit, more in LIMITS]
    file.update({"version": 3, "predicted": False, "store": "warm", "energy": None, "failures": [],
                 "build": {"commit": "0" * 40, "tree": "clean", "compiler": "gcc 12", "flags": "-O3"},
                 "devices": [{**copy.deepcopy(DEVICE), "name": f"Card {i}", "selector": "",
                              "ceilings": {"date": "2026-01-01", "limits": limits}} for i in range(devices)]})
    file["host"].update({"processor": "Model 8", "threads": 2, "pinning": "PoCL", "clock_mhz": {"before": 2000.0, "after": None}})
    file["peers"]["versions"] = {"onednn": "2.6"}
    file.update(changes)
    return file


def first_file(rounds):
    """Returns a file of tenon-bench first; `rounds` has the times by (case, caches)."""
    file = version_3([])
    file["results"] = [{"suite": "first", "case": case, "device": 0, "caches": caches, "median_ns": sorted(times)[len(times) // 2],
                        "rounds_ns": times} for (case, caches), times in rounds.items()]
    return file


def keep(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


def run(*words, python=sys.executable):
    """Runs a command of tenon-bench without the program."""
    return subprocess.run([python, "-B", str(FOLDER), *map(str, words)], capture_output=True, text=True, check=False)


class InFolder(unittest.TestCase):
    """A test with a temporary folder."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def file(self, name, content):
        return keep(self.folder / f"{name}.json", content)

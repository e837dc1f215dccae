"""Running tenon-bench in tests. The programs that import this are called with the paths of tenon-bench, of
results.schema.json and of the preloaded libraries fake_openblas, fake_onednn, lost_driver and fake_cards."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import jsonschema

FAKE_CARDS = os.path.abspath(sys.argv.pop(6))
LOST_DRIVER = os.path.abspath(sys.argv.pop(5))
FAKE_ONEDNN = os.path.abspath(sys.argv.pop(4))
FAKE_OPENBLAS = os.path.abspath(sys.argv.pop(3))
SCHEMA = sys.argv.pop(2)
BENCH = sys.argv.pop(1)
QUICK = ["run", "--time", "0.01", "--peers", "none"]


def bench(*args):
    return subprocess.run([BENCH, *args], capture_output=True, text=True, check=False)


def read_results(path):
    with open(SCHEMA, encoding="utf-8") as schema, open(path, encoding="utf-8") as file:
        results = json.load(file)
        jsonschema.validate(results, json.load(schema))
    return results


class Bench(unittest.TestCase):
    def run_json(self, *args, valid=True, **environment):
        """Runs tenon-bench with --json. Returns the file, which must match the schema if `valid`, and the process."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            done = subprocess.run([BENCH, *args, "--json", path], capture_output=True, text=True, check=False,
                                  env={**os.environ, **environment})
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                return (read_results(path) if valid else json.load(file)), done

    def results(self, *args):
        """Runs a benchmark briefly without peers. Returns its results."""
        return self.run_json(*QUICK, *args)[0]["results"]


def features():
    """Returns the processor's features, as reported by the system."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return set(next((line.split() for line in file if line.startswith("flags")), []))

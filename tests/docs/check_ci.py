#!/usr/bin/env python3
"""Tests docs/ci.md: its workflow files, container file, packages and variables; and that the second
run of a program with its two caches builds no kernels.

    check_ci.py SOURCE_ROOT BUILD_ROOT -- CC…
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

MARK = sys.argv.index("--")
ROOT, BUILD = (Path(word).resolve() for word in sys.argv[1:MARK])
CC = sys.argv[MARK + 1:]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
TO_RUN = {"ocl-icd-libopencl1", "pocl-opencl-icd"}

try:
    import yaml
except ImportError:
    yaml = None


def blocks(language):
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)


def installed_by(script):
    """Returns the packages that a script installs with apt-get."""
    script = script.replace("\\\n", " ")
    return {word for line in re.findall(r"apt-get install ([^\n&]*)", script) for word in line.split() if not word.startswith("-")}


class Files(unittest.TestCase):
    def scripts(self):
        """Returns the shell steps of both workflow files."""
        github, gitlab = map(yaml.safe_load, blocks("yaml"))
        steps = github["jobs"]["cpu"]["steps"]
        self.assertTrue(all(("uses" in step) != ("run" in step) for step in steps))
        job = gitlab["test"]
        return ["\n".join(step["run"] for step in steps if "run" in step), "\n".join([*job["before_script"], *job["script"]])]

    @unittest.skipIf(yaml is None, "Python has no yaml module")
    def test_steps_install_all_required_packages(self):
        packages = TO_RUN | set(re.search(r"Debian 12 and 13, Ubuntu \| `([^`]*)`", PAGE)[1].split())
        scripts = self.scripts()
        self.assertEqual(len(scripts), 2)
        for script in scripts:
            done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(installed_by(script), packages)

    def test_the_container_installs_the_same(self):
        files = blocks("dockerfile")
        self.assertEqual(len(files), 1)
        self.assertTrue(files[0].startswith("FROM debian:"))
        self.assertEqual(installed_by(files[0]),
                         TO_RUN | set(re.search(r"Debian 12 and 13, Ubuntu \| `([^`]*)`", PAGE)[1].split()))

    @unittest.skipIf(shutil.which("apt-cache") is None, "no apt")
    def test_packages_exist(self):
        for package in installed_by(blocks("dockerfile")[0]):
            done = subprocess.run(["apt-cache", "show", package], capture_output=True, text=True, check=False)
            known = subprocess.run(["apt-cache", "stats"], capture_output=True, text=True, check=False).stdout
            if re.search(r"Total package names: [1-9]\d{4}", known):  # the package lists are downloaded
                self.assertEqual(done.returncode, 0, package)

    def test_variables_exist(self):
        sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.c"))
        named = set(re.findall(r"\bTENON_[A-Z_]+", PAGE))
        self.assertGreater(len(named), 3)
        for name in named:
            self.assertIn(f'"{name}"', sources)


class Caches(unittest.TestCase):
    def test_the_second_run_reuses_its_kernels(self):
        with tempfile.TemporaryDirectory() as place:
            program, store, kernels = (str(Path(place, name)) for name in ("product", "tenon", "pocl"))
            flags = [f"-I{ROOT}/include", f"-I{BUILD}/include", f"-L{BUILD}/src", "-ltenon", "-lm"]
            subprocess.run([*CC, str(ROOT / "examples" / "product.c"), "-o", program, *flags], check=True)
            environment = dict(os.environ, LD_LIBRARY_PATH=f"{BUILD}/src", TENON_CACHE="1", TENON_CACHE_DIR=store, POCL_CACHE_DIR=kernels,
                               TENON_DEVICE="cpu", TENON_VERBOSE="1")
            runs = [subprocess.run([program], capture_output=True, text=True, check=True, env=environment) for _ in range(2)]
            self.assertEqual(runs[0].stdout, runs[1].stdout)
            self.assertTrue(any(Path(store).iterdir()))
            checks = [run.stderr.count("check") for run in runs]
            self.assertGreater(checks[0], 0, runs[0].stderr)
            self.assertLess(checks[1], checks[0], runs[1].stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""Tests `./run matrix`: its arguments, the files that its targets refer to, and its reports of skipped steps."""
import hashlib
import io
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import debian  # noqa: E402
import matrix  # noqa: E402
from in_folder import InFolder  # noqa: E402


def run(*args):
    return subprocess.run([sys.executable, ROOT / "scripts" / "matrix.py", *args], capture_output=True, text=True,
                          check=False)


class Arguments(unittest.TestCase):
    def test_list_names_every_target_and_builds_nothing(self):
        done = run("--list")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], list(matrix.TARGETS))

    def test_an_unknown_target_is_refused_before_building(self):
        done = run("gcc", "amiga")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertIn("unknown target amiga", done.stderr)

    def test_an_unknown_option_is_refused(self):
        self.assertEqual(run("--fast").returncode, 2)


class Targets(unittest.TestCase):
    def test_cross_files_exist_and_name_the_compiler(self):
        for name, target in matrix.TARGETS.items():
            if target.cross:
                words = self.build(target).words("ar" if target.from_pip else "c")
                self.assertEqual(words[0], target.compiler, name)

    def build(self, target):
        log = mock.Mock()
        log.name = "log"
        return matrix.Build("name", target, log)

    def test_macos_targets_use_the_compiler_script(self):
        for name, target in matrix.TARGETS.items():
            if target.from_pip:
                script, triple = self.build(target).compiler()
                self.assertEqual(target.finds(script), str(matrix.CROSS / script), name)
                self.assertEqual(triple, target.cross)
                asked = subprocess.run([script, triple, "-Wl,--version"], env=target.environment(), capture_output=True,
                                       text=True, check=False)
                self.assertEqual((asked.returncode, asked.stderr), (1, "ld: unknown option: --version\n"))

    def test_wraps_have_a_hash_and_their_packagefiles(self):
        for path in matrix.WRAPS.glob("*.wrap"):
            wrap = matrix.wrap_of(path.stem)
            self.assertRegex(wrap["source_hash"], "^[0-9a-f]{64}$", path.name)
            self.assertTrue((matrix.WRAPS / "packagefiles" / wrap["patch_directory"] / "meson.build").is_file(), path.name)

    def test_sources_of_debian_have_wraps(self):
        for name in matrix.SOURCES:
            self.assertTrue((matrix.WRAPS / f"{name}.wrap").is_file(), name)


class Packages(InFolder):
    """Archives and packages from Debian."""

    def setUp(self):
        super().setUp()
        without_apt = mock.patch.object(debian.shutil, "which", return_value=None)
        without_apt.start()
        self.addCleanup(without_apt.stop)

    def test_archives_are_identified_by_their_hash(self):
        (self.place / "a_1.orig.tar.gz").write_bytes(b"other")
        self.assertIsNone(debian.archive("a", hashlib.sha256(b"wanted").hexdigest(), self.place, None))
        wanted = self.place / "a_2.orig.tar.gz"
        wanted.write_bytes(b"wanted")
        self.assertEqual(debian.archive("a", hashlib.sha256(b"wanted").hexdigest(), self.place, None), wanted)

    def test_unavailable_packages_are_explained(self):
        with mock.patch.object(debian.platform, "freedesktop_os_release", return_value={"ID": "fedora"}):
            with self.assertRaisesRegex(debian.Unavailable, "not a Debian release"):
                debian.unpacked(["p"], "arm64", self.place, None)
        with mock.patch.object(debian.platform, "freedesktop_os_release",
                               return_value={"ID": "debian", "VERSION_CODENAME": "bookworm"}):
            with self.assertRaisesRegex(debian.Unavailable, "apt is not installed"):
                debian.unpacked(["p"], "arm64", self.place, None)

    def test_unpacked_packages_are_reused(self):
        (self.place / "complete").touch()
        self.assertEqual(debian.unpacked(["p"], "arm64", self.place, None), self.place / "root")

    def test_wrap_sources_come_from_debian_if_available(self):
        found, cache = self.place / "a.orig.tar.gz", self.place / "cache"
        found.write_bytes(b"archive")
        with mock.patch.object(debian, "archive", return_value=found), \
                mock.patch.object(matrix, "CACHE", cache), \
                mock.patch.object(matrix.subprocess, "run", side_effect=AssertionError("Meson was called")):
            matrix.download("cmocka", None)
        self.assertEqual((cache / matrix.wrap_of("cmocka")["source_filename"]).read_bytes(), b"archive")

    def test_without_a_driver_the_device_step_is_skipped(self):
        with open(self.place / "log", "w", encoding="utf-8") as log, \
                mock.patch.object(debian, "unpacked", side_effect=debian.Unavailable("why")):
            for name, target in matrix.TARGETS.items():
                if target.pocl:
                    with self.assertRaisesRegex(matrix.Skipped, "PoCL is not available for it: why"):
                        matrix.Build(name, target, log).device()


class Outcomes(unittest.TestCase):
    def status(self, **states):
        row = {step: ("passed", "yes") for step in matrix.STEPS} | states
        out = io.StringIO()
        with mock.patch.object(matrix, "work", return_value=row), \
                mock.patch.object(sys, "argv", ["matrix.py", "gcc"]), redirect_stdout(out):
            return matrix.main(), out.getvalue()

    def test_skipped_steps_are_reported_and_are_not_failures(self):
        status, text = self.status(device=("skipped", "there is no OpenCL for it"))
        self.assertEqual(status, 0)
        self.assertIn("skipped: there is no OpenCL for it", text)

    def test_a_failed_step_fails_the_run(self):
        status, text = self.status(linked=("failed", "why"))
        self.assertEqual(status, 1)
        self.assertIn("failed: why", text)

    def test_foreign_programs_are_built_but_not_run(self):
        log = mock.Mock()
        log.name = "log"
        build = matrix.Build("macos", matrix.TARGETS["macos"], log)
        with mock.patch.object(build, "files", return_value=[Path("test_a"), Path("test_b")]), \
                mock.patch.object(build, "ninja") as ninja, mock.patch.object(build, "run") as runs:
            with self.assertRaisesRegex(matrix.Skipped, "2 programs link; nothing here runs macOS programs"):
                build.unit_tests()
            with self.assertRaisesRegex(matrix.Skipped, "nothing here runs macOS programs"):
                build.device()
        ninja.assert_called_once()
        runs.assert_not_called()

    def test_without_zig_and_pip_every_step_is_skipped(self):
        refused = subprocess.CompletedProcess([], 1, "", "looking …\nno such package\n")
        with mock.patch.object(matrix.Target, "finds", return_value=None), \
                mock.patch.object(matrix.subprocess, "run", return_value=refused), \
                tempfile.TemporaryDirectory() as folder, mock.patch.object(matrix, "ROOT", Path(folder)):
            row = matrix.work("macos")
        self.assertEqual({state for state, _ in row.values()}, {"skipped"})
        self.assertIn("pip does not install ziglang: no such package", row["compiled"][1])

    def test_without_the_compiler_every_step_is_skipped(self):
        target = matrix.Target("nothing", "no-such-compiler")
        with mock.patch.dict(matrix.TARGETS, {"none": target}), mock.patch.object(matrix.os, "geteuid", return_value=1), \
                tempfile.TemporaryDirectory() as folder, mock.patch.object(matrix, "ROOT", Path(folder)):
            row = matrix.work("none")
        self.assertEqual({state for state, _ in row.values()}, {"skipped"})
        self.assertEqual(row["compiled"][1], "no-such-compiler is missing")


if __name__ == "__main__":
    unittest.main()

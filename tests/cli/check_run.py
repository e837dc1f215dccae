#!/usr/bin/env python3
"""Tests ./run and .ci/run on a small project, with replacements of apt and dpkg.

    check_run.py path/to/the/tree

No package is installed and nothing of Tenon is built.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from in_folder import InFolder

TREE = Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".").resolve()
MINUTES = 56

PROGRAMS = {  # replacement of apt: installed packages are lines of a file, and one package has a header
    "apt-get": 'case " $* " in *" install "*) ;; *) exit 0 ;; esac\n'
               'for word; do case $word in -*|install) ;; *) echo "$word" >> "$STATE/packages" ;; esac; done\n'
               'if grep -qx libdnnl-dev "$STATE/packages"; then touch "$STATE/peer.h"; fi\n',
    "dpkg-query": 'shift\nif [ "$1" = -f ]; then\n'
                  '    grep -qx "$3" "$STATE/packages" 2> /dev/null && printf installed\n    exit\nfi\n'
                  'for word; do grep -x "$word" "$STATE/packages" || true; done\n',
    "sudo": '[ "$1" = -v ] || exec "$@"\n',
}

BENCH = """
found = cc.has_header('peer.h', args: '-I' + get_option('state'))
configure_file(input: 'program.in', output: 'tenon-bench', configuration: {'TEXT': found ? 'has it' : 'is left out'})
"""
PROJECT = """
project('small', 'c')
cc = meson.get_compiler('c')
subdir('bench')
subdir('tools')
subdir('examples')
"""


def write_program(path, text):
    path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
    path.chmod(0o755)


class Folder(InFolder):
    def setUp(self):
        super().setUp()
        self.root = self.place
        for name in ("scripts", "bench", "tools", "examples", "bin", "state", ".ci"):
            (self.root / name).mkdir()

    def run_in(self, *words, **more):
        environment = {**os.environ, "PATH": f'{self.root / "bin"}:{os.environ["PATH"]}',
                       "STATE": str(self.root / "state"), **more}
        return subprocess.run(words, cwd=self.root, env=environment, capture_output=True, text=True, check=False)


@unittest.skipUnless(shutil.which("meson") and shutil.which("ninja"), "no Meson or no Ninja")
class BenchAfterDemo(Folder):
    """The benchmark finds a peer that is installed after the first configuration."""

    def setUp(self):
        super().setUp()
        shutil.copy(TREE / "run", self.root)
        shutil.copy(TREE / "scripts" / "common.sh", self.root / "scripts")
        for name, text in PROGRAMS.items():
            write_program(self.root / "bin" / name, text)
        for name, program in (("bench", "tenon-bench"), ("tools", "tenon"), ("examples", "digits")):
            write_program(self.root / name / "program.in", 'echo "the peer @TEXT@"\n')
            text = f"configure_file(input: 'program.in', output: '{program}', configuration: {{'TEXT': ''}})\n"
            (self.root / name / "meson.build").write_text(BENCH if name == "bench" else text, encoding="utf-8")
        (self.root / "meson.build").write_text(PROJECT, encoding="utf-8")
        options = "".join(f"option('{name}', type: 'string')\n" for name in ("tests", "examples"))
        (self.root / "meson_options.txt").write_text(
            options + f"option('state', type: 'string', value: '{self.root / 'state'}')\n", encoding="utf-8")

    def verb(self, *words):
        done = self.run_in("./run", *words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_newly_installed_peers_are_found(self):
        self.verb("demo")
        self.assertIn("is left out", (self.root / "build/bench/tenon-bench").read_text(encoding="utf-8"))
        self.assertIn("Installing", first := self.verb("bench"))
        self.assertIn("the peer has it", first)
        self.assertNotIn("Configuring", again := self.verb("bench", "peers"))
        self.assertIn("the peer has it", again)

    def test_changed_packages_reconfigure_the_benchmark(self):
        self.verb("bench")
        packages = self.root / "state/packages"
        names = packages.read_text(encoding="utf-8")
        (self.root / "state/peer.h").unlink()
        packages.write_text(names.replace("libdnnl-dev\n", ""), encoding="utf-8")
        self.assertIn("the peer has it", self.verb("bench"))
        (self.root / "state/peer.h").unlink()
        packages.write_text(names.replace("libclblast-dev\n", "libclblast-dev\nlibclblast-dev\n"), encoding="utf-8")
        self.assertIn("the peer is left out", self.verb("bench"))


class ContinuousIntegration(Folder):
    SCRIPT = TREE / ".ci" / "run"

    def setUp(self):
        super().setUp()
        shutil.copy(self.SCRIPT, self.root / ".ci")

    def ci(self, text):
        write_program(self.root / "run", text)
        done = self.run_in(".ci/run")
        return done.returncode, done.stdout

    def test_time_limits_add_up(self):
        limits = re.findall(r"^part (\d+) ", self.SCRIPT.read_text(encoding="utf-8"), re.M)
        self.assertEqual(len(limits), 5)
        self.assertLessEqual(sum(map(int, limits)), MINUTES)

    def test_the_page_has_the_time_limits(self):
        parts = re.findall(r"^part (\d+) (.*)$", self.SCRIPT.read_text(encoding="utf-8"), re.M)
        page = (TREE / "docs" / "testing.md").read_text(encoding="utf-8")
        for minutes, verb in parts:
            self.assertRegex(page, rf"`\./run {re.escape(verb)}` \({minutes}\b")
        self.assertIn(f"add up to {MINUTES} minutes", page)

    def test_the_outcome_of_each_part_is_printed(self):
        code, said = self.ci('echo "from $1"; [ "$1" != test ] || echo "7 passed, 0 failed, 1 skipped"\n')
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"(?m)^test: ok, \d+ s; 7 passed, 0 failed, 1 skipped$")
        self.assertRegex(said, r"(?m)^lint: ok, \d+ s; from lint$")
        self.assertTrue(said.endswith("\n11 passed, 0 failed\n"), said)

    def test_a_part_that_fails_does_not_stop_the_others(self):
        for verb in ("test", "check-kernels", "lint", "cluster", "onnx"):
            code, said = self.ci(f'echo "from $1"; [ "$1" != {verb} ]\n')
            self.assertEqual(code, 1, said)
            self.assertRegex(said, rf"(?m)^{verb}[^:]*: FAILED, \d+ s; from {verb}$")
            self.assertTrue(said.endswith("\n4 passed, 1 failed\n"), said)

    def test_failed_tests_are_counted(self):
        code, said = self.ci('[ "$1" != test ] || { echo "7 passed, 3 failed, 1 skipped"; exit 1; }\n')
        self.assertEqual(code, 1)
        self.assertTrue(said.endswith("\n11 passed, 3 failed\n"), said)

    def test_a_part_that_exceeds_its_limit_is_reported(self):
        write_program(self.root / "bin" / "timeout", 'shift 2\n"$@"\nexit 124\n')
        code, said = self.ci("echo 7 passed, 0 failed\n")
        self.assertEqual(code, 1)
        self.assertRegex(said, r"(?m)^test: FAILED, ended after \d+ minutes, \d+ s; 7 passed")
        self.assertTrue(said.endswith("\n35 passed, 5 failed\n"), said)


if __name__ == "__main__":
    unittest.main()

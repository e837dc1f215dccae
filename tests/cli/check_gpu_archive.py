#!/usr/bin/env python3
"""Tests the archive of ./run gpu: what is packed comes out again, and nothing else is taken.

    check_gpu_archive.py path/to/source path/to/build
"""
import io
import os
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

sys.argv.pop(2)  # as its neighbours are called; nothing of it is built
sys.path.insert(0, os.path.join(os.path.abspath(sys.argv.pop(1)), "scripts", "gpu"))

import archive  # noqa: E402
import jobs  # noqa: E402


class Archive(unittest.TestCase):
    """What is packed comes out again, and nothing that is not a run's."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "run.tar.gz"

    def made(self, out="first"):
        run = jobs.Run(self.folder / out, 60, dict(os.environ))
        run.env.update(archive.environment(run.out))
        store = Path(run.env["TENON_CACHE_DIR"])
        (store / "a.program").write_bytes(os.urandom(5000))
        (store / "b.running").write_bytes(b"mark")
        (Path(run.env["CUDA_CACHE_PATH"]) / "x").mkdir()
        (Path(run.env["CUDA_CACHE_PATH"]) / "x" / "y").write_bytes(os.urandom(70000))
        for key in ("a/one", "build/programs", "tests/build", "host/drivers"):
            run.job(key, ["true"])
        return run

    def refused(self, out="second"):
        with self.assertRaises(archive.Refused) as caught:
            archive.resume(self.path, self.folder / out)
        self.assertFalse(list(self.folder.glob(out + "*")), "nothing is left behind")
        return str(caught.exception)

    def test_it_goes_on_in_another_folder(self):
        run = self.made()
        self.assertEqual(archive.write(run, self.path), [])
        second = self.folder / "second"
        self.assertIn("1 jobs are done", archive.resume(self.path, second))
        again = jobs.Run(second, 60, dict(os.environ))
        self.assertEqual(again.job("a/one", ["false"]), jobs.SKIPPED)
        self.assertEqual(list(again.state["jobs"]), ["a/one"], "what was built there is not here")
        for name in ("cache/tenon/a.program", "cache/driver/x/y", "logs/a-one.log"):
            self.assertEqual((second / name).read_bytes(), (run.out / name).read_bytes(), name)
        # The store refuses a folder that others may write into; what a cut program was at is tried again.
        self.assertEqual((second / "cache" / "tenon").stat().st_mode & 0o77, 0)
        self.assertEqual(list(second.rglob("*.running")), [])

    def test_of_two_the_one_that_has_gone_further_counts(self):
        run = self.made()
        archive.write(run, self.path)
        run.job("a/two", ["true"])
        self.assertIn("or more", archive.resume(self.path, run.out))
        self.assertEqual(jobs.Run(run.out, 60, {}).status("a/two"), "ok")
        archive.write(run, self.path)
        older = jobs.Run(self.folder / "older", 60, dict(os.environ))
        older.job("a/old", ["true"])
        older.state["saved"] = 1
        jobs.write_json(older.out / "state.json", older.state)
        archive.resume(self.path, older.out)
        self.assertEqual(sorted(jobs.Run(older.out, 60, {}).state["jobs"]), ["a/one", "a/two"])

    def test_what_is_too_large_is_left_out_and_named(self):
        run = self.made()
        left_out = archive.write(run, self.path, most=30000)
        self.assertEqual([text.split()[0] for text in left_out], ["cache/driver"])
        archive.resume(self.path, self.folder / "second")
        self.assertTrue((self.folder / "second" / "cache" / "tenon" / "a.program").exists())
        self.assertFalse((self.folder / "second" / "cache" / "driver").exists())

    def test_what_is_no_archive_changes_nothing(self):
        self.path.write_bytes(b"no archive")
        self.assertIn("cannot be read", self.refused())
        archive.write(self.made(), self.path)
        whole = self.path.read_bytes()
        self.path.write_bytes(whole[:len(whole) // 2])
        self.assertIn("cannot be read", self.refused())
        link = tarfile.TarInfo("state.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        for member in (tarfile.TarInfo("../outside"), tarfile.TarInfo("/outside"), link):
            with tarfile.open(self.path, "w:gz") as tar:
                tar.addfile(member, io.BytesIO(b""))
            self.assertIn("no file of a run", self.refused())
        with tarfile.open(self.path, "w:gz") as tar:
            tar.addfile(tarfile.TarInfo("REPORT.md"), io.BytesIO(b""))
        self.assertIn("state.json", self.refused())
        archive.write(self.made("third"), self.path)
        (self.folder / "mine").mkdir()
        (self.folder / "mine" / "thesis").write_text("text", encoding="utf-8")
        with self.assertRaises(archive.Refused):
            archive.resume(self.path, self.folder / "mine")
        self.assertEqual((self.folder / "mine" / "thesis").read_text(encoding="utf-8"), "text")


if __name__ == "__main__":
    unittest.main()

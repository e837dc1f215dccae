#!/usr/bin/env python3
"""Tests `tenon cache`: list, clear, path, export and import.

    check_cache.py path/to/tenon
"""
import os
import random
import re
import subprocess
import sys
import time
import unittest
from pathlib import Path

from in_folder import WithStore

TENON = sys.argv.pop(1) if len(sys.argv) > 1 else "build/tools/tenon"
SEED = int(os.environ.get("TENON_TEST_SEED") or time.time())
CASE = ("check", "activation", "x=f32:4096", "y=f32:4096", "activation=abs")


def tenon(*args, **environment):
    return subprocess.run([TENON, *args], capture_output=True, text=True, check=False,
                          env=dict(os.environ, **environment))


class Cache(WithStore):
    def cache(self, *args, **environment):
        return tenon("cache", *args, **{**self.environment, **environment})

    def fill(self):
        done = tenon(*CASE, **self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)

    def entries(self):
        return {path.name: path.read_bytes() for path in self.store.glob("*")
                if not path.name.startswith(".lock-")}

    def assert_fails(self, done, *texts):
        self.assertEqual(done.returncode, 1, done.stdout)
        for text in texts:
            self.assertIn(text, done.stderr)


class Usage(Cache):
    def test_wrong_usage(self):
        for args, why in (((), "an action is missing"), (("remove",), 'unknown action "remove"'),
                          (("list", "--kind"), "--kind: the value is missing"),
                          (("list", "--kind", "dog"), 'unknown --kind "dog", allowed: program, check'),
                          (("export",), "export: FILE is missing"), (("import",), "FILE is missing"),
                          (("export", "a", "b"), 'unexpected argument "b"'), (("export", ""), "export: FILE is missing"),
                          (("clear", "--kind", "check"), "clear: --kind is an option of list"),
                          (("export", "a", "--force"), "export: --force is an option of import"),
                          (("clear", "all"), 'clear: unexpected argument "all"')):
            done = self.cache(*args)
            self.assertEqual((done.returncode, done.stdout), (2, ""), args)
            self.assertIn(why, done.stderr)
            self.assertIn("Usage: tenon cache", done.stderr)

    def test_help(self):
        done = tenon("help", "cache")
        for word in ("list", "clear", "path", "export", "import", "TENON_CACHE_DIR"):
            self.assertIn(word, done.stdout)


class Folder(Cache):
    def test_the_path_depends_on_the_environment(self):
        home = str(self.place)
        for changes, expected in (({}, self.store),
                                  ({"TENON_CACHE_DIR": "", "XDG_CACHE_HOME": home},
                                   self.place / "tenon"),
                                  ({"TENON_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": home},
                                   self.place / ".cache/tenon")):
            done = self.cache("path", **changes)
            self.assertEqual((done.returncode, done.stdout), (0, f"{expected}\n"), done.stderr)
        self.assertEqual(list(self.place.iterdir()), [], "a query creates nothing")

    def test_a_missing_folder_is_explained(self):
        self.assert_fails(self.cache("path", TENON_CACHE="0"),
                          "path: no folder: TENON_CACHE is 0")
        self.assert_fails(self.cache("list", TENON_CACHE_DIR="", XDG_CACHE_HOME="", HOME=""),
                          "list: no folder: none of TENON_CACHE_DIR")

    def test_an_unusable_folder_is_explained(self):
        self.store.mkdir()
        self.store.chmod(0o770)
        done = self.cache("path")
        self.assertEqual(done.stdout, f"{self.store}\n")
        self.assert_fails(done, f"folder {self.store} is not used: other users can write to it")
        for args in (("clear",), ("export", str(self.place / "file")),
                     ("import", str(self.place / "file"))):
            self.assert_fails(self.cache(*args), "other users can write to it")

    def test_an_empty_folder(self):
        self.assertEqual(self.cache("list").stdout, f"0 entries of 0 bytes in {self.store}\n")
        self.assertEqual(self.cache("clear").stdout,
                         f"removed 0 entries of 0 bytes from {self.store}\n")
        self.assertFalse(self.store.exists())


class List(Cache):
    def test_every_kind_has_a_line(self):
        self.fill()
        done = self.cache("list")
        self.assertEqual(done.returncode, 0, done.stderr)
        for pattern in (r"check +\d+  \d{4}-\d\d-\d\d \d\d:\d\d  activation/\S+ -cl-std.*: right",
                        r"program +\d+  .{16}  activation/\S+ -cl-std=\S+ ",
                        r"trial +\d+  .{16}  hardware_fma: \S+"):
            self.assertRegex(done.stdout, f"(?m)^{pattern}")
        entries = self.entries()
        size = sum(len(data) for data in entries.values())
        self.assertTrue(done.stdout.endswith(
            f"\n{len(entries)} entries of {size} bytes in {self.store}\n"), done.stdout)

    def test_one_kind(self):
        self.fill()
        lines = self.cache("list", "--kind", "trial").stdout.splitlines()
        names = [name for name in self.entries() if name.endswith(".trial")]
        self.assertEqual(len(lines), len(names) + 1)
        self.assertTrue(all(line.startswith("trial ") for line in lines[:-1]), lines)

    def test_a_barred_variant_is_listed_as_wrong(self):
        spoiled = Path(TENON).resolve().parents[1] / "tests/cli/libspoiled_driver.so"
        if not spoiled.exists():
            self.skipTest("the spoiled driver was not built")
        done = tenon(*CASE, LD_PRELOAD=str(spoiled), SPOILED_KERNEL="forward_dense", **self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(self.cache("list", "--kind", "check").stdout,
                         "(?m)^check .* activation/dense.*: wrong: .*element ")

    def test_damaged_entries_are_a_failure(self):
        self.fill()
        path = next(self.store.glob("*.trial"))
        path.write_bytes(path.read_bytes()[:-1])
        self.assert_fails(self.cache("list"), f"list: 1 damaged in {self.store}")
        self.assertIn(f"{path.name} is damaged", self.cache("list").stdout)

    def test_listing_does_not_count_as_use(self):
        self.fill()
        path = next(self.store.glob("*.trial"))
        os.utime(path, (1000000000, 1000000000))
        self.assertIn("2001-09-", self.cache("list").stdout)
        self.cache("export", str(self.place / "file"))
        self.assertEqual(path.stat().st_mtime, 1000000000)

    def test_clear(self):
        self.fill()
        (self.store / "README").write_text("not an entry")
        count = len(self.entries()) - 1
        self.assertRegex(self.cache("clear").stdout,
                         rf"^removed {count} entries of \d+ bytes from ")
        self.assertEqual(list(self.entries()), ["README"])


class Carry(Cache):
    def setUp(self):
        super().setUp()
        self.file = self.place / "file"
        self.fill()
        self.before = self.entries()
        done = self.cache("export", str(self.file))
        self.assertRegex(done.stdout, rf"^wrote {len(self.before)} entries of \d+ bytes from ")
        self.assertEqual(sorted(path.name for path in self.place.iterdir()), ["file", "store"])

    def take(self, data=None, *more):
        if data is not None:
            self.file.write_bytes(data)
        return self.cache("import", str(self.file), *more)

    def test_import_restores_the_exported_entries(self):
        self.cache("clear")
        self.assertRegex(self.take().stdout, rf"^wrote {len(self.before)} entries to ")
        self.assertEqual(self.entries(), self.before)
        elsewhere = self.place / "elsewhere/of/mine"
        done = self.cache("import", str(self.file), TENON_CACHE_DIR=str(elsewhere))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(elsewhere.stat().st_mode & 0o777, 0o700)

    def test_import_keeps_existing_entries_unless_forced(self):
        path = next(self.store.glob("*.trial"))
        path.write_bytes(b"mine")
        self.assertRegex(self.take().stdout, rf"^wrote 0 entries to .* {len(self.before)} more")
        self.assertEqual(path.read_bytes(), b"mine")
        self.assertRegex(self.take(None, "--force").stdout, rf"^wrote {len(self.before)} entries")
        self.assertEqual(self.entries(), self.before)

    def test_crash_guards_and_damaged_entries_are_not_exported(self):
        mark = self.store / ("0" * 32 + ".running")
        mark.write_bytes(b"damaged")
        done = self.cache("export", str(self.file))
        self.assertIn(f"skipped {mark.name}: it is damaged", done.stderr)
        self.assertIn(f"wrote {len(self.before)} entries", done.stdout)

    def refused(self, data, *texts):
        done = self.take(data)
        self.assert_fails(done, f"tenon cache: import: {self.file}: ", *texts)
        self.assertEqual(self.entries(), {})

    def test_altered_or_truncated_files_are_refused_completely(self):
        whole = self.file.read_bytes()
        self.cache("clear")
        draw = random.Random(SEED)
        ends = list(range(min(40, len(whole)))) + [draw.randrange(len(whole)) for _ in range(40)]
        for end in ends:
            self.refused(whole[:end])
        places = list(range(100)) + [draw.randrange(len(whole)) for _ in range(100)]
        for at in places:
            altered = bytearray(whole)
            altered[at] ^= draw.randrange(1, 256)
            self.refused(bytes(altered))
        line = whole.split(b"\n")[1]  # other spellings of the same line are refused
        for other in (line.replace(b" ", b"\t"), line.replace(b" ", b"  "), line.upper(),
                      line.replace(b" ", b" 0", 1), line.replace(b" ", b" +", 1)):
            self.assertNotEqual(other, line)
            self.refused(whole.replace(line, other, 1), "line of entry 1")
        self.refused(whole.replace(b"end ", b"end 0"), f"line of entry {len(self.before) + 1}")
        self.refused(whole + b"x", "extra bytes follow its")
        self.refused(b"", 'its first line: expected "tenon cache 1"')
        self.refused(whole[:-6], "")

    def test_random_bytes_are_handled(self):
        self.cache("clear")
        draw = random.Random(SEED)
        head = b"tenon cache 1\n"
        for _ in range(100):
            self.refused(head * draw.randrange(2) + draw.randbytes(draw.randrange(300)))
        for line, why in ((b"x\n", "line of entry 1"),
                          (b"end 1\n", "it has 0 entries, expected 1"),
                          (b"../../x.trial 3 %016x\nabc" % 0, "line of entry 1"),
                          (b"a.trial 1073741824 %016x\nabc" % 0,
                           "a.trial: the file ends within its bytes"),
                          (b"a.trial 18446744073709551615 %016x\n" % 0, "line of entry 1"),
                          (b"a.trial 0 %016x\n" % 0, "line of entry 1"), (b"", "its last line"),
                          (b"a.trial 3 %016x\nabcend 1\n" % 0, "the checksum of its bytes differs"), (b"\0\n", "entry 1"),
                          (b"9" * 1000, "line of entry 1")):
            self.refused(head + line, why)

    def test_an_entry_with_the_wrong_name_is_refused(self):
        whole = self.file.read_bytes()
        name = next(name for name in self.before if name.endswith(".trial"))
        self.cache("clear")
        self.refused(whole.replace(name.encode(), b"0" * 32 + b".trial"),
                     f"its key requires the name {name}")

    def test_missing_files(self):
        self.assert_fails(self.cache("import", str(self.place / "none")),
                          f"import: cannot read {self.place / 'none'}: ")
        target = self.place / "none/file"
        self.assert_fails(self.cache("export", str(target)), f"export: cannot write {target}")
        self.assertTrue(re.search("No such file", self.cache("export", str(target)).stderr))


if __name__ == "__main__":
    print(f"TENON_TEST_SEED={SEED}", flush=True)
    unittest.main()

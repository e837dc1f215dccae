#!/usr/bin/env python3
"""Tests the contents of documentation pages: builds and runs programs, compiles fragments, follows
links, and checks that commands exist.

    check_docs.py --include FOLDER … --library FOLDER -- cc …

A C block with a main() is a program. Any other C block follows a line `<!-- compile with FILE -->`,
whose FILE beside this script declares the names that the fragment uses, or `<!-- from FILE -->`, in
which case the block must be a verbatim part of FILE. tests/embed/cpp and python/tests run the C++
and Python blocks, check_ci.py those of docs/ci.md.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("bench/**/*.md")])
BLOCK = re.compile(r"(?ms)(?:^[ ]*<!-- (?P<how>compile with|from) (?P<given>\S+) -->\n)?"
                   r"^(?P<indent>[ ]*)```(?P<language>\w+)\n(?P<code>.*?)^[ ]*```$")
LINK = re.compile(r"(?<!`)\]\(([^)\s]+)\)")
LANGUAGES = {"c", "cpp", "python", "sh", "json", "yaml", "dockerfile"}
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-const-variable",
         "-Wno-unused-variable", "-Wno-unused-function"]
OPTIONS = argparse.Namespace()


def blocks(language):
    """Yields (page and line, (method, file) or (None, None), code) for each block of all pages."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in BLOCK.finditer(text):
            if found["language"] == language:
                line = text.count("\n", 0, found.start("code")) + 1
                code = re.sub(f"(?m)^{found['indent']}", "", found["code"])
                yield f"{page.relative_to(ROOT)}:{line}", (found["how"], found["given"]), code


def anchors(page):
    """Returns the anchors that GitHub derives from the page's headings."""
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
    heads = (re.sub(r"[`*]|\]\([^)]*\)|\[", "", head) for head in re.findall(r"(?m)^#+ +(.*)$", text))
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in heads}


class Programs(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)

    def compile(self, code, *more):
        source = self.place / "block.c"
        source.write_text(code, encoding="utf-8")
        done = subprocess.run(
            [*OPTIONS.cc, *FLAGS, *(f"-I{folder}" for folder in OPTIONS.include), str(source),
             *more], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def run_program(self):
        environment = dict(os.environ, LD_LIBRARY_PATH=OPTIONS.library)
        done = subprocess.run([str(self.place / "program")], capture_output=True, text=True,
                              check=False, cwd=ROOT, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def test_all_c_blocks(self):
        count = 0
        for place, (how, given), code in blocks("c"):
            with self.subTest(place):
                count += 1
                if how == "from":
                    self.assertIn("\n" + code, (ROOT / given).read_text(encoding="utf-8"))
                elif how is None:
                    self.compile(code, "-o", str(self.place / "program"), f"-L{OPTIONS.library}",
                                 "-ltenon", "-lm")
                    self.assertNotEqual(self.run_program(), "")
                else:
                    self.compile(f'#include "{ROOT / "tests" / "docs" / given}"\n{code}', "-c",
                                 "-o", str(self.place / "block.o"))
        self.assertGreater(count, 1)

    def test_wrong_blocks_are_found(self):
        with self.assertRaises(AssertionError):
            self.compile("int main(void) { return tenon_gemm(); }\n", "-fsyntax-only")


class Pages(unittest.TestCase):
    def test_every_language_is_known(self):
        for page in PAGES:
            for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
                self.assertIn(found["language"], LANGUAGES, page.name)

    def test_json_blocks_are_valid(self):
        for place, _, code in blocks("json"):
            with self.subTest(place):
                json.loads(code)

    def test_links_have_targets(self):
        count = 0
        for page in PAGES:
            for target in LINK.findall(page.read_text(encoding="utf-8")):
                if re.match(r"https?:", target):
                    continue
                name, _, anchor = target.partition("#")
                other = (page.parent / name).resolve() if name else page
                with self.subTest(page=page.name, target=target):
                    count += 1
                    self.assertTrue(other.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(other))
        self.assertGreater(count, 20)

    def check_options(self, command, line):
        """Checks that the options in a line that runs `tenon COMMAND` are in its help."""
        words = re.split(r"\s[#|>&]|;|\)", re.split(rf"tenon {command}", line, maxsplit=1)[1])[0]
        options = re.findall(r"(?<![\w-])--[a-z][a-z-]*|(?<![\w-])-[a-z]\b", words)
        said = subprocess.run([OPTIONS.tenon, "help", command], capture_output=True, text=True,
                              check=True).stdout if options else ""
        for option in options:
            self.assertRegex(said, rf"(?<![\w-]){option}(?![\w-])")

    def test_commands_exist(self):
        verbs = set(re.findall(r"(?m)^  (\w[\w-]*)", (ROOT / "run").read_text(encoding="utf-8")))
        tools = set(re.findall(r"(?m)^  ([a-z]+) ", subprocess.run(
            [OPTIONS.tenon, "help"], capture_output=True, text=True, check=True).stdout))
        for place, _, code in blocks("sh"):
            for line in code.splitlines():
                with self.subTest(place, line=line):
                    for verb in re.findall(r"\./run (\w[\w-]*)", line):
                        self.assertIn(verb, verbs)
                    for command in re.findall(r"(?:^|[/ ])tenon ([a-z]+)\b", line):
                        self.assertIn(command, tools)
                        self.check_options(command, line)
                    for path in re.findall(r"(?:^| )((?:scripts|tests|examples)/[\w/.]+)", line):
                        self.assertTrue((ROOT / path).exists(), path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--tenon", required=True)
    parser.add_argument("cc", nargs="+")
    parser.parse_args(namespace=OPTIONS)
    unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()

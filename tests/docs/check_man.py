#!/usr/bin/env python3
"""Tests the man pages: lint reports nothing, and every option of the help and every environment
variable is described.

    check_man.py PROGRAM … PAGE …
"""
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [Path(word) for word in sys.argv[1:] if word.endswith(".1")]
PROGRAMS = sys.argv[1:1 + len(PAGES)]


def shown(page):
    """Returns the page's text with escapes removed."""
    text = page.read_text(encoding="utf-8").replace("\\&", "")
    return text.replace("\\-", "-").replace("\\e", "\\")


def said(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def commands_of(program):
    """Returns the names of the commands that are part of the program itself."""
    listed = re.search(r"(?m)^Commands:\n((?:  .*\n)+)", said(program, "help"))[1]
    return re.findall(r"(?m)^  ([a-z]+) ", listed)


class Pages(unittest.TestCase):
    def test_lint(self):
        found = [tool for tool in (["mandoc", "-Tlint", "-Wwarning"], ["man", "--warnings", "-E", "UTF-8", "-l"])
                 if shutil.which(tool[0])]
        if not found:
            self.skipTest("neither mandoc nor man is installed")
        for page in PAGES:
            for tool in found:
                done = subprocess.run([*tool, str(page)], capture_output=True, text=True, check=False)
                complaints = done.stdout if tool[0] == "mandoc" else done.stderr
                self.assertEqual(complaints, "", f"{tool[0]} {page.name}")

    def test_preformatted_lines_fit_a_terminal(self):
        for page in PAGES:
            for block in re.findall(r"(?ms)^\.nf$(.*?)^\.fi$", shown(page)):
                for line in block.splitlines():
                    self.assertLessEqual(len(line), 72, page.name)

    def test_commands_and_options_are_described(self):
        for program, page in zip(PROGRAMS, map(shown, PAGES)):
            commands = commands_of(program)
            self.assertGreater(len(commands), 5)
            for command in commands:
                own = re.search(rf"(?ms)^\.SS {command}\n(.*?)^\.S", page)[1]
                options = re.findall(r"(?m)^(?:  -\w, |      )(--[a-z-]+)", said(program, command, "--help"))
                self.assertIn("--help", options)
                self.assertEqual(re.findall(r"(?m)^(?:  -\w, |      )(--[a-z-]+)", own), options, command)

    def test_help_is_the_same_in_every_way_to_ask_for_it(self):
        for program in PROGRAMS:
            self.assertEqual(said(program, "help"), said(program, "--help"))
            self.assertTrue(said(program, "help").isascii())
            for command in commands_of(program):
                text = said(program, "help", command)
                self.assertEqual(text, said(program, command, "--help"))
                self.assertEqual(text, said(program, command, "-h"))
                self.assertTrue(text.isascii(), command)  # popt truncates other texts in the C locale

    def test_examples_use_existing_commands(self):
        for page in PAGES:
            text = shown(page)
            examples = text[text.index(".SH EXAMPLES\n"):text.index(".SH SEE ALSO\n")]
            lines = re.findall(rf"(?m)^{page.stem} (.*)$", examples)
            self.assertGreater(len(lines), 3)
            for words in map(str.split, lines):
                at = text.find(f".SS {words[0]}\n")
                described = text[at:].split(".SS")[1] if at >= 0 else text[:text.index(".SH EXAMPLES\n")]
                if at < 0:  # in Python
                    described += said(PROGRAMS[PAGES.index(page)], words[0], "--help")
                for word in words:
                    if word == words[0] or word.startswith("-"):
                        self.assertRegex(described, rf"(?<![\w-]){word}(?![\w-])", " ".join(words))

    def test_environment_variables_are_described(self):
        page = shown(next(p for p in PAGES if p.name == "tenon.1"))
        read = {name for folder in ("src", "tools") for source in (ROOT / folder).rglob("*.c")
                for name in re.findall(r'"(TENON_[A-Z_]+)"', source.read_text(encoding="utf-8"))
                if f'getenv("{name}")' in source.read_text(encoding="utf-8")}
        self.assertGreater(len(read), 3)
        for name in sorted(read):
            self.assertIn(f".B {name}\n", page)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""Tests the man pages: lint reports nothing, and every option of the help and every environment
variable is described.

    check_man.py TENON PAGE …
"""
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TENON, PAGES = sys.argv[1], [Path(p) for p in sys.argv[2:]]


def shown(page):
    """Returns the page's text with escapes removed."""
    text = page.read_text(encoding="utf-8").replace("\\&", "")
    return text.replace("\\-", "-").replace("\\e", "\\")


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
        page = shown(next(p for p in PAGES if p.name == "tenon.1"))
        text = subprocess.run([TENON, "help"], capture_output=True, text=True, check=True).stdout
        commands = re.findall(r"(?m)^  ([a-z]+) ", text)
        self.assertGreater(len(commands), 5)
        for command in commands:
            said = subprocess.run([TENON, command, "--help"], capture_output=True, text=True,
                                  check=True).stdout
            self.assertIn(f".SS {command}\n", page)
            for option in re.findall(r"--[a-z-]+", said):
                self.assertIn(option, page, command)

    def test_examples_use_existing_commands(self):
        for page in PAGES:
            text = shown(page)
            examples = text[text.index(".SH EXAMPLES\n"):text.index(".SH SEE ALSO\n")]
            lines = re.findall(rf"(?m)^{page.stem} (.*)$", examples)
            self.assertGreater(len(lines), 3)
            for words in map(str.split, lines):
                said = text[text.index(f".SS {words[0]}\n"):].split(".SS")[1] \
                    if page.stem == "tenon" else text[:text.index(".SH EXAMPLES\n")]
                for word in words:
                    if word == words[0] or word.startswith("-"):
                        self.assertRegex(said, rf"(?<![\w-]){word}(?![\w-])", " ".join(words))

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

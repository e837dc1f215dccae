"""The Python code in the documentation runs."""
import contextlib
import io
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/python.md", "python/README.md")  # pages that must contain Python code
# Examples of parallel training, which fail themselves if results differ from those of one device.
PARALLEL = (("data_parallel", "member 1 of 2, 2 buckets: 0 parameters differ"),
            ("unequal_devices", "samples, kept: True"),
            ("sharded_optimizer", "member 2 of 3: 0 parameters differ"),
            ("sharded_parameters", "member 3 of 4: 0 parameters differ"),
            ("tensor_parallel", "% of their bounds"),
            ("pipeline_parallel", "3 stages: 0 parameters differ"),
            ("expert_parallel", "3 members: 0 weights differ"),
            ("alexnet_halves", "2 devices: 0 of 240678 parameters differ", "2", "3", "16"),
            ("three_kinds", "copy 1: 0 of 42772 parameters differ"))


class Blocks(unittest.TestCase):
    def test_each_runs_by_itself(self):
        pages = {*PAGES, *(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*.md"))}
        for page in sorted(pages):
            text = (ROOT / page).read_text(encoding="utf-8")
            blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", text)
            if page in PAGES:
                self.assertGreater(len(blocks), 0, page)
            for code in blocks:
                with self.subTest(page, code=code), contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(code, page, "exec"), {})

    def test_the_examples_run(self):
        for name, printed, *arguments in (("edges", "#####"), ("options", "Asian arithmetic"),
                              ("safe_training", "steps skipped"), *PARALLEL):
            with self.subTest(name):
                done = subprocess.run([sys.executable, ROOT / "examples" / f"{name}.py", *arguments], check=False,
                                      capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(printed, done.stdout)


if __name__ == "__main__":
    unittest.main()

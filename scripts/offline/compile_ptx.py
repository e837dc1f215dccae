#!/usr/bin/env python3
"""What an interpreted GPU compiles its programs by (tests/ptx): PTX_COMPILER.

    compile_ptx.py SOURCE PTX [OPTION …]

PTX_DEVICE is the machine. What was compiled is kept in the folder PTX_CACHE. PTX_EDIT is a file with
an edit of the text, the pattern and what takes its place on a line each, by which a test makes a
mutant; it must find something in each program whose name the third line has.
"""
import hashlib
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from offline.compilers import MACHINES, Compilers, Failure  # noqa: E402


def compiled(machine, source, options):
    """The PTX, from the folder or made."""
    compilers = Compilers()
    if "nvidia" in compilers.absent:
        sys.exit(compilers.absent["nvidia"])
    key = "\0".join([machine.name, " ".join(options), source.read_text(encoding="utf-8"),
                     compilers.version("nvidia")])
    kept = Path(os.environ["PTX_CACHE"], hashlib.sha256(key.encode()).hexdigest()[:32] + ".ptx")
    if kept.exists():
        return kept.read_text(encoding="utf-8")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "k.cl")
        shutil.copy(source, path)
        try:
            text = compilers.ptx(machine, path, options).read_text(encoding="utf-8")
        except Failure as error:
            sys.exit(str(error))
    mine = kept.with_suffix(f".{os.getpid()}")
    mine.write_text(text, encoding="utf-8")
    mine.rename(kept)
    return text


def edited(text):
    edit = os.environ.get("PTX_EDIT")
    if edit is None:
        return text
    pattern, replacement, kernel = Path(edit).read_text(encoding="utf-8").splitlines()
    if f".entry {kernel}(" not in text:
        return text
    text, count = re.subn(pattern, replacement, text)
    if count == 0:
        sys.exit(f"the edit {pattern!r} finds nothing in {kernel}")
    return text


def main():
    source, ptx, *options = sys.argv[1:]
    machine = next(m for m in MACHINES if m.name == os.environ["PTX_DEVICE"])
    Path(ptx).write_text(edited(compiled(machine, Path(source), options)), encoding="utf-8")


if __name__ == "__main__":
    main()

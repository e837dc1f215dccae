#!/usr/bin/env python3
"""The compiler of the interpreted GPU (tests/ptx), set in PTX_COMPILER.

    compile_ptx.py SOURCE PTX [OPTION …]

PTX_DEVICE is the machine. PTX_EDIT is a JSON file with an edit that creates a mutant (interpreter.Edit).
"""
import json
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from offline.compilers import MACHINES, Compilers, Failure  # noqa: E402


def compiled(machine, text, options):
    compilers = Compilers()
    if "nvidia" in compilers.absent:
        sys.exit(compilers.absent["nvidia"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "k.cl")
        path.write_text(text, encoding="utf-8")
        try:
            return compilers.ptx(machine, path, options).read_text(encoding="utf-8")
        except Failure as error:
            sys.exit(str(error))


def edited(where, text):
    """Returns the text after the edit, if the edit applies to this kind of text and to one of its kernels."""
    path = os.environ.get("PTX_EDIT")
    if path is None:
        return text
    place, kernel, pattern, replacement = json.loads(Path(path).read_text(encoding="utf-8"))
    if place != where or not re.search(rf"\b{kernel}\(", text):
        return text
    text, count = re.subn(pattern, replacement, text)
    if count == 0:
        sys.exit(f"the edit {pattern!r} matches nothing in {kernel}")
    return text


def main():
    source, ptx, *options = sys.argv[1:]
    machine = next(m for m in MACHINES if m.name == os.environ["PTX_DEVICE"])
    options.append("-DFP_FAST_FMAF=1")  # as in NVIDIA's compiler
    text = edited("source", Path(source).read_text(encoding="utf-8"))
    Path(ptx).write_text(edited("ptx", compiled(machine, text, options)), encoding="utf-8")


if __name__ == "__main__":
    main()

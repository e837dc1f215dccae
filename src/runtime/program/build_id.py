#!/usr/bin/env python3
"""Writes a hash of the library's sources: what is kept between processes is for these alone.

    build_id.py --output build_id.c --depfile build_id.d FOLDER ...
"""
import argparse
import hashlib
from pathlib import Path

ENDINGS = {".c", ".h", ".cl", ".clh", ".json", ".in"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", required=True)
    parser.add_argument("--depfile", required=True)
    parser.add_argument("folders", nargs="+", type=Path)
    args = parser.parse_args()
    total = hashlib.sha256()
    files = []
    for folder in args.folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in ENDINGS and path.is_file():
                files.append(path)
                total.update(f"{path.relative_to(folder)}\n".encode())
                total.update(hashlib.sha256(path.read_bytes()).digest())
    Path(args.output).write_text('#include "runtime/context/identity.h"\n\n'
                                 f'const char tn_build_id[] = "{total.hexdigest()[:16]}";\n',
                                 encoding="utf-8")
    names = " ".join(str(path).replace(" ", "\\ ") for path in files)
    Path(args.depfile).write_text(f"{args.output}: {names}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

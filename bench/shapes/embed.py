#!/usr/bin/env python3
"""Writes the files of shapes as arrays of C.

    embed.py --output shapes.c FILE ...
"""
import argparse
from pathlib import Path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("files", nargs="+", type=Path)
    args = parser.parse_args()
    lines = ['#include "shapes/built_in.h"', ""]
    for number, path in enumerate(args.files):
        data = path.read_bytes()
        lines.append(f"static const char file_{number}[] = {{")
        lines += [", ".join(map(str, data[i:i + 20])) + "," for i in range(0, len(data), 20)]
        lines.append("};")
    lines.append("const bench_built_in bench_built_in_files[] = {")
    lines += [f'    {{"{path.name}", file_{number}, sizeof file_{number}}},' for number, path in enumerate(args.files)]
    lines += ["};", f"const size_t bench_built_in_count = {len(args.files)};", ""]
    args.output.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Turns a folder of kinds of devices (kind.h) into a table in C.

    embed_kinds.py --output kinds.c --depfile kinds.d FOLDER

Each file is an object of C fields by name: objects become structs, lists arrays. What a file leaves
out it has from the file that its "like" names; objects are merged, all else is replaced. "offline",
which scripts/offline/machines.py reads, is left out.
"""
import argparse
import json
import sys
from pathlib import Path

OWN = ("match", "offline")  # which a kind never has from another


def merged(base, more):
    """`base` with what `more` says instead."""
    out = dict(base)
    for key, value in more.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = merged(out[key], value) if both else value
    return out


def whole(kinds, name, seen=()):
    """The kind with all that it has from others, but which devices are of it."""
    if name in seen or name not in kinds:
        raise SystemExit(f"{seen[-1]}.json: like: there is no kind {name} that could be meant")
    kind = dict(kinds[name])
    base = kind.pop("like", None)
    if base is not None:
        inherited = whole(kinds, base, (*seen, name))
        for key in OWN:
            inherited.pop(key, None)
        kind = merged(inherited, kind)
    return kind


def embedded(kind):
    """The kind without the fields that the library does not need."""
    return {key: value for key, value in kind.items() if key != "offline"}


def initializer(value):
    """C's text for a value of JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f".{key} = {initializer(v)}" for key, v in value.items()) + "}"
    if isinstance(value, list):
        return "{" + (", ".join(map(initializer, value)) or "0") + "}"
    return json.dumps(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--output", required=True)
    parser.add_argument("--depfile", required=True)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    kinds = {}
    for path in sorted(args.folder.glob("*.json")):
        try:
            kinds[path.stem] = json.loads(path.read_text())
        except json.JSONDecodeError as error:
            return f"{path}: {error}"
    rows = [f"    {initializer({'name': name, **embedded(whole(kinds, name))})},\n" for name in kinds]
    Path(args.output).write_text(
        '#include "device/kind.h"\n\n'
        f"const tn_device_kind tn_device_kinds[] = {{\n{''.join(rows)}}};\n"
        f"const size_t tn_device_kind_count = {len(kinds)};\n")
    reads = " ".join(str(path) for path in [args.folder, *sorted(args.folder.glob("*.json"))])
    Path(args.depfile).write_text(f"{args.output}: {reads}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

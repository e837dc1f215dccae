#!/usr/bin/env python3
"""./run docs: writes README.md's table of devices from docs/devices.json.

A claim names a file of the tree and what stands in it. Cards are claimed as compiled or emulated;
that one was tested or measured must stand in a file of bench/results/ that tenon-bench wrote on it.
"""
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEVICES = ROOT / "docs" / "devices.json"
PAGE = ROOT / "README.md"
CLAIMS = ["compiled", "emulated", "tested", "measured"]
BEGIN, END = "<!-- devices -->\n", "<!-- end of the devices -->\n"


def read():
    return json.loads(DEVICES.read_text(encoding="utf-8"))


def ran_on(row, path):
    """Whether tenon-bench wrote a file on the row's card, which has its name in `name`."""
    if path.parent != ROOT / "bench" / "results" or "name" not in row:
        return False
    device = json.loads(path.read_text(encoding="utf-8")).get("device")
    return isinstance(device, dict) and row["name"] in device.get("name", "")


def wrong(rows):
    """What is wrong with the claims, a line each."""
    found = []
    for row in rows:
        for claim in CLAIMS:
            evidence = row.get(claim)
            if evidence is None:
                continue
            place = f'{row["device"]}, {row["driver"]}, {claim}'
            path = ROOT / evidence["file"]
            if not path.is_file() or not evidence["says"]:
                found.append(f'{place}: there is no {evidence["file"]}')
            elif evidence["says"] not in path.read_text(encoding="utf-8"):
                found.append(f'{place}: {evidence["file"]} does not say "{evidence["says"]}"')
            elif row.get("card") and claim in ("tested", "measured") and not ran_on(row, path):
                found.append(f"{place}: no results in bench/results/ are of that card")
        unknown = set(row) - {"device", "driver", "card", "name", *CLAIMS}
        found += [f'{row["device"]}: does not know "{key}"' for key in sorted(unknown)]
    return found


def cell(evidence):
    return f'[{evidence.get("note", "yes")}]({evidence["file"]})' if evidence else "no"


def table(rows):
    lines = ["| Device | Driver or compiler | Compiled | Emulated | Tested | Measured |\n",
             "|" + "---|" * 6 + "\n"]
    for row in rows:
        cells = [row["device"], row["driver"], *(cell(row.get(claim)) for claim in CLAIMS)]
        lines.append(f'| {" | ".join(cells)} |\n')
    return "".join(lines)


def filled(text):
    """The page with the table as the file has it."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + table(read()) + END + rest.split(END)[1]


def main():
    bad = wrong(read())
    if bad:
        sys.exit("devices: " + "\n".join(bad))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

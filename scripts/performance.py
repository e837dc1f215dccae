#!/usr/bin/env python3
"""./run docs: writes the measured tables and figures of README.md, docs/performance.md and docs/ci.md from bench/results/.

A figure of the text follows `<!-- mean SUITE TYPE PEER -->`, the newest mean over a suite, `<!-- worst SUITE TYPE PEER -->`, the
worst case in all files, `<!-- column mean|worst|best NAME NUMBER [CELL] -->`, of a column of a file that is a table, or
`<!-- first CACHES WORDS -->`, the newest time of the first use whose name contains the words. If a peer was measured in two
versions (PEER and PEER-pypi), the faster one counts.

The text between `<!-- table: NAME -->` and `<!-- end of the table -->` is generated from bench/results/NAME.json: a file
written by `tenon-bench run --json`, `regret --json` or `first --json`, or a table together with its machine and method. With
`<!-- table: NAME by case -->` it has a row for each case instead of each suite, and with `<!-- table: NAME by case WORDS -->` only
those of the cases whose suite and name contain all words.
"""
import json
import math
import re
import shlex
import statistics
import sys

from measures import RESULTS, ROOT, column, devices_of, files, newest_editions, newest_first, of_column, ratio_text, worst

DOCUMENT = ROOT / "docs" / "performance.md"
PAGES = (ROOT / "README.md", DOCUMENT, ROOT / "docs" / "ci.md")
END = "<!-- end of the table -->\n"
PLACE = re.compile(r"<!-- table: (\S+)( by case(?: [^\n]*?)?)? -->\n.*?" + re.escape(END), re.DOTALL)
TABLE = re.compile(r"(?m)^\|.*\n")
FIGURE = re.compile(r"(<!-- (?:(?P<kind>mean|worst) (?P<suite>\S+) (?P<dtype>\S+) (?P<peer>\S+)|"
                    r"column (?P<of>mean|worst|best) (?P<file>\S+) (?P<number>\d+)(?: (?P<cell>\S+))?|"
                    r"first (?P<caches>\S+) (?P<words>[^\n]+?)) -->)[\d.]+(?<!\.)(?: (?:s|ms)\b)?")


def where(file, conditions, columns, rows):
    """Returns a table with the device, date and command of a file that tenon-bench wrote."""
    host = file["host"]
    places = "; ".join(f'{device["name"]} ({device["platform"]}, driver {device["driver"]})' for device in devices_of(file))
    versions = ", ".join(f"{peer} {version}" for peer, version in file.get("peers", {}).get("versions", {}).items())
    conditions = f'Tenon {file["tenon"]}. ' + (f"Peers: {versions}. " if versions else "") + conditions
    if not file["complete"]:
        conditions += " The run was interrupted or a case failed."
    return {"recorded": file["date"][:10],
            "device": f'{places}, {host["processors"]} processors',
            "conditions": conditions, "commands": [shlex.join(file["command"])],
            "columns": columns, "rows": rows}


def with_device(file, columns, items, rows):
    """Adds a column with the device to the rows of results or of a summary, if the file has several devices."""
    if len(devices_of(file)) == 1:
        return columns, rows
    return ["Device", *columns], [[devices_of(file)[item["device"]]["name"], *row] for item, row in zip(items, rows)]


def of_benchmark(file):
    """Returns the summary of a file of tenon-bench run as a table."""
    rows = [[r["suite"], r["dtype"], r["peer"], str(r["cases"]), ratio_text(r["mean"]),
             ratio_text(r["least"]), r["least_case"]] for r in file["summary"]["ratios"]]
    columns = ["Suite", "Type", "Peer", "Cases", "Geometric mean", "Minimum", "Case"]
    return where(file, "Ratios: a peer's time over Tenon's.", *with_device(file, columns, file["summary"]["ratios"], rows))


def of_cases(file, words):
    """Returns a table of a file of tenon-bench run, with a row for each case whose suite and name contain the words."""
    results = [r for r in file["results"] if all(word in f'{r["suite"]} {r["case"]}' for word in words)]
    if not results:
        sys.exit(f"performance: no case has {' '.join(words)}")
    peers = sorted({peer for r in results for peer in r["peers"]})
    unit = "GFLOP/s" if any(r["gflops"] for r in results) else "GB/s"
    rows = [[r["case"], r["dtype"], f'{r["median_ns"] / 1e3:.4g}', f'{r["gflops"] or r["gbps"]:.3g}',
             *(ratio_text(r["peers"][p]["ratio"]) if p in r["peers"] else "" for p in peers)] for r in results]
    verified = all(r["verified"] for r in results)
    return where(file, "Medians. Ratios: a peer's time over Tenon's." + (" Every result was verified." if verified else ""),
                 *with_device(file, ["Case", "Type", "µs", unit, *peers], results, rows))


def of_networks(file):
    """Returns a table of a file of whole networks, with a row for each, their time by kind of layer, and the peers."""
    peers = sorted({peer for r in file["results"] for peer in r["peers"]})
    rows = []
    for r in file["results"]:
        total = sum(r["layers_ns"].values())
        layers = sorted(r["layers_ns"].items(), key=lambda item: -item[1])
        rows.append([r["case"], r["dtype"], f'{r["median_ns"] / 1e6:.2f}',
                     *(ratio_text(r["peers"][p]["ratio"]) if p in r["peers"] else "" for p in peers),
                     ", ".join(f"{kind} {100 * ns / total:.0f} %" for kind, ns in layers[:4])])
    return where(file, "Medians. Ratios: a peer's time over Tenon's.",
                 ["Network", "Type", "ms", *peers, "Largest shares of the time"], rows)


def of_regret(file):
    """Returns a table of a file of tenon-bench regret, with a row for each suite and type."""
    rows = []
    for suite, dtype in sorted({(r["suite"], r["dtype"]) for r in file["results"]}):
        of_suite = sorted((r for r in file["results"] if (r["suite"], r["dtype"]) == (suite, dtype)),
                          key=lambda r: r["ratio"])
        ratios = [r["ratio"] for r in of_suite]
        late = ratios[math.ceil(0.95 * len(ratios)) - 1]
        rows.append([suite, dtype, str(len(ratios)), str(min(len(r["measured"]) for r in of_suite)),
                     f"{statistics.median(ratios):.3f}", f"{late:.2f}", f"{ratios[-1]:.2f}",
                     of_suite[-1]["case"]])
    return where(file, "Ratios: the time of the selected solver over that of the best candidate.",
                 ["Suite", "Type", "Cases", "Fewest candidates", "Median", "95th percentile",
                  "Largest", "Case"], rows)


def of_first(file):
    """Returns a table of a file of tenon-bench first, with a row for each measurement and a column for each state of the
    caches."""
    states = [state for state in ("cold", "driver", "warm", "exited", "aborted")
              if any(r["caches"] == state for r in file["results"])]
    times = {(r["case"], r["caches"]): f'{r["median_ns"] / 1e6:.1f}' for r in file["results"]}
    rows = [[case, *(times.get((case, state), "") for state in states)]
            for case in dict.fromkeys(r["case"] for r in file["results"])]
    rounds = min(len(r["rounds_ns"]) for r in file["results"])
    return where(file, f"Milliseconds, medians of {rounds} processes.", ["First call", *states], rows)


def row(cells):
    return f'| {" | ".join(cells)} |\n'


def shown(file, cases):
    """Returns the table of a file that tenon-bench wrote: by suite, or by case if `cases`, a list of words, is not None."""
    if "ratios" not in file["summary"]:
        return of_regret(file)
    if any("caches" in r for r in file.get("results", [])):
        return of_first(file)
    if all("layers_ns" in r for r in file.get("results", [{}])):
        return of_networks(file)
    return of_benchmark(file) if cases is None else of_cases(file, cases)


def table(name, file, cases=None):
    """Returns the Markdown text of a table; `cases` as in `shown`."""
    if "summary" in file:
        file = shown(file, cases)
        kept = f"[The measurements](../bench/results/{name}.json)."
    else:
        kept = "The individual measurements were not kept."
    for cells in file["rows"]:
        if len(cells) != len(file["columns"]):
            sys.exit(f"performance: {name}: a row has {len(cells)} cells, must have "
                     f'{len(file["columns"])}: {cells}')
    lines = [row(file["columns"]), "|" + "---|" * len(file["columns"]) + "\n",
             *map(row, file["rows"]),
             f'\n{file["recorded"]}, {file["device"]}. {file["conditions"]} {kept}\n',
             "\n```sh\n", *(f"{command}\n" for command in file["commands"]), "```\n"]
    return "".join(lines)


def read(name):
    path = RESULTS / f"{name}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        sys.exit(f"performance: {path.name}: {error}")


def filled(text):
    """Returns the page with every table generated from its file."""
    def place(match):
        name, by_case = match[1], match[2] or ""
        cases = by_case.split()[2:] if by_case else None
        return f"<!-- table: {name}{by_case} -->\n{table(name, read(name), cases)}{END}"

    of = files()
    return FIGURE.sub(lambda match: match[1] + figure(match, of), PLACE.sub(place, text))


def figure(match, of):
    """Returns the figure that belongs to a comment in the text."""
    if match["kind"] == "mean":
        means = newest_editions(match["suite"], match["peer"], of, match["dtype"]).values()
        return min((measure["mean"] for _, measure in means), key=float)
    if match["kind"] == "worst":
        return worst(match["suite"], match["peer"], of, match["dtype"])
    if match["kind"] is None and match["caches"]:
        return duration(newest_first(match["caches"], match["words"], of))
    values = column(read(match["file"]), int(match["number"]), match["cell"])
    return f'{of_column(match["of"], values):.2f}'


def duration(ns):
    """Returns a time with two digits, in seconds or milliseconds."""
    return f"{ns / 1e9:.2g} s" if ns >= 0.95e9 else f"{float(f'{ns / 1e6:.2g}'):g} ms"


def names(text):
    """Returns the names of the tables of a page."""
    return [match[1] for match in PLACE.finditer(text)]


def typed(text):
    """Returns the table lines that are not generated from a file."""
    return TABLE.findall(PLACE.sub("", text))


def main():
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

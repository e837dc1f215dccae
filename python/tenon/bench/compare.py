"""tenon-bench compare: compares the times of two files of tenon-bench run --json."""
import argparse
import json
import math
import sys
from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

from .results import (MACHINE, OWN, Case, FileError, ResultFile, around, geometric_mean, keyed, log_error, machine_name, read)

DESCRIPTION = """Compares two files of tenon-bench run, predict or first --json, case by case. A ratio is the time in A over that in B: above
1, B is faster. Its 95 % interval follows from the intervals of both medians. Geometric means are over the cases that both
files have, by suite and type; "peers" is the same mean of the peers' times, and shows how far the machine itself has
changed."""
EPILOG = """Exit status: 0; 1 if a case or the mean of a suite is slower in B by more than the limit, with its whole interval; 2 if
the files cannot be compared."""


@dataclass
class Row:
    """A case in both files: the time in A over the time in B, with its 95 % interval."""
    key: Tuple[str, ...]
    ratio: float
    low: float
    high: float
    solvers: Tuple[str, str]
    peers: List[float]

    @property
    def error(self) -> float:
        return log_error(self.low, self.high)


@dataclass
class Mean:
    """The geometric mean of a suite and type; `peers` is 0 without a common peer."""
    suite: str
    dtype: str
    rows: List[Row]
    ratio: float
    low: float
    high: float
    peers: float


def row(key: Tuple[str, ...], a: Case, b: Case) -> Row:
    ratio = a.median / b.median
    low, high = around(ratio, math.hypot(log_error(a.low, a.high), log_error(b.low, b.high)))
    common = sorted(a.peers.keys() & b.peers.keys() - set(OWN))
    return Row(key, ratio, low, high, (a.solver, b.solver), [a.peers[p].median / b.peers[p].median for p in common])


def cases_of(file: ResultFile) -> List[Case]:
    """Returns the cases of a file, or its first uses, whose type is the state of the caches."""
    return file.cases or file.firsts


def rows(a: ResultFile, b: ResultFile) -> List[Row]:
    before, after = keyed(cases_of(a)), keyed(cases_of(b))
    return [row(key, before[key], after[key]) for key in before if key in after]


def mean(suite: str, dtype: str, mine: List[Row]) -> Mean:
    ratio = geometric_mean(r.ratio for r in mine)
    low, high = around(ratio, math.sqrt(sum(r.error ** 2 for r in mine)) / len(mine))
    peers = [p for r in mine for p in r.peers]
    return Mean(suite, dtype, mine, ratio, low, high, geometric_mean(peers) if peers else 0.0)


def means(all_rows: List[Row]) -> List[Mean]:
    groups: Dict[Tuple[str, str], List[Row]] = {}
    for r in all_rows:
        groups.setdefault((r.key[0], r.key[2]), []).append(r)
    return [mean(suite, dtype, mine) for (suite, dtype), mine in groups.items()]


def other_machine(a: ResultFile, b: ResultFile) -> List[str]:
    """Returns in what the machines differ."""
    return [f"{name}: {a.value(part, key)} and {b.value(part, key)}" for name, part, key in MACHINE
            if a.value(part, key) != b.value(part, key)]


def flat(item: Any, name: str) -> Dict[str, str]:
    """Returns the members of an object by their path, without lists."""
    if not isinstance(item, dict):
        return {} if isinstance(item, list) else {name: item if isinstance(item, str) else json.dumps(item)}
    return {path: text for key, value in item.items() for path, text in flat(value, f"{name} {key}").items()}


def other_conditions(a: ResultFile, b: ResultFile) -> List[str]:
    """Returns in what else the runs differ, of what both files have."""
    def said(file: ResultFile) -> Dict[str, str]:
        parts = [("host", "release"), ("host", "processor"), ("host", "threads"), ("host", "pinning"), ("build", "compiler"),
                 ("build", "flags")]
        found = {f"{part} {key}": str(file.raw[part][key]) for part, key in parts if key in file.raw.get(part, {})}
        return {"driver": str(file.device["driver"]), **found, **flat(file.raw.get("peers") or {}, "peer")}
    before, after = said(a), said(b)
    return [f"{key}: {before[key]} and {after[key]}" for key in before if key in after and before[key] != after[key]]


def notes(letter: str, file: ResultFile) -> List[str]:
    found = []
    if not file.complete:
        found.append(f"{letter} is incomplete: the run was interrupted, or a case failed")
    if file.kind == "predict":
        found.append(f"{letter} is a prediction of the device model: nothing was measured")
    elif file.unverified:
        found.append(f"{letter}: {file.unverified} of {len(file.cases)} results were not verified")
    if file.failures:
        found.append(f"{letter}: {len(file.failures)} cases failed")
    if file.disturbed:
        found.append(f"{letter}: other work disturbed {file.disturbed} of {len(file.cases)} cases")
    if file.emulated:
        found.append(f"{letter} was measured on an emulated device")
    return found


def table(lines: List[List[str]], markdown: bool) -> List[str]:
    """Formats rows whose first is the header; the first two columns are text, the others numbers."""
    if markdown:
        cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        made = ["| " + " | ".join(line) + " |" for line in cells]
        return [made[0], "|---|---|" + "---:|" * (len(lines[0]) - 2), *made[1:]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join(cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths))).rstrip()
            for line in lines]


def listed(title: str, mine: List[Row], markdown: bool) -> List[str]:
    if not mine:
        return []
    lines = [["suite", "case", "ratio", "95 % interval", "type"]]
    lines += [[r.key[0], " ".join([r.key[1], *r.key[3:]]), f"{r.ratio:.3f}", f"{r.low:.3f}-{r.high:.3f}", r.key[2]] for r in mine]
    return ["", title + ":", *([""] if markdown else []), *table(lines, markdown)]


def is_slower(r: Any, limit: float) -> bool:
    """Returns whether the whole interval of a ratio is beyond the limit."""
    return bool(r.high < 1 / (1 + limit / 100))


def summary(found: List[Mean], markdown: bool) -> List[str]:
    lines = [["suite", "type", "cases", "mean", "95 % interval", "least", "most", "slower", "faster", "peers"]]
    for m in found:
        lines.append([m.suite, m.dtype, str(len(m.rows)), f"{m.ratio:.3f}", f"{m.low:.3f}-{m.high:.3f}",
                      f"{min(r.ratio for r in m.rows):.2f}", f"{max(r.ratio for r in m.rows):.2f}",
                      str(sum(r.high < 1 for r in m.rows)), str(sum(r.low > 1 for r in m.rows)),
                      f"{m.peers:.3f}" if m.peers else ""])
    return table(lines, markdown)


def text(a: ResultFile, b: ResultFile, all_rows: List[Row], limit: float, markdown: bool) -> Tuple[str, bool]:
    """Returns the report, and whether something is slower by more than the limit."""
    found = means(all_rows)
    slow = sorted((r for r in all_rows if is_slower(r, limit)), key=lambda r: r.ratio)
    fast = sorted((r for r in all_rows if r.low > 1 + limit / 100), key=lambda r: -r.ratio)[:10]
    bad = [f"{m.suite} {m.dtype}" for m in found if is_slower(m, limit)]
    said = [f"{letter}: {f.path}, {f.date[:10]}, Tenon {f.raw['tenon']}, {machine_name(f.device)}"
            for letter, f in (("A", a), ("B", b))]
    said += [f"different machines: {d}" for d in other_machine(a, b)]
    said += [f"different {d}" for d in other_conditions(a, b)]
    said += notes("A", a) + notes("B", b)
    only = len(cases_of(a)) + len(cases_of(b)) - 2 * len(all_rows)
    if only:
        said.append(f"{only} cases are in only one of the files")
    end = f"{len(slow)} of {len(all_rows)} cases, and {len(bad)} of {len(found)} means"
    lines = [*(f"- {line}" if markdown else line for line in said), "", "Time in A over time in B; above 1, B is faster.",
             "", *summary(found, markdown),
             *listed(f"Slower in B by more than {limit:g} %", slow, markdown),
             *listed(f"Faster in B by more than {limit:g} % (at most ten)", fast, markdown), "",
             f"compare: {end} are slower in B by more than {limit:g} %" + (f": {', '.join(bad)}" if bad else "")]
    return "\n".join(lines), bool(slow or bad)


def percent(word: str) -> float:
    value = float(word)
    if not 0 <= value <= 1000:
        raise argparse.ArgumentTypeError(f"{word} is not from 0 to 1000")
    return value


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="tenon-bench compare", description=DESCRIPTION, epilog=EPILOG)
    made.add_argument("a", metavar="A.json", help="the earlier run")
    made.add_argument("b", metavar="B.json", help="the later run")
    made.add_argument("--limit", type=percent, default=10, metavar="PERCENT",
                      help="how much slower a case or a mean may be; default 10")
    made.add_argument("--other-machine", action="store_true", help="compare files of different machines, too")
    made.add_argument("--markdown", action="store_true", help="print tables in Markdown, for the summary of a CI job")
    return made


def parts_of(path: str) -> List[ResultFile]:
    parts = read(path)
    if parts and parts[0].kind not in ("run", "predict", "first"):
        raise FileError(f"{path}: a file of tenon-bench {parts[0].kind}; those of run, predict and first are compared")
    return parts


def pairs_of(paths: List[str], any_machine: bool) -> List[Tuple[ResultFile, ResultFile]]:
    """Returns the parts of the two files that are of the same device, or the only parts of both."""
    before, after = map(parts_of, paths)
    if len(before) == len(after) == 1 and any_machine:
        return [(before[0], after[0])]
    same = [(a, b) for a in before for b in after if a.machine == b.machine]
    if same:
        return same
    if len(before) == len(after) == 1:
        raise FileError(f"the files are of different machines: {'; '.join(other_machine(before[0], after[0]))}. "
                        "--other-machine compares them")
    raise FileError("the files have no device in common, and more than one")


def main(words: List[str]) -> int:
    args = parser().parse_args(words)
    try:
        pairs = [(a, b, rows(a, b)) for a, b in pairs_of([args.a, args.b], args.other_machine)]
        if not any(common for _, _, common in pairs):
            raise FileError(f"{args.a} and {args.b} have no case in common")
    except FileError as error:
        print(f"tenon-bench: {error}", file=sys.stderr)
        return 2
    worse = False
    for a, b, common in pairs:
        said, is_worse = text(a, b, common, args.limit, args.markdown)
        print(said)
        worse |= is_worse
    return 1 if worse else 0

"""The tables of tenon-bench report, as HTML."""
import math
import shlex
from html import escape
from typing import Any, Dict, Iterable, List, Optional, Tuple

from .charts import Bar, bars_of, by_suite, peer_name, ratio_text, suites_of, time_text
from .machines import Machine, predicted, share
from .results import Case, ResultFile

STEPS = 5  # of the heat map's colors in either direction: a factor of 1.25 each


def table(name: str, head: List[str], rows: Iterable[str], numeric: int) -> str:
    """Returns a table that the page can sort; the columns from `numeric` on are numbers."""
    cells = "".join(f'<th scope=col{" class=n" if i >= numeric else ""}><button>{h}</button>' for i, h in enumerate(head))
    return f'<div class=scroll><table id="{name}" class=sort><thead><tr>{cells}<tbody>{"".join(rows)}</table></div>'


def cell(text: str, value: Optional[float] = None) -> str:
    """Returns a cell; one with a value is sorted by it."""
    return f"<td>{escape(text)}" if value is None else f"<td class=n data-v={value:.6g}>{escape(text)}"


def number(value: Optional[float], text: str) -> str:
    """Returns a cell with a number; an empty one without a value."""
    return "<td class=n>" if value is None else cell(text.format(value), value)


def row(cells: Iterable[str]) -> str:
    return f'<tr>{"".join(cells)}'


def rate(case: Case) -> Tuple[float, str]:
    if case.flops:
        return case.flops / case.median, "GFLOP/s"
    return case.bytes / case.median, "GB/s" if case.bytes else ""


def case_row(machine: Machine, file: ResultFile, case: Case) -> str:
    best, (speed, unit) = case.best_peer(), rate(case)
    part, ceiling = share(machine, case)
    marks = ["not verified"] * case.unverified + ["disturbed"] * case.disturbed
    return row([cell(machine.letter), cell(case.suite), cell(case.name), cell(case.dtype), cell(time_text(case.median), case.median),
                cell(f"{time_text(case.low)} to {time_text(case.high)}"), number(speed or None, f"{{:.4g}} {unit}"),
                number(case.ratio(best) if best else None, "{:.2f}"), cell(peer_name(best) if best else ""),
                number(100 * part if part is not None else None, "{:.0f} %"), cell(ceiling),
                number(case.error if case.verified else None, "{:.2g}"), cell(case.solver), cell(", ".join(marks)),
                cell(file.name)])


def cases(machines: List[Machine]) -> str:
    head = ["Machine", "Suite", "Case", "Type", "Median", "95 % interval", "Rate", "Best peer / Tenon",
            "Best peer", "Of the attainable", "Ceiling", "Error / bound", "Solver", "Remarks", "File"]
    return table("cases", head, (case_row(m, file, case) for m in machines for file, case in m.cases.values()), 99)


def peer_row(bar: Bar, suite: str) -> str:
    return row([cell(bar.machine.letter), cell(suite), cell(bar.dtype), cell(peer_name(bar.peer)), cell(" and ".join(bar.versions)),
                cell(str(len(bar.cases)), len(bar.cases)), cell(ratio_text(bar.mean), bar.mean),
                cell(f"{ratio_text(bar.low)} to {ratio_text(bar.high)}"), cell(ratio_text(bar.least), bar.least),
                cell(bar.worst.name), cell(ratio_text(bar.most), bar.most)])


def means(machines: List[Machine]) -> str:
    head = ["Machine", "Suite", "Type", "Peer", "Version", "Cases", "Geometric mean", "95 % interval", "Worst", "Worst case", "Best"]
    return table("means", head, (peer_row(bar, s) for s in suites_of(machines) for bar in bars_of(s, machines)), 99)


def shade(ratio: float) -> int:
    """Returns a color of the heat map: 0 at a ratio of 1, negative where Tenon is slower."""
    return max(-STEPS, min(STEPS, round(math.log(ratio, 1.25))))


def heat_rows(suite: str, machines: List[Machine]) -> List[Tuple[str, List[Optional[float]]]]:
    """Returns (case and type, the ratio to the fastest peer on each machine) of the cases of a suite that have one."""
    found: Dict[str, List[Optional[float]]] = {}
    for column, machine in enumerate(machines):
        for case in by_suite(machine).get(suite, []):
            best = case.best_peer()
            if best:
                row_of = found.setdefault(f"{case.name} {case.dtype}", [None] * len(machines))
                row_of[column] = case.ratio(best)
    return list(found.items())


def heat_cell(value: Optional[float]) -> str:
    return "<td>" if value is None else f'<td class="n h{shade(value)}" data-v={value:.4g}>{ratio_text(value)}'


def key() -> str:
    """Returns the colors of the heat map with their ratios."""
    return ("<p class=key>" + "".join(f'<span class="h{step}">{1.25 ** step:.2f}</span>' for step in range(-STEPS, STEPS + 1))
            + "</p>")


def heat(suite: str, machines: List[Machine]) -> str:
    """Returns the heat map of a suite; empty if it has no peers."""
    rows = heat_rows(suite, machines)
    if not rows:
        return ""
    shown = [i for i in range(len(machines)) if any(values[i] is not None for _, values in rows)]
    body = []
    for name, values in rows:
        cells = [heat_cell(values[i]) for i in shown]
        body.append(row([f"<th scope=row>{escape(name)}", *cells]))
    head = ["Case", *(machines[i].letter for i in shown)]
    return (f"<details><summary>{escape(suite)}, {len(rows)} cases</summary>"
            + table(f"heat-{suite}", head, body, 1).replace("class=sort", 'class="sort heat"') + "</details>")


def described(item: Any) -> str:
    """Returns an object of a file as text."""
    if isinstance(item, dict):
        pairs = [(key.replace("_", " "), value) for key, value in item.items() if value not in (None, "", [], {})]
        return ", ".join(f"{key} {described(value)}" for key, value in pairs)
    return ", ".join(map(described, item)) if isinstance(item, list) else str(item)


def file_row(machine: Machine, file: ResultFile) -> str:
    build = file.raw.get("build")
    marks = [*(["incomplete"] if not file.complete else []),
             *([f"{file.unverified} of {len(file.cases)} not verified"] if file.unverified and file.kind == "run" else []),
             *([f"{file.disturbed} disturbed"] if file.disturbed else []),
             *([f"{len(file.failures)} failed"] if file.failures else [])]
    said = f"{build['commit'][:12]} ({build['tree']}), {build['compiler']}" if build else "not recorded"
    return row([cell(machine.letter), cell(file.name), cell(file.date[:10]), cell(str(file.raw["tenon"])), cell(said),
                cell(described(file.raw.get("peers")) or "not recorded"), cell(", ".join(marks) or "complete, verified"),
                f"<td><code>{escape(shlex.join(file.command))}</code>"])


def files(machines: List[Machine]) -> str:
    head = ["Machine", "File", "Date", "Tenon", "Built from", "Peers", "State", "Command"]
    return table("files", head, (file_row(m, f) for m in machines for f in m.files), 99)


def failed_rows(machine: Machine) -> List[Tuple[str, str]]:
    """Returns what is said of a device that could not be opened."""
    return [("Asked for", str(machine.files[-1].device["name"])),
            ("Failed", "; ".join(dict.fromkeys(str(f.device["failed"]) for f in machine.files))),
            ("Files", ", ".join(f.name for f in machine.files))]


def machine_rows(machines: List[Machine]) -> str:
    def items(m: Machine) -> str:
        if "failed" in m.files[-1].device:
            return "".join(f"<dt>{name}<dd>{escape(text)}" for name, text in failed_rows(m))
        device, host = m.files[-1].device, m.files[-1].host
        dates = sorted({f.date[:10] for f in m.files})
        limits = "; ".join(f"{c.name} {c.value:,.4g} {'GFLOP/s' if c.dtype else 'GB/s'}"
                           + (f" ({c.spread[0]:,.4g} to {c.spread[1]:,.4g})" if c.spread[1] else "") for c in m.ceilings)
        pairs = [("Device", f"{device['name']}, kind {device['kind']}"),
                 ("Driver", f"{device['platform']}, {', '.join(sorted({f.device['driver'] for f in m.files}))}"),
                 ("Compute units", str(device["compute_units"])),
                 ("Last cache", f"{device['cache'] / (1 << 20):,.4g} MiB, as the driver reports it" if device["cache"] else "not known"),
                 ("Host", f"{host['system']} {host['release']}, {host['machine']}, {host['processors']} processors"
                  + (f", {host['processor']}" if host.get("processor") else "")),
                 ("Measured", dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"),
                 ("Cases", f"{len(m.cases)}, in {len(m.files)} {'file' if len(m.files) == 1 else 'files'}"
                  + (f"; {m.superseded} earlier measurements of the same cases are not shown" if m.superseded else "")),
                 ("Ceilings", (limits + ". Source: " if limits else "") + m.source)]
        failed = [f"{f.get('suite', '')} {f.get('case', '')} {f['why']}".strip() for file in m.files for f in file.failures]
        failed += [f"the device: {f.device['failed']}" for f in m.files if "failed" in f.device]
        pairs += [("Failures", "; ".join(failed))] if failed else []
        return "".join(f"<dt>{name}<dd>{escape(text)}" for name, text in pairs)
    return "".join(f'<article id="machine-{m.letter}"><h3>{escape(m.label)}</h3><dl>{items(m)}</dl></article>' for m in machines)


def firsts(machines: List[Machine]) -> str:
    """Returns the table of first uses; empty without any."""
    rows = [row([cell(m.letter), cell(case.name), cell(case.dtype), cell(time_text(case.median), case.median),
                 cell(f"{time_text(case.low)} to {time_text(case.high)}"), cell(str(rounds), rounds), cell(file.name)])
            for m in machines for file, case in m.firsts.values() for rounds in [len(case.raw["rounds_ns"])]]
    return table("firsts", ["Machine", "First use", "Caches", "Median", "95 % interval", "Processes", "File"], rows, 99) if rows else ""


def predictions(machines: List[Machine]) -> str:
    """Returns the table of estimates, beside what was measured on a machine of the same kind; empty without estimates."""
    rows = [row([cell(m.letter), cell(file.device["kind"]), cell(case.suite), cell(case.name), cell(case.dtype),
                 cell(time_text(case.median), case.median),
                 cell(time_text(real.median), real.median) if real else number(None, ""),
                 number(real.median / case.median if real else None, "{:.2f}"), cell(case.solver)])
            for m, file, case, real in predicted(machines)]
    head = ["Machine", "Kind", "Suite", "Case", "Type", "Predicted", "Measured", "Measured / predicted", "Solver"]
    return table("estimates", head, rows, 99) if rows else ""

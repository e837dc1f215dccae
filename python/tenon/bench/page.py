"""The page of tenon-bench report: one HTML file without references to others."""
import shlex
from html import escape
from pathlib import Path
from typing import List, Optional, Tuple

from . import charts, tables
from .machines import Machine
from .results import ResultFile
from .svg import Chart, variables

HERE = Path(__file__).resolve().parent
# Colors of the heat map, from blue where Tenon is slower to orange where it is faster, with the color of their text.
HEAT = {-5: ("#1f4e8c", "#fff"), -4: ("#3a6fb0", "#fff"), -3: ("#6796c9", "#000"), -2: ("#9bbbdf", "#000"),
        -1: ("#cddcee", "#000"), 0: ("#f3f1ec", "#000"), 1: ("#fbe1bd", "#000"), 2: ("#f6c27c", "#000"),
        3: ("#e59a3c", "#000"), 4: ("#c4700f", "#fff"), 5: ("#8c4a00", "#fff")}

# The sections: heading, name in the navigation, text, and what is said instead of an empty section.
TEXTS = {
    "machines": ("Machines", "Machines", "Each has a letter, which the figures use.", ""),
    "speed": ("Compared with other libraries", "Speed",
              "The peer's time divided by Tenon's, measured alternately in one run: above 1, Tenon is faster. Bars are geometric "
              "means over the cases of a suite, lines their 95 % intervals from those of the times; marks are the worst cases. A "
              "letter is a machine, an asterisk an emulated one.", "None of the files has peers."),
    "roofline": ("Rooflines", "Rooflines",
                 "How fast each case is, and how fast the device's ceilings allow it to be. Cases above a memory slope find their "
                 "data in a cache; Winograd's method needs fewer operations than are counted.", "None of the files has rates."),
    "heat": ("Heat map", "Heat map",
             "The time of the fastest peer over Tenon's, by case and machine. Blue: Tenon is slower; orange: it is faster. Sort a "
             "column to find the worst cases.", "None of the files has peers."),
    "start": ("Cold and warm start", "Start",
              "What a process pays before and at its first calls, with empty and with full caches, and what one call costs that does not "
              "wait in a queue.",
              "None of the files has latencies."),
    "errors": ("Errors and speed", "Errors",
               "The largest error over its derived bound, beside the speed: a fast case must not be an inaccurate one.",
               "None of the files has verified cases with peers."),
    "selection": ("Selection", "Selection", "How close the solver that Tenon selects is to the best candidate.",
                  "There is no file of tenon-bench regret."),
    "predictions": ("Predictions", "Predictions",
                    "Estimates of the device model: <strong>nothing was measured</strong>. The last columns compare them with "
                    "measurements on a device of the same kind.", "There is no file of tenon-bench predict."),
    "tables": ("All cases", "All cases",
               "The newest measurement of each case. The filter at the top applies here, too; columns are sorted by their headings.",
               ""),
    "reproduce": ("Files and commands", "Files",
                  "Each file with the command that wrote it. Peers must be installed in the versions named here.", ""),
}
NO_START = (" None of the files has the suite start: tenon-bench run --suite start --json start.json measures it; with an empty "
            "folder as TENON_CACHE_DIR, a cold start.")
NO_FIRST = " None of the files has first uses: tenon-bench first --json first.json measures them."

Figure = Tuple[Chart, str, List[ResultFile]]  # with its caption, and the files that it shows


def style() -> str:
    light, dark = variables(False), variables(True)
    heat = "".join(f".h{n}{{background:{back};color:{ink}}}" for n, (back, ink) in HEAT.items()).replace(".h-", ".h\\-")
    return (f":root{{color-scheme:light;{light}}}@media(prefers-color-scheme:dark){{:root{{color-scheme:dark;{dark}}}}}"
            f":root[data-theme=light]{{color-scheme:light;{light}}}:root[data-theme=dark]{{color-scheme:dark;{dark}}}"
            + (HERE / "page.css").read_text(encoding="utf-8") + heat)


def reproduced(files: List[ResultFile], name: str, paths: List[str]) -> str:
    """Returns how the figures of some files can be measured and drawn again."""
    commands = dict.fromkeys(shlex.join(f.command) for f in files if f.command)
    drawn = shlex.join(["tenon-bench", "report", *paths, "-o", "report.html", "--svg", "."])
    return ("<details><summary>Reproduce</summary><p>Measured by, on the machine that the letter names:<pre>"
            + escape("\n".join(commands)) + f"</pre><p>Drawn, as {escape(name)}.svg too, by:<pre>{escape(drawn)}</pre></details>")


def figure(item: Figure) -> str:
    chart, caption, files = item
    paths = list(dict.fromkeys(str(f.path) for f in files))
    return (f'<figure id="{chart.name}">{chart.svg()}<output aria-live=polite></output><figcaption>{escape(caption)}'
            f"{reproduced(files, chart.name, paths)}</figcaption></figure>")


def used(machines: List[Machine], suite: Optional[str] = None) -> List[ResultFile]:
    """Returns the files of the cases that a figure shows: of one suite, or of all."""
    found = {id(f): f for m in machines for f, c in m.cases.values() if suite in (None, c.suite)}
    return list(found.values())


def rooflines(machines: List[Machine]) -> List[Figure]:
    made, order = [], charts.suites_of(machines)
    for m in machines:
        said = f"Ceilings: {m.source}."
        both = ((charts.roofline(m, order), "Cases with arithmetic. "),
                (charts.memory(m, order), "Cases that only move data. "))
        made += [(chart, text + said, used([m])) for chart, text in both if chart]
    return made


def all_bars(machines: List[Machine]) -> List[Figure]:
    suites = charts.suites_of(machines)
    peers = list(dict.fromkeys(b.peer for s in suites for b in charts.bars_of(s, machines)))
    drawn = [(s, charts.bars(s, machines, peers)) for s in suites]
    return [(chart, f"{s}, newest measurements.", used(machines, s)) for s, chart in drawn if chart]


def starts(machines: List[Machine]) -> List[Figure]:
    made = [(charts.start(m), f"The suite start on {m.label}; in brackets the state of the store, if the file has it. Lines: "
             "95 % intervals.", used([m], "start")) for m in machines]
    made += [(charts.first(m), f"The first use of kernels on {m.label}, each in a process of its own. cold: all caches are empty; "
              "driver: only the driver's is full; warm: only Tenon's is full; exited, aborted: as warm, but filled by a process that "
              "released nothing. Lines: 95 % intervals.", [f for f, _ in m.firsts.values()]) for m in machines]
    made.append((charts.latency(machines), "Warm: each case as one call and the wait for it, and back to back. Above the "
                 "line, waiting takes the difference.", used(machines)))
    return [(chart, caption, files) for chart, caption, files in made if chart]


def other_figures(machines: List[Machine]) -> Tuple[List[Figure], List[Figure]]:
    """Returns the figures of errors and of regret."""
    accuracy = charts.errors(machines)
    regrets = [(m, f) for m in machines for f in m.files if f.kind == "regret"]
    selection = charts.regret(regrets)
    errors = "Verified cases with a peer: at the bottom the exact ones, at 1 the bound; to the right, Tenon is faster."
    sorted_cases = "The cases of tenon-bench regret, sorted; 1: the best candidate was selected."
    return ([(accuracy, errors, used(machines))] if accuracy else [],
            [(selection, sorted_cases, [f for _, f in regrets])] if selection else [])


def predictions(machines: List[Machine]) -> List[Figure]:
    chart = charts.predictions(machines)
    files = {id(f): f for m in machines for f, _ in m.predictions.values()}
    caption = "Above the line, the measured time is longer than the model's estimate."
    return [(chart, caption, [*files.values(), *used(machines)])] if chart else []


def heat_charts(machines: List[Machine]) -> List[Chart]:
    """Returns the heat maps as figures for documents; the page has them as tables."""
    rows = [(suite, tables.heat_rows(suite, machines)) for suite in charts.suites_of(machines)]
    return [charts.heat_map(suite, machines, of_suite, lambda v: HEAT[tables.shade(v)]) for suite, of_suite in rows if of_suite]


def heat_maps(machines: List[Machine]) -> str:
    """Returns the tables of the heat map, the first one open; empty if no suite has peers."""
    made = list(filter(None, (tables.heat(suite, machines) for suite in charts.suites_of(machines))))
    return tables.key() + "".join([made[0].replace("<details>", "<details open>", 1), *made[1:]]) if made else ""


def section(name: str, body: str, note: str = "") -> str:
    title, _, text, absent = TEXTS[name]
    return f'<section id="{name}"><h2>{title}</h2><p>{text}{note}</p>{body or f"<p class=warn>{absent}</p>"}</section>'


def grid(figures: List[Figure]) -> str:
    return f'<div class=figures>{"".join(map(figure, figures))}</div>' if figures else ""


def warnings(machines: List[Machine], left_out: List[str]) -> str:
    files = [f for m in machines for f in m.files]
    said = [f"Left out, because their individual measurements were not kept: {', '.join(left_out)}"] if left_out else []
    unverified = {f.name: f.unverified for f in files if f.kind == "run" and f.unverified}
    disturbed = {f.name: f.disturbed for f in files if f.disturbed}
    for some, text in ((unverified, "results were not verified"), (disturbed, "cases were disturbed by other work")):
        if some:
            said.append(f"{sum(some.values())} {text}, in: {', '.join(some)}")
    said += [f"Emulated: {m.label}. Its speed says nothing about real devices of that kind" for m in machines
             if m.files[-1].emulated]
    incomplete = [f.name for f in files if not f.complete]
    if incomplete:
        said.append(f"Incomplete, because a run was interrupted or a case failed: {', '.join(incomplete)}")
    return f'<ul class=warn>{"".join(f"<li>{escape(text)}" for text in said)}</ul>' if said else ""


def sections(machines: List[Machine], left_out: List[str]) -> Tuple[str, List[Chart]]:
    """Returns the sections of the page, and its figures."""
    bars, roofs, warm = all_bars(machines), rooflines(machines), starts(machines)
    accuracy, selection = other_figures(machines)
    model = predictions(machines)
    started = any(c.suite == "start" for m in machines for _, c in m.cases.values())
    note = ("" if started else NO_START) + ("" if any(m.firsts for m in machines) else NO_FIRST)
    bodies = {
        "machines": warnings(machines, left_out) + f"<div class=cards>{tables.machine_rows(machines)}</div>",
        "speed": grid(bars) + tables.means(machines) if bars else "",
        "roofline": grid(roofs),
        "heat": heat_maps(machines),
        "start": grid(warm) + tables.firsts(machines),
        "errors": grid(accuracy),
        "selection": grid(selection),
        "predictions": grid(model) + tables.predictions(machines),
        "tables": tables.cases(machines),
        "reproduce": tables.files(machines),
    }
    made = [section(name, body, note if name == "start" else "") for name, body in bodies.items()]
    return "".join(made), [chart for chart, _, _ in bars + roofs + warm + accuracy + selection + model]


def page(machines: List[Machine], left_out: List[str]) -> Tuple[str, List[Chart]]:
    """Returns the text of the page, and its figures."""
    made, drawn = sections(machines, left_out)
    count, files = sum(len(m.cases) for m in machines), sum(len(m.files) for m in machines)
    uses = sum(len(m.firsts) for m in machines)
    links = "".join(f'<a href="#{name}">{short}</a>' for name, (_, short, _, _) in TEXTS.items())
    letters = "".join(f"<option>{m.letter}" for m in machines)
    text = ("<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width,initial-scale=1'>"
            f"<title>Tenon: benchmarks</title><link rel=icon href='data:,'><style>{style()}</style><header><h1>Tenon: benchmarks</h1>"
            f"<p>{count} cases{f' and {uses} first uses' if uses else ''} on {len(machines)} machines, from {files} files.</p><nav>{links}</nav></header>"
            "<div id=bar><input id=filter type=search placeholder='Filter by words, such as gemm f32' aria-label=Filter>"
            f"<select id=machine aria-label=Machine><option value=''>All machines{letters}</select>"
            "<span id=count class=count></span><select id=theme aria-label=Colors><option value=''>Colors of the system"
            "<option value=light>Light<option value=dark>Dark</select></div>"
            f"<main>{made}</main><script>{(HERE / 'page.js').read_text(encoding='utf-8')}</script></html>\n")
    return text, drawn

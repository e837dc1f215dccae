"""The figures of tenon-bench report."""
import math
from textwrap import fill
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from .machines import Ceiling, Machine, predicted, share
from .results import Case, ResultFile, around, geometric_mean, log_error
from .svg import MARKERS, SERIES, C, Chart, Tip

WIDTH = 4.4  # inches of a figure: its text is readable on a phone, and two fit beside each other on a desk
NAMES = {"openblas": "OpenBLAS", "onednn": "oneDNN", "onednn-blocked": "oneDNN, blocked", "clblast": "CLBlast", "loop": "C loop",
         "tenon-f32": "Tenon, f32", "unpacked": "Tenon, unpacked", "cublas": "cuBLAS", "cudnn": "cuDNN", "rocblas": "rocBLAS",
         "onnxruntime": "ONNX Runtime", "pytorch": "PyTorch", "nchw": "Tenon, N C H W", "numpy": "NumPy",
         "boost-compute": "Boost.Compute", "memcpy": "memcpy", "one-member": "one member",
         "openblas-pypi": "OpenBLAS, PyPI", "onednn-pypi": "oneDNN, PyPI",
         "onednn-blocked-pypi": "oneDNN, blocked, PyPI", "clblast-tuned": "CLBlast, tuned"}
EXACT = 1e-6  # where errors of 0 are drawn on a logarithmic axis


def peer_name(peer: str) -> str:
    return NAMES.get(peer, peer)


def short_version(version: str) -> str:
    """Returns the first three numbers of a version."""
    return ".".join(version.split()[0].split(".")[:3])


def of_style(number: int) -> Dict[str, Any]:
    return {"color": SERIES[number % len(SERIES)], "marker": MARKERS[number % len(MARKERS)]}


def time_text(nanoseconds: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def ratio_text(ratio: float) -> str:
    """Returns a ratio with two decimals, or two digits of a small one."""
    return f"{ratio:.2f}" if ratio >= 0.095 else f"{ratio:.2g}"


def about(machine: Machine, case: Case, text: str) -> Tip:
    """Returns the text of a case's mark, and its row in the table of cases."""
    return f"{machine.letter} {case.suite}: {case.name}, {case.dtype}: {text}", case.number


def suites_of(machines: List[Machine]) -> List[str]:
    return list(dict.fromkeys(suite for m in machines for suite in by_suite(m)))


def scatter(chart: Chart, axes: Any, label: str, style: Dict[str, Any], points: List[Tuple[float, float, Tip]]) -> None:
    size = 6.5 if style["marker"] in "*+x" else 4.2  # of a star little is left within its edge
    (line,) = axes.plot([p[0] for p in points], [p[1] for p in points], linestyle="none", markersize=size, markeredgewidth=0.4,
                        markeredgecolor=C["page"], alpha=0.85, label=label, clip_on=False, **style)
    chart.tell(line, [p[2] for p in points])


def logarithmic(values: Iterable[float], room: float = 1.4) -> Tuple[float, float]:
    values = list(values)
    return min(values) / room, max(values) * room


def number_text(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:.6f}".rstrip("0")


def plain_ticks(axis: Any, text: Callable[[float], str] = number_text) -> None:
    """Labels a logarithmic axis with numbers instead of powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,), numticks=7))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_formatter(NullFormatter())


def legend(chart: Chart, columns: int = 2, below: float = 0.14) -> None:
    """Puts the legend below the axes, by this part of their height."""
    handles, labels = chart.axes.get_legend_handles_labels()
    if labels:
        chart.axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(0, -below), borderaxespad=0, ncol=columns,
                          fontsize=8, handletextpad=0.3, columnspacing=1.0)


def by_suite(machine: Machine) -> Dict[str, List[Case]]:
    found: Dict[str, List[Case]] = {}
    for _, case in machine.cases.values():
        found.setdefault(case.suite, []).append(case)
    return found


def share_text(machine: Machine, case: Case) -> str:
    part, name = share(machine, case)
    return f"; {100 * part:.0f} % of the attainable, limited by {name}" if part is not None else ""


def is_crowded(ceiling: Ceiling, ceilings: List[Ceiling]) -> bool:
    """Whether the line of another ceiling is so close above that the name fits only below its line."""
    return any(ceiling.value < other.value < 1.7 * ceiling.value for other in ceilings)


def draw_ceiling(axes: Any, text: str, x: float, y: float, is_left: bool = False, slope: bool = False, below: bool = False) -> None:
    """Writes the name of a ceiling just above or below a point of its line, which is the name's left or right end."""
    axes.text(x, y / 1.04 if below else y * 1.04, text, fontsize=7, color=C["faint"], ha="left" if is_left else "right",
              va="top" if below else "bottom", zorder=5,
              rotation_mode="anchor", rotation=math.degrees(math.atan2(y, x)) if slope else 0, transform_rotates_text=slope,
              bbox={"facecolor": C["page"], "edgecolor": "none", "pad": 0.4, "alpha": 0.75})


def levels(machine: Machine) -> List[Ceiling]:
    return sorted((c for c in machine.ceilings if not c.dtype), key=lambda c: c.value)


def roofs(machine: Machine, axes: Any, types: Iterable[str]) -> None:
    """Draws the ceilings of a roofline: memory levels as slopes, arithmetic as horizontal lines."""
    peaks = sorted((c for c in machine.ceilings if c.dtype in types), key=lambda c: c.value)
    (left, right), (bottom, _) = axes.get_xlim(), axes.get_ylim()
    top = peaks[-1].value if peaks else axes.get_ylim()[1]
    for level in levels(machine):
        end = top / level.value
        axes.plot([left, end], [left * level.value, top], color=C["faint"], linewidth=1)
        x = max(left, bottom / level.value) * 1.15
        if x < right:
            draw_ceiling(axes, f"{level.name}, {level.value:.3g} GB/s", x, x * level.value, True, True,
                         is_crowded(level, levels(machine)))
    for peak in peaks:
        start = peak.value / levels(machine)[-1].value if levels(machine) else left
        axes.plot([start, right], [peak.value] * 2, color=C["faint"], linewidth=1)
        draw_ceiling(axes, f"{peak.name}, {peak.value:,.0f} GFLOP/s", right, peak.value)


def draw_suites(chart: Chart, suites: Dict[str, List[Case]], suites_in_order: List[str],
                point: Callable[[Case], Tuple[float, float, Tip]]) -> None:
    """Draws the cases as points, a series for each suite, with ticks, grid and legend. A suite has the same style in each chart."""
    for suite, cases in suites.items():
        if cases:
            scatter(chart, chart.axes, suite, of_style(suites_in_order.index(suite)), [point(c) for c in cases])
    for axis in (chart.axes.xaxis, chart.axes.yaxis):
        plain_ticks(axis)
    chart.axes.grid(True)
    legend(chart)


def roofline(machine: Machine, suites_in_order: List[str]) -> Optional[Chart]:
    """Every case with arithmetic: GFLOP/s by operations per byte, below the ceilings of the device."""
    suites = {suite: [c for c in cases if c.flops and c.bytes] for suite, cases in by_suite(machine).items()}
    drawn = [c for cases in suites.values() for c in cases]
    if not drawn:
        return None
    chart = Chart(f"roofline-{machine.letter}", f"Roofline of {machine.label}", WIDTH, 4.6)
    axes = chart.axes
    types = {c.dtype for c in drawn}
    tops = [c.value for c in machine.ceilings if c.dtype in types]
    left, right = logarithmic(c.flops / c.bytes for c in drawn)
    if tops and levels(machine):
        left = min(left, 0.1 * max(tops) / levels(machine)[-1].value)  # a part of every slope is visible, with its name
    axes.set(xscale="log", yscale="log", xlabel="operations per byte", ylabel="GFLOP/s", xlim=(left, right))
    axes.set_ylim(logarithmic([*(c.flops / c.median for c in drawn), *tops], 1.6))
    roofs(machine, axes, types)

    def point(c: Case) -> Tuple[float, float, Tip]:
        text = f"{c.flops / c.median:.4g} GFLOP/s, {c.flops / c.bytes:.3g} operations per byte{share_text(machine, c)}"
        return c.flops / c.bytes, c.flops / c.median, about(machine, c, text)
    draw_suites(chart, suites, suites_in_order, point)
    axes.set_title(f"{machine.letter}: arithmetic")
    return chart


def memory(machine: Machine, suites_in_order: List[str]) -> Optional[Chart]:
    """Every case without arithmetic: GB/s by the bytes that it moves, below the bandwidths of the memory levels."""
    suites = {suite: [c for c in cases if c.bytes and not c.flops] for suite, cases in by_suite(machine).items()}
    drawn = [c for cases in suites.values() for c in cases]
    if not drawn:
        return None
    chart = Chart(f"memory-{machine.letter}", f"Bandwidth of {machine.label}", WIDTH, 4.6)
    axes = chart.axes
    sizes = [level.size for level in levels(machine) if level.size]
    axes.set(xscale="log", yscale="log", xlabel="MB moved", ylabel="GB/s",
             xlim=logarithmic(size / 1e6 for size in [*(c.bytes for c in drawn), *sizes]))
    axes.set_ylim(logarithmic([*(c.bytes / c.median for c in drawn), *(level.value for level in levels(machine))], 1.8))
    left, right = axes.get_xlim()
    for level in levels(machine):
        end = min(right, level.size / 1e6) if level.size else right
        axes.plot([left, end], [level.value] * 2, color=C["faint"], linewidth=1)
        is_short = end < 30 * left
        draw_ceiling(axes, f"{level.name}, {level.value:.3g} GB/s", left if is_short else end, level.value, is_short,
                     below=is_crowded(level, levels(machine)))

    def point(c: Case) -> Tuple[float, float, Tip]:
        return c.bytes / 1e6, c.bytes / c.median, about(machine, c, f"{c.bytes / c.median:.4g} GB/s{share_text(machine, c)}")
    draw_suites(chart, suites, suites_in_order, point)
    axes.set_title(f"{machine.letter}: memory")
    return chart


class Bar:
    """The ratios of one suite, machine, type and peer, and the versions of the peer that the files state."""

    def __init__(self, machine: Machine, dtype: str, peer: str, measured: List[Tuple[ResultFile, Case]]):
        cases = [case for _, case in measured]
        self.machine, self.dtype, self.peer, self.cases = machine, dtype, peer, cases
        self.versions = sorted({file.version_of(peer) for file, _ in measured} - {""})
        ratios = [c.ratio(peer) for c in cases]
        self.mean, self.least, self.most = geometric_mean(ratios), min(ratios), max(ratios)
        self.worst = cases[ratios.index(self.least)]
        errors = [log_error(*c.ratio_interval(peer)) for c in cases]
        self.low, self.high = around(self.mean, math.sqrt(sum(e * e for e in errors)) / len(errors))

    @property
    def label(self) -> str:
        mark = "*" if self.machine.files[-1].emulated else ""
        return " ".join([self.machine.letter + mark, self.dtype, peer_name(self.peer), *map(short_version, self.versions)])

    def text(self, suite: str) -> str:
        return (f"{self.machine.letter} {suite}: {self.dtype} {peer_name(self.peer)}: {ratio_text(self.mean)} "
                f"({ratio_text(self.low)} to {ratio_text(self.high)}) over {len(self.cases)} cases, from "
                f"{ratio_text(self.least)} ({self.worst.name}) to {ratio_text(self.most)}"
                + (f"; version {' and '.join(self.versions)}" if self.versions else ""))


def bars_of(suite: str, machines: List[Machine]) -> List[Bar]:
    found = []
    for machine in machines:
        groups: Dict[Tuple[str, str], List[Tuple[ResultFile, Case]]] = {}
        for file, case in machine.cases.values():
            for peer in case.peers if case.suite == suite else ():
                groups.setdefault((case.dtype, peer), []).append((file, case))
        found += [Bar(machine, dtype, peer, measured) for (dtype, peer), measured in sorted(groups.items(), key=beside_newer)]
    return found


def beside_newer(item: Tuple[Tuple[str, str], Any]) -> Tuple[str, str, bool]:
    """Sorts a group of ratios by type and peer, with the two versions of a peer one after the other."""
    dtype, peer = item[0]
    return dtype, peer.replace("-pypi", ""), peer.endswith("-pypi")


def ratio_axis(axes: Any, values: List[float]) -> None:
    """Makes the x axis one of ratios, by powers of two."""
    low, high = (math.floor(math.log2(min([0.5, *values]) / 1.1)), math.ceil(math.log2(max([2.0, *values]))))
    high += (high - low) // 8  # room for the number behind a bar
    step = max(1, math.ceil((high - low) / 6))
    ticks = [2.0 ** power for power in range(low, high + 1) if power % step == 0]
    axes.set_xscale("log", base=2)
    axes.set_xlim(2.0 ** low, 2.0 ** high)
    axes.set_xticks(ticks, [f"{t:g}" if t >= 1 else f"1/{1 / t:g}" for t in ticks])
    axes.minorticks_off()


def bars(suite: str, machines: List[Machine], peers: List[str]) -> Optional[Chart]:
    """The geometric mean of a suite by machine, type and peer, with its interval, and the worst case."""
    drawn = bars_of(suite, machines)
    if not drawn:
        return None
    chart = Chart(f"bars-{suite}", f"{suite}: peers' times over Tenon's", WIDTH, 1.0 + 0.27 * len(drawn))
    axes = chart.axes
    ratio_axis(axes, [v for b in drawn for v in (b.mean * 1.6, b.least)])
    for at, b in enumerate(drawn):
        style = of_style(peers.index(b.peer))
        (box,) = axes.barh(at, b.mean - 1, left=1, height=0.66, color=style["color"], alpha=0.8)
        chart.tell(box, [(b.text(suite), -1)])
        axes.plot([b.low, b.high], [at, at], color=C["ink"], linewidth=1.4)
        axes.plot([b.low, b.high], [at, at], "|", color=C["ink"], markersize=5)
        axes.plot([b.least], [at], style["marker"], color=style["color"], markersize=4.5, markeredgecolor=C["ink"],
                  markeredgewidth=0.6, clip_on=False)
        axes.annotate(ratio_text(b.mean), (max(b.high, 1), at), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(drawn)), [b.label for b in drawn])
    axes.set_ylim(len(drawn) - 0.4, -0.6)
    axes.axvline(1, color=C["ink"], linewidth=0.8)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(True, axis="x")
    chart.figure.suptitle(suite, x=0.01, ha="left", weight="bold", fontsize=10)
    return chart


def start(machine: Machine) -> Optional[Chart]:
    """The cases of the suite `start`, with intervals."""
    started = [(file.store, c) for file, c in machine.cases.values() if c.suite == "start"]
    cases = [c for _, c in started]
    if not cases:
        return None
    chart = Chart(f"start-{machine.letter}", f"Start on {machine.label}", WIDTH, 1.0 + 0.3 * len(cases))
    axes = chart.axes
    axes.set(xscale="log", xlim=logarithmic((v for c in cases for v in (c.low, c.high)), 3))
    for at, c in enumerate(cases):
        (line,) = axes.plot([c.median], [at], "o", color=SERIES[0], markersize=5)
        chart.tell(line, [about(machine, c, f"{time_text(c.median)} ({time_text(c.low)} to {time_text(c.high)})")])
        axes.plot([c.low, c.high], [at, at], color=SERIES[0], linewidth=1.4)
        axes.annotate(time_text(c.median), (c.high, at), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(cases)), [c.name + (f" ({store})" if store else "") for store, c in started])
    axes.set_ylim(len(cases) - 0.4, -0.6)
    plain_ticks(axes.xaxis, time_text)
    axes.grid(True, axis="x")
    chart.figure.suptitle(f"{machine.letter}: start", x=0.01, ha="left", weight="bold", fontsize=10)
    return chart


STATES = ("cold", "driver", "warm", "exited", "aborted")  # of the caches, as in tenon-bench first --help


def first(machine: Machine) -> Optional[Chart]:
    """The first uses of a process: a row for each, a series for each state of the caches, with intervals."""
    found = [case for _, case in machine.firsts.values()]
    if not found:
        return None
    names = list(dict.fromkeys(case.name for case in found))
    states = [state for state in STATES if any(case.dtype == state for case in found)]
    chart = Chart(f"first-{machine.letter}", f"First use on {machine.label}", WIDTH, 1.3 + 0.4 * len(names))
    axes = chart.axes
    axes.set(xscale="log", xlim=logarithmic(v for c in found for v in (c.low, c.high)))
    for number, state in enumerate(states):
        style = of_style(number)
        cases = [case for case in found if case.dtype == state]
        places = [names.index(case.name) + 0.5 * ((number + 0.5) / len(states) - 0.5) for case in cases]
        for at, c in zip(places, cases):
            axes.plot([c.low, c.high], [at, at], color=style["color"], linewidth=1.2)
        scatter(chart, axes, state, style, [
            (c.median, at, (f"{machine.letter} {c.name}, {state}: {time_text(c.median)} ({time_text(c.low)} to {time_text(c.high)})", -1))
            for at, c in zip(places, cases)])
    axes.set_yticks(range(len(names)), [fill(name, 24) for name in names], fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)
    plain_ticks(axes.xaxis, time_text)
    axes.grid(True, axis="x")
    legend(chart, 3, 0.5 / len(names))
    chart.figure.suptitle(f"{machine.letter}: first use", x=0.01, ha="left", weight="bold", fontsize=10)
    return chart


def latency(machines: List[Machine]) -> Optional[Chart]:
    """The time of one call and the wait for it, by that of a call among calls back to back."""
    drawn = [(m, [c for _, c in m.cases.values() if c.latency]) for m in machines if m.cases]
    values = [v for _, cases in drawn for c in cases for v in (c.median, c.latency)]
    if not values:
        return None
    chart = Chart("latency", "One call and the wait for it, and a call among calls back to back", WIDTH, 4.4)
    axes = chart.axes
    limits = logarithmic(values)
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits, xlabel="a call, back to back",
             ylabel="one call and the wait for it")
    axes.plot(limits, limits, color=C["faint"], linewidth=1)
    for number, (machine, cases) in enumerate(drawn):
        scatter(chart, axes, machine.label, of_style(number), [
            (c.median, c.latency, about(machine, c, f"{time_text(c.latency)} alone, {time_text(c.median)} back to back"))
            for c in cases])
    for axis in (axes.xaxis, axes.yaxis):
        plain_ticks(axis, time_text)
    axes.grid(True)
    legend(chart, 1)
    return chart


def errors(machines: List[Machine]) -> Optional[Chart]:
    """The largest error over its bound, by the ratio to the fastest peer, of each verified case."""
    verified = [(m, [(c, c.best_peer() or "") for _, c in m.cases.values() if c.verified and c.best_peer()]) for m in machines]
    drawn = [(m, cases) for m, cases in verified if cases]
    if not drawn:
        return None
    chart = Chart("accuracy", "Error over its bound, by the fastest peer's time over Tenon's", WIDTH, 4.4)
    axes = chart.axes
    ratio_axis(axes, [c.ratio(best) * f for _, cases in drawn for c, best in cases for f in (0.9, 1.1)])
    axes.set(yscale="log", ylim=(EXACT / 1.5, 2), xlabel="time of the fastest peer / Tenon's",
             ylabel="largest error / its bound")
    axes.axhline(1, color=C["faint"], linewidth=1)
    axes.axvline(1, color=C["faint"], linewidth=1)
    for number, (machine, cases) in enumerate(drawn):
        scatter(chart, axes, machine.label, of_style(number), [
            (c.ratio(best), max(c.error, EXACT), about(machine, c, f"{c.error:.2g} of the bound, {c.ratio(best):.2f} times as fast as "
             f"{peer_name(best)}")) for c, best in cases])
    axes.set_yticks([EXACT, 1e-4, 1e-2, 1], ["≤ 1e-6", "1e-4", "1e-2", "1"])
    axes.minorticks_off()
    axes.grid(True)
    legend(chart, 1)
    return chart


def predictions(machines: List[Machine]) -> Optional[Chart]:
    """The measured times by those that the device model estimates, a series for each suite."""
    suites: Dict[str, List[Tuple[float, float, Tip]]] = {}
    for machine, file, case, real in predicted(machines):
        if real:
            text = (f"{machine.letter} {case.suite}: {case.name}, {case.dtype}: predicted {time_text(case.median)} for "
                    f"{file.device['kind']}, measured {time_text(real.median)}")
            suites.setdefault(case.suite, []).append((case.median, real.median, (text, -1)))
    if not suites:
        return None
    chart = Chart("prediction", "Measured times by predicted times", WIDTH, 4.4)
    axes = chart.axes
    limits = logarithmic(value for points in suites.values() for x, y, _ in points for value in (x, y))
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=limits, xlabel="predicted", ylabel="measured")
    axes.plot(limits, limits, color=C["faint"], linewidth=1)
    for number, (suite, points) in enumerate(suites.items()):
        scatter(chart, axes, suite, of_style(number), points)
    for axis in (axes.xaxis, axes.yaxis):
        plain_ticks(axis, time_text)
    axes.grid(True)
    legend(chart)
    return chart


def regret(files: List[Tuple[Machine, ResultFile]]) -> Optional[Chart]:
    """The sorted ratios of the selected solver's time over that of the best candidate, a line for each file and suite."""
    lines = []
    for machine, file in files:
        suites: Dict[str, List[Any]] = {}
        for r in file.regrets:
            suites.setdefault(r["suite"], []).append(r)
        lines += [(machine, file, suite, sorted(rs, key=lambda r: r["ratio"])) for suite, rs in suites.items()]
    if not lines:
        return None
    chart = Chart("regret", "Time of the selected solver over that of the best candidate", WIDTH, 3.4 + 0.2 * len(lines))
    axes = chart.axes
    for number, (machine, file, suite, rs) in enumerate(lines):
        style = of_style(number)
        xs = [100 * (i + 0.5) / len(rs) for i in range(len(rs))]
        (line,) = axes.plot(xs, [r["ratio"] for r in rs], markersize=3, linewidth=1,
                            label=f"{machine.letter} {suite}, {file.date[:10]}, Tenon {file.raw['tenon']}", **style)
        chart.tell(line, [(f"{machine.letter} {suite}: {r['case']}, {r['dtype']}: {r['ratio']:.2f}; selected {r['chosen']}, "
                           f"best {r['best']}", -1) for r in rs])
    axes.set(xlabel="% of the cases", ylabel="time / best candidate's time", xlim=(0, 100))
    axes.grid(True)
    legend(chart, 1)
    return chart


def heat_map(suite: str, machines: List[Machine], rows: List[Tuple[str, List[Optional[float]]]], colors: Any) -> Chart:
    """The heat map of a suite for documents: a row for each case, a column for each machine."""
    from matplotlib.patches import Rectangle
    chart = Chart(f"heat-{suite}", f"{suite}: the fastest peer's time over Tenon's", WIDTH, 0.8 + 0.17 * len(rows))
    axes = chart.axes
    axes.set_xlim(0, len(machines))
    axes.set_ylim(len(rows), 0)
    for y, (_, values) in enumerate(rows):
        for x, value in enumerate(values):
            if value is not None:
                back, ink = colors(value)
                axes.add_patch(Rectangle((x, y), 1, 1, facecolor=back, edgecolor=C["page"], linewidth=0.8))
                axes.text(x + 0.5, y + 0.5, ratio_text(value), color=ink, ha="center", va="center", fontsize=7)
    axes.set_xticks([x + 0.5 for x in range(len(machines))], [m.letter for m in machines])
    axes.set_yticks([y + 0.5 for y in range(len(rows))], [name for name, _ in rows], fontsize=7)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.spines[:].set_visible(False)
    chart.figure.suptitle(suite, x=0.01, ha="left", weight="bold", fontsize=10)
    return chart

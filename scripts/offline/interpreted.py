"""The interpreted part of ./run check-kernels: small calls of each solver with the block sizes that are selected anywhere for
NVIDIA's matrix units, and mutants of their kernels, which must be detected."""
import concurrent.futures
import json
import random
import re
import subprocess
import time

from offline import mutants

TARGETS = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"]
CHECKED = ["sm_80", "sm_90a"]
MOST_SHOWN = 6  # lines shown of an error


def choices(tenon, target):
    """Returns the solvers with their parameters, in order, and the kernel of each."""
    done = subprocess.run([str(tenon), "kernels", "--target", target], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        is_solver = ":" in row["solver"] and "/" in row["solver"]
        if row["chosen"] and is_solver and "matrix" in row["source"] and row["operation"] != "capability":
            found.setdefault(row["solver"], row["kernel"])
    return sorted(found.items())


def parameters(solver):
    """{"mb": 128, …} of "gemm/mma:mb128,…"."""
    return {name: int(value) for name, value in re.findall(r"([a-z]+)(\d+)", solver.partition(":")[2])}


def view(name, dtype, rows, cols, along_rows=False, gap=0, offset=0):
    """Returns a matrix view, contiguous along its rows or its columns, with gaps between the lines."""
    lead = (rows if along_rows else cols) + gap
    strides = f"1,{lead}" if along_rows else f"{lead},1"
    return f"{name}={dtype}:{rows}x{cols}/{strides}" + (f"+{offset}" if offset else "")


def round_up(number, unit):
    return (number + unit - 1) // unit * unit


# Types, which factors are contiguous across their rows, the rest, and whether lines are aligned.
GEMM_FORMS = [("f16", False, False, "", True), ("bf16", True, True, "bias alpha=0.5 activation=relu", True),
              ("f16", True, False, "c beta=2", True), ("bf16", False, True, "bias c beta=-1", False),
              ("f16", False, True, "c bias beta=1", True), ("f16", True, True, "", False)]


def gemm_call(solver, form):
    p = parameters(solver)
    slices = p.get("ks", 1)
    m, n, k = p["mb"] + 5, p["nb"] + 9, 33 * slices if slices > 1 else 2 * p["kb"] + 7
    dtype, a_turned, b_turned, more, aligned = form
    gaps = [round_up(size, 8) - size if aligned else 3 for size in (m if a_turned else k, k if b_turned else n)]
    words = [solver, view("a", dtype, m, k, a_turned, gaps[0]), view("b", dtype, k, n, b_turned, gaps[1]),
             view("d", dtype, m, n, gap=7)]
    words += [view("c", dtype, m, n)] if "c " in f"{more} " else []
    words += [f"bias={dtype}:{n}"] if "bias" in more else []
    return words + [word for word in more.split() if "=" in word], dtype == "f16"


def tf32_call(solver):
    """Returns calls in f32, which is rounded to tf32 when loaded; a block has half as many steps of K."""
    p = parameters(solver)
    half = solver.replace(f'kb{p["kb"]}', f'kb{p["kb"] // 2}')
    m, n, k = p["mb"] + 5, p["nb"] + 9, p["kb"] + 7
    return [half, view("a", "f32", m, k, gap=1), view("b", "f32", k, n, True), view("d", "f32", m, n), "flags=2"], True


def gemm_calls(solver, number):
    """Returns two of the forms; three solvers together cover all forms."""
    made = [gemm_call(solver, GEMM_FORMS[(2 * number + i) % len(GEMM_FORMS)]) for i in range(2)]
    is_cut = parameters(solver).get("ks", 1) > 1
    return made + [tf32_call(solver)] if "/mma" in solver and number % 3 == 0 and not is_cut else made


def int8_calls(solver, _):
    p = parameters(solver)
    m, n, k = p["mb"] + 5, p["nb"] + 9, 2 * p["kb"] + 16
    whole = n - 1  # of vectors of d
    return [([solver, view("a", "u8", m, k), view("b", "i8", k, whole), view("d", "i32", m, whole),
              f"zero_point_of_b=i8:{whole}", f"bias=i32:{whole}"], True),
            ([solver, view("a", "i8", m, k), view("b", "i8", k, whole), view("d", "i8", m, whole, gap=4),
              "scale_of_d=f32:", "zero_point_of_d=i8:", f"bias=f32:{whole}"], False),
            ([solver, view("a", "i8", m, k), view("b", "u8", k, whole), view("d", "f16", m, whole),
              "activation=relu", view("c", "f16", m, whole, gap=1), "beta=1"], False),
            ([solver, view("a", "i8", m, k), view("b", "i8", k, n, True), view("d", "i32", m, n)], True),
            ([solver, view("a", "u8", m, k, True), view("b", "i8", k, n, gap=7), view("d", "f32", m, n, gap=3),
              "zero_point_of_a=u8:", f"scale_of_b=f32:{n}"], False)]


def images(name, channels, channels_last, dtype, size=9, count=2):
    strides = f"/{channels * size * size},1,{channels * size},{channels}" if channels_last else ""
    return f"{name}={dtype}:{count}x{channels}x{size}x{size}{strides}"


def conv_calls(solver, number):
    """Returns calls with channels first or last, with images whose rows are not aligned."""
    p = parameters(solver)
    x, y, w = {"conv": ("x", "y", "w"), "conv_backward_data": ("dx", "dy", "w"),
               "conv_backward_filter": ("x", "dy", "dw"), "conv_transpose": ("x", "y", "w")}[solver.partition("/")[0]]
    few = max(p["mb"], p["nb"]) // 2 + 8
    dtype, last, channels, filters = (("f16", False, 16, few), ("bf16", True, few, 24))[number % 2]
    made = [([solver, images(x, channels, last, dtype), f"{w}={dtype}:{conv_filter(solver, channels, filters)}",
              images(y, filters, last, dtype), "pad_begin=1,1", "pad_end=1,1"], dtype == "f16")]
    return made + [conv_call_in_groups(solver, x, w, y, round_up(few, 16))] if "wgmma" in solver else made


def conv_call_in_groups(solver, x, w, y, few):
    """Returns calls with channels last in all factors, which are copied as vectors in place; with strides and dilations, and
    with bias and activation of the result."""
    channels, filters = (few, 16) if solver.startswith("conv_transpose") else (16, few)
    inner = (filters if solver.startswith("conv_transpose") else channels) // 2
    outer = channels if solver.startswith("conv_transpose") else filters
    sizes = (4, 9) if solver.startswith("conv_transpose") else (9, 4)
    more = [f"bias=f16:{filters}", "activation=relu"] if solver.startswith(("conv/", "conv_transpose")) else []
    return ([solver, images(x, channels, True, "f16", sizes[0]),
             f"{w}=f16:{outer}x{inner}x3x3/{9 * inner},1,{3 * inner},{inner}",
             images(y, filters, True, "f16", sizes[1]), "groups=2", "stride=2,2", "dilation=1,1", "pad_begin=0,0",
             *more], True)


def conv_filter(solver, channels, filters):
    return f"{channels}x{filters}x3x3" if solver.startswith("conv_transpose") else f"{filters}x{channels}x3x3"


def calls(solver, number):
    """Returns calls in the syntax of `tenon check` for the solver's operation, and whether the result is exact on small
    integers, which all types except bf16 represent."""
    make = {"gemm": gemm_calls, "gemm_int8": int8_calls}.get(solver.partition("/")[0], conv_calls)
    return make(solver, number)


def last_lines(text):
    return "\n    ".join(line[:300] for line in text.splitlines()[-MOST_SHOWN:])


def judge(outcome, kernel, target, words):
    """Returns the error of a call that should pass, or None."""
    line = f'{target}: tenon check {" ".join(words)}'
    mine = [launch for launch in outcome.launches if launch["kernel"] == kernel]
    if outcome.code != 0 or any(launch["wrong"] for launch in mine):
        return f"{line}\n    {last_lines(outcome.text)}"
    if sum(launch["products"] for launch in mine) == 0:
        return f"{line}\n    the result is correct, but {kernel} has multiplied nothing"
    return None


def run_call(interpreter, number, target, kernel, call):
    words, exact = call
    values = ["--seed", str(interpreter.seed + number)] + (["--integers"] if exact else [])
    outcome = interpreter.run(target, ["check", *words, *values])
    return judge(outcome, kernel, target, words + values), outcome


def run_mutant(interpreter, mutant):
    """Returns None if the mutant is detected as expected, otherwise the error."""
    outcome = interpreter.run(mutant.target, ["check", *mutant.words.split()], mutant.edit)
    if outcome.code != 0 and re.search(mutant.found, outcome.text):
        return None
    return (f"mutant not detected: {mutant.name} ({mutant.found!r} expected)\n    {last_lines(outcome.text)}")


def drawn(items, share, seed):
    """Returns a random share of the items, at least one."""
    return random.Random(seed).sample(items, min(len(items), max(1, round(share * len(items)))))


def check(interpreter, targets, jobs, share=1):
    """Returns the problems, one text each."""
    start = time.monotonic()
    problems, counted = [], {"calls": 0, "instructions": 0, "products": 0}
    todo = [(target, kernel, call) for target in targets
            for number, (solver, kernel) in enumerate(choices(interpreter.tenon, target))
            if target != "sm_90a" or "wgmma" in solver for call in calls(solver, number)]
    found = [m for m in mutants.MUTANTS if m.target in targets]
    if not todo:
        return ["no kernel of NVIDIA's matrix units is chosen anywhere"]
    if share < 1:
        todo, found = drawn(todo, share, interpreter.seed), drawn(found, share, interpreter.seed)
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        wrong = pool.map(lambda mutant: run_mutant(interpreter, mutant), found)
        for problem, outcome in pool.map(lambda job: run_call(interpreter, job[0], *job[1]), enumerate(todo)):
            problems += [problem] if problem else []
            counted["calls"] += 1
            for launch in outcome.launches:
                counted["instructions"] += launch["instructions"]
                counted["products"] += launch["products"]
        problems += [problem for problem in wrong if problem]
    print(f'interpreted {counted["calls"]} calls of {", ".join(targets)}: {counted["instructions"]} instructions '
          f'of warps, {counted["products"]} products; {len(found)} mutants; seed {interpreter.seed}, '
          f"{time.monotonic() - start:.0f} s, {len(problems)} wrong")
    return problems

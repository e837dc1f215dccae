"""Statistics of a kernel's main loop, read from the assembly: the loop with the most multiply-adds outside of inner loops.
Counts are per work-item and iteration:

macs: multiply-adds; for matrix instructions the lane's share
matrix: number of matrix instructions
local, global: bytes loaded from local and from global memory
"""
import re

FUNCTION = {"amd": re.compile(r"^(\w+):\s*; @\1"), "nvidia": re.compile(r"^\s*\.(?:visible )?\.?entry (\w+)")}
LABEL = re.compile(r"^(\.?\$?L?\w*BB\w+):")
BRANCH = {"amd": re.compile(r"^\s+s_c?branch\w*\s+(\.\w+)"),
          "nvidia": re.compile(r"^\s+(?:@!?%\w+\s+)?bra(?:\.uni)?\s+(\$\w+)")}

# (pattern of an instruction, count, amount from the match); the first match counts.
SHAPE = r"(\d+)x(\d+)x(\d+)"


def volume(m, n, k, lanes):
    return int(m) * int(n) * int(k) / lanes


def words(text):
    return int(text) if text else 1


def amd_rules(lanes):
    return [
        (re.compile(rf"^v_s?mfma\w*?_{SHAPE}"), "matrix", lambda m: volume(*m.groups(), 64)),
        (re.compile(rf"^v_wmma\w*?_{SHAPE}"), "matrix", lambda m: volume(*m.groups(), lanes)),
        (re.compile(r"^v_dot4"), "macs", lambda m: 4),
        (re.compile(r"^v_dot2|^v_pk_fma|^v_dual_fmac\w*.*:: *v_dual_fmac"), "macs", lambda m: 2),
        (re.compile(r"^v_(?:dual_)?(?:fma|fmac|mad|mac)(?:ak|mk)?_(?:mix(?:lo|hi)?_|legacy_)?f\d"), "macs",
         lambda m: 1),
        (re.compile(r"^ds_(?:read2(?:st64)?|load_2addr(?:_stride64)?)_b(\d+)"), "local", lambda m: int(m[1]) // 4),
        (re.compile(r"^ds_(?:read|load)_[ub](\d+)"), "local", lambda m: int(m[1]) // 8),
        (re.compile(r"^(?:global|flat|buffer)_load_dwordx?(\d*)"), "global", lambda m: 4 * words(m[1])),
        (re.compile(r"^(?:global|flat|buffer)_load_(?:d16_)?(?:hi_)?[uib](\d+)"), "global",
         lambda m: int(m[1]) // 8),
        (re.compile(r"^(?:global|flat|buffer)_load_[us](short|byte)"), "global",
         lambda m: 2 if m[1] == "short" else 1),
    ]


def width(match):
    return int(match[1] or 1) * int(match[2]) // 8


def ptx_rules():
    shape = r"m(\d+)n(\d+)k(\d+)"
    return [
        (re.compile(rf"^wgmma\.mma_async\S*\.{shape}"), "matrix", lambda m: volume(*m.groups(), 128)),
        (re.compile(rf"^mma\.\S*{shape}"), "matrix", lambda m: volume(*m.groups(), 32)),
        (re.compile(r"^dp4a"), "macs", lambda m: 4),
        (re.compile(r"^fma\.\S*x2"), "macs", lambda m: 2),
        (re.compile(r"^(?:fma|mad)\.\S*f(?:16|32|64)"), "macs", lambda m: 1),
        (re.compile(r"^mad\.lo\.s32"), "macs", lambda m: 0),
        (re.compile(r"^ldmatrix\S*\.x(\d)"), "local", lambda m: 4 * int(m[1])),
        (re.compile(r"^ld\.shared(?:\.v(\d))?\.[bfus](\d+)"), "local", width),
        (re.compile(r"^ld\.global(?:\.nc|\.ca|\.cg)*(?:\.v(\d))?\.[bfus](\d+)"), "global", width),
        (re.compile(r"^cp\.async\.\w+\.shared\.global\S*\s+\[.*?\],\s*\[.*?\],\s*(\d+)"), "global",
         lambda m: int(m[1])),
    ]


def functions(text, pattern):
    name, lines = None, []
    for line in text.splitlines():
        if match := pattern.match(line):
            if name:
                yield name, lines
            name, lines = match[1], []
        elif line.startswith((".Lfunc_end", "}")):
            if name:
                yield name, lines
            name, lines = None, []
        elif name:
            lines.append(line)
    if name:
        yield name, lines


def spans(lines, branch):
    """Returns the loops: each from a label to the last branch back to it."""
    labels, found = {}, {}
    for number, line in enumerate(lines):
        if match := LABEL.match(line):
            labels[match[1]] = number
        elif (match := branch.match(line)) and match[1] in labels:
            found[labels[match[1]]] = number
    return list(found.items())


def without_inner(lines, span, every):
    """Returns the lines of a loop without those of inner loops."""
    a, b = span
    inner = [(c, d) for c, d in every if a < c and d < b]
    return [line for number, line in enumerate(lines[a:b + 1], a)
            if not any(c <= number <= d for c, d in inner)]


def count(lines, rules):
    totals = {"macs": 0, "matrix": 0, "local": 0, "global": 0}
    for line in lines:
        instruction = re.sub(r"^@!?%\w+\s+", "", line.strip())
        for pattern, what, amount in rules:
            if match := pattern.match(instruction):
                value = amount(match)
                totals["macs" if what == "matrix" else what] += value
                totals["matrix"] += what == "matrix"
                break
    return totals


def main_loops(text, machine):
    """Returns {kernel: its main loop}; kernels without a multiply-add in a loop are omitted."""
    rules = amd_rules(64 if machine.name.startswith("gfx9") else 32) if machine.vendor == "amd" else ptx_rules()
    loops = {}
    for name, lines in functions(text, FUNCTION[machine.vendor]):
        every = spans(lines, BRANCH[machine.vendor])
        own = {span: count(without_inner(lines, span, every), rules)["macs"] for span in every}
        best = max(own, key=own.get, default=None)
        if best and own[best] > 0:
            loops[name] = count(lines[best[0]:best[1] + 1], rules)
    return loops

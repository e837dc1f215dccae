"""Tables of the results of check_kernels.py: on the terminal, and in docs/gpu-kernels-tables.md."""
from dataclasses import dataclass
from pathlib import Path

from offline.machines import BY_NAME

DOCUMENT = Path("docs/gpu-kernels-tables.md")
TITLE = """# GPU kernels: tables

Compiler statistics of the kernel that does most of the work of a call, for each target.
[GPU kernels](gpu-kernels.md) describes the compilation and [the columns](gpu-kernels.md#reading-the-tables).
`./run check-kernels --docs` generates this page.

"""


def print_tables(kernels, machines):
    """Prints a line for each target."""
    print(f'\n{"target":8} {"kernels":>7} {"failed":>6} {"spills":>6} {"scratch":>7}  '
          f'{"most registers":42} {"least occupancy":44} slowest')
    for machine in machines:
        mine = [k for k in kernels if k["machine"] == machine.name]
        if not mine:
            continue
        measured = [k for k in mine if k.get("registers")]
        print(f'{machine.name:8} {len(mine):7} {sum("error" in k for k in mine):6} '
              f'{sum(k.get("spills", 0) > 0 for k in mine):6} '
              f'{sum(k.get("scratch", 0) > 0 for k in mine):7}  '
              f'{extreme(measured, "registers", max, "{:.0f}"):42} '
              f'{extreme(measured, "occupancy", min, "{:.0%}"):44} '
              f'{extreme(mine, "seconds", max, "{:.1f} s")}')
    print()


def extreme(kernels, field, choose, form):
    if not kernels:
        return "-"
    kernel = choose(kernels, key=lambda k: k[field])
    return f'{form.format(kernel[field])} {kernel["source"]}:{kernel["kernel"]}'


@dataclass(frozen=True)
class Call:
    title: str
    words: str  # arguments of `tenon check`
    kind: str = ""  # type of the multiply-adds: f32, f16, i8; "" if the call has none


CONV = "conv x={0}:32x64x56x56 w={0}:64x64x3x3 y={0}:32x64x56x56 pad_begin=1,1 pad_end=1,1"
CALLS = [
    Call("Product of f32, 4096³", "gemm a=f32:4096x4096 b=f32:4096x4096 d=f32:4096x4096", "f32"),
    Call("Product of f16, 4096³", "gemm a=f16:4096x4096 b=f16:4096x4096 d=f16:4096x4096", "f16"),
    Call("Product of bf16, 4096³", "gemm a=bf16:4096x4096 b=bf16:4096x4096 d=bf16:4096x4096", "f16"),
    Call("Product of i8, 4096³", "gemm_int8 a=i8:4096x4096 b=i8:4096x4096/1,4096 d=i32:4096x4096", "i8"),
    Call("Convolution of f32, 3 × 3, 32 images of 64 × 56 × 56", CONV.format("f32"), "f32"),
    Call("Convolution of f16, the same", CONV.format("f16"), "f16"),
    Call("Depthwise convolution of f32, 3 × 3, 32 images of 144 × 56 × 56",
         "conv x=f32:32x144x56x56 w=f32:144x1x3x3 y=f32:32x144x56x56 groups=144 pad_begin=1,1 pad_end=1,1"),
    Call("Layer norm of f32, 8192 × 768",
         "norm x=f32:8192x768 gamma=f32:768 beta=f32:768 y=f32:8192x768 mean=f32:8192 rstd=f32:8192"),
    Call("Softmax of f32, 4096 × 4096", "softmax x=f32:4096x4096 y=f32:4096x4096"),
    Call("Transposition of f32, 4096 × 4096", "copy x=f32:4096x4096/1,4096 y=f32:4096x4096"),
]

LOCAL_BYTES = 128  # per cycle and compute unit
AIM = 0.8


def needed(machine, kind, loop):
    """Returns the multiply-adds per byte of local memory that are needed to reach AIM of the peak."""
    f32, f16, i8 = BY_NAME[machine].peaks
    peak = {"f16": f16, "i8": i8}[kind] if loop["matrix"] and kind in ("f16", "i8") else f32
    return AIM * peak / LOCAL_BYTES


def figures(kernel, kind):
    """Returns the cells of a kernel's row after its name."""
    if "error" in kernel:
        return ["does not compile", "", "", "", "", ""]
    if "registers" not in kernel:
        return ["", "", "", "", "", ""]
    spills = kernel.get("spills", 0)
    cells = [str(kernel["registers"]) + (f" × SIMD{kernel['simd']}" if "simd" in kernel else ""),
             f"{spills} spilled" if spills else str(kernel.get("scratch", 0) or "—"),
             f'{kernel["local"] / 1024:.1f}' if kernel["local"] else "—", f'{kernel["occupancy"]:.0%}']
    loop = kernel.get("loop")
    if not loop or not kind:
        return cells + ["—", "—"]
    unit = f', {loop["matrix"]} matrix' if loop["matrix"] else ""
    cells.append(f'{loop["macs"]:g}{unit}')
    if loop["local"] == 0:
        return cells + ["—"]
    return cells + [f'{loop["macs"] / loop["local"]:.2f} of {needed(kernel["machine"], kind, loop):.2f}']


HEADER = ("| Target | Solver | Kernel | Registers | Scratch, bytes | Local, KiB | Occupancy | Multiply-adds per iteration "
          "| per local byte |\n|---|---|---|---:|---:|---:|---:|---:|---:|\n")


def table(call, kernels):
    rows = []
    for kernel in kernels:
        solver = kernel["solvers"][0].partition("/")[2].replace(":", " ")
        rows.append(f'| {kernel["machine"]} | {solver} | `{kernel["kernel"]}` | '
                    + " | ".join(figures(kernel, call.kind)) + " |\n")
    return f"## {call.title}\n\n`{call.words}`\n\n{HEADER}{''.join(rows)}"


def main_kernel(kernels):
    """Returns the kernel of a call with the most multiply-adds; otherwise the last kernel, which writes
    the result."""
    return max(kernels, key=lambda k: k.get("loop", {}).get("macs", 0), default=None)


def write_document(tables, document=DOCUMENT):
    document.write_text(TITLE + "\n".join(tables), encoding="utf-8")

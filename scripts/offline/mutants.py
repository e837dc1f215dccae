"""Faults injected into the kernels of NVIDIA's matrix units, and the message expected from the interpreter for each."""
from dataclasses import dataclass

from offline.interpreter import Edit


@dataclass(frozen=True)
class Mutant:
    name: str
    target: str
    words: str  # arguments of the call
    found: str  # pattern of the expected message
    edit: Edit


MMA = "gemm/mma:mb64,nb64,kb32,wm2,wn2,st3,em3,ks1 a=f16:69x104 b=f16:104x72 d=f16:69x72"
THROUGH_REGISTERS = MMA.replace("st3", "st1")
WGMMA = "gemm/wgmma a=f16:133x72 b=f16:72x168 d=f16:133x168"
CONV = ("conv/implicit_wgmma:mb64,nb128 x=f16:1x40x7x9/2520,1,360,40 w=f16:72x40x3x3/360,1,120,40 "
        "y=f16:1x72x7x9/4536,1,648,72 pad_begin=1,1 pad_end=1,1")
CONV_FILTER = ("conv_backward_filter/implicit_wgmma:mb64,nb128,ks1 x=f16:2x24x9x11/2376,1,264,24 "
               "dy=f16:2x72x9x11/7128,1,792,72 dw=f16:72x24x3x3/216,1,72,24 pad_begin=1,1 pad_end=1,1")
INT8 = "gemm_int8/mma a=i8:69x144 b=i8:144x72/1,144 d=i32:69x72"
WRONG = "the reference is|WRONG"
NOT_WAITED = "cp.async writes that has not been waited for"
# Which of the two messages comes first depends on the random order of the warps: a warp that is ahead of the others reads
# data that their cp.async has not written yet.
NO_BARRIER = f"without a barrier in between|{NOT_WAITED}"
STILL = "a register that a wgmma in flight uses|which a wgmma still reads"
STRAY = f"{WRONG}|outside every variable|has not been waited for|without a barrier"


def ptx(pattern, replacement, kernel="gemm_matrix"):
    return Edit("ptx", kernel, pattern, replacement)


def source(pattern, replacement, kernel="gemm_matrix"):
    return Edit("source", kernel, pattern, replacement)


def only(number, text):
    """Returns a pattern for the number-th occurrence of a text, with the preceding text as group 1."""
    return rf"(?s)\A((?:.*?{text}){{{number - 1}}}.*?){text}"


MUTANTS = [
    Mutant("mma: rows of A exchanged", "sm_80", MMA, WRONG,
           ptx(r"(mma\.sync\S+ \{[^}]*\}, \{)(%r\d+), (%r\d+)", r"\1\3, \2")),
    Mutant("mma: halves of K of B exchanged", "sm_80", MMA, WRONG,
           ptx(r"(mma\.sync\S+ \{[^}]*\}, \{[^}]*\}, \{)(%r\d+), (%r\d+)", r"\1\3, \2")),
    Mutant("mma: A and C exchange a sum", "sm_80", MMA, WRONG,
           ptx(r"(mma\.sync[^;]*, \{)(%[rf]\d+), (%[rf]\d+), (%[rf]\d+), (%[rf]\d+)\};", r"\1\3, \2, \4, \5};")),
    Mutant("mma of bytes: halves of K of B exchanged", "sm_80", INT8, WRONG,
           ptx(r"(mma\.sync\S+ \{[^}]*\}, \{[^}]*\}, \{)(%r\d+), (%r\d+)", r"\1\3, \2", "gemm_int8_matrix")),
    Mutant("bytes: vectors of the sums of rows for those of columns", "sm_80",
           "gemm_int8/mma a=u8:69x144 b=i8:144x72 d=i32:69x72 zero_point_of_b=i8:72", WRONG,
           source(r"uint4 \*\)\(r->lines \+ TENON_MB", "uint4 *)(r->lines", "gemm_int8_matrix")),
    Mutant("ldmatrix without .trans", "sm_80", MMA, WRONG, ptx(r"(ldmatrix\S*)\.trans", r"\1")),
    Mutant("layout: D's rows", "sm_80", MMA, WRONG,
           source(r"return \(lane >> 2\) \+ 8 \* \(i >> 1\);", "return (lane >> 2) + 8 * (i & 1);")),
    Mutant("layout: the columns of B that ldmatrix loads", "sm_80", MMA.replace("b=f16:104x72", "b=f16:104x72/1,104"),
           WRONG, source(r"return \(lane & 7\) \+ 8 \* \(lane >> 4\);", "return lane & 15;")),
    Mutant("no barrier behind cp.async's wait", "sm_80", MMA, NO_BARRIER, ptx(only(1, r"bar\.sync[ \t]+0;"), r"\1")),
    Mutant("no barrier before the sums are stored", "sm_80", MMA, NO_BARRIER,
           ptx(only(2, r"bar\.sync[ \t]+0;"), r"\1")),
    Mutant("no barrier behind stores to the block", "sm_80", THROUGH_REGISTERS, NO_BARRIER,
           ptx(only(1, r"bar\.sync[ \t]+0;"), r"\1")),
    Mutant("cp.async: one more group may be in flight", "sm_80", MMA, NOT_WAITED,
           ptx(r"cp\.async\.wait_group 1;", "cp.async.wait_group 2;")),
    Mutant("cp.async: no wait", "sm_80", MMA, NOT_WAITED, ptx(r"cp\.async\.wait_group \d+;", "")),
    Mutant("cp.async: no group", "sm_80", MMA, NOT_WAITED, ptx(r"cp\.async\.commit_group;", "")),
    Mutant("cp.async: past the end of K no zeros", "sm_80", MMA, WRONG + "|outside every buffer",
           source(r'"r"\(count \* \(BITS / 8\)\)', '"r"(16)')),
    Mutant("wgmma without fence.proxy.async", "sm_90a", WGMMA, "without a fence.proxy.async in between",
           ptx(r"fence\.proxy\.async\S*;", "")),
    Mutant("wgmma without wgmma.fence", "sm_90a", WGMMA, "no wgmma.fence", ptx(r"wgmma\.fence\S+;", "")),
    Mutant("wgmma: sums set behind wgmma.fence", "sm_90a", WGMMA, "accessed after the last wgmma.fence",
           ptx(r"(wgmma\.mma_async\S+ \{)(%[rf]\d+)", r"mov.b32 \2, \2; \1\2")),
    Mutant("wgmma: one group may be in flight", "sm_90a", WGMMA, STILL,
           ptx(r"(wgmma\.wait_group\S+) 0;", r"\1 1;")),
    Mutant("wgmma: no group", "sm_90a", WGMMA, STILL,
           ptx(r"wgmma\.commit_group\S+;", "")),
    Mutant("wgmma: no barrier behind cp.async's wait", "sm_90a", WGMMA, NO_BARRIER,
           ptx(only(1, r"bar\.sync[ \t]+0;"), r"\1")),
    Mutant("wgmma: A lies across K", "sm_90a", WGMMA, WRONG,
           ptx(r"(wgmma\.mma_async[^;]*, 1, 1, 1), 0,", r"\1, 1,")),
    Mutant("wgmma: the stride in the leading offset's place", "sm_90a", WGMMA, STRAY,
           source(r"matrix_wgmma_low\(\(uint\)start, matrix_wgmma_leading\(along_k, row, lines\)\)",
                  "matrix_wgmma_low((uint)start, stride)")),
    Mutant("wgmma: D's columns", "sm_90a", WGMMA, f"{WRONG}|which is not a multiple",
           source(r"return 8 \* \(i >> 2\) \+ 2 \* \(lane & 3\) \+ \(i & 1\);",
                  "return 8 * (i >> 2) + (lane & 3) + 4 * (i & 1);")),
    Mutant("convolution: no zeros outside the image", "sm_90a", CONV, WRONG,
           source(r"v\.there \? VECTOR : 0", "VECTOR", "conv_matrix")),
    Mutant("convolution: steps by the other half of the table", "sm_90a", CONV, f"{WRONG}|{NO_BARRIER}",
           source(r"f->at = TENON_KB - f->at;\s*place_steps", "place_steps", "conv_matrix")),
    Mutant("convolution: no barrier between two stages", "sm_90a", CONV, NO_BARRIER,
           source(r"#define FEED_BARRIER\(\) .*", "#define FEED_BARRIER()", "conv_matrix")),
    Mutant("convolution: no barrier behind cp.async's wait", "sm_90a", CONV, NO_BARRIER,
           source(r"(publish_blocks\(\);\s*)barrier\(CLK_LOCAL_MEM_FENCE\);", r"\1", "conv_matrix")),
    Mutant("convolution: cp.async: one more group may be in flight", "sm_90a", CONV, NOT_WAITED,
           source(r"wait_for_copies\(AHEAD - 1\)", "wait_for_copies(AHEAD)", "conv_matrix")),
    Mutant("convolution: wgmma without fence.proxy.async", "sm_90a", CONV, "without a fence.proxy.async in between",
           ptx(r"fence\.proxy\.async\S*;", "", "conv_matrix")),
    Mutant("convolution: two groups may be in flight", "sm_90a", CONV, STILL,
           source(r"unit_wait\(1\)", "unit_wait(2)", "conv_matrix")),
    Mutant("convolution: vectors lie unswizzled", "sm_90a", CONV, WRONG,
           source(r"\(matrix_wgmma_swizzled\(ROW_BYTES\(width, along_k\), 16 \* \(v\)\) / UNIT_BYTES\)",
                  "(16 * (v) / UNIT_BYTES)", "conv_matrix")),
    Mutant("convolution: the second of a pair of sums in the next row", "sm_90a", CONV, STRAY,
           source(r"own\[sum_place\(row, col \+ 1\)\]", "own[sum_place(row + 1, col)]", "conv_matrix")),
    Mutant("convolution: the filters' gradient reads dy along K", "sm_90a", CONV_FILTER, WRONG,
           ptx(r"(wgmma\.mma_async[^;]*, 1, 1, 1), 1, 1;", r"\1, 0, 1;", "conv_matrix")),
]

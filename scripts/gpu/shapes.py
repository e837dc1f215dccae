"""The names of the benchmark's cases, read back."""
import re

GEMM = re.compile(r"^(?P<what>.*?) (?:(?P<z>\d+)x )?(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)(?: (?P<t>[ab']+))?$")
CONV = re.compile(r"^\S+ (?P<c>\d+)@(?P<h>\d+) k(?P<k>\d+) (?P<r>\d+)x\d+(?:/(?P<s>\d+))? n(?P<n>\d+)$")
PADDING = {7: 3, 3: 1, 1: 0}  # of ResNet-50, by the filters' size


def product(name):
    """Batch, m, n, k, and whether a and b are stored transposed; None for another case's name."""
    match = GEMM.match(name)
    if match is None:
        return None
    turned = match["t"] or ""
    return (*(int(match[x] or 1) for x in "zmnk"), "a" in turned, "b" in turned)


def convolution(name):
    """Images, channels, their size, filters, theirs, stride and padding; None for another case's name."""
    match = CONV.match(name)
    if match is None:
        return None
    n, c, h, k, r = (int(match[x]) for x in "nchkr")
    return n, c, h, k, r, int(match["s"] or 1), PADDING[r]

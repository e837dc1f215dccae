#!/usr/bin/env python3
"""./run docs: writes the numbers of the activations to the OpenCL C source, from the list that the C files include."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "src" / "ops" / "common" / "activation_list.h"
KERNELS = ROOT / "cl_kernels" / "common" / "activation.clh"
ROW = re.compile(r"^X\((\d+), (\w+),", re.M)
DEFINES = re.compile(r"(?:#define TENON_ACT_\w+ +\d+\n)+")


def listed():
    """Returns the number of each activation by its name."""
    return {name: int(number) for number, name in ROW.findall(LIST.read_text(encoding="utf-8"))}


def written(text):
    """Returns the kernel file with the numbers of the list, aligned like clang-format."""
    names = {f"TENON_ACT_{name}": number for name, number in listed().items()}
    width = max(map(len, names))
    return DEFINES.sub("".join(f"#define {name:{width}} {number}\n" for name, number in names.items()), text)


def main():
    KERNELS.write_text(written(KERNELS.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote the numbers in {KERNELS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

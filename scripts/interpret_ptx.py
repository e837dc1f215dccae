#!/usr/bin/env python3
"""Interprets the PTX of the kernels for NVIDIA's matrix units on a simulated GPU.

    interpret_ptx.py                    the interpretation of ./run check-kernels: small calls of every kernel
                                        that is selected anywhere, and mutants that must be detected
    interpret_ptx.py [--target NAME] ARGUMENTS OF tenon
                                        any call: check gemm/wgmma a=f16:133x70 b=f16:70x165 d=f16:133x165
"""
import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from offline import interpreted
from offline.interpreter import DRIVER, ROOT, Interpreter


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=interpreted.TARGETS, help="the device (default: sm_80; all for the check)")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100000,
                        help="seed of the order of warps and groups, and of values; printed")
    parser.add_argument("--local-memory", type=int, default=48 << 10, metavar="BYTES",
                        help="local memory of a work-group in bytes (49152)")
    parser.add_argument("--tenon", default=str(ROOT / "build/tools/tenon"), help="the tenon program")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("words", nargs=argparse.REMAINDER, help="arguments of tenon")
    options = parser.parse_args()
    if not DRIVER.exists():
        sys.exit(f"interpret_ptx: {DRIVER} is missing: build first")
    interpreter = Interpreter(Path(options.tenon), seed=options.seed, local_memory=options.local_memory)
    if options.words:
        sys.exit(subprocess.run([options.tenon, *options.words], check=False,
                                env=interpreter.environment(options.target or "sm_80")).returncode)
    if interpreter.absent:
        print(f"SKIPPED the interpretation of NVIDIA's kernels: {interpreter.absent}")
        return
    targets = [options.target] if options.target else interpreted.CHECKED
    problems = interpreted.check(interpreter, targets, options.jobs)
    for problem in problems:
        print(f"FAILED {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()

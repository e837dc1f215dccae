#!/usr/bin/env python3
"""Runs `tenon` on an NVIDIA GPU that is not there: an OpenCL driver of tests/ptx, preloaded, compiles
its kernels to PTX by clang and interprets that.

    interpret_ptx.py --target sm_90a check gemm/wgmma a=f16:133x70 b=f16:70x165 d=f16:133x165
"""
import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def environment(options, **more):
    """Of a process that has the device."""
    driver = ROOT / "build/tests/ptx/libptx_driver.so"
    if not driver.exists():
        sys.exit(f"interpret_ptx: there is no {driver}: build first")
    compiler = f"{sys.executable} {ROOT / 'scripts/offline/compile_ptx.py'}"
    return dict(os.environ, LD_PRELOAD=str(driver), PTX_DEVICE=options.target, PTX_COMPILER=compiler,
                PTX_CACHE=str(ROOT / "build/kernel-cache/ptx"), PTX_SEED=str(options.seed),
                PTX_LOCAL_MEMORY=str(options.local_memory), TENON_CACHE="0", TENON_TUNE="0", **more)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--target", default="sm_80", choices=["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"])
    parser.add_argument("--seed", type=int, default=1, help="of the order of warps and groups (1)")
    parser.add_argument("--local-memory", type=int, default=48 << 10, metavar="BYTES",
                        help="of a work-group (49152)")
    parser.add_argument("--tenon", default=str(ROOT / "build/tools/tenon"), help="the program")
    parser.add_argument("words", nargs=argparse.REMAINDER, help="what tenon is told")
    options = parser.parse_args()
    sys.exit(subprocess.run([options.tenon, *options.words], env=environment(options), check=False).returncode)


if __name__ == "__main__":
    main()

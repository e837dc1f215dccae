#!/usr/bin/env python3
"""Installs a built Tenon into a temporary root and builds a consumer against it through pkg-config.

    check.py --build build [--meson meson] [--pkg-config pkg-config] -- cc

Once with the shared library, once with the static one (left out where it was not built). pkg-config
sees Tenon's file and the OpenCL loader's alone: no other may be needed.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "main.c"
HEADERS = Path(__file__).resolve().parents[3] / "include" / "tenon"


class Installed:
    """What `meson install` put into the root, and how pkg-config sees it."""

    def __init__(self, root, pkg_config):
        found = sorted(root.rglob("tenon.pc"))
        if len(found) != 1:
            raise SystemExit(f"expected one tenon.pc, found {found}")
        self.pkg_config = pkg_config
        self.libdir = found[0].parents[1]
        self.root = root
        self.relocate(found[0])
        self.take_opencl(found[0].parent)
        self.environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(found[0].parent))
        self.environment.pop("PKG_CONFIG_PATH", None)

    def relocate(self, pc_file):
        """Points the prefix into the root. (A sysroot would move the OpenCL loader's paths as well.)"""
        text = pc_file.read_text(encoding="utf-8")
        text, count = re.subn(r"^prefix=(/.*)$", rf"prefix={self.root}\1", text, flags=re.M)
        if count != 1:
            raise SystemExit(f"expected one absolute prefix in {pc_file}:\n{text}")
        pc_file.write_text(text, encoding="utf-8")

    def take_opencl(self, folder):
        """The loader's file beside Tenon's, and what it requires, where the loader has one."""
        for name in ("OpenCL", "OpenCL-Headers"):
            done = subprocess.run([*self.pkg_config, "--variable=pcfiledir", name], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
            if done.returncode == 0:
                shutil.copy(Path(done.stdout.strip(), f"{name}.pc"), folder)

    def query(self, *args):
        done = subprocess.run([*self.pkg_config, *args, "tenon"], env=self.environment, text=True,
                              stdout=subprocess.PIPE, check=True)
        return done.stdout.split()

    def lacks_headers(self):
        there = {path.name for path in self.root.rglob("include/tenon/*.h")}
        return sorted({path.name for path in HEADERS.glob("*.h")} - there)


def build_and_run(compiler, installed, program, static):
    flags = installed.query("--cflags")
    libraries = installed.query("--libs", *(["--static"] if static else []))
    command = [*compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", *flags, str(SOURCE), "-o",
               str(program), *libraries]
    print("+", " ".join(command), flush=True)
    subprocess.run(command, check=True)
    environment = dict(os.environ)
    if not static:
        environment["LD_LIBRARY_PATH"] = str(installed.libdir)
    subprocess.run([str(program)], env=environment, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--meson", default="meson")
    parser.add_argument("--pkg-config", default="pkg-config")
    parser.add_argument("compiler", nargs="+")
    args = parser.parse_args()
    if not shutil.which(args.pkg_config.split()[0]):
        print("no pkg-config")
        return 77
    with tempfile.TemporaryDirectory(prefix="tenon-consumer-") as folder:
        root = Path(folder, "root")
        subprocess.run([*args.meson.split(), "install", "--quiet", "--no-rebuild", "-C", args.build,
                        "--destdir", str(root)], check=True)
        installed = Installed(root, args.pkg_config.split())
        if installed.lacks_headers():
            print("not installed:", *installed.lacks_headers())
            return 1
        print("version", *installed.query("--modversion"))
        shared = sorted(installed.libdir.glob("libtenon.so*"))
        if shared:
            build_and_run(args.compiler, installed, Path(folder, "shared"), static=False)
        for path in shared:  # the linker takes the shared library where it finds both
            path.unlink()
        if (installed.libdir / "libtenon.a").is_file():
            build_and_run(args.compiler, installed, Path(folder, "static"), static=True)
        else:
            print("no static library was built")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Installs a built Tenon to a temporary root and builds applications with it.

    check.py --build build --cc cc [--cxx c++] [--meson meson] [--pkg-config pkg-config]

Tests pkg-config with the shared and with the static library, and the static library without
pkg-config. pkg-config sees only Tenon's file. Libraries that were not built are skipped.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import installed as embed  # noqa: E402

HEADERS = Path(__file__).resolve().parents[3] / "include" / "tenon"


def query(tenon, pkg_config, *args):
    environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(tenon.pc_file.parent))
    environment.pop("PKG_CONFIG_PATH", None)
    done = subprocess.run([*pkg_config, *args, "tenon"], env=environment, text=True, stdout=subprocess.PIPE, check=True)
    return done.stdout.split()


def lacks_headers(tenon):
    there = {path.name for path in tenon.root.rglob("include/tenon/*.h")}
    return sorted({path.name for path in HEADERS.glob("*.h")} - there)


def build(compilers, folder, name, flags, libraries):
    for language, compiler in compilers.items():
        program = Path(folder, f"{name}-{language}")
        embed.run(*compiler, embed.STANDARD[language], "-Wall", "-Wextra", "-Wpedantic", "-Werror", *flags,
                  embed.SOURCES[language], "-o", program, *libraries)
        yield program


def check(args, folder):
    pkg_config, compilers = args.pkg_config.split(), embed.compilers(args)
    tenon = embed.Installed(args.build, Path(folder, "root"), args.meson)
    if lacks_headers(tenon):
        raise SystemExit(f"not installed: {lacks_headers(tenon)}")
    needed = tenon.needed() if tenon.shared else []
    opens = "OpenCL" not in " ".join(query(tenon, pkg_config, "--libs", "--static"))
    print("version", *query(tenon, pkg_config, "--modversion"), "needs", *needed)
    foreign = [name for name in needed if not embed.SYSTEM.match(name) and (opens or "OpenCL" not in name)]
    if foreign:
        raise SystemExit(f"the library depends on {foreign}")
    flags = query(tenon, pkg_config, "--cflags")
    if tenon.shared:
        for program in build(compilers, folder, "shared", flags, query(tenon, pkg_config, "--libs")):
            embed.try_program(program, tenon.libdir, folder, compilers["c"], opens)
    tenon.remove_shared()
    if not tenon.static.is_file():
        print("no static library was built")
        return
    for program in build(compilers, folder, "static", flags, query(tenon, pkg_config, "--libs", "--static")):
        embed.try_program(program, tenon.libdir, folder, compilers["c"], opens)
    plain = [tenon.static, "-lm", "-ldl", "-pthread", *([] if opens else ["-lOpenCL"])]
    for program in build(compilers, folder, "plain", [f"-I{tenon.include}"], plain):
        embed.try_program(program, tenon.libdir, folder, compilers["c"], opens)


def main():
    parser = embed.arguments(__doc__.splitlines()[0])
    parser.add_argument("--pkg-config", default="pkg-config")
    args = parser.parse_args()
    if not shutil.which(args.pkg_config.split()[0]):
        print("pkg-config is not installed")
        return 77
    with tempfile.TemporaryDirectory(prefix="tenon-consumer-") as folder:
        check(args, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

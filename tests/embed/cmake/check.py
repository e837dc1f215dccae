#!/usr/bin/env python3
"""Installs a built Tenon to a temporary root and builds applications that find it with CMake.

    check.py --build build --cc cc [--cxx c++] [--meson meson] [--cmake cmake]

Tests the shared library and the static one. CMake must not find an incompatible version. Exit
status 77 (skipped) without CMake.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import installed as embed  # noqa: E402

HERE = Path(__file__).resolve().parent


def project(folder, name, wanted="0.3"):
    made = Path(folder, name)
    made.mkdir()
    text = (HERE / "CMakeLists.txt").read_text(encoding="utf-8")
    (made / "CMakeLists.txt").write_text(text.replace("(Tenon 0.3 ", f"(Tenon {wanted} "), encoding="utf-8")
    for source in embed.SOURCES.values():
        shutil.copy(source, made)
    return made


def configure(args, tenon, folder, *options):
    compilers = embed.compilers(args)
    environment = dict(os.environ, CC=args.cc, **({"CXX": args.cxx} if args.cxx else {}))
    return [args.cmake, "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={tenon.prefix}",
            f"-DWITH_CXX={'ON' if 'c++' in compilers else 'OFF'}", *options], environment


def build(args, tenon, folder, opens, *options):
    command, environment = configure(args, tenon, folder, *options)
    embed.run(*command, env=environment)
    embed.run(args.cmake, "--build", folder / "build")
    for language in embed.compilers(args):
        embed.try_program(folder / "build" / f"consumer-{language}", tenon.libdir, folder, args.cc.split(), opens)


def refused(args, tenon, folder):
    command, environment = configure(args, tenon, folder)
    done = subprocess.run([str(part) for part in command], env=environment, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == 0 or "Tenon" not in done.stdout:
        raise SystemExit(f"CMake found an incompatible version:\n{done.stdout}")


def check(args, folder):
    tenon = embed.Installed(args.build, Path(folder, "root"), args.meson)
    opens = not any("OpenCL" in name for name in tenon.needed()) if tenon.shared else True
    for wanted in ("99", "0.999", "0.2"):
        refused(args, tenon, project(folder, f"refused-{wanted}", wanted))
    if tenon.shared:
        build(args, tenon, project(folder, "shared"), opens)
    if tenon.static.is_file():
        build(args, tenon, project(folder, "static"), opens, "-DTenon_USE_STATIC_LIBS=ON")


def main():
    parser = embed.arguments(__doc__.splitlines()[0])
    parser.add_argument("--cmake", default="cmake")
    args = parser.parse_args()
    if not shutil.which(args.cmake):
        print("CMake is not installed: skipped")
        return 77
    with tempfile.TemporaryDirectory(prefix="tenon-cmake-") as folder:
        check(args, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

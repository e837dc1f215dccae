"""Shared parts of the application checks: installs Tenon with `meson install` to a root that
contains nothing else, and runs applications built with it."""
import argparse
import os
import re
import shutil
import subprocess
from pathlib import Path

SOURCES = {"c": Path(__file__).resolve().parent / "consumer" / "main.c",
           "c++": Path(__file__).resolve().parent / "consumer" / "main.cpp"}
STANDARD = {"c": "-std=c11", "c++": "-std=c++17"}
# Other libraries that Tenon may depend on, for the different C libraries.
SYSTEM = re.compile(r"^(lib(c|m|dl|pthread|rt)\b|ld-|libgcc_s|linux-vdso)")


def run(*command, **options):
    print("+", " ".join(map(str, command)), flush=True)
    return subprocess.run([str(part) for part in command], check=True, **options)


def arguments(description):
    """Parses the arguments. Callers add --build or --source; a missing compiler is ""."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build")
    parser.add_argument("--source")
    parser.add_argument("--meson", default="meson")
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx", default="")
    return parser


def compilers(args):
    return {language: command.split() for language, command in (("c", args.cc), ("c++", args.cxx)) if command}


class Installed:
    def __init__(self, build, root, meson="meson"):
        self.root = root
        run(*meson.split(), "install", "--quiet", "--no-rebuild", "-C", build, "--destdir", root)
        found = sorted(root.rglob("tenon.pc"))
        if len(found) != 1:
            raise SystemExit(f"expected one tenon.pc, found {found}")
        self.pc_file = found[0]
        self.libdir = found[0].parents[1]
        text = self.pc_file.read_text(encoding="utf-8")
        prefix = re.findall(r"^prefix=(/.*)$", text, re.M)
        if len(prefix) != 1:
            raise SystemExit(f"expected one absolute prefix in {self.pc_file}:\n{text}")
        self.prefix = Path(f"{root}{prefix[0]}")
        self.pc_file.write_text(text.replace(f"prefix={prefix[0]}", f"prefix={self.prefix}", 1), encoding="utf-8")
        self.include = self.prefix / "include"
        # Either library may be missing, depending on -Ddefault_library.
        self.shared = sorted(self.libdir.glob("libtenon.so*"))
        self.static = self.libdir / "libtenon.a"

    def needed(self):
        """Returns the libraries that the shared library depends on."""
        if not shutil.which("readelf"):
            return []
        dynamic = subprocess.run(["readelf", "-d", str(self.shared[0])], text=True, stdout=subprocess.PIPE, check=True)
        return re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic.stdout)

    def remove_shared(self):
        """Removes the shared library, which the linker would prefer to the static one."""
        for path in self.shared:
            path.unlink()
        self.shared = []


def bad_loaders(folder, compiler):
    """Yields folders with unusable OpenCL loaders and the expected error for each: one file is not
    a library, the other has no functions."""
    for kind, expected in (("broken", "install OpenCL's loader"), ("hollow", "the loader lacks cl")):
        where = Path(folder, kind)
        where.mkdir(exist_ok=True)
        for name in ("libOpenCL.so.1", "libOpenCL.so"):
            if kind == "broken":
                (where / name).write_text("This is no library.\n", encoding="utf-8")
            elif not (where / name).exists():
                run(*compiler, "-shared", "-x", "c", os.devnull, "-o", where / name)
        yield where, expected


def try_program(program, libdir, folder, compiler, opens_opencl=True):
    """Runs a program as it is and, if it opens OpenCL at run time, without a usable OpenCL."""
    path = [str(libdir), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    run(program, env=dict(os.environ, LD_LIBRARY_PATH=":".join(path)))
    for where, expected in bad_loaders(folder, compiler) if opens_opencl else []:
        done = subprocess.run([str(program)], text=True, stdout=subprocess.PIPE, check=False,
                              env=dict(os.environ, LD_LIBRARY_PATH=":".join([str(where), *path])))
        print(done.stdout, end="", flush=True)
        if done.returncode != 3 or expected not in done.stdout:
            raise SystemExit(f"without OpenCL: status {done.returncode}, expected 3 and \"{expected}\"")

#!/usr/bin/env python3
"""Builds Tenon for other compilers, C libraries, processors and systems, and runs the programs that this machine can run.

    matrix.py [--list] [NAME …]

Missing packages are installed if apt and root are available; Zig is installed by pip. Each target is configured, built and
linked with a consumer (tests/embed/consumer/main.c); then its unit tests and the consumer run. The consumer requests a device,
and accepts "no OpenCL" if there is none. The macOS targets are only built. The script ends with a table; the exit status is 1
if a step failed that could run.
"""
import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from configparser import ConfigParser
from dataclasses import dataclass, field
from pathlib import Path

import debian

ROOT = Path(__file__).resolve().parents[1]
WRAPS = ROOT / "subprojects"
CROSS = ROOT / "packaging" / "cross"
ZIG = ROOT / "build-matrix" / "zig"
CACHE = Path(os.environ.get("MESON_PACKAGE_CACHE_DIR", WRAPS / "packagecache"))
STEPS = ["compiled", "linked", "unit tests", "device"]
OPTIONS = ["--buildtype=release", "-Dbench=disabled", "-Dopenblas=disabled", "-Dclblast=disabled", "-Donednn=disabled"]
# Calls that run if there is a device, and are compared with the references.
CALLS = [
    "check gemm a=f32:33x70 b=f32:70x65 d=f32:33x65 --seed 7",
    "check conv x=f32:2x8x14x14 w=f32:16x8x3x3 y=f32:2x16x14x14 pad_begin=1,1 pad_end=1,1 --seed 7",
    "selftest --solver conv/direct",
]
# The library folders of Debian's architectures.
LIBRARIES = {"arm64": "aarch64-linux-gnu", "i386": "i386-linux-gnu"}
NO_OPENCL = 3  # the consumer's exit status if there is no OpenCL


class Skipped(Exception):
    """A step that this machine cannot perform; the message gives the reason."""


@dataclass
class Target:
    what: str
    compiler: str
    packages: list = field(default_factory=list)
    cross: str = ""        # the name of a file in packaging/cross
    runner: str = ""       # the program that runs the target's programs
    pocl: str = ""         # the Debian architecture of the PoCL for the target's programs
    fallback: bool = False  # take every dependency from its wrap
    leaves_out: dict = field(default_factory=dict)  # unit tests that are skipped, with the reason
    not_run: str = ""      # the reason why its programs are not run
    from_pip: bool = False  # the compiler is in PyPI's package ziglang

    def needs(self):
        return [self.compiler, *([self.runner] if self.runner else [])]

    def environment(self):
        """Returns the environment for the compiler: Zig is called by a script in the folder of the cross files."""
        if not self.from_pip:
            return dict(os.environ)
        return dict(os.environ, PATH=os.pathsep.join([str(CROSS), str(ZIG), os.environ["PATH"]]))

    def finds(self, name):
        return shutil.which(name, path=self.environment()["PATH"])


MACOS = {"not_run": "nothing here runs macOS programs", "from_pip": True}
TARGETS = {
    "gcc": Target("gcc and glibc", "gcc", ["gcc"]),
    "clang": Target("clang and glibc", "clang", ["clang"]),
    "musl": Target("gcc and musl", "musl-gcc", ["musl-tools"], "x86_64-linux-musl"),
    "i686": Target("32-bit x86", "i686-linux-gnu-gcc", ["gcc-i686-linux-gnu", "libc6-dev-i386-cross"],
                   "i686-linux-gnu", pocl="i386"),
    "arm64": Target("64-bit Arm", "aarch64-linux-gnu-gcc",
                    ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user"],
                    "aarch64-linux-gnu", "qemu-aarch64", pocl="arm64",
                    leaves_out={"test_process": "QEMU tells a process another start than the system does"}),
    "windows": Target("Windows by mingw-w64", "x86_64-w64-mingw32-gcc", ["gcc-mingw-w64-x86-64", "wine64", "wine"],
                      "x86_64-w64-mingw32", "wine"),
    "macos": Target("macOS on 64-bit Arm by Zig", "zig", cross="aarch64-macos", **MACOS),
    "macos-x86": Target("macOS on x86-64 by Zig", "zig", cross="x86_64-macos", **MACOS),
    "fallback": Target("every dependency from its wrap", "cc", fallback=True),
}
# Debian source packages whose archives are identical to those of the wraps.
SOURCES = {"cmocka": "cmocka", "jansson": "jansson", "xxhash": "xxhash", "libpng": "libpng1.6",
           "opencl-headers": "khronos-opencl-headers"}


def install_zig(target):
    """Installs the compiler from PyPI without changing this machine's Python."""
    if target.finds("zig"):
        return
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", ZIG / "packages", "ziglang"],
                          check=False, capture_output=True, text=True)
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["?"])[-1]
        raise Skipped(f"zig is missing, and pip does not install ziglang: {why}")
    (ZIG / "zig").unlink(missing_ok=True)
    (ZIG / "zig").symlink_to("packages/ziglang/zig")


def install(target):
    """Installs the compiler with apt or pip; raises Skipped if that fails."""
    if target.from_pip:
        install_zig(target)
    absent = [name for name in target.needs() if not target.finds(name)]
    if absent and target.packages and shutil.which("apt-get") and os.geteuid() == 0:
        environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        for command in (["update"], ["install", "-y", "--no-install-recommends", *target.packages]):
            subprocess.run(["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", *command], env=environment, check=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        absent = [name for name in target.needs() if not target.finds(name)]
    if target.compiler in absent:
        raise Skipped(f"{target.compiler} is missing")


def wrap_of(name):
    wrap = ConfigParser(interpolation=None)
    wrap.read(WRAPS / f"{name}.wrap")
    return wrap["wrap-file"]


def is_cached(name):
    path = CACHE / wrap_of(name)["source_filename"]
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == wrap_of(name)["source_hash"]


def is_there(name):
    return is_cached(name) or (WRAPS / wrap_of(name)["directory"] / "meson.build").is_file()


def download(name, log):
    """Gets the archive from Debian's sources if its hash matches the wrap, otherwise lets Meson download it."""
    wanted = wrap_of(name)
    folder = ROOT / "build-matrix" / "sources"
    found = name in SOURCES and debian.archive(SOURCES[name], wanted["source_hash"], folder, log)
    if found:
        CACHE.mkdir(parents=True, exist_ok=True)
        shutil.copy(found, CACHE / wanted["source_filename"])
        return
    subprocess.run(["meson", "subprojects", "download", name], cwd=ROOT, stdout=log, stderr=log, check=False,
                   timeout=120)


def lacking(names, log):
    for name in names:
        if not is_there(name):
            download(name, log)
    return [name for name in names if not is_there(name)]


def host_headers(folder):
    """Writes a cross file with which a cross compiler finds only the platform-independent headers of this machine."""
    include, packages = folder / "include", folder / "pkgconfig"
    include.mkdir(parents=True, exist_ok=True)
    packages.mkdir(exist_ok=True)
    for name, header, module in (("CL", "CL", "OpenCL-Headers"), ("xxhash.h", "xxhash.h", "libxxhash")):
        at = Path("/usr/include", header)
        if at.exists() and not (include / name).exists():
            (include / name).symlink_to(at)
        if at.exists():
            (packages / f"{module}.pc").write_text(
                f"includedir={include}\nName: {module}\nDescription: headers\nVersion: 3.0\nCflags: -I${{includedir}}\n")
    (folder / "headers.ini").write_text(f"[properties]\npkg_config_libdir = '{packages}'\n")
    return folder / "headers.ini"


class Build:
    def __init__(self, name, target, log):
        self.name, self.target, self.log = name, target, log
        self.folder = ROOT / "build-matrix" / name
        self.log_path = Path(log.name)

    def run(self, *command, **options):
        command = [str(part) for part in command]
        self.log.write(f"$ {' '.join(command)}\n")
        self.log.flush()
        options.setdefault("env", self.target.environment())
        return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, check=False,
                              **options).returncode

    def must(self, *command, **options):
        if self.run(*command, **options) != 0:
            raise RuntimeError(f"{command[0]} failed: see {self.log_path.relative_to(ROOT)}")

    def configure(self):
        if (self.folder / "build.ninja").is_file():
            return
        args = []
        if self.target.cross:
            args += ["--cross-file", CROSS / f"{self.target.cross}.ini",
                     "--cross-file", host_headers(ROOT / "build-matrix" / "headers")]
            wrapped = [name for name in ("cmocka", "jansson", "popt") if not lacking([name], self.log)]
            args.append(f"--force-fallback-for={','.join(wrapped)}")
        if self.target.fallback:
            names = sorted(path.stem for path in WRAPS.glob("*.wrap"))
            absent = lacking(names, self.log)
            if absent:
                raise Skipped(f"the sources of {', '.join(absent)} are not available: "
                              "put them into subprojects/packagecache")
            # Linked, because the loader opened at the first use would be this machine's.
            args += ["--wrap-mode=forcefallback", "-Dopencl=link"]
        environment = self.target.environment()
        if not self.target.cross:
            environment["CC"] = self.target.compiler
        self.must("meson", "setup", self.folder, *OPTIONS, *args, env=environment)

    def introspect(self, what):
        done = subprocess.run(["meson", "introspect", what, str(self.folder)], check=True, text=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def files(self, kinds, part):
        return [Path(name) for target in self.introspect("--targets") if target["type"] in kinds
                for name in target["filename"] if part in Path(name).relative_to(self.folder).as_posix()]

    def words(self, name):
        """Returns a program of the cross file with its first arguments."""
        cross = ConfigParser()
        cross.read(CROSS / f"{self.target.cross}.ini")
        found = json.loads(cross["binaries"].get(name, "[]").replace("'", '"'))
        return found if isinstance(found, list) else [found]

    def compiler(self):
        return self.words("c") if self.target.cross else [self.target.compiler]

    def wrapper(self):
        words = self.words("exe_wrapper") if self.target.cross else []
        if words and not shutil.which(words[0]):
            raise Skipped(f"{words[0]} is needed to run it, but missing")
        return words

    def ninja(self, paths):
        self.must("ninja", "-C", self.folder, *(path.relative_to(self.folder) for path in paths))

    def compiled(self):
        self.configure()
        self.ninja([path for path in self.files({"shared library", "static library", "executable"}, "")
                    if path.relative_to(self.folder).parts[0] in ("src", "tools") and "internal" not in path.name])
        return "yes"

    def consumer(self):
        return self.folder / ("consumer.exe" if self.target.cross.endswith("mingw32") else "consumer")

    def linked(self):
        library = self.files({"shared library"}, "src/")[0]
        flags = self.introspect("--dependencies")
        includes = [flag for one in flags for flag in one["compile_args"] if flag.startswith("-I")]
        # The include folder of a header-only subproject is the subproject's folder.
        includes += [f"-I{path}" for path in WRAPS.glob("OpenCL-Headers*")]
        self.must(*self.compiler(), "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / 'include'}",
                  f"-I{self.folder / 'include'}", *dict.fromkeys(includes), ROOT / "tests/embed/consumer/main.c", "-o",
                  self.consumer(), f"-L{library.parent}", "-ltenon", *([] if library.suffix == ".dll" else [
                      f"-Wl,-rpath,{library.parent}"]))
        return "yes"

    def unit_tests(self):
        programs = self.files({"executable"}, "tests/unit/")
        if not programs:
            raise Skipped("cmocka is missing for it")
        left_out = self.target.leaves_out
        programs = [path for path in programs if path.stem not in left_out]
        self.ninja(programs)
        if self.target.not_run:
            raise Skipped(f"{len(programs)} programs link; {self.target.not_run}")
        wrapper = self.wrapper()
        if self.target.runner == "wine":
            # The server keeps running for the next program: one that starts while it ends fails ("wine client error").
            self.run("wineserver", "-p300")
        failed = [path.stem for path in programs
                  if self.run(*wrapper, path, env=self.environment(), timeout=300) != 0]
        if failed:
            raise RuntimeError(f"{', '.join(failed)}: see {self.log_path.relative_to(ROOT)}")
        return "; ".join([f"{len(programs)} programs", *(f"without {name}: {why}" for name, why in left_out.items())])

    def environment(self):
        """Returns the environment: Wine prints no messages and finds the library, and the store is off."""
        return dict(self.target.environment(), WINEDEBUG="-all", TENON_CACHE="0", TENON_SOURCE_ROOT=str(ROOT),
                    WINEPATH=str(self.folder / "src"))

    def device(self):
        if self.target.not_run:
            raise Skipped(self.target.not_run)
        wrapper, environment = self.foreign_pocl() if self.target.pocl else (self.wrapper(), self.environment())
        status = self.run(*wrapper, self.consumer(), env=environment, timeout=600)
        if status == NO_OPENCL:
            raise Skipped("there is no OpenCL for it")
        if status != 0:
            raise RuntimeError(f"the consumer ended with {status}")
        programs = self.files({"executable"}, "examples/product") + self.files({"executable"}, "tools/tenon")
        self.ninja(programs)
        product, command = programs[0], programs[-1]
        self.must(*wrapper, product, env=environment, timeout=600)
        for call in CALLS:
            self.must(*wrapper, command, *call.split(), env=environment, timeout=600)
        said = f"a product, {len(CALLS)} checks"
        if not self.target.fallback:
            return said
        self.photo(environment)
        return f"{said}, a photograph"

    def photo(self, environment):
        """Runs examples/photo, which needs libpng and zlib."""
        programs = sorted(self.files({"executable"}, "examples/photo"), key=lambda path: path.stem)
        self.ninja(programs)
        picture, drawing = ROOT / "examples" / "data" / "cat.png", self.folder / "drawing.png"
        for program in programs:  # the example, then the program that checks its output
            self.must(program, picture, drawing, env=environment, timeout=600)

    def foreign_pocl(self):
        """Returns the command prefix and environment to run programs with PoCL. Libraries come from an unpacked root, by their
        real paths, because QEMU does not look up every path in the root. PoCL's clang calls this machine's linker."""
        folder = ROOT / "build-matrix" / f"pocl-{self.target.pocl}"
        try:
            root = debian.unpacked(["pocl-opencl-icd", "ocl-icd-libopencl1"], self.target.pocl, folder, self.log)
        except debian.Unavailable as reason:
            raise Skipped(f"PoCL is not available for it: {reason}") from reason
        linker = folder / "linker" / "ld"
        linker.parent.mkdir(exist_ok=True)
        if not linker.is_symlink():
            linker.symlink_to(shutil.which(f"{self.target.cross}-ld"))
        libgcc = subprocess.run([self.target.compiler, "-print-libgcc-file-name"], check=True, text=True,
                                stdout=subprocess.PIPE).stdout
        environment = dict(self.environment(), OCL_ICD_VENDORS=f"{root}/etc/OpenCL/vendors",
                           POCL_CACHE_DIR=str(folder / "kernels"), COMPILER_PATH=str(linker.parent),
                           LIBRARY_PATH=str(Path(libgcc).parent))
        libraries = ":".join(f"{root}/{place}/{LIBRARIES[self.target.pocl]}" for place in ("usr/lib", "lib"))
        if self.target.runner:
            return [self.target.runner, "-L", root, "-E", f"LD_LIBRARY_PATH={libraries}"], environment
        return [root / "lib" / "ld-linux.so.2", "--library-path", f"{libraries}:{self.folder / 'src'}"], environment


def work(name):
    """Runs the steps; returns the result of each by name."""
    target, results = TARGETS[name], {}
    folder = ROOT / "build-matrix"
    folder.mkdir(exist_ok=True)
    with open(folder / f"{name}.log", "w", encoding="utf-8") as log:
        build = Build(name, target, log)
        for step in STEPS:
            # A step that depends on one that did not pass is skipped.
            before = {"unit tests": "compiled", "linked": "compiled", "device": "linked"}.get(step)
            try:
                if before and results[before][0] != "passed":
                    raise Skipped(f"not {before}")
                if step == "compiled":
                    install(target)
                results[step] = ("passed", getattr(build, step.replace(" ", "_"))())
            except Skipped as reason:
                results[step] = ("skipped", str(reason))
            except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                results[step] = ("failed", str(error))
    return results


def table(results):
    lines = ["| target | " + " | ".join(STEPS) + " |", "|---" * (len(STEPS) + 1) + "|"]
    for name, row in results.items():
        cells = [text if state == "passed" else f"{state}: {text}" for state, text in (row[step] for step in STEPS)]
        lines.append(f"| {name} ({TARGETS[name].what}) | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="./run matrix", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"one of {', '.join(TARGETS)}; default: all")
    parser.add_argument("--list", action="store_true", help="print the targets and exit")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in TARGETS]
    if unknown:
        parser.error(f"unknown target {unknown[0]}: {', '.join(TARGETS)}")
    if args.list:
        for name, target in TARGETS.items():
            print(f"{name:10}{target.what}")
        return 0
    results = {}
    for name in dict.fromkeys(args.names or TARGETS):
        start = time.monotonic()
        print(f"{name} … ", end="", flush=True)
        results[name] = work(name)
        states = {state for state, _ in results[name].values()}
        print(f"{'failed' if 'failed' in states else 'done'} after {time.monotonic() - start:.0f} s", flush=True)
    print(f"\n{table(results)}")
    return 1 if any(state == "failed" for row in results.values() for state, _ in row.values()) else 0


if __name__ == "__main__":
    sys.exit(main())

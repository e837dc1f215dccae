"""Builds Tenon with what the host has, or with what a carried folder (pack.py) brings."""
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from pack import MODULES, OPTIONAL

PROGRAMS = ["bench/tenon-bench", "tools/tenon"]
SOURCES = ["include", "src", "cl_kernels", "bench", "tools"]


class Toolchain:
    """Meson, Ninja and pkg-config, and what a build lacks."""

    def __init__(self, carried):
        self.carried = Path(carried).resolve() if (Path(carried) / "modules.json").exists() else None
        self.env, self.missing = {}, []
        self.compiler = next((c for c in (os.environ.get("CC"), "cc", "gcc", "clang") if c and shutil.which(c.split()[0])), None)
        if self.compiler is None:
            self.missing.append("a C compiler")
        self.meson = self.program("meson")
        self.ninja = self.program("ninja")
        self.choose_modules()

    def program(self, name):
        """The host's own, else the carried one, as a command."""
        own = shutil.which(name)
        if own and (name != "meson" or subprocess.run([own, "--version"], capture_output=True, check=False).returncode == 0):
            return [own]
        if self.carried and name == "meson":
            return [sys.executable, str(self.carried / "meson" / "meson.py")]
        if self.carried:
            return [str(self.carried / "bin" / name)]
        self.missing.append(name)
        return None

    def host_has(self, module):
        """Whether the host's pkg-config knows a module."""
        program = shutil.which("pkg-config")
        return program is not None and subprocess.run([program, "--exists", module], check=False).returncode == 0

    def choose_modules(self):
        """The carried modules where the host lacks one that is needed."""
        lacking = [m for m in MODULES if m not in OPTIONAL and not self.host_has(m)]
        if self.carried and lacking:
            self.env["PKG_CONFIG"] = str(self.carried / "bin" / "pkg-config")
            self.env["LD_LIBRARY_PATH"] = str(self.carried / "lib")
        elif lacking:
            self.missing += [f"{m} ({', '.join(MODULES[m][0])})" for m in lacking]

    def describe(self):
        """A line for the log."""
        return (f"compiler {self.compiler}, meson {' '.join(self.meson or ['-'])}, ninja {' '.join(self.ninja or ['-'])}, "
                + ("headers and loader carried" if "PKG_CONFIG" in self.env else "headers and loader of the host"))


def environment(env, toolchain):
    """What the programs of the build need to run, too."""
    merged = dict(env)
    for name, value in toolchain.env.items():
        merged[name] = f"{value}:{merged[name]}" if name == "LD_LIBRARY_PATH" and merged.get(name) else value
    if toolchain.compiler and not shutil.which("cc") and "CC" not in merged:
        merged["CC"] = toolchain.compiler
    if toolchain.ninja:
        merged["NINJA"] = toolchain.ninja[0]
    return merged


def build(run, toolchain, folder):
    """Configures and builds the programs that measure; True where they are there."""
    setup = [*toolchain.meson, "setup", folder, ".", "--buildtype=release", "-Dopenblas=disabled",
             "-Donednn=disabled", "-Dexamples=false", "-Dbench=enabled"]
    if not (Path(folder) / "build.ninja").exists() and run.job("build/configure", setup) != "ok":
        return False
    run.state["jobs"].pop("build/programs", None)
    return run.job("build/programs", [*toolchain.ninja, "-C", folder, *PROGRAMS]) == "ok"


def identity(run):
    """Names the programs and the device of a measurement: the programs by what they are built from, so that those that
    another machine builds are the same; a build that was given by itself. The device by what it says of itself."""
    whole = hashlib.sha256()
    paths = [Path(run.build, name) for name in PROGRAMS]
    if not run.given_build:
        paths = sorted(p for folder in SOURCES for p in Path(folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    for path in paths:
        whole.update(str(path.relative_to(run.build) if run.given_build else path).encode() + path.read_bytes())
    return hashlib.sha256(whole.digest() + run.device.encode() + says_of_itself(run)).hexdigest()[:16]


def says_of_itself(run):
    """Name, driver and units of the device; what it can do is found out later. Its memory is left out: PoCL's follows what
    is free, and so differs from process to process."""
    try:
        listed = subprocess.run([run.tenon, "devices", "-v", "--device", run.device], capture_output=True, check=False, env=run.env,
                                stdin=subprocess.DEVNULL, timeout=60).stdout
    except subprocess.TimeoutExpired as cut:
        listed = cut.stdout or b""
    return re.sub(rb"[\d.]+ [KMGT]iB", b"", listed.partition(b"what it can do")[0])

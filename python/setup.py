"""Builds the wheel: Tenon's library by Meson, and what follows from its headers by generate.py.

TENON_SYSTEM_INCLUDE in the environment: a package of the system's, which uses the library that is installed; there is the
folder with the version.h of a build.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70
    from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))
OPTIONS = ["--buildtype=release", "-Ddefault_library=shared", "-Dclblast=disabled",
           "-Dtests=disabled", "-Dbench=disabled", "-Dtools=false", "-Dexamples=false",
           "-Djson=disabled"]


def version():
    text = (ROOT / "meson.build").read_text(encoding="utf-8")
    return re.search(r"version: '([\d.]+)'", text).group(1)


class BuildPackage(build_py):
    def run(self):
        super().run()
        from generate import generate
        package = Path(self.build_lib, "tenon")
        system_include = os.environ.get("TENON_SYSTEM_INCLUDE")
        generated = Path(system_include) if system_include else self.build_library(package)
        generate([ROOT / "include", generated], package)

    def build_library(self, package):
        """Puts the library into the package; returns the folder of the headers that its build has made."""
        folder = Path(self.get_finalized_command("build").build_temp).resolve() / "library"
        if not (folder / "build.ninja").exists():
            subprocess.run(["meson", "setup", folder, ROOT, *OPTIONS], check=True)
        subprocess.run(["meson", "compile", "-C", folder], check=True)
        shutil.copyfile(folder / "src" / "libtenon.so", package / "libtenon.so")
        return folder / "include"


class BuildWheel(bdist_wheel):
    """One wheel a platform, for every Python: cffi's ABI mode compiles nothing against it."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(version=version(), cmdclass={"build_py": BuildPackage, "bdist_wheel": BuildWheel})

#!/usr/bin/env python3
"""Builds and runs an application that has the Tenon tree as a Meson subproject.

    check.py --source . [--meson meson] -- cc
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def not_sources(folder, names):
    """What a checkout would not have: build folders, git's own, caches."""
    return [name for name in names
            if name in (".git", "out", "__pycache__") or (Path(folder, name) / "meson-private").is_dir()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", required=True)
    parser.add_argument("--meson", default="meson")
    parser.add_argument("compiler", nargs="+")
    args = parser.parse_args()
    environment = dict(os.environ, CC=" ".join(args.compiler))
    environment.pop("PKG_CONFIG_PATH", None)  # no installed Tenon may stand in for the subproject
    with tempfile.TemporaryDirectory(prefix="tenon-subproject-") as folder:
        project = Path(folder, "project")
        shutil.copytree(args.source, project / "subprojects" / "tenon", ignore=not_sources)
        shutil.copy(HERE / "meson.build", project)
        shutil.copy(HERE.parent / "consumer" / "main.c", project)
        meson = args.meson.split()
        subprocess.run([*meson, "setup", "build", "--force-fallback-for=tenon"],
                       cwd=project, env=environment, check=True)
        subprocess.run([*meson, "compile", "-C", "build"], cwd=project, env=environment, check=True)
        subprocess.run([str(project / "build" / "consumer")], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

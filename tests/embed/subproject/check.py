#!/usr/bin/env python3
"""Builds and runs applications that use Tenon as a Meson subproject, through a wrap of its archive.

    check.py --source . --cc cc [--cxx c++] [--meson meson]
"""
import hashlib
import os
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import installed as embed  # noqa: E402

HERE = Path(__file__).resolve().parent
WRAP = """[wrap-file]
directory = tenon
source_filename = tenon.tar
source_hash = {hash}

[provide]
dependency_names = tenon
"""


def is_source(path):
    """Excludes files that a checkout would not have: build folders, git's own files and caches."""
    return path.name not in (".git", "out", "__pycache__") and not (path / "meson-private").is_dir()


def archive(source, path):
    with tarfile.open(path, "w") as tar:
        tar.add(source, "tenon", filter=lambda entry: entry if is_source(
            Path(source, Path(entry.name).relative_to("tenon"))) else None)


def make_project(source, project):
    packages = project / "subprojects" / "packagefiles"
    packages.mkdir(parents=True)
    archive(source, packages / "tenon.tar")
    checksum = hashlib.sha256((packages / "tenon.tar").read_bytes()).hexdigest()
    (project / "subprojects" / "tenon.wrap").write_text(WRAP.format(hash=checksum), encoding="utf-8")
    for path in (HERE / "meson.build", *embed.SOURCES.values()):
        shutil.copy(path, project)


def main():
    args = embed.arguments(__doc__.splitlines()[0]).parse_args()
    environment = dict(os.environ, CC=args.cc, **({"CXX": args.cxx} if args.cxx else {}))
    environment.pop("PKG_CONFIG_PATH", None)  # an installed Tenon must not replace the subproject
    with tempfile.TemporaryDirectory(prefix="tenon-subproject-") as folder:
        project = Path(folder, "project")
        make_project(args.source, project)
        meson = args.meson.split()
        embed.run(*meson, "setup", "build", "--force-fallback-for=tenon", cwd=project, env=environment)
        embed.run(*meson, "compile", "-C", "build", cwd=project, env=environment)
        for language in embed.compilers(args):
            embed.try_program(project / "build" / f"consumer-{language}",
                              project / "build" / "subprojects" / "tenon" / "src", folder, args.cc.split())
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What Meson asks of pkg-config, answered from modules.json beside bin/ in a carried folder; other
modules are the host's own pkg-config's affair."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = json.loads((ROOT / "modules.json").read_text(encoding="utf-8"))


def host_s_own(arguments):
    """The next pkg-config on the path that is not this one."""
    for folder in os.environ.get("PATH", "").split(":"):
        program = shutil.which("pkg-config", path=folder)
        if program and Path(program).resolve() != Path(__file__).resolve():
            return subprocess.run([program, *arguments], check=False).returncode
    return 1


def main():
    """Answers one question."""
    options = [a for a in sys.argv[1:] if a.startswith("-")]
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    if "--version" in options:
        print("0.29.2")
        return 0
    if not names or names[0] not in MODULES:
        return host_s_own(sys.argv[1:])
    module, words = MODULES[names[0]], []
    if "--modversion" in options:
        words.append(module["version"])
    if "--cflags" in options:
        words.append(f"-I{ROOT}/include")
    if "--libs" in options and module["libraries"]:
        words += [f"-L{ROOT}/lib"] + [f"-l{name}" for name in module["libraries"]]
    if words or not any(o.startswith("--variable") for o in options):
        print(" ".join(words))
    return 0


if __name__ == "__main__":
    sys.exit(main())

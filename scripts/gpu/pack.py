"""Makes a folder with what a bare host lacks to build Tenon: Meson and Ninja, the OpenCL headers and a
loader, xxHash, Jansson, cmocka and CLBlast, as this machine has them."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import ptx
from jobs import write_json

# pkg-config's name: headers, and libraries to link with. xxHash is its header alone.
MODULES = {
    "OpenCL": (["CL"], ["OpenCL"]),
    "libxxhash": (["xxhash.h"], []),
    "jansson": (["jansson.h", "jansson_config.h"], ["jansson"]),
    "cmocka": (["cmocka.h", "cmocka_pbc.h", "cmocka_version.h"], ["cmocka"]),
    "clblast": (["clblast_c.h", "clblast_half.h", "clblast.h"], ["clblast"]),
}
OPTIONAL = {"clblast"}
VERSIONS = {"OpenCL": "3.0", "libxxhash": "0.8", "jansson": "2.14", "cmocka": "1.1.5", "clblast": "1.5"}


def output(*command):
    """What a command prints; "" where it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def header(name):
    """Where a header of the system's is, by asking the compiler; a folder by a file in it."""
    probe = name + "/cl.h" if name == "CL" else name
    made = subprocess.run(["cc", "-E", "-x", "c", "-"], input=f"#include <stddef.h>\n#include <stdarg.h>\n"
                          f"#include <stdint.h>\n#include <setjmp.h>\n#include <{probe}>\n",
                          capture_output=True, text=True, check=False).stdout
    for line in made.splitlines():
        parts = line.split('"')
        if line.startswith("# ") and len(parts) > 1 and parts[1].endswith("/" + probe):
            return Path(parts[1]).parent if name == "CL" else Path(parts[1])
    return None


def library(name):
    """The shared library that the linker takes for -lNAME."""
    path = output("cc", f"-print-file-name=lib{name}.so")
    return Path(path) if os.path.isabs(path) and os.path.exists(path) else None


def newest_symbols(paths):
    """The newest glibc that the libraries ask for: a host's must not be older."""
    wanted = set()
    for path in paths:
        for word in output("objdump", "-T", str(path)).replace("(", " ").replace(")", " ").split():
            if word.startswith("GLIBC_2."):
                wanted.add(tuple(int(n) for n in word[6:].split(".")))
    return ".".join(map(str, max(wanted))) if wanted else "unknown"


def add_modules(folder):
    """Copies headers and libraries; returns what there is and what is missing."""
    modules, missing = {}, []
    (folder / "include").mkdir()
    (folder / "lib").mkdir()
    for name, (headers, libraries) in MODULES.items():
        found = [(h, header(h)) for h in headers]
        linked = [(lib, library(lib)) for lib in libraries]
        essential = found[0][1] is not None and all(path for _, path in linked)
        if not essential:
            missing.append(name)
            continue
        for part, path in found:
            if path is not None and path.is_dir():
                shutil.copytree(path, folder / "include" / part)
            elif path is not None:
                shutil.copy(path, folder / "include" / part)
        for lib, path in linked:
            soname = next((line.split("[")[1].split("]")[0] for line in output("readelf", "-d", str(path)).splitlines()
                           if "SONAME" in line), path.name)
            shutil.copy(path.resolve(), folder / "lib" / soname)
            if soname != f"lib{lib}.so":
                (folder / "lib" / f"lib{lib}.so").symlink_to(soname)
        version = output("pkg-config", "--modversion", name) or VERSIONS[name]
        modules[name] = {"version": version, "libraries": libraries}
    return modules, missing


def from_registry(folder):
    """Meson and Ninja as wheels, through pip; False where that does not work."""
    with tempfile.TemporaryDirectory() as wheels:
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                               "-d", wheels, "meson>=1.2", "ninja"], check=False)
        if done.returncode != 0:
            return False
        for wheel in glob.glob(wheels + "/*.whl"):
            with zipfile.ZipFile(wheel) as packed:
                packed.extractall(wheels + "/unpacked")
        binary = glob.glob(wheels + "/unpacked/**/ninja", recursive=True)
        binary = [b for b in binary if os.path.isfile(b)]
        if not binary or not os.path.isdir(wheels + "/unpacked/mesonbuild"):
            return False
        shutil.copytree(wheels + "/unpacked/mesonbuild", folder / "meson" / "mesonbuild")
        shutil.copy(binary[0], folder / "bin" / "ninja")
    return True


def from_system(folder):
    """The same from what this machine has."""
    ninja = shutil.which("ninja")
    place = next((p for p in ("/usr/lib/python3/dist-packages/mesonbuild", "/usr/share/meson/mesonbuild")
                  if os.path.isdir(p)), None)
    if ninja is None or place is None:
        return False
    shutil.copytree(place, folder / "meson" / "mesonbuild", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ninja, folder / "bin" / "ninja")
    return True


def pack(folder):
    """Makes the folder anew; 0, or 1 where something is missing that a build cannot do without."""
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()) and not (folder / "modules.json").exists():
        print(f"run gpu --pack: {folder} is there and is no carried folder", file=sys.stderr)
        return 1
    drivers = folder / "drivers"
    kept = Path(tempfile.mkdtemp()) / "drivers"
    if drivers.is_dir():
        shutil.move(drivers, kept)
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("bin", "meson"):
        (folder / part).mkdir(parents=True)
    if kept.is_dir():
        shutil.move(kept, drivers)
    if not from_registry(folder) and not from_system(folder):
        print("run gpu --pack: neither pip nor this system has Meson and Ninja", file=sys.stderr)
        return 1
    (folder / "meson" / "meson.py").write_text(
        "#!/usr/bin/env python3\nimport os\nimport sys\n\n"
        "sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))\n"
        "from mesonbuild.mesonmain import main\n\nsys.exit(main())\n", encoding="utf-8")
    shutil.copy(Path(__file__).with_name("pkg_config.py"), folder / "bin" / "pkg-config")
    for program in (folder / "bin").iterdir():
        program.chmod(0o755)
    modules, missing = add_modules(folder)
    why = ptx.make(folder / "ptx")
    if why:
        print(f"run gpu --pack: no PTX is carried: {why}", file=sys.stderr)
    write_json(folder / "modules.json", modules)
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6
    glibc = newest_symbols(p for p in (folder / "lib").iterdir() if not p.is_symlink())
    print(f"{folder}: {size:.0f} MB, for {os.uname().machine} with glibc {glibc} or newer: "
          f"{', '.join(['meson', 'ninja', *modules])}")
    for name in missing:
        print(f"run gpu --pack: this machine lacks {name}" + (", which is left out" if name in OPTIONAL else ""),
              file=sys.stderr)
    return 1 if set(missing) - OPTIONAL else 0

"""Two more OpenCL implementations for this machine's CPU, beside those that are installed: Mesa's rusticl and Intel's runtime.

They are put into a folder, and only programs that run in the returned environment find them.
"""
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import debian

INSTALLED = Path("/etc/OpenCL/vendors")
LIBCLC = Path("/usr/lib/clc")  # where Mesa searches for the library of OpenCL C's functions


def intel(folder, log):
    """Returns the library of Intel's runtime for CPUs, from PyPI, or None."""
    python = folder / "bin" / "python3"
    if not python.exists() and subprocess.run([sys.executable, "-m", "venv", folder], stdout=log, stderr=log,
                                              check=False).returncode != 0:
        return None
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "intel-opencl-rt", "intel-cmplr-lib-rt"]
    if subprocess.run(pip, stdout=log, stderr=log, check=False).returncode != 0:
        return None
    return next(iter(sorted((folder / "lib").glob("libintelocl.so"))), None)


def install_libclc(folder, log):
    """Installs the libclc that belongs to the Mesa in the folder, if there is none and root may install it."""
    names = [path.name.split("_")[0] for path in folder.glob("cache/archives/libclc-*.deb") if "-dev" not in path.name]
    if LIBCLC.exists() or not names or os.geteuid() != 0:
        return
    subprocess.run(["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", "install", "-y", "--no-install-recommends", *names],
                   env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                   check=False)


def rusticl(folder, log):
    """Returns the library of Debian's rusticl, which is unpacked and not installed, or None."""
    if not shutil.which("dpkg"):
        return None
    architecture = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
    try:
        root = debian.unpacked(["mesa-opencl-icd"], architecture, folder, log)
    except debian.Unavailable:
        return None
    install_libclc(folder, log)
    return next(iter(sorted(root.glob(f"usr/lib/{platform.machine()}-*/libRusticlOpenCL.so.1"))), None)


def environment(folder, log):
    """Installs what is missing, and returns the environment and the names of what cannot be installed."""
    vendors = folder / "vendors"
    shutil.rmtree(vendors, ignore_errors=True)
    vendors.mkdir(parents=True)
    for path in INSTALLED.glob("*.icd"):
        shutil.copy(path, vendors)
    found = {"rusticl": rusticl(folder / "mesa", log), "Intel's runtime": intel(folder / "intel", log)}
    for name, library in found.items():
        if library:
            (vendors / f"tenon-{library.name}.icd").write_text(f"{library}\n")
    libraries = [str(library.parent) for library in found.values() if library]
    path = ":".join([*libraries, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
    more = {"OCL_ICD_VENDORS": str(vendors), "LD_LIBRARY_PATH": path, "RUSTICL_ENABLE": "llvmpipe",
            "RUSTICL_FEATURES": "fp16,fp64"}
    return {**os.environ, **more}, [name for name, library in found.items() if not library]

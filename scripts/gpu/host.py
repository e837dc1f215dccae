"""What the host has for OpenCL: the vendors' libraries, whether a loader would find them, and the
environment that makes it find them."""
import glob
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

# The library that a loader wants of each vendor, and what it needs beside it.
LIBRARIES = {
    "libnvidia-opencl.so.1": ("NVIDIA", ["libcuda.so.1", "libnvidia-nvvm.so.4", "libnvidia-ptxjitcompiler.so.1"]),
    "libamdocl64.so": ("AMD", ["libhsa-runtime64.so.1", "libamd_comgr.so.2", "libamd_comgr.so.3"]),
    "libigdrcl.so": ("Intel", ["libigdfcl.so.1", "libigdfcl.so.2", "libigc.so.1", "libigc.so.2"]),
    "libpocl.so.2": ("PoCL, a CPU", []),
}
FOLDERS = ["/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/lib64", "/usr/local/lib", "/usr/local/lib64",
           "/usr/lib/*-linux-gnu/nvidia/current", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib",
           "/usr/local/cuda*/lib64", "/usr/local/cuda*/compat", "/usr/lib/wsl/lib", "/run/opengl-driver/lib",
           "/opt/rocm*/lib", "/opt/rocm*/opencl/lib", "/opt/amdgpu*/lib/*", "/opt/intel/opencl/lib64",
           "/usr/lib/*-linux-gnu/intel-opencl", "/usr/lib/intel-opencl"]
VENDORS = "/etc/OpenCL/vendors"
# What says that a card is there, whatever the state of its driver.
SIGNS = {"NVIDIA": ["/proc/driver/nvidia/version", "/dev/nvidia0"], "AMD": ["/dev/kfd"], "Intel": ["/dev/dri/renderD128"]}


def known_to_linker():
    """Name and path of what ldconfig lists."""
    program = shutil.which("ldconfig") or "/sbin/ldconfig"
    try:
        listing = subprocess.run([program, "-p"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return {}
    known = {}
    for line in listing.splitlines():
        name, arrow, path = line.partition(" => ")
        if arrow:
            known.setdefault(name.split()[0], path.strip())
    return known


def folders(more=()):
    """Every folder in which a driver's library may be, those of the environment first."""
    listed = [p for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if p]
    for pattern in (*more, *FOLDERS):
        listed += sorted(glob.glob(str(pattern)), reverse=True)
    return [f for f in dict.fromkeys(listed) if os.path.isdir(f)]


def find(name, known, where):
    """The path of a library, or None."""
    for folder in where:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    return known.get(name)


def registered():
    """The registered libraries: .icd file and what it names."""
    entries = {}
    for path in sorted(glob.glob(VENDORS + "/*.icd")):
        try:
            text = Path(path).read_text(encoding="utf-8").strip()
        except OSError:
            continue
        entries[path] = text.splitlines()[0].strip() if text else ""
    return entries


def loads(path, environment):
    """Why a library cannot be loaded, or None. In a process of its own: it may end it."""
    test = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).clGetExtensionFunctionAddress"
    try:
        done = subprocess.run([sys.executable, "-c", test, path], capture_output=True, text=True, check=False,
                              env=environment, timeout=30)
    except subprocess.TimeoutExpired:
        return "loading it does not end"
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it ends the process"])[-1]


def python_packages():
    """Folders of libraries that Python packages bring (PyTorch's CUDA among them), not importing any."""
    found = []
    for name in ("nvidia", "torch"):
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            continue
        for root in (spec.submodule_search_locations or []) if spec else []:
            found += glob.glob(root + "/*/lib") + glob.glob(root + "/lib")
    return [f for f in found if glob.glob(f + "/*.so*")]


def environment_for(paths, out, base):
    """The environment in which a loader finds these libraries, and those that are registered."""
    env = dict(base)
    libraries = list(dict.fromkeys(os.path.dirname(p) for p in paths))
    peers = [f for f in folders() if glob.glob(f + "/libcublas.so*") or glob.glob(f + "/librocblas.so*")]
    joined = libraries + [p for p in env.get("LD_LIBRARY_PATH", "").split(":") if p] + peers + python_packages()
    if joined:
        env["LD_LIBRARY_PATH"] = ":".join(dict.fromkeys(joined))
    already = registered()
    names = {os.path.basename(text) for text in already.values()}
    unregistered = [p for p in paths if not {os.path.basename(p), os.path.basename(os.path.realpath(p))} & names]
    if unregistered and "OCL_ICD_VENDORS" not in env and "OCL_ICD_FILENAMES" not in env:
        folder = Path(out, "vendors")
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.icd"):
            old.unlink()
        lines = {os.path.basename(icd): text for icd, text in already.items()}
        lines.update({os.path.basename(p) + ".icd": p for p in unregistered})
        for icd, text in lines.items():
            Path(folder, icd).write_text(text + "\n", encoding="utf-8")
        env["OCL_ICD_VENDORS"] = str(folder.resolve())
    return env


def look(out, carried=None):
    """Returns the environment for programs, and a dict that says what was found."""
    where, known = folders([Path(carried, "drivers")] if carried else []), known_to_linker()
    found, missing = [], []
    for name, (vendor, companions) in LIBRARIES.items():
        path = find(name, known, where)
        signs = [s for s in SIGNS.get(vendor, []) if os.path.exists(s)]
        if path:
            found.append({"vendor": vendor, "library": path,
                          "beside": {c: find(c, known, where) for c in companions}})
        elif signs and vendor != "Intel":
            missing.append(f"{vendor}: {', '.join(signs)} is there, {name} is not: the OpenCL part of the driver is "
                           f"not installed (it may be put into {carried or 'the carried folder'}/drivers)")
    env = environment_for([f["library"] for f in found], out, os.environ)
    for entry in found:
        entry["fails"] = loads(entry["library"], env)
    facts = {"found": found, "missing": missing, "registered": registered(), "libcuda": find("libcuda.so.1", known, where),
             "environment": {k: env[k] for k in ("OCL_ICD_VENDORS", "LD_LIBRARY_PATH") if k in env},
             "signs": {v: [s for s in paths if os.path.exists(s)] for v, paths in SIGNS.items()}}
    return env, facts


def describe(facts):
    """The same in lines."""
    for entry in facts["found"]:
        yield f"{entry['vendor']}: {entry['library']}" + (f", which fails: {entry['fails']}" if entry["fails"] else "")
    for icd, library in facts["registered"].items():
        yield f"registered: {icd}: {library}"
    yield from facts["missing"]
    if facts.get("libcuda") and not any(f["vendor"] == "NVIDIA" and not f["fails"] for f in facts["found"]):
        yield f"CUDA's driver is there ({facts['libcuda']}), NVIDIA's OpenCL is not: kernels are loaded as PTX, without it"
    if not facts["found"] and not facts["registered"]:
        yield "no OpenCL driver was found: no vendor's library, and nothing under " + VENDORS
    if "OCL_ICD_VENDORS" in facts["environment"]:
        yield "OCL_ICD_VENDORS=" + facts["environment"]["OCL_ICD_VENDORS"] + ", since not all are registered"

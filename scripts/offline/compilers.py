"""Compiles kernels for GPUs without a GPU, using Debian packages and, if installed, NVIDIA's ptxas."""
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from offline import loops, output, stores
from offline.machines import BY_NAME, MACHINES  # noqa: F401

LLVM_VERSIONS = range(30, 18, -1)
CLC = Path("/usr/lib/clc")
AMD_LIBRARIES = ["amdgcn-amd-amdhsa.bc", "amdgcn--amdhsa.bc"]
NVIDIA_LIBRARIES = ["nvptx64--nvidiacl.bc"]
SECONDS = 300  # time limit of a compiler for one program
# Path of the ptxas that ./run check-kernels downloads for targets that the CUDA toolkit's no longer supports.
OWN_PTXAS = Path(__file__).resolve().parents[2] / "build" / "offline" / "ptxas"
# A driver that compiles for sm_90: Tenon edits kernels with marks, and they are assembled for sm_90a.
EDITED, MARKS = "sm_90_edited", "-DTENON_PTX_EDIT=1"
# Message of ptxas when it serializes asynchronous products.
SERIALIZED = re.compile(r"^.*wgmma\.mma_async instructions are serialized.*$", re.M)


class Failure(Exception):
    """A compiler rejected a program; the text is the compiler's message."""


def find(*names):
    folders = [os.environ.get("PATH", ""), "/usr/local/cuda/bin", "/usr/lib/nvidia-cuda-toolkit/bin"]
    for name in names:
        if path := shutil.which(name, path=":".join(folders)):
            return path
    return None


def library(names):
    return next((str(CLC / name) for name in names if (CLC / name).is_file()), None)


def run(arguments, **options):
    try:
        return subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=SECONDS,
                              errors="replace", **options)
    except subprocess.TimeoutExpired:
        raise Failure(f"{Path(arguments[0]).name} took more than {SECONDS} s") from None


def said(done):
    text = (done.stderr + done.stdout).strip()
    return text or f"exit status {done.returncode} without a message"


def known_by_ptxas():
    """Returns {machine: a ptxas that supports it}."""
    tools = {}
    for tool in filter(None, (find("ptxas"), shutil.which(str(OWN_PTXAS)))):
        for name in re.findall(r"'(sm_\w+)'", run([tool, "--help"]).stdout):
            tools.setdefault(name, tool)
    return tools


def known_by_clang(clang):
    """Returns the AMD and NVIDIA targets that this clang supports."""
    texts = [said(run([clang, f"--target={target}", "--print-supported-cpus"]))
             for target in ("nvptx64", "amdgcn")]
    return set(re.findall(r"^\s+((?:sm_|gfx)\w+)", "\n".join(texts), re.M))


# clang emits the body of each kernel also as a separate external function that is not inlined. Left as is, it would be
# compiled twice, and its argument struct copied through memory.
BODY = re.compile(r"^define (?!.*\b(?:ptx_kernel|amdgpu_kernel|spir_kernel)\b)"
                  r"(?:(?:dso_local|hidden|protected|internal|private|linkonce_odr|weak) )*", re.M)
NOINLINE = re.compile(r"^(attributes #\d+ = \{.*?) noinline\b", re.M)
OF_KERNEL = re.compile(r"^(define internal .*@__clang_ocl_kern_imp_\w+\(.*\))(?= #\d+)", re.M)


def inline_bodies(ir):
    internal = BODY.sub("define internal ", ir)
    return OF_KERNEL.sub(r"\1 alwaysinline", NOINLINE.sub(r"\1", internal))


def real_name(machine):
    """Returns the compilers' name of a machine; the machine with edited PTX is compiled for sm_90."""
    return "sm_90" if machine.name == EDITED else machine.name


class Compilers:
    """The installed compilers; `absent` gives the reason for each vendor whose kernels cannot be compiled."""

    def __init__(self, tenon="build/tools/tenon"):
        self.tenon = tenon
        self.clang = find(*(f"clang-{version}" for version in LLVM_VERSIONS))
        self.ocloc, self.spirv_val = find("ocloc"), find("spirv-val")
        self.readelf = find(*(f"llvm-readelf-{version}" for version in LLVM_VERSIONS), "readelf")
        self.libraries = {"amd": library(AMD_LIBRARIES), "nvidia": library(NVIDIA_LIBRARIES)}
        self.absent = {}
        if self.clang is None:
            self.absent.update(dict.fromkeys(("amd", "nvidia", "spirv"), "no clang-19 or newer"))
        for vendor, path in self.libraries.items():
            if path is None:
                self.absent.setdefault(vendor, f"no libclc for it in {CLC}")
        if self.ocloc is None:
            self.absent["intel"] = "no ocloc"
        if self.spirv_val is None:
            self.absent.setdefault("spirv", "no spirv-val")
        self.folder = tempfile.TemporaryDirectory(prefix="check-kernels-")

    @functools.cached_property
    def ptxas(self):
        """Returns {machine: ptxas}; empty if there is none."""
        return known_by_ptxas()

    @functools.cached_property
    def processors(self):
        return known_by_clang(self.clang)

    def close(self):
        self.folder.cleanup()

    def version(self, vendor):
        """Returns the identity of the compilers for which a cached result is valid."""
        tools = {"nvidia": [self.clang, *sorted(set(self.ptxas.values()))], "amd": [self.clang], "intel": [self.ocloc],
                 "spirv": [self.clang, self.spirv_val]}[vendor]
        parts = [f"{tool} {os.stat(os.path.realpath(tool)).st_mtime_ns}" for tool in tools if tool]
        here = Path(__file__).parent
        for name in ("compilers.py", "machines.py", "output.py", "loops.py", "stores.py", "libdevice.cl"):
            parts.append(hashlib.sha256((here / name).read_bytes()).hexdigest())
        if vendor == "nvidia":
            edit = here.parents[1] / "src" / "runtime" / "program" / "ptx_edit.c"
            parts.append(hashlib.sha256(edit.read_bytes()).hexdigest())
        return " ".join(parts)

    def knows(self, machine):
        """Returns whether the installed compilers support this target."""
        name = real_name(machine)
        if machine.vendor not in ("nvidia", "amd"):
            return True
        return name in self.processors and (machine.vendor == "amd" or not self.ptxas or name in self.ptxas)

    def stand_in(self, machine):
        """Returns the machine for which kernels are compiled: the nearest one if the compilers do not support this one."""
        while machine.nearest and not self.knows(machine):
            machine = BY_NAME[machine.nearest]
        return machine

    def compile(self, machine, source, options):
        """Compiles a program; returns the measures of each kernel. Raises Failure."""
        machine = self.stand_in(machine)
        with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
            path = Path(folder, "k.cl")
            path.write_bytes(source)
            return getattr(self, machine.vendor)(machine, path, options.split())

    def back_end(self, path, target, language, built_in=(), defines=()):
        """Compiles OpenCL C to the assembly of a target; `target` are the arguments of both steps."""
        first = run([self.clang, "-x", "cl", "-O3", *target, *language, *defines, "-w", "-S",
                     "-emit-llvm", "-Xclang", "-disable-llvm-passes",
                     *(part for bitcode in built_in
                       for part in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", bitcode)),
                     str(path), "-o", str(path.with_suffix(".ll"))])
        if first.returncode != 0:
            raise Failure(said(first))
        ir = path.with_suffix(".ll")
        ir.write_text(inline_bodies(ir.read_text(encoding="utf-8")), encoding="utf-8")
        assembly = path.with_suffix(".s")
        second = run([self.clang, "-x", "ir", "-O3", *target, "-w", "-S", str(ir), "-o", str(assembly)])
        if second.returncode != 0:
            raise Failure(said(second))
        return assembly

    def amd(self, machine, path, options):
        target = ["-nogpulib", "-target", "amdgcn-amd-amdhsa", f"-mcpu={machine.name}"]
        assembly = self.back_end(path, target, options, [self.libraries["amd"]])
        text = assembly.read_text(encoding="utf-8")
        if unresolved := output.amd_unresolved(text):
            raise Failure("unresolved: " + ", ".join(unresolved))
        return self.with_loops(output.amd(text), text, machine)

    @staticmethod
    def ptx_target(machine):
        return ["-nogpulib", "-target", "nvptx64-unknown-nvidiacl", "-Xclang", "-target-cpu", "-Xclang",
                real_name(machine), "-Xclang", "-target-feature", "-Xclang", "+" + machine.ptx]

    def ptx(self, machine, path, options):
        """Compiles a source to a PTX file without unresolved functions. Raises Failure."""
        target = self.ptx_target(machine)
        language = [*options, "-fgnu-keywords", "-Xclang", "-cl-ext=+cl_khr_fp16,+cl_khr_fp64"]
        assembly = self.back_end(path, target, language, [self.libraries["nvidia"], self.libdevice()])
        if unresolved := output.ptx_unresolved(assembly.read_text(encoding="utf-8")):
            raise Failure("unresolved: " + ", ".join(unresolved))
        return assembly

    def nvidia(self, machine, path, options):
        self.without_half(path, self.ptx_target(machine), options)
        assembly = self.ptx(machine, path, options)
        name = real_name(machine)
        if MARKS in options:
            name, assembly = "sm_90a", self.edited(assembly, options)
        ptx = assembly.read_text(encoding="utf-8")
        if not self.ptxas:
            return self.with_loops({kernel: {} for kernel in re.findall(r"\.entry (\w+)", ptx)}, ptx, machine)
        done = run([self.ptxas.get(name, next(iter(self.ptxas.values()))), f"-arch={name}", "-v", str(assembly), "-o",
                    str(path.with_suffix(".cubin"))])
        if done.returncode != 0:
            raise Failure(said(done))
        if serialized := SERIALIZED.search(said(done)):
            raise Failure(serialized[0])
        return self.with_loops(output.ptxas(done.stderr + done.stdout), ptx, machine)

    def edited(self, assembly, options):
        """Returns a driver's PTX as edited by Tenon."""
        done = run([self.tenon, "kernels", "--edit-ptx", str(assembly), "--options", " ".join(options)])
        if done.returncode != 0:
            raise Failure(said(done))
        edited = assembly.with_suffix(".edited.s")
        edited.write_text(done.stdout, encoding="utf-8")
        return edited

    def without_half(self, path, target, options):
        """Checks that a kernel compiles without half arithmetic and GNU keywords, which NVIDIA's OpenCL does not have."""
        done = run([self.clang, "-x", "cl", *target, *options, "-Xclang", "-cl-ext=-cl_khr_fp16,+cl_khr_fp64",
                    "-w", "-fsyntax-only", str(path)])
        if done.returncode != 0:
            raise Failure("without cl_khr_fp16: " + said(done))

    @staticmethod
    def with_loops(kernels, text, machine):
        for kernel, loop in loops.main_loops(text, machine).items():
            if kernel in kernels:
                kernels[kernel]["loop"] = loop
        if machine.vendor == "nvidia":
            for kernel, lines in loops.functions(text, loops.FUNCTION["nvidia"]):
                if kernel in kernels and (store := stores.widest_store(lines)):
                    kernels[kernel]["store"] = store
        return kernels

    def libdevice(self):
        """Returns the bitcode of libdevice.cl, compiled once."""
        made = Path(self.folder.name, "libdevice.bc")
        if not made.exists():
            mine = made.with_suffix(f".{os.getpid()}.{id(made)}")
            done = run([self.clang, "-x", "cl", "-cl-std=CL1.2", "-O3", "-w", "-nogpulib", "-target",
                        "nvptx64-unknown-nvidiacl", "-emit-llvm", "-c",
                        str(Path(__file__).parent / "libdevice.cl"), "-o", str(mine)])
            if done.returncode != 0:
                raise Failure(said(done))
            mine.rename(made)
        return str(made)

    def intel(self, machine, path, options):
        binary = path.with_suffix(".bin")
        done = run([self.ocloc, "compile", "-file", str(path), "-device", machine.name, "-options",
                    " ".join(options), "-output_no_suffix", "-output", str(binary)], cwd=path.parent)
        if done.returncode != 0 or not binary.exists():
            raise Failure(said(done))
        text = ""
        if self.readelf is not None:
            text = run([self.readelf, "--string-dump=.ze_info", str(binary)]).stdout
        made = binary.read_bytes()
        if unresolved := output.intel_unresolved(made):
            raise Failure("unresolved: " + ", ".join(unresolved))
        return output.intel(made, text, done.stderr + done.stdout)

    def spirv(self, machine, path, options):
        made = path.with_suffix(".spv")
        # Generic pointers are optional in OpenCL 3.0; Intel's drivers have them.
        generic = []
        if "-cl-std=CL3.0" in options:
            generic = ["-Xclang", "-cl-ext=+__opencl_c_generic_address_space"]
        # LLVM's vector-combine creates vectors of one element. Its SPIR-V back end writes them unchanged, but SPIR-V
        # does not have them.
        generic += ["-mllvm", "-disable-vector-combine"]
        done = run([self.clang, "-x", "cl", "-O2", "-w", *options, *generic,
                    "-target", "spirv64-unknown-unknown", "-c", str(path), "-o", str(made)])
        if done.returncode == 0:
            done = run([self.spirv_val, "--target-env", "spv1.4", str(made)])
        if done.returncode != 0:
            raise Failure(said(done))
        return {name: {} for name in output.spirv_kernels(made.read_bytes())}

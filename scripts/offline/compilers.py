"""Compiles kernels for GPUs that are not there, with what Debian packages and, where it is installed,
the ptxas of the CUDA toolkit."""
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from offline import loops, output, stores

LLVM_VERSIONS = range(30, 18, -1)
CLC = Path("/usr/lib/clc")
AMD_LIBRARIES = ["amdgcn-amd-amdhsa.bc", "amdgcn--amdhsa.bc"]
NVIDIA_LIBRARIES = ["nvptx64--nvidiacl.bc"]
SECONDS = 300  # a compiler may take for one program
PTX = {"sm_75": "ptx63", "sm_80": "ptx70", "sm_86": "ptx71", "sm_89": "ptx78", "sm_90": "ptx78",
       "sm_90a": "ptx80", "sm_100": "ptx86"}
# A driver that compiles for sm_90: what has marks in it is edited by Tenon, and assembled for sm_90a.
EDITED, MARKS = "sm_90_edited", "-DTENON_PTX_MARKS=1"
# What ptxas says where it gives up that products run while the next are issued.
SERIALIZED = re.compile(r"^.*wgmma\.mma_async instructions are serialized.*$", re.M)


@dataclass(frozen=True)
class Machine:
    """What a compiler compiles for, and whose kernels that is to try."""
    name: str
    vendor: str
    target: str  # as `tenon kernels` names it
    also: str = ""  # options that Tenon adds on such a device, and of which the target knows nothing
    differs: bool = True  # compiles products and convolutions of its own, even if another has them, too


MACHINES = [
    # ptxas gives sm_89 the registers of sm_86, and sm_90a those of sm_90.
    *(Machine(name, "nvidia", name, differs=name != "sm_89")
      for name in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100")),
    Machine("sm_90a", "nvidia", "sm_90a", differs=False),
    Machine(EDITED, "nvidia", EDITED, differs=False),
    *(Machine(name, "amd", name)
      for name in ("gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")),
    Machine("tgllp", "intel", "xe_lp"),
    Machine("dg2", "intel", "xe_hpg"),
    Machine("pvc", "intel", "xe_hpc"),
    # The safe defaults: as SPIR-V, and for the GPUs of each vendor that get them.
    Machine("spirv64", "spirv", "other"),
    *(Machine(name, "spirv", name) for name in ("adreno", "mali", "powervr")),
    Machine("gfx900", "amd", "other"),
    Machine("skl", "intel", "other", "-DTENON_SUB_GROUP=8"),
]


class Failure(Exception):
    """What a compiler said of a program that it did not take."""


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
    return text or f"exit status {done.returncode} without a word"


# The body of each kernel stands in a function of its own for other kernels to call, external and not
# to be inlined: it would be compiled twice, and its struct of arguments copied through memory.
BODY = re.compile(r"^define (?!.*\b(?:ptx_kernel|amdgpu_kernel|spir_kernel)\b)"
                  r"(?:(?:dso_local|hidden|protected|internal|private|linkonce_odr|weak) )*", re.M)
NOINLINE = re.compile(r"^(attributes #\d+ = \{.*?) noinline\b", re.M)
OF_KERNEL = re.compile(r"^(define internal .*@__clang_ocl_kern_imp_\w+\(.*\))(?= #\d+)", re.M)


def inline_bodies(ir):
    internal = BODY.sub("define internal ", ir)
    return OF_KERNEL.sub(r"\1 alwaysinline", NOINLINE.sub(r"\1", internal))


class Compilers:
    """The compilers there are; `absent` says of a vendor why its kernels cannot be compiled."""

    def __init__(self, tenon="build/tools/tenon"):
        self.tenon = tenon
        self.clang = find(*(f"clang-{version}" for version in LLVM_VERSIONS))
        self.ptxas, self.ocloc, self.spirv_val = find("ptxas"), find("ocloc"), find("spirv-val")
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

    def close(self):
        self.folder.cleanup()

    def version(self, vendor):
        """What a cached result holds for."""
        tools = {"nvidia": [self.clang, self.ptxas], "amd": [self.clang], "intel": [self.ocloc],
                 "spirv": [self.clang, self.spirv_val]}[vendor]
        parts = [f"{tool} {os.stat(os.path.realpath(tool)).st_mtime_ns}" for tool in tools if tool]
        here = Path(__file__).parent
        for name in ("compilers.py", "output.py", "loops.py", "stores.py", "libdevice.cl"):
            parts.append(hashlib.sha256((here / name).read_bytes()).hexdigest())
        if vendor == "nvidia":
            edit = here.parents[1] / "src" / "runtime" / "ptx_edit.c"
            parts.append(hashlib.sha256(edit.read_bytes()).hexdigest())
        return " ".join(parts)

    def compile(self, machine, source, options):
        """The measures of each kernel of the program. Raises Failure."""
        with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
            path = Path(folder, "k.cl")
            path.write_bytes(source)
            return getattr(self, machine.vendor)(machine, path, options.split())

    def back_end(self, path, target, language, built_in=(), defines=()):
        """OpenCL C to the assembly of a target: `target` are the arguments that both steps share."""
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
        name = "sm_90" if machine.name == EDITED else machine.name
        return ["-nogpulib", "-target", "nvptx64-unknown-nvidiacl", "-Xclang", "-target-cpu", "-Xclang",
                name, "-Xclang", "-target-feature", "-Xclang", "+" + PTX[name]]

    def ptx(self, machine, path, options):
        """The file with the PTX of a source, which has nothing unresolved. Raises Failure."""
        target = self.ptx_target(machine)
        language = [*options, "-fgnu-keywords", "-Xclang", "-cl-ext=+cl_khr_fp16,+cl_khr_fp64"]
        assembly = self.back_end(path, target, language, [self.libraries["nvidia"], self.libdevice()])
        if unresolved := output.ptx_unresolved(assembly.read_text(encoding="utf-8")):
            raise Failure("unresolved: " + ", ".join(unresolved))
        return assembly

    def nvidia(self, machine, path, options):
        self.without_half(path, self.ptx_target(machine), options)
        assembly = self.ptx(machine, path, options)
        name = "sm_90" if machine.name == EDITED else machine.name
        if MARKS in options:
            name, assembly = "sm_90a", self.edited(assembly, options)
        ptx = assembly.read_text(encoding="utf-8")
        if self.ptxas is None:
            return self.with_loops({kernel: {} for kernel in re.findall(r"\.entry (\w+)", ptx)}, ptx, machine)
        done = run([self.ptxas, f"-arch={name}", "-v", str(assembly), "-o",
                    str(path.with_suffix(".cubin"))])
        if done.returncode != 0:
            raise Failure(said(done))
        if serialized := SERIALIZED.search(said(done)):
            raise Failure(serialized[0])
        return self.with_loops(output.ptxas(done.stderr + done.stdout), ptx, machine)

    def edited(self, assembly, options):
        """What Tenon makes of a driver's PTX."""
        done = run([self.tenon, "kernels", "--edit-ptx", str(assembly), "--options", " ".join(options)])
        if done.returncode != 0:
            raise Failure(said(done))
        edited = assembly.with_suffix(".edited.s")
        edited.write_text(done.stdout, encoding="utf-8")
        return edited

    def without_half(self, path, target, options):
        """NVIDIA's OpenCL has no half arithmetic, and no GNU keywords."""
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
        """The bitcode of libdevice.cl, made once."""
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
        # What OpenCL 3.0 leaves to drivers, and Intel's have: pointers are generic then.
        generic = []
        if "-cl-std=CL3.0" in options:
            generic = ["-Xclang", "-cl-ext=+__opencl_c_generic_address_space"]
        # LLVM's vector-combine makes vectors of one element, which its SPIR-V back end writes as they are, and
        # SPIR-V does not have.
        generic += ["-mllvm", "-disable-vector-combine"]
        done = run([self.clang, "-x", "cl", "-O2", "-w", *options, *generic,
                    "-target", "spirv64-unknown-unknown", "-c", str(path), "-o", str(made)])
        if done.returncode == 0:
            done = run([self.spirv_val, "--target-env", "spv1.4", str(made)])
        if done.returncode != 0:
            raise Failure(said(done))
        return {name: {} for name in output.spirv_kernels(made.read_bytes())}

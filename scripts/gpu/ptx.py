"""The kernels that measure a card, as PTX: for a host whose NVIDIA driver has no OpenCL."""
import shutil
import tempfile
from pathlib import Path

from figures import MACHINES, Compilers, Failure

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "bench" / "kernels"
UNIT = "-DTENON_UNIT={unit} -DTENON_UNIT_TYPE={type} -DTENON_EMULATE=0"
# Name, source, the oldest target that has the instructions, options. A driver compiles PTX of an older target for a newer
# card, but for those that end with an a. The numbers of units and types are those of matrix/layout.h.
PROGRAMS = [("memory", "ceilings", "sm_75", ""),
            *((f"mma-{name}", "matrix_peak", "sm_80", UNIT.format(unit=1, type=number))
              for number, name in enumerate(("f16", "bf16", "tf32", "i8"), 1)),
            *((f"wgmma-{name}", "wgmma_peak", "sm_90a", UNIT.format(unit=7, type=number))
              for number, name in enumerate(("f16", "bf16", "tf32", "i8"), 1))]


def make(folder):
    """Writes NAME.TARGET.ptx for each. Returns why not, where there is no compiler for it."""
    compilers = Compilers()
    try:
        if "nvidia" in compilers.absent:
            return compilers.absent["nvidia"]
        shutil.rmtree(folder, ignore_errors=True)
        Path(folder).mkdir(parents=True)
        with tempfile.TemporaryDirectory() as work:
            for name, source, target, options in PROGRAMS:
                path = Path(work, "k.cl")
                path.write_bytes((KERNELS / (source + ".cl")).read_bytes())
                machine = next(m for m in MACHINES if m.name == target)
                made = compilers.ptx(machine, path, ["-cl-std=CL1.2", f"-I{ROOT}/cl_kernels", *options.split()])
                text = made.read_text(encoding="utf-8").replace(", texmode_independent", "")
                Path(folder, f"{name}.{target}.ptx").write_text(text, encoding="utf-8")
    except Failure as failure:
        return str(failure)
    finally:
        compilers.close()
    return None


def target_of(path):
    """The compute capability times 10 that a file is for, and whether for that alone."""
    target = Path(path).suffixes[-2].removeprefix(".sm_")
    return int(target.rstrip("a")), target.endswith("a")

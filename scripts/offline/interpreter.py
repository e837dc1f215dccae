"""Runs `tenon` on a simulated NVIDIA GPU: the preloaded driver of tests/ptx compiles the kernels to PTX with clang and
interprets the PTX."""
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from offline.compilers import Compilers

ROOT = Path(__file__).resolve().parent.parent.parent
DRIVER = ROOT / "build/tests/ptx/libptx_driver.so"
SECONDS = 300  # time limit of a call


@dataclass(frozen=True)
class Edit:
    """An edit of programs that contain `kernel`, in their "source" or their "ptx"."""
    where: str
    kernel: str
    pattern: str
    replacement: str


@dataclass(frozen=True)
class Outcome:
    code: int
    text: str  # output of tenon and the interpreter
    launches: tuple  # one dictionary each


class Interpreter:
    def __init__(self, tenon=ROOT / "build/tools/tenon", cache=ROOT / "build/kernel-cache/ptx", seed=1,
                 local_memory=48 << 10):
        self.tenon, self.cache, self.seed, self.local_memory = tenon, Path(cache).resolve(), seed, local_memory
        self.cache.mkdir(parents=True, exist_ok=True)
        compilers = Compilers()
        self.absent = compilers.absent.get("nvidia")  # reason why nothing can be compiled
        self.version = "" if self.absent else compilers.version("nvidia")
        compilers.close()

    def environment(self, target, **more):
        """Returns the environment of a process with the simulated device."""
        compiler = f"{sys.executable} {ROOT / 'scripts/offline/compile_ptx.py'}"
        return dict(os.environ, LD_PRELOAD=str(DRIVER), PTX_DEVICE=target, PTX_COMPILER=compiler,
                    PTX_CACHE=str(self.cache), PTX_COMPILERS=self.version, PTX_SEED=str(self.seed),
                    PTX_LOCAL_MEMORY=str(self.local_memory), TENON_CACHE="0", TENON_TUNE="0", **more)

    def run(self, target, words, edit=None):
        """Runs `tenon` with these arguments until it ends."""
        with tempfile.TemporaryDirectory(prefix="interpreter-") as folder:
            report = Path(folder, "report")
            more = {"PTX_REPORT": str(report)}
            if edit is not None:
                path = Path(folder, "edit")
                path.write_text(json.dumps([edit.where, edit.kernel, edit.pattern, edit.replacement]),
                                encoding="utf-8")
                more.update(PTX_EDIT=str(path), PTX_EDIT_KERNEL=f"{edit.kernel}(")
            try:
                done = subprocess.run([str(self.tenon), *words], env=self.environment(target, **more),
                                      capture_output=True, text=True, check=False, timeout=SECONDS,
                                      errors="replace")
                code, text = done.returncode, done.stdout + done.stderr
            except subprocess.TimeoutExpired:
                code, text = 124, f"took more than {SECONDS} s"
            lines = report.read_text(encoding="utf-8").splitlines() if report.exists() else []
        return Outcome(code, text.strip(), tuple(json.loads(line) for line in lines))

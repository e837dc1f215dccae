#!/usr/bin/env python3
"""./run gpu: tests and measures Tenon on the GPU of this machine, and packs the results into one archive.

    ./run gpu [--device SELECTOR] [--minutes N] [--parts A,B] [--out FOLDER] [--archive FILE] [--build FOLDER]

It reports the capabilities of the GPU, tests the results, and compares the speed with other libraries. It installs nothing,
and uses the installed compiler, Meson and drivers. See docs/gpu.md.
"""
import argparse
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OK, FAILED, CUT, SKIPPED = "ok", "failed", "out of time", "skipped"

# The OpenCL library of each vendor, and the folders where drivers and containers install it.
LIBRARIES = {"libnvidia-opencl.so.1": "NVIDIA", "libamdocl64.so": "AMD", "libigdrcl.so": "Intel", "libpocl.so.2": "PoCL"}
FOLDERS = ["/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib", "/usr/local/nvidia/lib64", "/usr/local/cuda*/compat",
           "/usr/lib/*-linux-gnu/nvidia/current", "/usr/lib/wsl/lib", "/run/opengl-driver/lib", "/opt/rocm*/lib", "/opt/rocm*/opencl/lib",
           "/opt/amdgpu*/lib/*", "/opt/intel/opencl/lib64", "/usr/lib/*-linux-gnu/intel-opencl", "/usr/lib/intel-opencl"]
# Files that exist if a GPU is present, whatever the state of its driver.
SIGNS = {"NVIDIA": ["/proc/driver/nvidia/version", "/dev/nvidia0"], "AMD": ["/dev/kfd"], "Intel": ["/dev/dri/renderD128"]}
REGISTERED = "/etc/OpenCL/vendors"

# Suite, type, seconds of each case.
BENCHES = [("gemm-gpu", "f32", 0.2), ("gemm-gpu", "f16", 0.2), ("conv-gpu", "f32", 0.2), ("conv-gpu", "f16", 0.2),
           ("bandwidth-gpu", "f32", 0.1), ("gemm-gpu", "bf16", 0.2), ("gemm-gpu", "i8", 0.2), ("activation", "f32", 0.1),
           ("start", "f32", 0.2)]
PEERS = "clblast,cublas,cudnn,rocblas,tenon-f32"
# Solvers that take long to compile run in separate processes; the other families share one.
LONG = ["gemm", "conv", "gemm_int8", "conv_backward_data", "conv_backward_filter", "conv_transpose", "gemm_packed", "gemm_ragged"]
# Weights of the parts; each may use its share of the remaining time.
WEIGHTS = {"host": 1, "build": 30, "device": 10, "ceilings": 10, "selftest": 60, "programs": 20, "bench": 80, "tune": 40, "tests": 60}


def parse():
    """Parses the command line."""
    parser = argparse.ArgumentParser(prog="run gpu", description=__doc__.split("\n\n", 1)[0],
                                     epilog="parts: " + " ".join(WEIGHTS) + "; exit status: 0 all done, 1 a failure, 2 wrong "
                                     "usage, 3 time limit reached")
    parser.add_argument("--device", default="gpu", help="a device as in `tenon devices` (gpu)")
    parser.add_argument("--minutes", type=float, default=8, help="time limit of the whole run (8)")
    parser.add_argument("--parts", default=",".join(WEIGHTS), help="the parts to run, separated by commas; host and build always run")
    parser.add_argument("--out", default="build-gpu/out", help="the folder of the results (build-gpu/out)")
    parser.add_argument("--archive", help="the archive (OUT.tar.gz)")
    parser.add_argument("--build", help="an existing build folder, instead of build-gpu/tree")
    parser.add_argument("--filter", help="only solvers and cases whose name contains this text; no tests and no tuning")
    options = parser.parse_args()
    options.parts = [name for name in options.parts.split(",") if name]
    for name in options.parts:
        if name not in WEIGHTS:
            parser.error(f"unknown part {name}; the parts are {' '.join(WEIGHTS)}")
    if options.minutes <= 0:
        parser.error("--minutes must be above 0")
    options.archive = options.archive or options.out.rstrip("/") + ".tar.gz"
    return options


def read_json(path):
    """Returns the JSON value of a file, or an empty dict."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


class Run:
    """The output folder, the result of each step, and the remaining time."""

    def __init__(self, options, env):
        self.options, self.env = options, env
        self.out = Path(options.out)
        shutil.rmtree(self.out, ignore_errors=True)
        (self.out / "logs").mkdir(parents=True)
        self.end = self.part_end = time.monotonic() + 60 * options.minutes
        self.folder = options.build or "build-gpu/tree"
        self.bench, self.tenon = (str(Path(self.folder, name).resolve()) for name in ("bench/tenon-bench", "tools/tenon"))
        self.steps = {}
        self.is_interrupted = False

    def interrupt(self, *_):
        """Handles Ctrl-C and SIGTERM by ending the remaining time."""
        self.is_interrupted = True

    def left(self):
        """Returns the remaining seconds of the part."""
        return 0 if self.is_interrupted else self.part_end - time.monotonic()

    def note(self, name, status, why="", seconds=0.0):
        """Records and prints the result of a step."""
        self.steps[name] = {"status": status, "why": why, "seconds": round(seconds, 1)}
        print(f"  {name}: {status}" + (f" ({why})" if why else "") + (f", {seconds:.1f} s" if seconds else ""), flush=True)
        return status == OK

    def start(self, name, command, env=None):
        """Starts a command with its output in the step's log."""
        with open(self.log(name), "wb") as log:
            return subprocess.Popen([str(word) for word in command], stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                    cwd=ROOT, env={**self.env, **(env or {})}, start_new_session=True)

    def log(self, name):
        """Returns the path of a step's log."""
        return self.out / "logs" / (name.replace("/", "-") + ".log")

    def text(self, name):
        """Returns the output of a step."""
        try:
            return self.log(name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def steps_at_once(self, commands, count=1, env=None):
        """Runs (name, command) pairs, `count` at once, each within the remaining time of the part."""
        waiting, running = list(commands), {}
        try:
            while waiting or running:
                while waiting and len(running) < count:
                    name, command = waiting.pop(0)
                    if self.left() <= 0:
                        self.note(name, CUT)
                        continue
                    try:
                        running[name] = self.start(name, command, env), time.monotonic()
                    except OSError as error:
                        self.note(name, FAILED, str(error))
                for name, (process, began) in list(running.items()):
                    if process.poll() is None and self.left() > 0:
                        continue
                    del running[name]
                    self.close(name, process, time.monotonic() - began)
                time.sleep(0.02)
        finally:
            for process, _ in running.values():
                stop(process)

    def close(self, name, process, seconds):
        """Records how a process ended; ends the process if its time is over."""
        if process.poll() is None:
            stop(process)
            self.note(name, CUT, "", seconds)
        elif process.returncode == 0:
            self.note(name, OK, "", seconds)
        else:
            code = process.returncode
            last = (self.text(name).strip().splitlines() or [""])[-1]
            self.note(name, FAILED, f"signal {-code}" if code < 0 else f"exit status {code}: {last[:120]}", seconds)

    def step(self, name, command, env=None):
        """Runs one command; returns whether it succeeded."""
        self.steps_at_once([(name, command)], env=env)
        return self.steps[name]["status"] == OK


def stop(process):
    """Ends a process and its children with SIGTERM, and after five seconds with SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(5)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def find_drivers():
    """Returns the paths of the installed OpenCL libraries by vendor."""
    found = {}
    for library, vendor in LIBRARIES.items():
        paths = [path for pattern in FOLDERS for path in sorted(glob.glob(f"{pattern}/{library}"), reverse=True)]
        if paths:
            found[vendor] = paths[0]
    return found


def environment_for(drivers, out):
    """Returns an environment in which the OpenCL loader finds the registered drivers and the other installed ones."""
    env = dict(os.environ, PYTHONUNBUFFERED="1")
    registered = {}
    for path in sorted(glob.glob(REGISTERED + "/*.icd")):
        lines = Path(path).read_text(encoding="utf-8").split()
        registered[Path(path).name] = lines[0] if lines else ""
    known = {Path(name).name for name in registered.values()}
    known |= {Path(name).resolve().name for name in registered.values()}
    more = {vendor: path for vendor, path in drivers.items() if not {Path(path).name, Path(path).resolve().name} & known}
    if more and "OCL_ICD_VENDORS" not in env:
        folder = Path(out).resolve().parent / "vendors"
        folder.mkdir(parents=True, exist_ok=True)
        for name, library in [*registered.items(), *((vendor.lower() + "-found.icd", path) for vendor, path in more.items())]:
            (folder / name).write_text(library + "\n", encoding="utf-8")
        env["OCL_ICD_VENDORS"] = str(folder)
        folders = [str(Path(path).parent) for path in more.values()] + [env.get("LD_LIBRARY_PATH", "")]
        env["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))
    return env


def host(run):
    """Lists the drivers, and records the output of the vendors' programs."""
    drivers = find_drivers()
    for vendor, path in drivers.items():
        print(f"  {vendor}: {path}")
    missing = [vendor for vendor, signs in SIGNS.items() if vendor not in drivers and any(map(os.path.exists, signs))]
    for vendor in missing:
        print(f"  {vendor}: there is a GPU, but its OpenCL library is missing: install the OpenCL part of its driver")
    registered = glob.glob(REGISTERED + "/*.icd") if "OCL_ICD_VENDORS" not in os.environ else [os.environ["OCL_ICD_VENDORS"]]
    for command in (["nvidia-smi", "-q"], ["rocm-smi", "--showallinfo"], ["clinfo"]):
        if shutil.which(command[0]):
            run.part_end = min(run.end, time.monotonic() + 20)
            run.step("host/" + command[0], command)
            run.steps["host/" + command[0]]["status"] = OK  # they fail if there is no GPU of their vendor
    return run.note("host/drivers", OK if drivers or registered else FAILED, "" if drivers or registered else "no OpenCL driver was found")


def build(run):
    """Builds the programs for testing and measuring."""
    if run.options.build:
        there = Path(run.bench).exists() and Path(run.tenon).exists()
        return run.note("build/programs", OK if there else FAILED, "" if there else f"{run.folder} has no tools/tenon and bench/tenon-bench")
    missing = [program for program in ("cc", "meson", "ninja") if not shutil.which(program)]
    if missing:
        return run.note("build/programs", FAILED, "missing: " + ", ".join(missing))
    if not Path(ROOT, run.folder, "build.ninja").exists() and not run.step(
            "build/configure", ["meson", "setup", run.folder, ".", "--buildtype=release", "-Dexamples=false", "-Dbench=enabled",
                                "-Dopenblas=disabled", "-Donednn=disabled"]):
        return False
    return run.step("build/programs", ["ninja", "-C", run.folder, "bench/tenon-bench", "tools/tenon"])


def device(run):
    """Records the properties of the device, and each capability with its reason."""
    return run.step("device/capabilities", [run.tenon, "devices", "-v", "--device", run.options.device])


def ceilings(run):
    """Measures the limits of memory, arithmetic and matrix units."""
    only = ["--filter", run.options.filter] if run.options.filter else []
    return run.step("ceilings/all", [run.bench, "ceilings", "--device", run.options.device, "--json", run.out / "ceilings.json", *only])


def with_own_store(run, part):
    """Returns an environment in which a part has a persistent store of its own. A process that is ended in the middle of a
    check bars its solver in the store, and would spoil the measurements of other parts."""
    return {"TENON_CACHE_DIR": str((run.out / f"{part}-store").resolve())}


def selftest(run):
    """Compares every solver of every operation with its reference."""
    listed = subprocess.run([run.bench, "solvers"], capture_output=True, text=True, check=False, env=run.env)
    families = {}
    for name in json.loads(listed.stdout or "{}"):
        if run.options.filter is None or run.options.filter in name:
            families.setdefault(name.partition("/")[0], []).append(name)
    commands = []
    for family, names in sorted(families.items(), key=lambda item: (item[0] not in LONG, item[0])):
        for group in [[name] for name in names] if family in LONG else [names]:
            label = group[0] if len(group) == 1 else family
            commands.append((f"selftest/{label.replace('/', '-')}", [run.tenon, "selftest", "--device", run.options.device,
                                                                     "--solver", ",".join(group)]))
    env = with_own_store(run, "selftest")
    run.steps_at_once(commands, len(os.sched_getaffinity(0)), env)
    shutil.rmtree(env["TENON_CACHE_DIR"], ignore_errors=True)


def programs(run):
    """Builds the programs of the suites in several processes, and saves the compiler's reports: registers, stack, warnings.
    The driver's cache keeps the programs for the part after it."""
    if run.options.filter:
        run.note("programs/all", SKIPPED, "with --filter")
        return
    count = len(os.sched_getaffinity(0))
    command = [run.bench, "build", "--device", run.options.device, "--suite", "gemm-gpu,conv-gpu,bandwidth-gpu", "--dtype", "f32,f16"]
    env = with_own_store(run, "programs")
    run.steps_at_once([(f"programs/{part}", [*command, "--part", f"{part}/{count}", "--json", run.out / f"programs-{part}.json"])
                       for part in range(1, count + 1)], count, env)
    shutil.rmtree(env["TENON_CACHE_DIR"], ignore_errors=True)


def bench(run):
    """Runs the suites, alternately with the available peers."""
    (run.out / "bench").mkdir()
    whole, end = run.part_end - time.monotonic(), run.part_end
    benches = [("gemm", "f32", 0.02)] if run.options.filter else BENCHES
    only = ["--filter", run.options.filter] if run.options.filter else []
    for number, (suite, dtype, seconds) in enumerate(benches):
        run.part_end = min(end, time.monotonic() + (end - time.monotonic()) * 2 / (len(benches) - number + 1)) if whole > 0 else end
        run.step(f"bench/{suite}-{dtype}", [run.bench, "run", "--device", run.options.device, "--suite", suite, "--dtype", dtype, "--time",
                                          seconds, "--peers", PEERS, "--json", run.out / "bench" / f"{suite}-{dtype}.json", *only])


def tune(run):
    """Tunes the parameters of products and convolutions, and writes a file for scripts/device_table.py."""
    if run.options.filter:
        run.note("tune/all", SKIPPED, "with --filter")
        return
    env = with_own_store(run, "tune")
    seconds = str(max(1, int(run.left() * 0.9)))
    run.step("tune/all", [run.tenon, "tune", "--device", run.options.device, "--suite", "gemm-gpu,conv-gpu", "--time", seconds], env)
    run.part_end = max(run.part_end, time.monotonic() + 20)
    run.step("tune/export", [run.tenon, "tune", "--device", run.options.device, "--export", run.out / "tuned.json"], env)
    if run.steps["tune/all"]["why"].startswith("exit status 1") and (run.out / "tuned.json").exists():
        run.steps["tune/all"]["status"] = CUT  # its own time limit
    shutil.rmtree(env["TENON_CACHE_DIR"], ignore_errors=True)


def tests(run):
    """Runs all tests of operations on the device."""
    if run.options.build or run.options.filter:
        run.note("tests/all", SKIPPED, "with --filter or --build")
    elif run.step("tests/build", ["ninja", "-C", run.folder]):
        env = with_own_store(run, "tests")
        run.step("tests/all", ["meson", "test", "-C", run.folder, "--no-rebuild", "--suite", "unit", "--suite", "ops"],
                 {"TENON_DEVICE": run.options.device, **env})
        shutil.rmtree(env["TENON_CACHE_DIR"], ignore_errors=True)
        log = Path(ROOT, run.folder, "meson-logs", "testlog.txt")
        if log.exists():
            shutil.copy(log, run.out / "tests.txt")


PARTS = [host, build, device, ceilings, selftest, programs, bench, tune, tests]


def table(heads, rows):
    """Returns the lines of a Markdown table."""
    return ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def right_or_wrong(run):
    """Returns the counts of the self-test, and the lines that repeat failures."""
    verdicts = {"right": 0, "WRONG": 0, "-": 0}
    repeats = []
    for name in run.steps:
        if name.startswith("selftest/"):
            for verdict in re.findall(r"^(right|WRONG|-)\s+\S", run.text(name), re.M):
                verdicts[verdict] += 1
        repeats += [f"`{line.strip()}`" for line in re.findall(r"^\s*(tenon check [^\n]*)", run.text(name), re.M)]
    lines = [f"Self-test: {verdicts['right']} solvers correct, {verdicts['WRONG']} wrong, {verdicts['-']} not supported by this device.", ""]
    counts = re.search(r"^Ok:\s+(\d+).*?^Fail:\s+(\d+)", run.text("tests/all"), re.M | re.S)
    if counts:
        lines += [f"Tests: {counts[1]} passed, {counts[2]} failed.", ""]
    return lines + [f"- {line}" for line in dict.fromkeys(repeats)] + [""] * bool(repeats)


def speeds(run):
    """Returns the measured cases: Tenon's time, and each peer's time as a multiple of it."""
    rows = []
    for path in sorted((run.out / "bench").glob("*.json")):
        for result in read_json(path).get("results", []):
            own = result["median_ns"]
            peers = ", ".join(f"{name} {peer['median_ns'] / own:.2f}" for name, peer in result["peers"].items())
            rows.append((result["suite"], result["case"], result["dtype"], f"{own / 1000:.1f}", peers or "none"))
    if not rows:
        return ["Nothing was measured.", ""]
    return table(["suite", "case", "type", "µs", "peers' time / Tenon's"], rows)


def report(run):
    """Writes REPORT.md and report.json."""
    limits = [(limit.get("name", ""), limit.get("value", ""), limit.get("unit", ""))
              for limit in read_json(run.out / "ceilings.json").get("ceilings", [])]
    capabilities = run.text("device/capabilities")
    lines = ["# Tenon on this GPU", "", time.strftime("%Y-%m-%d") + f", device `{run.options.device}`", "",
             "## Capabilities", "", "```", capabilities.strip() or "no answer", "```", ""]
    lines += table(["limit", "value", "unit"], limits) if limits else []
    lines += ["## Correctness", "", *right_or_wrong(run), "## Speed compared with other libraries", "", *speeds(run)]
    lines += ["## Failures", ""]
    lines += [f"- {name}: {step['status']}" + (f", {step['why']}" if step["why"] else "")
              for name, step in run.steps.items() if step["status"] in (FAILED, CUT)] or ["None."]
    (run.out / "REPORT.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (run.out / "report.json").write_text(json.dumps(run.steps, indent=1) + "\n", encoding="utf-8")


def pack(run):
    """Writes the archive under a temporary name and renames it, so that it is always complete."""
    report(run)
    beside = Path(run.options.archive + ".new")
    beside.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(beside, "w:gz") as archive:
        archive.add(run.out, "gpu")
    beside.replace(run.options.archive)


def run_parts(run):
    """Runs the selected parts, each within its share of the remaining time."""
    wanted = [part for part in PARTS if part.__name__ in (*run.options.parts, "host", "build")]
    for number, part in enumerate(wanted):
        weights = [WEIGHTS[later.__name__] for later in wanted[number:]]
        share = 1 if part in (host, build) else weights[0] / sum(weights)
        run.part_end = time.monotonic() + max(0.0, run.end - time.monotonic()) * share
        print(f"{part.__name__}:", flush=True)
        done = part(run)
        pack(run)
        if part in (host, build) and not done:
            return


def main():
    """Returns the exit status."""
    options = parse()
    os.chdir(ROOT)
    run = Run(options, environment_for(find_drivers(), options.out))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, run.interrupt)
    run_parts(run)
    if run.is_interrupted:
        print("interrupted; the measurements so far are kept")
        run.note("run/all", CUT, "interrupted")
    pack(run)
    statuses = {step["status"] for step in run.steps.values()}
    print(f"all results: {options.archive}; summary: {run.out / 'REPORT.md'}")
    return 1 if FAILED in statuses else 3 if CUT in statuses else 0


if __name__ == "__main__":
    sys.exit(main())

"""What is asked of a device, in the order of what is worth most when time runs out."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import building
import cuda_stage
import report
import selftests
import sweep as sweeping
from jobs import FAILED, NO_TIME, OK, SKIPPED, read_json, read_lines, write_json

HERE = Path(__file__).parent
# How the names of cards' vendors begin.
VENDORS = {"nvidia": ("NVIDIA",), "amd": ("Advanced Micro Devices", "AMD"), "intel": ("Intel",)}
# Programs that tell of cards and drivers; they are slow where a driver is, and fail without a card.
TELLERS = [("nvidia-smi", ["-q"]), ("rocm-smi", ["--showallinfo"]), ("clinfo", [])]
# Parts of the budget; what a stage leaves goes to those after it.
SHARES = {"host": 1, "build": 90, "cuda": 15, "facts": 35, "ceilings": 20, "selftest": 60, "ahead": 40, "bench": 150,
          "sweep": 70, "torch": 40, "tests": 80}
WITHOUT_OPENCL = {"host", "build", "cuda"}
# What `tenon-bench questions` knows, each asked by a process of its own: some may end it.
QUESTIONS = ["local-array", "local-argument", "groups", "argument-stack", "assembler", "target", "edited-ptx"]
# Suite, type, weight, seconds a case.
BENCHES = [("gemm-gpu", "f32", 16, 0.3), ("gemm-gpu", "f16", 16, 0.3), ("conv-gpu", "f32", 22, 0.2),
           ("conv-gpu", "f16", 22, 0.2), ("bandwidth-gpu", "f32", 14, 0.15), ("gemm-gpu", "bf16", 12, 0.2),
           ("gemm-gpu", "i8", 10, 0.2), ("gemm", "f32", 14, 0.15), ("conv", "f32", 14, 0.15),
           ("activation", "f32", 8, 0.1), ("start", "f32", 6, 0.2), ("bandwidth-gpu", "f16", 8, 0.1)]
QUICK_BENCHES = [("gemm", "f32", 4, 0.02, "64x64x64"), ("bandwidth-cpu", "f32", 4, 0.02, "copy 64 Ki"), ("start", "f32", 2, 0.02, "a plan")]


def host(run):
    """What was found before anything is built."""
    write_json(run.out / "host.json", run.host)
    lines = list(run.describe_host)
    for line in lines:
        print("  " + line)
    usable = [f for f in run.host["found"] if not f["fails"]] or run.host["registered"]
    broken = [f for f in run.host["found"] if f["fails"]]
    run.note("host/drivers", "ok" if usable else FAILED, why="" if usable else "no OpenCL driver that can be loaded"
             + ("; libcuda is there, which the stage cuda asks" if run.host.get("libcuda") else ""))
    if broken and not usable:
        print("  a driver's library is there and cannot be loaded: see the reasons above")
    run.stage_end = run.end
    for program, arguments in TELLERS:
        if shutil.which(program):
            run.job("host/" + program, [program, *arguments], limit=min(20, run.left() / 10), optional=True)


def build(run):
    """The programs that measure; test programs are built when their turn comes."""
    run.stage_end = run.end
    if run.given_build:
        run.note("build/programs", "ok", why="given")
        return
    print("  " + run.toolchain.describe())
    if run.toolchain.missing:
        run.note("build/programs", FAILED, why="missing: " + ", ".join(run.toolchain.missing)
                 + "; ./run gpu --pack FOLDER on a machine that has them carries them")
        return
    building.build(run, run.toolchain, run.build)


def facts(run):
    """First the layouts of matrix units, then what the device is and can do, then what nobody knows of it yet."""
    there = [] if run.quick else sorted(glob.glob(f"{run.build}/tests/*/test_matrix*"))
    tests = [t for t in there if os.access(t, os.X_OK) and os.path.isfile(t)]
    jobs = [("facts/devices", 10, [run.tenon, "devices", "-v", "--device", run.device], [])]
    jobs += [("facts/device", 20, [run.bench, "facts", "--device", run.device, "--json", run.out / "facts.json",
                                    *(["--filter", "softmax"] if run.quick else [])],
              [run.out / "facts.json"])]
    # Built with everything else in the stage of tests, and at once where they are what matters first.
    if not run.given_build and not run.quick:
        names = sorted(p.stem for p in Path("tests").glob("*/test_matrix*.c"))
        targets = [f"{p.parent}/{p.stem}" for p in sorted(Path("tests").glob("*/test_matrix*.c"))]
        if names and run.job("facts/build", [*run.toolchain.ninja, "-C", run.build, *targets]) in ("ok", "skipped"):
            tests = [f"{run.build}/{t}" for t in targets]
    env = {"TENON_DEVICE": run.device, "TENON_SOURCE_ROOT": os.getcwd()}
    for test in tests:
        run.job("facts/" + Path(test).name, [test], limit=run.left() / 2, env=env)
    # NVIDIA's compiler says nothing of registers where its cache has the kernel.
    run.env["CUDA_CACHE_DISABLE"] = "1"
    run.jobs(jobs)
    questions(run)
    del run.env["CUDA_CACHE_DISABLE"]


def questions(run):
    """The answers in questions.json. A question that ends its process, or hangs, is an answer, too: whoever asks the
    driver so gets that."""
    answers = {}
    for name in QUESTIONS:
        path = run.out / "questions" / (name + ".json")
        path.parent.mkdir(exist_ok=True)
        status = run.job("questions/" + name, [run.bench, "questions", "--device", run.device, "--filter", name, "--json", path],
                         limit=min(30, run.left() / 2), needs=[path], optional=True)
        answers.update((read_json(path) or {}).get("questions", {}))
        # Kept after each answer: the file has what came before the one that ended the process.
        if status == SKIPPED and run.status("questions/" + name) != OK:
            job = run.state["jobs"]["questions/" + name]
            answers.setdefault(name, []).append({"what": "the rest", "works": False, "why": "the program did not end well: "
                                                 + job["why"]})
    write_json(run.out / "questions.json", answers)


def ceilings(run):
    """What the card gives at most."""
    path = run.out / "ceilings.json"
    run.job("ceilings/all", [run.bench, "ceilings", "--device", run.device, "--json", path], needs=[path])


def selftest(run):
    """Every solver of every operation, side by side; the families that the benches use first."""
    selftests.run_all(run)


def ahead(run):
    """What the benches will run, built and checked by a process for each processor: from Tenon's store and the driver's
    cache the timed programs have it. Failures are theirs to tell."""
    suites = {}
    for suite, dtype, *_ in QUICK_BENCHES if run.quick else BENCHES:
        suites.setdefault(dtype, []).append(suite)
    parts = 1 if run.quick else selftests.on_device(run)
    text = ["--filter", QUICK_BENCHES[0][4]] if run.quick else []
    # Lies where the driver keeps what it has compiled: an archive that had no room for that has no mark either.
    mark = run.out / "cache" / "driver" / "tenon-ahead"
    run.side_by_side([(f"ahead/{dtype}-{i + 1}", [run.bench, "build", "--device", run.device, "--suite", ",".join(named), "--dtype",
                                                 dtype, "--part", f"{i + 1}/{parts}", *text], [mark])
                      for i in range(parts) for dtype, named in suites.items()], parts, optional=True)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()


def bench(run):
    """The suites, beside CLBlast, on NVIDIA's cards cuBLAS and cuDNN, and on AMD's rocBLAS."""
    jobs = []
    for suite, dtype, weight, seconds, *text in QUICK_BENCHES if run.quick else BENCHES:
        path = run.out / "bench" / f"{suite}-{dtype}.json"
        path.parent.mkdir(exist_ok=True)
        command = [run.bench, "run", "--device", run.device, "--suite", suite, "--dtype", dtype, "--time", str(seconds),
                   "--peers", "none" if run.quick else "clblast,cublas,cudnn,rocblas,tenon-f32", "--json", path]
        jobs.append((f"bench/{suite}-{dtype}", weight, command + (["--filter", text[0]] if text else []), [path]))
    run.jobs(jobs)


def sweep(run):
    """The parameters of the main kernels."""
    solvers = selftests.solvers_of(run, "sweep")
    if solvers is None:
        return
    sweeping.sweep(run, run.bench, solvers, sweeping.QUICK if run.quick else sweeping.SEARCHES)


def python_with(module):
    """An interpreter that has a module, without importing it."""
    probe = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)"
    for program in (os.environ.get(f"TENON_{module.upper()}_PYTHON"), sys.executable, "python3", "/usr/bin/python3",
                    *glob.glob("/opt/*/bin/python3"), *glob.glob("/opt/*/*/bin/python3"), *glob.glob("/opt/*/.venv/bin/python3")):
        path = shutil.which(program) if program else None
        if path and subprocess.run([path, "-c", probe], capture_output=True, check=False).returncode == 0:
            return path
    return None


def vendor_of(device):
    """Whose card it is, by what OpenCL calls the vendor; None for a CPU, and for others. The processors' own names
    (GenuineIntel, AuthenticAMD) are not those of cards."""
    text = device.get("vendor", "")
    return next((vendor for vendor, names in VENDORS.items() if text.startswith(names)), None)


def torch(run):
    """The same shapes by PyTorch and, on Intel's cards, by oneMKL, where those are installed."""
    vendor = vendor_of(report.device_of(run.out))
    peers = [("torch/peer", "torch", "torch_peer.py", "torch.json", [vendor] if vendor else [], 2)]
    if vendor == "intel":
        peers.append(("torch/onemkl", "dpnp", "onemkl_peer.py", "onemkl.json", [], 1))
    jobs = []
    for key, module, script, name, more, weight in peers:
        python = None if run.quick else python_with(module)
        if python is None:
            run.note(key, "skipped", why="quick" if run.quick else f"no Python here has {module}")
            continue
        path = run.out / name
        jobs.append((key, weight, [python, HERE / script, run.out / "torch-cases.json", path, *more], [path]))
    if not jobs:
        return
    listed = subprocess.run([run.bench, "list"], capture_output=True, text=True, check=False, env=run.env).stdout
    cases = [line.split(None, 1) for line in listed.splitlines() if re.match(r"(gemm|conv)-gpu ", line)]
    write_json(run.out / "torch-cases.json", [{"suite": s, "case": c, "dtypes": ["f32", "f16", "bf16"]} for s, c in cases])
    # They bring their own libraries: nothing of the search path for peers must come before them.
    run.jobs(jobs, env={"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")})


def keep_tests(path, log):
    """Adds a log of Meson's to what earlier runs found; of a test the latest counts, unless it was cut."""
    found = {test["name"]: test for test in read_lines(path)}
    found.update({test["name"]: test for test in read_lines(log) if test["result"] != "INTERRUPT"})
    path.write_text("".join(json.dumps(test) + "\n" for test in found.values()), encoding="utf-8")


def tests(run):
    """All tests on the device; those that failed, with the lines that repeat them."""
    if run.quick:
        run.note("tests/all", "skipped", why="quick")
        return
    if not run.given_build and run.job("tests/build", [*run.toolchain.ninja, "-C", run.build]) not in ("ok", "skipped"):
        return
    path, log, meson = run.out / "tests.jsonl", Path(run.build, "meson-logs", "gpu.json"), run.toolchain.meson or ["meson"]
    if run.state.get("tests_of") != run.state["identity"] or run.status("tests/all") is None:
        path.unlink(missing_ok=True)
    run.state["tests_of"] = run.state["identity"]
    right = {test["name"].split(" / ")[-1] for test in read_lines(path) if test["result"] in ("OK", "SKIP")}
    listed = subprocess.run([*meson, "introspect", "--tests", run.build], capture_output=True, text=True, check=False, env=run.env)
    known = json.loads(listed.stdout) if listed.returncode == 0 else []
    names = [t["name"] for t in known if {"tenon:ops", "tenon:unit", "ops", "unit"} & set(t["suite"]) and t["name"] not in right]
    log.unlink(missing_ok=True)
    run.job("tests/all", [*meson, "test", "-C", run.build, "--no-rebuild", "--logbase", "gpu", "--num-processes",
                          str(selftests.on_device(run)), *names],
            env={"TENON_DEVICE": run.device})
    keep_tests(path, log)


def cuda(run):
    """NVIDIA's driver without OpenCL: the same PTX."""
    cuda_stage.ask(run)


ORDER = [host, build, cuda, facts, ceilings, selftest, ahead, bench, sweep, torch, tests]


def can_go_on(run):
    """Whether what follows has programs and a driver; whether it has only CUDA's is said."""
    built, driver = run.status("build/programs") == OK, run.status("host/drivers") != FAILED
    if built and driver:
        run.adopt(building.identity(run))
        return True
    print("without " + ("a driver" if built else "the programs") + " there is nothing to measure by OpenCL")
    return False


def run_all(run, wanted):
    """The stages that are asked for, each within its part of what is left."""
    names = [s.__name__ for s in ORDER]
    for stage in ORDER:
        name = stage.__name__
        if name not in wanted:
            continue
        later = sum(SHARES[n] for n in names[names.index(name):] if n in wanted)
        left = run.end - run.now()
        run.stage_end = run.now() + max(0.0, left) * SHARES[name] / later
        print(f"{name}: {max(0, run.left()):.0f} s", flush=True)
        if run.left() < 1 and name not in ("host", "build"):
            run.note(f"{name}/all", NO_TIME)
            continue
        stage(run)
        if name == "build":
            wanted = wanted if can_go_on(run) else [w for w in wanted if w in WITHOUT_OPENCL]
        run.kept()

"""Searches the parameters of a solver for the fastest on a shape: the values that its defaults have,
neighbours of the best so far, and a few drawn at random; always the same ones. Candidates are built by a process for
each processor; of those that build, the ones that look best by their registers and the device model are timed."""
import random
import re

import figures
import selftests
from jobs import read_json, write_json

# A search: suite, part of a case's name, type, solver. The solver's own table says which parameters
# there are; one that this build lacks is left out.
SEARCHES = [
    ("gemm-gpu", "square 4096x4096x4096", "f32", "gemm/tiled"),
    ("gemm-gpu", "square 4096x4096x4096", "f16", "gemm/mma"),
    ("gemm-gpu", "square 4096x4096x4096", "f16", "gemm/wgmma"),
    ("gemm-gpu", "square 4096x4096x4096", "f16", "gemm/mfma"),
    ("gemm-gpu", "square 4096x4096x4096", "f16", "gemm/wmma"),
    ("gemm-gpu", "square 4096x4096x4096", "f16", "gemm/xmx"),
    ("gemm-gpu", "square 4096x4096x4096", "f16", "gemm/tiled"),
    ("conv-gpu", "resnet50 256@14 k256 3x3 n32", "f32", "conv/implicit_tiled"),
    ("conv-gpu", "resnet50 256@14 k256 3x3 n32", "f16", "conv/implicit_matrix"),
    ("gemm-gpu", "long sum 128x128x65536", "f32", "gemm/split_k"),
    ("gemm-gpu", "rows 16x4096x4096", "f32", "gemm/skinny"),
    ("gemm-gpu", "square 4096x4096x4096", "i8", "gemm_int8/mma"),
    ("gemm-gpu", "square 4096x4096x4096", "i8", "gemm_int8/tiled"),
    ("gemm-gpu", "square 1024x1024x1024", "f32", "gemm/tiled"),
]
QUICK = [("bandwidth-cpu", "copy 64 Ki", "f32", "copy/rows")]
# Programs take some seconds to start and a kernel one to compile: so many are timed at once, of so many times as many
# that are built.
BATCH = 6
BUILT = 3
# Seconds of a search: rather a few of them whole than each begun.
LEAST = 25
# Parameters that say how a solver is served, not how fast: they stay as the default has them.
KEPT = {"em"}


def values_of(low, high):
    """What a parameter may be in a search: powers of two, and all of a short range."""
    if high - low <= 4:
        return list(range(low, high + 1))
    powers = [1 << i for i in range(12) if low <= 1 << i <= high]
    return powers or [low, high]


def name_of(solver, values):
    """A solver's name with its parameters."""
    return solver + ":" + ",".join(f"{k}{v}" for k, v in values.items())


def parse(name):
    """The parameters that a solver's full name has."""
    return {k: int(v) for k, v in re.findall(r"([a-z]+)(\d+)", name.partition(":")[2])}


class Search:
    """One solver on one shape."""

    def __init__(self, parameters, solver, seed=1):
        self.solver = solver
        self.ranges = {k: values_of(*v) for k, v in parameters.items()}
        self.random = random.Random(seed)
        self.tried = set()
        self.best = None

    def neighbours(self, values):
        """One step up or down in each parameter."""
        for key, allowed in self.ranges.items():
            if values.get(key) not in allowed or key in KEPT:
                continue
            at = allowed.index(values[key])
            for other in (at - 1, at + 1):
                if 0 <= other < len(allowed):
                    yield {**values, key: allowed[other]}

    def at_random(self):
        """Any values; what the solver's constraints rule out costs nothing but the asking."""
        kept = {k: v for k, v in (self.best or {}).items() if k in KEPT}
        return {**{k: self.random.choice(v) for k, v in self.ranges.items()}, **kept}

    def batch(self, count):
        """The next names to try."""
        wanted = list(self.neighbours(self.best)) if self.best else []
        self.random.shuffle(wanted)
        # Two parameters at once, since a block and its part for a work-item often go together.
        pairs = [other for one in wanted for other in self.neighbours(one)]
        self.random.shuffle(pairs)
        wanted += pairs[:count]
        wanted += [self.at_random() for _ in range(4 * count)]
        names = []
        for values in wanted:
            name = name_of(self.solver, values)
            if name not in self.tried and len(names) < count:
                self.tried.add(name)
                names.append(name)
        return names


def measure(run, key, bench, search, names):
    """Times the names on the search's case; returns results, the fastest first."""
    suite, case, dtype, _ = search
    path = run.out / "sweep" / (key.replace("/", "-") + ".json")
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    run.job(key, [bench, "run", "--device", run.device, "--suite", suite, "--filter", case, "--dtype", dtype, "--peers",
                  "none", "--time", "0.1", "--solver", " ".join(names), "--json", path], limit=60, needs=[path])
    results = (read_json(path) or {}).get("results", [])
    return sorted(results, key=lambda r: r["median_ns"])


def build(run, key, bench, search, names):
    """Has the names built and checked, dealt out among the processors. What is known of each by name: the model's time
    and its kernels' registers, or why it cannot be."""
    suite, case, dtype, _ = search
    count = max(1, min(selftests.on_device(run), len(names)))
    paths = [run.out / "sweep" / f"{key.replace('/', '-')}-built-{i}.json" for i in range(count)]
    paths[0].parent.mkdir(exist_ok=True)
    for path in paths:
        path.unlink(missing_ok=True)
    run.side_by_side([(f"{key}-built-{i}", [bench, "build", "--device", run.device, "--suite", suite, "--filter", case, "--dtype",
                                            dtype, "--solver", " ".join(names[i::count]), "--json", path], [path])
                      for i, path in enumerate(paths)], count, optional=True)
    built = {}
    for path in paths:
        document = read_json(path) or {}
        for one_built in document.get("built", []):
            built[one_built["asked"]] = {**one_built, "kind": document.get("kind")}
        path.unlink(missing_ok=True)
    return built


def one(run, number, bench, search, parameters, end):
    """A search until its time is over; what it found."""
    solver = search[3]
    finding = Search(parameters, solver)
    results, known = measure(run, f"sweep/{number}-0", bench, search, [solver]), {}
    default = results[0] if results else None
    finding.best = parse(default["solver"]) if default else None
    batch, longest = 0, 6
    while end() > longest * 1.3 and parameters and results:
        batch, began = batch + 1, end()
        names = finding.batch(BUILT * BATCH)
        if not names:
            break
        built = build(run, f"sweep/{number}-{batch}", bench, search, names)
        known.update(built)
        chosen = figures.best(built, BATCH)
        if chosen:
            results += measure(run, f"sweep/{number}-{batch}", bench, search, chosen)
        longest = max(longest, began - end())
        results.sort(key=lambda r: r["median_ns"])
        finding.best = parse(results[0]["solver"])
    return {"suite": search[0], "case": search[1], "dtype": search[2], "solver": solver, "tried": len(finding.tried),
            "timed": len(results), "default": default, "best": results[0] if results else None, "results": results,
            "built": list(known.values())}


def sweep(run, bench, solvers, searches):
    """Each search has its part of the stage's time; the findings so far are kept after each."""
    path = run.out / "sweep.json"
    findings = read_json(path, []) or []
    done = {(f["suite"], f["case"], f["dtype"], f["solver"]) for f in findings if f.get("complete")}
    todo = [s for s in searches if s[3] in solvers and s not in done]
    for number, search in enumerate(todo):
        until = min(run.left(), max(run.left() / (len(todo) - number), LEAST))
        if until < 6:
            run.note("sweep/rest", "no time", why=f"{len(todo) - number} of {len(todo)} searches are left")
            break
        stop = run.left() - until
        print(f"  {search[3]} on {search[1]} {search[2]}", flush=True)
        found = one(run, searches.index(search), bench, search, solvers[search[3]], lambda stop=stop: run.left() - stop)
        found["complete"] = True
        findings = [f for f in findings if (f["suite"], f["case"], f["dtype"], f["solver"]) != search] + [found]
        write_json(path, findings)
    return findings

"""The self-tests of all solvers, side by side: a process for each solver that takes long, and one for each other family."""
import re
import subprocess

from jobs import FAILED, NO_TIME, read_json, write_json

# Whose kernels take long to compile, those that the benches use first. Each solver is tested alone.
LONG = ["gemm", "conv", "gemm_int8", "conv_backward_data", "conv_backward_filter", "gemm_packed", "gemm_ragged"]
LINE = re.compile(r"^(right|WRONG|-)\s+(\S+)", re.M)
MEANING = {"right": "right", "WRONG": "wrong", "-": "cannot serve"}
NO_ANSWER, NOT_BEGUN = "no answer", "not begun"
NAMED = 8  # of those without an answer


def parts_of(solvers):
    """Lists of names for a process each. A family's name alone is the automatic choice."""
    families = {}
    for name in solvers:
        families.setdefault(name.partition("/")[0], []).append(name)
    known = [f for f in LONG if f in families]
    parts = [[name] for family in known for name in (*families[family], family)]
    return parts + [[family, *names] for family, names in sorted(families.items()) if family not in known]


def key_of(part):
    """The job's name."""
    return "selftest/" + (part[0] if len(part) == 1 else part[0] + "-all").replace("/", "-")


def merged(run, parts):
    """What became of each solver; "no answer" where its process ended, or was ended, before."""
    found = []
    for part in parts:
        key = key_of(part)
        said = {name: MEANING[verdict] for verdict, name in LINE.findall(run.log(key))}
        silent = NOT_BEGUN if run.status(key) == NO_TIME else NO_ANSWER
        found += [{"solver": name, "verdict": said.get(name, silent), "job": key} for name in part]
    return found


def on_device(run):
    """How many processes the device has room for: drivers take some hundreds of megabytes for each."""
    memory = (read_json(run.out / "facts.json") or {}).get("device", {}).get("global_memory", 0)
    return max(1, min(run.processes, memory >> 30)) if memory else run.processes


def solvers_of(run, stage):
    """The parameters of each solver by its name; None, noted for the stage, where they are not told."""
    listed = subprocess.run([run.bench, "solvers"], capture_output=True, text=True, check=False, env=run.env)
    path = run.out / "solvers.json"
    path.write_text(listed.stdout, encoding="utf-8")
    solvers = read_json(path)
    if solvers is None:
        run.note(stage + "/solvers", FAILED, why="tenon-bench solvers gives no JSON")
    return solvers


def run_all(run):
    """Tests them, and writes selftest.json."""
    solvers = solvers_of(run, "selftest")
    if solvers is None:
        return
    parts = parts_of(name for name in solvers if not run.quick or name.startswith("copy/"))
    run.side_by_side([(key_of(part), [run.tenon, "selftest", "--device", run.device, "--solver", ",".join(part)], [])
                      for part in parts], on_device(run))
    found = merged(run, parts)
    write_json(run.out / "selftest.json", found)
    print(f"  self-tests: {summary(found)}", flush=True)


def summary(found):
    """How many of each verdict; by name the first of those that gave no answer."""
    counts = {}
    for one in found:
        counts[one["verdict"]] = counts.get(one["verdict"], 0) + 1
    silent = [one["solver"] for one in found if one["verdict"] == NO_ANSWER]
    names = ", ".join(silent[:NAMED]) + (" and others" if len(silent) > NAMED else "")
    return ", ".join(f"{counts[v]} {v}" + (f" ({names})" if v == NO_ANSWER else "")
                     for v in (*MEANING.values(), NO_ANSWER, NOT_BEGUN) if v in counts)

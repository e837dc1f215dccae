"""./run gpu: everything that a machine with a GPU can tell, in one command.

    ./run gpu [--out FOLDER] [--device SELECTOR] [--budget SECONDS] [--stages A,B] [--again [A,B]]
              [--archive FILE] [--resume FILE]
    ./run gpu --pack FOLDER

It finds the vendor's OpenCL library, builds with what is there (or with what --pack carried here), asks
the device what it can do, measures its limits, tests and benchmarks Tenon on it, and leaves REPORT.md,
report.json and logs in the output folder, and all of that in one archive, from which another run goes on.
docs/gpu.md has more.
"""
import argparse
import os
import signal
import sys
from pathlib import Path

os.chdir(Path(__file__).resolve().parent.parent.parent)
sys.path.insert(0, str(Path("scripts/gpu").resolve()))

# pylint: disable=wrong-import-position
import archive  # noqa: E402
import building  # noqa: E402
import host  # noqa: E402
import pack  # noqa: E402
import report  # noqa: E402
import stages  # noqa: E402
from jobs import Run  # noqa: E402


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(prog="run gpu", description=__doc__.split("\n\n")[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="stages: " + " ".join(stages.SHARES) + "\nexit status: 0 all done, 1 something failed, "
                                     "2 wrong usage, 3 the budget ended first, 130 interrupted")
    parser.add_argument("--out", default="build-gpu/out", help="where results go (build-gpu/out)")
    parser.add_argument("--archive", help="the one file that has everything, written anew after each stage (OUT.tar.gz)")
    parser.add_argument("--resume", metavar="FILE", help="an archive of an earlier run, perhaps of another machine: go on from it")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)),
                        help="how many build and test side by side (the processors that there are)")
    parser.add_argument("--device", default="gpu", help="as tenon devices shows it (gpu)")
    parser.add_argument("--budget", type=float, default=480, help="seconds for everything (480); what was measured is kept")
    parser.add_argument("--stages", default=",".join(stages.SHARES), help="only these, between commas")
    parser.add_argument("--again", nargs="?", const="all", default="", help="do stages again that are done: all, or these")
    parser.add_argument("--carried", default="build-gpu/carried", help="the folder that --pack made (build-gpu/carried)")
    parser.add_argument("--build", help="a build that is there already, instead of one of its own in build-gpu")
    parser.add_argument("--quick", action="store_true", help="the smallest shapes, to try this program itself")
    parser.add_argument("--pack", metavar="FOLDER", help="only make a folder with what a bare host lacks, and end")
    options = parser.parse_args()
    options.stages = [s for s in options.stages.split(",") if s]
    options.again = [s for s in options.again.split(",") if s]
    for name in options.stages + options.again:
        if name not in stages.SHARES and name != "all":
            parser.error(f"there is no stage {name}; there is {' '.join(stages.SHARES)}")
    if options.budget <= 0:
        parser.error("--budget wants seconds")
    if options.processes < 1:
        parser.error("--processes wants 1 at least")
    options.archive = options.archive or options.out.rstrip("/") + ".tar.gz"
    return options


def prepare(options):
    """The run, with all that stages need to know."""
    carried = Path(options.carried)
    env, facts = host.look(options.out, carried if carried.is_dir() else None)
    toolchain = building.Toolchain(carried)
    env = {**building.environment(env, toolchain), **archive.environment(options.out)}
    env.update({"PYTHONUNBUFFERED": "1", "TENON_DEVICE": options.device})
    run = Run(options.out, options.budget, env, options.again)
    run.device, run.quick, run.toolchain = options.device, options.quick, toolchain
    run.carried = carried
    run.processes, run.archive, run.wanted = options.processes, options.archive, options.stages
    run.given_build = bool(options.build)
    run.build = options.build or "build-gpu/tree"
    run.bench, run.tenon = (str(Path(run.build, p).resolve()) for p in building.PROGRAMS)
    run.host, run.describe_host = facts, list(host.describe(facts))
    return run


def keep(run):
    """The report so far, and the archive; the exit status so far."""
    status = report.write(run, run.wanted)
    left_out = archive.write(run, run.archive)
    if left_out:
        print(f"{run.archive}: without {', '.join(left_out)}, for its size", flush=True)
    return status


def main():
    """Everything within the budget; then the report, whatever happened."""
    options = arguments()
    if options.pack:
        return pack.pack(options.pack)
    if options.resume:
        try:
            print(archive.resume(options.resume, options.out))
        except archive.Refused as why:
            print(f"run gpu: --resume {options.resume}: {why}", file=sys.stderr)
            return 2
    run = prepare(options)
    interrupted = False
    run.keep = lambda: keep(run)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        stages.run_all(run, options.stages)
    except KeyboardInterrupt:
        interrupted = True
        print("interrupted; what was measured is kept")
    status = keep(run)
    if interrupted:
        print(f"{run.archive} has everything so far")
        return 130
    print(f"{run.archive} has everything; {run.out / 'REPORT.md'}: " + {0: "all done", 1: "something failed", 3: "the budget ended first"}[status])
    return status


if __name__ == "__main__":
    sys.exit(main())

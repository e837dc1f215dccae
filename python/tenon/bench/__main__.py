"""python -m tenon.bench [compare | hosts | report] …; as a folder, python3 …/bench, it is the program of tenon-bench."""
import os
import runpy
import sys

if not __package__:  # run as a folder: starts again as a package without `tenon`
    FOLDER = os.path.dirname(os.path.abspath(__file__))
    sys.path[0] = os.path.dirname(FOLDER)
    runpy.run_module(os.path.basename(FOLDER), run_name="__main__", alter_sys=True)  # exits

from . import compare, hosts, report


def main() -> int:
    commands = {"compare": compare.main, "hosts": hosts.main, "report": report.main}
    words = sys.argv[1:]
    if words and words[0] in commands:
        return commands[words[0]](words[1:])
    from . import speed
    speed.main()
    return 0


def run() -> int:
    """Runs the command. If the reader of standard output has gone, as `head` does, ends as a program that SIGPIPE ends."""
    try:
        try:
            return main()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more at its end
        return 128 + 13


if __name__ == "__main__":
    sys.exit(run())

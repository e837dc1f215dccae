"""Runs programs within a budget of time, and remembers which are done."""
import json
import os
import signal
import subprocess
import time
from pathlib import Path

OK, FAILED, CUT, NO_TIME, SKIPPED = "ok", "failed", "cut", "no time", "skipped"
LEAST = 2  # seconds worth starting for
GRACE = 6  # seconds that a program has to write down what it measured


def write_json(path, value):
    """Beside its place first, so that it is whole at any time."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    beside.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    beside.replace(path)


def read_json(path, default=None):
    """What a file holds; the default where it is not there, or not whole."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return default


def read_lines(path):
    """The JSON values of a file that has one a line; a line that a kill cut is none."""
    values = []
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        try:
            values.append(json.loads(line))
        except ValueError:
            continue
    return values


def end(process):
    """Ends a program and all that it started: asked first, then without asking. A process that a driver
    holds on to is left behind."""
    for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(patience)
            return
        except subprocess.TimeoutExpired:
            continue


class Run:
    """The output folder, what is done of it, and the time that is left."""

    def __init__(self, out, budget, env, again=()):
        self.out, self.env = Path(out), env
        self.start, self.budget = time.monotonic(), budget
        self.end = self.stage_end = self.start + budget
        self.logs = self.out / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.state = read_json(self.out / "state.json", {}) or {}
        self.state.setdefault("jobs", {})
        for key in [k for k in self.state["jobs"] if "all" in again or k.split("/")[0] in again]:
            del self.state["jobs"][key]

    @staticmethod
    def now():
        """The clock that ends are on."""
        return time.monotonic()

    def status(self, key):
        """How a job ended; None for one that was not begun."""
        return self.state["jobs"].get(key, {}).get("status")

    def left(self):
        """Seconds of the stage."""
        return self.stage_end - time.monotonic()

    def adopt(self, identity):
        """What was measured with other programs, or on another device, counts no more."""
        if self.state.get("identity") not in (None, identity):
            print("the programs or the device are not those of the last run: everything is done again")
            self.state["jobs"] = {k: v for k, v in self.state["jobs"].items() if k.split("/")[0] in ("host", "build")}
        self.state["identity"] = identity
        self.save()

    def save(self):
        """Keeps the state."""
        write_json(self.out / "state.json", self.state)

    def note(self, key, status, seconds=0.0, code=None, why=""):
        """Remembers how a job ended."""
        self.state["jobs"][key] = {"status": status, "seconds": round(seconds, 2), "code": code, "why": why,
                                   "log": f"logs/{key.replace('/', '-')}.log"}
        self.save()
        print(f"  {key}: {status}" + (f", {seconds:.1f} s" if seconds else "") + (f" ({why})" if why else ""), flush=True)
        return status

    def job(self, key, command, limit=None, needs=(), env=None, cwd=None, optional=False):
        """Runs a command unless it is done; `limit` in seconds, `needs` files that must be there if it is
        done. Its output goes to a log. An optional one counts as skipped where it does not succeed."""
        known = self.state["jobs"].get(key, {})
        if known.get("status") == OK and all(Path(n).exists() for n in needs):
            print(f"  {key}: done before", flush=True)
            return SKIPPED
        limit = min(self.left(), self.left() if limit is None else limit)
        outcome = self.attempt(key, command, limit, env, cwd)
        if optional and outcome[0] != OK:
            outcome = (SKIPPED, outcome[1], outcome[2], ": ".join(filter(None, (outcome[0], outcome[3]))))
        return self.note(key, *outcome)

    def attempt(self, key, command, limit, env, cwd):
        """Runs a command to its end or its limit: status, seconds, exit status and reason."""
        if limit < LEAST:
            return NO_TIME, 0.0, None, ""
        log = self.logs / (key.replace("/", "-") + ".log")
        started = time.monotonic()
        with open(log, "wb") as output:
            output.write(("$ " + " ".join(map(str, command)) + "\n").encode())
            output.flush()
            try:
                process = subprocess.Popen([str(c) for c in command], stdout=output, stderr=subprocess.STDOUT, cwd=cwd,
                                           stdin=subprocess.DEVNULL, env={**self.env, **(env or {})}, start_new_session=True)
            except OSError as error:
                return FAILED, 0.0, None, str(error)
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                end(process)
                return CUT, time.monotonic() - started, process.poll(), f"at its limit of {limit:.0f} s"
            except BaseException:
                end(process)
                raise
        why = "" if code == 0 else f"exit status {code}" if code > 0 else f"signal {-code}"
        return OK if code == 0 else FAILED, time.monotonic() - started, code, why

    def jobs(self, listed, env=None):
        """Runs (key, weight, command, needs) in turn; each may take its part of what is left."""
        listed = list(listed)
        outcomes = {}
        for i, (key, weight, command, needs) in enumerate(listed):
            rest = sum(w for _, w, _, _ in listed[i:])
            outcomes[key] = self.job(key, command, limit=self.left() * weight / rest, needs=needs, env=env)
        return outcomes

    def log(self, key):
        """What a job printed."""
        try:
            return (self.logs / (key.replace("/", "-") + ".log")).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

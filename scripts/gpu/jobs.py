"""Runs programs within a budget of time, and remembers which are done."""
import json
import os
import signal
import subprocess
import time
from pathlib import Path

OK, FAILED, CUT, NO_TIME, SKIPPED = "ok", "failed", "cut", "no time", "skipped"
LEAST = 2  # seconds worth starting for
KEPT_EVERY = 60  # seconds within a stage
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


def end(*processes):
    """Ends programs and all that they started: asked first, then without asking. A process that a driver
    holds on to is left behind."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        alive = [p for p in processes if p.poll() is None]
        for process in alive:
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                pass
        until = time.monotonic() + GRACE
        for process in alive:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                continue


def ended(process, started):
    """How a process went that has ended: status, seconds, exit status and reason."""
    code = process.returncode
    why = "" if code == 0 else f"exit status {code}" if code > 0 else f"signal {-code}"
    return OK if code == 0 else FAILED, time.monotonic() - started, code, why


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
        self.keep, self.last_kept = None, self.start  # what keeps the run as a whole, and when it did
        for key in [k for k in self.state["jobs"] if "all" in again or k.split("/")[0] in again]:
            del self.state["jobs"][key]

    @staticmethod
    def now():
        """The clock that ends are on."""
        return time.monotonic()

    def status(self, key):
        """How a job ended; None for one that was not begun."""
        return self.state["jobs"].get(key, {}).get("status")

    def is_done(self, key, needs=()):
        """Whether a job went well before, and what it left is there."""
        return self.status(key) == OK and all(Path(n).exists() for n in needs)

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
        self.state["saved"] = time.time()
        write_json(self.out / "state.json", self.state)

    def note(self, key, status, seconds=0.0, code=None, why=""):
        """Remembers how a job ended."""
        self.state["jobs"][key] = {"status": status, "seconds": round(seconds, 2), "code": code, "why": why,
                                   "log": f"logs/{key.replace('/', '-')}.log"}
        self.save()
        print(f"  {key}: {status}" + (f", {seconds:.1f} s" if seconds else "") + (f" ({why})" if why else ""), flush=True)
        if time.monotonic() - self.last_kept > KEPT_EVERY:
            self.kept()
        return status

    def kept(self):
        """Keeps the run as a whole, where there is what does so: whoever ends it now loses nothing."""
        if self.keep is not None:
            self.keep()
        self.last_kept = time.monotonic()

    def job(self, key, command, limit=None, needs=(), env=None, cwd=None, optional=False):
        """Runs a command unless it is done; `limit` in seconds, `needs` files that must be there if it is
        done. Its output goes to a log. An optional one counts as skipped where it does not succeed."""
        if self.is_done(key, needs):
            print(f"  {key}: done before", flush=True)
            return SKIPPED
        limit = min(self.left(), self.left() if limit is None else limit)
        outcome = self.attempt(key, command, limit, env, cwd)
        if optional and outcome[0] != OK:
            outcome = (SKIPPED, outcome[1], outcome[2], ": ".join(filter(None, (outcome[0], outcome[3]))))
        return self.note(key, *outcome)

    def unmark(self):
        """Takes away what the store of this run has noted of programs that were ended here in the middle of a kernel: it
        would bar the kernel for an hour, as if it had ended them."""
        for mark in Path(self.env.get("TENON_CACHE_DIR", "/nowhere")).glob("*.running"):
            mark.unlink(missing_ok=True)

    def begin(self, key, command, env=None, cwd=None):
        """Starts a command whose output goes to the job's log. Raises OSError."""
        with open(self.logs / (key.replace("/", "-") + ".log"), "wb") as output:
            output.write(("$ " + " ".join(map(str, command)) + "\n").encode())
            output.flush()
            return subprocess.Popen([str(c) for c in command], stdout=output, stderr=subprocess.STDOUT, cwd=cwd,
                                    stdin=subprocess.DEVNULL, env={**self.env, **(env or {})}, start_new_session=True)

    def attempt(self, key, command, limit, env, cwd):
        """Runs a command to its end or its limit: status, seconds, exit status and reason."""
        if limit < LEAST:
            return NO_TIME, 0.0, None, ""
        started = time.monotonic()
        try:
            process = self.begin(key, command, env, cwd)
        except OSError as error:
            return FAILED, 0.0, None, str(error)
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            end(process)
            self.unmark()
            return CUT, time.monotonic() - started, process.poll(), f"at its limit of {limit:.0f} s"
        except BaseException:
            end(process)
            raise
        return ended(process, started)

    def side_by_side(self, listed, count, optional=False, env=None):
        """Runs (key, command, needs), so many at once, in their order, unless they are done. All have what is left
        of the stage; one that fails or hangs holds up no other. Returns the outcomes by key."""
        outcomes, waiting, running = {}, [], {}
        for key, command, needs in listed:
            if self.is_done(key, needs):
                print(f"  {key}: done before", flush=True)
                outcomes[key] = SKIPPED
            else:
                waiting.append((key, command))

        def close(key, outcome):
            if optional and outcome[0] != OK:
                outcome = (SKIPPED, outcome[1], outcome[2], ": ".join(filter(None, (outcome[0], outcome[3]))))
            outcomes[key] = self.note(key, *outcome)

        try:
            while waiting or running:
                while waiting and len(running) < count:
                    key, command = waiting.pop(0)
                    if self.left() < LEAST:
                        close(key, (NO_TIME, 0.0, None, ""))
                        continue
                    try:
                        running[key] = self.begin(key, command, env), time.monotonic()
                    except OSError as error:
                        close(key, (FAILED, 0.0, None, str(error)))
                over = self.left() <= 0
                if over:
                    cut = [key for key, (process, _) in running.items() if process.poll() is None]
                    end(*(running[key][0] for key in cut))
                    self.unmark()
                    for key in cut:
                        process, started = running.pop(key)
                        close(key, (CUT, time.monotonic() - started, process.poll(), "at the end of the stage"))
                for key in [k for k, (process, _) in running.items() if process.poll() is not None]:
                    close(key, ended(*running.pop(key)))
                time.sleep(0.01)
        except BaseException:
            end(*(process for process, _ in running.values()))
            raise
        return outcomes

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

"""REPORT.md: what was found, in short; report.json: the same for programs."""
import re
from pathlib import Path

import proposal
import selftests
from figures import registers_of, stack_of
from jobs import CUT, FAILED, NO_TIME, read_json, read_lines, write_json

REPEAT = re.compile(r"tenon check [^\n]*")
WRONG = re.compile(r"^WRONG\s+(\S+)", re.M)
# What drivers answer to the next call when a kernel did not come to its end.
LOST = re.compile(r"CL_OUT_OF_RESOURCES|CL_INVALID_COMMAND_QUEUE|CL_DEVICE_NOT_AVAILABLE|\berror -(?:5|36|9999)\b|\(-9999\)")


def table(heads, rows):
    """Lines of Markdown."""
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield "| " + " | ".join(str(c).replace("|", "\\|") for c in row) + " |"


def number(value, digits=3):
    """A figure with so many digits that mean something."""
    if value is None:
        return ""
    return f"{value:.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def device_of(out):
    """The device, by whichever file has it."""
    for name in ("facts.json", "ceilings.json", *sorted(p.name for p in (out / "bench").glob("*.json"))):
        document = read_json(out / name) or read_json(out / "bench" / name)
        if document and document.get("device", {}).get("name"):
            return document["device"]
    return {}


def results_of(out):
    """All results of the benches, by suite, case and type."""
    results = {}
    for path in sorted((out / "bench").glob("*.json")):
        for result in (read_json(path) or {}).get("results", []):
            results[(result["suite"], result["case"], result["dtype"])] = result
    return results


def by_python(out):
    """What the peers in Python measured: name, library and nanoseconds, by suite, case and type."""
    found = {}
    for name in ("torch", "onemkl"):
        for r in (read_json(out / f"{name}.json") or {}).get("results", []):
            found.setdefault((r["suite"], r["case"], r["dtype"]), []).append((name, r.get("library"), r["median_ns"]))
    return found


def failures_of(run):
    """What failed, with the lines that repeat it."""
    failures = []
    for key, job in run.state["jobs"].items():
        log = run.log(key)
        repeats = list(dict.fromkeys(m.strip() for m in REPEAT.findall(log)))
        wrong = WRONG.findall(log)
        if job["status"] == FAILED or wrong:
            failures.append({"job": key, "why": job.get("why", ""), "wrong": wrong, "repeat": repeats[:20], "log": job["log"]})
    for test in read_lines(run.out / "tests.jsonl"):
        if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL"):
            text = str(test.get("stdout", "")) + str(test.get("stderr", ""))
            failures.append({"job": "tests/all", "why": f"{test['name']}: {test['result']}", "wrong": [],
                             "repeat": list(dict.fromkeys(m.strip() for m in REPEAT.findall(text)))[:20],
                             "log": "tests.jsonl"})
    return failures


def tests_of(out):
    """How many tests passed, failed, were skipped."""
    counts = {}
    for test in read_lines(out / "tests.jsonl"):
        counts[test["result"]] = counts.get(test["result"], 0) + 1
    return counts


def peer_text(result, others=()):
    """The peers' times over Tenon's."""
    parts = [f"{name} {number(peer['ratio'])}" + (f" ({peer['algorithm']})" if "algorithm" in peer else "")
             for name, peer in result["peers"].items()]
    parts += [f"{name} {number(ns / result['median_ns'])}" + (f" ({library})" if library else "") for name, library, ns in others]
    return ", ".join(parts)


def bench_lines(out, ceilings):
    """A table a suite."""
    results, others = results_of(out), by_python(out)
    copy = ceilings.get("copy by a kernel", {}).get("value")
    for suite in dict.fromkeys(s for s, _, _ in results):
        rows = []
        for (s, case, dtype), r in results.items():
            if s != suite:
                continue
            rate = f"{number(r['gflops'])} GF" if r["gflops"] else f"{number(r['gbps'])} GB/s" if r["gbps"] else ""
            peak = (ceilings.get("matrix unit " + dtype, {}) if dtype != "f32" else {}).get("value") or ceilings.get(
                "multiply-add f64" if dtype == "f64" else "multiply-add f32", {}).get("value")
            part = f"{100 * r['gflops'] / peak:.0f} %" if r["gflops"] and peak else (
                f"{100 * r['gbps'] / copy:.0f} %" if r["gbps"] and copy and not r["gflops"] else "")
            rows.append([case, dtype, number(r["median_ns"] / 1e3), rate, part, r["solver"],
                         peer_text(r, others.get((s, case, dtype), ()))])
        yield f"\n## {suite}\n"
        yield from table(["case", "type", "us", "rate", "of the ceiling", "solver", "peer time / Tenon time"], rows)


def absent_lines(out):
    """The peers that a bench was to be compared with and was not."""
    found = {}
    for path in sorted((out / "bench").glob("*.json")):
        for one in ((read_json(path) or {}).get("peers") or {}).get("left_out", []):
            found.setdefault(one["name"], one["why"])
    if found:
        yield "\n## Peers that are left out\n"
        yield from (f"- {name}: {why}" for name, why in found.items())


def sweep_lines(out):
    """The best of each search beside the default."""
    rows = []
    for f in read_json(out / "sweep.json", []) or []:
        if f.get("best") and f.get("default"):
            rows.append([f["case"], f["dtype"], f["tried"], f["default"]["solver"], number(f["default"]["gflops"]),
                         f["best"]["solver"], number(f["best"]["gflops"]),
                         f"{f['default']['median_ns'] / f['best']['median_ns']:.2f}"])
    if rows:
        yield "\n## Parameters\n"
        yield from table(["case", "type", "tried", "default", "GF", "best", "GF", "gain"], rows)


def facts_lines(out):
    """Capabilities, local memory, what assembles, registers."""
    facts = read_json(out / "facts.json")
    if not facts:
        return
    yield "\n## What it can do\n"
    yield from table(["", "", "by trial"], [[name, "yes" if c["available"] else "no", c["reason"].splitlines()[0][:100] if c["reason"] else ""]
                                            for name, c in facts["capabilities"].items()])
    rows = []
    for kernel in facts["kernels"]:
        used, spilled = registers_of(kernel)
        rows.append([kernel["call"].split(" a=")[0][:40] if " a=" in kernel["call"] else kernel["call"][:40],
                     f"{kernel['source']}: {kernel['kernel']}", kernel["work_group"], used if used is not None else "",
                     spilled if spilled is not None else "", "" if stack_of(kernel) is None else stack_of(kernel),
                     kernel.get("local_bytes", ""), (kernel.get("binary") or "").replace("\n", " ")])
    yield from table(["call", "kernel", "work-group", "registers", "spilled", "stack", "local", "target"], rows)


def first_line(text):
    """Of what a compiler says the first line that names an error, else the first."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[0] if lines else "")[:160]


def question_lines(out):
    """What only a trial tells of the driver."""
    answers = read_json(out / "questions.json")
    if not answers:
        return
    yield "\n## What its driver does\n"
    rows = [[name, row["what"], {True: "yes", False: "no", None: "-"}[row["works"]], first_line(row["why"])]
            for name, all_rows in answers.items() for row in all_rows]
    yield from table(["question", "", "works", ""], rows)


def surprises_of(run):
    """Where the driver does not do what it says, or ends what it runs: a line each."""
    for name, rows in (read_json(run.out / "questions.json", {}) or {}).items():
        says = next((row for row in rows if row["what"].endswith("what the driver says")), None)
        if says and not says["works"]:
            works = [row["what"] for row in rows if row["works"]]
            yield (f"a work-group does not get the local memory that the driver says ({says['what'].split(',')[0]}), asked by "
                   f"{name}: {works[-1] if works else 'none'} works")
        for row in rows:
            if row["what"] == "the rest":
                yield f"the question {name} ended its process: {row['why']}"
    for key, job in run.state["jobs"].items():
        if job["status"] == FAILED:
            ended = sorted(set(LOST.findall(run.log(key))))
            if ended:
                yield f"{key}: the driver ended a kernel (a watchdog, or an address that is not there): {', '.join(ended)}"
            if (job.get("code") or 0) < 0:
                yield f"{key}: the process was ended by {job['why']}"
    if run.host.get("libcuda") and not any(f["vendor"] == "NVIDIA" and not f["fails"] for f in run.host["found"]):
        yield "CUDA's driver is there and NVIDIA's OpenCL is not: Tenon cannot run on the card; what its driver does with PTX is below"


def cuda_lines(out):
    """The card by CUDA's driver alone."""
    found = read_json(out / "cuda.json")
    if not found:
        return
    about = found["device"]
    yield "\n## By CUDA's driver, without OpenCL\n"
    yield f"{about.get('name', 'no card')}, compute capability {about.get('major')}.{about.get('minor')}, driver {about.get('driver')}; "
    yield (f"{about.get('multiprocessors')} multiprocessors, {about.get('max_shared')} bytes of shared memory for a block, "
           f"{about.get('shared_by_asking')} by asking; at most {about.get('groups_y')} and {about.get('groups_z')} blocks in y and z.\n")
    rows = []
    for name, one in found["files"].items():
        kernels = ", ".join(f"{k} {v['registers']} registers" for k, v in one.get("kernels", {}).items())
        rates = ", ".join(f"{c['name']} {number(c['value'])} {c['unit']}" if c["verified"] else f"{c['name']} WRONG"
                          for c in one.get("ceilings", []))
        rows.append([name, "yes" if one.get("loads") else "no", kernels, rates, first_line(one.get("fails") or (
            "" if one.get("loads") else one.get("log", "")))])
    yield from table(["PTX", "loads", "kernels", "measured", "why not"], rows)


def write(run, wanted):
    """Writes both files; returns the exit status: 0 done, 1 something failed, 3 time ran out."""
    out, jobs = run.out, run.state["jobs"]
    ceilings = {c["name"]: c for c in (read_json(out / "ceilings.json") or {}).get("ceilings", [])}
    failures, device, tests = failures_of(run), device_of(out), tests_of(out)
    short = [k for k, j in jobs.items() if j["status"] in (CUT, NO_TIME)]
    lines = [f"# Tenon on {device.get('name', 'no device')}", "",
             f"Driver {device.get('driver', 'unknown')}, {device.get('version', '')}; selector `{run.device}`.", ""]
    lines += ["- " + line for line in run.describe_host]
    lines += ["", f"{sum(j['status'] == 'ok' for j in jobs.values())} jobs done, {len(failures)} failures, "
              f"{len(short)} cut by the budget" + (f" ({', '.join(short)})" if short else "") + "."]
    if tests:
        lines.append("Tests: " + ", ".join(f"{n} {r}" for r, n in sorted(tests.items())) + ".")
    tested = read_json(out / "selftest.json")
    if tested:
        lines.append(f"Self-tests: {selftests.summary(tested)}.")
    surprises = list(surprises_of(run))
    if surprises:
        lines += ["\n## What is not as it should be\n", *("- " + line for line in surprises)]
    if failures:
        lines.append("\n## Failures\n")
        for failure in failures:
            lines.append(f"- {failure['job']}: {failure['why']} {' '.join(failure['wrong'])} ([log]({failure['log']}))")
            lines += [f"  - `{repeat}`" for repeat in failure["repeat"]]
    if ceilings:
        lines.append("\n## Ceilings\n")
        missing = (read_json(out / "ceilings.json") or {}).get("left_out", [])
        lines += [f"- {one['name']} is left out: {first_line(one['why'])}" for one in missing] + [""] * bool(missing)
        lines += table(["", "", "unit"], [[c["name"], number(c["value"]), c["unit"]] for c in ceilings.values()])
    lines += facts_lines(out)
    lines += question_lines(out)
    lines += cuda_lines(out)
    lines += absent_lines(out)
    lines += bench_lines(out, ceilings)
    lines += sweep_lines(out)
    proposed = proposal.write(out)
    if proposed:
        lines.append(f"\n## The device model: what kinds/{proposed[0]}.json would change\n")
        lines += table(["field", "now", "proposed"], proposed[1])
    lines.append("\n## Jobs\n")
    lines += table(["job", "", "seconds", "log"], [[k, j["status"] + (": " + j["why"] if j["why"] else ""), j["seconds"],
                                                   f"[log]({j['log']})" if Path(out, j["log"]).exists() else ""]
                                                  for k, j in jobs.items()])
    Path(out, "REPORT.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    status = 1 if failures else 3 if short else 0
    write_json(out / "report.json", {"version": 1, "device": device, "selector": run.device, "stages": wanted, "status": status,
                                     "host": run.host, "failures": failures, "surprises": surprises, "short": short, "tests": tests, "jobs": jobs,
                                     "ceilings": ceilings})
    return status

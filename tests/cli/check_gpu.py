#!/usr/bin/env python3
"""Tests ./run gpu where there is no GPU: its stages on another device, what a cut leaves, what a second
run skips, drivers that do wrong, and the carried folder.

    check_gpu.py path/to/source path/to/build
"""
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

BUILD = os.path.abspath(sys.argv.pop(2))
SOURCE = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, os.path.join(SOURCE, "scripts", "gpu"))

import archive  # noqa: E402
import building  # noqa: E402
import figures  # noqa: E402
import host  # noqa: E402
import jobs  # noqa: E402
import pack  # noqa: E402
import proposal  # noqa: E402
import report  # noqa: E402
import selftests  # noqa: E402
import shapes  # noqa: E402
import stages  # noqa: E402
import sweep  # noqa: E402


FAKE = os.path.join(BUILD, "tests", "cli", "libfake_card.so")


def gpu(*args, **env):
    return subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "gpu"), *args], capture_output=True, text=True,
                          check=False, env={**os.environ, **env})


LONG = 300  # seconds, for what ends in a few on an idle machine


class Usage(unittest.TestCase):
    def test_what_is_unknown_is_named(self):
        for args, named in ((["--stages", "walk"], "walk"), (["--again", "walk"], "walk"), (["--budget", "0"], "budget"),
                            (["--processes", "0"], "processes"), (["--nothing"], "nothing"),
                            (["--resume", "/no/such/file"], "/no/such/file")):
            done = gpu(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(named, done.stderr)


class Jobs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_of(self, budget=60, again=()):
        run = jobs.Run(self.folder.name, budget, dict(os.environ), again)
        return run

    def test_a_cut_leaves_the_rest_and_what_it_wrote(self):
        run = self.run_of()
        script = "trap 'echo kept; exit 0' TERM; echo begun; sleep 60 & wait"
        self.assertEqual(run.job("a/long", ["sh", "-c", script], limit=2), jobs.CUT)
        self.assertIn("begun\nkept", run.log("a/long"))
        self.assertEqual(run.job("a/next", ["true"]), jobs.OK)
        self.assertEqual(run.job("a/wrong", ["sh", "-c", "exit 3"]), jobs.FAILED)
        self.assertEqual(run.job("a/none", ["/no/such/program"]), jobs.FAILED)
        state = json.loads(Path(self.folder.name, "state.json").read_text(encoding="utf-8"))
        self.assertEqual([j["status"] for j in state["jobs"].values()], ["cut", "ok", "failed", "failed"])

    def test_what_a_cut_program_was_at_is_not_barred_and_what_ended_one_is(self):
        run, mark = self.run_of(), Path(self.folder.name, "store", "a.running")
        mark.parent.mkdir()
        run.env["TENON_CACHE_DIR"] = str(mark.parent)
        run.job("a/crash", ["sh", "-c", f"touch {mark}; kill -11 $$"])
        self.assertTrue(mark.exists())
        run.job("a/cut", ["sh", "-c", f"touch {mark}; exec sleep 60"], limit=2)
        self.assertFalse(mark.exists())
        run.stage_end = time.monotonic() + 2.5
        run.side_by_side([("a/cut too", ["sh", "-c", f"touch {mark}; exec sleep 60"], [])], 1)
        self.assertEqual((run.status("a/cut too"), mark.exists()), ("cut", False))

    def test_one_that_ignores_the_asking_is_ended(self):
        run, start = self.run_of(), time.monotonic()
        grace, jobs.GRACE = jobs.GRACE, 1
        try:
            self.assertEqual(run.job("a/deaf", ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"], limit=2), jobs.CUT)
        finally:
            jobs.GRACE = grace
        self.assertLess(time.monotonic() - start, LONG)

    def test_a_second_run_does_what_is_not_done(self):
        run, mark = self.run_of(), Path(self.folder.name, "mark")
        command = ["sh", "-c", f"echo x >> {mark}"]
        run.job("a/one", command, needs=[mark])
        run.job("b/fails", ["false"])
        again = self.run_of()
        self.assertEqual(again.job("a/one", command, needs=[mark]), jobs.SKIPPED)
        self.assertEqual(again.job("b/fails", ["true"]), jobs.OK)
        mark.unlink()
        self.assertEqual(again.job("a/one", command, needs=[mark]), jobs.OK)
        self.assertEqual(self.run_of(again=["a"]).job("a/one", command, needs=[mark]), jobs.OK)
        self.assertEqual(mark.read_text(encoding="utf-8"), "x\nx\n")

    def test_other_programs_or_another_device_begin_anew(self):
        run = self.run_of()
        run.adopt("first")
        run.job("a/one", ["true"])
        again = self.run_of()
        again.adopt("first")
        self.assertEqual(again.job("a/one", ["true"]), jobs.SKIPPED)
        again.adopt("second")
        self.assertEqual(again.job("a/one", ["true"]), jobs.OK)

    def test_side_by_side_one_that_hangs_or_fails_holds_up_no_other(self):
        run, start = self.run_of(), time.monotonic()
        run.stage_end = start + 4
        grace, jobs.GRACE = jobs.GRACE, 1
        try:
            outcomes = run.side_by_side([("a/deaf", ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"], []),
                                         ("a/deafer", ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"], []),
                                         ("a/wrong", ["sh", "-c", "exit 3"], []), ("a/killed", ["sh", "-c", "kill -9 $$"], []),
                                         ("a/none", ["/no/such/program"], []), ("a/one", ["sleep", "0.5"], []),
                                         ("a/two", ["true"], [])], 3)
        finally:
            jobs.GRACE = grace
        self.assertEqual(outcomes, {"a/deaf": "cut", "a/deafer": "cut", "a/wrong": "failed", "a/killed": "failed",
                                    "a/none": "failed", "a/one": "ok", "a/two": "ok"})
        self.assertIn("signal 9", run.state["jobs"]["a/killed"]["why"])
        self.assertLess(time.monotonic() - start, LONG)
        again = run.side_by_side([("a/one", ["false"], []), ("a/wrong", ["true"], [])], 2)
        self.assertEqual(again, {"a/one": "skipped", "a/wrong": "no time"})

    def test_side_by_side_is_at_once(self):
        run = self.run_of()
        marks = Path(self.folder.name, "marks")
        marks.mkdir()
        # Each ends when all have begun.
        script = f'touch {marks}/$0; until [ "$(ls {marks} | wc -l)" = 6 ]; do sleep 0.1; done'
        outcomes = run.side_by_side([(f"a/{i}", ["sh", "-c", script, str(i)], []) for i in range(6)], 6)
        self.assertEqual(set(outcomes.values()), {"ok"})

    def test_without_time_nothing_is_begun(self):
        run = self.run_of(budget=1)
        self.assertEqual(run.job("a/late", ["true"]), jobs.NO_TIME)


class Figures(unittest.TestCase):
    """Which candidates are timed first, and what is proposed for the device model."""

    @staticmethod
    def built(predicted, registers, spilled=0, local=0, serves=True):
        log = f"ptxas info : 0 bytes stack frame, {spilled} bytes spill stores\nptxas info : Used {registers} registers"
        return {"serves": serves, "kind": "sm_90", "predicted_ns": predicted,
                "kernels": [{"log": log, "local_bytes": local, "work_group": 256}]}

    def test_what_fits_in_registers_and_is_predicted_to_be_fast_comes_first(self):
        built = {"slow": self.built(9e5, 64), "fast": self.built(5e5, 128), "spills": self.built(1e5, 255, spilled=64),
                 "fits nowhere": self.built(1e5, 64, local=300 << 10), "roomy": self.built(5e5, 64),
                 "refused": self.built(1e5, 64, serves=False), "unknown": {"serves": True, "kernels": [], "predicted_ns": None}}
        self.assertEqual(figures.best(built, 9), ["roomy", "fast", "slow", "unknown", "spills"])
        self.assertEqual(figures.best(built, 2), ["roomy", "fast"])

    def test_a_proposal_is_a_kind_with_what_was_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            limits = {"multiply-add f32": 60000, "matrix unit f16": 450000, "matrix unit wgmma f16": 900000,
                      "read": 4400, "copy by a kernel": 4100}
            jobs.write_json(out / "facts.json", {"device": {"kind": "sm_90", "compute_units": 100, "name": "a card", "driver": "1"},
                                                 "date": "2026-01-02T03:04:05Z"})
            jobs.write_json(out / "ceilings.json", {"ceilings": [{"name": n, "value": v, "median_ns": 1.0, "verified": True}
                                                                 for n, v in limits.items()]
                                                    + [{"name": "matrix unit tf32", "value": 1, "median_ns": 1.0, "verified": False}]})
            best = {"solver": "gemm/mma:mb256,nb128,kb32,wm2,wn4,st2,em3"}
            jobs.write_json(out / "sweep.json", [{"solver": "gemm/mma", "dtype": "f16", "best": best}])
            name, changed = proposal.write(out)
            proposed = json.loads((out / "kinds" / "sm_90.json").read_text(encoding="utf-8"))
            self.assertEqual(name, "sm_90")
            self.assertEqual(proposed["rates"]["f32"], 300)
            self.assertEqual(proposed["rates"]["matrix_16"], 4500)
            self.assertEqual(proposed["assumed"]["mma"], 0.5, "mma.sync beside wgmma")
            self.assertEqual(proposed["rates"]["matrix_32"], json.loads(
                Path(SOURCE, "src/device/kinds/sm_90.json").read_text(encoding="utf-8"))["rates"]["matrix_32"], "not what was wrong")
            self.assertEqual(proposed["memory"]["bandwidth"], 4400)
            self.assertEqual(proposed["copied"]["blocks"][0], [256, 128, 2, 4])
            base = proposal.device_table.whole("sm_90")
            for measured, share in ((2764.8, 0.75), (4000.0, 1)):  # without wgmma, the rate is the table's
                table = {}
                rates = proposal.with_wgmma(table, base, {"matrix_16": measured, "matrix_32": 900.0}, {}, 100)
                self.assertEqual(rates, {"matrix_16": 3686.4, "matrix_32": 900.0 / share})
                self.assertEqual(table, {"assumed": {"mma": share}})
            table, rates = {}, {"matrix_16": 1000.0, "matrix_32": 500.0}
            self.assertEqual(proposal.with_wgmma(table, proposal.device_table.whole("sm_80"), rates, {}, 100), rates)
            self.assertEqual(table, {}, "units without wgmma have a rate of their own")
            self.assertIn("memory.bandwidth", [field for field, _, _ in changed])
            # It takes the place of the file that there is.
            kinds = out / "all"
            kinds.mkdir()
            for path in Path(SOURCE, "src/device/kinds").glob("*.json"):
                (kinds / path.name).write_bytes((out / "kinds" / path.name if path.stem == name else path).read_bytes())
            subprocess.run([sys.executable, os.path.join(SOURCE, "src/device/embed_kinds.py"), "--output", out / "kinds.c", "--depfile",
                            out / "kinds.d", kinds], check=True)
            self.assertIn(".bandwidth = 4400", (out / "kinds.c").read_text(encoding="utf-8"))

    def test_a_kernel_that_the_driver_ended_is_told_apart_from_a_wrong_result(self):
        with tempfile.TemporaryDirectory() as folder:
            run = jobs.Run(folder, 60, dict(os.environ))
            run.device, run.describe_host, run.host = "gpu", [], {"found": [], "registered": {}, "libcuda": None}
            run.job("selftest/a", ["sh", "-c", "echo 'clFinish: CL_OUT_OF_RESOURCES'; exit 1"])
            run.job("selftest/b", ["sh", "-c", "echo 'WRONG  gemm/mma'; exit 1"])
            run.job("selftest/c", ["sh", "-c", "kill -11 $$"])
            self.assertEqual(report.write(run, ["selftest"]), 1)
            told = json.loads(Path(folder, "report.json").read_text(encoding="utf-8"))
        self.assertEqual([line.split(":")[0] for line in told["surprises"]], ["selftest/a", "selftest/c"])
        self.assertIn("CL_OUT_OF_RESOURCES", told["surprises"][0])
        self.assertEqual([f["job"] for f in told["failures"]], ["selftest/a", "selftest/b", "selftest/c"])

    def test_self_tests_are_shared_out_and_put_together_again(self):
        parts = selftests.parts_of(["copy/rows", "gemm/tiled", "gemm/mma", "copy/bytes"])
        self.assertEqual(parts, [["gemm/tiled"], ["gemm/mma"], ["gemm"], ["copy", "copy/rows", "copy/bytes"]])
        with tempfile.TemporaryDirectory() as folder:
            run = jobs.Run(folder, 60, dict(os.environ))
            for part, said in zip(parts, ("right  gemm/tiled   3 cases", "WRONG  gemm/mma  1 case", "", "right  copy\n-   copy/rows x")):
                (run.logs / (selftests.key_of(part).replace("/", "-") + ".log")).write_text(said + "\n", encoding="utf-8")
            found = selftests.merged(run, parts)
            run.note(selftests.key_of(parts[2]), jobs.NO_TIME)
            later = selftests.merged(run, parts)
        self.assertEqual([one["verdict"] for one in found], ["right", "wrong", "no answer", "right", "cannot serve", "no answer"])
        self.assertEqual(selftests.summary(found), "2 right, 1 wrong, 1 cannot serve, 2 no answer (gemm, copy/bytes)")
        self.assertEqual(selftests.summary(later), "2 right, 1 wrong, 1 cannot serve, 1 no answer (copy/bytes), 1 not begun")


class Host(unittest.TestCase):
    """The programs that tell of the host, by scripts that stand for them."""

    def host(self, programs, budget):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, script in programs.items():
            path = Path(folder.name, name)
            path.write_text("#!/bin/sh\n" + script + "\n", encoding="utf-8")
            path.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, {"PATH": folder.name + ":/usr/bin:/bin"}):
            run = jobs.Run(Path(folder.name, "out"), budget, dict(os.environ))
            run.device, run.describe_host = "cpu", []
            run.host = {"found": [], "registered": {"a.icd": "a.so"}}
            run.stage_end = run.now() + 0.9  # the stage's share of a quick run
            stages.host(run)
        return run

    def test_their_time_is_not_the_share_of_the_stage(self):
        run = self.host({name: "sleep 1; echo told" for name, _ in stages.TELLERS}, budget=400)
        self.assertEqual([run.status("host/" + name) for name, _ in stages.TELLERS], ["ok"] * 3)

    def test_one_that_is_slow_or_fails_spoils_nothing(self):
        run = self.host({"nvidia-smi": "sleep 60", "rocm-smi": "exit 2", "clinfo": "echo told"}, budget=25)
        found = {name: run.state["jobs"]["host/" + name] for name, _ in stages.TELLERS}
        self.assertEqual([j["status"] for j in found.values()], ["skipped", "skipped", "ok"])
        self.assertIn("limit", found["nvidia-smi"]["why"])
        self.assertIn("exit status 2", found["rocm-smi"]["why"])
        self.assertIn("told", run.log("host/clinfo"))
        self.assertEqual(report.write(run, ["host"]), 0)


class Pieces(unittest.TestCase):
    def test_an_unregistered_library_gets_an_icd_beside_the_registered_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "libnvidia-opencl.so.1")
            env = host.environment_for([library], folder, {})
            texts = {p.name: p.read_text(encoding="utf-8").strip() for p in Path(env["OCL_ICD_VENDORS"]).iterdir()}
            self.assertEqual(texts["libnvidia-opencl.so.1.icd"], library)
            self.assertEqual(len(texts), 1 + len(host.registered()))
            self.assertEqual(env["LD_LIBRARY_PATH"].split(":")[0], folder)

    def test_a_library_that_does_not_load_says_why(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as broken:
            self.assertIn(broken.name, host.loads(broken.name, dict(os.environ)))

    def test_a_search_begins_at_the_default_and_tries_nothing_twice(self):
        search = sweep.Search({"mb": [8, 256], "kb": [4, 64]}, "gemm/tiled")
        search.best = sweep.parse("gemm/tiled:mb64,kb16")
        first, second = search.batch(4), search.batch(4)
        near = {"gemm/tiled:mb32,kb16", "gemm/tiled:mb128,kb16", "gemm/tiled:mb64,kb8", "gemm/tiled:mb64,kb32"}
        self.assertEqual(set(first), near)
        self.assertFalse(set(first) & set(second))

    def test_the_names_of_all_cases_are_read_back(self):
        listed = subprocess.run([os.path.join(BUILD, "bench", "tenon-bench"), "list"], capture_output=True, text=True, check=True)
        cases = [line.split(None, 1) for line in listed.stdout.splitlines()]
        for suite, read in (("gemm-gpu", shapes.product), ("conv-gpu", shapes.convolution)):
            names = [name for of, name in cases if of == suite]
            self.assertGreater(len(names), 10)
            self.assertEqual([n for n in names if read(n) is None], [])
        self.assertEqual(shapes.product("former scores 128x 512x512x64 b'"), (128, 512, 512, 64, False, True))
        self.assertEqual(shapes.convolution("resnet50 256@28 k256 3x3/2 n32"), (32, 256, 28, 256, 3, 2, 1))

    def test_registers_and_spills_are_read_from_the_compiler_s_log(self):
        log = "ptxas info : 16 bytes stack frame, 24 bytes spill stores, 8 bytes spill loads\nptxas info : Used 96 registers"
        self.assertEqual(report.registers_of({"log": log}), (96, 24))

    def test_what_is_carried_compiles_and_links(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            modules, missing = pack.add_modules(folder)
            self.assertFalse(set(missing) - pack.OPTIONAL, missing)
            jobs.write_json(folder / "modules.json", modules)
            (folder / "bin").mkdir()
            program = folder / "bin" / "pkg-config"
            program.write_text(Path(SOURCE, "scripts/gpu/pkg_config.py").read_text(encoding="utf-8"), encoding="utf-8")
            flags = []
            for name in modules:
                asked = subprocess.run([sys.executable, program, "--cflags", "--libs", name], capture_output=True, text=True,
                                       check=True)
                flags += asked.stdout.split()
            self.assertIn(f"-L{folder.resolve()}/lib", flags)
            source = folder / "a.c"
            source.write_text("#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\n#include <jansson.h>\n#include <xxhash.h>\n"
                              "int main(void) { cl_uint n; json_decref(json_object());\n"
                              "return clGetPlatformIDs(0, NULL, &n) == CL_INVALID_VALUE; }\n", encoding="utf-8")
            done = subprocess.run(["cc", str(source), "-o", str(folder / "a"), *flags], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)


class Tests(unittest.TestCase):
    def test_of_two_runs_the_latest_counts_unless_it_was_cut(self):
        with tempfile.TemporaryDirectory() as folder:
            path, log = Path(folder, "tests.jsonl"), Path(folder, "log")
            log.write_text('{"name": "a", "result": "OK"}\n{"name": "b", "result": "FAIL"}\n{"name": "c", "resu', encoding="utf-8")
            stages.keep_tests(path, log)
            log.write_text('{"name": "a", "result": "INTERRUPT"}\n{"name": "b", "result": "OK"}\n', encoding="utf-8")
            stages.keep_tests(path, log)
            self.assertEqual(report.tests_of(Path(folder)), {"OK": 2})


class Identity(unittest.TestCase):
    def test_is_of_the_device_and_not_of_the_memory_that_is_free(self):
        with tempfile.TemporaryDirectory() as folder:
            run = jobs.Run(Path(folder, "out"), 60, dict(os.environ))
            run.device, run.tenon = "0:0", str(Path(folder, "tenon"))
            told = []
            for name, memory in (("A card", "16.3 GiB"), ("A card", "9 GiB"), ("Another", "9 GiB")):
                Path(run.tenon).write_text(f"#!/bin/sh\necho '* 0:0 GPU 132 {memory} {name}'\n", encoding="utf-8")
                Path(run.tenon).chmod(0o755)
                told.append(building.says_of_itself(run))
            self.assertEqual(told[0], told[1])
            self.assertNotEqual(told[1], told[2])


class Whole(unittest.TestCase):
    """All that runs on any device, in the build that is there."""

    def test_what_was_compiled_ahead_is_so_again_where_the_archive_had_no_room_for_it(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            listing = folder / "bench.sh"
            listing.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
            listing.chmod(0o755)
            run = jobs.Run(folder / "out", 60, dict(os.environ))
            run.device, run.quick, run.processes, run.bench = "cpu", True, 1, str(listing)
            for room, again in ((archive.MOST, "skipped"), (0, "ok")):
                stages.ahead(run)
                archive.write(run, folder / "a.tar.gz", most=room)
                archive.resume(folder / "a.tar.gz", folder / f"room-{room}")
                fresh = jobs.Run(folder / f"room-{room}", 60, dict(os.environ))
                fresh.device, fresh.quick, fresh.processes, fresh.bench = "cpu", True, 1, str(listing)
                before = fresh.state["jobs"]["ahead/f32-1"]
                stages.ahead(fresh)
                self.assertEqual(fresh.state["jobs"]["ahead/f32-1"] is before, again == "skipped", room)

    def test_a_run_goes_on_from_its_archive_twice(self):
        """As on a machine that is lent for a few calls: each begins with nothing but the archive of the one before."""
        with tempfile.TemporaryDirectory() as folder:
            folder, kept = Path(folder), Path(folder, "kept.tar.gz")
            common = ["--build", BUILD, "--device", "cpu", "--quick", "--budget", "400", "--archive", str(kept)]
            calls = [(["--stages", "host,build,facts,ceilings,selftest"], "first"),
                     (["--stages", "host,build,facts,ceilings,selftest,ahead,bench,sweep"], "second"),
                     (["--stages", "host,build,facts,ceilings,selftest,ahead,bench,sweep"], "third")]
            told = []
            for number, (more, name) in enumerate(calls):
                done = gpu(*common, *more, "--out", str(folder / name), *(["--resume", str(kept)] if number else []), TENON_CACHE="1")
                text = (folder / name / "REPORT.md").read_text(encoding="utf-8")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr + text)
                told.append(done.stdout)
                if number < 2:
                    subprocess.run(["rm", "-rf", folder / name], check=True)
            out = folder / "third"
            self.check_results(out, text)
            found = json.loads((out / "report.json").read_text(encoding="utf-8"))
            measured = [j for j in found["jobs"] if re.match("(facts|questions|ceilings|selftest|ahead|bench)/", j)]
            first = [j for j in measured if not j.startswith(("ahead/", "bench/"))]
            done_before = [[j for j in re.findall("^  (.*): done before$", t, re.M) if not j.startswith("host/")] for t in told]
            self.assertEqual(done_before, [[], first, measured])
            self.assertTrue(list((out / "cache" / "tenon").glob("*.check")), "what was checked need not be checked again")

    def check_results(self, out, text):
        for name in ("host", "facts", "questions", "ceilings", "solvers", "selftest", "sweep", "report", "bench/gemm-f32"):
            with open(out / (name + ".json"), encoding="utf-8") as file:
                json.load(file)
        for heading in ("## Ceilings", "## What it can do", "## What its driver does", "## gemm", "## Parameters", "## Jobs",
                        "## The device model"):
            self.assertIn(heading, text)
        found = json.loads((out / "report.json").read_text(encoding="utf-8"))
        self.assertEqual((found["failures"], found["surprises"]), ([], []))
        self.assertTrue(all(c["verified"] and c["value"] > 0 for c in found["ceilings"].values()), found["ceilings"])
        answers = json.loads((out / "questions.json").read_text(encoding="utf-8"))
        self.assertEqual(list(answers), stages.QUESTIONS)
        swept = json.loads((out / "sweep.json").read_text(encoding="utf-8"))[0]
        self.assertGreater(len(swept["results"]), 1)
        self.assertTrue(all("kernels" in one or "why" in one for one in swept["built"]), swept["built"])
        self.assertTrue(all(one["verdict"] == "right" for one in json.loads((out / "selftest.json").read_text(encoding="utf-8"))))

    def test_a_driver_that_gives_less_local_memory_than_it_says_is_told(self):
        """PoCL ends the process then; what was answered before is kept, and the rest goes on."""
        with tempfile.TemporaryDirectory() as folder:
            done = gpu("--build", BUILD, "--out", folder + "/out", "--device", "cpu", "--quick", "--stages", "host,build,facts",
                       LD_PRELOAD=FAKE, FAKE_LOCAL_MEMORY=str(1 << 26))
            answers = jobs.read_json(Path(folder, "out", "questions.json"))
            self.assertEqual(answers["local-array"][0], {"what": "16 KiB", "works": True, "why": ""}, done.stdout)
            self.assertFalse(answers["local-array"][-1]["works"])
            self.assertEqual([row["works"] for row in answers["groups"]], [True] * 6)
            text = Path(folder, "out", "REPORT.md").read_text(encoding="utf-8")
            self.assertRegex(text, "local-array ended its process|does not get the local memory")

    def test_ended_from_outside_it_keeps_what_it_has(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen([sys.executable, os.path.join(SOURCE, "scripts", "gpu"), "--build", BUILD, "--out", folder + "/out",
                                        "--device", "cpu", "--quick", "--stages", "host,build,ceilings"], stdout=subprocess.PIPE, text=True)
            for line in process.stdout:
                if line.startswith("ceilings"):
                    process.send_signal(signal.SIGTERM)
                    break
            rest = process.communicate(timeout=LONG)[0]
            self.assertEqual(process.returncode, 130, rest)
            self.assertIn("what was measured is kept", rest)
            with tarfile.open(folder + "/out.tar.gz") as tar:
                self.assertIn("report.json", tar.getnames())

    def test_a_device_that_is_not_there_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            done = gpu("--build", BUILD, "--out", folder, "--device", "no-such-device", "--quick", "--stages", "host,build,ceilings")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("no-such-device", Path(folder, "logs", "ceilings-all.log").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()

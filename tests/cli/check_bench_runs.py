#!/usr/bin/env python3
"""Tests runs of tenon-bench: what result files say about the build, the machine and the devices, ceilings, first use, and
predictions. The arguments are those of bench_program.py."""
import os
import pty
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from bench_program import BENCH, LOST_DRIVER, QUICK, Bench, bench, read_results

CASE = ["--suite", "gemm", "--filter", "64x64x64"]


class Moving:
    """Rewrites files every few milliseconds with the text for the next step. `texts` has their functions by path."""

    def __init__(self, texts):
        self.texts, self.stopped = texts, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def write(self, step):
        for path, text_of in self.texts.items():
            new = path.with_name("new")
            new.write_text(text_of(step), encoding="utf-8")
            new.rename(path)

    def run(self):
        step = 1
        while not self.stopped.wait(0.002):
            self.write(step)
            step += 1

    def __enter__(self):
        self.write(0)
        self.thread.start()

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()


class Provenance(Bench):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.proc, self.sys = Path(folder.name, "proc"), Path(folder.name, "sys")
        self.proc.mkdir()
        self.sys.mkdir()

    def measure(self, *args):
        found, done = self.run_json(*QUICK, *CASE, *args, TENON_BENCH_PROC=str(self.proc), TENON_BENCH_SYS=str(self.sys))
        return found, found["results"][0], done.stdout

    def test_the_build_and_the_host_are_described(self):
        found, _ = self.run_json(*QUICK, *CASE)
        build = found["build"]
        self.assertEqual(build["tree"] == "unknown", build["commit"] == "unknown")
        self.assertRegex(build["compiler"], r"^\S+ \d+\.")
        self.assertIn("-Dbuildtype=", build["flags"])
        self.assertLessEqual(found["host"]["threads"], os.cpu_count())
        self.assertIn(found["store"], ("off", "cold", "warm"))

    def test_nothing_is_invented_where_the_system_reports_nothing(self):
        found, result, _ = self.measure()
        self.assertEqual(found["host"]["clock_mhz"], {"before": None, "after": None})
        self.assertEqual(result["load"], {"other": None, "steal": None, "disturbed": False, "repeats": 0})
        self.assertIsNone(found["energy"])
        self.assertNotIn("energy_nj", result)

    def test_clocks_are_means(self):
        (self.proc / "cpuinfo").write_text("cpu MHz\t\t: 2000.0\nmodel name : x\ncpu MHz\t\t: 3000.0\n")
        self.assertEqual(self.measure()[0]["host"]["clock_mhz"], {"before": 2500, "after": 2500})
        governor = self.sys / "devices/system/cpu/cpu0/cpufreq"
        governor.mkdir(parents=True)
        (governor / "scaling_cur_freq").write_text("1234000\n")
        self.assertEqual(self.measure()[0]["host"]["clock_mhz"], {"before": 1234, "after": 1234})

    def load(self, text_of, *args):
        with Moving({self.proc / "stat": text_of}):
            _, result, printed = self.measure(*args)
        return result["load"], printed

    def test_stolen_time_repeats_a_case(self):
        def stolen(step):  # user, nice, system, idle, iowait, irq, softirq, steal
            return f"cpu {step} 0 0 {6 * step} 0 0 0 {3 * step} 0 0\n"
        load, printed = self.load(stolen, "--repeats", "3")
        self.assertEqual((load["disturbed"], load["repeats"]), (True, 3))
        self.assertAlmostEqual(load["steal"], 0.3, delta=0.02)
        self.assertIn("disturbed: 10 % other load, 30 % stolen", printed)
        self.assertEqual(self.load(stolen, "--repeats", "0")[0]["repeats"], 0)

    def test_work_of_other_processes_is_told_from_own_work(self):
        def busy(step):
            return f"cpu {5 * step} 0 0 {5 * step} 0 0 0 0 0 0\n"
        load, _ = self.load(busy, "--repeats", "0")
        self.assertAlmostEqual(load["other"], 0.5, delta=0.02)
        self.assertEqual((load["disturbed"], load["steal"]), (True, 0))

        def idle(step):
            return f"cpu {step} 0 0 {99 * step} 0 0 0 0 0 0\n"
        load, _ = self.load(idle)
        self.assertEqual((load["disturbed"], load["repeats"]), (False, 0))

    def test_descendants_are_own_work(self):
        """The imaginary /proc has tenon-bench, two children with a child each, and a process that is no relative. All of them
        work. One grandchild is created before its parent, the other one after it: folders are listed in any order."""
        path = self.proc / "r.json"
        args = [BENCH, *QUICK, *CASE, "--time", "0.5", "--repeats", "0", "--json", str(path)]
        with subprocess.Popen(["sh", "-c", 'read line; exec "$@"', "sh", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env={**os.environ, "TENON_BENCH_PROC": str(self.proc),
                                                                        "TENON_BENCH_SYS": str(self.sys)}) as process:
            texts = {self.proc / "stat": lambda step: f"cpu {10 * step} 0 0 {10 * step} 0 0 0 0 0 0\n"}
            own = process.pid
            for number, parent, ticks in ((own, 1, 1), (own + 1, own, 1), (own + 2, own + 1, 2), (own + 3, own + 4, 2),
                                          (own + 4, own, 1), (own + 5, 1, 2)):
                (self.proc / str(number)).mkdir()
                texts[self.proc / str(number) / "stat"] = lambda step, n=number, p=parent, t=ticks: (
                    f"{n} (a ) b) S {p} 0 0 0 0 0 0 0 0 0 {t * step} 0 0 0 20 0 1 0 0\n")
            with Moving(texts):
                printed, _ = process.communicate("start\n")
        self.assertEqual(process.returncode, 0, printed)
        load = read_results(path)["results"][0]["load"]
        # Of 20 ticks in each step, 10 are busy, of which 7 are those of tenon-bench and its descendants.
        self.assertAlmostEqual(load["other"], 0.15, delta=0.05)

    def test_energy_is_read_from_rapl(self):
        package = self.sys / "class/powercap/intel-rapl:0"
        package.mkdir(parents=True)
        (package / "max_energy_range_uj").write_text("999999\n")
        with Moving({package / "energy_uj": lambda step: f"{step * 5000 % 1000000}\n"}):  # wraps around after 0.4 s
            found, result, _ = self.measure("--time", "0.5")
        if found["energy"] is None:
            self.skipTest("the device is not a CPU")
        self.assertEqual(found["energy"], "rapl")
        # 5 mJ in 2 ms or more, beside the time to write the file.
        self.assertGreater(result["energy_nj"], 0)
        self.assertLess(result["energy_nj"], 2.6 * result["median_ns"] * 4)

    def test_unreadable_energy_is_absent(self):
        package = self.sys / "class/powercap/intel-rapl:0"
        package.mkdir(parents=True)
        (package / "energy_uj").write_text("not a number\n")
        self.assertIsNone(self.measure()[0]["energy"])


class Ceilings(Bench):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = {"TENON_CACHE": "1", "TENON_CACHE_DIR": folder.name}

    def test_ceilings_are_measured_once(self):
        first, printed = self.run_json(*QUICK, *CASE, **self.store)
        self.assertIn("measuring the limits of the device", printed.stdout)
        again, printed = self.run_json(*QUICK, "--suite", "gemm,activation", "--filter", "64", **self.store)
        self.assertNotIn("measuring the limits", printed.stdout)
        self.assertRegex(printed.stdout, r"(?m)^  read +[\d.]+ GB/s +\([\d.]+ to [\d.]+\)$")
        self.assertEqual((first["store"], again["store"]), ("cold", "warm"))
        self.assertEqual(first["devices"][0]["ceilings"], again["devices"][0]["ceilings"])
        limits = first["devices"][0]["ceilings"]["limits"]
        self.assertLessEqual({"vector", "bandwidth", "launch"}, {limit["kind"] for limit in limits})
        for limit in limits:
            self.assertTrue(limit["verified"], limit)
            self.assertLessEqual(limit["low"], limit["value"] * 1.000001, limit)
            self.assertLessEqual(limit["value"], limit["high"] * 1.000001, limit)
        self.check_shares(limits, again["results"])

    def check_shares(self, limits, results):
        """The binding ceiling is the one that needs the most time."""
        by_name = {limit["name"]: limit for limit in limits}
        launch = 1e3 * by_name["a launch in a row"]["value"]
        rate = max(limit["value"] for limit in limits if limit["kind"] in ("vector", "matrix") and limit["dtype"] == "f32")
        for result in results:
            operations, size = (result[unit] * result["median_ns"] for unit in ("gflops", "gbps"))
            arithmetic = operations / rate
            roof = result["roofline"]
            binding = by_name[roof["ceiling"]]
            needed = {"launch": launch, "vector": arithmetic, "matrix": arithmetic}.get(binding["kind"], size / binding["value"])
            self.assertAlmostEqual(roof["attainable_ns"] / needed, 1, places=5)
            self.assertGreaterEqual(roof["attainable_ns"], 0.99999 * max(launch, arithmetic))
            self.assertAlmostEqual(roof["share"], roof["attainable_ns"] / result["median_ns"], places=5)

    def test_without_a_store_there_are_none(self):
        found, printed = self.run_json(*QUICK, *CASE, TENON_CACHE="0")
        self.assertIsNone(found["devices"][0]["ceilings"])
        self.assertIsNone(found["results"][0]["roofline"])
        self.assertEqual(found["store"], "off")
        self.assertIn("no ceilings", printed.stdout)

    def test_caches_are_those_that_the_system_reports(self):
        with tempfile.TemporaryDirectory() as folder:
            for index, level, kind, size in ((0, 1, "Data", "32K"), (1, 1, "Instruction", "64K"), (2, 2, "Unified", "256K")):
                cache = Path(folder, f"devices/system/cpu/cpu0/cache/index{index}")
                cache.mkdir(parents=True)
                for name, text in (("level", level), ("type", kind), ("size", size), ("shared_cpu_list", "0-1")):
                    (cache / name).write_text(f"{text}\n")
            found, _ = self.run_json("ceilings", "--filter", "read from", valid=False, TENON_BENCH_SYS=folder, **self.store)
        levels = {limit["level"]: limit for limit in found["ceilings"]}
        if set(levels) - {"L1", "L2"} or not levels:
            self.skipTest("the device is not a CPU")
        units = found["device"]["compute_units"]
        # The greatest power of two up to three quarters of a processor's part.
        self.assertEqual({level: limit["window"] for level, limit in levels.items()},
                         {"L1": units << 13, "L2": units << 16})
        self.assertEqual(found["left_out"], [{"name": "read from L3", "why": "the system does not report the cache's size"}])


class Devices(Bench):
    def run_on(self, devices, **environment):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            done = subprocess.run([BENCH, *QUICK, *CASE, "--device", devices, "--json", path], capture_output=True, text=True,
                                  check=False, env={**os.environ, **environment})
            return done, read_results(path) if os.path.exists(path) else None

    def first(self):
        """Returns the selector of the first device."""
        _, found = self.run_on("all")
        return found["devices"][0]["selector"]

    def test_all_devices_are_measured(self):
        done, found = self.run_on("all")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([r["device"] for r in found["results"]], list(range(len(found["devices"]))))
        self.assertEqual(len({d["selector"] for d in found["devices"]}), len(found["devices"]))

    def test_parts_of_a_device_and_unknown_devices(self):
        part = self.first() + "/1"
        done, found = self.run_on(f"{part},nothing-like-it,{self.first()}")
        self.assertEqual(done.returncode, 1)
        self.assertFalse(found["complete"])
        self.assertEqual([d["selector"] for d in found["devices"]], [part, "nothing-like-it", self.first()])
        self.assertIn("nothing-like-it", found["devices"][1]["failed"])
        self.assertEqual([(f["device"], "suite" in f) for f in found["failures"]], [(1, False)])
        self.assertEqual([r["device"] for r in found["results"]], [0, 2])
        self.assertRegex(done.stdout, r"(?m)^nothing-like-it +failed: ")

    def test_a_lost_device_does_not_end_the_run(self):
        first = self.first()
        done, found = self.run_on(f"{first},{first}/1", LD_PRELOAD=LOST_DRIVER, LOST_KERNEL="gemm_cpu_direct", TENON_CACHE="0")
        if done.returncode == 0:
            self.skipTest("another kernel runs on this device")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual([r["device"] for r in found["results"]], [1], done.stderr)
        self.assertIn("failed", found["devices"][0])
        self.assertNotIn("failed", found["devices"][1])
        self.assertEqual({f["device"] for f in found["failures"]}, {0})
        self.assertIn("the device has failed", done.stderr)

    def test_invalid_lists(self):
        done, _ = self.run_on("")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--device: the value is missing", done.stderr)
        for devices in ("cpu,", ",cpu"):
            done, found = self.run_on(devices)
            self.assertEqual((done.returncode, found), (1, None))
            self.assertIn("--device: a selector is empty", done.stderr)


class FirstUse(Bench):
    def test_results_are_written(self):
        found, done = self.run_json("first", "2", "tiny")
        self.assertEqual([r["caches"] for r in found["results"]], ["cold", "warm"])
        for r in found["results"]:
            first, second = r["rounds_ns"]
            self.assertTrue(min(first, second) <= r["median_ns"] <= max(first, second), r)
            self.assertIn(f'{r["median_ns"] / 1e6:.1f}', done.stdout)
        self.assertNotEqual(found["devices"][0]["name"], "")

    def first_in(self, folder, **environment):
        """Starts "tenon-bench first" with this temporary folder."""
        return subprocess.Popen([BENCH, "first", "1", "tiny"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "TMPDIR": folder, **environment}, start_new_session=True)

    def test_an_interruption_leaves_no_files(self):
        """A signal to the command alone, and Ctrl-C, which the terminal sends to a process group."""
        for end in (lambda pid: os.kill(pid, signal.SIGTERM), lambda pid: os.killpg(pid, signal.SIGINT)):
            with tempfile.TemporaryDirectory() as folder, self.first_in(folder) as process:
                while process.poll() is None and not any(Path(folder).glob("*/driver")):
                    time.sleep(0.01)
                end(process.pid)
                said = process.communicate()[1]
                self.assertEqual((process.returncode, said, os.listdir(folder)), (130, "", []))

    def test_a_failure_leaves_no_files(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as none, \
                self.first_in(folder, OCL_ICD_VENDORS=none) as process:
            said = process.communicate()[1]
            self.assertEqual((process.returncode, os.listdir(folder)), (1, []), said)
            self.assertIn("a process failed", said)

    def test_wrong_usage(self):
        for args, why in ((["0"], 'ROUNDS: "0" is not'), (["33"], 'ROUNDS: "33" is not'), (["2x"], 'ROUNDS: "2x" is not'),
                          (["1", "a", "b"], 'unexpected argument "b"'), (["--json", "/no/such/folder/x"], "/no/such/folder/x")):
            done = bench("first", *args)
            self.assertEqual((done.returncode, done.stdout), (2, ""), args)
            self.assertIn(why, done.stderr)
        done = bench("first", "1", "no such network")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such network", done.stderr)


class Predictions(Bench):
    def test_predictions_are_labelled(self):
        found, done = self.run_json("predict", "--target", "sm_90", "--suite", "gemm-gpu,conv-gpu,bandwidth-gpu")
        self.assertTrue(found["predicted"])
        self.assertTrue(found["complete"])
        self.assertEqual([d["kind"] for d in found["devices"]], ["sm_90"])
        listed = [line.split(maxsplit=1) for line in bench("list").stdout.splitlines()]
        for suite in ("gemm-gpu", "conv-gpu"):
            self.assertEqual([r["case"] for r in found["results"] if r["suite"] == suite],
                             [name for s, name in listed if s == suite])
        self.assertTrue(all(r["predicted"] and r["median_ns"] > 0 for r in found["results"]))
        self.assertIn("nothing is measured", done.stdout)

    def test_estimates_are_those_of_the_model(self):
        """A large product takes longer than a small one, and the rate follows from the estimate."""
        found, _ = self.run_json("predict", "--target", "cpu_16", "--suite", "gemm", "--filter", "square")
        times = {r["case"]: r for r in found["results"]}
        large, small = times["square 2048x2048x2048"], times["square 512x512x512"]
        self.assertGreater(large["median_ns"], 8 * small["median_ns"])
        self.assertAlmostEqual(large["gflops"] * large["median_ns"] / (2 * 2048 ** 3), 1, places=6)

    def test_cases_that_need_a_device_are_left_out(self):
        found, done = self.run_json("predict", "--target", "gfx942", "--suite", "packed-cpu,gemm-gpu")
        self.assertEqual({r["suite"] for r in found["results"]}, {"gemm-gpu"})
        self.assertIn("are left out", done.stderr)

    def test_wrong_usage(self):
        for args, why in (([], "--target NAME is missing, allowed: "), (["--target", "sm_9000"], 'unknown target "sm_9000"'),
                          (["--target", "sm_90", "--filter", "no such case"], "no such case")):
            done = bench("predict", *args)
            self.assertEqual((done.returncode, done.stdout), (2, ""), args)
            self.assertIn(why, done.stderr)


class Samples(Bench):
    def test_quick_runs_have_a_few_cases_of_each_suite(self):
        found, _ = self.run_json("run", "--quick", "--peers", "none", "--time", "0.01", "--repeats", "0", "--suite",
                                 "reduce,networks,gemm-gpu,activation", "--no-verify")
        suites = [r["suite"] for r in found["results"]]
        for suite in ("reduce", "activation"):
            self.assertEqual(suites.count(suite), 2, suites)
        self.assertTrue(all("tiny" in r["case"] for r in found["results"] if r["suite"] == "networks"))

    def test_a_terminal_shows_the_progress(self):
        own, other = pty.openpty()
        self.addCleanup(os.close, own)
        with os.fdopen(other, "wb", buffering=0) as terminal:
            subprocess.run([BENCH, *QUICK, "--suite", "gemm", "--filter", "64", "--no-verify"], stdout=subprocess.DEVNULL,
                           stderr=terminal, check=True)
            shown = os.read(own, 1 << 16).decode(errors="replace")
        self.assertRegex(shown, r"\[\.{20}\] 0/\d+, \d+:\d\d left  square 64x64x64")
        self.assertRegex(shown, r"\[#+\.*\] 1/\d+, \d+:\d\d left  ")

    def test_repeats_are_checked(self):
        for text in ("-1", "many"):
            done = bench("run", "--repeats", text)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--repeats", done.stderr)

    def test_time_passes_between_results(self):
        """A run of a case takes about the requested time."""
        start = time.monotonic()
        self.results(*CASE, "--time", "0.3")
        self.assertGreater(time.monotonic() - start, 0.3)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests the output and the exit status of the `tenon` command.

    check.py path/to/tenon path/to/libspoiled_driver.so
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import solvers  # noqa: E402

TENON = sys.argv.pop(1) if len(sys.argv) > 1 else "build/tools/tenon"
SPOILED_DRIVER = sys.argv.pop(1) if len(sys.argv) > 1 else "build/tests/cli/libspoiled_driver.so"


def tenon(*args, **environment):
    return subprocess.run([TENON, *args], capture_output=True, text=True, check=False,
                          env=dict(os.environ, **environment))


class Command(unittest.TestCase):
    def succeeds(self, *args, **environment):
        """Runs the command, which must succeed. Returns the process."""
        done = tenon(*args, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done


class Nvidia(Command):
    def test_a_driver_without_opencl_is_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "libcuda.so.1").symlink_to(Path(SPOILED_DRIVER).resolve())
            paths = [folder, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
            done = tenon("devices", LD_LIBRARY_PATH=":".join(paths))
            if "NVIDIA" in done.stdout:
                self.skipTest("NVIDIA's OpenCL platform is installed")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("libnvidia-opencl.so.1", done.stderr)
            self.assertIn("/etc/OpenCL/vendors/nvidia.icd", done.stderr)

    def test_ptx_is_edited(self):
        with tempfile.TemporaryDirectory() as folder:
            ptx = Path(folder, "k.ptx")
            ptx.write_text(".version 8.4\n.target sm_90\n//tenon:wgmma.fence.sync.aligned;\n"
                           ".shared .align 16 .b8 k_tenon_grows[16];\n", encoding="utf-8")
            options = "-DTENON_PTX_EDIT=1 -DTENON_LOCAL_ENLARGED=4096"
            done = self.succeeds("kernels", "--edit-ptx", str(ptx), "--options", options)
            self.assertEqual(done.stdout, ".version 8.4\n.target sm_90a\nwgmma.fence.sync.aligned;\n"
                                          ".shared .align 16 .b8 k_tenon_grows[4096];\n")
            ptx.write_text(".target sm_80\n", encoding="utf-8")
            done = tenon("kernels", "--edit-ptx", str(ptx))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("not for sm_90", done.stderr)
            done = tenon("kernels", "--edit-ptx", str(Path(folder, "none")))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("No such file", done.stderr)


# The commands, with arguments that they refuse and a part of the error.
WRONG_USAGE = (
    ((), "usage"), (("no-such-command",), "usage"), (("help", "no-such-command"), "usage"),
    (("help", "devices", "extra"), "usage"), (("devices", "--no-such-option"), "usage"),
    (("devices", "--device"), "usage"), (("devices", "extra"), "usage"),
    (("check",), "SOLVER"), (("check", "gemm/none", "a=f32:3x5"), "gemm/none"), (("check", "gemm", "a=f32:3x"), "shape"),
    (("check", "gemm", "a=f32:3x5"), "missing"), (("check", "--device"), "--device"),
    (("solvers", "nothing"), "nothing"), (("solvers", "pool", "extra"), "extra"),
    (("explain", "gemm", "5xx"), "5xx"), (("explain",), "SOLVER"), (("explain", "nothing"), "nothing"),
    (("explain", "gemm", "5x5x5", "--target", "sm_20"), "sm_20"), (("explain", "gemm", "5x5x5", "--dtype", "f33"), "f33"),
    (("explain", "gemm", "5x5x5", "--target"), "--target: the value is missing"),
    (("explain", "gemm", "5x5x5", "--target="), "--target: the value is missing"),
    (("devices", "--verbose=1"), "--verbose=1: the option takes no value"),
    (("check", "gemm", "--seed", "1.5"), '--seed: "1.5" is not an integer'),
    (("check", "gemm", "--seed", "-1"), '--seed: "-1" is not an integer'),
    (("check", "gemm", "--seed", "18446744073709551616"), "18446744073709551616"),
    (("selftest", "--filter"), "usage"), (("selftest", "--solver"), "usage"), (("selftest", "--seed", "x"), "usage"),
    (("selftest", "extra"), "usage"),
    (("kernels", "--target", "sm_20"), "usage"), (("kernels", "--target"), "usage"), (("kernels", "--nothing", "x"), "usage"))
FAILURES = (
    (("check", "gemm/gemv_dot", "a=f32:3x5", "b=f32:5x4", "d=f32:3x4"), "vector"),
    (("check", "gemm", "a=f32:3x5", "b=f32:4x4", "d=f32:3x4"), "sizes do not match"),
    (("check", "copy", "x=f32:3", "y=f32:3", "--device", "none"), "none"),
    (("selftest", "--filter", "no-such"), "no-such"), (("selftest", "--solver", "dropout/no-such"), "dropout/no-such"),
    (("selftest", "--device", "none"), "none"),
    (("kernels", "--target", "sm_90", "--call", "gemm a=f32:3x5"), "tenon"),
    (("kernels", "--target", "sm_90", "--sources", "/proc/nothing/here"), "/proc/nothing"))


class Usage(Command):
    def test_errors_are_printed_to_standard_error(self):
        for status, cases in ((2, WRONG_USAGE), (1, FAILURES)):
            for args, why in cases:
                done = tenon(*args)
                self.assertEqual((done.returncode, done.stdout), (status, ""), args)
                self.assertIn(why, done.stderr.lower() if why == "usage" else done.stderr, args)
                if args[:1] == ("explain",):
                    self.assertNotIn("tenon check:", done.stderr, args)

    def test_help_goes_to_standard_output(self):
        for args in (["help"], ["--help"]):
            done = self.succeeds(*args)
            self.assertIn("usage", done.stdout.lower())
            self.assertIn("devices", done.stdout)

    def test_version(self):
        done = self.succeeds("--version")
        self.assertRegex(done.stdout, r"^tenon \d+\.\d+\.\d+")

    def test_help_on_a_command(self):
        by_name, by_option = self.succeeds("help", "devices"), tenon("devices", "--help")
        self.assertEqual(by_name.stdout, by_option.stdout)
        self.assertIn("--device", by_name.stdout)

    def test_unwritable_output_is_a_failure(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([TENON, "--version"], stdout=full, stderr=subprocess.PIPE,
                                  text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr)


class Devices(Command):
    def test_lists_a_device(self):
        done = self.succeeds("devices")
        self.assertRegex(done.stdout, r"\b0:0\b")

    def test_marks_one_default(self):
        done = tenon("devices", TENON_DEVICE="0:0")
        marked = [line for line in done.stdout.splitlines() if re.match(r"\* \d+:\d+ ", line)]
        self.assertEqual([line.split()[1] for line in marked], ["0:0"], done.stdout)

    def test_an_unknown_default_still_lists_devices(self):
        done = self.succeeds("devices", TENON_DEVICE="no-such-device")
        self.assertRegex(done.stdout, r"\b0:0\b")
        self.assertIn("no-such-device", done.stderr)

    def test_one_device(self):
        done = self.succeeds("devices", "--device", "0:0")
        self.assertEqual(re.findall(r"\b\d+:\d+\b", done.stdout), ["0:0"], done.stdout)

    def test_an_unknown_selector_lists_the_devices(self):
        for args in ((), ("-v",)):
            done = tenon("devices", *args, "--device", "no-such-device")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("no-such-device", done.stderr)
            self.assertRegex(done.stderr, r"\b0:0\b")

    def test_verbose_lists_every_capability_with_its_reason(self):
        done = self.succeeds("devices", "-v", "--device", "0:0")
        for name in ("f64", "f16", "hardware_fma", "sub_groups", "nontemporal_store", "int8_dot",
                     "nvidia_ptx", "nvidia_mma", "intel_matrix", "nvidia_mma_turing",
                     "nvidia_ldmatrix", "nvidia_cp_async", "nvidia_wgmma", "amd_mfma", "amd_wmma",
                     "x86_dot"):
            self.assertRegex(done.stdout, rf"(?m)^ +{name} +(yes|no ) +\S", done.stdout)
        for label in ("vendor", "driver", "vector width", "local memory", "unified memory"):
            self.assertIn(label, done.stdout)
        for line in done.stdout.splitlines():
            self.assertLessEqual(len(line), 100, line)

    def test_verbose_prints_more(self):
        short, long = tenon("devices"), self.succeeds("devices", "-v")
        self.assertGreater(len(long.stdout), len(short.stdout))

    def test_missing_drivers_are_reported(self):
        done = tenon("devices", OCL_ICD_VENDORS="/nonexistent", OPENCL_VENDOR_PATH="/nonexistent")
        # A loader that ignores these variables still finds the devices.
        self.assertEqual(done.returncode, 0 if "0:0" in done.stdout else 1)
        self.assertNotEqual(done.stdout + done.stderr, "")
        if done.returncode == 1:
            self.assertIn("no OpenCL device", done.stderr)
            self.assertIn("install an OpenCL driver", done.stderr)

    def test_without_drivers_the_error_says_what_to_install(self):
        done = tenon("check", "softmax", "x=f32:3x5", "y=f32:3x5", OCL_ICD_VENDORS="/nonexistent",
                     OPENCL_VENDOR_PATH="/nonexistent", TENON_DEVICE="")
        if done.returncode != 0:
            self.assertRegex(done.stderr, "tenon_context_create: no OpenCL device was found: no OpenCL "
                                          "driver is installed; install an OpenCL driver .*pocl-opencl-icd")


class Check(Command):
    CASE = ("gemm/plain", "a=f32:3x5/9,1+2", "b=f32:5x4", "c=@d", "d=f32:3x4", "beta=0.5")

    def test_a_correct_case(self):
        done = self.succeeds("check", *self.CASE, "--seed", "7")
        self.assertRegex(done.stdout, r"^right: gemm/plain, largest error 0\.\d+ of its bound\n$")
        self.assertEqual(done.stdout, tenon("check", *self.CASE, "--seed", "7").stdout)

    def test_the_device_can_be_named_anywhere(self):
        done = self.succeeds("check", "--device", "0:0", *self.CASE)

    def test_verbose_prints_calls_builds_and_self_checks(self):
        line = (r"(?m)^tenon: \d+\.\d us tenon_gemm gemm/plain a=f32:3x5 b=f32:5x4 c=f32:3x4 "
                r"d=f32:3x4$")
        done = self.succeeds("check", *self.CASE, TENON_VERBOSE="1", TENON_CACHE="0")
        self.assertEqual(len(re.findall(line, done.stderr)), 1, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^tenon: build of kernel gemm/plain.cl: \d+\.\d ms; ")
        self.assertRegex(done.stderr, r"(?m)^tenon: self-check of gemm/plain: \d+\.\d ms; right$")
        self.assertNotIn("tenon:", done.stdout)
        for off in ({}, {"TENON_VERBOSE": ""}, {"TENON_VERBOSE": "0"}):
            self.assertEqual(tenon("check", *self.CASE, **off).stderr, "")

    def test_verbose_prints_the_advice_of_explain(self):
        """Both use the estimates of the device's kind, because neither has a store."""
        case = ("conv", "x=f32:8x2x224x224/100352,1,448,2", "w=f32:2x1x3x3", "y=f32:8x2x224x224/100352,1,448,2",
                "groups=2", "pad_begin=1,1", "pad_end=1,1")
        advice = re.findall(r"(?m)^the same call .*", self.succeeds("explain", *case, TENON_CACHE="0").stdout)
        done = self.succeeds("check", *case, TENON_VERBOSE="1", TENON_CACHE="0")
        self.assertEqual(re.findall(r"(?m)^tenon: tenon_conv_forward: (the same call .*)", done.stderr), advice)
        self.assertEqual(tenon("check", *case, TENON_CACHE="0").stderr, "")

    def test_barred_variants_are_named(self):
        """The spoiled driver does not run the kernel, so its variants fail the self-check, and the next solver runs."""
        case = ("check", "activation", "x=f32:4096", "y=f32:4096", "activation=abs")
        self.assertIn("right: activation/dense", tenon(*case).stdout)
        done = self.succeeds(*case, LD_PRELOAD=SPOILED_DRIVER, SPOILED_KERNEL="forward_dense")
        barred = re.findall(r"^solver (\S+) is barred on .*: (.*) \(options", done.stdout, re.M)
        self.assertTrue(barred, done.stdout)
        for name, why in barred:
            self.assertRegex(name, "^activation/dense")
            self.assertRegex(why, "^element .* the reference is")
        self.assertRegex(done.stdout, r"\nright: activation/strided, [^\n]*\n$")

class Solvers(Command):
    def test_the_page_of_solvers_is_up_to_date(self):
        kept = solvers.DOCUMENT.read_text(encoding="utf-8")
        self.assertEqual(solvers.page(tenon("solvers").stdout), kept, "./run docs updates it")

    def test_descriptions_fit_a_table(self):
        listed = solvers.read(tenon("solvers").stdout)
        self.assertGreater(len(listed), 100)
        for name, facts in listed:
            self.assertIn("serves", facts, name)
            self.assertNotIn("|", "".join(facts.values()), name)

    def test_every_parameter_is_documented_once(self):
        text = (solvers.DOCUMENT.parent / "architecture.md").read_text(encoding="utf-8")
        table = text.partition("| Parameter | Meaning |\n|---|---|\n")[2].partition("\n\n")[0]
        explained = sum((re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines()), [])
        used = {word.split()[0] for _, facts in solvers.read(tenon("solvers").stdout)
                for word in facts.get("parameters", "").split(",") if word}
        self.assertEqual(sorted(explained), sorted(used))

    def test_one_operation(self):
        done = self.succeeds("solvers", "pool")
        families = {name.partition("/")[0] for name, _ in solvers.read(done.stdout)}
        self.assertEqual(families, {"pool"})

class Explain(Command):
    ROW = re.compile(r"^([* ]) +([\d.]+|-) +(\d+|-) +([\d.]+) +([\d.]+) +([\d.]+) +(\d+|-)"
                     r" +([\d.]+|-) +(\w+)  (\S+)$", re.M)

    def explain(self, *args):
        done = self.succeeds("explain", *args)
        return done.stdout, self.ROW.findall(done.stdout)

    def test_every_solver_is_a_candidate_or_has_a_reason(self):
        printed, rows = self.explain("gemm", "512x49x4608", "--target", "sm_90", "--dtype", "f16")
        names = [row[-1].partition(":")[0] for row in rows]
        refused = re.findall(r"^  (gemm/\w+): \S", printed, re.M)
        listed = {name for name, _ in solvers.read(tenon("solvers", "gemm").stdout)}
        self.assertEqual(sorted(names + refused), sorted(listed))
        times = [float("inf" if row[1] == "-" else row[1]) for row in rows]
        self.assertEqual(times, sorted(times))
        self.assertEqual([row[0] for row in rows], ["*"] + [" "] * (len(rows) - 1))
        self.assertIn(f"chosen: {rows[0][-1]}: lowest estimate\n", printed)

    def test_estimates_are_launch_time_plus_the_longer_of_compute_and_memory(self):
        call = ("gemm", "a=f32:1x1000", "b=f32:1000x1000", "d=f32:1x1000", "--target", "cpu_16")
        for _, total, _, *parts, _, _, most, name in self.explain(*call)[1]:
            launching, computing, memory = map(float, parts)
            if name == "gemm/clblast":
                self.assertEqual((total, most), ("-", "unknown"))
                continue
            self.assertIn(most, ("launch", "compute", "memory", "others"), name)
            self.assertLessEqual(float(total), launching + computing + memory + 0.2, name)
            self.assertGreaterEqual(float(total), launching + max(computing, memory) - 0.2, name)

    def test_another_operation(self):
        call = ("conv", "x=T:8x64x56x56", "w=T:64x64x3x3", "y=T:8x64x56x56", "pad_begin=1,1",
                "pad_end=1,1")
        printed, rows = self.explain(*call, "--target", "cpu_16")
        self.assertIn("conv/pointwise: the filter is not 1x1", printed)
        self.assertRegex(rows[0][-1], "^conv/winograd4:")
        columns = [row for row in rows if row[-1] == "conv/im2col_gemm"]
        self.assertEqual([row[8] for row in columns], ["others"])

    def test_a_faster_layout_is_named(self):
        images = ("conv", "w=f32:2048x1x3x3", "groups=2048", "pad_begin=1,1", "pad_end=1,1", "--target", "cpu_16")
        last = "8x2048x2x2/8192,1,4096,2048"
        printed, _ = self.explain(*images, "x=f32:8x2048x2x2", "y=f32:8x2048x2x2")
        self.assertRegex(printed, r"\nchosen: .*\nthe same call would take about \d+ % of the time "
                         r"\(\S+ of \S+ ms\) if the images had their channels last\n$")
        printed, _ = self.explain(*images, f"x=f32:{last}", f"y=f32:{last}")
        self.assertNotIn("the same call", printed)

    def test_a_requested_solver_is_chosen(self):
        printed, rows = self.explain("gemm/tiled:mb64", "100x100x100", "--target", "gfx942")
        self.assertRegex(rows[0][-1], "^gemm/tiled:mb64,")
        self.assertRegex(printed, "\nchosen: gemm/tiled:mb64,.*: requested\n$")

    def test_barred_solvers_are_not_chosen(self):
        call = ("explain", "activation", "x=f32:4096", "y=f32:4096", "activation=abs")
        self.assertIn("chosen: activation/dense:nt1: lowest estimate\n", tenon(*call).stdout)
        done = self.succeeds(*call, LD_PRELOAD=SPOILED_DRIVER, SPOILED_KERNEL="forward_dense")
        self.assertRegex(done.stdout, r"(?m)^solver activation/dense.* is barred on .*: element ")
        self.assertIn("chosen: activation/strided: lowest estimate of those not barred",
                      done.stdout)

    def test_invalid_calls_are_refused_with_a_valid_example(self):
        for verb in ("explain", "check", "tune"):
            done = tenon(verb, "softmax", "5x6")
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stdout)
            self.assertRegex(done.stderr, rf'^tenon {verb}: "5x6" is neither OPERAND=VIEW nor an operation of softmax; '
                                          "example: softmax x=f32:")
            call = done.stderr.partition("example: ")[2].split()
            self.assertEqual(tenon("check", *call).returncode, 0, call)

    def test_an_unknown_solver_is_refused_with_a_list(self):
        done = tenon("explain", "softmax/none", "x=f32:4x5", "y=f32:4x5")
        self.assertEqual(done.returncode, 2)
        listed = [name.partition("/")[2] for name, _ in solvers.read(tenon("solvers", "softmax").stdout)]
        self.assertIn(f"those of softmax are {', '.join(listed)}\n", done.stderr)

    def test_the_device_kind_is_explained(self):
        for kind, said in (("cpu_16", "the device model's CPUs with vectors of 16 f32"),
                           ("sm_90", "a kind of the device model")):
            printed, rows = self.explain("gemm", "64x64x64", "--target", kind)
            self.assertIn(f" treated as {kind}: {said}\n", printed)
            self.assertEqual("unknown" in {row[8] for row in rows},
                             "\nunknown: no estimate" in printed, printed)

    def test_packed_weights_need_no_device(self):
        for call in (("gemm_packed", "a=f32:64x64", "d=f32:64x64", "k=64", "n=64"),
                     ("conv_packed", "x=f32:1x64x9x9/5184,1,576,64", "y=f32:1x64x7x7/3136,1,448,64",
                      "filters=64", "channels=64", "filter=3,3")):
            printed, _ = self.explain(*call, "--target", "cpu_8")
            self.assertIn(f"chosen: {call[0]}/", printed)

    def test_a_call_that_no_solver_may_serve(self):
        done = tenon("explain", "gemm/cpu_packed", "5x5x5", "--target", "sm_90")
        self.assertEqual(done.returncode, 1)
        self.assertIn("made for CPUs", done.stderr)
        self.assertIn("chosen: none", done.stdout)


class Selftest(Command):
    def test_a_line_for_each_solver(self):
        done = self.succeeds("selftest", "--filter", "dropout", "--seed", "3")
        *lines, last = done.stdout.splitlines()
        self.assertGreaterEqual(len(lines), 2)
        for line in lines:
            self.assertRegex(line, r"^right +dropout")
        self.assertRegex(last, rf": {len(lines)} right, 0 wrong, 0 not supported here, in ")

    def test_solvers_by_full_names(self):
        """The name of the family alone is the automatic choice. A part of a solver's name matches nothing."""
        listed = [line for line in tenon("solvers", "dropout").stdout.splitlines() if line.startswith("dropout/")]
        for names in (["dropout"], [listed[0]], ["dropout", *listed]):
            done = self.succeeds("selftest", "--solver", ",".join(names))
            self.assertEqual(sorted(line.split()[1] for line in done.stdout.splitlines()[:-1]), sorted(names))

class Kernels(Command):
    def rows(self, *args):
        done = self.succeeds("kernels", *args)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_kernels_of_a_target(self):
        rows = self.rows("--target", "gfx942")
        self.assertEqual({row["target"] for row in rows}, {"gfx942"})
        self.assertEqual(len({tuple(row.items()) for row in rows}), len(rows), "a line is repeated")
        sources = {row["source"] for row in rows}
        for source in ("gemm/tiled", "softmax/forward", "capability/f64"):
            self.assertIn(source, sources)
        # Kernels for CPUs can be forced on a GPU, but would not be chosen.
        self.assertFalse([source for source in sources if "cpu" in source])
        self.assertTrue(any(row["chosen"] and row["usual"] for row in rows))

    def test_cpu_kernels_use_the_targets_vector_width(self):
        for target, lanes in (("cpu_4", 4), ("cpu_16", 16)):
            rows = self.rows("--target", target)
            used = {int(re.search(r"-DTENON_VW=(\d+) ", row["options"])[1])
                    for row in rows if row["source"] == "gemm/cpu_packed"}
            self.assertEqual(used, {lanes, lanes // 2}, "widths of f32 and f64")
            # Plans that split the work into blocks launch one kernel per block.
            self.assertIn("conv/columns/col2im", {row["source"] for row in rows})

    def test_cpu_kernels_are_declared_as_vectorized(self):
        """Otherwise Intel's CPU runtime would vectorize across work-items, which takes seconds per kernel."""
        declaration = (r"\n(TENON_\w*KERNEL)\s+__attribute__\(\(reqd_work_group_size\(1, 1, 1\)\)\)"
                       r"[^{]*\b%s\(")
        with tempfile.TemporaryDirectory() as folder:
            rows = self.rows("--target", "cpu_16", "--sources", folder)
            for row in rows:
                with open(os.path.join(folder, row["source"] + ".cl"), encoding="utf-8") as file:
                    found = re.search(declaration % row["kernel"], file.read())
                if found is not None:
                    self.assertEqual(found[1], "TENON_VECTOR_KERNEL", row)
                    self.assertIn(" -DTENON_CPU=1 ", row["options"])
        for row in self.rows("--target", "xe_hpc"):
            self.assertNotIn("TENON_CPU", row["options"])

    def test_a_call(self):
        call = "gemm a=f32:512x512 b=f32:512x512 d=f32:512x512"
        rows = self.rows("--target", "sm_90", "--call", call)
        self.assertTrue(rows)
        self.assertTrue(all(row["chosen"] and row["operation"] == "tenon_gemm" for row in rows), rows)
        self.assertGreater(max(row["work_group"] for row in rows), 0)

    def test_sources_contain_their_includes(self):
        with tempfile.TemporaryDirectory() as folder:
            rows = self.rows("--target", "other", "--sources", folder)
            for source in {row["source"] for row in rows}:
                with open(os.path.join(folder, source + ".cl"), encoding="utf-8") as file:
                    self.assertNotIn("\n#include \"", file.read())

if __name__ == "__main__":
    unittest.main()

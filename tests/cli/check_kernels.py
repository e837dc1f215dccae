#!/usr/bin/env python3
"""Tests ./run check-kernels: what it reads of the compilers' output, what it computes, what it reports.

    check_kernels.py path/to/scripts

Whatever needs a compiler is skipped where that is not installed.
"""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = sys.argv.pop(1) if len(sys.argv) > 1 else "scripts"
sys.path.insert(0, SCRIPTS)

import check_kernels  # noqa: E402
from offline import (compilers, interpreted, interpreter, loops, mutants, occupancy,  # noqa: E402
                     output, report, stores)

AMD = """
\tglobal_store_dword v[0:1], v2, off
\ts_endpgm
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .name:           a
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 8320
    .name:           gemm_tiled
    .private_segment_fixed_size: 264
    .sgpr_count:     100
    .sgpr_spill_count: 18
    .vgpr_count:     40
    .vgpr_spill_count: 3
    .wavefront_size: 64
  - .args:           []
    .group_segment_fixed_size: 0
    .name:           other
    .private_segment_fixed_size: 0
    .sgpr_count:     8
    .sgpr_spill_count: 0
    .vgpr_count:     5
    .vgpr_spill_count: 0
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
...
\t.end_amdgpu_metadata
"""

PTXAS = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemm_tiled' for 'sm_90'
ptxas info    : Function properties for gemm_tiled
    632 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 632 bytes cumulative stack size, 8320 bytes smem
ptxas info    : Compile time = 941.538 ms
ptxas info    : Function properties for __clang_ocl_kern_imp_gemm_tiled
    0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Compiling entry function 'plain' for 'sm_90'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 20 registers, used 0 barriers
"""

ZE_INFO = """
String dump of section '.ze_info':
[     0] version:         '1.19'
kernels:
  - name:            gemm_tiled
    execution_env:
      grf_count:       256
      simd_size:       16
      slm_size:        8320
      spill_size:      2048
    payload_arguments:
      - arg_type:        arg_bypointer
        size:            8
  - name:            plain
    execution_env:
      grf_count:       128
      simd_size:       32
"""

AMD_LOOP = """
gemm:                                   ; @gemm
; %bb.0:
\ts_load_dwordx2 s[0:1], s[4:5], 0x0
.LBB0_1:                                ; =>This Loop Header
\tglobal_load_dwordx4 v[0:3], v[8:9], off
.LBB0_2:                                ;   Parent Loop BB0_1
\tglobal_load_dword v4, v[8:9], off
\ts_cbranch_scc1 .LBB0_2
\tds_read_b128 v[0:3], v10
\tds_read2_b32 v[4:5], v11 offset1:1
\tv_fma_f32 v20, v0, v4, v20
\tv_pk_fma_f32 v[22:23], v[0:1], v[4:5], v[22:23]
\tv_mad_u64_u32 v[0:1], s[2:3], v2, v3, v[4:5]
\tv_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
\ts_cbranch_vccnz .LBB0_1
\ts_endpgm
.Lfunc_end0:
"""

PTX_LOOP = """
.visible .entry gemm(
\t.param .u64 .ptr .global .align 4 gemm_param_0
)
{
$L__BB0_2:
\tld.global.v4.b32 \t{%r1, %r2, %r3, %r4}, [%rd1];
\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%r9];
\tld.shared.v2.b32 \t{%r10, %r11}, [%r12];
\tmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r5, %r6, %r7, %r8}, {%r10, %r11}, {%f1, %f2, %f3, %f4};
\tfma.rn.f32 \t%f5, %f6, %f7, %f5;
\t@%p1 bra \t$L__BB0_2;
\tret;
}
"""

SPILLING = """
__kernel void spilling(__global float *x)
{
    float kept[264];
#pragma unroll
    for (int i = 0; i < 264; i++)
        kept[i] = x[i * 64 + get_global_id(0)];
    barrier(CLK_GLOBAL_MEM_FENCE);
#pragma unroll
    for (int i = 0; i < 264; i++)
        x[i * 64 + get_global_id(0)] = kept[i] * kept[(i * 7 + 1) % 264];
}
"""

FRAMED = """
__kernel void framed(__global int *x)
{
    int kept[264];
    for (int i = 0; i < 264; i++)
        kept[(i * 7 + x[i]) % 264] = x[i + get_global_id(0)];
    x[get_global_id(0)] = kept[x[get_global_id(0)] % 264];
}
"""

HALVES = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void halves(__global half *x)
{
    x[get_global_id(0)] *= x[get_global_id(0) + 1];
}
"""

UNRESOLVED = """
float tenon_no_such_function(float x);
__kernel void unresolved(__global float *x)
{
    x[get_global_id(0)] = tenon_no_such_function(x[get_global_id(0)]);
}
"""


class Output(unittest.TestCase):
    def test_amd_metadata(self):
        self.assertEqual(output.amd(AMD), {
            "gemm_tiled": {"local": 8320, "scratch": 264, "scalars": 100, "scalar_spills": 18,
                           "registers": 40, "spills": 3},
            "other": {"local": 0, "scratch": 0, "scalars": 8, "scalar_spills": 0, "registers": 5,
                      "spills": 0}})

    def test_amd_unresolved(self):
        text = "\ts_add_u32 s4, s4, there@rel32@lo+4\n\ts_add_u32 s6, s6, missing@gotpcrel32@lo+4\nthere:\n"
        self.assertEqual(output.amd_unresolved(text), ["missing"])

    def test_ptxas_counts_the_spills_of_a_kernels_body(self):
        self.assertEqual(output.ptxas(PTXAS), {
            "gemm_tiled": {"registers": 64, "spills": 28, "scratch": 632, "local": 8320},
            "plain": {"registers": 20, "spills": 0, "scratch": 0, "local": 0}})

    def test_ptx_unresolved(self):
        text = ".extern .func  (.param .b32 func_retval0) missing\n(\n);\n.visible .func f()\n"
        self.assertEqual(output.ptx_unresolved(text), ["missing"])

    def test_igc_spills(self):
        log = "warning: kernel gemm_tiled  compiled SIMD32 allocated 128 regs and spilled around 38\nBuild succeeded.\n"
        self.assertEqual(output.igc_spills(log), {"gemm_tiled": (32, 128, 38)})

    def test_ze_info(self):
        self.assertEqual(output.ze_info(ZE_INFO), {
            "gemm_tiled": {"registers": 256, "simd": 16, "local": 8320, "spills": 2048, "scratch": 0},
            "plain": {"registers": 128, "simd": 32, "local": 0, "spills": 0, "scratch": 0}})

    def test_a_binary_that_is_none_has_no_kernels(self):
        self.assertEqual(output.patch_tokens(b"nothing of the kind"), {})


class Loops(unittest.TestCase):
    def machine(self, name):
        return next(m for m in compilers.MACHINES if m.name == name)

    def test_amd(self):
        # 1 + 2 + 32 · 32 · 8 / 64 multiply-adds; 16 + 8 bytes local; 16 + 4 global.
        expected = {"gemm": {"macs": 131, "matrix": 1, "local": 24, "global": 20}}
        self.assertEqual(loops.main_loops(AMD_LOOP, self.machine("gfx90a")), expected)
        newer = AMD_LOOP.replace("ds_read_b", "ds_load_b").replace("ds_read2_b", "ds_load_2addr_b") \
                        .replace("load_dwordx4", "load_b128").replace("load_dword ", "load_b32 ")
        self.assertEqual(loops.main_loops(newer, self.machine("gfx90a")), expected)

    def test_nvidia(self):
        # 16 · 8 · 16 / 32 + 1 multiply-adds.
        self.assertEqual(loops.main_loops(PTX_LOOP, self.machine("sm_80")),
                         {"gemm": {"macs": 65, "matrix": 1, "local": 24, "global": 16}})


# A turn of "near" that stores has 2 + 2 instructions; by way of "far" 3 more. The loop behind them stores less.
PTX_STORE = """
.visible .entry gemm(
)
{
	.reg .b32 %r<9>;
$L__BB0_1:
	mov.b32 	%r1, 0; // a comment
	@%p1 bra 	$L__BB0_3;
	mul.f32 	%r2, %r2, %r2;
	mul.f32 	%r2, %r2, %r2;
	bra.uni 	$L__BB0_3;
$L__BB0_3:
	st.global.v4.b32 	[%rd1], {%r1, %r2, %r3, %r4};
	$L_brx_0: .branchtargets
		$L__BB0_1,
		$L__BB0_4;
	brx.idx 	%r1, $L_brx_0;
$L__BB0_4:
	st.global.b16 	[%rd1], %rs1;
	@%p2 bra 	$L__BB0_4;
	ret;
}
"""


class Stores(unittest.TestCase):
    def test_the_widest_by_the_shortest_turn(self):
        (_, lines), = loops.functions(PTX_STORE, loops.FUNCTION["nvidia"])
        self.assertEqual(stores.widest_store(lines), {"instructions": 4, "bytes": 16})

    def test_what_no_loop_stores_does_not_count(self):
        self.assertIsNone(stores.widest_store(["\tst.global.v4.b32 \t[%rd1], {%r1};", "\tret;"]))


class Occupancy(unittest.TestCase):
    def test_nvidia_as_its_best_practices_guide_has_it(self):
        # "a kernel with 37 registers on 7.0 with 128-thread blocks results in an occupancy of 75 %
        # with 12 blocks, with 320-thread blocks in 63 % because only four fit"
        volta = occupancy.Nvidia(64, 32, 96 << 10, shared_unit=256, kept=0)
        self.assertEqual(occupancy.nvidia(volta, 37, 0, 128), 0.75)
        self.assertEqual(occupancy.nvidia(volta, 37, 0, 320), 0.625)

    def test_nvidia_limits(self):
        for registers, expected in ((32, 1), (64, 0.5), (128, 0.25), (255, 0.125)):
            self.assertEqual(occupancy.occupancy("sm_80", registers, 0, 256), expected)
        # 48 KiB and the one that is kept fit thrice in 164.
        self.assertEqual(occupancy.occupancy("sm_80", 32, 48 << 10, 256), 3 * 8 / 64)
        self.assertEqual(occupancy.occupancy("sm_86", 32, 0, 1024), 32 / 48)

    def test_amd_waves_by_registers(self):
        # The tables of AMD's lab notes on register pressure (CDNA 2) and of the GCN3 documents.
        for registers, waves in ((64, 8), (72, 7), (80, 6), (96, 5), (128, 4), (168, 3), (256, 2), (512, 1)):
            self.assertEqual(occupancy.occupancy("gfx90a", registers, 0, 64), waves / 8)
        for registers, waves in ((24, 10), (28, 9), (32, 8), (40, 6), (48, 5), (64, 4), (84, 3), (128, 2)):
            self.assertEqual(occupancy.occupancy("gfx906", registers, 0, 64), waves / 10)

    def test_rdna_waves_by_registers(self):
        self.assertEqual(occupancy.occupancy("gfx1100", 96, 0, 64), 1)
        self.assertEqual(occupancy.occupancy("gfx1100", 120, 0, 64), 12 / 16)
        self.assertEqual(occupancy.occupancy("gfx1030", 128, 0, 64), 8 / 16)

    def test_local_memory_limits_amd(self):
        self.assertEqual(occupancy.occupancy("gfx90a", 32, 32 << 10, 256), 2 * 4 / 32)
        self.assertEqual(occupancy.occupancy("gfx90a", 32, 65 << 10, 256), 0)

    def test_intel_threads(self):
        self.assertEqual(occupancy.occupancy("pvc", 128, 0, 1024, simd=16), 1)
        self.assertEqual(occupancy.occupancy("pvc", 256, 0, 256, simd=16), 0.5)
        self.assertEqual(occupancy.occupancy("skl", 128, 0, 256, simd=32), 1)
        self.assertEqual(occupancy.occupancy("dg2", 128, 64 << 10, 256, simd=8), 64 / 128)


def row(target, source, options="-cl-std=CL1.2", kernel="k", usual=True):
    return {"target": target, "operation": "tenon_test", "solver": "test/one", "chosen": True, "usual": usual,
            "source": source, "options": options, "kernel": kernel, "work_group": 64}


class Plan(unittest.TestCase):
    def jobs(self, rows, *arguments):
        options = check_kernels.read_arguments(list(arguments))
        jobs = check_kernels.plan(rows, compilers.MACHINES, options)
        return {(machine.name, source) for machine, source, _ in jobs}

    def test_one_machine_stands_for_its_vendor_but_for_products(self):
        rows = [row(t, s) for t in ("sm_75", "sm_80", "sm_90") for s in ("gemm/tiled", "norm/forward")]
        self.assertEqual(self.jobs(rows), {("sm_80", "norm/forward"), ("sm_75", "gemm/tiled"),
                                           ("sm_80", "gemm/tiled"), ("sm_90", "gemm/tiled")})
        self.assertEqual(len(self.jobs(rows, "--every")), 6)
        rows = [row(t, "gemm/tiled", usual=False) for t in ("sm_75", "sm_80", "sm_90")]
        self.assertEqual(self.jobs(rows), {("sm_80", "gemm/tiled")})

    def test_what_the_representative_lacks_is_compiled_where_it_is(self):
        rows = [row("gfx942", "norm/forward"), row("gfx906", "norm/forward", "-cl-std=CL1.2 -DX")]
        self.assertIn(("gfx906", "norm/forward"), self.jobs(rows))

    def test_sub_groups_do_not_tell_programs_apart(self):
        rows = [row("xe_hpg", "norm/forward", "-cl-std=CL1.2 -DTENON_SUB_GROUP=8 -DX"),
                row("xe_hpc", "norm/forward", "-cl-std=CL1.2 -DTENON_SUB_GROUP=16 -DX")]
        self.assertEqual(self.jobs(rows), {("dg2", "norm/forward")})

    def test_a_machine_adds_what_its_target_does_not_know(self):
        options = check_kernels.read_arguments([])
        jobs = check_kernels.plan([row("other", "gemm/tiled")], compilers.MACHINES, options)
        self.assertEqual({machine.name: words for machine, _, words in jobs},
                         {"spirv64": "-cl-std=CL1.2", "gfx900": "-cl-std=CL1.2",
                          "skl": "-cl-std=CL1.2 -DTENON_SUB_GROUP=8"})

    def test_what_is_never_chosen_is_compiled_to_spirv_alone(self):
        rows = [dict(row(t, "gemm/tiled", usual=False), chosen=False) for t in ("other", "sm_80", "sm_90")]
        self.assertEqual(self.jobs(rows), {("spirv64", "gemm/tiled")})

    def test_filter(self):
        rows = [row("sm_80", "gemm/tiled"), row("sm_80", "norm/forward")]
        self.assertEqual(self.jobs(rows, "--filter", "norm"), {("sm_80", "norm/forward")})


class Judgement(unittest.TestCase):
    def kernel(self, **fields):
        return {"machine": "sm_80", "source": "a/b", "kernel": "k", "options": "", "chosen": True,
                "solvers": ["a/b"], "registers": 255, "spills": 8, "scratch": 32, **fields}

    def test_only_what_is_chosen_and_not_known_is_wrong(self):
        for kernel, known, wrong, remarked in (
                (self.kernel(), set(), 1, 0), (self.kernel(), {("sm_80", "a/b:k")}, 0, 1),
                (self.kernel(), {("sm_90", "a/b:k")}, 1, 0), (self.kernel(), {("sm_*", "a/*:*")}, 0, 1),
                (self.kernel(), {("sm_80", "a/*:other")}, 1, 0), (self.kernel(chosen=False), set(), 0, 1),
                (self.kernel(spills=0, scratch=0), set(), 0, 0),
                (self.kernel(error="no", chosen=False), set(), 1, 0)):
            problems, remarks = check_kernels.judge([kernel], {"spills": known, "frame": set()})
            self.assertEqual((len(problems), len(remarks)), (wrong, remarked), kernel)

    def test_a_frame_without_spills_has_a_list_of_its_own(self):
        place = {("sm_80", "a/b:k")}
        for spills, frame, wrong in ((place, set(), 1), (set(), place, 0)):
            problems, remarks = check_kernels.judge([self.kernel(spills=0)], {"spills": spills, "frame": frame})
            self.assertEqual((len(problems), len(remarks)), (wrong, 1 - wrong))
            self.assertIn("has a stack frame of 32 bytes", (problems + remarks)[0])


class Interpreted(unittest.TestCase):
    """What is made of the interpreter's outcomes: ./run check-kernels has the kernels themselves."""

    def judge(self, code=0, products=5, wrong="", kernel="gemm_matrix"):
        launch = {"kernel": kernel, "products": products, "wrong": wrong}
        return interpreted.judge(interpreter.Outcome(code, "said", (launch,)), "gemm_matrix", "sm_80", ["gemm/mma"])

    def test_only_what_has_multiplied_and_is_right_is_right(self):
        self.assertIsNone(self.judge())
        self.assertIn("said", self.judge(code=1))
        self.assertIn("said", self.judge(wrong="line 5, ld: no"))
        self.assertIn("has multiplied nothing", self.judge(products=0))
        self.assertIn("has multiplied nothing", self.judge(kernel="another"))

    def test_a_mutant_must_fail_for_its_own_reason(self):
        mutant = mutants.Mutant("one", "sm_80", "gemm/mma", "the reference says", mutants.ptx("a", "b"))
        for code, text, found in ((1, "d: the reference says 3", True), (0, "right", False),
                                  (0, "the reference says", False), (1, "the edit 'a' finds nothing", False)):
            class Fake:
                run = staticmethod(lambda *_, text=text, code=code: interpreter.Outcome(code, text, ()))
            self.assertEqual(interpreted.run_mutant(Fake, mutant) is None, found, text)

    def test_mutants_have_names_of_their_own_and_patterns(self):
        names = [mutant.name for mutant in mutants.MUTANTS]
        self.assertEqual(len(names), len(set(names)))
        for mutant in mutants.MUTANTS:
            re.compile(mutant.edit.pattern)
            self.assertIn(mutant.target, interpreted.CHECKED)

    def test_the_number_th_of_several_goes(self):
        self.assertEqual(re.sub(mutants.only(2, "bar;"), r"\1", "a bar; b\nbar; c bar;"), "a bar; b\n c bar;")

    def test_three_solvers_have_every_layout(self):
        forms = {" ".join(words) for number in range(3)
                 for words, _ in interpreted.gemm_calls("gemm/wgmma:mb64,nb128,kb32,ks1", number)}
        self.assertEqual(len(forms), len(interpreted.GEMM_FORMS))

    def test_solvers_by_their_names(self):
        self.assertEqual(interpreted.parameters("gemm/mma:mb128,nb64,ks2"), {"mb": 128, "nb": 64, "ks": 2})


class Whole(unittest.TestCase):
    """The script on kernels of the test's own, which a program in the place of `tenon` lists."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.compilers = compilers.Compilers()
        self.addCleanup(self.compilers.close)

    def check(self, source, kernel, *arguments, known="", frames=""):
        folder = Path(self.folder.name)
        tenon = folder / "tenon"
        rows = [row(m.target, "test/one", kernel=kernel) for m in compilers.MACHINES]
        tenon.write_text("#!/usr/bin/env python3\nimport os, sys\n"
                         "folder = sys.argv[sys.argv.index('--sources') + 1]\n"
                         "os.makedirs(folder + '/test', exist_ok=True)\n"
                         f"open(folder + '/test/one.cl', 'w').write({source!r})\n"
                         f"print({chr(10).join(map(json.dumps, rows))!r})\n", encoding="utf-8")
        tenon.chmod(0o755)
        (folder / "known_spills.txt").write_text(known, encoding="utf-8")
        (folder / "known_frames.txt").write_text(frames, encoding="utf-8")
        return subprocess.run([sys.executable, str(Path(SCRIPTS) / "check_kernels.py"), "--tenon", str(tenon),
                               "--cache", str(folder / "cache"), "--json", str(folder / "report.json"),
                               "--known", str(folder), "--jobs", "2", *arguments],
                              capture_output=True, text=True, check=False)

    def need(self, vendor):
        if vendor in self.compilers.absent:
            self.skipTest(self.compilers.absent[vendor])
        if vendor == "nvidia" and self.compilers.ptxas is None:
            self.skipTest("no ptxas")

    def test_a_spill_fails_and_a_known_one_does_not(self):
        for vendor, name in (("amd", "gfx906"), ("nvidia", "sm_80"), ("intel", "dg2")):
            with self.subTest(vendor):
                self.need(vendor)
                done = self.check(SPILLING, "spilling", "--target", name)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertRegex(done.stdout, rf"FAILED {name} test/one:spilling .*: spills \d+")
                known = self.check(SPILLING, "spilling", "--target", name, known=f"{name} test/one:spilling\n")
                self.assertEqual(known.returncode, 0, known.stdout + known.stderr)
                self.assertEqual(self.check(SPILLING, "spilling", "--target", name, "--accept").returncode, 0)
                self.assertRegex((Path(self.folder.name) / "known_spills.txt").read_text(encoding="utf-8"),
                                 rf"^{name} test/one:spilling # \d+\n$")
                report = json.loads((Path(self.folder.name) / "report.json").read_text(encoding="utf-8"))
                self.assertGreater(report["kernels"][0]["spills"], 0)
                self.assertEqual(report["problems"], [])

    def test_a_frame_fails_and_a_known_one_does_not(self):
        for vendor, name in (("amd", "gfx906"), ("nvidia", "sm_80"), ("intel", "dg2"), ("intel", "pvc")):
            with self.subTest(name):
                self.need(vendor)
                done = self.check(FRAMED, "framed", "--target", name)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertRegex(done.stdout, rf"FAILED {name} test/one:framed .*: has a stack frame of \d+ bytes")
                known = self.check(FRAMED, "framed", "--target", name, frames=f"{name} test/one:framed\n")
                self.assertEqual(known.returncode, 0, known.stdout + known.stderr)

    def test_half_arithmetic_fails_on_nvidia_alone(self):
        for vendor, name, status in (("nvidia", "sm_80", 1), ("amd", "gfx906", 0)):
            with self.subTest(vendor):
                self.need(vendor)
                done = self.check(HALVES, "halves", "--target", name)
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)
                self.assertEqual("without cl_khr_fp16" in done.stdout, status == 1)

    def test_an_unresolved_function_fails(self):
        for vendor, name in (("amd", "gfx90a"), ("nvidia", "sm_80"), ("intel", "pvc")):
            with self.subTest(vendor):
                if vendor in self.compilers.absent:
                    self.skipTest(self.compilers.absent[vendor])
                done = self.check(UNRESOLVED, "unresolved", "--target", name)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn("tenon_no_such_function", done.stdout)

    def test_an_error_and_a_kernel_that_is_not_there_fail(self):
        self.need("spirv")
        done = self.check("__kernel void k(__global float *x) { x[0] = nothing; }", "k", "--target", "spirv64")
        self.assertEqual(done.returncode, 1)
        self.assertIn("undeclared identifier 'nothing'", done.stdout)
        done = self.check("__kernel void k(__global float *x) { x[0] = 1.0f; }", "another", "--target", "spirv64")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such kernel", done.stdout)

    def test_a_second_run_compiles_nothing(self):
        self.need("spirv")
        text = "__kernel void k(__global float *x) { x[get_global_id(0)] = 1.0f; }"
        text = text.replace("void k", "__attribute__((reqd_work_group_size(8, 1, 1)))\nvoid\nk")
        first = self.check(text, "k", "--target", "spirv64")
        again = self.check(text, "k", "--target", "spirv64")
        self.assertEqual((first.returncode, again.returncode), (0, 0), first.stdout + again.stdout)
        self.assertIn("1 compiled", first.stdout)
        self.assertIn("0 compiled", again.stdout)

    def test_bad_arguments_say_what_is_wrong(self):
        for arguments, said in ((("--target", "sm_20"), 'no target "sm_20"'), (("--jobs", "0"), "--jobs"),
                                (("--tenon", "/nonexistent"), "cannot run /nonexistent")):
            done = self.check("", "k", *arguments)
            self.assertNotEqual(done.returncode, 0, arguments)
            self.assertIn(said, done.stderr + done.stdout)

    def test_a_filter_that_no_kernel_has_says_so(self):
        self.need("spirv")
        done = self.check("", "k", "--filter", "nothing", "--target", "spirv64")
        self.assertEqual(done.returncode, 1)
        self.assertIn('has "nothing"', done.stderr)


class Document(unittest.TestCase):
    """The page of tables is written whole, a table for each of the calls."""

    PAGE = Path(SCRIPTS).parent / report.DOCUMENT

    def test_what_is_written_is_the_title_and_the_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            report.write_document([report.table(call, []) for call in report.CALLS], page)
            text = page.read_text(encoding="utf-8")
        kept = self.PAGE.read_text(encoding="utf-8")
        is_row = re.compile(r"(?m)^\| [^T].*\n")
        self.assertEqual(is_row.sub("", kept), text)
        self.assertGreater(len(is_row.findall(kept)), len(report.CALLS))

    def test_the_prose_has_no_table_of_measures(self):
        prose = (self.PAGE.parent / "gpu-kernels.md").read_text(encoding="utf-8")
        self.assertNotIn(report.HEADER, prose)
        self.assertIn(f"({report.DOCUMENT.name})", prose)


if __name__ == "__main__":
    unittest.main()

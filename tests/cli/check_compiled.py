#!/usr/bin/env python3
"""Tests how ./run check-kernels parses the compilers' output, and what it computes from it.

    check_compiled.py path/to/scripts
"""
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, sys.argv.pop(1) if len(sys.argv) > 1 else "scripts")

from offline import compilers, loops, machines, occupancy, output, stores  # noqa: E402

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

    def test_ptxas(self):
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

    def test_an_invalid_binary_has_no_kernels(self):
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


class Stores(unittest.TestCase):
    def test_the_widest_store_by_its_shortest_loop(self):
        (_, lines), = loops.functions(PTX_STORE, loops.FUNCTION["nvidia"])
        self.assertEqual(stores.widest_store(lines), {"instructions": 4, "bytes": 16})

    def test_stores_outside_loops_do_not_count(self):
        self.assertIsNone(stores.widest_store(["\tst.global.v4.b32 \t[%rd1], {%r1};", "\tret;"]))


class Machines(unittest.TestCase):
    def test_every_kind_of_gpu_has_a_machine(self):
        kinds = {path.stem for path in machines.KINDS.glob("*.json") if not path.stem.startswith("cpu_")}
        self.assertEqual(kinds, {machine.target for machine in machines.MACHINES})
        for machine in machines.MACHINES:
            if machine.vendor in ("nvidia", "amd"):
                self.assertEqual(len(machine.peaks), 3, machine)
            self.assertEqual(machine.limits is None, machine.vendor == "spirv", machine)
            self.assertEqual(machine.ptx != "", machine.vendor == "nvidia", machine)
            self.assertIn(machine.nearest, ("", *machines.BY_NAME))

    def test_a_kind_is_read_from_one_file(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "sm_110.json").write_text(json.dumps({"like": "sm_100", "offline": [
                {"vendor": "nvidia", "ptx": "ptx90", "limits": {"warps": 64, "blocks": 24, "shared": 233472}}]}))
            Path(folder, "sm_100.json").write_text("{}")
            machine, = machines.read(folder)
            self.assertEqual((machine.name, machine.target, machine.limits.blocks), ("sm_110", "sm_110", 24))

    def test_invalid_fields_are_refused(self):
        for fields in ({}, {"vendor": "nobody", "limits": {}}, {"vendor": "amd", "limits": {"warps": 1}},
                       {"vendor": "amd", "color": 1}):
            with self.assertRaises(machines.Wrong):
                machines.machine_of("gfx1", fields)

    def test_unsupported_machines_are_replaced_by_the_nearest(self):
        these = compilers.Compilers()
        self.addCleanup(these.close)
        these.processors = {"sm_60", "sm_75", "sm_89", "gfx942"}
        these.ptxas = {"sm_75": "ptxas", "sm_89": "ptxas"}
        for name, nearest in (("sm_60", "sm_75"), ("sm_120", "sm_89"), ("gfx950", "gfx942"), ("dg2", "dg2"),
                              ("sm_89", "sm_89"), ("sm_90_edited", "sm_90_edited")):
            self.assertEqual(these.stand_in(machines.BY_NAME[name]).name, nearest)
        these.ptxas = {}
        self.assertEqual(these.stand_in(machines.BY_NAME["sm_60"]).name, "sm_60")


def occupancy_of(name, *arguments, **named):
    return occupancy.occupancy(machines.BY_NAME[name].limits, *arguments, **named)


class Occupancy(unittest.TestCase):
    def test_nvidia_examples_of_the_best_practices_guide(self):
        # "a kernel with 37 registers on 7.0 with 128-thread blocks results in an occupancy of 75 %
        # with 12 blocks, with 320-thread blocks in 63 % because only four fit"
        volta = occupancy.Nvidia(64, 32, 96 << 10, shared_unit=256, kept=0)
        self.assertEqual(occupancy.nvidia(volta, 37, 0, 128), 0.75)
        self.assertEqual(occupancy.nvidia(volta, 37, 0, 320), 0.625)

    def test_nvidia_limits(self):
        for registers, expected in ((32, 1), (64, 0.5), (128, 0.25), (255, 0.125)):
            self.assertEqual(occupancy_of("sm_80", registers, 0, 256), expected)
        # 48 KiB plus 1 KiB of reserved memory fit three times in 164 KiB.
        self.assertEqual(occupancy_of("sm_80", 32, 48 << 10, 256), 3 * 8 / 64)
        self.assertEqual(occupancy_of("sm_86", 32, 0, 1024), 32 / 48)

    def test_amd_waves_by_registers(self):
        # The tables of AMD's lab notes on register pressure (CDNA 2) and of the GCN3 documents.
        for registers, waves in ((64, 8), (72, 7), (80, 6), (96, 5), (128, 4), (168, 3), (256, 2), (512, 1)):
            self.assertEqual(occupancy_of("gfx90a", registers, 0, 64), waves / 8)
        for registers, waves in ((24, 10), (28, 9), (32, 8), (40, 6), (48, 5), (64, 4), (84, 3), (128, 2)):
            self.assertEqual(occupancy_of("gfx906", registers, 0, 64), waves / 10)

    def test_rdna_waves_by_registers(self):
        self.assertEqual(occupancy_of("gfx1100", 96, 0, 64), 1)
        self.assertEqual(occupancy_of("gfx1100", 120, 0, 64), 12 / 16)
        self.assertEqual(occupancy_of("gfx1030", 128, 0, 64), 8 / 16)

    def test_local_memory_limits_amd(self):
        self.assertEqual(occupancy_of("gfx90a", 32, 32 << 10, 256), 2 * 4 / 32)
        self.assertEqual(occupancy_of("gfx90a", 32, 65 << 10, 256), 0)

    def test_intel_threads(self):
        self.assertEqual(occupancy_of("pvc", 128, 0, 1024, simd=16), 1)
        self.assertEqual(occupancy_of("pvc", 256, 0, 256, simd=16), 0.5)
        self.assertEqual(occupancy_of("skl", 128, 0, 256, simd=32), 1)
        self.assertEqual(occupancy_of("dg2", 128, 64 << 10, 256, simd=8), 64 / 128)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests scripts/device_table.py, which turns measurement files into the table of a device kind."""
import contextlib
import importlib.util
import io
import json
import shutil
import sys
import unittest
from pathlib import Path
from unittest import mock

from in_folder import InFolder

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "device_table.py"
SPEC = importlib.util.spec_from_file_location("device_table", SCRIPT)
device_table = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(device_table)

CPU = {"name": "a CPU", "kind": "cpu_16", "compute_units": 2, "cache": 1 << 25,
       "speed": {"rate": 100.0, "memory": 40.0, "cache": 60.0, "cache_size": 1 << 24, "pages": 0.5,
                 "unaligned": 0.75}}
GPU = {"name": "a card", "kind": "gfx942", "compute_units": 304, "cache": 1 << 22}


def tuned(device, *outcomes):
    return {"format": "tenon tuning", "version": 1, "machine": {}, "device": device, "outcomes": [
        {"call": call, "solver": solver, "nanoseconds": 5.0} for call, solver in outcomes]}


def raced(device, *calls):
    return {"version": 2, "device": device, "results": [
        {"dtype": "f32", "measured": [{"solver": s, "median_ns": t} for s, t in call.items()]}
        for call in calls]}


class Tables(InFolder):
    def setUp(self):
        super().setUp()
        self.kinds = self.place / "kinds"
        shutil.copytree(device_table.KINDS, self.kinds)
        patch = mock.patch.object(device_table, "KINDS", self.kinds)
        patch.start()
        self.addCleanup(patch.stop)

    def files(self, *documents):
        paths = []
        for i, document in enumerate(documents):
            path = self.place / f"{i}.json"
            path.write_text(document if isinstance(document, str) else json.dumps(document))
            paths.append(str(path))
        return paths

    def table(self, *documents, name=None):
        return device_table.table_of(self.files(*documents), name)[1]

    def test_cpu_speeds_are_medians_of_kernel_speeds(self):
        fast = dict(CPU, speed={"rate": 300.0, "memory": 80.0, "cache": 90.0, "cache_size": 1 << 25,
                                "pages": 1.0, "unaligned": 1.0})
        base = device_table.whole("cpu_16")
        table = self.table(tuned(CPU), tuned(CPU), tuned(fast))
        reached = base["reached"]
        self.assertEqual(table["rates"]["f32"], round(100 * reached["rate"], 2))
        factor = 100 * reached["rate"] / base["rates"]["f32"]
        self.assertAlmostEqual(table["rates"]["f64"], base["rates"]["f64"] * factor, places=1)
        self.assertAlmostEqual(table["steps"]["row"], base["steps"]["row"] / factor, places=3)
        self.assertEqual(table["memory"]["bandwidth"], round(40 * reached["memory"], 1))
        self.assertEqual(table["memory"]["cache"], round(60 * reached["cache"], 1))
        self.assertEqual(table["in_place"], {"pages": 0.5, "unaligned": 0.75})

    def test_tiles_are_those_that_suit_most_calls(self):
        table = self.table(raced(
            CPU, {"gemm/cpu_direct:mr6,nr64,kc384,np2": 10, "gemm/cpu_packed:mr8,nr48,kc384,np1": 20},
            {"gemm/cpu_direct:mr6,nr64,kc384,np2": 10, "gemm/cpu_direct:mr8,nr48,kc384,np2": 10.1},
            {"gemm/cpu_packed:mr6,nr64,kc384,np1": 20, "gemm/cpu_packed:mr8,nr48,kc384,np1": 10},
            {"gemm/gemv_dot": 1, "gemm/cpu_direct:mr5,nr32,kc384,np2": 2}))
        mean = (1 * 1 * 2) ** (1 / 3)
        other = (2 * 1.01 * 1) ** (1 / 3)
        self.assertEqual(table["cpu_tiles"], [[6, 4, round(mean, 2)], [8, 3, round(other, 2)]])

    def test_gpu_blocks_by_type(self):
        call = "tenon check gemm a=f16:9x9 b=f16:9x9 d=f16:9x9"
        double = call.replace("f16", "f64")
        table = self.table(tuned(
            GPU, (call, "gemm/mfma:mb64,nb128,kb32,wm2,wn2,st1,em3,ks1"),
            (call, "gemm/mfma:mb64,nb128,kb64,wm2,wn2,st1,em3,ks1"),
            (call, "gemm/mfma:mb32,nb32,kb64,wm2,wn2,st1,em3,ks1"),
            (double, "gemm/tiled:mb64,nb32,kb16,mr4,nr4,lb2")))
        self.assertEqual(table["matrix"]["blocks"], [[64, 128, 2, 2], [32, 32, 2, 2]])
        self.assertEqual(table["tiled"]["f64"], [[64, 32, 16, 4, 4, 2]])
        self.assertNotIn("f32", table["tiled"])
        before = json.loads((self.kinds / "gfx942.json").read_text())
        self.assertEqual(table["rates"], before["rates"])

    def test_blocks_of_asynchronous_copies(self):
        call = "tenon check gemm a=f16:9x9 b=f16:9x9 d=f16:9x9"
        table = self.table(tuned(
            dict(GPU, kind="sm_90"), (call, "gemm/mma:mb128,nb128,kb32,wm2,wn2,st3,em3,ks1"),
            (call, "gemm/mma:mb16,nb64,kb64,wm1,wn4,st4,em3,ks1"),
            (call, "gemm/mma:mb64,nb64,kb32,wm2,wn2,st1,em3,ks1")))
        self.assertEqual(table["copied"]["blocks"], [[16, 64, 1, 4, 128], [128, 128, 2, 2]])
        self.assertEqual(table["matrix"]["blocks"], [[64, 64, 2, 2]])

    def test_a_new_kind(self):
        table = self.table(tuned(CPU), tuned(dict(CPU, cache=1 << 27)), name="cpu_16_large")
        self.assertEqual(table["like"], "cpu_16")
        self.assertEqual(table["match"], {"cpu_lanes": 16, "cpu_cache": 1 << 25})

    def test_a_written_file_is_a_kind(self):
        paths = self.files(tuned(CPU))
        with mock.patch.object(sys, "argv", ["x", "--as", "cpu_16_large", "--write", *paths]), \
             contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(device_table.main(), 0)
        self.assertEqual(device_table.whole("cpu_16_large")["lanes"], 16)

    def test_bad_files_are_refused(self):
        for documents, says in [
                (("{",), "0.json"), (([],), "TypeError"), (({},), "'device'"),
                ((tuned({"kind": 3}),), "is not a string"),
                ((tuned(dict(CPU, kind="../x")),), "unknown kind"),
                ((tuned(CPU), tuned(GPU)), "different kinds: cpu_16, gfx942"),
                ((tuned(CPU, ("no type", "x")),), "0.json")]:
            with self.subTest(says), self.assertRaisesRegex(device_table.Wrong, says):
                self.table(*documents)


if __name__ == "__main__":
    unittest.main()

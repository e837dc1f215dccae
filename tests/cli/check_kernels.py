#!/usr/bin/env python3
"""Tests ./run check-kernels: which programs it compiles, how it judges the results, and its reports.

    check_kernels.py path/to/scripts

Tests that require a compiler are skipped if it is not installed.
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
from in_folder import InFolder  # noqa: E402
from offline import compilers, interpreted, interpreter, mutants, passed, report  # noqa: E402

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

ONE = "__kernel void k(__global float *x) { x[get_global_id(0)] = 1.0f; }"


def row(target, source, options="-cl-std=CL1.2", kernel="k", usual=True):
    return {"target": target, "operation": "tenon_test", "solver": "test/one", "chosen": True, "usual": usual,
            "source": source, "options": options, "kernel": kernel, "work_group": 64}


class Plan(unittest.TestCase):
    def jobs(self, rows, *arguments):
        options = check_kernels.read_arguments(list(arguments))
        jobs = check_kernels.plan(rows, compilers.MACHINES, options)
        return {(machine.name, source) for machine, source, _ in jobs}

    def test_one_machine_represents_its_vendor_except_for_products(self):
        rows = [row(t, s) for t in ("sm_75", "sm_80", "sm_90") for s in ("gemm/tiled", "norm/forward")]
        self.assertEqual(self.jobs(rows), {("sm_80", "norm/forward"), ("sm_75", "gemm/tiled"),
                                           ("sm_80", "gemm/tiled"), ("sm_90", "gemm/tiled")})
        self.assertEqual(len(self.jobs(rows, "--every")), 6)
        rows = [row(t, "gemm/tiled", usual=False) for t in ("sm_75", "sm_80", "sm_90")]
        self.assertEqual(self.jobs(rows), {("sm_80", "gemm/tiled")})

    def test_programs_that_the_representative_lacks_are_compiled(self):
        rows = [row("gfx942", "norm/forward"), row("gfx906", "norm/forward", "-cl-std=CL1.2 -DX")]
        self.assertIn(("gfx906", "norm/forward"), self.jobs(rows))

    def test_sub_group_sizes_do_not_distinguish_programs(self):
        rows = [row("xe_hpg", "norm/forward", "-cl-std=CL1.2 -DTENON_SUB_GROUP=8 -DX"),
                row("xe_hpc", "norm/forward", "-cl-std=CL1.2 -DTENON_SUB_GROUP=16 -DX")]
        self.assertEqual(self.jobs(rows), {("dg2", "norm/forward")})

    def test_machines_add_their_sub_group_size(self):
        options = check_kernels.read_arguments([])
        jobs = check_kernels.plan([row("other", "gemm/tiled")], compilers.MACHINES, options)
        self.assertEqual({machine.name: words for machine, _, words in jobs},
                         {"spirv64": "-cl-std=CL1.2", "gfx900": "-cl-std=CL1.2",
                          "skl": "-cl-std=CL1.2 -DTENON_SUB_GROUP=8"})

    def test_kernels_never_chosen_are_compiled_only_to_spirv(self):
        rows = [dict(row(t, "gemm/tiled", usual=False), chosen=False) for t in ("other", "sm_80", "sm_90")]
        self.assertEqual(self.jobs(rows), {("spirv64", "gemm/tiled")})

    def test_filter(self):
        rows = [row("sm_80", "gemm/tiled"), row("sm_80", "norm/forward")]
        self.assertEqual(self.jobs(rows, "--filter", "norm"), {("sm_80", "norm/forward")})


class Judgement(unittest.TestCase):
    def kernel(self, **fields):
        return {"machine": "sm_80", "source": "a/b", "kernel": "k", "options": "", "chosen": True,
                "solvers": ["a/b"], "registers": 255, "spills": 8, "scratch": 32, **fields}

    def test_only_chosen_kernels_not_listed_are_problems(self):
        for kernel, known, wrong, remarked in (
                (self.kernel(), set(), 1, 0), (self.kernel(), {("sm_80", "a/b:k")}, 0, 1),
                (self.kernel(), {("sm_90", "a/b:k")}, 1, 0), (self.kernel(), {("sm_*", "a/*:*")}, 0, 1),
                (self.kernel(), {("sm_80", "a/*:other")}, 1, 0), (self.kernel(chosen=False), set(), 0, 1),
                (self.kernel(spills=0, scratch=0), set(), 0, 0),
                (self.kernel(error="no", chosen=False), set(), 1, 0)):
            problems, remarks = check_kernels.judge([kernel], {"spills": known, "frame": set()})
            self.assertEqual((len(problems), len(remarks)), (wrong, remarked), kernel)

    def test_stack_frames_have_a_separate_list(self):
        place = {("sm_80", "a/b:k")}
        for spills, frame, wrong in ((place, set(), 1), (set(), place, 0)):
            problems, remarks = check_kernels.judge([self.kernel(spills=0)], {"spills": spills, "frame": frame})
            self.assertEqual((len(problems), len(remarks)), (wrong, 1 - wrong))
            self.assertIn("has a stack frame of 32 bytes", (problems + remarks)[0])


class Passed(unittest.TestCase):
    """The list of programs that have passed."""

    MACHINE = compilers.MACHINES[0]
    TEXT = "__kernel void k(__global float *x) { x[0] = 1; }"

    def hash(self, text=TEXT, machine=MACHINE, options="-DA=1", source="a/b", **fields):
        key = machine, source, options
        kernels = {fields.pop("kernel", "k"): [dict(row("sm_80", source), **fields)]}
        return passed.hashes_of({key: kernels}, {source: text.encode()})[key]

    def test_hashes_ignore_comments_and_blanks(self):
        for text, bare in (("a /* x\n*/ b\n\n c // d\n", "a   b\nc"), ("a \\\n b", "a  b"),
                           ('"/* kept */" \'"\' // gone "', '"/* kept */" \'"\''), ("a / b * c", "a / b * c")):
            self.assertEqual(passed.strip(text), bare)
        self.assertEqual(self.hash(), self.hash("// one\n" + self.TEXT + " /* two */\n\n"))

    def test_hashes_ignore_what_compilers_skip(self):
        for line in ("#if TENON_CPU", "#ifdef __NVPTX__" if self.MACHINE.vendor != "nvidia" else "#ifndef __NVPTX__"):
            self.assertEqual(self.hash(), self.hash(f"{line}\nint i;\n#endif\n{self.TEXT}"))
        one, other = (self.hash(f"#ifdef cl_khr_fp16\n{text}\n#endif", source="capability/a") for text in ("int i;", "int j;"))
        self.assertNotEqual(one, other)
        self.assertEqual(self.hash(), self.hash(self.TEXT.replace("1", "A")))  # A is 1
        self.assertNotEqual(*(self.hash(f"#error {text}") for text in ("no", "none")))

    def test_hashes_depend_on_what_compilers_see(self):
        changed = [self.hash(self.TEXT.replace("1", "2")), self.hash(machine=compilers.MACHINES[1]),
                   self.hash(options="-DA=2"), self.hash(source="a/c"), self.hash(kernel="l"), self.hash(chosen=False)]
        self.assertEqual(len({self.hash(), *changed}), 1 + len(changed))

    def test_the_list_is_read_back(self):
        entries = {(f"source/{number % 3}", f"{number:08x}") for number in range(40)}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, passed.FILE)
            self.assertEqual(passed.read(path), set())
            passed.write(path, entries)
            self.assertEqual(passed.read(path), entries)
            self.assertTrue(all(len(line) <= 120 for line in path.read_text(encoding="utf-8").splitlines()))

    def test_the_seed_determines_the_sample(self):
        hashes = {key: f"{key:08x}" for key in range(100)}
        drawn = [passed.draw(set(hashes), hashes, 10, seed) for seed in (1, 1, 2)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])
        self.assertEqual(passed.draw({5}, hashes, 10, 1), {5})

    def test_the_list_keeps_passed_programs_that_are_planned(self):
        keys = {name: (self.MACHINE, "s", name) for name in ("good", "bad", "kept", "unknown")}
        hashes = {key: f"hash of {name}" for name, key in keys.items()}
        before = {("s", f"hash of {name}") for name in ("bad", "kept", "gone")}
        after = passed.update(keys.values(), hashes, before, {keys["bad"]}, (keys["kept"], keys["unknown"]).__contains__)
        self.assertEqual(after, {("s", "hash of good"), ("s", "hash of kept")})

    def test_listed_sources_exist(self):
        found = passed.read(Path(SCRIPTS) / "offline" / passed.FILE)
        kernels = Path(SCRIPTS).parent / "cl_kernels"
        self.assertEqual([source for source in sorted({source for source, _ in found})
                          if not (kernels / f"{source}.cl").exists()], [])


class Interpreted(unittest.TestCase):
    """How the interpreter's outcomes are judged. ./run check-kernels runs the interpreter itself."""

    def judge(self, code=0, products=5, wrong="", kernel="gemm_matrix"):
        launch = {"kernel": kernel, "products": products, "wrong": wrong}
        return interpreted.judge(interpreter.Outcome(code, "said", (launch,)), "gemm_matrix", "sm_80", ["gemm/mma"])

    def test_only_correct_launches_with_products_pass(self):
        self.assertIsNone(self.judge())
        self.assertIn("said", self.judge(code=1))
        self.assertIn("said", self.judge(wrong="line 5, ld: no"))
        self.assertIn("has multiplied nothing", self.judge(products=0))
        self.assertIn("has multiplied nothing", self.judge(kernel="another"))

    def test_mutants_must_fail_with_the_expected_message(self):
        mutant = mutants.Mutant("one", "sm_80", "gemm/mma", "the reference is", mutants.ptx("a", "b"))
        for code, text, found in ((1, "d: the reference is 3", True), (0, "right", False),
                                  (0, "the reference is", False), (1, "the edit 'a' finds nothing", False)):
            class Fake:
                run = staticmethod(lambda *_, text=text, code=code: interpreter.Outcome(code, text, ()))
            self.assertEqual(interpreted.run_mutant(Fake, mutant) is None, found, text)

    def test_mutants_have_unique_names_and_valid_patterns(self):
        names = [mutant.name for mutant in mutants.MUTANTS]
        self.assertEqual(len(names), len(set(names)))
        for mutant in mutants.MUTANTS:
            re.compile(mutant.edit.pattern)
            self.assertIn(mutant.target, interpreted.CHECKED)

    def test_the_nth_occurrence_is_removed(self):
        self.assertEqual(re.sub(mutants.only(2, "bar;"), r"\1", "a bar; b\nbar; c bar;"), "a bar; b\n c bar;")

    def test_three_solvers_cover_every_layout(self):
        forms = {" ".join(words) for number in range(3)
                 for words, _ in interpreted.gemm_calls("gemm/wgmma:mb64,nb128,kb32,ks1", number)}
        self.assertEqual(len(forms), len(interpreted.GEMM_FORMS))

    def test_parameters_of_a_solver_name(self):
        self.assertEqual(interpreted.parameters("gemm/mma:mb128,nb64,ks2"), {"mb": 128, "nb": 64, "ks": 2})


class Whole(InFolder):
    """Runs the script on this test's own kernels, which a replacement of `tenon` lists."""

    def setUp(self):
        super().setUp()
        self.compilers = compilers.Compilers()
        self.addCleanup(self.compilers.close)

    def check(self, source, kernel, *arguments, status=0, known="", frames=""):
        """Runs the script, which must end with the status. Returns its output."""
        folder, tenon = self.place, self.place / "tenon"
        rows = [row(m.target, "test/one", kernel=kernel) for m in compilers.MACHINES]
        tenon.write_text("#!/usr/bin/env python3\nimport os, sys\n"
                         "folder = sys.argv[sys.argv.index('--sources') + 1]\n"
                         "os.makedirs(folder + '/test', exist_ok=True)\n"
                         f"open(folder + '/test/one.cl', 'w').write({source!r})\n"
                         f"print({chr(10).join(map(json.dumps, rows))!r})\n", encoding="utf-8")
        tenon.chmod(0o755)
        (folder / "known_spills.txt").write_text(known, encoding="utf-8")
        (folder / "known_frames.txt").write_text(frames, encoding="utf-8")
        done = subprocess.run([sys.executable, str(Path(SCRIPTS) / "check_kernels.py"), "--tenon", str(tenon),
                               "--cache", str(folder / "cache"), "--json", str(folder / "report.json"),
                               "--known", str(folder), "--jobs", "2", *arguments],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, (arguments, done.stdout + done.stderr))
        return done.stdout + done.stderr

    def need(self, vendor):
        if vendor in self.compilers.absent:
            self.skipTest(self.compilers.absent[vendor])
        if vendor == "nvidia" and not self.compilers.ptxas:
            self.skipTest("no ptxas")

    def test_a_spill_fails_and_a_known_one_does_not(self):
        for vendor, name in (("amd", "gfx906"), ("nvidia", "sm_80"), ("intel", "dg2")):
            with self.subTest(vendor):
                self.need(vendor)
                self.assertRegex(self.check(SPILLING, "spilling", "--target", name, status=1),
                                 rf"FAILED {name} test/one:spilling .*: spills \d+")
                self.check(SPILLING, "spilling", "--target", name, known=f"{name} test/one:spilling\n")
                self.check(SPILLING, "spilling", "--target", name, "--accept")
                self.assertRegex((self.place / "known_spills.txt").read_text(encoding="utf-8"),
                                 rf"^{name} test/one:spilling # \d+\n$")
                report = json.loads((self.place / "report.json").read_text(encoding="utf-8"))
                self.assertGreater(report["kernels"][0]["spills"], 0)
                self.assertEqual(report["problems"], [])

    def test_a_frame_fails_and_a_known_one_does_not(self):
        for vendor, name in (("amd", "gfx906"), ("nvidia", "sm_80"), ("intel", "dg2"), ("intel", "pvc")):
            with self.subTest(name):
                self.need(vendor)
                self.assertRegex(self.check(FRAMED, "framed", "--target", name, status=1),
                                 rf"FAILED {name} test/one:framed .*: has a stack frame of \d+ bytes")
                self.check(FRAMED, "framed", "--target", name, frames=f"{name} test/one:framed\n")

    def test_half_arithmetic_fails_only_on_nvidia(self):
        for vendor, name, status in (("nvidia", "sm_80", 1), ("amd", "gfx906", 0)):
            with self.subTest(vendor):
                self.need(vendor)
                said = self.check(HALVES, "halves", "--target", name, status=status)
                self.assertEqual("without cl_khr_fp16" in said, status == 1)

    def test_an_unresolved_function_fails(self):
        for vendor, name in (("amd", "gfx90a"), ("nvidia", "sm_80"), ("intel", "pvc")):
            with self.subTest(vendor):
                if vendor in self.compilers.absent:
                    self.skipTest(self.compilers.absent[vendor])
                self.assertIn("tenon_no_such_function", self.check(UNRESOLVED, "unresolved", "--target", name, status=1))

    def test_errors_and_missing_kernels_fail(self):
        self.need("spirv")
        for value, kernel, error in (("nothing", "k", "undeclared identifier 'nothing'"), ("1.0f", "another", "no such kernel")):
            said = self.check(f"__kernel void k(__global float *x) {{ x[0] = {value}; }}", kernel, "--target", "spirv64", status=1)
            self.assertIn(error, said)

    def test_a_second_run_compiles_nothing(self):
        self.need("spirv")
        text = ONE.replace("void k", "__attribute__((reqd_work_group_size(8, 1, 1)))\nvoid\nk")
        for compiled in (1, 0):
            self.assertIn(f"{compiled} compiled", self.check(text, "k", "--target", "spirv64"))

    def test_only_new_programs_are_compiled(self):
        self.need("spirv")
        listed = self.place / passed.FILE
        self.check(ONE, "k", "--record")
        self.assertIn("test/one\n", before := listed.read_text(encoding="utf-8"))
        self.assertRegex(self.check("/* more */" + ONE, "k", "--new", "--sample", "0"),
                         r"(?m)^0 of \d+ programs are new, and 0 of the others are drawn")
        self.assertIn("and 2 of the others are drawn; seed 3", self.check(ONE, "k", "--new", "--sample", "2", "--seed", "3"))
        wrong = ONE.replace("1.0f", "nothing")
        other = self.check(wrong, "k", "--new", "--sample", "0", status=1)
        self.assertRegex(other, r"(?m)^([1-9]\d*) of \1 programs are new, and 0 of the others are drawn")
        self.assertIn("undeclared identifier 'nothing'", other)
        self.check(wrong, "k", "--record", status=1)
        self.assertEqual(listed.read_text(encoding="utf-8"), before)
        self.check(ONE.replace("1.0f", "2.0f"), "k", "--new", "--sample", "0", "--record")
        self.assertNotEqual(listed.read_text(encoding="utf-8"), before)

    def test_bad_arguments_are_explained(self):
        for arguments, said in ((("--target", "sm_20"), 'unknown target "sm_20"'), (("--jobs", "0"), "--jobs"),
                                (("--record", "--target", "sm_80"), "--record"), (("--record", "--every"), "--record"),
                                (("--tenon", "/nonexistent"), "cannot run /nonexistent")):
            self.assertIn(said, self.check("", "k", *arguments, status=1))

    def test_a_filter_without_matches_is_reported(self):
        self.need("spirv")
        self.assertIn('has "nothing"', self.check("", "k", "--filter", "nothing", "--target", "spirv64", status=1))


class Document(unittest.TestCase):
    """The page of tables is generated completely, with one table per call."""

    PAGE = Path(SCRIPTS).parent / report.DOCUMENT

    def test_the_page_is_the_title_and_the_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            report.write_document([report.table(call, []) for call in report.CALLS], page)
            text = page.read_text(encoding="utf-8")
        kept = self.PAGE.read_text(encoding="utf-8")
        is_row = re.compile(r"(?m)^\| [^T].*\n")
        self.assertEqual(is_row.sub("", kept), text)
        self.assertGreater(len(is_row.findall(kept)), len(report.CALLS))

    def test_the_text_page_has_no_measured_table(self):
        prose = (self.PAGE.parent / "gpu-kernels.md").read_text(encoding="utf-8")
        self.assertNotIn(report.HEADER, prose)
        self.assertIn(f"({report.DOCUMENT.name})", prose)


if __name__ == "__main__":
    unittest.main()

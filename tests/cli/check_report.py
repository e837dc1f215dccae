#!/usr/bin/env python3
"""Tests tenon-bench report (python/tenon/bench): how the program finds it, the page, and the page in a browser.

    check_report.py [TENON_BENCH]

The page needs a Python with matplotlib, and its test in a browser Chromium; without them these tests are skipped.
"""
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

from result_files import FOLDER, ROOT, InFolder, first_file, keep, result, run, run_file, version_3

PROGRAM = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
SVG = "{http://www.w3.org/2000/svg}"


def has_matplotlib(python):
    return bool(python) and subprocess.run([python, "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0


DRAWS = next((p for p in (sys.executable, shutil.which("python3"), "/usr/bin/python3") if has_matplotlib(p)), None)
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


@unittest.skipIf(PROGRAM is None, "tenon-bench was not built")
class Program(InFolder):
    def call(self, program, *words, **more):
        return subprocess.run([str(program), *map(str, words)], capture_output=True, text=True, check=False, cwd=self.folder,
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **more})

    def test_it_works_in_the_build_folder_and_installed(self):
        path = self.file("a", run_file([result("gemm", "a", 1.0, {})]))
        modules = PROGRAM.parent.parent / "python" / "tenon" / "bench"
        installed, linked = self.folder / "bin" / "tenon-bench", self.folder / "link"
        installed.parent.mkdir()
        shutil.copy(PROGRAM, installed)
        linked.symlink_to(installed)
        done = self.call(installed, "compare", path, path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("its Python modules are neither in", done.stderr)
        shutil.copytree(modules, self.folder / "share" / "tenon" / "bench")
        for program in (PROGRAM, installed, linked):
            done = self.call(program, "compare", path, path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("compare: 0 of 1 cases", done.stdout)
        self.assertEqual(sorted(p.name for p in modules.iterdir() if p.suffix in (".py", ".js", ".css")),
                         sorted(p.name for p in FOLDER.iterdir() if p.suffix in (".py", ".js", ".css") and p.name != "speed.py"))

    def test_a_missing_python_is_reported(self):
        done = self.call(PROGRAM, "report", "x", TENON_BENCH_PYTHON="/no/python")
        self.assertEqual(done.returncode, 2)
        self.assertIn("report needs Python, but /no/python cannot be run", done.stderr)

    def test_a_missing_library_is_reported(self):
        path = self.file("a", run_file([result("gemm", "a", 1.0, {})]))
        (self.folder / "matplotlib.py").write_text("raise ImportError('none here')\n", encoding="utf-8")
        done = self.call(PROGRAM, "report", path, "-o", "p.html", PYTHONPATH=str(self.folder))
        self.assertEqual(done.returncode, 2)
        for word in ("matplotlib 3.6 or later", "none here", "python3-matplotlib"):
            self.assertIn(word, done.stderr)
        self.assertFalse((self.folder / "p.html").exists())


def sample():
    """Returns files by name: two machines, all kinds of files, and everything that a page must show."""
    sizes = [64, 127, 512, 1009]
    gemm = [result("gemm-cpu", f"square {n}", 3.7 * n ** 2, {"onednn": 0.5 + n / 1000, "openblas": 1.25}, gflops=2 * n / 3.7,
                   gbps=12 / 3.7, error_over_bound=n * 1e-4, roofline={"share": 0.5, "ceiling": "multiply-add f32", "attainable_ns": 1.0})
            for n in sizes]
    gemm[1]["load"] = {"other": 0.5, "steal": 0.0, "disturbed": True, "repeats": 2}
    copies = [result("bandwidth-cpu", f"<copy> & {n} Ki", 40.0 * n, {"loop": 0.8}, gflops=0.0, gbps=8192 / 320) for n in sizes]
    other = [result("gemm-cpu", f"square {n}", 5.0 * n ** 2, {"onednn": 1.5}, gflops=2 * n / 5.0, gbps=12 / 5.0, device=1,
                    verified=False) for n in sizes]
    start = [result("start", name, t, {}, gflops=0.0, gbps=0.0) for name, t in (("a context", 3e7), ("a plan", 900.0))]
    regret = [{"suite": "gemm-cpu", "case": f"case {i}", "dtype": "f32", "chosen": "gemm/x", "best": "gemm/y", "chosen_ns": 2.0,
               "best_ns": 1.0, "ratio": 1 + i / 10, "measured": [{}, {}]} for i in range(5)]
    estimate = {"suite": "gemm-cpu", "case": "square 64", "dtype": "f32", "device": 0, "solver": "gemm/tiled", "predicted": True,
                "median_ns": 1e4, "gflops": 1.0, "gbps": 1.0}
    return {"both": version_3([*gemm, *copies, *other], 2), "start": run_file(start), "cold": version_3(start, store="cold"),
            "warm": version_3(start), "regret": run_file(regret, complete=False), "first": first_file(FIRST),
            "estimates": version_3([estimate], predicted=True),
            "table": {"recorded": "2026-01-01", "columns": ["a"], "rows": [["1"]]}}


FIRST = {("first product", "cold"): [1.5e9, 1.6e9, 1.8e9], ("first product", "warm"): [7e6, 8e6, 9e6],
         ("first inference of <net>, 1 image", "cold"): [2.5e10]}

SECTIONS = ["machines", "speed", "roofline", "heat", "start", "errors", "selection", "predictions", "tables", "reproduce"]


@unittest.skipIf(DRAWS is None, "no Python with matplotlib")
class Page(InFolder):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        folder = Path(cls.place.name)
        cls.files, cls.path, cls.svgs = sample(), folder / "page.html", folder / "svg"
        paths = [keep(folder / f"{name}.json", content) for name, content in cls.files.items()]
        cls.done = run("report", *paths, "-o", cls.path, "--svg", cls.svgs, python=DRAWS)
        cls.text = cls.path.read_text(encoding="utf-8") if cls.path.exists() else ""

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_it_is_one_small_page_without_references(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertIn("21 cases on 3 machines", self.done.stdout)
        self.assertLess(len(self.text.encode("utf-8")), 2e6)
        self.assertEqual([word for word in re.findall(r"(?:src|href)\s*=\s*['\"]?([^'\" >]*)", self.text)
                          if not word.startswith("#") and word != "data:,"], [])
        self.assertNotIn("@import", self.text)
        self.assertEqual(set(re.findall(r"https?://[^\"' <]*", self.text)), {"http://www.w3.org/2000/svg"})
        self.assertNotIn("<copy>", self.text)

    def test_all_of_the_trees_files_fit(self):
        page = self.folder / "all.html"
        done = run("report", *sorted((ROOT / "bench" / "results").glob("*.json")), "-o", page, python=DRAWS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLess(page.stat().st_size, 2e6)

    def test_ids_are_unique_and_referred_to(self):
        ids = re.findall(r"\bid=['\"]?([^'\" >]+)", re.sub(r"<script>.*?</script>", "", self.text))
        self.assertEqual(sorted(ids), sorted(set(ids)))
        for name in re.findall(r"href=\"#([^\"]+)\"|url\(#([^)]+)\)", self.text):
            self.assertIn("".join(name), ids)

    def test_what_must_be_stated_is(self):
        for said in ("Left out, because their individual measurements were not kept: table", "4 results were not verified, in: both",
                     "interrupted or a case failed: regret", "nothing was measured", "no file has ceilings of the device",
                     "read 1 MiB again 100 GB/s (90 to 110)", "000000000000 (clean), gcc 12", "disturbed"):
            self.assertIn(said, self.text)
        self.assertNotIn("write 10 GB/s", self.text, "the highest bandwidth of a level is its ceiling")

    def svg(self, name):
        return ElementTree.parse(self.svgs / f"{name}.svg").getroot()

    def marks(self, name):
        """Returns the (element, text) of the marks of a figure."""
        return [(mark, mark.find(f"{SVG}title").text) for mark in self.svg(name).iter() if mark.get("class") == "m"]

    def test_points_are_where_the_file_says(self):
        cases = [r for r in self.files["both"]["results"] if r["suite"] == "gemm-cpu" and r["device"] == 0]
        for name, values in (("roofline-A", [(r["gflops"] / r["gbps"], r["gflops"]) for r in cases]),
                             ("latency", [(r["median_ns"], r["latency_ns"]) for r in cases])):
            marks = self.marks(name)[:len(values)]
            self.assertEqual(len(marks), len(values))
            for axis, wanted in (("x", [v[0] for v in values]), ("y", [v[1] for v in values])):
                at = [float(mark.get(axis)) for mark, _ in marks]
                scale = (at[-1] - at[0]) / math.log(wanted[-1] / wanted[0])
                for place, value in zip(at, wanted):
                    self.assertAlmostEqual(place, at[0] + scale * math.log(value / wanted[0]), delta=0.1, msg=f"{name} {axis}")
        texts = " ".join(text for _, text in self.marks("roofline-A"))
        for r in cases:
            self.assertIn(f"A gemm-cpu: {r['case']}, f32: {r['gflops']:.4g} GFLOP/s", texts)
            self.assertIn("50 % of the attainable, limited by multiply-add f32", texts)

    def test_bars_are_the_means_and_the_worst_is_the_worst(self):
        texts = {text.partition(": ")[0][0] + " " + text.split(": ")[1]: text for _, text in self.marks("bars-gemm-cpu")}
        self.assertEqual(sorted(texts), ["A f32 OpenBLAS", "A f32 oneDNN", "B f32 oneDNN"])
        ratios = [r["peers"]["onednn"]["ratio"] for r in self.files["both"]["results"] if r["suite"] == "gemm-cpu" and r["device"] == 0]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        error = math.log(1.1) / math.sqrt(len(ratios))
        self.assertIn(f"{mean:.2f} ({mean * math.exp(-error):.2f} to {mean * math.exp(error):.2f}) over 4 cases, from "
                      f"{min(ratios):.2f} (square 64) to {max(ratios):.2f}", texts["A f32 oneDNN"])

    def test_peers_have_the_versions_of_their_files(self):
        cases = [result("gemm-cpu", "square 64", 2.0, {"openblas": 1.5, "openblas-pypi": 1.2, "onednn-blocked": 0.9, "onednn": 0.8,
                                                       "onednn-pypi": 0.7})]
        file = version_3(cases)
        file["peers"]["versions"] = {"openblas": "0.3.21", "openblas-pypi": "0.3.34.481.3", "onednn": "3.2.0"}
        page, folder = self.folder / "page.html", self.folder / "svg"
        done = run("report", self.file("a", file), "-o", page, "--svg", folder, python=DRAWS)
        self.assertEqual(done.returncode, 0, done.stderr)
        texts = {t.text for t in ElementTree.parse(folder / "bars-gemm-cpu.svg").getroot().iter(f"{SVG}text")}
        self.assertLessEqual({"A f32 OpenBLAS 0.3.21", "A f32 OpenBLAS, PyPI 0.3.34", "A f32 oneDNN, blocked 3.2.0"}, texts)
        self.assertIn("<td>OpenBLAS, PyPI<td>0.3.34.481.3", page.read_text(encoding="utf-8"))
        rows = re.findall(r"<tr><td>A<td>gemm-cpu<td>f32<td>([^<]*)<td>", page.read_text(encoding="utf-8"))
        self.assertEqual(rows[:5], ["oneDNN", "oneDNN, PyPI", "oneDNN, blocked", "OpenBLAS", "OpenBLAS, PyPI"])

    def test_a_device_that_failed_has_a_card(self):
        file = version_3([result("gemm-cpu", "square 64", 2.0, {"openblas": 1.5}, device=n) for n in (0, 2)], 3)
        file["devices"][1] = {**file["devices"][1], "name": "gpu:3", "platform": "", "driver": "", "kind": "", "compute_units": 0,
                              "cache": 0, "failed": "no device matches"}
        file["failures"] = [{"device": 1, "why": "no device matches"}]
        page = self.folder / "page.html"
        done = run("report", self.file("a", file), "-o", page, python=DRAWS)
        self.assertEqual(done.returncode, 0, done.stderr)
        cards = re.findall(r"(?s)<article.*?</article>", page.read_text(encoding="utf-8"))
        self.assertEqual(["not opened" in card for card in cards], [False, True, False])
        self.assertIn("<dt>Failed<dd>no device matches", cards[1])

    def test_cold_and_warm_starts_are_separate(self):
        names = [t.text for t in self.svg("start-A").iter(f"{SVG}text")]
        self.assertLessEqual({"a context (cold)", "a context (warm)"}, set(names))
        self.assertEqual(len(self.marks("start-A")), 4)

    def test_first_uses_are_in_the_section_of_the_start(self):
        self.assertEqual([text for _, text in self.marks("first-A")],
                         ["A first product, cold: 1.6 s (1.5 s to 1.8 s)", "A first inference of <net>, 1 image, cold: 25 s (25 s to 25 s)",
                          "A first product, warm: 8 ms (7 ms to 9 ms)"])
        (section,) = re.findall(r'(?s)<section id="start">.*?</section>', self.text)
        for said in ('<figure id="first-A">', "<td>first inference of &lt;net&gt;, 1 image<td>cold<td class=n data-v=2.5e+10>25 s"):
            self.assertIn(said, section)
        self.assertNotIn("None of the files has first uses", section)
        done = run("report", self.file("a", self.files["start"]), "-o", self.folder / "p.html", python=DRAWS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("None of the files has first uses", (self.folder / "p.html").read_text(encoding="utf-8"))

    def test_predictions_are_beside_measurements(self):
        ((_, text),) = self.marks("prediction")
        self.assertEqual(text, "A gemm-cpu: square 64, f32: predicted 10 µs for cpu_16, measured 20.5 µs")
        self.assertIn("<td class=n data-v=2.048>2.05", self.text)

    def test_pictures_for_documents_are_whole(self):
        names = {path.stem for path in self.svgs.iterdir()}
        self.assertLessEqual({"bars-gemm-cpu", "roofline-A", "roofline-B", "memory-A", "latency", "accuracy", "regret", "start-C",
                              "first-A", "heat-gemm-cpu"}, names)
        for name in names:
            text = (self.svgs / f"{name}.svg").read_text(encoding="utf-8")
            root = self.svg(name)
            self.assertTrue(root.get("aria-label") and root.get("width"), name)
            self.assertIn("prefers-color-scheme", text)
            self.assertNotRegex(text, r"#[12]0000\d", "a color was not replaced")
        cells = [t.text for t in self.svg("heat-gemm-cpu").iter(f"{SVG}text")]
        self.assertIn("0.56", cells)

    def test_each_figure_says_how_to_reproduce_it(self):
        figures = re.findall(r"(?s)<figure id=.*?</figure>", self.text)
        self.assertGreater(len(figures), 6)
        for figure in figures:
            self.assertIn("tenon-bench run --filter &#x27;3x3 n&#x27;", figure)
            self.assertIn("tenon-bench report ", figure)

    def test_a_page_that_cannot_be_written_leaves_nothing(self):
        path = self.file("a", run_file([result("gemm", "a", 1.0, {"onednn": 1.0})]))
        (self.folder / "page.html").mkdir()
        for page in (self.folder / "none" / "page.html", self.folder / "page.html"):
            done = run("report", path, "-o", page, python=DRAWS)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("cannot be written", done.stderr)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["a.json", "page.html"])
        done = run("report", self.file("t", self.files["table"]), "-o", self.folder / "p.html", python=DRAWS)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no measurements", done.stderr)

    def test_a_single_file_of_each_kind(self):
        for name, content in self.files.items():
            if name != "table" and name != "estimates":
                page = self.folder / f"{name}.html"
                done = run("report", self.file(name, content), "-o", page, python=DRAWS)
                self.assertEqual((done.returncode, done.stderr), (0, ""), name)
                found = re.findall(r'<section id="(\w+)">', page.read_text(encoding="utf-8"))
                self.assertEqual(found, SECTIONS)


class Workflow(InFolder):
    PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")

    def test_the_example_for_ci_is_valid(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("Python has no yaml module")
        (block,) = re.findall(r"(?ms)^```yaml\n(.*?)^```$", self.PAGE)
        job = yaml.safe_load(block)["jobs"]["compare"]
        self.assertTrue(all(("uses" in step) != ("run" in step) for step in job["steps"]))
        script = "\n".join(step["run"] for step in job["steps"] if "run" in step)
        done = subprocess.run(["bash", "-n", "-c", re.sub(r"\$\{\{.*?\}\}", "x", script)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        if PROGRAM is not None:
            text = subprocess.run([PROGRAM, "help", "run"], capture_output=True, text=True, check=True).stdout
            for option in re.findall(r"--[a-z-]+", job["env"]["CASES"]):
                self.assertRegex(text, rf"(?<![\w-]){option}(?![\w-])")
        path = self.file("base", run_file([result("gemm", "a", 1.0, {"onednn": 1.0})]))
        shutil.copy(path, self.folder / "new.json")
        for verb in ("compare", "report"):
            (words,) = re.findall(rf"tenon-bench {verb} ([^>\n]*)", script.replace("\\\n", " "))
            if verb == "compare" or DRAWS is not None:
                done = subprocess.run([DRAWS or sys.executable, "-B", str(FOLDER), verb, *words.split()], cwd=self.folder,
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)


PROBE = """<script>(() => {
  const all = (s) => [...document.querySelectorAll(s)], rows = () => all("#cases tbody tr").filter((r) => !r.hidden);
  const cells = (r) => [...r.cells].map((c) => c.textContent), found = {};
  found.width = innerWidth; found.wide = document.documentElement.scrollWidth;
  found.sections = all("section").filter((s) => s.offsetHeight > 40).map((s) => s.id);
  found.cases = rows().map((r) => [...cells(r), ...[...r.cells].map((c) => c.dataset.v)]);
  found.firsts = all("#firsts tbody tr").map((r) => [r.cells[1].textContent, r.cells[2].textContent, r.cells[3].dataset.v]);
  found.figures = all("figure svg").map((s) => s.getBoundingClientRect()).map((b) => [b.left, b.right, b.height]);
  found.text = Math.min(...all("figure svg text").map((t) => t.getBoundingClientRect().height).filter((h) => h > 0));
  const head = all("#cases th")[4]; head.querySelector("button").click();
  found.up = rows().map((r) => Number(r.cells[4].dataset.v)); found.sorted = head.getAttribute("aria-sort");
  head.querySelector("button").click(); found.down = rows().map((r) => Number(r.cells[4].dataset.v));
  const filter = document.getElementById("filter"); filter.value = "f32 square"; filter.dispatchEvent(new Event("input"));
  found.both = rows().length;
  const machine = document.getElementById("machine"); machine.value = "B"; machine.dispatchEvent(new Event("input"));
  found.one = rows().length;
  filter.value = "SQUARE 64"; filter.dispatchEvent(new Event("input"));
  found.filtered = rows().map(cells); found.count = document.getElementById("count").textContent;
  found.faded = all("#roofline-A .m.off").length; found.clear = all("#roofline-B .m:not(.off)").length;
  const mark = document.querySelector("#roofline-B .m"); mark.dispatchEvent(new MouseEvent("click", {bubbles: true}));
  found.told = document.querySelector("#roofline-B output").textContent;
  const first = all("#latency .m").filter((m) => !m.classList.contains("off"))[0];
  first.dispatchEvent(new PointerEvent("pointerover", {bubbles: true})); found.hover = first.querySelector("title").textContent;
  const light = getComputedStyle(document.body).backgroundColor, theme = document.getElementById("theme");
  theme.value = "dark"; theme.dispatchEvent(new Event("change"));
  found.colors = [light, getComputedStyle(document.body).backgroundColor];
  parent.postMessage(JSON.stringify(found), "*");
})();</script>"""
# A window of Chromium is at least 500 pixels wide, so a phone is a frame in it.
FRAME = """<!doctype html><body style="margin:0"><script>
addEventListener("message", (event) => { document.getElementById("probe").textContent = event.data; });
</script><iframe style="border:0" width=%d height=900 src=page.html></iframe><pre id=probe></pre>"""


@unittest.skipIf(DRAWS is None, "no Python with matplotlib")
@unittest.skipIf(BROWSER is None, "Chromium is not installed")
class Browser(InFolder):
    def browse(self, address):
        return subprocess.run([BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                               "--no-first-run", f"--user-data-dir={self.folder / 'profile'}", "--window-size=1400,1000",
                               "--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom", address],
                              capture_output=True, text=True, check=False, timeout=200)

    def setUp(self):
        super().setUp()
        try:
            done = self.browse("data:text/html,<p>It runs")
        except subprocess.TimeoutExpired:
            self.skipTest(f"{BROWSER} does not end here")
        if "It runs" not in done.stdout:
            self.skipTest(f"{BROWSER} does not run here: {done.stderr.strip()[-200:]}")

    def probe(self, width):
        files = [self.file(name, content) for name, content in sample().items()]
        page = self.folder / "page.html"
        done = run("report", *files, "-o", page, python=DRAWS)
        self.assertEqual(done.returncode, 0, done.stderr)
        page.write_text(page.read_text(encoding="utf-8").replace("</html>", PROBE + "</html>"), encoding="utf-8")
        frame = self.folder / "frame.html"
        frame.write_text(FRAME % width, encoding="utf-8")
        done = self.browse(frame.as_uri())
        said = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.S)
        self.assertEqual([line for line in done.stderr.splitlines() if ":CONSOLE" in line], [])
        self.assertTrue(said and said[1], done.stdout[-2000:])
        return json.loads(re.sub("&lt;", "<", re.sub("&gt;", ">", said[1])).replace("&amp;", "&"))

    def check(self, width):
        found = self.probe(width)
        self.assertEqual(found["width"], width)
        self.assertLessEqual(found["wide"], width, "the page scrolls sideways")
        self.assertEqual(found["sections"], SECTIONS)
        for left, right, height in found["figures"]:
            self.assertTrue(0 <= left < right <= width and height > 50, (left, right, height))
        self.assertGreater(found["text"], 7, "the text of figures is too small")
        self.assertEqual({(case, caches): float(value) for case, caches, value in found["firsts"]},
                         {key: sorted(rounds)[len(rounds) // 2] for key, rounds in FIRST.items()})
        results = [r for name in ("both", "start") for r in sample()[name]["results"]]
        self.assertEqual(len(found["cases"]), len(results) + 4)  # and those with a cold and with a warm store
        for r in results:
            (row,) = [c for c in found["cases"] if c[2] == r["case"] and c[0] == {0: "A", 1: "B"}.get(r.get("device"), "C")]
            values = row[len(row) // 2:]
            self.assertEqual((row[1], row[3], row[12]), (r["suite"], r["dtype"], r["solver"]))
            self.assertAlmostEqual(float(values[4]) / r["median_ns"], 1, places=5)
            if r["gflops"] or r["gbps"]:
                self.assertAlmostEqual(float(values[6]) / (r["gflops"] or r["gbps"]), 1, places=5)
            if r["peers"]:
                self.assertAlmostEqual(float(values[7]), min(p["ratio"] for p in r["peers"].values()), places=5)
            self.assertEqual(values[11], f"{r['error_over_bound']:.6g}" if r["verified"] else None)
        self.assertEqual((found["sorted"], found["up"]), ("ascending", sorted(found["up"])))
        self.assertEqual(found["down"], found["up"][::-1])
        self.assertEqual((found["both"], found["one"]), (8, 4))
        self.assertEqual([(row[0], row[2]) for row in found["filtered"]], [("B", "square 64")])
        self.assertEqual(found["count"], "1 of 18 cases")
        self.assertEqual((found["faded"], found["clear"]), (4, 1))
        self.assertRegex(found["told"], r"B gemm-cpu: square 64, f32: 20\.5 µs \(18\.6 µs to 22\.5 µs\), 25\.6 GFLOP/s, 1\.50 times")
        self.assertEqual(found["hover"], found["told"])
        self.assertEqual(found["colors"], ["rgb(255, 255, 255)", "rgb(13, 17, 23)"])

    def test_on_a_desk(self):
        self.check(1280)

    def test_on_a_phone(self):
        self.check(390)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

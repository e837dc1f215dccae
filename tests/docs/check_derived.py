#!/usr/bin/env python3
"""Tests parts of pages that are derived from files: README's program, the chart, the tables of tested
platforms, and the list of places that name an operation, with `pad` as the example in docs/architecture.md."""
import copy
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import activations  # noqa: E402
import chart  # noqa: E402
import devices  # noqa: E402
import errors  # noqa: E402
import measures  # noqa: E402
import onnx_page  # noqa: E402

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


class Readme(unittest.TestCase):
    def test_the_program_is_the_example(self):
        source = (ROOT / "examples" / "product.c").read_text(encoding="utf-8")
        shown = re.search(r"(?ms)^<!-- from examples/product.c -->\n```c\n(.*?)^```$", README)[1]
        self.assertIn(shown, source)
        self.assertIn("tenon_gemm(", shown)

    def test_the_page_of_examples_is_complete(self):
        page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
        for path in (ROOT / "examples").iterdir():
            if path.suffix in (".c", ".cpp", ".py") and not path.stem.startswith("digits_"):
                self.assertIn(f"(../examples/{path.name})", page)


class Onnx(unittest.TestCase):
    def test_the_lists_of_operators_are_up_to_date(self):
        text = onnx_page.PAGE.read_text(encoding="utf-8")
        self.assertEqual(onnx_page.written(text), text, "./run docs writes them")
        self.assertIn("`MatMul`", onnx_page.operators())


class Errors(unittest.TestCase):
    def test_the_table_is_up_to_date(self):
        text = errors.PAGE.read_text(encoding="utf-8")
        self.assertEqual(errors.written(text), text, "./run docs writes it")

    def test_no_error_exceeds_its_bound(self):
        for operation, types in errors.measured().items():
            for dtype, (ratio, problems, shapes) in types.items():
                self.assertLessEqual(ratio, 1, f"{operation} {dtype}")
                self.assertIn(shapes, range(1, problems + 1), f"{operation} {dtype}")


class Chart(unittest.TestCase):
    def test_the_chart_is_up_to_date(self):
        picture = chart.CHART.read_text(encoding="utf-8")
        for _, label, *figures in chart.bars():
            self.assertIn(f">{label}<", picture, "./run docs redraws it")
            self.assertIn(f">{chart.said(*figures)}<", picture, "./run docs redraws it")

    def test_the_minimum_is_taken_over_all_files(self):
        files = chart.files()
        for _, rows in chart.GROUPS:
            for suite, peer, _ in rows:
                least = float(measures.worst(suite, peer, files))
                raw = [case["peers"][edition]["ratio"] for _, file in files if file.get("command", ["", ""])[1:2] == ["run"]
                       for case in file["results"] for edition in measures.editions(peer)
                       if case["suite"] == suite and case["dtype"] == "f32" and edition in (case.get("peers") or {})]
                told = [float(m["least"]) for edition in measures.editions(peer) for _, _, m in measures.found(suite, edition, files)]
                self.assertAlmostEqual(least, min([*raw, *told]), delta=0.0051, msg=f"{suite}, {peer}")

    def test_an_older_file_with_a_worse_case_counts(self):
        measure = {"suite": "gemm-cpu", "dtype": "f32", "peer": "onednn"}
        files = [("old", {"measures": [{**measure, "least": "0.2"}, {**measure, "least": "0.9", "mean": "0.95"}]}),
                 ("new", {"results": [], "measures": [{**measure, "least": "0.5", "mean": "0.8"}]})]
        self.assertEqual(measures.worst("gemm-cpu", "onednn", files), "0.2")
        self.assertEqual(measures.newest_editions("gemm-cpu", "onednn", files)["onednn"][1]["mean"], "0.8")
        self.assertIn(chart.MARK, chart.said("0.8", "0.2", chart.MARK))

    def test_bars_without_measurements_are_marked(self):
        peers = [(suite, peer) for _, rows in chart.GROUPS for suite, peer, _ in rows]
        for kept in (True, False):
            file = {"measures": [{"suite": suite, "dtype": "f32", "peer": peer, "least": "0.5", "mean": "1.0"}
                                 for suite, peer in peers], **({"results": []} if kept else {})}
            self.assertEqual({bar[4] for bar in chart.bars([("one", file)])}, {"" if kept else chart.MARK})

    def test_two_versions_of_a_peer_have_a_bar_each(self):
        peers = {peer for _, rows in chart.GROUPS for _, peer, _ in rows}
        both = [edition for peer in peers for edition in measures.editions(peer)]
        file = {"complete": True, "command": [], "results": [], "peers": {"versions": {"onednn": "2.6.3", "onednn-pypi": "3.2.0.1"}},
                "summary": {"ratios": [{"suite": suite, "dtype": "f32", "peer": peer, "least": 0.5, "mean": 2.0}
                                       for suite in {suite for _, rows in chart.GROUPS for suite, _, _ in rows} for peer in both]}}
        labels = [bar[1] for bar in chart.bars([("one", file)])]
        self.assertEqual(len(labels), 2 * sum(len(rows) for _, rows in chart.GROUPS))
        self.assertIn("oneDNN 2.6.3, the same layout", labels)
        self.assertIn("oneDNN 3.2.0, the same layout", labels)

    def test_captions(self):
        picture = chart.CHART.read_text(encoding="utf-8")
        for line in chart.caption().splitlines():
            self.assertIn(line, picture, "./run docs redraws it")


class Devices(unittest.TestCase):
    def test_each_claim_has_its_evidence(self):
        self.assertEqual(devices.wrong(devices.read()), [])

    def test_device_tables_are_up_to_date(self):
        page = devices.PAGE.read_text(encoding="utf-8")
        self.assertEqual(devices.filled(page), page, "./run docs updates it")
        page = devices.RUNS_PAGE.read_text(encoding="utf-8")
        self.assertEqual(devices.filled_runs(page), page, "./run docs updates it")

    def test_all_is_claimed_only_of_counted_runs_without_failures(self):
        self.assertEqual(devices.counted({"passed": 868, "failed": 1}), "868 of 869")
        self.assertEqual(devices.counted({"passed": 869, "failed": 0}), "all 869")
        self.assertEqual(devices.counted({"passed": None, "failed": 0}), "passed, count not kept")
        for page in (devices.PAGE.read_text(encoding="utf-8"), devices.RUNS_PAGE.read_text(encoding="utf-8")):
            self.assertNotIn("quick set: all", page)

    def test_measurements_state_version_and_completeness(self):
        for row in filter(lambda row: "measured" in row, devices.read()):
            file = devices.written(ROOT / row["measured"]["file"])
            said = devices.cell("measured", row["measured"])
            self.assertIn(file["tenon"], said)
            self.assertEqual("incomplete" in said, not file["complete"])

    def test_emulation_is_claimed_only_of_gpus_with_such_units(self):
        wmma = next(row for row in devices.read() if "gfx1100" in row["device"])
        for target in ("gfx1030", "gfx0"):
            row = {**wmma, "device": f"card (gfx1100, {target})"}
            self.assertRegex("\n".join(devices.wrong([row])), f"no wmma kernel of {target} was compiled")

    def test_claims_without_evidence_are_found(self):
        card = next(row for row in devices.read() if row.get("card") and "compiled" in row)
        for change, message in [
                ({"tested": card["compiled"]}, "no results"),
                ({"tested": {"run": "absent"}, "card": False}, "there is no run"),
                ({"tested": card["compiled"], "card": False}, "names no run"),
                ({"measured": {"file": "bench/results/2026-11-21-cpu-suites.json"}, "name": "EPYC"}, "no results"),
                ({"measured": {"file": "bench/results/2026-11-23-cpu-regret.json", "says": "EPYC"},
                  "name": "Tesla"}, "no results"),
                ({"compiled": {"file": "docs/absent.md", "says": "x"}}, "there is no"),
                ({"compiled": {"file": "README.md", "says": "never said" + " so"}}, "does not say"),
                ({"driven": card["compiled"]}, "does not know")]:
            row = {**copy.deepcopy(card), **change}
            self.assertRegex("\n".join(devices.wrong([row])), message)


def places(page, title):
    """Returns the files in the table of a section of docs/architecture.md."""
    section = page.split(f"## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"(?m)^\| `([^`]*)` \|", section.split("| Place | ")[1].split("\n\n")[0])


class Activations(unittest.TestCase):
    HEADER = ROOT / "include" / "tenon" / "activation.h"
    ENUMERATOR = re.compile(r"^    TENON_ACTIVATION_(\w+) =\s+(\d+)", re.M)

    def test_the_list_matches_the_enumeration(self):
        header = self.HEADER.read_text(encoding="utf-8")
        enumerators = {name: int(number) for name, number in self.ENUMERATOR.findall(header)}
        self.assertEqual(activations.listed(), enumerators)
        self.assertEqual(list(enumerators.values()), list(range(len(enumerators))))

    def test_the_kernels_have_the_same_numbers(self):
        text = activations.KERNELS.read_text(encoding="utf-8")
        self.assertEqual(activations.written(text), text, "./run docs updates them")

    def test_the_page_lists_all_files_that_name_an_activation(self):
        paths = [ROOT / "docs" / "numerics.md"]
        for folder in ("include", "src", "cl_kernels", "tests", "python"):
            paths += (path for path in (ROOT / folder).rglob("*")
                      if path.suffix in (".c", ".h", ".hpp", ".cl", ".clh", ".py", ".txt")
                      and ROOT / "python" / "build" not in path.parents)  # made by pip
        names = [path.relative_to(ROOT).as_posix() for path in paths
                 if re.search("(?i)selu", path.read_text(encoding="utf-8"))
                 and "tenon/onnx/" not in path.as_posix()]  # maps ONNX's operators, whatever activations exist
        self.assertEqual(sorted(set(names) - {"tests/docs/check_derived.py"}),
                         sorted(places(PAGE, "Adding an activation")))


class AddingAnOperation(unittest.TestCase):
    NAMED = re.compile(r"X\(pad\)|'pad'|\bpad/\w|\bpad\.h\b|tn_operation_pad\b|tenon_pad_")
    OWN = re.compile(r"(^|/)(pad/|pad\.h$|test_pad\.c$)")

    def files_that_name_pad(self):
        for folder in ("include", "src", "cl_kernels", "tests"):
            for path in (ROOT / folder).rglob("*"):
                name = path.relative_to(ROOT).as_posix()
                if path.suffix in (".c", ".h", ".cl", ".clh", ".build") and not self.OWN.search(name) \
                        and not name.startswith("tests/docs/") and self.NAMED.search(path.read_text(encoding="utf-8")):
                    yield name

    def test_the_page_lists_all_files_that_name_an_operation(self):
        self.assertEqual(sorted(self.files_that_name_pad()), sorted(places(PAGE, "Adding an operation")))


if __name__ == "__main__":
    unittest.main()

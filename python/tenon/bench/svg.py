"""Figures of matplotlib as SVG: text as text, colors as CSS variables, and a tooltip for each mark."""
import io
import re
from typing import Any, Dict, List, Tuple
from xml.etree import ElementTree

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tenon", "font.size": 9, "font.family": "sans-serif",
                            "axes.titlesize": 10, "axes.titleweight": "bold", "axes.titlelocation": "left",
                            "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})

# Placeholders of matplotlib's colors, and what they are on a light and on a dark page. The series are those of Okabe and Ito,
# which people with any kind of color blindness can distinguish, a little lighter on dark; the shape of a mark repeats them.
COLORS = {
    "ink": ("#100001", "#24292f", "#e6edf3"),
    "faint": ("#100002", "#6e7781", "#8b949e"),
    "grid": ("#100003", "#d8dee4", "#30363d"),
    "page": ("#100004", "#ffffff", "#0d1117"),
    "s1": ("#200001", "#0072b2", "#56b4e9"),
    "s2": ("#200002", "#d55e00", "#f0803c"),
    "s3": ("#200003", "#009e73", "#2bc79b"),
    "s4": ("#200004", "#aa4c82", "#e08fbd"),
    "s5": ("#200005", "#b07d00", "#f0c040"),
    "s6": ("#200006", "#5b5bd6", "#a9a9ff"),
    "s7": ("#200007", "#57606a", "#afb8c1"),
}
C = {name: values[0] for name, values in COLORS.items()}
SERIES = [C[f"s{i}"] for i in range(1, 8)]
MARKERS = "os^DvPX*<>hpd"
NAMESPACE = "http://www.w3.org/2000/svg"
LINK = "{http://www.w3.org/1999/xlink}href"

matplotlib.rcParams.update({key: C["ink"] for key in ("text.color", "axes.labelcolor", "xtick.color", "ytick.color",
                                                      "axes.edgecolor", "hatch.color")})
matplotlib.rcParams.update({"grid.color": C["grid"], "grid.linewidth": 0.6, "axes.axisbelow": True})


def variables(dark: bool) -> str:
    """Returns the CSS variables of a theme."""
    return "".join(f"--{name}:{values[2 if dark else 1]};" for name, values in COLORS.items())


STANDALONE = (f"svg{{{variables(False)}}}@media (prefers-color-scheme:dark){{svg{{{variables(True)}}}}}"
              "text{font-family:system-ui,sans-serif}")


Tip = Tuple[str, int]  # the text of a mark, and the number of its case; -1 without one


class Chart:
    """A figure, and the texts of its marks: `tips` has those of the artist with an id, in the order of its points."""

    def __init__(self, name: str, title: str, width: float, height: float, **grid: Any):
        from matplotlib.figure import Figure
        self.name, self.title = name, title
        self.figure = Figure(figsize=(width, height), layout="constrained")
        self.axes = self.figure.subplots(**grid)
        self.tips: Dict[str, List[Tip]] = {}

    def tell(self, artist: Any, tips: List[Tip]) -> None:
        """Gives the points of an artist their texts, by which the page also filters them."""
        gid = f"tip{len(self.tips)}"
        artist.set_gid(gid)
        self.tips[gid] = tips

    def svg(self, standalone: bool = False) -> str:
        """Returns the figure: an element for a page, or the text of a file."""
        out = io.BytesIO()
        self.figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        ElementTree.register_namespace("", NAMESPACE)
        root = ElementTree.fromstring(out.getvalue())
        self.add_tips(root, standalone)
        clean(root, self.name)
        root.set("role", "img")
        root.set("aria-label", self.title)
        if standalone:
            style = ElementTree.Element("style")
            style.text = STANDALONE
            root.insert(0, style)
        else:
            del root.attrib["width"], root.attrib["height"]
        text = ElementTree.tostring(root, encoding="unicode").replace("ns0:", "").replace(":ns0", "")
        return short(text) + ("\n" if standalone else "")

    def add_tips(self, root: ElementTree.Element, standalone: bool) -> None:
        """Adds the texts; on a page only the numbers of the cases, whose rows have the text."""
        for group in root.iter(f"{{{NAMESPACE}}}g"):
            tips = self.tips.get(group.get("id", ""))
            if tips is None:
                continue
            marks = list(group.iter(f"{{{NAMESPACE}}}use")) or list(group.iter(f"{{{NAMESPACE}}}path"))
            if len(marks) != len(tips):
                raise ValueError(f"{self.name}: {len(marks)} marks were drawn for {len(tips)} values")
            for mark, (text, number) in zip(marks, tips):
                mark.set("class", "m")
                if number >= 0 and not standalone:
                    mark.set("data-c", str(number))
                else:
                    ElementTree.SubElement(mark, f"{{{NAMESPACE}}}title").text = text
            share_style(group, marks)


def share_style(group: ElementTree.Element, marks: List[ElementTree.Element]) -> None:
    """Moves the style that the marks of a group share to the group."""
    styles = {mark.get("style", "") for mark in marks}
    if len(styles) == 1 and marks[0].tag.endswith("use"):
        group.set("style", styles.pop())
        for mark in marks:
            del mark.attrib["style"]


def clean(root: ElementTree.Element, prefix: str) -> None:
    """Removes what a page does not need, and makes the ids that are referred to unique on it."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith("metadata") or (child.tag.endswith("style") and "*{" in (child.text or "")):
                parent.remove(child)
    used = set()
    for element in root.iter():
        used |= {element.get(LINK, "")[1:]} | set(re.findall(r"url\(#([^)]*)\)", " ".join(element.attrib.values())))
    names = {name: f"{prefix}-{i}" for i, name in enumerate(sorted(used))}
    for element in root.iter():
        if element.get("id") in used:
            element.set("id", names[element.get("id", "")])
        else:
            element.attrib.pop("id", None)
        if LINK in element.attrib:
            element.set("href", f"#{names[element.attrib.pop(LINK)[1:]]}")
        for key, value in element.attrib.items():
            if "url(#" in value:
                element.set(key, re.sub(r"url\(#([^)]*)\)", lambda match: f"url(#{names[match[1]]})", value))


def short(text: str) -> str:
    """Replaces colors by variables, and shortens numbers and white space."""
    for name, values in COLORS.items():
        text = text.replace(values[0], f"var(--{name})")
    text = re.sub(r"(\d+\.\d\d)\d+", r"\1", text)
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", text)  # as matplotlib before 3.8 or so writes them
    text = re.sub(r"font: (\w+) ([\d.]+)px [^;\"]*", r"font-weight: \1;font-size: \2px", text)
    text = re.sub(r"font-family: [^;\"]*;?|alpha: [^;\"]*;?", "", text)
    return re.sub(r">\s+<", "><", re.sub(r"\n+", " ", text)).replace("; ", ";").strip()

"""Reads Tenon's headers: functions, structs with their defaults, enumerations, and their comments."""
import ast
import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

FUNCTION = re.compile(r"/\*\*((?:(?!\*/).)*?)\*/\s*TENON_\w+ tenon_status\s+(tenon_\w+)\(", re.S)
OPERAND = re.compile(r"const tenon_(?:tensor|packed) \*")
BODY = re.compile(r"typedef (?:struct|enum) tenon_\w+ \{(.*?)\n\} (tenon_\w+);", re.S)
MEMBER = re.compile(r"(?:/\*\*(?!<)((?:(?!\*/).)*)\*/)?\s*([^;,/{}]+)[;,]?"
                    r"(?:\s*/\*\*<((?:(?!\*/).)*)\*/)?", re.S)
FLAG = re.compile(r"/\*\*((?:(?!\*/).)*?)\*/\s*#define (TENON_\w+) +\d+u$|#define (TENON_\w+) +\d+u /\*\*<(.*?)\*/",
                  re.S | re.M)


def preprocess(includes, text, *options):
    """Returns the preprocessed C text with all its includes except the headers of OpenCL and C."""
    with tempfile.TemporaryDirectory(prefix="tenon-headers-") as folder:
        for name in ("CL/cl.h", "stddef.h", "stdint.h"):
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text("")
        main = Path(folder, "main.c")
        main.write_text("#include <tenon/tenon.h>\n" + text)
        command = [*shlex.split(os.environ.get("CC", "cc")), "-E", "-P", "-nostdinc", "-U__GNUC__",
                   f"-I{folder}", *[f"-I{i}" for i in includes], *options, str(main)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def flags(includes):
    """Returns the integer macros by name."""
    found = re.findall(r"^#define (TENON_\w+) (\d+)u?$", preprocess(includes, "", "-dM"), re.M)
    return {name: int(value) for name, value in found}


def prototypes(text, by_hand):
    """Returns, for each operation, the type of its parameters and its operands in C's order."""
    found = {}
    for name, arguments in re.findall(r"tenon_status tenon_(\w+)\(([^()]*)\);", text):
        arguments = [" ".join(a.split()) for a in arguments.split(",")]
        if len(arguments) < 4 or not arguments[1].endswith("_params *params"):
            continue
        if arguments[0] != "tenon_stream *stream" or name in by_hand:
            continue
        operands = [OPERAND.sub("", a) for a in arguments[2:-1]]
        found[name] = (arguments[1].split()[1], operands)
    return found


def initializers(includes, structs, values):
    """Returns the defaults of structs, as nested lists, evaluated from the headers' initializer macros."""
    mark = "tenon_default_of_"
    lines = "".join(f"{mark}{s} {s.upper()}_INIT;\n" for s in structs)
    text = preprocess(includes, lines)
    found = {}
    for struct, value in re.findall(rf"{mark}(\w+)\s+(\{{[^;]*\}});", text):
        value = re.sub(r"sizeof\(\w+\)", "0", value)
        value = re.sub(r"\b(TENON_\w+)\b", lambda m: str(values[m[0]]), value)
        value = re.sub(r"\b(\d+)u\b", r"\1", value).replace("NULL", "None")
        found[struct] = ast.literal_eval(value.translate(str.maketrans("{}", "[]")).strip())
    return found


def plain(comment):
    """Returns a comment's text without the asterisks at the start of its lines."""
    return re.sub(r"^[ \t]*\* ?", "", comment, flags=re.M).strip()


class Comments:
    """The headers' comments on functions, files, members of structs and enumerations, and flags."""

    def __init__(self, includes):
        self.functions, self.files, self.members, self.flags = {}, {}, {}, {}
        for folder in includes:
            for path in sorted(Path(folder, "tenon").glob("*.h")):
                self._read(path.read_text(encoding="utf-8"))

    def _read(self, text):
        file = re.match(r"/\*\* @file\n(.*?)\*/", text, re.S)
        for comment, name in FUNCTION.findall(text):
            self.functions[name] = plain(comment)
            self.files[name] = plain(file[1]) if file else ""
        for body, name in BODY.findall(text):
            for before, declaration, after in MEMBER.findall(body):
                member = re.search(r"(\w+)\s*(?:\[\w+\]|=\s*\d+)?\s*$", declaration)
                if member:
                    self.members[name, member[1]] = " ".join(plain(before or after).split())
        for before, name, name_after, after in FLAG.findall(text):
            said = " ".join(plain(before or after).split())
            self.flags[name or name_after] = re.sub(r"^[Ff]lags?: ", "", said)

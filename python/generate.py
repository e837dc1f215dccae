#!/usr/bin/env python3
"""Writes the parts of the package that follow from Tenon's headers.

    generate.py --include include --include build/include --output python/tenon

  _declarations.py  what cffi knows of the library (its ABI mode: nothing is compiled)
  constants.py      the values of enumerations, and flags
  operations.py     a function for each operation and one for its plan, with the headers' comments

Needs cffi and a C preprocessor (CC, or cc).
"""
import argparse
import importlib.util
import os
import re
import shlex
import subprocess
import tempfile
import textwrap
from pathlib import Path

import cffi

HERE = Path(__file__).resolve().parent
# What the headers take from others: OpenCL's handles are pointers; cffi knows size_t and int64_t.
OPENCL = """
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_event *cl_event;
typedef int32_t cl_int;
typedef uint64_t cl_device_type;
typedef uint16_t cl_half;
"""
# Handed by value, a struct with a union is more than libffi can do; its widest member is as large.
UNION = re.compile(r"union\s*\{[^}]*uint64_t raw\[2\];\s*\}\s*u;")
# Written by hand, since their operands are lists or objects.
BY_HAND = {"gemm_pack", "conv_pack_filter", "concat", "clip_by_norm"}
COMMENT = re.compile(r"/\*\*((?:(?!\*/).)*?)\*/\s*TENON_\w+ tenon_status\s+(tenon_\w+)\(", re.S)
OPERAND = re.compile(r"const tenon_(?:tensor|packed) \*")


def preprocess(includes, *options):
    """tenon.h with all that it includes but the headers of OpenCL and C."""
    with tempfile.TemporaryDirectory(prefix="tenon-headers-") as folder:
        for name in ("CL/cl.h", "stddef.h", "stdint.h"):
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text("")
        main = Path(folder, "main.c")
        main.write_text("#include <tenon/tenon.h>\n")
        command = [*shlex.split(os.environ.get("CC", "cc")), "-E", "-P", "-nostdinc", "-U__GNUC__",
                   f"-I{folder}", *[f"-I{i}" for i in includes], *options, str(main)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def flags(includes):
    """The macros that are whole numbers, by name."""
    found = re.findall(r"^#define (TENON_\w+) (\d+)u?$", preprocess(includes, "-dM"), re.M)
    return {name: int(value) for name, value in found}


def declarations(includes, path):
    text = UNION.sub("uint64_t u[2];", preprocess(includes))
    constants = "".join(f"#define {name} {value}\n" for name, value in flags(includes).items())
    builder = cffi.FFI()
    builder.cdef(OPENCL + constants + text)
    builder.set_source("tenon._declarations", None)
    builder.emit_python_code(str(path))
    spec = importlib.util.spec_from_file_location("_declarations", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ffi, text


def enumerators(ffi, text):
    names = re.findall(r"\}\s*(tenon_\w+);", text)
    types = [ffi.typeof(name) for name in names]
    return {key: value for t in types if t.kind == "enum" for key, value in t.relements.items()}


def constants_text(values):
    lines = ['"""Flags and the values of enumerations; the headers say what they mean."""',
             "# Written by generate.py.", ""]
    lines += [f"{name[len('TENON_'):]} = {value}" for name, value in sorted(values.items())]
    return "\n".join(lines) + "\n"


def comments(includes):
    """What the headers say of each function."""
    found = {}
    for folder in includes:
        for path in sorted(Path(folder, "tenon").glob("*.h")):
            text = path.read_text(encoding="utf-8")
            for comment, name in COMMENT.findall(text):
                found[name] = re.sub(r"^ ?\* ?", "", comment, flags=re.M).strip()
    return found


def prototypes(text):
    """Of each operation: the type of its parameters and its operands, in C's order."""
    found = {}
    for name, arguments in re.findall(r"tenon_status tenon_(\w+)\(([^()]*)\);", text):
        arguments = [" ".join(a.split()) for a in arguments.split(",")]
        if len(arguments) < 4 or not arguments[1].endswith("_params *params"):
            continue
        if arguments[0] != "tenon_stream *stream" or name in BY_HAND:
            continue
        operands = [OPERAND.sub("", a) for a in arguments[2:-1]]
        found[name] = (arguments[1].split()[1], operands)
    return found


def signatures():
    """The lines of signatures.txt: inputs and outputs, each a list of (name, marks)."""
    def split(names):
        found = [re.fullmatch(r"(\w+)([?!]*)", n.strip()) for n in names.split(",") if n.strip()]
        return [m.groups() for m in found]
    lines = (HERE / "signatures.txt").read_text(encoding="utf-8").splitlines()
    found = {}
    for line in lines:
        if line and not line.startswith("#"):
            name, inputs, outputs = re.fullmatch(r"(\w+)\((.*?)\)(?: -> (.*))?", line).groups()
            found[name] = (split(inputs), split(outputs or ""))
    return found


def parameters(ffi, ctype):
    """The keywords that set the fields of a struct, with their types in Python."""
    for name, field in ctype.fields:
        kind = field.type
        if name in ("struct_size", "reserved") or name.endswith("_count"):
            continue
        if kind.kind == "struct" and kind.cname != "struct tenon_activation":
            yield from parameters(ffi, kind)
        elif kind.kind == "struct":
            yield name, "Union[Activation, int, str]"
        elif name in ("kind", "mode"):
            yield name, "Union[int, str]"
        elif kind.kind == "array":
            item = {"scale": "Optional[Operand]", "zero_point": "Optional[Operand]",
                    "steps": "dict"}.get(name, "int")
            yield name, f"Union[{item}, Sequence[{item}]]" if item == "int" else f"Sequence[{item}]"
        elif kind.kind == "pointer":
            yield name, "str"
        else:
            yield name, "float" if kind.cname == "double" else "int"


def check(name, operands, inputs, outputs):
    listed = [n for n, _ in inputs + outputs]
    if sorted(listed) != sorted(operands):
        raise SystemExit(f"signatures.txt: {name} has {listed}, the header {operands}")


def function_text(ffi, name, signature, prototype, comment, is_plan):
    inputs, outputs = signature
    params, operands = prototype
    check(name, operands, inputs, outputs)
    keywords = list(parameters(ffi, ffi.typeof(params)))
    required = [f"{n}: Operand" for n, marks in inputs if "?" not in marks]
    optional = [f"{n}: Optional[Operand] = None" for n, marks in inputs if "?" in marks]
    optional += [f"{n}: Output = None" for n, _ in outputs]
    optional += [f"{n}: Optional[{hint}] = None" for n, hint in keywords]
    where = "context: Optional[Context]" if is_plan else "stream: Optional[Stream]"
    names = ", ".join(required + ["*"] + optional + [f"{where} = None"])
    result = "Plan" if is_plan else "Any" if outputs else "None"
    call = "plan" if is_plan else "run"
    values = "".join(f"{n}, " for n in operands)
    chosen = ", ".join(f"{n}={n}" for n, _ in keywords)
    body = [f"def {name}{'_plan' if is_plan else ''}({names}) -> {result}:",
            '    r"""' + textwrap.indent(comment, "    ").strip() + '\n    """',
            f"    return calls.{call}({name!r}, ({values}), dict({chosen}),",
            f"                     {'context' if is_plan else 'stream'})"]
    return "\n".join(body) + "\n\n\n"


HEAD = '''"""The operations of Tenon's C API, by its names, and their plans.

Operands are tensors or NumPy arrays. An output that is not given is made: a tensor, or an array
where all operands are arrays. One that is given is a tensor, a shape, or, where the output is one
that may be left out, True. A parameter that is None has the library's default; one that has a value
for each dimension also takes one for all. The docstrings are those of the C headers.
"""
# Written by generate.py.
from typing import Any, Optional, Sequence, Union

from . import calls
from .context import Context, Stream
from .params import Activation
from .plan import Plan
from .tensor import Operand, Output

'''


def operations_text(ffi, text, includes):
    listed, found, said = signatures(), prototypes(text), comments(includes)
    missing = set(found) - set(listed)
    if missing:
        raise SystemExit(f"signatures.txt lacks {', '.join(sorted(missing))}")
    table = {name: (found[name][0], found[name][1],
                    {n: marks for n, marks in listed[name][0]},
                    {n: marks for n, marks in listed[name][1]}) for name in sorted(listed)}
    rows = "".join(f"    {name!r}: {row!r},\n" for name, row in table.items())
    functions = ""
    for name in sorted(listed):
        for is_plan in (False, True):
            comment = said.get(f"tenon_{name}_plan" if is_plan else f"tenon_{name}", "")
            functions += function_text(ffi, name, listed[name], found[name], comment, is_plan)
    names = [name + end for name in sorted(listed) for end in ("", "_plan")]
    return (f"{HEAD}__all__ = {names!r}\n\ncalls.OPERATIONS.update({{\n{rows}}})\n\n\n"
            f"{functions.rstrip()}\n")


def generate(includes, folder):
    """Writes the three files into the folder; `includes` hold tenon/*.h and tenon/version.h."""
    folder = Path(folder)
    ffi, text = declarations(includes, folder / "_declarations.py")
    values = {**enumerators(ffi, text), **flags(includes)}
    (folder / "constants.py").write_text(constants_text(values), encoding="utf-8")
    (folder / "operations.py").write_text(operations_text(ffi, text, includes), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--output", required=True)
    args = parser.parse_args()
    generate(args.include, args.output)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Generates the parts of the package that follow from Tenon's headers.

    generate.py --include include --include build/include --output python/tenon

  _declarations.py  cffi's declarations of the library (ABI mode: nothing is compiled)
  _constants.py     values of enumerations and flags
  _words.py         words of enumerations, and the Python names of C names
  _operations.py    a function for each operation and one for its plan, with defaults and docstrings
  _operations.pyi   their types

Needs cffi and a C preprocessor (CC, or cc).
"""
import argparse
import ast
import importlib.util
import os
import re
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import cffi

import headers
from docstrings import Docstrings

HERE = Path(__file__).resolve().parent
# Types that the headers take from OpenCL: its handles are pointers. cffi already knows size_t and int64_t.
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
# libffi cannot pass a struct with a union by value. The union's widest member has the same size.
UNION = re.compile(r"union\s*\{[^}]*uint64_t raw\[2\];\s*\}\s*u;")
# Written by hand, because their operands are lists or objects.
BY_HAND = {"gemm_pack", "conv_pack_filter", "concat", "clip_by_norm"}
# Names that differ between Python and C.
RENAMED = {
    "tenon_checkpoint_open": "tenon.Checkpoint",
    "tenon_checkpoint_writer_create": "tenon.CheckpointWriter",
    "tenon_checkpoint_writer_write": "tenon.CheckpointWriter.write",
    "tenon_checkpoint_writer_commit": "tenon.CheckpointWriter.commit",
    "tenon_context_create": "tenon.Context",
    "tenon_group_create": "tenon.Group",
    "tenon_memory_create": "tenon.empty",
    "tenon_plan_run_operands": "tenon.Plan.run",
    "tenon_plan_scalar": "tenon.Plan.scalars",
    "tenon_stream_create": "tenon.Stream",
    "tenon_tensor_download": "tenon.Tensor.numpy",
    "tenon_tensor_slice_step": "tenon.Tensor.slice",
    "tenon_tensor_view": "tenon.view",
    "tenon_activation_kind": "tenon.Activation",
    "tenon_chain_step": "`steps`",
    "NULL": "None",
}


def module(path, name):
    """Loads one module of the package, which cannot be imported before all of its files are written."""
    spec = importlib.util.spec_from_file_location(name, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def declarations(includes, path):
    text = UNION.sub("uint64_t u[2];", headers.preprocess(includes, ""))
    constants = "".join(f"#define {name} {value}\n" for name, value in headers.flags(includes).items())
    builder = cffi.FFI()
    builder.cdef(OPENCL + constants + text)
    builder.set_source("tenon._declarations", None)
    builder.emit_python_code(str(path))
    return module(path, "_declarations").ffi, text


def enumerations(ffi, text):
    """Returns, for each enumeration, its words and their members."""
    names = re.findall(r"\}\s*(tenon_\w+);", text)
    found = {}
    for name in names:
        if ffi.typeof(name).kind == "enum":
            members = [member for _, member in sorted(ffi.typeof(name).elements.items())]
            prefix = os.path.commonprefix(members).rpartition("_")[0] + "_"
            found[name] = {member[len(prefix):].lower(): member for member in members}
    return found


def constants_text(values):
    lines = ['"""Flags and values of enumerations; the headers document them."""',
             "# Written by generate.py.", ""]
    lines += [f"{name[len('TENON_'):]} = {value}" for name, value in sorted(values.items())]
    return "\n".join(lines) + "\n"


def signatures():
    """Parses signatures.txt into inputs and outputs, each a list of (name, marks)."""
    def split(names):
        found = [re.fullmatch(r"(\w+)([?!=]*)", n.strip()) for n in names.split(",") if n.strip()]
        return [m.groups() for m in found]
    lines = (HERE / "signatures.txt").read_text(encoding="utf-8").splitlines()
    found = {}
    for line in lines:
        if line and not line.startswith("#"):
            name, inputs, outputs = re.fullmatch(r"(\w+)\((.*?)\)(?: -> (.*))?", line).groups()
            found[name] = (split(inputs), split(outputs or ""))
    return found


def definitions():
    """Returns the names of the package's handwritten functions, and the classes of the module tenon with their methods,
    also those of their base classes.
    """
    functions, classes, bases = set(), {}, {}
    imports = ast.parse((HERE / "tenon" / "__init__.py").read_text(encoding="utf-8")).body
    exported = {alias.name for item in imports if isinstance(item, ast.ImportFrom) for alias in item.names}
    for path in sorted((HERE / "tenon").glob("_[a-z]*.py")):
        for item in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(item, ast.FunctionDef):
                functions.add(item.name)
            elif isinstance(item, ast.ClassDef):
                classes[item.name] = {f.name for f in item.body if isinstance(f, ast.FunctionDef)}
                bases[item.name] = [b.id for b in item.bases if isinstance(b, ast.Name)]

    def methods(name):
        return classes.get(name, set()).union(*map(methods, bases.get(name, [])))
    return functions, {name: methods(name) for name in classes if name in exported}


def python_names(text, operations, flags):
    """Returns the Python names of the C functions and flags that have one."""
    functions, classes = definitions()
    functions = functions & BY_HAND | {"device_list", "device_select"} | operations
    found = {flag: "tenon." + flag[len("TENON_"):] for flag in flags}
    for name in re.findall(r"\btenon_(\w+)\(", text):
        if name in functions or name.removesuffix("_plan") in operations:
            found[f"tenon_{name}"] = f"tenon.{name}"
        for owner, methods in classes.items():
            method = name[len(owner) + 1:]
            if name.startswith(owner.lower() + "_") and method in methods:
                found[f"tenon_{name}"] = f"tenon.{owner}.{method}"
        found.setdefault(f"tenon_{name}", f"tenon.lib.tenon_{name}")
    return {**found, **RENAMED}


def inferred(signatures):
    """Returns the outputs whose shape tenon_output_shape infers."""
    return {f"{name}.{output}" for name, (_, outputs) in signatures.items()
            for output, marks in outputs if "=" not in marks}


class Parameter(NamedTuple):
    """A keyword that sets a field of a struct."""

    name: str
    kind: str             # types for the docstring
    hint: str             # types for the stub
    default: Any
    enumeration: str      # enumeration of its words, or ""
    comment: str
    count_comment: str    # comment on the field that counts its values
    is_shared: bool       # one value may serve for all dimensions
    struct_enumeration: str
    members: list         # of each value, if the values are structs


class Parameters:
    """The keywords of the operations, by the structs of the headers."""

    def __init__(self, ffi, words, comments, values):
        self.ffi, self.words, self.comments = ffi, words, comments
        self.values = values

    def _word(self, enumeration, number):
        return next(w for w, member in self.words[enumeration].items() if self.values[member] == number)

    def _enumeration(self, comment):
        return next((n for n in re.findall(r"\btenon_\w+", comment) if n in self.words), "")

    def of(self, ctype, initial):
        """Yields the keywords of a struct and of its nested structs, given its initializer."""
        struct = ctype.cname.replace("struct ", "")
        said = {name: self.comments.members.get((struct, name), "") for name, _ in ctype.fields}
        kinds = filter(None, (self._enumeration(said[n]) for n in ("kind", "mode") if n in said))
        struct_enumeration = next(kinds, "")
        for (name, field), value in zip(ctype.fields, initial):
            kind = field.type
            if name in ("struct_size", "reserved") or name.endswith("_count"):
                continue
            if kind.kind == "struct" and kind.cname != "struct tenon_activation":
                yield from self.of(kind, value)
                continue
            has_words = kind.cname.endswith("int32_t") and name != "flags"  # flags are sums of constants
            enumeration = self._enumeration(said[name]) if has_words else ""
            enumeration = "tenon_activation_kind" if kind.kind == "struct" else enumeration
            shown, hint, default = self._type(name, kind, value, enumeration)
            count = said.get(f"{name[:-2]}is_count" if name == "axes" else "", "")
            members = list(self.of(kind.item, [0] * len(kind.item.fields))) if name == "steps" else []
            yield Parameter(name, shown, hint, default, enumeration, said[name], count,
                            " or sequence of " in shown and name != "axes",
                            struct_enumeration, members)

    def _type(self, name, kind, value, enumeration):
        """Returns a field's types for the docstring and for the stub, and its default in Python."""
        if kind.kind == "struct":
            word = self._word("tenon_activation_kind", value[0])
            return "str, Activation or int", "Union[str, Activation, int]", word
        if enumeration:
            return "str or int", "Union[str, int]", self._word(enumeration, value)
        if kind.kind == "pointer" and "tenon_tensor" in kind.cname:
            return "Tensor or numpy.ndarray", "Optional[Operand]", None
        if kind.kind == "pointer":
            return "str", "Optional[str]", None
        if name in ("scale", "zero_point") and kind.kind == "array":
            return "sequence of three operands or None", "Optional[Sequence[Optional[Operand]]]", None
        if name == "steps":
            return "sequence of dict", "Sequence[Dict[str, Any]]", ()
        if kind.kind == "array":
            default = tuple((value + [0] * kind.length)[:kind.length])
            if name == "axes":
                return "int or sequence of int", "Union[int, Sequence[int], None]", None
            item = "float" if kind.item.cname == "double" else "int"
            return (f"{item} or sequence of {item}", f"Union[{item}, Sequence[{item}]]",
                    default[0] if len(set(default)) == 1 else default)
        return ("float", "float", float(value)) if kind.cname == "double" else ("int", "int", int(value))


def check(name, operands, inputs, outputs):
    listed = [n for n, _ in inputs + outputs]
    if sorted(listed) != sorted(operands):
        raise SystemExit(f"signatures.txt: {name} has {listed}, the header {operands}")


class Operation(NamedTuple):
    """An operation of the C API."""

    name: str
    struct: str       # of its parameters
    operands: list    # in C's order
    inputs: list      # (name, marks of signatures.txt)
    outputs: list
    parameters: list

    def arguments(self, is_plan):
        """Returns the arguments of the function as (name, type, default), with ... as the default of required ones."""
        def hint(name, marks):
            return "Packed" if name == "packed" else "Tensor" if "!" in marks else "Operand"
        found = [(n, hint(n, m), ...) for n, m in self.inputs if "?" not in m]
        found += [(n, f"Optional[{hint(n, m)}]", None) for n, m in self.inputs if "?" in m]
        found += [(n, "OptionalOutput" if "?" in m else "Output", None) for n, m in self.outputs]
        found += [(p.name, p.hint, p.default) for p in self.parameters]
        where = ("context", "Optional[Context]") if is_plan else ("stream", "Optional[Stream]")
        return [*found, (*where, None)]

    def signature(self, is_plan, has_types):
        """Returns the def line, possibly wrapped, of the function or its stub."""
        written = []
        for name, hint, default in self.arguments(is_plan):
            if default is not ... and "*" not in written:
                written.append("*")
            typed = f"{name}: {hint}" if has_types else name
            equals = " = " if has_types else "="
            written.append(typed if default is ... else f"{typed}{equals}{default!r}")
        result = "Plan" if is_plan else "Any" if self.outputs else "None"
        start = f"def {self.name}{'_plan' if is_plan else ''}("
        return textwrap.fill(start + ", ".join(written) + (f")\xa0->\xa0{result}:\xa0..." if has_types else "):"),
                             100, subsequent_indent=" " * len(start), break_long_words=False).replace("\xa0", " ")

    def function(self, is_plan, docstring):
        values = "".join(f"{n}, " for n in self.operands)
        chosen = ", ".join(f"{p.name}={p.name}" for p in self.parameters)
        body = [self.signature(is_plan, False),
                '    r"""' + textwrap.indent(docstring, "    ").strip() + '\n    """',
                f"    return _calls.{'plan' if is_plan else 'run'}({self.name!r}, ({values}), dict({chosen}),",
                f"                     {'context' if is_plan else 'stream'})"]
        return "\n".join(body) + "\n\n\n"

    def row(self):
        """Returns the operation's row in the table of _calls.py."""
        return (self.struct, self.operands, dict(self.inputs), dict(self.outputs),
                {p.name: p.default for p in self.parameters})


def operations(parameters, text, includes):
    """Returns all operations in the order of their names."""
    listed, found = signatures(), headers.prototypes(text, BY_HAND)
    missing = set(found) - set(listed)
    if missing:
        raise SystemExit(f"signatures.txt lacks {', '.join(sorted(missing))}")
    initial = headers.initializers(includes, sorted({struct for struct, _ in found.values()}), parameters.values)
    made = []
    for name, (inputs, outputs) in sorted(listed.items()):
        struct, operands = found[name]
        check(name, operands, inputs, outputs)
        keywords = parameters.of(parameters.ffi.typeof(struct), initial[struct])
        made.append(Operation(name, struct, operands, inputs, outputs, list(keywords)))
    return made


HEAD = '''"""The operations of Tenon's C API, by its names, and their plans."""
# Written by generate.py.
from . import _calls

'''
STUB = '''# Written by generate.py.
from typing import Any, Dict, Optional, Sequence, Union

from ._context import Context, Stream
from ._packed import Packed
from ._params import Activation
from ._plan import Plan
from ._tensor import Operand, OptionalOutput, Output, Tensor

'''


def exported(made):
    return f"__all__ = {[o.name + end for o in made for end in ('', '_plan')]!r}\n"


def stubs_text(made):
    lines = [o.signature(is_plan, True) for o in made for is_plan in (False, True)]
    return STUB + exported(made) + "\n" + "\n".join(lines) + "\n"


def operations_text(made, docstrings):
    rows = "".join(f"    {o.name!r}: {o.row()!r},\n" for o in made)
    functions = "".join(o.function(False, docstrings.operation(o.name, o.inputs, o.outputs, o.parameters))
                        + o.function(True, docstrings.plan(o.name, o.outputs)) for o in made)
    return (f"{HEAD}{exported(made)}\n_calls.OPERATIONS.update({{\n{rows}}})\n\n\n"
            f"{functions.rstrip()}\n")


def words_text(parameters, docstrings):
    """Returns the tables of _words.py."""
    words = {e: {w: parameters.values[member] for w, member in found.items()} for e, found in parameters.words.items()}
    fields = {f"{struct}.{name}": parameters._enumeration(said)
              for (struct, name), said in parameters.comments.members.items()
              if struct not in words and parameters._enumeration(said)}
    formulas = {w: docstrings.python(parameters.comments.members["tenon_activation_kind", member])
                for w, member in parameters.words["tenon_activation_kind"].items()}
    tables = {"WORDS": words, "FIELDS": fields, "ACTIVATIONS": formulas, "NAMES": docstrings.names}
    lines = ['"""Words of enumerations, the fields that take them, and the Python names of C names."""',
             "# Written by generate.py.", ""]
    for table, found in tables.items():
        lines += [f"{table} = {{", *(f"    {key!r}: {value!r}," for key, value in found.items()), "}"]
    return "\n".join(lines) + "\n"


def generate(includes, folder):
    """Writes the files to the folder. `includes` are the folders that contain tenon/*.h and tenon/version.h."""
    folder = Path(folder)
    ffi, text = declarations(includes, folder / "_declarations.py")
    words, flags = enumerations(ffi, text), headers.flags(includes)
    values = {**flags, **{member: number for e in words for member, number in ffi.typeof(e).relements.items()}}
    comments = headers.Comments(includes)
    parameters = Parameters(ffi, words, comments, values)
    made = operations(parameters, text, includes)
    exceptions = module(HERE / "tenon" / "_errors.py", "_errors").EXCEPTIONS
    kinds = {o.name: p.struct_enumeration for o in made for p in o.parameters if p.struct_enumeration}
    names = python_names(text, {o.name for o in made}, flags)
    docstrings = Docstrings(comments, names, words, exceptions, inferred(signatures()), kinds)
    for name, written in (("_constants.py", constants_text(values)),
                          ("_words.py", words_text(parameters, docstrings)),
                          ("_operations.py", operations_text(made, docstrings)),
                          ("_operations.pyi", stubs_text(made))):
        (folder / name).write_text(written, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--output", required=True)
    args = parser.parse_args()
    generate(args.include, args.output)


if __name__ == "__main__":
    main()

"""Generates the docstrings of the operations from the comments in the headers."""
import re
import textwrap
from itertools import takewhile

WIDTH = 92
SENTENCE = re.compile(r"(?<=[a-z0-9)\]²]{2}\.)\s+(?=[A-Z])")
RESULT = {"Tensor": "a Tensor", "array": "a numpy.ndarray if the operands are arrays, otherwise a Tensor"}


def filled(text, indent="", hanging=None):
    return textwrap.fill(" ".join(text.split()), WIDTH, initial_indent=indent,
                         subsequent_indent=indent if hanging is None else hanging,
                         break_long_words=False, break_on_hyphens=False)


def sentence(text):
    """Returns the text with one full stop at its end; an empty text stays empty."""
    text = text.strip(" .;:")
    return f"{text}." if text else ""


def quoted(words):
    return ", ".join(f'"{word}"' for word in words)


def paragraph(lines):
    """Formats the lines of a comment: keeps formulas and tables, and fills the rest."""
    groups = []
    for line in lines:
        if line.lstrip().startswith("- "):
            groups.append(("item", [line]))
        elif groups and groups[-1][0] == "item" and line.startswith(" "):
            groups[-1][1].append(line)
        else:
            kind = "kept" if line.startswith(("    ", "|")) else "text"
            if not groups or groups[-1][0] != kind:
                groups.append((kind, []))
            groups[-1][1].append(line)
    indents = {"item": ("  ", "    "), "text": ("", "")}
    return "\n".join("\n".join(group) if kind == "kept" else filled(" ".join(group), *indents[kind])
                     for kind, group in groups)


class Comment:
    """A comment on a function: its paragraphs, the descriptions of its operands, and the statuses."""

    def __init__(self, text):
        self.paragraphs, self.operands, self.returned = [[]], {}, ""
        tag = None
        for line in text.splitlines():
            begin = re.match(r" ?@(param|return)\s*(.*)", line)
            if begin:
                tag = self._begin(*begin.groups())
            elif not line.strip():
                tag = None
                self.paragraphs.append([])
            elif tag and not re.match(r" ?[A-Z][a-z]", line):
                self._append(tag, line)
            else:
                tag = None
                self.paragraphs[-1].append(re.sub(r"^ (?! )", "", line))
        self.paragraphs = [p for p in self.paragraphs if p]

    def _begin(self, kind, rest):
        if kind == "return":
            self.returned = rest
            return ("return",)
        names, said = re.match(r"(\w+(?:, \w+)*)\s*(.*)", rest).groups()
        for name in names.split(", "):
            self.operands[name] = said
        return tuple(names.split(", "))

    def _append(self, tag, line):
        if tag == ("return",):
            self.returned += " " + line.strip()
            return
        for name in tag:
            self.operands[name] += " " + line.strip()


class Docstrings:
    """Writes docstrings from the comments in the headers.

    names: the Python names of C names; words: for each enumeration, its words and their members; exceptions: the
    exception raised for each status; inferred: the outputs whose shape follows from the operands, as "gemm.d";
    kinds: for each operation, the enumeration of its kind or mode.
    """

    def __init__(self, comments, names, words, exceptions, inferred, kinds):
        self.comments, self.names, self.words, self.kinds = comments, names, words, kinds
        self.exceptions, self.inferred = exceptions, inferred
        self.functions = {name: Comment(text) for name, text in comments.functions.items()}

    def python(self, text, enumeration=None):
        """Returns a comment's text with Python's names instead of C's."""
        text = re.sub(r"\s*\([^()]*\b\w+\.h\b[^()]*\)", "", text)  # headers only exist in C
        text = re.sub(r"\btenon_tensor (\w+ = .*);$", r"\1", text, flags=re.M)
        text = re.sub(r"\b(tenon_tensor_\w+)\((\w+), ", self._method, text)
        text = re.sub(r"\b(?:tenon_|TENON_)\w+|\bNULL\b", lambda m: self._name(m[0]), text)
        for word in self.words.get(enumeration, ()):
            text = re.sub(rf"(?m)^(\| ){word.upper()}\b", rf"\1{word}", text)  # the columns of a table stay aligned
            text = re.sub(rf"\b{word.upper()}\b", f'"{word}"', text)
        return text

    def field(self, text, enumeration=None):
        """Returns the comment on a field, without its default, which the docstring shows separately."""
        return self.python(re.sub(r"[;,]? ?\S+ in the initializer:?", "", text), enumeration).strip(" ;:")

    def _method(self, match):
        name = self.names.get(match[1], "")
        return f"{match[2]}.{name.split('.')[-1]}(" if "Tensor." in name else match[0]

    def _name(self, name):
        if name in self.exceptions:
            return f"tenon.{self.exceptions[name].__name__}"
        return self.names.get(name) or next((f'"{word}"' for words in self.words.values()
                                            for word, member in words.items() if member == name), name)

    # The sections of a docstring -----------------------------------------------------------------

    def operand(self, name, operand, seen=()):
        """Returns the description of an operand, from this comment or from the one it refers to."""
        comment = self.functions.get(f"tenon_{name}")
        if comment is None or name in seen:
            return ""
        if operand in comment.operands:
            return self.python(comment.operands[operand], self.kinds.get(name))
        text = " ".join(line for p in comment.paragraphs for line in p)
        found = (self.operand(other, operand, (*seen, name)) for other in re.findall(r"\btenon_(\w+)", text))
        return next(filter(None, found), "")

    def _input(self, name, operand, marks):
        kind = "Packed" if operand == "packed" else "Tensor" if "!" in marks else "Tensor, numpy.ndarray or number"
        default = ", default None" if "?" in marks else ""
        written = " Written in place." if "!" in marks else ""
        return f"{operand} : {kind}{default}", sentence(self.operand(name, operand)) + written

    def _output(self, name, operand, marks):
        said = sentence(self.operand(name, operand))
        if "?" in marks:
            how = "True requests it; a Tensor is written; a shape makes a new Tensor; None: not computed."
            return f"{operand} : bool, Tensor or shape, default None", f"{said} {how}"
        follows = f"{name}.{operand}" in self.inferred
        how = "a Tensor to write to, or the shape of a new one"
        how = f"A{how[1:]}; None: a new one, whose shape is inferred." if follows else f"Required: {how}."
        return f"{operand} : Tensor or shape, default None", f"{said} {how}"

    def _words(self, enumeration):
        """Returns the words of a parameter, each with its meaning if it has a description."""
        words = self.words[enumeration]
        if enumeration == "tenon_activation_kind":
            return quoted(words) + "; help(tenon.Activation) has the formulas"
        said = {word: self.comments.members[enumeration, member] for word, member in words.items()}
        return "; ".join(f'"{word}": {self.python(text)}' for word, text in said.items())

    def _flags(self, text):
        names = [f for f in self.comments.flags if f in text or re.search(rf"any of {f[:10]}", text)]
        if not names:
            return "No flags are defined: 0."
        said = "; ".join(f"{self.python(f)}: {self.python(self.comments.flags[f]).rstrip('.')}" for f in names)
        return f"0 or {said}." if len(names) == 1 else f"0, or a sum of: {said}."

    def parameter(self, p):
        """Returns the heading and the text of a parameter."""
        text = self.field(p.comment, p.struct_enumeration)
        if p.enumeration:
            text = re.sub(rf"\b(?:an? )?{p.enumeration}\b", "", p.comment)
            text = f"{sentence(self.field(text))} {sentence(self._words(p.enumeration))}"
        elif p.name == "flags":
            text = self._flags(p.comment)
        elif p.name == "steps":
            text = f"{text}; each with any of " + "; ".join(self._step(s) for s in p.members)
        elif p.name == "axes":
            text = f"{text}. None: {p.count_comment.split('0: ')[-1]}."
        elif p.is_shared:
            text = "one value for all dimensions, or one for each; " + text
        default = repr(p.default).replace("'", '"')
        return f"{p.name} : {p.kind}, default {default}", sentence(text)

    def _step(self, p):
        if p.enumeration:
            return f"{p.name}: {quoted(self.words[p.enumeration])}"
        return f"{p.name}: {self.field(p.comment)}"

    def _returns(self, name, inputs, outputs):
        if not outputs:
            written = ", ".join(n for n, marks in inputs if "!" in marks)
            return "None", f"Written in place: {written}."
        has_arrays = inputs and not any(n == "packed" for n, _ in inputs)
        what = RESULT["array" if has_arrays else "Tensor"]
        names = [n for n, _ in outputs]
        if len(names) == 1:
            return names[0], f"{what[0].upper()}{what[1:]}."
        optional = [n for n, marks in outputs if "?" in marks]
        if not optional:
            return f"tuple ({', '.join(names)})", f"Each is {what}."
        first = ", ".join(takewhile(lambda n: n not in optional, names))
        return (f"{first}, or tuple ({', '.join(names)})",
                f"{first} alone if none of {', '.join(optional)} is requested; otherwise a tuple, in this "
                f"order, of {first} and the requested ones. Each is {what}.")

    def _statuses(self, name, seen=()):
        """Returns the statuses of a function, including those of functions that its comment refers to."""
        comment = self.functions.get(f"tenon_{name}")
        if comment is None or name in seen:
            return set()
        text = comment.returned or " ".join(line for p in comment.paragraphs for line in p)
        found = set(re.findall(r"TENON_ERROR_\w+", text))
        for other in re.findall(r"\btenon_(\w+)", text):
            found |= self._statuses(other, (*seen, name))
        return found

    def _raises(self, name):
        statuses = self._statuses(name)
        found = dict.fromkeys(c for s, c in self.exceptions.items() if s in statuses)
        base = next(iter(self.exceptions.values())).__bases__[0]
        lines = [("TypeError", "An operand is neither a tensor nor an array, or has an unsupported type.")]
        lines += [(f"{c.__name__} ({c.__bases__[1].__name__})", c.__doc__) for c in found]
        return [*lines, (base.__name__, base.__doc__)]

    def _notes(self, comment, kind=None):
        text = [self.python("\n".join(p), kind).splitlines() for p in comment.paragraphs]
        if not text or text[0][0].startswith("    "):
            return "", text
        first = SENTENCE.split(" ".join(" ".join(text[0]).split()), 1)
        return first[0], [[line] for line in first[1:]] + text[1:]

    def _file_notes(self, name):
        """Returns the header's notes on all its operations, without its first paragraph and without C examples."""
        found = Comment(self.comments.files[f"tenon_{name}"]).paragraphs + [[]]
        is_c = [any(line.startswith("    ") and line.rstrip().endswith(";") for line in p) for p in found]
        kept = [p for i, p in enumerate(found) if 0 < i < len(found) - 1 and not is_c[i] and not is_c[i + 1]]
        return [self.python("\n".join(p), self.kinds.get(name)).splitlines() for p in kept]

    def operation(self, name, inputs, outputs, parameters):
        comment = self.functions[f"tenon_{name}"]
        summary, notes = self._notes(comment, self.kinds.get(name))
        listed = [self._input(name, *i) for i in inputs] + [self._output(name, *o) for o in outputs]
        listed += [self.parameter(p) for p in parameters]
        listed.append(("stream : Stream, default None",
                       "The stream to run on; None: the stream of the operands' context."))
        notes += self._file_notes(name)
        return sections(summary, listed, self._returns(name, inputs, outputs), self._raises(name), notes)

    def plan(self, name, outputs):
        """Returns the docstring of the function that makes a plan. The operands are described in the operation's
        docstring.
        """
        _, notes = self._notes(Comment(self.comments.functions.get(f"tenon_{name}_plan", "")))
        listed = [("The operands and parameters",
                   f"As for tenon.{name}; tensors need no memory (tenon.view)."),
                  ("context : Context, default None", "The context of the plan; None: the operands' context.")]
        made = ", ".join(n for n, _ in outputs)
        gives = f"Its `run` computes tenon.{name}" + (f" and returns {made}." if made else ".")
        return sections(f"Makes a plan of tenon.{name}, validated and compiled once, to be run many times.",
                        listed, ("Plan", gives), self._raises(name), notes)


def sections(summary, parameters, returns, raises, notes):
    """Formats a docstring in NumPy's style."""
    lines = [filled(summary)]
    for title, listed in (("Parameters", parameters), ("Returns", [returns]), ("Raises", raises)):
        lines += ["", title, "-" * len(title)]
        for name, text in listed:
            lines += [name] + ([filled(text, "    ")] if text.strip(" .") else [])
    if notes:
        lines += ["", "Notes", "-----", "\n\n".join(paragraph(p) for p in notes)]
    return "\n".join(lines)

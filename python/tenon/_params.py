"""Parameter structs, filled from keywords."""
from difflib import get_close_matches
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Union

from ._arguments import at_most, integer, real, sequence, string, wrong_type
from ._loader import defaults, ffi, lib
from ._words import ACTIVATIONS, FIELDS, WORDS


class Activation(NamedTuple):
    """An activation with its constants; None: the usual ones of its kind."""

    kind: Union[int, str]
    alpha: Optional[float] = None
    beta: Optional[float] = None


Activation.__doc__ = f"{Activation.__doc__}" + "\n\nThe kinds and their formulas:\n\n" + "\n".join(
    f"    {kind}: {formula}" for kind, formula in ACTIVATIONS.items())


def unknown(name: str, value: str, known: Iterable[str]) -> ValueError:
    """Returns the error for an unknown name; it lists the valid names, the closest first."""
    known = list(known)
    near = get_close_matches(value.lower(), known, n=len(known))
    listed = ", ".join(repr(w) for w in [*near, *(w for w in known if w not in near)])
    return ValueError(f"{name}: unknown {value!r}; valid: {listed}")


def number(name: str, kind: Any, value: Any) -> Union[int, float]:
    """Returns a value for a field of a C number type."""
    if kind.cname == "double":
        return real(name, value)
    bits, has_sign = 8 * ffi.sizeof(kind), not kind.cname.startswith("u")
    low = -2**(bits - 1) if has_sign else 0
    return integer(name, value, low, low + 2**bits - 1)


def word(struct: str, field: str, value: Union[int, str], name: Optional[str] = None) -> Union[int, float]:
    """Returns the number for a field. An enumeration may be given by a word, its name in lower case.

    `name` is the name of the parameter in the call, if it differs from the field.
    """
    name, words = name or field, WORDS.get(FIELDS.get(f"{struct}.{field}", ""))
    if not isinstance(value, str) or words is None:
        if words is not None and not hasattr(value, "__index__"):
            raise wrong_type(name, f"an integer, or one of {', '.join(map(repr, words))}", value)
        kind = next(f.type for n, f in ffi.typeof(struct).fields if n == field)
        return number(name, kind, value)
    if value.lower() not in words:
        raise unknown(name, value, words)
    return words[value.lower()]


def activation(name: str, value: Union[Activation, int, str]) -> Any:
    is_kind = isinstance(value, str) or hasattr(value, "__index__")
    parts = [value] if is_kind else sequence(name, "a word, a tenon.Activation or an integer", value)
    if not 1 <= len(parts) <= 3:
        raise ValueError(f"{name}: {len(parts)} values; expected kind, alpha and beta")
    given = Activation(*parts)
    kind = word("tenon_activation", "kind", given.kind, name)
    found = ffi.new("tenon_activation *", lib.tenon_activation_default(kind))
    for constant in ("alpha", "beta"):
        if getattr(given, constant) is not None:
            setattr(found, constant, real(f"{name}.{constant}", getattr(given, constant)))
    return found[0]


def _steps(struct: Any, steps: Sequence[Dict[str, Any]]) -> None:
    """Sets the steps of an element-wise chain: one dict per step, with the field names of tenon_chain_step."""
    steps = sequence("steps", "a sequence of dict", steps)
    at_most("steps", steps, len(struct.steps))
    known = [name for name, _ in ffi.typeof("tenon_chain_step").fields]
    for i, step in enumerate(steps):
        if not isinstance(step, dict):
            raise wrong_type(f"steps[{i}]", f"a dict with some of {', '.join(known)}", step)
        for name, value in step.items():
            if name not in known:
                raise unknown(f"steps[{i}]", str(name), known)
            setattr(struct.steps[i], name, word("tenon_chain_step", name, value, f"steps[{i}][{name!r}]"))
    struct.step_count = len(steps)


def _array(struct: Any, name: str, value: Any) -> None:
    field = getattr(struct, name)
    wanted, kind = "an integer, or a sequence of integers", ffi.typeof(field).item
    if hasattr(value, "__index__") and not getattr(value, "ndim", 0):
        values = [value] * (1 if name == "axes" else len(field))  # one value for all dimensions
    else:
        values = sequence(name, wanted, value)
    if name == "axes" and not values:
        raise ValueError("axes: empty; omit it to use all axes")
    at_most(name, values, len(field))
    for i, item in enumerate(values):
        field[i] = number(f"{name}[{i}]", kind, item)
    if name == "axes":
        struct.axis_count = len(values)


class Params:
    """A parameter struct with the library's defaults, except for the given keywords."""

    def __init__(self, struct_type: str, given: Dict[str, Any]):
        self.c = defaults(struct_type)
        self.kept: List[Any] = []  # objects that the struct points to
        left = {name: value for name, value in given.items() if value is not None}
        self._fill(self.c, struct_type, left)
        assert not left, left

    def _fill(self, struct: Any, struct_type: str, left: Dict[str, Any]) -> None:
        for name, field in ffi.typeof(struct_type).fields:
            nested = field.type.cname.replace("struct ", "")
            if field.type.kind == "struct" and nested != "tenon_activation":
                self._fill(getattr(struct, name), nested, left)
            elif name in left:
                self._set(struct, struct_type, name, field.type, left.pop(name))

    def _set(self, struct: Any, struct_type: str, name: str, kind: Any, value: Any) -> None:
        if name == "steps":
            _steps(struct, value)
        elif name in ("scale", "zero_point") and kind.kind == "array":  # tensors made by _calls.py
            for i, tensor in enumerate(value):
                getattr(struct, name)[i] = ffi.NULL if tensor is None else tensor._c
            self.kept.append(value)
        elif kind.kind == "array":
            _array(struct, name, value)
        elif kind.kind == "struct":
            setattr(struct, name, activation(name, value))
        elif kind.kind == "pointer" and "tenon_tensor" in kind.cname:  # made by _calls.py
            setattr(struct, name, value._c)
            self.kept.append(value)
        elif kind.kind == "pointer":
            self.kept.append(ffi.new("char[]", string(name, value)))
            setattr(struct, name, self.kept[-1])
        else:
            setattr(struct, name, word(struct_type, name, value))

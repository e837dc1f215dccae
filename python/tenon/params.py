"""Structs of parameters, filled from keywords."""
from typing import Any, Dict, List, NamedTuple, Optional, Union

from . import constants
from .loader import defaults, ffi, lib

# The enumeration that a field's words come from: "relu" is ACTIVATION_RELU.
WORDS = {
    "tenon_activation.kind": "ACTIVATION",
    "tenon_chain_step.activation": "ACTIVATION",
    "tenon_chain_step.addend": "CHAIN",
    "tenon_chain_step.op": "CHAIN",
    "tenon_chain_step.operand": "CHAIN",
    "tenon_elementwise_params.kind": "ELEMENTWISE",
    "tenon_norm_params.kind": "NORM",
    "tenon_pad_params.mode": "PAD",
    "tenon_pool_params.kind": "POOL",
    "tenon_random_params.kind": "RANDOM",
    "tenon_reduce_params.kind": "REDUCE",
}


class Activation(NamedTuple):
    """An activation with its constants; None: the customary ones of its kind."""

    kind: Union[int, str]
    alpha: Optional[float] = None
    beta: Optional[float] = None


def word(struct: str, field: str, value: Union[int, str]) -> int:
    """The number of an enumeration, which may be given by its name in small letters."""
    if not isinstance(value, str):
        return value
    prefix = WORDS.get(f"{struct}.{field}")
    if prefix is None:
        raise TypeError(f"{field}: a number is needed, this is {value!r}")
    found = getattr(constants, f"{prefix}_{value.upper()}", None)
    if found is None:
        raise ValueError(f"{field}: there is no {value!r}")
    return found


def activation(value: Union[Activation, int, str]) -> Any:
    given = Activation(value) if isinstance(value, (int, str)) else Activation(*value)
    found = ffi.new("tenon_activation *",
                    lib.tenon_activation_default(word("tenon_activation", "kind", given.kind)))
    for name in ("alpha", "beta"):
        if getattr(given, name) is not None:
            setattr(found, name, getattr(given, name))
    return found[0]


def _steps(struct: Any, steps: List[Dict[str, Any]]) -> None:
    """The steps of an element-wise chain: a dict for each, with the names of tenon_chain_step."""
    if len(steps) > len(struct.steps):
        raise ValueError(f"steps: {len(steps)}, at most {len(struct.steps)} are possible")
    for i, step in enumerate(steps):
        for name, value in step.items():
            setattr(struct.steps[i], name, word("tenon_chain_step", name, value))
    struct.step_count = len(steps)


def _array(struct: Any, name: str, value: Any) -> None:
    field = getattr(struct, name)
    if name != "axes" and not hasattr(value, "__len__"):
        value = [value] * len(field)  # one for all dimensions
    values = [value] if not hasattr(value, "__len__") else list(value)
    if name == "axes" and not values:
        raise ValueError("axes: none are named; leave it out for all")
    if len(values) > len(field):
        raise ValueError(f"{name}: {len(values)} values, at most {len(field)} are possible")
    for i, item in enumerate(values):
        field[i] = item
    if name == "axes":
        struct.axis_count = len(values)


class Params:
    """A struct that has the library's defaults but for the keywords that are given."""

    def __init__(self, struct_type: str, given: Dict[str, Any]):
        self.c = defaults(struct_type)
        self.kept: List[Any] = []  # what the struct points to
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
        elif name in ("scale", "zero_point"):  # tensors, as calls.py has made them
            for i, tensor in enumerate(value):
                getattr(struct, name)[i] = ffi.NULL if tensor is None else tensor._c
            self.kept.append(value)
        elif kind.kind == "array":
            _array(struct, name, value)
        elif kind.kind == "struct":
            setattr(struct, name, activation(value))
        elif kind.kind == "pointer":
            self.kept.append(ffi.new("char[]", value.encode()))
            setattr(struct, name, self.kept[-1])
        else:
            setattr(struct, name, word(struct_type, name, value))

"""Calls of operations: copies operands to the device, allocates outputs, and checks the status."""
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _shapes as shapes
from ._arguments import at_most, sequence
from ._context import Context, Stream, context_of
from ._loader import check, ffi, lib
from ._makers import empty, full, host_array, tensor, view
from ._packed import Packed
from ._params import Params
from ._plan import Plan
from ._tensor import Tensor, shape_tuple, stream_of

# For each operation, filled by _operations.py: the struct of its parameters, the operands in C's order, the
# inputs and the outputs, each with its marks in signatures.txt, and the parameters' defaults.
OPERATIONS: Dict[str, Tuple[str, List[str], Dict[str, str], Dict[str, str], Dict[str, Any]]] = {}


class Call(NamedTuple):
    """The arguments of a call."""

    params: Params
    operands: Dict[str, Any]  # a Tensor, a Packed or None for each name
    outputs: List[str]        # names of the requested outputs
    is_numpy: bool            # True if all operands were arrays


def context_among(operands: Sequence[Any], context: Optional[Context]) -> Context:
    """Returns the context of the operands, or the given one, or the default one."""
    found = {id(o.context): o.context for o in operands if isinstance(o, (Tensor, Packed))}
    if context is not None:
        found[id(context)] = context_of(context)
    if len(found) > 1:
        raise ValueError("the operands and the stream belong to different contexts; they must share one")
    return next(iter(found.values())) if found else context_of(None)


def _dtype_beside(operands: Dict[str, Any]) -> Any:
    """Returns the type for a number: that of the first tensor or array that is not a condition."""
    for name, o in operands.items():
        if name != "condition" and isinstance(o, (Tensor, np.ndarray)):
            return o.dtype
    return "f32"


def to_tensor(name: str, value: Any, dtype: Any, context: Context, stream: Optional[Stream]) -> Any:
    """Returns an operand as a tensor on the device."""
    if value is None or isinstance(value, (Tensor, Packed)):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float)):
        return full((), value, dtype, context)
    if isinstance(value, np.ndarray):
        return tensor(value, context=context, stream=stream)
    if hasattr(value, "__dlpack__"):
        return tensor(host_array(name, value), context=context, stream=stream)
    raise TypeError(f"{name}: expected a tenon.Tensor or numpy.ndarray, got {type(value).__name__}")


def _inputs(name: str, given: Dict[str, Any], context: Context,
            stream: Optional[Stream]) -> Dict[str, Any]:
    found, dtype = {}, _dtype_beside(given)
    for operand, marks in OPERATIONS[name][2].items():
        value = given[operand]
        if value is None and "?" not in marks:
            raise TypeError(f"{name}: {operand} is None, but is required")
        if "!" in marks and not isinstance(value, (Tensor, type(None))):
            raise TypeError(f"{name}: {operand} is written and must be a tenon.Tensor")
        if isinstance(value, Packed) != (operand == "packed"):
            raise TypeError(f"{name}: {operand} has the wrong type {type(value).__name__}; "
                            "only the operand packed is a tenon.Packed")
        found[operand] = to_tensor(f"{name}: {operand}", value, dtype, context, stream)
    return found


def _output(name: str, operand: str, given: Any, call: Dict[str, Any], params: Any, make: Any,
            context: Context) -> Tensor:
    """Returns the given tensor of an output, or makes one of the given or inferred shape."""
    if isinstance(given, Tensor):
        return given
    if given is None:
        dtype, shape = shapes.infer(name, OPERATIONS[name][1], operand, call, params)
    else:
        dtype, shape = shapes.dtype_of(call), given
    return make(shape, dtype, context)


def _asked(name: str, operand: str, given: Any) -> Any:
    """Returns a requested output: a tensor, a shape, or None if the shape is to be inferred."""
    if isinstance(given, np.ndarray):
        raise TypeError(f"{name}: {operand} is written and must be a tenon.Tensor or a shape")
    if given is None or isinstance(given, (bool, Tensor)):
        return given if isinstance(given, Tensor) else None
    return shape_tuple(given, f"{name}: {operand}", "a tenon.Tensor or a shape")


def _scales(name: str, given: Dict[str, Any]) -> Dict[str, Any]:
    """Returns the given scales and zero points of operands. The scale of a loss is a number and is not among them."""
    defaults = OPERATIONS[name][4]
    return {key: given[key] for key in ("scale", "zero_point")
            if given.get(key) is not None and defaults[key] is None}


# Operands that the parameters point to, with the type of numbers given for them; None: the other operands' type.
TERMS = {"post_scale": None, "post_shift": None, "residual": None, "skip": "i32", "gradient_scale": "f32"}


def _terms(name: str, given: Dict[str, Any]) -> Dict[str, Any]:
    """Returns the given terms after the activation, and the given operands of an optimizer's step."""
    return {key: given[key] for key in TERMS if key in OPERATIONS[name][4] and given.get(key) is not None}


def prepare(name: str, values: Sequence[Any], given: Dict[str, Any], context: Context,
            stream: Optional[Stream], make: Any) -> Call:
    """Copies operands to the device and makes the requested outputs."""
    struct, names, inputs, outputs, defaults = OPERATIONS[name]
    all_given = dict(zip(names, values))
    operands = _inputs(name, all_given, context, stream)
    for key, scales in _scales(name, given).items():
        scales = sequence(f"{name}: {key}", "a sequence of up to three operands", scales)
        at_most(f"{name}: {key}", scales, 3)
        given[key] = [to_tensor(f"{name}: {key}", v, "f32", context, stream) for v in scales]
    for key, term in _terms(name, given).items():
        dtype = TERMS[key] or _dtype_beside(operands)
        given[key] = to_tensor(f"{name}: {key}", term, dtype, context, stream)
    params = Params(struct, {n: v for n, v in given.items() if v is not defaults[n]})
    asked = {o: _asked(name, o, all_given[o]) for o, marks in outputs.items()
             if "?" not in marks or (all_given[o] is not None and all_given[o] is not False)}
    for operand, output in asked.items():
        operands[operand] = _output(name, operand, output, operands, params.c, make, context)
    is_numpy = not any(isinstance(o, (Tensor, Packed)) for o in values)
    is_numpy = is_numpy and any(isinstance(all_given[o], np.ndarray) for o in inputs)
    return Call(params, {o: operands.get(o) for o in names}, list(asked), is_numpy)


def pointer(operand: Any) -> Any:
    return ffi.NULL if operand is None else operand._c


def result(tensors: List[Tensor], is_numpy: bool) -> Any:
    """Returns one tensor (or array) alone, several as a tuple, and None if there are none."""
    found = [t.numpy() for t in tensors] if is_numpy else tensors
    return None if not found else found[0] if len(found) == 1 else tuple(found)


def enqueue(stream: Stream, tensors: Sequence[Any], function: Any, *arguments: Any) -> None:
    """Makes a call on a stream, after the work of other streams on its operands."""
    for t in tensors:
        if isinstance(t, (Tensor, Packed)):
            t.memory.use(stream)
    with stream.lock:
        check(function(stream._c, *arguments, ffi.NULL))


def run(name: str, values: Sequence[Any], given: Dict[str, Any], stream: Optional[Stream]) -> Any:
    """Makes the immediate call."""
    context = context_among(values, getattr(stream, "context", None))
    stream = stream_of(stream, context)
    call = prepare(name, values, given, context, stream, empty)
    tensors = list(call.operands.values())
    scales = [t for found in _scales(name, given).values() for t in found]
    enqueue(stream, [*tensors, *scales, *_terms(name, given).values()],
            getattr(lib, f"tenon_{name}"), call.params.c, *map(pointer, tensors))
    return result([call.operands[o] for o in call.outputs], call.is_numpy)


def _unread(call: Any) -> List[str]:
    """Returns the operands that the call does not read and that its plan therefore omits: c if beta is 0."""
    return ["c"] if "c" in call.operands and call.params.c.epilogue.beta == 0 else []


def plan(name: str, values: Sequence[Any], given: Dict[str, Any],
         context: Optional[Context]) -> Plan:
    """Makes a plan."""
    context = context_among(values, context)
    call = prepare(name, values, given, context, None, view)
    out = ffi.new("tenon_plan **")
    check(getattr(lib, f"tenon_{name}_plan")(context._c, call.params.c,
                                             *map(pointer, call.operands.values()), out))
    given_scales = _scales(name, given)
    scales = [t for key in ("scale", "zero_point") for t in given_scales.get(key, [None] * 3)]
    found = _terms(name, given)
    terms = {key: found.get(key) for key in TERMS if key in OPERATIONS[name][4]}
    operands = {**call.operands, **terms} if found else call.operands
    return Plan(name, context, out[0], operands, call.outputs, _unread(call), scales)

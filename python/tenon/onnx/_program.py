"""Programs: the operations of a model for one set of input shapes, recorded as a sequence.

An operand is either known, if it has memory (a weight, or any tensor when a model runs node by node), or unknown: a
view without memory that stands for an input or the result of a recorded step. Operations on known operands run at
once; all others are recorded.
"""
import threading
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence as SequenceOf, Set, Tuple, Union
from weakref import WeakKeyDictionary

import numpy as np

import tenon

from .. import _makers as makers
from .._calls import OPERATIONS
from .._loader import ffi
from .._tensor import Memory, Tensor
from ._errors import NotOnHost
from ._transfers import Group
from ._types import download, on_device

Operand = Union[Tensor, np.ndarray]


class Step(NamedTuple):
    """A recorded run of a plan."""

    name: str  # of the operation
    plan: tenon.Plan
    operands: Dict[str, Tensor]
    written: List[Tensor]


def is_known(tensor: Any) -> bool:
    return tensor.memory.c is not None


def _tensors(arguments: Dict[str, Any]) -> List[Tensor]:
    """Returns the tensors among arguments, with those in lists (scales and zero points)."""
    found: List[Tensor] = []
    for value in arguments.values():
        found += [v for v in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(v, Tensor)]
    return found


class Weights:
    """What the programs of a model share: its constants on the device, and forms of them."""

    def __init__(self, arrays: Iterable[np.ndarray] = ()):
        self._arrays = {id(a): a for a in arrays}
        self.tensors: Dict[int, Tensor] = {}
        self.ones: Dict[Any, Tensor] = {}  # tensors of one element, by value and type
        # Other forms of constants, such as packed filters, which live as long as the constants.
        self._forms: "WeakKeyDictionary[Memory, Dict[Any, Any]]" = WeakKeyDictionary()

    def form(self, constant: Tensor, key: Any, make: Callable[[], Any]) -> Any:
        """Returns what `make` returned for this constant and key the first time."""
        forms = self._forms.setdefault(constant.memory, {})
        key = (*key, constant.shape, constant.strides, constant._c.offset)
        if key not in forms:
            forms[key] = make()
        return forms[key]

    def __contains__(self, array: np.ndarray) -> bool:
        return id(array) in self._arrays


class Program:
    """Runs or records operations."""

    def __init__(self, context: tenon.Context, weights: Weights):
        self.context, self.weights = context, weights
        self.steps: List[Step] = []
        self._constant: Set[Memory] = {t.memory for t in [*weights.tensors.values(), *weights.ones.values()]}
        self.wanted: List[bool] = []  # whether each output of the current node is used
        self._roots: Dict[Memory, Tensor] = {}  # the whole tensor of each unknown memory

    # Operands ------------------------------------------------------------------------------------

    def unknown(self, shape: SequenceOf[int], dtype: str) -> Tensor:
        """Makes an operand that stands for memory of a run."""
        return self._root(makers.view(tuple(shape), dtype, self.context))

    def _root(self, tensor: Tensor) -> Tensor:
        return self._roots.setdefault(tensor.memory, tensor)

    def upload(self, array: np.ndarray) -> Tensor:
        """Copies an array to the device: a constant."""
        made = makers.tensor(array, context=self.context)
        self._constant.add(made.memory)
        return made

    def device(self, value: Optional[Operand]) -> Optional[Tensor]:
        """Returns a value as a tensor. A constant of the model is copied once."""
        if value is None or isinstance(value, Tensor):
            return value
        if on_device(value.dtype) is None:
            raise TypeError(f"tensors of type {value.dtype} are not supported")
        if value not in self.weights:
            return self.upload(value)
        if id(value) not in self.weights.tensors:
            self.weights.tensors[id(value)] = self.upload(value)
        return self.weights.tensors[id(value)]

    def host(self, value: Optional[Operand]) -> Optional[np.ndarray]:
        """Returns a value as an array."""
        if value is None or isinstance(value, np.ndarray):
            return value
        if not is_known(value):
            raise NotOnHost
        return download(value)

    def full(self, shape: SequenceOf[int], value: float, dtype: str) -> Tensor:
        """Returns a constant: a broadcast view of one element."""
        ones = self.weights.ones
        if (value, dtype) not in ones:
            ones[value, dtype] = makers.full((), value, dtype, self.context)
        self._constant.add(ones[value, dtype].memory)
        return ones[value, dtype].broadcast(tuple(shape))

    def is_constant(self, tensor: Tensor) -> bool:
        """Returns True for a weight and everything computed from weights."""
        return tensor.memory in self._constant

    def constants(self, *tensors: Tensor) -> None:
        """Declares tensors to be constants."""
        self._constant.update(t.memory for t in tensors)

    def empty(self, shape: SequenceOf[int], dtype: str, beside: SequenceOf[Tensor]) -> Tensor:
        """Makes a tensor for steps that write parts of it: unknown if one of the other tensors is."""
        if not all(map(is_known, beside)):
            return self.unknown(shape, dtype)
        made = makers.empty(tuple(shape), dtype, self.context)
        if all(map(self.is_constant, beside)):
            self._constant.add(made.memory)
        return made

    # Operations ----------------------------------------------------------------------------------

    def op(self, name: str, **arguments: Any) -> Any:
        """Runs or records the operation tenon.NAME with these arguments; returns its outputs."""
        given = _tensors(arguments)
        if all(map(is_known, given)):
            made = getattr(tenon, name)(**arguments)
            if made is not None and all(map(self.is_constant, given)):
                self.constants(*(made if isinstance(made, tuple) else [made]))
            return made
        plan = getattr(tenon, f"{name}_plan")(**arguments, context=self.context)
        operands = {o: arguments[o] if isinstance(arguments.get(o), Tensor) else self._root(view)
                    for o, view in plan.operands.items() if view is not None}
        in_place = [o for o, marks in OPERATIONS[name][2].items() if "!" in marks and o in operands]
        written = [operands[o] for o in [*in_place, *plan._outputs]]
        if any(t.size > 0 for t in written):
            self.steps.append(Step(name, plan, operands, written))
        made = written[len(in_place):]
        return made[0] if len(made) == 1 else tuple(made) or None

    def copy(self, x: Tensor, dtype: Optional[str] = None, flags: int = 0) -> Tensor:
        """Copies a view to a row-major tensor, with conversion to a type."""
        return self.op("copy", x=x, y=self.empty(x.shape, dtype or x.dtype, [x]), flags=flags)

    def write(self, x: Tensor, y: Tensor) -> None:
        """Copies x to y, a part of a tensor made by empty."""
        if x.size > 0:
            self.op("copy", x=x, y=y)

    def cast(self, x: Tensor, dtype: str, flags: int = 0) -> Tensor:
        return x if x.dtype == dtype else self.copy(x, dtype, flags)

    def reshape(self, x: Tensor, shape: SequenceOf[int]) -> Tensor:
        """Returns a view with another shape, of a copy if the strides require one."""
        if tuple(shape) == x.shape:
            return x
        try:
            return x.reshape(tuple(shape), copy=False)
        except (tenon.InvalidArgument, tenon.Unsupported):
            return self.copy(x).reshape(tuple(shape), copy=False)

    def concat(self, tensors: SequenceOf[Tensor], axis: int) -> Tensor:
        shape = list(tensors[0].shape)
        shape[axis] = sum(t.shape[axis] for t in tensors)
        y, start = self.empty(shape, tensors[0].dtype, tensors), 0
        for t in tensors:
            self.write(t, y.slice(axis, start, t.shape[axis]))
            start += t.shape[axis]
        return y

    def chain(self, x: Tensor, *steps: Dict[str, Any], **others: Tensor) -> Tensor:
        """Applies the steps of an element-wise chain; `others` are x1 to x3, broadcast like x."""
        shape = np.broadcast_shapes(x.shape, *(t.shape for t in others.values()))
        if 0 in shape:
            return self.empty(shape, x.dtype, [x, *others.values()])
        return self.op("elementwise_chain", x0=x, steps=list(steps), **others)

    # A recorded program ---------------------------------------------------------------------------

    def finish(self, inputs: Dict[str, Tensor], outputs: SequenceOf[Operand]) -> "Recorded":
        """Returns the recorded steps as a sequence. `inputs` are the unknown inputs of the model."""
        results = []
        for output in outputs:
            taken = {t.memory for t in [*inputs.values(), *results] if isinstance(t, Tensor)}
            if isinstance(output, Tensor) and not is_known(output) and (
                    output.memory in taken or not _is_whole(output, self._roots[output.memory])):
                output = self.copy(output)
            results.append(output)
        steps = _needed(self.steps, results)
        outside = {t.memory for t in [*inputs.values(), *results] if isinstance(t, Tensor)}
        parts = _parts(steps, self._roots, outside)
        steps = [s for s in steps if not _is_own_copy(s, parts)]
        return Recorded(self.context, self._roots, steps, inputs, results, parts)


def _is_whole(tensor: Tensor, root: Tensor) -> bool:
    """Returns True for a row-major view of the root's whole memory."""
    step = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.strides)):
        if size != 1 and stride != step:
            return False
        step *= size
    return tensor._c.offset == 0 and tensor.size == root.size


def _needed(steps: List[Step], results: SequenceOf[Operand]) -> List[Step]:
    """Returns the steps whose results are used."""
    used, kept = {t.memory for t in results if isinstance(t, Tensor)}, []
    for step in reversed(steps):
        if any(t.memory in used for t in step.written):
            kept.append(step)
            used.update(t.memory for t in [*step.operands.values(), *(s for s in step.plan._scales if s is not None)])
    return kept[::-1]


def _range(tensor: Tensor) -> Optional[Tuple[int, int]]:
    """Returns the bytes of a row-major view without gaps; None for other views."""
    step = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.strides)):
        if size != 1 and stride != step:
            return None
        step *= size
    start = int(tensor._c.offset)
    return start, start + tensor.nbytes


def _parts(steps: List[Step], roots: Dict[Memory, Tensor], outside: Set[Memory]) -> Dict[Memory, Tensor]:
    """Returns the memories that are copied to a part of another one, with this part: steps can write there at once.

    Nothing may write such a memory after it was copied, and only copies to other parts may write the other memory.
    `outside` are the inputs and outputs of the program, which have memory of their own.
    """
    writers: Dict[Memory, List[int]] = {}
    for number, step in enumerate(steps):
        for tensor in step.written:
            writers.setdefault(tensor.memory, []).append(number)
    parts: Dict[Memory, Tensor] = {}
    for number, step in enumerate(steps):
        if step.name != "copy":
            continue
        x, y = step.operands["x"], step.operands["y"]
        own = _range(y)
        if is_known(x) or is_known(y) or x.memory in outside or x.memory in parts or x.memory is y.memory:
            continue
        if x.dtype != y.dtype or own is None or not _is_whole(x, roots[x.memory]) \
                or max(writers.get(x.memory, [len(steps)])) > number:
            continue
        others = [steps[n] for n in writers[y.memory] if n != number]
        if all(s.name == "copy" and _is_apart(own, _range(s.operands["y"])) for s in others):
            parts[x.memory] = y
    return parts


def _is_apart(a: Tuple[int, int], b: Optional[Tuple[int, int]]) -> bool:
    return b is not None and (a[1] <= b[0] or b[1] <= a[0])


def _is_own_copy(step: Step, parts: Dict[Memory, Tensor]) -> bool:
    """Returns True for the copy of a memory to the part where it is."""
    return step.name == "copy" and parts.get(step.operands["x"].memory) is step.operands["y"]


class Recorded:
    """A sequence of a model for one set of input shapes."""

    def __init__(self, context: tenon.Context, roots: Dict[Memory, Tensor], steps: List[Step],
                 inputs: Dict[str, Tensor], results: List[Operand], parts: Dict[Memory, Tensor]):
        self.context, self._roots, self._results, self._parts = context, roots, results, parts
        self._sequence = tenon.Sequence(context)
        self._places: Dict[Memory, Tensor] = {}
        self._inputs = {t.memory: (f"i{i}", name, t) for i, (name, t) in enumerate(inputs.items())}
        self._outputs = {t.memory: (f"o{i}", t) for i, t in enumerate(results)
                         if isinstance(t, Tensor) and not is_known(t)}
        self._read: Dict[str, str] = {}  # operands of the sequence, with the names of the model's inputs
        for step in steps:
            step.plan._scales = [None if t is None else self._place(t) for t in step.plan._scales]
            self._sequence.add(step.plan, **{o: self._place(t) for o, t in step.operands.items()})
        if steps:
            self._sequence.finish()
        self._has_steps = bool(steps)
        self._own: Optional[_Arrays] = None  # the run of run_arrays
        self._lock = threading.Lock()

    def _place(self, tensor: Tensor) -> Tensor:
        """Returns the view in memory of the sequence for an unknown operand."""
        if is_known(tensor):
            return tensor
        memory, offset = tensor.memory, tensor._c.offset
        while memory in self._parts:
            part = self._parts[memory]
            memory, offset = part.memory, offset + part._c.offset
        if memory not in self._places:
            root = self._roots[memory]
            name = None
            if memory in self._inputs:
                name, self._read[self._inputs[memory][0]] = self._inputs[memory][0], self._inputs[memory][1]
            elif memory in self._outputs:
                name = self._outputs[memory][0]
            self._places[memory] = self._sequence.tensor(root.shape, root.dtype, name)
        root = self._places[memory]
        view = ffi.new("tenon_tensor *", tensor._c[0])
        view.memory, view.offset = root._c.memory, offset
        return Tensor(view, root.memory)

    def describe(self) -> List[str]:
        return self._sequence.describe() if self._has_steps else []

    def bind(self, inputs: Dict[str, Tensor], outputs: SequenceOf[Optional[Tensor]] = ()) -> "Bound":
        """Returns a run with fixed inputs and outputs, all row-major; outputs that are not given are new tensors."""
        given = [*outputs, *[None] * (len(self._results) - len(outputs))]
        results = []
        for result, output in zip(self._results, given):
            if not isinstance(result, Tensor) or result.memory not in self._outputs:
                if output is not None:
                    raise ValueError("an output that does not depend on the inputs cannot be bound")
                results.append(result)
            elif output is not None and (output.shape, output.dtype) != (result.shape, result.dtype):
                raise ValueError(f"an output has shape {output.shape} and type {output.dtype}, must have "
                                 f"{result.shape} and {result.dtype}")
            else:
                results.append(makers.empty(result.shape, result.dtype, self.context) if output is None else output)
        return Bound(self._bound(inputs, results), inputs, results)

    def _bound(self, inputs: Dict[str, Tensor], results: SequenceOf[Operand]) -> Any:
        """Returns the sequence with its operands; None if it has no steps."""
        if not self._has_steps:
            return None
        operands = {name: inputs[given] for name, given in self._read.items()}
        for planned, result in zip(self._results, results):
            if isinstance(planned, Tensor) and planned.memory in self._outputs and planned.size > 0:
                root = self._roots[planned.memory]
                operands[self._outputs[planned.memory][0]] = result.reshape(root.shape, copy=False)
        return self._sequence.bind(**operands)

    def run(self, inputs: Dict[str, Tensor]) -> List[Operand]:
        """Runs the sequence and returns the outputs, in new tensors."""
        return list(self.bind(inputs).run())

    def run_arrays(self, arrays: Dict[str, np.ndarray]) -> List[np.ndarray]:
        """Runs the sequence on arrays and returns arrays. All runs use the same tensors."""
        with self._lock:
            if self._own is None:
                self._own = _Arrays(self)
            return self._own.run(arrays)


class _Arrays:
    """The run of a program on arrays."""

    def __init__(self, recorded: Recorded):
        forms = {name: (t.shape, t.dtype) for _, name, t in recorded._inputs.values()}
        self._context = recorded.context
        self._given = Group(recorded.context, list(forms.values()))
        self._names = list(forms)
        self._computed = [isinstance(r, Tensor) and r.memory in recorded._outputs for r in recorded._results]
        self._made = Group(recorded.context, [(r.shape, r.dtype) for r, c in zip(recorded._results, self._computed)
                                              if c])
        made = iter(self._made.tensors)
        self._bound = recorded.bind(dict(zip(forms, self._given.tensors)),
                                    [next(made) if c else None for c in self._computed])

    def run(self, arrays: Dict[str, np.ndarray]) -> List[np.ndarray]:
        made: List[np.ndarray] = []
        if any(self._computed):
            try:
                self._given.upload([arrays[name] for name in self._names])
                self._bound.run()
                made = self._made.download()
            except BaseException:
                self._context.stream.finish()  # nothing reads the arrays any more
                raise
        found = iter(made)
        return [next(found) if c else download(r) if isinstance(r, Tensor) else r
                for r, c in zip(self._bound.outputs, self._computed)]


class Bound:
    """A run of a recorded program with fixed inputs and outputs, made by Model.bind.

    Attributes
    ----------
    inputs : dict
        The tensors of the inputs by name; their contents may change between runs.
    outputs : tuple
        The outputs in the model's order, which each run overwrites.
    """

    def __init__(self, sequence: Any, inputs: Dict[str, Tensor], outputs: SequenceOf[Operand]):
        self._sequence, self.inputs, self.outputs = sequence, inputs, tuple(outputs)

    def run(self) -> Tuple[Operand, ...]:
        """Enqueues the run on the stream of the context, and returns the outputs."""
        if self._sequence is not None:
            self._sequence.run()
        return self.outputs

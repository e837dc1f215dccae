"""Models: a graph with one recorded program for each set of input shapes."""
import time
from collections import OrderedDict
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
import onnx

import tenon

from .._tensor import Tensor
from . import _check as checks
from ._errors import ModelError, NodeError, NotOnHost
from ._control import CONTROL
from ._fusion import fused
from ._graph import Graph, Node, Value, arrays_of, graph_of, subgraphs
from ._hostops import SHAPE_OPERATORS, shape_of
from ._program import Bound, Operand, Program, Recorded, Weights
from ._table import lookup
from ._types import array_type, download, number_name, on_device, type_of

PROGRAMS = 16  # recorded programs that a model keeps


class Time(NamedTuple):
    """The time of one node."""

    node: str
    op: str
    seconds: float


def _reads(node: Node) -> Set[str]:
    """Returns the names of the values that a node and its bodies read."""
    return set(node.inputs).union(*(_reads(n) | set(body.outputs) for body in subgraphs(node) for n in body.nodes))


class Evaluation:
    """Computes the values of a graph with a program, which runs or records the operations."""

    def __init__(self, program: Program, host: Set[str], times: Optional[List[Time]] = None):
        self.program, self._host, self._times = program, host, times
        self._of_shapes: Set[str] = set()  # values computed from shapes on the host

    def run(self, graph: Graph, values: Dict[str, Optional[Operand]]) -> List[Operand]:
        """Returns the outputs of a graph, given its inputs and, for a body, the values around it."""
        values.update(graph.constants)
        last = {name: number for number, node in enumerate(graph.nodes) for name in _reads(node)}
        for number, node in enumerate(graph.nodes):
            outputs = self._node(node, values)
            for name, output in zip(node.outputs, outputs):
                values[name] = output
            for name in _reads(node):  # releases memory
                if last[name] == number and name not in graph.outputs:
                    values.pop(name, None)
        return [values[name] for name in graph.outputs]  # type: ignore[misc]

    def _node(self, node: Node, values: Dict[str, Optional[Operand]]) -> Sequence[Any]:
        start = time.perf_counter()
        try:
            outputs = self._computed(node, values)
        except (NotOnHost, NodeError):
            raise
        except (tenon.Error, ArithmeticError, LookupError, NotImplementedError, TypeError, ValueError) as error:
            raise NodeError(f"{node}: {error}") from error
        if self._times is not None:
            self.program.context.stream.finish()
            self._times.append(Time(node.name or node.outputs[0], node.op, time.perf_counter() - start))
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def _computed(self, node: Node, values: Dict[str, Optional[Operand]]) -> Any:
        inputs = [values[name] if name else None for name in node.inputs]
        if node.op in ("Shape", "Size") and not node.domain:
            self._of_shapes.update(node.outputs)
            shape = inputs[0].shape  # type: ignore[union-attr]
            return np.asarray(np.prod(shape), "i8") if node.op == "Size" else shape_of(shape, **node.attributes)
        if node.op in CONTROL and not node.domain:
            return CONTROL[node.op](self.program, lambda body, given: self.run(body, {**values, **given}), *inputs,
                                    **node.attributes)
        if self._is_shape_arithmetic(node, inputs):
            self._of_shapes.update(node.outputs)
            given = [x for x in inputs if x is not None or node.op not in ("Concat", "Max", "Min")]
            return np.asarray(SHAPE_OPERATORS[node.op](*given, **node.attributes))
        operator = lookup(node.domain, node.op)
        if operator is None:
            raise NotImplementedError("not supported")
        program = self.program
        program.wanted = [bool(name) for name in node.outputs]
        given = [program.host(x) if i in operator.host else x if i in operator.either else program.device(x)
                 for i, x in enumerate(inputs)]
        return operator.run(program, *given, **node.attributes)

    def _is_shape_arithmetic(self, node: Node, inputs: List[Optional[Operand]]) -> bool:
        if node.op not in SHAPE_OPERATORS or node.domain or any(isinstance(x, Tensor) for x in inputs):
            return False
        return any(o in self._host for o in node.outputs) or any(name in self._of_shapes for name in node.inputs)


class Model(onnx.backend.base.BackendRep):
    """A model that is ready to run. Results for NumPy inputs are arrays; if an input is a tenon.Tensor, tensors."""

    def __init__(self, proto: onnx.ModelProto, context: Optional[tenon.Context] = None, record: bool = True):
        self.graph: Graph = graph_of(proto.graph, checks.versions(proto))
        self._host = checks.host_values(self.graph)
        checks.check_supported(proto, self.graph, self._host)
        self.context, self._records = context or tenon.default_context(), record
        self.graph = fused(self.graph)
        self._weights = Weights(arrays_of(self.graph))
        self._programs: "OrderedDict[Any, Optional[Recorded]]" = OrderedDict()

    @property
    def inputs(self) -> List[Value]:
        return self.graph.inputs

    @property
    def outputs(self) -> List[str]:
        return self.graph.outputs

    def run(self, inputs: Any, **kwargs: Any) -> Tuple[Any, ...]:
        """Runs the model.

        Parameters
        ----------
        inputs : dict, or sequence in the model's order, of numpy.ndarray or Tensor
            All inputs that are not constants of the model.

        Returns
        -------
        tuple
            The outputs in the model's order: arrays, or tensors if an input was a tensor.
        """
        del kwargs
        given = self._given(inputs)
        as_tensors = any(isinstance(v, Tensor) for v in given.values())
        host, device = self._divided(given)
        recorded = self._recorded(host, device)
        if recorded is None:
            found = self._each(host, self._uploaded(device))
        elif as_tensors:
            found = recorded.run({n: _row_major(t) for n, t in self._uploaded(device).items()})
        else:
            found = [*recorded.run_arrays(device)]  # type: ignore[arg-type]
        return tuple(self._result(v, as_tensors) for v in found)

    def bind(self, inputs: Any, outputs: Optional[Dict[str, Tensor]] = None) -> Bound:
        """Returns a run of the model with fixed inputs and outputs: the fastest way to run it again and again.

        The state of a recurrent network stays on the device if two such runs alternate, each of which has the output
        of the other as an input.

        Parameters
        ----------
        inputs : dict, or sequence in the model's order, of numpy.ndarray or Tensor
            As for `run`. Arrays are copied to tensors, which are `inputs` of the result; copy other values there
            before a run with Tensor.upload. Inputs that decide about shapes keep their values.
        outputs : dict of Tensor, default None
            Row-major tensors for some outputs, by name. Other outputs are new tensors. An output must not share memory
            with an input.

        Returns
        -------
        Bound
            Its run() returns the outputs in the model's order: tensors, or arrays for results that are known without
            a run.

        Raises
        ------
        NotImplementedError
            The model runs node by node, because its steps depend on values that are computed on the device.
        """
        host, device = self._divided(self._given(inputs))
        recorded = self._recorded(host, device)
        if recorded is None:
            raise NotImplementedError("the model's steps depend on values on the device: it cannot be bound")
        wanted = dict(outputs or {})
        if not set(wanted) <= set(self.outputs):
            raise ModelError(f"the outputs are {', '.join(self.outputs)}; given are {', '.join(wanted)}")
        tensors = {n: _row_major(t) for n, t in self._uploaded(device).items()}
        return recorded.bind(tensors, [wanted.get(name) for name in self.outputs])

    def _result(self, value: Operand, as_tensor: bool) -> Operand:
        if isinstance(value, Tensor):
            return value if as_tensor else download(value)
        if as_tensor and on_device(value.dtype) is not None:
            return tenon.tensor(value, context=self.context)
        return value

    def _given(self, inputs: Any) -> Dict[str, Operand]:
        """Returns the inputs by name after comparing them with the model's types and shapes."""
        names = [v.name for v in self.inputs]
        if not isinstance(inputs, dict):
            if isinstance(inputs, (np.ndarray, Tensor)):
                inputs = [inputs]
            if len(inputs) > len(names):
                raise ModelError(f"{len(inputs)} inputs are given; the model has {len(names)}: {', '.join(names)}")
            inputs = dict(zip(names, inputs))
        if set(inputs) != set(names):
            raise ModelError(f"the inputs are {', '.join(names)}; given are {', '.join(inputs)}")
        given = {n: v if isinstance(v, Tensor) else np.asarray(v) for n, v in ((n, inputs[n]) for n in names)}
        for value in self.inputs:
            _compare(value, given[value.name])
        return given

    def _divided(self, given: Dict[str, Operand]) -> Tuple[Dict[str, np.ndarray], Dict[str, Operand]]:
        """Returns the inputs that are needed on the host, and those on the device."""
        host, device = {}, {}
        for name, value in given.items():
            if name in self._host or (isinstance(value, np.ndarray) and on_device(value.dtype) is None):
                host[name] = download(value) if isinstance(value, Tensor) else value
            else:
                device[name] = value
        return host, device

    def _uploaded(self, device: Dict[str, Operand]) -> Dict[str, Tensor]:
        return {n: v if isinstance(v, Tensor) else tenon.tensor(v, context=self.context) for n, v in device.items()}

    def _program(self) -> Program:
        return Program(self.context, self._weights)

    def _recorded(self, host: Dict[str, np.ndarray], device: Dict[str, Operand]) -> Optional[Recorded]:
        """Returns the program for these inputs, which is recorded when it is first needed; None as _record."""
        key = tuple((n, v.tobytes(), v.shape, v.dtype.str) for n, v in host.items()) \
            + tuple((n, v.shape, type_of(v)) for n, v in device.items())
        if key not in self._programs:
            self._programs[key] = self._record(host, device)
            while len(self._programs) > PROGRAMS:
                self._programs.popitem(last=False)
        self._programs.move_to_end(key)
        return self._programs[key]

    def _record(self, host: Dict[str, np.ndarray], device: Dict[str, Operand]) -> Optional[Recorded]:
        """Returns the program for these shapes; None if its steps depend on values on the device, or if programs are
        not wanted."""
        if not self._records:
            return None
        program = self._program()
        unknown = {n: program.unknown(t.shape, type_of(t) or "") for n, t in device.items()}
        try:
            outputs = Evaluation(program, self._host).run(self.graph, {**host, **unknown})
        except NotOnHost:
            return None
        return program.finish(unknown, outputs)

    def _each(self, host: Dict[str, np.ndarray], device: Dict[str, Tensor],
              times: Optional[List[Time]] = None) -> List[Operand]:
        """Runs the model node by node."""
        return Evaluation(self._program(), self._host, times).run(self.graph, {**host, **device})

    def times(self, inputs: Any) -> List[Time]:
        """Runs the model node by node, waiting for each node, and returns the times."""
        found: List[Time] = []
        host, device = self._divided(self._given(inputs))
        self._each(host, self._uploaded(device), found)
        return found

    def describe(self) -> List[str]:
        """Returns a line for each step of the last program; empty if the model runs node by node."""
        last = next(reversed(self._programs.values()), None)
        return [] if last is None else last.describe()


def _row_major(tensor: Tensor) -> Tensor:
    strides, step = [], 1
    for n in reversed(tensor.shape):
        strides.insert(0, step)
        step *= n
    return tensor if tensor.strides == tuple(strides) else tenon.copy(tensor)


def _compare(value: Value, given: Operand) -> None:
    """Raises ModelError if an input has another type or shape than the model's."""
    if value.type > 0 and isinstance(given, np.ndarray):
        wanted = array_type(value.type)
        if given.dtype != wanted:
            raise ModelError(f"input {value.name}: the type is {given.dtype}; the model has {number_name(value.type)}")
    if value.shape is None:
        return
    if len(value.shape) != len(given.shape) or any(w not in (None, n) for w, n in zip(value.shape, given.shape)):
        shape = [("?" if n is None else n) for n in value.shape]
        raise ModelError(f"input {value.name}: the shape is {list(given.shape)}; the model has {shape}")


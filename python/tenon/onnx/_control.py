"""Control flow whose conditions and counts are known on the host: branches are selected and loops are unrolled."""
from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy as np

from .._tensor import Tensor
from ._graph import Graph
from ._program import Operand, Program

# Runs a body, given the values of its inputs; returns its outputs.
Runner = Callable[[Graph, Dict[str, Operand]], List[Operand]]


def _truth(p: Program, value: Optional[Operand]) -> bool:
    found = p.host(value)
    return found is None or bool(found.reshape(()))


def branch(p: Program, run: Runner, condition: Operand, *, then_branch: Graph, else_branch: Graph) -> Any:
    return tuple(run(then_branch if _truth(p, condition) else else_branch, {}))


def stacked(p: Program, values: Sequence[Operand], axis: int = 0) -> Operand:
    """Returns values of one shape along a new axis."""
    if all(isinstance(v, np.ndarray) for v in values):
        return np.stack(values, axis)  # type: ignore[arg-type]
    tensors = [p.device(v) for v in values]
    return p.concat([t.unsqueeze(axis) for t in tensors], axis)  # type: ignore[union-attr]


def loop(p: Program, run: Runner, count: Optional[Operand], condition: Optional[Operand], *state: Operand,
         body: Graph) -> Any:
    """Unrolls a loop. What the body returns beyond the condition and the state is stacked."""
    limit, go_on = None if count is None else int(p.host(count).reshape(())), _truth(p, condition)
    names, rows, current, number = [v.name for v in body.inputs], [], list(state), 0
    while go_on and (limit is None or number < limit):
        outputs = run(body, dict(zip(names, [np.array(number), np.array(True), *current])))
        go_on, current, number = _truth(p, outputs[0]), outputs[1:1 + len(state)], number + 1
        rows.append(outputs[1 + len(state):])
    if not rows and len(body.outputs) > 1 + len(state):
        raise NotImplementedError("a loop without iterations that returns rows")
    return (*current, *(stacked(p, column) for column in zip(*rows)))


def scan(p: Program, run: Runner, *inputs: Operand, body: Graph, num_scan_inputs: int,
         scan_input_axes: Optional[Sequence[int]] = None, scan_input_directions: Optional[Sequence[int]] = None,
         scan_output_axes: Optional[Sequence[int]] = None,
         scan_output_directions: Optional[Sequence[int]] = None) -> Any:
    """Unrolls a scan: the body runs on one entry after the other of the last inputs."""
    states = len(inputs) - num_scan_inputs
    tensors = [p.device(x) for x in inputs[states:]]
    axes = list(scan_input_axes or [0] * num_scan_inputs)
    backward = list(scan_input_directions or [0] * num_scan_inputs)
    current, rows, names = list(inputs[:states]), [], [v.name for v in body.inputs]
    length = tensors[0].shape[axes[0]]

    def entry(x: Tensor, axis: int, number: int) -> Tensor:
        return x.slice(axis, number, 1).squeeze(axis % x.ndim)

    for number in range(length):
        given = [entry(x, a, length - 1 - number if b else number) for x, a, b in zip(tensors, axes, backward)]
        outputs = run(body, dict(zip(names, [*current, *given])))
        current, columns = outputs[:states], outputs[states:]
        rows.append(columns)
    count = len(body.outputs) - states
    output_axes, reverse = scan_output_axes or [0] * count, scan_output_directions or [0] * count
    found = [column[::-1] if r else column for column, r in zip(zip(*rows), reverse)]
    return (*current, *(stacked(p, column, axis) for column, axis in zip(found, output_axes)))


CONTROL: Dict[str, Callable[..., Any]] = {"If": branch, "Loop": loop, "Scan": scan}

"""Validation of a model before anything runs: all nodes that are not supported, with the reason."""
import heapq
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set

import onnx

from ._errors import ModelError, UnsupportedModel
from ._graph import Graph, Node, subgraphs
from ._hostops import SHAPE_OPERATORS
from ._table import CONTROL, MAX_ML_OPSET, MAX_OPSET, MAX_TRAINING_OPSET, lookup
from ._types import NAMES, number_name

KNOWN_DOMAINS = {"": MAX_OPSET, "ai.onnx.ml": MAX_ML_OPSET, "ai.onnx.preview.training": MAX_TRAINING_OPSET}


def _read_by(node: onnx.NodeProto) -> Set[str]:
    """Returns the names that a node and its bodies read."""
    bodies = [a.g for a in node.attribute if a.HasField("g")] + [g for a in node.attribute for g in a.graphs]
    return set(node.input).union(*(_read_by(n) for body in bodies for n in body.node)) - {""}


def _order(nodes: Sequence[onnx.NodeProto]) -> List[int]:
    """Returns an order in which each node follows those whose results it reads, the given one if possible. Raises
    ModelError for a cycle."""
    makers = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    needs = [{makers[name] for name in _read_by(node) if name in makers} for node in nodes]
    readers: Dict[int, List[int]] = {i: [] for i in range(len(nodes))}
    for i, before in enumerate(needs):
        for j in before:
            readers[j].append(i)
    left = [len(before) for before in needs]
    ready, order = [i for i, count in enumerate(left) if count == 0], []
    while ready:
        order.append(heapq.heappop(ready))
        for i in readers[order[-1]]:
            left[i] -= 1
            if left[i] == 0:
                heapq.heappush(ready, i)
    if len(order) < len(nodes):
        rest = set(range(len(nodes))) - set(order)
        while any(not rest.intersection(readers[i]) for i in rest):
            rest = {i for i in rest if rest.intersection(readers[i])}
        names = ", ".join(f'{nodes[i].op_type} "{nodes[i].name or nodes[i].output[0]}"' for i in sorted(rest)[:8])
        raise ModelError(f"invalid model: nodes form a cycle: {names}{' …' if len(rest) > 8 else ''}")
    return order


def _in_order(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns the model with its nodes in the order of execution. Some tools, such as ONNX Runtime's conversion to
    f16, write them in another one."""
    order = _order(model.graph.node)
    if order == list(range(len(order))):
        return model
    found = onnx.ModelProto()
    found.CopyFrom(model)
    del found.graph.node[:]
    found.graph.node.extend(model.graph.node[i] for i in order)
    return found


def check_file(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns the model with its nodes in the order of execution. Raises ModelError for a graph that is invalid in
    ONNX: cycles, unknown inputs, missing attributes."""
    versions(model)
    model = _in_order(model)
    try:
        onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, ValueError, TypeError) as error:
        raise ModelError(f"invalid model: {str(error).strip()}") from error
    return model


def versions(model: onnx.ModelProto) -> Dict[str, int]:
    """Returns the version of each operator set that the model imports."""
    found: Dict[str, int] = {}
    for imported in model.opset_import:
        domain = "" if imported.domain == "ai.onnx" else imported.domain
        newest = KNOWN_DOMAINS.get(domain)
        if imported.version < 1:
            raise ModelError(f"invalid model: operator set {imported.version} of {domain or 'ai.onnx'}: the first is 1")
        if found.get(domain, imported.version) != imported.version:
            raise ModelError(f"invalid model: operator sets {found[domain]} and {imported.version} of "
                             f"{domain or 'ai.onnx'} are imported")
        if newest is not None and imported.version > newest:
            raise UnsupportedModel([f"operator set {imported.version} of {domain or 'ai.onnx'}: the newest supported "
                                    f"one is {newest}"])
        found[domain] = imported.version
    return found


def every_node(graph: Graph) -> Iterator[Node]:
    """Yields the nodes of a graph and, before each node, those of its bodies."""
    for node in graph.nodes:
        for body in subgraphs(node):
            yield from every_node(body)
        yield node


def _without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns a copy without the elements of large constants, whose types alone are needed: inference copies a model
    three times."""
    slim = onnx.ModelProto()
    slim.CopyFrom(model)
    attributes = (a for n in slim.graph.node if n.op_type == "Constant" for a in n.attribute)
    for tensor in [*slim.graph.initializer, *(a.t for a in attributes if a.HasField("t"))]:
        if len(tensor.raw_data) > 4096:
            tensor.ClearField("raw_data")
    return slim


def value_types(model: onnx.ModelProto) -> Dict[str, int]:
    """Returns the element types of the values whose types ONNX's inference finds; -1: not a tensor."""
    try:
        graph = onnx.shape_inference.infer_shapes(_without_weights(model)).graph
    except (ValueError, TypeError, RuntimeError):
        graph = model.graph
    found = {c.name: c.data_type for c in graph.initializer}
    for value in [*graph.input, *graph.value_info, *graph.output]:
        is_tensor = value.type.WhichOneof("value") == "tensor_type"
        found[value.name] = value.type.tensor_type.elem_type if is_tensor else -1
    return found


def host_values(graph: Graph) -> Set[str]:
    """Returns the names of the values needed on the host, because they determine shapes or steps."""
    found: Set[str] = set()
    for node in reversed(list(every_node(graph))):
        operator = lookup(node.domain, node.op)
        if operator is not None:
            found.update(node.inputs[i] for i in operator.host if i < len(node.inputs))
        if node.op in ("If", "Loop"):
            found.update(node.inputs[:2] if node.op == "Loop" else node.inputs[:1])
        if node.op in SHAPE_OPERATORS and any(o in found for o in node.outputs):
            found.update(node.inputs)
    return found - {""}


def _reason(node: Node, types: Dict[str, int], host: Set[str]) -> Optional[str]:
    operator = lookup(node.domain, node.op)
    if operator is None and node.op not in CONTROL:
        known = node.op in SHAPE_OPERATORS and all(i in host for i in node.inputs)
        return None if known else "not supported"
    if operator is None or all(o in host for o in node.outputs if o):
        return None
    unknown = [a for a in node.attributes if not operator.accepts(a)]
    if unknown:
        return f"attribute {', '.join(unknown)} is not supported"
    used = [n for i, n in enumerate(node.inputs) if n and n not in host and i not in operator.either]
    for name in used:
        number = types.get(name, 0)
        if number == -1:
            return f"input {name} is not a tensor"
        if number and number not in NAMES:
            return f"input {name} has the type {number_name(number)}"
    first = node.inputs[0] if node.inputs else ""
    if first in used and types.get(first) and NAMES[types[first]] not in operator.types:
        return f"input {first} has the type {number_name(types[first])}"
    return None


def problems(model: onnx.ModelProto, graph: Graph, host: Set[str]) -> List[str]:
    """Returns a line for each node that is not supported."""
    types, found = value_types(model), []
    for node in every_node(graph):
        reason = _reason(node, types, host)
        if reason:
            domain = f"{node.domain}." if node.domain else ""
            found.append(f"{domain}{node}: operator set {node.version}: {reason}")
    return found


def check_supported(model: onnx.ModelProto, graph: Graph, host: Set[str]) -> None:
    found: List[Any] = problems(model, graph, host)
    if found:
        raise UnsupportedModel(found)

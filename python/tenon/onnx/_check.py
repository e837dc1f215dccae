"""Validation of a model before anything runs: all nodes that are not supported, with the reason."""
from typing import Any, Dict, Iterator, List, Optional, Set

import onnx

from ._errors import ModelError, UnsupportedModel
from ._graph import Graph, Node, subgraphs
from ._hostops import SHAPE_OPERATORS
from ._table import CONTROL, MAX_ML_OPSET, MAX_OPSET, lookup
from ._types import NAMES, number_name

KNOWN_DOMAINS = {"": MAX_OPSET, "ai.onnx.ml": MAX_ML_OPSET}


def check_file(model: onnx.ModelProto) -> None:
    """Raises ModelError for a graph that is invalid in ONNX: cycles, unknown inputs, missing attributes."""
    try:
        onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, ValueError, TypeError) as error:
        raise ModelError(f"invalid model: {str(error).strip()}") from error


def versions(model: onnx.ModelProto) -> Dict[str, int]:
    """Returns the version of each operator set that the model imports."""
    found = {}
    for imported in model.opset_import:
        domain = "" if imported.domain == "ai.onnx" else imported.domain
        newest = KNOWN_DOMAINS.get(domain)
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


def value_types(model: onnx.ModelProto) -> Dict[str, int]:
    """Returns the element types of the values whose types ONNX's inference finds; -1: not a tensor."""
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
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

"""Graphs: the nodes of a model with decoded attributes, in the form of the newest operator sets."""
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

import numpy as np
import onnx
from onnx import helper, numpy_helper

from . import _opsets as opsets
from ._errors import ModelError


class Node(NamedTuple):
    """A node of a graph. A value without a name is absent."""

    name: str
    op: str
    domain: str
    version: int  # of the operator set
    inputs: List[str]
    outputs: List[str]
    attributes: Dict[str, Any]

    def __str__(self) -> str:
        output = next((name for name in self.outputs if name), "")
        return f"{self.op} \"{self.name}\"" if self.name else f"{self.op} with output \"{output}\""


class Value(NamedTuple):
    """The name, type and shape of an input or output; None for an unknown size."""

    name: str
    type: int
    shape: Optional[List[Optional[int]]]


class Graph(NamedTuple):
    """A graph, or the body of a control-flow node."""

    nodes: List[Node]
    inputs: List[Value]
    outputs: List[str]
    constants: Dict[str, np.ndarray]


def array_of(tensor: onnx.TensorProto) -> np.ndarray:
    """Returns the elements of a constant after checking that all are in the file."""
    name = tensor.name or "constant"
    try:
        count = int(np.prod(tensor.dims, dtype=object))
        if tensor.HasField("raw_data"):
            bits = {4: 4, 2: 2}.get(_narrow_bits(tensor.data_type), 8 * helper.tensor_dtype_to_np_dtype(
                tensor.data_type).itemsize)
            wanted = (count * bits + 7) // 8
            if len(tensor.raw_data) != wanted:
                raise ModelError(f"{name}: shape {list(tensor.dims)} needs {wanted} bytes, the file has "
                                 f"{len(tensor.raw_data)}")
        return np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{name}: invalid constant of shape {list(tensor.dims)}: {error}") from error


def _narrow_bits(data_type: int) -> int:
    kind = onnx.TensorProto.DataType.Name(data_type)
    return 4 if kind in ("INT4", "UINT4", "FLOAT4E2M1") else 2 if kind in ("INT2", "UINT2") else 8


def _attribute(attribute: onnx.AttributeProto, versions: Dict[str, int]) -> Any:
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, onnx.TensorProto):
        return array_of(value)
    if isinstance(value, onnx.GraphProto):
        return graph_of(value, versions)
    if attribute.type == onnx.AttributeProto.STRINGS:
        return [v.decode("utf-8", "replace") for v in value]
    return list(value) if not isinstance(value, (int, float)) and hasattr(value, "__iter__") else value


def _node(proto: onnx.NodeProto, versions: Dict[str, int], constants: Dict[str, np.ndarray]) -> Node:
    """Returns a node in the newest form. Attributes that became inputs are added to `constants`."""
    domain = "" if proto.domain == "ai.onnx" else proto.domain
    node = Node(proto.name, proto.op_type, domain, versions.get(domain, 0), list(proto.input), list(proto.output),
                {a.name: _attribute(a, versions) for a in proto.attribute})
    return opsets.newest(node, constants)


def _value(proto: onnx.ValueInfoProto) -> Value:
    kind = proto.type.WhichOneof("value")
    if kind not in ("tensor_type", None):
        return Value(proto.name, -1, None)
    found = proto.type.tensor_type
    shape = [d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else None for d in found.shape.dim] \
        if found.HasField("shape") else None
    return Value(proto.name, found.elem_type, shape)


def graph_of(proto: onnx.GraphProto, versions: Dict[str, int]) -> Graph:
    """Returns the graph of a message."""
    constants = {c.name: array_of(c) for c in proto.initializer}
    inputs = [_value(v) for v in proto.input if v.name not in constants]
    nodes = [_node(n, versions, constants) for n in proto.node]
    return Graph(nodes, inputs, [v.name for v in proto.output], constants)


def subgraphs(node: Node) -> List[Graph]:
    """Returns the bodies of a control-flow node."""
    return [a for a in node.attributes.values() if isinstance(a, Graph)]


def arrays_of(graph: Graph) -> Iterator[np.ndarray]:
    """Yields the constants of a graph and of all bodies."""
    yield from graph.constants.values()
    for node in graph.nodes:
        yield from (a for a in node.attributes.values() if isinstance(a, np.ndarray))
        for body in subgraphs(node):
            yield from arrays_of(body)

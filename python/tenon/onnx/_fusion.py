"""Nodes that are replaced by one before a model runs: a convolution with the batch normalization after it."""
from collections import Counter
from typing import Dict, List, Optional

from ._graph import Graph, Node, subgraphs

CONV_NORM = "ConvBatchNormalization"  # the operator in the table, of no operator set of ONNX


def _uses(graph: Graph) -> Counter:
    """Returns how many nodes and outputs read each value."""
    found = Counter(graph.outputs)
    for node in graph.nodes:
        found.update(name for name in node.inputs if name)
        for body in subgraphs(node):
            found.update(_uses(body))
    return found


def _joined(conv: Node, norm: Node) -> Node:
    attributes = {**conv.attributes, "epsilon": norm.attributes.get("epsilon", 1e-5)}
    inputs = [*conv.inputs, ""][:3] + norm.inputs[1:]
    return norm._replace(op=CONV_NORM, domain="tenon", inputs=inputs, attributes=attributes)


def fused(graph: Graph) -> Graph:
    """Returns the graph with each convolution and the normalization that alone reads its result as one node."""
    uses = _uses(graph)
    nodes: List[Optional[Node]] = []
    places: Dict[str, int] = {}  # of the convolutions, by their results
    for node in graph.nodes:
        before = places.get(node.inputs[0]) if node.inputs else None
        if (node.op == "BatchNormalization" and before is not None and uses[node.inputs[0]] == 1
                and not node.attributes.get("training_mode")):
            node, nodes[before] = _joined(graph.nodes[before], node), None
        if node.op == "Conv" and not node.domain:
            places[node.outputs[0]] = len(nodes)
        nodes.append(node)
    return graph._replace(nodes=[n for n in nodes if n is not None])

"""Nodes that are replaced before a model runs.

A convolution followed by a normalization or by products and sums with constants becomes one whose filters include
them, and a product of matrices followed by a sum with a constant becomes one with a bias. A product or convolution of
integers that is cast to f32, multiplied by scales and added to a constant becomes one with scales and a bias, which
includes a following product and sum with scalars; a product and sum before a dynamic quantization become a part of it.
Activations and layer normalizations that a model composes of simple operators become one node. Nodes that nothing
reads are removed.
"""
from collections import Counter
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import numpy as np

from ._graph import Graph, Node, subgraphs

FLOAT = 1  # TensorProto.FLOAT
DOMAIN = "tenon"  # of operators that belong to no operator set of ONNX
CONV, SCALED, PRODUCT, ROOT = "ConvAffine", "ScaleShift", "MatMulAdd", "RootOfSquare"
QUANTIZE, QUANTIZED = "DynamicQuantizeLinear", "DynamicQuantizeScaled"
# Products of integers whose sums are scaled, by the operator that computes the sums.
INTEGERS = {"ConvInteger": "ConvIntegerScaled", "MatMulInteger": "MatMulIntegerScaled"}


def _uses(graph: Graph) -> Counter:
    """Returns how many nodes and outputs read each value."""
    found = Counter(graph.outputs)
    for node in graph.nodes:
        found.update(name for name in node.inputs if name)
        for body in subgraphs(node):
            found.update(_uses(body))
    return found


class _Nodes:
    """The nodes of a graph by their results."""

    def __init__(self, graph: Graph):
        self.uses = _uses(graph)
        self.by_result: Dict[str, Node] = {}
        self.values: Dict[str, np.ndarray] = dict(graph.constants)
        self.fixed: Set[str] = set(graph.constants)  # results that depend on constants only

    def add(self, node: Node) -> None:
        self.by_result.update((name, node) for name in node.outputs if name)
        if node.op == "Constant" and not node.domain:
            value = next(iter(node.attributes.values()), None)
            if isinstance(value, (np.ndarray, int, float, list)):
                self.values[node.outputs[0]] = np.asarray(value)
        if not subgraphs(node) and all(name in self.fixed for name in node.inputs if name):
            self.fixed.update(node.outputs)

    def only(self, name: str, op: str, domain: str = "") -> Optional[Node]:
        """Returns the node that computes a value, if it has this operator and nothing else reads the value."""
        node = self.by_result.get(name)
        return node if node and (node.op, node.domain) == (op, domain) and self.uses[name] == 1 else None

    def scalar(self, name: str) -> Optional[float]:
        """Returns the value of a constant with one element."""
        value = self.values.get(name)
        return float(value.reshape(())) if value is not None and value.size == 1 and value.dtype.kind in "fiu" else None

    def with_scalar(self, node: Optional[Node]) -> Tuple[Optional[float], str]:
        """Returns the constant of a node with two inputs, of which one is a floating-point constant with one element,
        and the other input."""
        if node is not None and len(node.inputs) == 2:
            for constant, other in (node.inputs[::-1], node.inputs):
                value = self.scalar(constant)
                if value is not None and self.values[constant].dtype.kind == "f":
                    return value, other
        return None, ""


def _hard_swish(nodes: _Nodes, node: Node) -> Optional[Node]:
    """x · clip(x + 3, 0, 6) / 6."""
    product = nodes.only(node.inputs[0], "Mul") if node.op == "Div" else None
    if product is None or nodes.scalar(node.inputs[1]) != 6:
        return None
    for x, clipped in (product.inputs, product.inputs[::-1]):
        clip = nodes.only(clipped, "Clip")
        if clip and len(clip.inputs) == 3 and [nodes.scalar(n) for n in clip.inputs[1:]] == [0, 6]:
            if nodes.with_scalar(nodes.only(clip.inputs[0], "Add")) == (3, x):
                return node._replace(op="HardSwish", inputs=[x], attributes={})
    return None


def _swish(nodes: _Nodes, node: Node) -> Optional[Node]:
    """x · sigmoid(alpha · x)."""
    if node.op != "Mul":
        return None
    for x, gate in (node.inputs, node.inputs[::-1]):
        sigmoid = nodes.only(gate, "Sigmoid")
        if sigmoid is None:
            continue
        alpha, inner = nodes.with_scalar(nodes.only(sigmoid.inputs[0], "Mul"))
        if x in (sigmoid.inputs[0], inner):
            alpha = 1.0 if sigmoid.inputs[0] == x else alpha
            return node._replace(op="Swish", inputs=[x], attributes={"alpha": alpha}) if alpha else None
    return None


def _gelu(nodes: _Nodes, node: Node) -> Optional[Node]:
    """x · 0.5 · (1 + tanh(sqrt(2 / π) · (x + 0.044715 x³)))."""
    if node.op != "Mul":
        return None
    for x, factor in (node.inputs, node.inputs[::-1]):
        half, outer = nodes.with_scalar(nodes.only(factor, "Mul"))
        one, tangent = nodes.with_scalar(nodes.only(outer, "Add"))
        tanh = nodes.only(tangent, "Tanh")
        scale, total = nodes.with_scalar(nodes.only(tanh.inputs[0], "Mul")) if tanh else (None, "")
        cube = _other(nodes.only(total, "Add"), x)
        square = _other(nodes.only(cube, "Mul"), x)
        small, inner = nodes.with_scalar(nodes.only(_other(nodes.only(square, "Mul"), x), "Mul"))
        if None in (half, one, scale, small) or inner != x:
            continue
        if np.allclose([half, one, scale, small], [0.5, 1, np.sqrt(2 / np.pi), 0.044715], rtol=1e-5):
            return node._replace(op="Gelu", inputs=[x], attributes={"approximate": "tanh"})
    return None


def _other(node: Optional[Node], x: str) -> str:
    """Returns the input of a node that is not x; "" if none is x."""
    if node is None or x not in node.inputs or len(node.inputs) != 2:
        return ""
    return node.inputs[1] if node.inputs[0] == x else node.inputs[0]


def _layer_norm(nodes: _Nodes, node: Node) -> Optional[Node]:
    """(x - mean) / sqrt(variance + epsilon) · scale + bias along the last dimension."""
    def mean_of(name: str) -> str:
        found = nodes.by_result.get(name)
        last = found is not None and found.op == "ReduceMean" and len(found.inputs) == 2 \
            and nodes.scalar(found.inputs[1]) == -1 and found.attributes.get("keepdims", 1)
        return found.inputs[0] if last else ""  # type: ignore[union-attr]

    def vector(name: str) -> bool:
        return name in nodes.values and nodes.values[name].ndim == 1

    product = next((n for n in (nodes.only(name, "Mul") for name in node.inputs) if n), None) \
        if node.op == "Add" else None
    quotient = next((n for n in (nodes.only(name, "Div") for name in product.inputs) if n), None) if product else None
    root = nodes.only(quotient.inputs[1], "Sqrt") if quotient else None
    if not (product and quotient and root):
        return None
    epsilon, variance = nodes.with_scalar(nodes.only(root.inputs[0], "Add"))
    power = nodes.only(mean_of(variance), "Pow")
    centered = nodes.by_result.get(quotient.inputs[0])
    scale, bias = _other(product, quotient.outputs[0]), _other(node, product.outputs[0])
    if epsilon is None or not power or not centered or centered.op != "Sub" or not (vector(scale) and vector(bias)):
        return None
    x = centered.inputs[0]
    if mean_of(centered.inputs[1]) != x or power.inputs[0] != centered.outputs[0] or nodes.scalar(power.inputs[1]) != 2:
        return None
    return node._replace(op="LayerNormalization", inputs=[x, scale, bias], attributes={"axis": -1, "epsilon": epsilon})


def _root_of_square(nodes: _Nodes, node: Node) -> Optional[Node]:
    """sqrt(x² + y), such as the magnitude of complex numbers."""
    total = nodes.only(node.inputs[0], "Add") if node.op == "Sqrt" else None
    for name in total.inputs if total else ():
        power, product = nodes.only(name, "Pow"), nodes.only(name, "Mul")
        if (power and nodes.scalar(power.inputs[1]) == 2) or (product and product.inputs[0] == product.inputs[1]):
            x = (power or product).inputs[0]  # type: ignore[union-attr]
            return node._replace(op=ROOT, domain=DOMAIN, inputs=[x, _other(total, name)], attributes={})
    return None


def _conv(nodes: _Nodes, node: Node) -> Optional[Node]:
    """A convolution and a normalization, or a product or sum with a constant."""
    for place, name in enumerate(node.inputs[:2]):
        conv = nodes.only(name, "Conv") or nodes.only(name, CONV, DOMAIN)
        others = [n for i, n in enumerate(node.inputs) if i != place]
        if conv is None or not nodes.fixed.issuperset(others):
            continue
        if node.op == "BatchNormalization" and place == 0 and not node.attributes.get("training_mode"):
            step: Tuple[str, Any] = (node.op, node.attributes.get("epsilon", 1e-5))
        elif node.op in ("Mul", "Add"):
            step = (node.op, None)
        else:
            continue
        steps = [*conv.attributes.get("steps", []), step]
        inputs = [*[*conv.inputs, ""][:3], *conv.inputs[3:], *others]
        return node._replace(op=CONV, domain=DOMAIN, inputs=inputs, attributes={**conv.attributes, "steps": steps})
    return None


def _product(nodes: _Nodes, node: Node) -> Optional[Node]:
    """A product of matrices and a sum with a constant."""
    for name in node.inputs if node.op == "Add" else ():
        product, added = nodes.only(name, "MatMul"), _other(node, name)
        if product and added in nodes.fixed:
            return node._replace(op=PRODUCT, domain=DOMAIN, inputs=[*product.inputs, added])
    return None


def _scaled_integers(nodes: _Nodes, node: Node) -> Optional[Node]:
    """A product of integers, cast to f32 and multiplied by scales, as networks that are quantized dynamically have
    it; and the sum of such a product and a constant."""
    for name in node.inputs if node.op == "Mul" else ():
        cast, scale = nodes.only(name, "Cast"), _other(node, name)
        for op, replaced in INTEGERS.items() if cast and scale and cast.attributes.get("to") == FLOAT else ():
            product = nodes.only(cast.inputs[0], op)  # type: ignore[union-attr]
            if product:
                inputs = [*[*product.inputs, "", ""][:4], scale]
                return node._replace(op=replaced, domain=DOMAIN, inputs=inputs, attributes=product.attributes)
    for name in node.inputs if node.op == "Add" else ():
        for op in INTEGERS.values():
            product, added = nodes.only(name, op, DOMAIN), _other(node, name)
            if product and len(product.inputs) == 5 and added in nodes.fixed:
                return product._replace(name=node.name, inputs=[*product.inputs, added], outputs=node.outputs)
    return None


def _scale_shift(nodes: _Nodes, node: Node) -> Optional[Node]:
    """The product and the sum with two scalars."""
    shift, product = nodes.with_scalar(node) if node.op == "Add" else (None, "")
    scale, x = nodes.with_scalar(nodes.only(product, "Mul"))
    if scale is None or shift is None:
        return None
    return node._replace(op=SCALED, domain=DOMAIN, inputs=[x], attributes={"scale": scale, "shift": shift})


def _conv_of_scaled(nodes: _Nodes, node: Node) -> Optional[Node]:
    """A convolution without padding of an image that was multiplied by and added to scalars."""
    if (node.op, node.domain) not in (("Conv", ""), (CONV, DOMAIN)):
        return None
    scaled = nodes.only(node.inputs[0], SCALED, DOMAIN)
    if scaled is None or not nodes.fixed.issuperset(filter(None, node.inputs[1:])):
        return None
    if any(node.attributes.get("pads", [])) or node.attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return None
    attributes = {"steps": [], **node.attributes, "before": (scaled.attributes["scale"], scaled.attributes["shift"])}
    inputs = [scaled.inputs[0], *[*node.inputs, ""][1:3], *node.inputs[3:]]
    return node._replace(op=CONV, domain=DOMAIN, inputs=inputs, attributes=attributes)


def _scale_of_input(nodes: _Nodes, node: Node) -> Optional[Node]:
    """A product of integers whose scales are the product of the scale with which its first input was quantized and
    constants: both become inputs."""
    if node.op not in INTEGERS.values() or len(node.inputs) > 6:
        return None
    scales, quantize = nodes.only(node.inputs[4], "Mul"), nodes.by_result.get(node.inputs[0])
    if not scales or not quantize or quantize.op not in (QUANTIZE, QUANTIZED):
        return None
    constant = _other(scales, quantize.outputs[1])
    if constant not in nodes.fixed:
        return None
    inputs = [*node.inputs[:4], constant, [*node.inputs, ""][5], quantize.outputs[1]]
    return node._replace(inputs=inputs)


def _scaled_after(nodes: _Nodes, node: Node) -> Optional[Node]:
    """A scaled product of integers, multiplied by and added to scalars."""
    if (node.op, node.domain) != (SCALED, DOMAIN):
        return None
    product = next((n for n in (nodes.only(node.inputs[0], op, DOMAIN) for op in INTEGERS.values()) if n), None)
    if product is None or "factor" in product.attributes:
        return None
    attributes = {**product.attributes, "factor": node.attributes["scale"], "shift": node.attributes["shift"]}
    return product._replace(name=node.name, outputs=node.outputs, attributes=attributes)


def _quantize_scaled(nodes: _Nodes, node: Node) -> Optional[Node]:
    """A dynamic quantization of what was multiplied by and added to scalars."""
    scaled = nodes.only(node.inputs[0], SCALED, DOMAIN) if (node.op, node.domain) == (QUANTIZE, "") else None
    if scaled is None:
        return None
    return node._replace(op=QUANTIZED, domain=DOMAIN, inputs=scaled.inputs, attributes=scaled.attributes)


# Each pass sees the results of those before it, in which intermediates of replaced nodes are read no more.
Rule = Callable[[_Nodes, Node], Optional[Node]]
PASSES: List[List[Rule]] = [[_hard_swish, _swish, _gelu, _layer_norm, _root_of_square],
                            [_conv, _product, _scaled_integers], [_scale_shift, _conv_of_scaled],
                            [_scale_of_input, _scaled_after, _quantize_scaled]]


def _read(nodes: List[Node], outputs: List[str]) -> List[Node]:
    """Returns the nodes whose results are read."""
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted.intersection(node.outputs):
            kept.append(node)
            wanted.update(node.inputs)
            for body in subgraphs(node):
                wanted.update(_uses(body))
    return kept[::-1]


def _with_fused_bodies(node: Node) -> Node:
    if not subgraphs(node):
        return node
    return node._replace(attributes={name: fused(value) if isinstance(value, Graph) else value
                                     for name, value in node.attributes.items()})


def fused(graph: Graph) -> Graph:
    """Returns the graph with the replacements, also in the bodies of control flow."""
    graph = graph._replace(nodes=[_with_fused_bodies(node) for node in graph.nodes])
    for rules in PASSES:
        nodes, result = _Nodes(graph), []
        for node in graph.nodes:
            if node.domain in ("", DOMAIN):
                node = next((n for n in (rule(nodes, node) for rule in rules) if n is not None), node)
            nodes.add(node)
            result.append(node)
        graph = graph._replace(nodes=_read(result, graph.outputs))
    return graph

"""Differences between operator sets: every node is rewritten to the newest form of its operator."""
from typing import Any, Dict, List, Tuple

import numpy as np

# Attributes that became inputs: operator, first version with the input, (attribute, position of the input) …
MOVED: List[Tuple[str, int, Tuple[Tuple[str, int], ...]]] = [
    ("Clip", 11, (("min", 1), ("max", 2))),
    ("Dropout", 12, (("ratio", 1),)),
    ("Pad", 11, (("pads", 1), ("value", 2))),
    ("ReduceL1", 18, (("axes", 1),)),
    ("ReduceL2", 18, (("axes", 1),)),
    ("ReduceLogSum", 18, (("axes", 1),)),
    ("ReduceLogSumExp", 18, (("axes", 1),)),
    ("ReduceMax", 18, (("axes", 1),)),
    ("ReduceMean", 18, (("axes", 1),)),
    ("ReduceMin", 18, (("axes", 1),)),
    ("ReduceProd", 18, (("axes", 1),)),
    ("ReduceSum", 13, (("axes", 1),)),
    ("ReduceSumSquare", 18, (("axes", 1),)),
    ("Reshape", 5, (("shape", 1),)),
    ("Slice", 10, (("starts", 1), ("ends", 2), ("axes", 3))),
    ("Split", 13, (("split", 1),)),
    ("Squeeze", 13, (("axes", 1),)),
    ("TopK", 10, (("k", 1),)),
    ("Unsqueeze", 13, (("axes", 1),)),
    ("Upsample", 9, (("scales", 1),)),
]


def _moved(node: Any, constants: Dict[str, np.ndarray]) -> Any:
    for op, version, attributes in MOVED:
        if op != node.op or node.version >= version:
            continue
        inputs, left = list(node.inputs), dict(node.attributes)
        for name, position in attributes:
            if name not in left:
                continue
            value = left.pop(name)
            inputs += [""] * (position + 1 - len(inputs))
            inputs[position] = f"{node.outputs[0]} {name}"
            constants[inputs[position]] = np.asarray(value, "i8" if name not in ("min", "max", "value", "ratio")
                                                     and not isinstance(value, float) else "f4")
        node = node._replace(inputs=inputs, attributes=left)
    return node


def newest(node: Any, constants: Dict[str, np.ndarray]) -> Any:
    """Returns a node in the newest form of its operator.

    An attribute that became an input is added to `constants`.
    """
    if node.domain:
        return node
    node = _moved(node, constants)
    attributes = dict(node.attributes)
    if node.op in ("Softmax", "LogSoftmax", "Hardmax") and node.version < 13:  # of the matrix that Flatten makes
        attributes = {"axis": 1, "flat": 1, **attributes}
    if node.op == "BatchNormalization" and node.version < 9 and attributes.get("spatial", 1) == 1:
        attributes.pop("spatial", None)
    if node.op == "RoiAlign" and node.version < 16:
        attributes.setdefault("coordinate_transformation_mode", "output_half_pixel")
    if node.op == "Scatter":
        node = node._replace(op="ScatterElements")
    if node.op == "GroupNormalization" and node.version < 21:
        attributes["by_group"] = 1  # scale and bias have an element per group, not per channel
    if node.op in ("Dropout", "BatchNormalization") and node.version < 7:
        attributes.pop("is_test", None)
    return node._replace(attributes=attributes)

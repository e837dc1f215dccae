"""onnx.backend.base.Backend on Tenon."""
from pathlib import Path
from typing import Any, Optional, Tuple, Union

import numpy as np
import onnx
import onnx.backend.base
import onnx.checker
import onnx.shape_inference
from onnx import helper

import tenon

from . import _check as checks
from ._errors import ModelError, UnsupportedModel
from ._model import Model
from ._table import MAX_OPSET


def load(path: Union[str, Path], context: Optional[tenon.Context] = None) -> Model:
    """Reads a model and returns it ready to run.

    Raises
    ------
    ModelError (ValueError)
        The file is missing, truncated or invalid.
    UnsupportedModel (NotImplementedError)
        Some nodes are not supported; the message lists them all.
    """
    try:
        proto = onnx.load(str(path))
    except Exception as error:  # protobuf, the file system and external data have exceptions of their own
        raise ModelError(f"{path}: cannot be read: {error}") from error
    if not proto.graph.node and not proto.graph.output:
        raise ModelError(f"{path}: contains no graph")
    try:
        return TenonBackend.prepare(proto, context=context)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error


class TenonBackend(onnx.backend.base.Backend):
    """Runs models on Tenon's default context, or on the one given as `context`."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Returns True for "CPU": inputs and outputs are arrays on the host. TENON_DEVICE selects the device."""
        return device.split(":")[0] == "CPU"

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Returns True if all nodes of a valid model are supported."""
        try:
            Model(checks.check_file(model), kwargs.get("context"))
        except (ModelError, UnsupportedModel):
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> Model:
        """Checks a model and returns an object with a function run; `record=False`: which runs node by node."""
        if not cls.supports_device(device):
            raise ValueError(f"device: {device!r} is not supported; use \"CPU\" and select a device with TENON_DEVICE")
        return Model(checks.check_file(model), kwargs.get("context"), kwargs.get("record", True))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> Tuple[Any, ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None,
                 **kwargs: Any) -> Tuple[Any, ...]:
        """Runs one node, of the newest supported operator set unless `opset_version` is given."""
        names = [name for name in node.input if name]
        arrays = [np.asarray(v) for v in (inputs.values() if isinstance(inputs, dict) else inputs)]
        infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                 for name, a in zip(names, arrays)]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        version = kwargs.pop("opset_version", min(MAX_OPSET, onnx.defs.onnx_opset_version()))
        graph = helper.make_graph([node], "node", infos, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, version)])
        return Model(model, kwargs.get("context")).run(arrays)


is_compatible = TenonBackend.is_compatible
prepare = TenonBackend.prepare
run_model = TenonBackend.run_model
run_node = TenonBackend.run_node
supports_device = TenonBackend.supports_device

"""Runs ONNX models on OpenCL devices: onnx.backend.base.Backend on Tenon. Needs the package onnx.

    import tenon.onnx
    model = tenon.onnx.load("model.onnx")       # lists all operators that are not supported, if any
    outputs = model.run({"x": array})           # or a list of inputs in the model's order
    times = model.times({"x": array})           # of each node

The functions prepare, run_model, run_node, supports_device and is_compatible are those of onnx.backend.base.Backend.
`python -m tenon.onnx model.onnx` runs a model from the command line.
"""
from ._backend import TenonBackend, is_compatible, load, prepare, run_model, run_node, supports_device
from ._errors import ModelError, NodeError, UnsupportedModel
from ._model import Model
from ._table import MAX_OPSET, OPERATORS

__all__ = ["MAX_OPSET", "Model", "ModelError", "NodeError", "OPERATORS", "TenonBackend", "UnsupportedModel",
           "is_compatible", "load", "prepare", "run_model", "run_node", "supports_device"]

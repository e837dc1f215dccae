"""Exceptions of tenon.onnx."""
from typing import List


class ModelError(ValueError):
    """The model, its file or its input is invalid."""


class UnsupportedModel(NotImplementedError):
    """The model uses something that tenon.onnx does not support; `problems` has a line for each node concerned."""

    def __init__(self, problems: List[str]):
        self.problems = problems
        super().__init__("the model is not supported:\n" + "\n".join(f"  {line}" for line in problems))


class NodeError(RuntimeError):
    """A node failed: the message names it."""


class NotOnHost(Exception):
    """The value of a tensor is needed while only its shape is known. The model then runs node by node."""

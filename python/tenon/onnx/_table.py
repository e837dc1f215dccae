"""The table of operators: which function maps a node to operations of tenon.

A function receives the program, the node's inputs and its attributes as keywords, whose defaults are ONNX's. An
attribute that the function does not have is refused before anything runs. Nodes arrive in the newest form of their
operator (_opsets.py). To add an operator, write the function in the module of its family and a line here.
"""
import inspect
from typing import Any, Callable, Dict, FrozenSet, NamedTuple, Optional, Tuple

from . import _elementwise as e
from . import _images as i
from . import _layout as l
from . import _logic as g
from . import _products as m
from . import _reductions as r
from ._types import BYTES, EVERY, FLOATS

MAX_OPSET = 28
MAX_ML_OPSET = 5


class Operator(NamedTuple):
    """A row of the table."""

    run: Callable[..., Any]
    types: FrozenSet[str] = FLOATS   # element types of the first input
    host: Tuple[int, ...] = ()       # inputs that must be arrays on the host: sizes, axes and scalars
    either: Tuple[int, ...] = ()     # inputs that may be arrays or tensors

    def accepts(self, attribute: str) -> bool:
        found = inspect.signature(self.run).parameters
        return attribute in found or any(p.kind is p.VAR_KEYWORD for p in found.values())


INTEGERS = frozenset({"i8", "u8", "i16", "u16", "i32", "u32", "i64"})
NUMBERS = FLOATS | INTEGERS
TRUTHS = frozenset({"bool"})
REDUCED = dict(host=(1,))

OPERATORS: Dict[str, Operator] = {
    # Arithmetic
    "Abs": Operator(g.absolute, NUMBERS),
    "Add": Operator(e.pairs("add"), NUMBERS),
    "Clip": Operator(g.clip, NUMBERS, host=(1, 2)),
    "Div": Operator(e.pairs("divide"), NUMBERS),
    "Max": Operator(e.pairs("max"), NUMBERS),
    "Mean": Operator(e.mean),
    "Min": Operator(e.pairs("min"), NUMBERS),
    "Mul": Operator(e.pairs("multiply"), NUMBERS),
    "Neg": Operator(g.negate, NUMBERS),
    "Reciprocal": Operator(e.reciprocal),
    "Sub": Operator(e.pairs("subtract"), NUMBERS),
    "Sum": Operator(e.pairs("add")),
    # Comparisons, logic and types
    "And": Operator(g.logic("and"), TRUTHS),
    "BitShift": Operator(g.shift, INTEGERS),
    "BitwiseAnd": Operator(g.logic("and"), INTEGERS),
    "BitwiseNot": Operator(g.logic("not"), INTEGERS),
    "BitwiseOr": Operator(g.logic("or"), INTEGERS),
    "BitwiseXor": Operator(g.logic("xor"), INTEGERS),
    "Equal": Operator(g.compare("equal"), EVERY),
    "Greater": Operator(g.compare("greater"), NUMBERS),
    "GreaterOrEqual": Operator(g.compare("greater_equal"), NUMBERS),
    "IsInf": Operator(g.is_infinite),
    "IsNaN": Operator(g.is_nan),
    "Less": Operator(g.compare("less"), NUMBERS),
    "LessOrEqual": Operator(g.compare("less_equal"), NUMBERS),
    "Not": Operator(g.logic("not"), TRUTHS),
    "Or": Operator(g.logic("or"), TRUTHS),
    "Where": Operator(g.where, TRUTHS),
    "Xor": Operator(g.logic("xor"), TRUTHS),
    "BitCast": Operator(l.bit_cast, EVERY),
    "Cast": Operator(e.cast, EVERY),
    "CastLike": Operator(e.cast_like, EVERY),
    # Activations
    "Celu": Operator(e.celu),
    "Elu": Operator(e.elu),
    "Exp": Operator(e.plain("exp")),
    "Gelu": Operator(e.gelu),
    "HardSigmoid": Operator(e.hard_sigmoid),
    "HardSwish": Operator(e.plain("hard_swish")),
    "LeakyRelu": Operator(e.leaky_relu),
    "Mish": Operator(e.plain("mish")),
    "PRelu": Operator(e.prelu),
    "Relu": Operator(e.plain("relu")),
    "Selu": Operator(e.selu),
    "Shrink": Operator(g.shrink),
    "Sigmoid": Operator(e.plain("sigmoid")),
    "Softplus": Operator(e.plain("softplus")),
    "Softsign": Operator(e.plain("softsign")),
    "SwiGLU": Operator(e.swiglu),
    "Swish": Operator(e.swish),
    "Tanh": Operator(e.plain("tanh")),
    "ThresholdedRelu": Operator(g.thresholded_relu),
    # Layout
    "CenterCropPad": Operator(l.center_crop_pad, EVERY, host=(1,)),
    "Concat": Operator(l.concat, EVERY),
    "Constant": Operator(l.constant, EVERY),
    "ConstantOfShape": Operator(l.constant_of_shape, EVERY, host=(0,)),
    "DepthToSpace": Operator(l.depth_to_space, EVERY),
    "Dropout": Operator(e.dropout, host=(1, 2)),
    "Expand": Operator(l.expand, EVERY, host=(1,)),
    "EyeLike": Operator(r.eye_like, EVERY, either=(0,)),
    "Flatten": Operator(l.flatten, EVERY),
    "Gather": Operator(l.gather, EVERY, either=(1,)),
    "Identity": Operator(l.identity, EVERY, either=(0,)),
    "Pad": Operator(l.pad, EVERY, host=(1, 2, 3)),
    "Range": Operator(l.steps_of_range, EVERY, host=(0, 1, 2)),
    "Reshape": Operator(l.reshape, EVERY, host=(1,)),
    "Slice": Operator(l.slices, EVERY, host=(1, 2, 3, 4)),
    "SpaceToDepth": Operator(l.space_to_depth, EVERY),
    "Split": Operator(l.split, EVERY, host=(1,)),
    "Squeeze": Operator(l.squeeze, EVERY, host=(1,)),
    "TensorScatter": Operator(l.tensor_scatter, EVERY, host=(2,)),
    "Tile": Operator(l.tile, EVERY, host=(1,)),
    "Transpose": Operator(l.transpose, EVERY),
    "Unsqueeze": Operator(l.unsqueeze, EVERY, host=(1,)),
    # Products and convolutions
    "Col2Im": Operator(m.col2im, host=(1, 2)),
    "Conv": Operator(m.conv),
    "ConvInteger": Operator(m.conv_integer, BYTES),
    "ConvTranspose": Operator(m.conv_transpose),
    "Einsum": Operator(m.einsum),
    "Gemm": Operator(m.gemm),
    "MatMul": Operator(m.matmul),
    "MatMulInteger": Operator(m.matmul_integer, BYTES),
    "QLinearConv": Operator(m.qlinear_conv, BYTES),
    "QLinearMatMul": Operator(m.qlinear_matmul, BYTES),
    # Quantization
    "DequantizeLinear": Operator(e.dequantize, INTEGERS),
    "DynamicQuantizeLinear": Operator(e.dynamic_quantize),
    "QuantizeLinear": Operator(e.quantize),
    # Images and normalization
    "AffineGrid": Operator(i.affine_grid, host=(1,)),
    "AveragePool": Operator(i.average_pool),
    "BatchNormalization": Operator(i.batch_norm),
    "GlobalAveragePool": Operator(i.global_average_pool),
    "GlobalMaxPool": Operator(i.global_max_pool),
    "GroupNormalization": Operator(i.group_norm),
    "InstanceNormalization": Operator(i.instance_norm),
    "LayerNormalization": Operator(i.layer_norm),
    "LpNormalization": Operator(i.lp_norm),
    "MaxPool": Operator(i.max_pool, FLOATS | BYTES),
    "MeanVarianceNormalization": Operator(i.mean_variance_norm),
    "RMSNormalization": Operator(i.rms_norm),
    "RotaryEmbedding": Operator(i.rotary, either=(3,)),
    # Reductions, softmax and losses
    "LogSoftmax": Operator(r.softmax(r.tenon.SOFTMAX_LOG)),
    "NegativeLogLikelihoodLoss": Operator(r.negative_log_likelihood, either=(1,)),
    "ReduceL1": Operator(r.reduction("sum", empty=0, before=r.absolute), **REDUCED),
    "ReduceL2": Operator(r.reduction("norm", empty=0), **REDUCED),
    "ReduceMax": Operator(r.reduction("max", empty=float("-inf")), **REDUCED),
    "ReduceMean": Operator(r.reduction("mean", empty=float("nan")), **REDUCED),
    "ReduceMin": Operator(r.reduction("min", empty=float("inf")), **REDUCED),
    "ReduceSum": Operator(r.reduction("sum", empty=0), **REDUCED),
    "ReduceSumSquare": Operator(r.reduction("sum_squares", empty=0), **REDUCED),
    "Softmax": Operator(r.softmax()),
    "SoftmaxCrossEntropyLoss": Operator(r.softmax_cross_entropy, either=(1,)),
    # Other domains
    "ai.onnx.ml.ArrayFeatureExtractor": Operator(l.feature_extractor, EVERY, either=(1,)),
    "ai.onnx.ml.Binarizer": Operator(g.binarizer),
    "tenon.ConvBatchNormalization": Operator(i.conv_batch_norm),  # made by _fusion.py
}
# Handled by the model itself: their results need no operation.
CONTROL = ("If", "Loop", "Scan", "Shape", "Size")


def lookup(domain: str, op: str) -> Optional[Operator]:
    """Returns the row of an operator, or None."""
    return OPERATORS.get(f"{domain}.{op}" if domain else op)

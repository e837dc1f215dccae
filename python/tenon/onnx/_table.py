"""The table of operators: which function maps a node to operations of tenon.

A function receives the program, the node's inputs and its attributes as keywords, whose defaults are ONNX's. An
attribute that the function does not have is refused before anything runs. Nodes arrive in the newest form of their
operator (_opsets.py). To add an operator, write the function in the module of its family and a line here.
"""
import functools
import inspect
from typing import Any, Callable, Dict, FrozenSet, NamedTuple, Optional, Tuple

import tenon

from . import _attention as a
from . import _elementwise as e
from . import _functions as f
from . import _images as i
from . import _indexing as x
from . import _layout as l
from . import _logic as g
from . import _products as m
from . import _recurrent as n
from . import _reductions as r
from . import _resizing as z
from . import _sampling as q
from . import _sorting as o
from . import _training as t
from ._types import BYTES, EVERY, FLOATS

MAX_OPSET = 28
MAX_ML_OPSET = 5
MAX_TRAINING_OPSET = 1


@functools.lru_cache(maxsize=None)
def _parameters(function: Callable[..., Any]) -> Tuple[FrozenSet[str], bool]:
    """Returns the names of a function's parameters, and whether it takes all keywords."""
    found = inspect.signature(function).parameters
    return frozenset(found), any(p.kind is p.VAR_KEYWORD for p in found.values())


class Operator(NamedTuple):
    """A row of the table."""

    run: Callable[..., Any]
    types: FrozenSet[str] = FLOATS   # element types of the first input
    host: Tuple[int, ...] = ()       # inputs that must be arrays on the host: sizes, axes and scalars
    either: Tuple[int, ...] = ()     # inputs that may be arrays or tensors

    def accepts(self, attribute: str) -> bool:
        names, takes_any = _parameters(self.run)
        return takes_any or attribute in names


INTEGERS = frozenset({"i8", "u8", "i16", "u16", "i32", "u32", "i64"})
NUMBERS = FLOATS | INTEGERS
TRUTHS = frozenset({"bool"})

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
    # Functions
    "Acos": Operator(f.function("acos")),
    "Acosh": Operator(f.function("acosh")),
    "Asin": Operator(f.function("asin")),
    "Asinh": Operator(f.function("asinh")),
    "Atan": Operator(f.function("atan")),
    "Atanh": Operator(f.function("atanh")),
    "Ceil": Operator(f.function("ceil")),
    "Cos": Operator(f.function("cos")),
    "Cosh": Operator(f.function("cosh")),
    "Erf": Operator(f.function("erf")),
    "Floor": Operator(f.function("floor")),
    "Log": Operator(f.function("log")),
    "Round": Operator(f.function("round")),
    "Sign": Operator(f.function("sign")),
    "Sin": Operator(f.function("sin")),
    "Sinh": Operator(f.function("sinh")),
    "Sqrt": Operator(f.function("sqrt")),
    "Tan": Operator(f.function("tan")),
    "BlackmanWindow": Operator(f.blackman, INTEGERS, host=(0,)),
    "DFT": Operator(f.dft, host=(1, 2)),
    "HammingWindow": Operator(f.window(25 / 46, -21 / 46), INTEGERS, host=(0,)),
    "HannWindow": Operator(f.window(0.5, -0.5), INTEGERS, host=(0,)),
    "MelWeightMatrix": Operator(f.mel_weights, INTEGERS, host=(0, 1, 2, 3, 4)),
    "Mod": Operator(g.modulo, NUMBERS),
    "Pow": Operator(g.power, NUMBERS, either=(1,)),
    "STFT": Operator(f.stft, host=(1, 3)),
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
    # Look-ups and updates by index
    "GatherElements": Operator(x.gather_elements, EVERY, either=(1,)),
    "GatherND": Operator(x.gather_nd, EVERY, either=(1,)),
    "MaxUnpool": Operator(x.max_unpool, host=(2,), either=(1,)),
    "OneHot": Operator(x.one_hot, NUMBERS, host=(1, 2)),
    "ReverseSequence": Operator(x.reverse_sequence, EVERY, either=(1,)),
    "ScatterElements": Operator(x.scatter_elements, EVERY, either=(1,)),
    "ScatterND": Operator(x.scatter_nd, EVERY, either=(1,)),
    "Trilu": Operator(x.triangle, EVERY, host=(1,)),
    # Sorting, scanning and selection
    "ArgMax": Operator(o.argument("argmax"), FLOATS | BYTES),
    "ArgMin": Operator(o.argument("argmin"), FLOATS | BYTES),
    "Compress": Operator(o.compress, EVERY),
    "CumProd": Operator(o.cumulative("product"), FLOATS | {"i32"}, host=(1,)),
    "CumSum": Operator(o.cumulative("sum"), FLOATS | {"i32"}, host=(1,)),
    "Hardmax": Operator(o.hardmax),
    "NonZero": Operator(o.nonzero, FLOATS | BYTES | TRUTHS | {"i32"}),
    "TopK": Operator(o.top_k, FLOATS | INTEGERS, host=(1,)),
    "Unique": Operator(o.unique, EVERY),
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
    "DeformConv": Operator(q.deform_conv),
    "Det": Operator(q.determinant),
    "GridSample": Operator(q.grid_sample),
    "NonMaxSuppression": Operator(q.non_max_suppression, host=(2, 3, 4)),
    "RoiAlign": Operator(q.roi_align, either=(2,)),
    "GlobalLpPool": Operator(z.global_lp_pool),
    "LRN": Operator(z.lrn),
    "LpPool": Operator(z.lp_pool),
    "Resize": Operator(z.resize, FLOATS, host=(1, 2, 3)),
    "Upsample": Operator(z.upsample, FLOATS, host=(1,)),
    # Attention
    "Attention": Operator(a.attention),
    # Recurrence
    "GRU": Operator(n.gru, either=(4,)),
    "LSTM": Operator(n.lstm, either=(4,)),
    "RNN": Operator(n.rnn, either=(4,)),
    # Reductions, softmax and losses
    "LogSoftmax": Operator(r.softmax(tenon.SOFTMAX_LOG)),
    "NegativeLogLikelihoodLoss": Operator(r.negative_log_likelihood, either=(1,)),
    "ReduceL1": Operator(r.reduction("sum", empty=0, before=r.absolute), host=(1,)),
    "ReduceLogSum": Operator(r.reduction("sum", empty=0, after=f.function("log")), host=(1,)),
    "ReduceLogSumExp": Operator(r.reduction("log_sum_exp", empty=float("-inf")), host=(1,)),
    "ReduceProd": Operator(r.reduction("product", empty=1), host=(1,)),
    "ReduceL2": Operator(r.reduction("norm", empty=0), host=(1,)),
    "ReduceMax": Operator(r.extremes("max", "any", float("-inf")), FLOATS | TRUTHS, host=(1,)),
    "ReduceMean": Operator(r.reduction("mean", empty=float("nan")), host=(1,)),
    "ReduceMin": Operator(r.extremes("min", "all", float("inf")), FLOATS | TRUTHS, host=(1,)),
    "ReduceSum": Operator(r.reduction("sum", empty=0), host=(1,)),
    "ReduceSumSquare": Operator(r.reduction("sum_squares", empty=0), host=(1,)),
    "Softmax": Operator(r.softmax()),
    "SoftmaxCrossEntropyLoss": Operator(r.softmax_cross_entropy, either=(1,)),
    # Optimizers
    "ai.onnx.preview.training.Adagrad": Operator(t.adagrad),
    "ai.onnx.preview.training.Adam": Operator(t.adam),
    "ai.onnx.preview.training.Momentum": Operator(t.momentum),
    # Other domains
    "ai.onnx.ml.ArrayFeatureExtractor": Operator(l.feature_extractor, EVERY, either=(1,)),
    "ai.onnx.ml.Binarizer": Operator(g.binarizer),
    # Made by _fusion.py
    "tenon.ConvAffine": Operator(i.conv_affine),
    "tenon.ConvIntegerScaled": Operator(m.conv_integer_scaled, BYTES | FLOATS),
    "tenon.DynamicQuantizeScaled": Operator(e.dynamic_quantize),
    "tenon.MatMulAdd": Operator(m.matmul_add),
    "tenon.MatMulIntegerScaled": Operator(m.matmul_integer_scaled, BYTES | FLOATS),
    "tenon.RootOfSquare": Operator(e.root_of_square),
    "tenon.ScaleShift": Operator(i.scale_shift),
}
# Handled by the model itself: their results need no operation.
CONTROL = ("If", "Loop", "Scan", "Shape", "Size")


def lookup(domain: str, op: str) -> Optional[Operator]:
    """Returns the row of an operator, or None."""
    return OPERATORS.get(f"{domain}.{op}" if domain else op)

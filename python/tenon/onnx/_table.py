"""The table of operators: which function maps a node to operations of tenon.

A function receives the program, the node's inputs and its attributes as keywords, whose defaults are ONNX's. An
attribute that the function does not have is refused before anything runs. Nodes arrive in the newest form of their
operator (_opsets.py). To add an operator, write the function in the module of its family and a line here.
"""
import inspect
from typing import Any, Callable, Dict, FrozenSet, NamedTuple, Optional, Tuple

import tenon

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
from ._types import BYTES, EVERY, FLOATS

MAX_OPSET = 28
MAX_ML_OPSET = 5


class Operator(NamedTuple):
    """A row of the table."""

    run: Callable[..., Any]
    types: FrozenSet[str] = FLOATS   # element types of the first input
    host: Tuple[int, ...] = ()       # inputs that must be arrays on the host: sizes, axes and scalars
    either: Tuple[int, ...] = ()     # inputs that may be arrays or tensors
    needs: str = "copy"              # a name of tenon without which the row is left out

    def accepts(self, attribute: str) -> bool:
        found = inspect.signature(self.run).parameters
        return attribute in found or any(p.kind is p.VAR_KEYWORD for p in found.values())


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
    "Acos": Operator(f.function("acos"), needs="function"),
    "Acosh": Operator(f.function("acosh"), needs="function"),
    "Asin": Operator(f.function("asin"), needs="function"),
    "Asinh": Operator(f.function("asinh"), needs="function"),
    "Atan": Operator(f.function("atan"), needs="function"),
    "Atanh": Operator(f.function("atanh"), needs="function"),
    "Ceil": Operator(f.function("ceil"), needs="function"),
    "Cos": Operator(f.function("cos"), needs="function"),
    "Cosh": Operator(f.function("cosh"), needs="function"),
    "Erf": Operator(f.function("erf"), needs="function"),
    "Floor": Operator(f.function("floor"), needs="function"),
    "Log": Operator(f.function("log"), needs="function"),
    "Round": Operator(f.function("round"), needs="function"),
    "Sign": Operator(f.function("sign"), needs="function"),
    "Sin": Operator(f.function("sin"), needs="function"),
    "Sinh": Operator(f.function("sinh"), needs="function"),
    "Sqrt": Operator(f.function("sqrt"), needs="function"),
    "Tan": Operator(f.function("tan"), needs="function"),
    "BlackmanWindow": Operator(f.blackman, INTEGERS, host=(0,), needs="function"),
    "DFT": Operator(f.dft, host=(1, 2), needs="function"),
    "HammingWindow": Operator(f.window(25 / 46, -21 / 46), INTEGERS, host=(0,), needs="function"),
    "HannWindow": Operator(f.window(0.5, -0.5), INTEGERS, host=(0,), needs="function"),
    "Mod": Operator(g.modulo, NUMBERS, needs="function"),
    "Pow": Operator(g.power, NUMBERS, needs="function"),
    "STFT": Operator(f.stft, host=(1, 3), needs="function"),
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
    "GatherElements": Operator(x.gather_elements, EVERY, either=(1,), needs="scatter"),
    "GatherND": Operator(x.gather_nd, EVERY, either=(1,), needs="scatter"),
    "MaxUnpool": Operator(x.max_unpool, host=(2,), either=(1,), needs="scatter"),
    "OneHot": Operator(x.one_hot, NUMBERS, host=(1, 2), needs="one_hot"),
    "ReverseSequence": Operator(x.reverse_sequence, EVERY, either=(1,), needs="reverse_lengths"),
    "ScatterElements": Operator(x.scatter_elements, EVERY, either=(1,), needs="scatter"),
    "ScatterND": Operator(x.scatter_nd, EVERY, either=(1,), needs="scatter"),
    "Trilu": Operator(x.triangle, EVERY, host=(1,), needs="triangle"),
    # Sorting, scanning and selection
    "ArgMax": Operator(o.argument("argmax"), FLOATS | BYTES, needs="REDUCE_ARGMAX_LAST"),
    "ArgMin": Operator(o.argument("argmin"), FLOATS | BYTES, needs="REDUCE_ARGMAX_LAST"),
    "Compress": Operator(o.compress, EVERY, needs="compact"),
    "CumProd": Operator(o.cumulative("product"), FLOATS | {"i32"}, host=(1,), needs="scan"),
    "CumSum": Operator(o.cumulative("sum"), FLOATS | {"i32"}, host=(1,), needs="scan"),
    "Hardmax": Operator(o.hardmax, needs="one_hot"),
    "NonZero": Operator(o.nonzero, FLOATS | BYTES | TRUTHS | {"i32"}, needs="compact"),
    "TopK": Operator(o.top_k, FLOATS | INTEGERS, host=(1,), needs="top_k"),
    "Unique": Operator(o.unique, FLOATS | BYTES | {"i32"}, needs="compact"),
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
    "Det": Operator(q.determinant),
    "GridSample": Operator(q.grid_sample, needs="scatter"),
    "NonMaxSuppression": Operator(q.non_max_suppression, host=(2, 3, 4), needs="compact"),
    "GlobalLpPool": Operator(z.global_lp_pool, needs="POOL_LP"),
    "LRN": Operator(z.lrn, needs="lrn_forward"),
    "LpPool": Operator(z.lp_pool, needs="POOL_LP"),
    "Resize": Operator(z.resize, FLOATS, host=(1, 2, 3), needs="resize_forward"),
    "Upsample": Operator(z.upsample, FLOATS, host=(1,), needs="resize_forward"),
    # Recurrence
    "GRU": Operator(n.gru, either=(4,), needs="rnn_forward"),
    "LSTM": Operator(n.lstm, either=(4,), needs="rnn_forward"),
    "RNN": Operator(n.rnn, either=(4,), needs="rnn_forward"),
    # Reductions, softmax and losses
    "LogSoftmax": Operator(r.softmax(tenon.SOFTMAX_LOG)),
    "NegativeLogLikelihoodLoss": Operator(r.negative_log_likelihood, either=(1,)),
    "ReduceL1": Operator(r.reduction("sum", empty=0, before=r.absolute), host=(1,)),
    "ReduceLogSum": Operator(r.reduction("sum", empty=0, after=f.function("log")), host=(1,), needs="function"),
    "ReduceLogSumExp": Operator(r.reduction("log_sum_exp", empty=float("-inf")), host=(1,),
                                needs="REDUCE_LOG_SUM_EXP"),
    "ReduceProd": Operator(r.reduction("product", empty=1), host=(1,), needs="REDUCE_PRODUCT"),
    "ReduceL2": Operator(r.reduction("norm", empty=0), host=(1,)),
    "ReduceMax": Operator(r.extremes("max", "any", float("-inf")), FLOATS | TRUTHS, host=(1,)),
    "ReduceMean": Operator(r.reduction("mean", empty=float("nan")), host=(1,)),
    "ReduceMin": Operator(r.extremes("min", "all", float("inf")), FLOATS | TRUTHS, host=(1,)),
    "ReduceSum": Operator(r.reduction("sum", empty=0), host=(1,)),
    "ReduceSumSquare": Operator(r.reduction("sum_squares", empty=0), host=(1,)),
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
    found = OPERATORS.get(f"{domain}.{op}" if domain else op)
    return found if found is not None and hasattr(tenon, found.needs) else None

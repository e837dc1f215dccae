"""Inference of the shapes and types of outputs that the caller does not specify."""
import math
from typing import Any, Callable, Dict, Tuple

import numpy as np

from . import _constants as constants
from ._loader import ffi, lib

Form = Tuple[str, Tuple[int, ...]]  # a type and a shape


def dtype_of(operands: Dict[str, Any]) -> str:
    """Returns the type of the first operand; f32 if there are no operands."""
    return next((o.dtype for o in operands.values() if o is not None), "f32")


def _sums(dtype: str) -> str:
    """Returns the accumulation type of a type."""
    return "f64" if dtype == "f64" else "f32"


def like(operand: str) -> Callable[[Dict[str, Any], Any], Form]:
    return lambda o, p: (o[operand].dtype, o[operand].shape)


def _weights(o: Dict[str, Any], name: str) -> Any:
    """Returns the second factor, which may be packed."""
    return o[name] if name in o else o["packed"]


def _product(o: Dict[str, Any], _: Any) -> Form:
    a, b = o["a"], _weights(o, "b")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    dtype = "i32" if a.dtype in ("i8", "u8") else a.dtype
    return dtype, (*batch, a.shape[-2], b.shape[-1])


def _ragged(o: Dict[str, Any], _: Any) -> Form:
    return o["a"].dtype, (o["a"].shape[0], o["b"].shape[2])


def _broadcast(*names: str) -> Callable[[Dict[str, Any], Any], Form]:
    def rule(o: Dict[str, Any], _: Any) -> Form:
        found = [o[n] for n in names if o[n] is not None]
        return found[0].dtype, np.broadcast_shapes(*(t.shape for t in found))
    return rule


def _truth(*names: str) -> Callable[[Dict[str, Any], Any], Form]:
    """The operands broadcast to each other; the result is a bool."""
    return lambda o, p: ("bool", _broadcast(*names)(o, p)[1])


def _where(o: Dict[str, Any], p: Any) -> Form:
    return o["a"].dtype, _broadcast("condition", "a", "b")(o, p)[1]


def _windows(sizes: Tuple[int, ...], window: Tuple[int, ...], geometry: Any) -> Tuple[int, ...]:
    """Returns the spatial sizes of the output of a convolution or pooling."""
    if not 1 <= len(sizes) <= constants.MAX_SPATIAL or len(window) < len(sizes):
        raise ValueError
    found = tuple(lib.tenon_conv_output_size(ffi.addressof(geometry), d, size, window[d])
                  for d, size in enumerate(sizes))
    if min(found) < 0:
        raise ValueError
    return found


def _conv(o: Dict[str, Any], p: Any) -> Form:
    x, w = o["x"], _weights(o, "w")
    return x.dtype, (x.shape[0], w.shape[0], *_windows(x.shape[2:], w.shape[2:], p.geometry))


def _conv_transpose(o: Dict[str, Any], p: Any) -> Form:
    x, w = o["x"], o["w"]
    if not 1 <= x.ndim - 2 <= constants.MAX_SPATIAL or w.ndim != x.ndim:
        raise ValueError
    sizes = [lib.tenon_conv_transpose_output_size(ffi.addressof(p.geometry), d, x.shape[2 + d],
                                                  w.shape[2 + d], p.output_padding[d])
             for d in range(x.ndim - 2)]
    if min(sizes) < 0:
        raise ValueError
    return x.dtype, (x.shape[0], w.shape[1] * p.groups, *sizes)


def _columns(o: Dict[str, Any], p: Any) -> Form:
    x = o["x"]
    taps = tuple(p.filter)[:x.ndim - 2]
    outputs = _windows(x.shape[2:], taps, p.geometry)
    return x.dtype, (x.shape[0], x.shape[1] * math.prod(taps), math.prod(outputs))


def _pool(dtype: Any) -> Callable[[Dict[str, Any], Any], Form]:
    def rule(o: Dict[str, Any], p: Any) -> Form:
        x = o["x"]
        sizes = tuple(lib.tenon_pool_output_size(p, d, size)
                      for d, size in enumerate(x.shape[2:]))
        if min(sizes) < 0:
            raise ValueError
        return dtype or x.dtype, (*x.shape[:2], *sizes)
    return rule


# Types of the results of reductions, if they differ from the input's.
_REDUCED_TYPES = {
    constants.REDUCE_ARGMAX: "i32",
    constants.REDUCE_ARGMIN: "i32",
    constants.REDUCE_ARGMAX_LAST: "i32",
    constants.REDUCE_ARGMIN_LAST: "i32",
    constants.REDUCE_COUNT: "i32",
    constants.REDUCE_ANY: "bool",
    constants.REDUCE_ALL: "bool",
}
def _resized(o: Dict[str, Any], p: Any) -> Form:
    x = o["x"]
    scales = [p.scales[d] for d in range(x.ndim - 2)]
    if not scales or min(scales) <= 0:
        raise ValueError
    return x.dtype, (*x.shape[:2], *(math.floor(n * s) for n, s in zip(x.shape[2:], scales)))


def _reduced(o: Dict[str, Any], p: Any) -> Form:
    x = o["x"]
    axes = [_axis(x, a) for a in p.axes[0:p.axis_count]] if p.axis_count else range(x.ndim)
    shape = tuple(n for d, n in enumerate(x.shape) if d not in axes)
    return _REDUCED_TYPES.get(getattr(p, "kind", None), x.dtype), shape


def _moments(o: Dict[str, Any], p: Any) -> Form:
    return o["x"].dtype, _reduced(o, p)[1]


def _axis(tensor: Any, axis: int) -> int:
    if not -tensor.ndim <= axis < tensor.ndim:
        raise ValueError
    return axis % tensor.ndim


def _cross_entropy(o: Dict[str, Any], p: Any) -> Form:
    x = o["logits"]
    axis = _axis(x, p.axis)
    return x.dtype, x.shape[:axis] + x.shape[axis + 1:]


def _gather(o: Dict[str, Any], p: Any) -> Form:
    x, indices = o["x"], o["indices"]
    axis = _axis(x, p.axis)
    if p.mode == constants.INDEX_ELEMENTS:
        return x.dtype, indices.shape
    if p.mode == constants.INDEX_TUPLES:
        return x.dtype, indices.shape[:-1] + x.shape[axis + indices.shape[-1]:]
    return x.dtype, x.shape[:axis] + indices.shape + x.shape[axis + 1:]


def _padded(o: Dict[str, Any], p: Any) -> Form:
    x = o["x"]
    return x.dtype, tuple(n + p.begin[d] + p.end[d] for d, n in enumerate(x.shape))


def _depth_to_space(o: Dict[str, Any], p: Any) -> Form:
    n, c, h, w = o["x"].shape
    return o["x"].dtype, (n, c // max(p.block, 1) ** 2, h * p.block, w * p.block)


def _space_to_depth(o: Dict[str, Any], p: Any) -> Form:
    n, c, h, w = o["x"].shape
    return o["x"].dtype, (n, c * p.block ** 2, h // max(p.block, 1), w // max(p.block, 1))


def _is_by_row(p: Any) -> bool:
    return p.kind in (constants.NORM_LAYER, constants.NORM_RMS)


def _statistics(o: Dict[str, Any], p: Any) -> Form:
    x = o["x"]
    if _is_by_row(p):
        shape = x.shape[:max(x.ndim - p.dimensions, 0)]
    elif p.kind == constants.NORM_BATCH:
        shape = x.shape[1:2]
    else:
        shape = (x.shape[0], p.groups if p.kind == constants.NORM_GROUP else x.shape[1])
    return _sums(x.dtype), shape


def _gamma(o: Dict[str, Any], p: Any) -> Form:
    if o["gamma"] is not None:
        return o["gamma"].dtype, o["gamma"].shape
    x = o["x"]
    shape = x.shape[max(x.ndim - p.dimensions, 0):] if _is_by_row(p) else x.shape[1:2]
    return x.dtype, shape


def _indices(name: str) -> Callable[[Dict[str, Any], Any], Form]:
    return lambda o, p: ("i32", o[name].shape)


def _segments(o: Dict[str, Any], p: Any) -> Form:
    if o["segments"] is None or p.flags & constants.SEGMENT_IDS:
        raise TypeError("segment_reduce: the shape of y cannot be inferred without offsets: "
                        "pass y=shape, or a tensor")
    return o["x"].dtype, (o["segments"].shape[0] - 1, *o["x"].shape[1:])


def _rnn(output: str) -> Callable[[Dict[str, Any], Any], Form]:
    """Returns the rule for an output of a recurrent layer."""
    def rule(o: Dict[str, Any], p: Any) -> Form:
        x, (directions, rows, size) = o["x"], o["r"].shape
        steps, batch, _ = x.shape
        is_gru, after = p.kind == constants.RNN_GRU, p.flags & constants.RNN_RESET_AFTER
        gates = {constants.RNN_LSTM: 4, constants.RNN_GRU: 3}.get(p.kind, 1)
        hidden, kept = rows // gates, gates + bool(p.kind == constants.RNN_LSTM or (is_gru and after))
        return {"y": (x.dtype, (steps, directions, batch, size)),
                "hn": (x.dtype, (directions, batch, size)),
                "cn": (x.dtype, (directions, batch, hidden)),
                "reserve": (_sums(x.dtype), (directions, steps, batch, kept * hidden))}[output]
    return rule


def _rnn_gates(o: Dict[str, Any], p: Any) -> Form:
    (directions, rows, size), y = o["r"].shape, o["y"]
    after = p.kind == constants.RNN_GRU and p.flags & constants.RNN_RESET_AFTER
    columns = rows + (rows // 3 if after else 0) + (size if o["projection"] is not None else 0)
    return _sums(y.dtype), (directions, y.shape[0], y.shape[2], columns)


RULES: Dict[str, Callable[[Dict[str, Any], Any], Form]] = {
    "activation_backward.dx": like("x"),
    "activation_forward.y": like("x"),
    "classify.y": _truth("x"),
    "compare.d": _truth("a", "b"),
    "compact.count": lambda o, p: ("i32", ()),
    "channel_shuffle.y": like("x"),
    "bernoulli.y": like("p"),
    "categorical.y": lambda o, p: ("i32", o["x"].shape[:-1]),
    "conv_backward_bias.db": lambda o, p: (o["dy"].dtype, o["dy"].shape[1:2]),
    "conv_forward.y": _conv,
    "conv_forward_packed.y": _conv,
    "conv_transpose_forward.y": _conv_transpose,
    "copy.y": like("x"),
    "cross_entropy_backward.dlogits": like("logits"),
    "cross_entropy_forward.loss": _cross_entropy,
    "depth_to_space.y": _depth_to_space,
    "dropout.y": like("x"),
    "elementwise.d": _broadcast("a", "b"),
    "elementwise_chain.y": _broadcast("x0", "x1", "x2", "x3"),
    "function.y": like("x"),
    "gated_backward.da": like("a"),
    "gated_backward.db": like("a"),
    "gated_forward.y": like("a"),
    "gather_forward.y": _gather,
    "gemm.d": _product,
    "gemm_packed.d": _product,
    "gemm_ragged.d": _ragged,
    "im2col.col": _columns,
    "lrn_backward.dx": like("x"),
    "lrn_forward.y": like("x"),
    "moments.mean": _moments,
    "moments.variance": _moments,
    "logic.d": _broadcast("a", "b"),
    "mse_backward.dx": like("x"),
    "mse_forward.loss": _reduced,
    "nonfinite.flag": lambda o, p: ("i32", ()),
    "norm_backward.dbeta": _gamma,
    "norm_backward.dgamma": _gamma,
    "norm_backward.dx": like("x"),
    "norm_forward.mean": _statistics,
    "norm_forward.rstd": _statistics,
    "norm_forward.y": like("x"),
    "norm_inference.y": like("x"),
    "norm_inference_backward.dbeta": _gamma,
    "norm_inference_backward.dgamma": _gamma,
    "norm_inference_backward.dx": like("x"),
    "pad_forward.y": _padded,
    "pool_backward.dx": like("x"),
    "pool_forward.indices": _pool("i32"),
    "pool_forward.y": _pool(None),
    "prelu_backward.dslope": like("slope"),
    "prelu_backward.dx": like("x"),
    "prelu_forward.y": like("x"),
    "rearrange.y": like("x"),
    "reduce.y": _reduced,
    "scan.y": like("x"),
    "search_sorted.indices": _indices("values"),
    "segment_reduce.y": _segments,
    "segment_scan.y": like("x"),
    "unique.count": lambda o, p: ("i32", ()),
    "unique.inverse": _indices("x"),
    "resize_forward.y": _resized,
    "rnn_backward_data.dgates": _rnn_gates,
    "rnn_forward.cn": _rnn("cn"),
    "rnn_forward.hn": _rnn("hn"),
    "rnn_forward.reserve": _rnn("reserve"),
    "rnn_forward.y": _rnn("y"),
    "softmax_backward.dx": like("y"),
    "softmax_forward.y": like("x"),
    "sort.indices": _indices("x"),
    "sort.moved": like("payload"),
    "sort.y": like("x"),
    "reverse_lengths.y": like("x"),
    "softmax_backward.dx": like("y"),
    "softmax_forward.y": like("x"),
    "space_to_depth.y": _space_to_depth,
    "square_sum.sum": lambda o, p: (_sums(o["x"].dtype), ()),
    "where.d": _where,
    "triangle.y": like("x"),
}


def infer(name: str, output: str, operands: Dict[str, Any], params: Any) -> Form:
    """Returns the type and shape of an output if they follow from the inputs."""
    rule = RULES.get(f"{name}.{output}")
    if rule is None:
        raise TypeError(f"{name}: the shape of {output} cannot be inferred: "
                        f"pass {output}=shape, or a tensor")
    try:
        return rule(operands, params)
    except (AttributeError, IndexError, ValueError):
        given = ", ".join(f"{n} {o.shape}" for n, o in operands.items() if o is not None)
        raise ValueError(f"{name}: cannot infer the shape of {output} from {given} "
                         "and the parameters") from None

"""Matrix products, convolutions, Einsum and their 8-bit forms."""
import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

import tenon

from .._loader import ffi
from .._tensor import Tensor
from . import _elementwise as elementwise
from ._layout import padded, sizes
from ._program import Program, is_known
from ._windows import product_of


def gemm(p: Program, a: Tensor, b: Tensor, c: Optional[Tensor] = None, *, alpha: float = 1.0, beta: float = 1.0,
         transA: int = 0, transB: int = 0) -> Tensor:
    a, b = a.T if transA else a, b.T if transB else b
    if c is None or beta == 0:
        return _product(p, a, b, alpha=alpha)
    if beta == 1 and c.shape in (b.shape[1:], (1, b.shape[1])):
        return _product(p, a, b, bias=c, alpha=alpha)
    return _product(p, a, b, c=c, alpha=alpha, beta=beta)


def _product(p: Program, a: Tensor, b: Tensor, **arguments: Any) -> Tensor:
    if p.is_constant(b) and b.ndim == 2 and b.dtype not in ("i8", "u8") and not (is_known(a) and p.is_constant(a)):
        return p.op("gemm_packed", a=a, packed=packed(p, b, "gemm_pack"), **arguments)
    return p.op("gemm", a=a, b=b, **arguments)


def packed(p: Program, weights: Tensor, function: str) -> Any:
    """Returns packed weights, which the programs of a model share."""
    return p.weights.form(weights, (function,), lambda: getattr(tenon, function)(weights))


def matmul(p: Program, a: Tensor, b: Tensor, **arguments: Any) -> Tensor:
    row, column = a.ndim == 1, b.ndim == 1
    a, b = a.unsqueeze(0) if row else a, b.unsqueeze(1) if column else b
    y = _product(p, a, b, **arguments)
    y = y.squeeze(y.ndim - 2) if row else y
    return y.squeeze(y.ndim - 1) if column else y


def matmul_add(p: Program, a: Tensor, b: Tensor, added: Tensor) -> Tensor:
    """Multiplies matrices and adds a constant: a bias, if it has one element for each column."""
    if b.ndim >= 2 and added.size == b.shape[-1] == added.shape[-1] and p.is_constant(added):
        return matmul(p, a, b, bias=p.reshape(added, (added.size,)))
    return elementwise.binary(p, matmul(p, a, b), added, "add")


# Convolution -----------------------------------------------------------------------------------------


def paddings(auto_pad: str, pads: Optional[Sequence[int]], image: Sequence[int], window: Sequence[int],
             strides: Sequence[int], dilations: Sequence[int]) -> Tuple[List[int], List[int]]:
    """Returns the padding before and after each spatial dimension."""
    rank = len(image)
    if auto_pad in ("NOTSET", ""):
        return (list(pads[:rank]), list(pads[rank:])) if pads else ([0] * rank, [0] * rank)
    if auto_pad == "VALID":
        return [0] * rank, [0] * rank
    begin, end = [], []
    for n, k, s, d in zip(image, window, strides, dilations):
        total = max((math.ceil(n / s) - 1) * s + d * (k - 1) + 1 - n, 0)
        small = total // 2
        begin.append(small if auto_pad == "SAME_UPPER" else total - small)
        end.append(total - begin[-1])
    return begin, end


def conv(p: Program, x: Tensor, w: Tensor, bias: Optional[Tensor] = None, *, auto_pad: str = "NOTSET",
         dilations: Optional[Sequence[int]] = None, group: int = 1, kernel_shape: Optional[Sequence[int]] = None,
         pads: Optional[Sequence[int]] = None, strides: Optional[Sequence[int]] = None) -> Tensor:
    x, geometry, _ = _geometry(p, x, w, auto_pad, dilations, group, pads, strides)
    if p.is_constant(w) and not (is_known(x) and p.is_constant(x)):
        found = product_of(p, x, w, bias, _product, **geometry)
        if found is not None:
            return found
        return p.op("conv_forward_packed", x=x, packed=packed(p, w, "conv_pack_filter"), bias=bias, **geometry)
    return p.op("conv_forward", x=x, w=w, bias=bias, **geometry)


def _geometry(p: Program, x: Tensor, w: Tensor, auto_pad: str, dilations: Any, group: int, pads: Any,
              strides: Any) -> Tuple[Tensor, Dict[str, Any], Tuple[int, ...]]:
    """Returns the image, cut off if the padding is negative, the parameters, and the shape of the result."""
    rank = x.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    begin, end = paddings(auto_pad, pads, x.shape[2:], w.shape[2:], strides, dilations)
    if min([*begin, *end]) < 0:
        cut = [0, 0, *(min(b, 0) for b in begin)], [0, 0, *(min(e, 0) for e in end)]
        x, begin, end = padded(p, x, *cut), [max(b, 0) for b in begin], [max(e, 0) for e in end]
    sizes_of = [(n + b + e - d * (k - 1) - 1) // s + 1
                for n, k, b, e, s, d in zip(x.shape[2:], w.shape[2:], begin, end, strides, dilations)]
    geometry = dict(groups=group, stride=strides, dilation=dilations, pad_begin=begin, pad_end=end)
    return x, geometry, (x.shape[0], w.shape[0], *sizes_of)


def conv_transpose(p: Program, x: Tensor, w: Tensor, bias: Optional[Tensor] = None, *, auto_pad: str = "NOTSET",
                   dilations: Optional[Sequence[int]] = None, group: int = 1,
                   kernel_shape: Optional[Sequence[int]] = None, output_padding: Optional[Sequence[int]] = None,
                   output_shape: Optional[Sequence[int]] = None, pads: Optional[Sequence[int]] = None,
                   strides: Optional[Sequence[int]] = None) -> Tensor:
    rank = x.ndim - 2
    strides, dilations = list(strides or [1] * rank), list(dilations or [1] * rank)
    extra = list(output_padding or [0] * rank)
    full = [s * (n - 1) + d * (k - 1) + 1 for n, k, s, d in zip(x.shape[2:], w.shape[2:], strides, dilations)]
    begin, end = (list(pads[:rank]), list(pads[rank:])) if pads else ([0] * rank, [0] * rank)
    if output_shape or auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = list(output_shape or [n * s for n, s in zip(x.shape[2:], strides)])[-rank:]
        for d in range(rank):
            total = full[d] + extra[d] - wanted[d]
            begin[d] = max(total // 2 if auto_pad == "SAME_UPPER" else total - total // 2, 0)
            end[d] = total - begin[d]
    # Negative padding enlarges the output beyond what the taps reach.
    more = [-min(e, 0) for e in end]
    before = [-min(b, 0) for b in begin]
    y = p.op("conv_transpose_forward", x=x, w=w, groups=group, stride=strides, dilation=dilations,
             pad_begin=[max(b, 0) for b in begin], pad_end=[max(e, 0) for e in end],
             output_padding=[0] * rank, y=(x.shape[0], w.shape[1] * group, *(
                 f - max(b, 0) - max(e, 0) for f, b, e in zip(full, begin, end))))
    y = padded(p, y, [0, 0, *before], [0, 0, *(m + o for m, o in zip(more, extra))])
    if bias is None:
        return y
    return elementwise.binary(p, y, bias.reshape(-1, *[1] * rank), "add")


def col2im(p: Program, col: Tensor, image: np.ndarray, block: np.ndarray, *,
           dilations: Optional[Sequence[int]] = None, pads: Optional[Sequence[int]] = None,
           strides: Optional[Sequence[int]] = None) -> Tensor:
    rank = image.size
    begin, end = (pads[:rank], pads[rank:]) if pads else ([0] * rank, [0] * rank)
    shape = (col.shape[0], col.shape[1] // math.prod(sizes(block)), *sizes(image))
    return p.op("col2im", col=col, x=shape, filter=sizes(block), stride=strides or [1] * rank,
                dilation=dilations or [1] * rank, pad_begin=begin, pad_end=end)


# Products of i8 and u8 ---------------------------------------------------------------------------------


def _point(p: Program, zero: Optional[Tensor], vector: int) -> Optional[Tensor]:
    """Returns a zero point or scale as a scalar or vector."""
    if zero is None:
        return None
    return p.reshape(zero, () if zero.size == 1 else (vector,))


def matmul_integer(p: Program, a: Tensor, b: Tensor, a_zero: Optional[Tensor] = None,
                   b_zero: Optional[Tensor] = None) -> Tensor:
    zeros = [_point(p, a_zero, a.shape[-2]), _point(p, b_zero, b.shape[-1]), None]
    return matmul(p, a, b, zero_point=zeros)


def qlinear_matmul(p: Program, a: Tensor, a_scale: Tensor, a_zero: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor,
                   y_scale: Tensor, y_zero: Tensor) -> Tensor:
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    lengths = (a.shape[-2], b.shape[-1], b.shape[-1])
    scales = [_point(p, p.cast(s, "f32"), n) for s, n in zip((a_scale, b_scale, y_scale), lengths)]
    zeros = [_point(p, z, n) for z, n in zip((a_zero, b_zero, y_zero), lengths)]
    y = p.empty(shape, y_zero.dtype, [a, b, *scales, *zeros])
    return p.op("gemm", a=a, b=b, d=y, scale=scales, zero_point=zeros)


def conv_integer(p: Program, x: Tensor, w: Tensor, x_zero: Optional[Tensor] = None, w_zero: Optional[Tensor] = None,
                 *, auto_pad: str = "NOTSET", dilations: Optional[Sequence[int]] = None, group: int = 1,
                 kernel_shape: Optional[Sequence[int]] = None, pads: Optional[Sequence[int]] = None,
                 strides: Optional[Sequence[int]] = None) -> Tensor:
    x, geometry, shape = _geometry(p, x, w, auto_pad, dilations, group, pads, strides)
    zeros = [_point(p, x_zero, 1), _point(p, w_zero, w.shape[0]), None]
    y = p.empty(shape, "i32", [x, w, *(z for z in zeros if z is not None)])
    return p.op("conv_forward", x=x, w=w, y=y, zero_point=zeros, **geometry)


def qlinear_conv(p: Program, x: Tensor, x_scale: Tensor, x_zero: Tensor, w: Tensor, w_scale: Tensor, w_zero: Tensor,
                 y_scale: Tensor, y_zero: Tensor, bias: Optional[Tensor] = None, *, auto_pad: str = "NOTSET",
                 dilations: Optional[Sequence[int]] = None, group: int = 1,
                 kernel_shape: Optional[Sequence[int]] = None, pads: Optional[Sequence[int]] = None,
                 strides: Optional[Sequence[int]] = None) -> Tensor:
    x, geometry, shape = _geometry(p, x, w, auto_pad, dilations, group, pads, strides)
    scales = [_point(p, s, w.shape[0]) for s in (x_scale, w_scale, y_scale)]
    zeros = [_point(p, z, w.shape[0]) for z in (x_zero, w_zero, y_zero)]
    y = p.empty(shape, y_zero.dtype, [x, w, *scales, *zeros, *([] if bias is None else [bias])])
    return p.op("conv_forward", x=x, w=w, bias=bias, y=y, scale=scales, zero_point=zeros, **geometry)


def _fits(v: Optional[Tensor], rank: int, place: int, count: int) -> bool:
    """Returns True for an f32 tensor with one element, or one for each element of a dimension of a result."""
    if v is None:
        return True
    from_end = rank - place
    return v.dtype == "f32" and v.ndim <= rank and (v.size == 1 or (
        v.size == count and v.ndim >= from_end and v.shape[v.ndim - from_end] == count))


def _scaled(p: Program, sums: Tensor, scale: Tensor, bias: Optional[Tensor]) -> Tensor:
    y = elementwise.binary(p, p.cast(sums, "f32"), scale, "multiply")
    return y if bias is None else elementwise.binary(p, y, bias, "add")


def _affine(p: Program, x: Tensor, factor: float, shift: float) -> Tensor:
    """Returns `factor` x + `shift`."""
    if (factor, shift) == (1.0, 0.0):
        return x
    return p.chain(x, elementwise.step("multiply", factor), elementwise.step("add", shift))


def _added(p: Program, bias: Optional[Tensor], count: int, factor: float, shift: float) -> Optional[Tensor]:
    """Returns what is added to scaled sums that are multiplied by `factor`; None if it is nothing."""
    if bias is None:
        return None if shift == 0 else p.copy(p.full((count,), shift, "f32"))
    if not p.is_constant(bias):
        return _affine(p, bias, factor, shift)
    made = p.weights.form(bias, ("affine", factor, shift), lambda: _affine(p, bias, factor, shift))
    p.constants(made)
    return made


def _scaled_product(p: Program, op: str, shape: Sequence[int], place: int, operands: Dict[str, Any],
                    zeros: List[Optional[Tensor]], scales: List[Optional[Tensor]], added: Optional[Tensor],
                    factor: float) -> Tensor:
    """Multiplies or convolves integers, and multiplies the sums by scales and a factor and adds a bias in f32. `place`
    is the dimension of the result that has a scale and a bias for each element."""
    is_vector = added is not None and added.size == shape[place]
    vector = p.reshape(added, (shape[place],)) if added is not None and is_vector else None
    given = [v for v in operands.values() if isinstance(v, Tensor)]
    y = p.empty(shape, "f32", [*given, *(v for v in (*zeros, *scales, vector) if v is not None)])
    operands["d" if op == "gemm" else "y"] = y
    y = p.op(op, bias=vector, scale=scales, zero_point=zeros, alpha=factor, **operands)
    return y if added is None or is_vector else elementwise.binary(p, y, added, "add")


def conv_integer_scaled(p: Program, x: Tensor, w: Tensor, x_zero: Optional[Tensor], w_zero: Optional[Tensor],
                        scale: Tensor, bias: Optional[Tensor] = None, x_scale: Optional[Tensor] = None, *,
                        factor: float = 1.0, shift: float = 0.0, auto_pad: str = "NOTSET",
                        dilations: Optional[Sequence[int]] = None, group: int = 1,
                        kernel_shape: Optional[Sequence[int]] = None, pads: Optional[Sequence[int]] = None,
                        strides: Optional[Sequence[int]] = None) -> Tensor:
    """Convolves integers, multiplies the sums by scales and adds a bias in f32; then multiplies by `factor` and adds
    `shift`."""
    filters = w.shape[0]
    if not _fits(scale, x.ndim, 1, filters) or not _fits(bias, x.ndim, 1, filters):
        sums = conv_integer(p, x, w, x_zero, w_zero, auto_pad=auto_pad, dilations=dilations, group=group, pads=pads,
                            strides=strides)
        return _affine(p, _scaled(p, sums, _both(p, scale, x_scale), bias), factor, shift)
    x, geometry, shape = _geometry(p, x, w, auto_pad, dilations, group, pads, strides)
    zeros = [_point(p, x_zero, 1), _point(p, w_zero, filters), None]
    scales = [_point(p, x_scale, 1), _point(p, scale, filters), None]
    return _scaled_product(p, "conv_forward", shape, 1, {"x": x, "w": w, **geometry}, zeros, scales,
                           _added(p, bias, filters, factor, shift), factor)


def _both(p: Program, scale: Tensor, x_scale: Optional[Tensor]) -> Tensor:
    return scale if x_scale is None else elementwise.binary(p, x_scale, scale, "multiply")


def matmul_integer_scaled(p: Program, a: Tensor, b: Tensor, a_zero: Optional[Tensor], b_zero: Optional[Tensor],
                          scale: Tensor, bias: Optional[Tensor] = None, a_scale: Optional[Tensor] = None, *,
                          factor: float = 1.0, shift: float = 0.0) -> Tensor:
    """Multiplies matrices of integers, multiplies the sums by scales and adds a bias in f32; then multiplies by
    `factor` and adds `shift`."""
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]) \
        if min(a.ndim, b.ndim) >= 2 else ()
    rank, columns = len(shape), shape[-1] if shape else 0
    if not shape or not _fits(scale, rank, rank - 1, columns) or not _fits(bias, rank, rank - 1, columns):
        sums = matmul_integer(p, a, b, a_zero, b_zero)
        return _affine(p, _scaled(p, sums, _both(p, scale, a_scale), bias), factor, shift)
    zeros = [_point(p, a_zero, a.shape[-2]), _point(p, b_zero, columns), None]
    scales = [_point(p, a_scale, a.shape[-2]), _point(p, scale, columns), None]
    return _scaled_product(p, "gemm", shape, rank - 1, {"a": a, "b": b}, zeros, scales,
                           _added(p, bias, columns, factor, shift), factor)


# Einsum ------------------------------------------------------------------------------------------------


def _labels(equation: str, ranks: Sequence[int]) -> Tuple[List[str], str]:
    """Returns the letters of each operand and of the result; the dimensions of an ellipsis get capital letters."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    hidden = max((rank - len(t.replace("...", "")) for t, rank in zip(terms, ranks) if "..." in t), default=0)
    unused = [chr(c) for c in range(ord("A"), ord("Z") + 1) if chr(c) not in equation]
    dots = "".join(unused[:hidden])
    found = []
    for term, rank in zip(terms, ranks):
        count = rank - len(term.replace("...", ""))
        found.append(term.replace("...", dots[hidden - count:] if "..." in term else ""))
    if arrow:
        return found, right.replace("...", dots)
    letters = "".join(found)
    return found, dots + "".join(sorted(c for c in set(letters) - set(dots) if letters.count(c) == 1))


def _diagonal(x: Tensor, labels: str) -> Tuple[Tensor, str]:
    """Returns a view in which dimensions with the same label are one, that of their diagonal."""
    kept = "".join(dict.fromkeys(labels))
    view = ffi.new("tenon_tensor *", x._c[0])
    view.rank = len(kept)
    for d, label in enumerate(kept):
        places = [i for i, c in enumerate(labels) if c == label]
        if len({x.shape[i] for i in places}) > 1:
            raise ValueError(f"{labels}: the dimensions {label} have different sizes {[x.shape[i] for i in places]}")
        view.shape[d], view.stride[d] = x.shape[places[0]], sum(x.strides[i] for i in places)
    return Tensor(view, x.memory), kept


def _summed(p: Program, x: Tensor, labels: str, kept: str) -> Tuple[Tensor, str]:
    """Sums over the dimensions that are not kept."""
    axes = [d for d, c in enumerate(labels) if c not in kept]
    if not axes:
        return x, labels
    return p.op("reduce", x=x, kind="sum", axes=axes), "".join(c for c in labels if c in kept)


def _pair(p: Program, a: Tensor, la: str, b: Tensor, lb: str, kept: str) -> Tuple[Tensor, str]:
    """Multiplies two operands and sums over what nothing else needs: a batched product."""
    a, la = _summed(p, a, la, lb + kept)
    b, lb = _summed(p, b, lb, la + kept)
    sizes_of: Dict[str, int] = {**dict(zip(la, a.shape)), **dict(zip(lb, b.shape))}
    batch = [c for c in la if c in lb and c in kept]
    inner = [c for c in la if c in lb and c not in kept]
    rows, columns = [c for c in la if c not in lb], [c for c in lb if c not in la]

    def matrix(x: Tensor, labels: str, first: List[str], second: List[str]) -> Tensor:
        order = [labels.index(c) for c in [*batch, *first, *second]]
        lengths = [math.prod(sizes_of[c] for c in part) for part in (batch, first, second)]
        return p.reshape(x.permute(order) if order else x, lengths)

    y = p.op("gemm", a=matrix(a, la, rows, inner), b=matrix(b, lb, inner, columns))
    labels = "".join([*batch, *rows, *columns])
    return p.reshape(y, [sizes_of[c] for c in labels]), labels


def einsum(p: Program, *x: Tensor, equation: str) -> Tensor:
    terms, result = _labels(equation, [t.ndim for t in x])
    tensors, terms = map(list, zip(*(_diagonal(t, labels) for t, labels in zip(x, terms))))
    y, labels = tensors[0], terms[0]
    for i in range(1, len(x)):
        y, labels = _pair(p, y, labels, tensors[i], terms[i], result + "".join(terms[i + 1:]))
    y, labels = _summed(p, y, labels, result)
    return y.permute([labels.index(c) for c in result]) if result else y

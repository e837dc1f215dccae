"""Attention: products of queries and keys, masks, softmax and the product with the values."""
import math
from typing import Any, List, Optional

import numpy as np

from .._tensor import Tensor
from . import _elementwise as elementwise
from ._layout import padded
from ._logic import compare, logic, where
from ._program import Program
from ._types import type_name

step = elementwise.step


def _heads(p: Program, x: Tensor, count: int) -> Tensor:
    """Returns x with its heads as a dimension of their own: batch, heads, sequence, features."""
    if x.ndim == 4:
        return x
    return p.reshape(x, (x.shape[0], x.shape[1], count, x.shape[2] // count)).permute((0, 2, 1, 3))


def _product(p: Program, a: Tensor, b: Tensor) -> Tensor:
    """Multiplies the matrices of each head; a head of b belongs to one or more consecutive ones of a."""
    batch, heads = a.shape[:2]
    each = heads // b.shape[1]
    a = p.reshape(a, (batch, b.shape[1], each, *a.shape[2:]))
    y = p.op("gemm", a=a, b=b.unsqueeze(2).broadcast(batch, b.shape[1], each, *b.shape[2:]))
    return p.reshape(y, (batch, heads, *y.shape[3:]))


def _bias_of_mask(p: Program, mask: Tensor, keys: int, dtype: str) -> Tensor:
    """Returns a mask as numbers to add: 0 and -infinity for bool. Keys beyond the mask are not attended."""
    if mask.dtype == "bool":
        mask = where(p, mask, p.full((), 0, dtype), p.full((), -math.inf, dtype))
    missing = keys - mask.shape[-1]
    return padded(p, mask, [0] * mask.ndim, [0] * (mask.ndim - 1) + [missing], value=-math.inf) if missing else mask


def _allowed(p: Program, queries: int, keys: int, offset: Any, lengths: Optional[Tensor], low: Optional[int],
             high: Optional[int]) -> Optional[Tensor]:
    """Returns whether a query attends a key: its position minus the key's is from low to high, and the key is within
    the length. None if all do."""
    column = p.upload(np.arange(keys, dtype="i4"))
    rules: List[Tensor] = []
    if low is not None or high is not None:
        row = elementwise.binary(p, p.upload(np.arange(queries, dtype="i4").reshape(-1, 1)), offset, "add")
        distance = elementwise.binary(p, row, column, "subtract")
        rules += [compare(kind)(p, distance, p.full((), bound, "i32"))
                  for kind, bound in (("greater_equal", low), ("less_equal", high)) if bound is not None]
    if lengths is not None:
        rules.append(compare("less")(p, column, lengths))
    found = None
    for rule in rules:
        found = rule if found is None else logic("and")(p, found, rule)
    return found


def _bias(p: Program, mask: Optional[Tensor], queries: int, keys: int, past: int, lengths: Optional[Tensor],
          causal: int, left: int, right: int, dtype: str) -> Optional[Tensor]:
    """Returns the sum of all masks, 0 where a query attends a key; None if all do."""
    lengths = None if lengths is None else p.reshape(p.cast(lengths, "i32"), (-1, 1, 1, 1))
    offset = p.full((), past, "i32")
    if lengths is not None and past == 0:
        offset = elementwise.binary(p, lengths, p.full((), queries, "i32"), "subtract")
    ends = [-right] if right >= 0 else []
    low = max([*ends, *([0] if causal else [])], default=None)
    allowed = _allowed(p, queries, keys, offset, lengths, low, left if left >= 0 else None)
    found = None if mask is None else _bias_of_mask(p, mask, keys, dtype)
    if allowed is not None:
        bias = where(p, allowed, p.full((), 0, dtype), p.full((), -math.inf, dtype))
        found = bias if found is None else elementwise.binary(p, found, bias, "add")
    return found


def _probabilities(p: Program, scores: Tensor, bias: Optional[Tensor], precision: int) -> Tensor:
    """Returns the softmax of scores; 0 for a query that attends no key."""
    dtype = scores.dtype
    found = p.cast(p.op("softmax_forward", x=p.cast(scores, type_name(precision) if precision else dtype), axis=-1),
                   dtype)
    if bias is None:
        return found
    shape = (*bias.shape[:-1], 1)
    most = p.op("reduce", x=bias, kind="max", axes=[-1], y=p.empty(shape, bias.dtype, [bias]))
    return where(p, compare("equal")(p, most, p.full((), -math.inf, bias.dtype)), p.full((), 0, dtype), found)


def attention(p: Program, q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor] = None,
              past_key: Optional[Tensor] = None, past_value: Optional[Tensor] = None,
              lengths: Optional[Tensor] = None, *, is_causal: int = 0, kv_num_heads: int = 0, q_num_heads: int = 0,
              qk_matmul_output_mode: int = 0, scale: Optional[float] = None, softcap: float = 0.0,
              softmax_precision: int = 0, left_window_size: int = -1, right_window_size: int = -1) -> Any:
    rank, dtype = q.ndim, q.dtype
    q, k, v = _heads(p, q, q_num_heads), _heads(p, k, kv_num_heads), _heads(p, v, kv_num_heads)
    past = 0
    if past_key is not None and past_value is not None:
        past, k, v = past_key.shape[2], p.concat([past_key, k], 2), p.concat([past_value, v], 2)
    factor = step("multiply", math.sqrt(1 / math.sqrt(q.shape[3]) if scale is None else scale))
    scores = _product(p, p.chain(q, factor), p.chain(k, factor).transpose())
    if softcap > 0:
        scores = p.chain(scores, step("divide", softcap), step("tanh"), step("multiply", softcap))
    bias = _bias(p, mask, q.shape[2], k.shape[2], past, lengths, is_causal, left_window_size, right_window_size, dtype)
    masked = scores if bias is None else elementwise.binary(p, scores, bias, "add")
    weights = _probabilities(p, masked, bias, softmax_precision)
    y = _product(p, weights, v)
    if rank == 3:
        y = p.reshape(y.permute((0, 2, 1, 3)), (y.shape[0], y.shape[2], y.shape[1] * y.shape[3]))
    return y, k, v, {2: masked, 3: weights}.get(qk_matmul_output_mode, scores)

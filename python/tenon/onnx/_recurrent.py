"""Recurrent layers: RNN, LSTM and GRU."""
from typing import Any, Optional, Sequence

import tenon

from .._tensor import Tensor
from ._program import Operand, Program

USUAL = {"lstm": ["Sigmoid", "Tanh", "Tanh"], "gru": ["Sigmoid", "Tanh"], "tanh": ["Tanh"], "relu": ["Relu"]}


def _halves(bias: Optional[Tensor]) -> Any:
    """Returns the bias of the input and that of the state."""
    if bias is None:
        return None, None
    half = bias.shape[1] // 2
    return bias.slice(1, 0, half), bias.slice(1, half, half)


def _layer(p: Program, kind: str, x: Tensor, w: Tensor, r: Tensor, bias: Optional[Tensor], lengths: Optional[Operand],
           h0: Optional[Tensor], c0: Optional[Tensor], peephole: Optional[Tensor], direction: str, layout: int,
           clip: float, flags: int = 0) -> Any:
    if layout:  # the batch is the first dimension of x, of the states and of the outputs
        x = x.permute((1, 0, 2))
        h0, c0 = (None if s is None else s.permute((1, 0, 2)) for s in (h0, c0))
    steps, count, directions, hidden = x.shape[0], x.shape[1], w.shape[0], r.shape[2]
    given = [t for t in (x, w, r, bias, h0, c0, peephole) if t is not None]
    first, second = _halves(bias)
    y = p.empty((steps, directions, count, hidden), x.dtype, given)
    hn = p.empty((directions, count, hidden), x.dtype, given)
    cn = p.empty((directions, count, hidden), x.dtype, given) if kind == "lstm" else None
    size = None if lengths is None else p.cast(p.device(lengths), "i32")
    optional = dict(bias=first, recurrent_bias=second, lengths=size, h0=h0, c0=c0, peephole=peephole, cn=cn)
    p.op("rnn_forward", x=x, w=w, r=r, y=y, hn=hn, kind=kind, direction=direction, order="iofc", clip=clip,
         flags=flags, **{name: t for name, t in optional.items() if t is not None})
    if layout:
        y, hn = y.permute((2, 0, 1, 3)), hn.permute((1, 0, 2))
        cn = None if cn is None else cn.permute((1, 0, 2))
    return (y, hn) if cn is None else (y, hn, cn)


def _checked(kind: str, activations: Optional[Sequence[str]], constants: Any) -> None:
    usual = USUAL[kind]
    if constants or (activations and any(a != usual[i % len(usual)] for i, a in enumerate(activations))):
        raise NotImplementedError(f"the activations {activations}; supported are {usual}")


def lstm(p: Program, x: Tensor, w: Tensor, r: Tensor, bias: Optional[Tensor] = None, lengths: Optional[Operand] = None,
         h0: Optional[Tensor] = None, c0: Optional[Tensor] = None, peephole: Optional[Tensor] = None, *,
         hidden_size: int = 0, direction: str = "forward", layout: int = 0, clip: float = 0.0, input_forget: int = 0,
         activations: Optional[Sequence[str]] = None, activation_alpha: Any = None, activation_beta: Any = None) -> Any:
    _checked("lstm", activations, activation_alpha or activation_beta)
    if input_forget:
        raise NotImplementedError("coupled input and forget gates")
    return _layer(p, "lstm", x, w, r, bias, lengths, h0, c0, peephole, direction, layout, clip)


def gru(p: Program, x: Tensor, w: Tensor, r: Tensor, bias: Optional[Tensor] = None, lengths: Optional[Operand] = None,
        h0: Optional[Tensor] = None, *, hidden_size: int = 0, direction: str = "forward", layout: int = 0,
        clip: float = 0.0, linear_before_reset: int = 0, activations: Optional[Sequence[str]] = None,
        activation_alpha: Any = None, activation_beta: Any = None) -> Any:
    _checked("gru", activations, activation_alpha or activation_beta)
    flags = tenon.RNN_RESET_AFTER if linear_before_reset else 0
    return _layer(p, "gru", x, w, r, bias, lengths, h0, None, None, direction, layout, clip, flags)


def rnn(p: Program, x: Tensor, w: Tensor, r: Tensor, bias: Optional[Tensor] = None, lengths: Optional[Operand] = None,
        h0: Optional[Tensor] = None, *, hidden_size: int = 0, direction: str = "forward", layout: int = 0,
        clip: float = 0.0, activations: Optional[Sequence[str]] = None, activation_alpha: Any = None,
        activation_beta: Any = None) -> Any:
    kind = "relu" if activations and activations[0] == "Relu" else "tanh"
    _checked(kind, activations, activation_alpha or activation_beta)
    return _layer(p, kind, x, w, r, bias, lengths, h0, None, None, direction, layout, clip)

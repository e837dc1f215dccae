"""Calls of operations with fixed parameters and without conversion of keywords: the short path of operators."""
from functools import lru_cache
from typing import Any

import numpy as np

from ._arguments import real
from ._constants import COPY_WRAP
from ._context import Stream
from ._loader import check, ffi, lib
from ._params import Params
from ._types import FLOAT, KINDS, NUMPY, check_range

_MOST_CONSTANTS = 256


def operations() -> Any:
    """Returns the module of all operations. It is imported late, because it imports tensors."""
    from . import _operations
    return _operations


class Direct:
    """An operation with fixed parameters. Its operands must be tensors of one context."""

    def __init__(self, name: str, **given: Any):
        self._function = getattr(lib, f"tenon_{name}")
        self._params = Params(f"tenon_{name}_params", given).c

    def __call__(self, stream: Stream, *operands: Any) -> None:
        """Enqueues the operation; operands are in C's order, None where one is absent."""
        if not all(operands[-1]._c.shape[0:operands[-1]._c.rank]):
            return  # the output is empty
        given = []
        for t in operands:
            if t is None:
                given.append(ffi.NULL)
            else:
                t.memory.use(stream)
                given.append(t._c)
        with stream.lock:
            status = self._function(stream._c, self._params, *given, ffi.NULL)
            if status:
                check(status)


@lru_cache(maxsize=4096)
def direct(name: str, **given: Any) -> Direct:
    """Returns the operation with these parameters, made when it is first needed."""
    return Direct(name, **given)


_COPY, _WRAPPING = Direct("copy"), Direct("copy", flags=COPY_WRAP)


def copy_into(stream: Stream, x: Any, y: Any) -> None:
    """Copies x to y, of the same shape. Integers wrap around in a narrower type, as in NumPy; floating-point numbers
    are rounded toward zero in an integer type, and saturate."""
    (_COPY if KINDS[x.dtype] == FLOAT else _WRAPPING)(stream, x, y)


def constant(name: str, stream: Stream, like: Any, dtype: str, number: Any) -> Any:
    """Returns a tensor of rank 0 with this number, which the stream keeps for later calls. `name` is for messages."""
    number = real(name, number) if KINDS[dtype] == FLOAT else number
    check_range(name, dtype, number)
    number = number if KINDS[dtype] == FLOAT else int(number)
    kept, key = stream.constants, (dtype, number.hex() if isinstance(number, float) else number)  # -0.0 is not 0.0
    found = kept.get(key)
    if found is None:
        if len(kept) >= _MOST_CONSTANTS:
            kept.clear()
        found = kept[key] = _constant(like, dtype, number, stream)
    return found


def _constant(like: Any, dtype: str, number: Any, stream: Stream) -> Any:
    made = like._new((), dtype)
    if dtype == "bf16":
        return made.fill(float(number), stream)
    with np.errstate(over="ignore"):  # a number too large for a floating-point type becomes an infinity
        return made.upload(np.array(number).astype(NUMPY[dtype]), stream)

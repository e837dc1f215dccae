"""Expert parallel: rows travel to the members that have their experts, and back."""
from typing import List, Sequence

import numpy as np

from . import _operations as operations
from ._constants import SEARCH_RIGHT
from ._context import Stream
from ._group import Group
from ._makers import empty, full, tensor, zeros
from ._tensor import Tensor


def _scattered(rows: Tensor, places: Tensor, made: Tensor, stream: Stream) -> Tensor:
    """Writes each row to its place in `made`."""
    operations.scatter(rows, places, made, stream=stream)
    return made


class Exchange:
    """Moves rows to the members that have their experts and back (expert parallel), without waiting for the device.

        exchange = Exchange(group, experts)            # member m has an equal part of the experts, in their order
        offsets = exchange.route(chosen)               # chosen[m]: the expert of each row of member m
        rows = exchange.dispatch(x)
        y = [tenon.gemm_ragged(r, w, o, stream=s) for …]
        results = exchange.collect(y)                  # in the order of x

    `dispatch` and `collect` are each other's transpose: in the backward pass the gradients of the results are
    dispatched, and those of the rows are collected. Each member sends a buffer with space for all of its rows to every
    other member, so no row is ever dropped, whichever experts are chosen.

    Parameters
    ----------
    group : Group
        The members.
    experts : int
        The number of experts, a multiple of the number of members.
    """

    def __init__(self, group: Group, experts: int):
        if experts < 1 or experts % group.size:
            raise ValueError(f"Exchange: {experts} experts are not a multiple of {group.size} members")
        self.group, self.experts, self._own = group, experts, experts // group.size
        self._slots = 0
        self._places: List[Tensor] = []  # of the rows of each member among those that it sends
        self._orders: List[Tensor] = []  # of the rows that each member receives, by their experts
        self.offsets: List[Tensor] = []

    def _place(self, chosen: Tensor, stream: Stream) -> Tensor:
        """Returns the places of the rows: those of a member follow each other from a multiple of the slots on."""
        numbers = lambda *values: tensor(np.array(values, "i4"), stream=stream)
        combine = lambda kind, a, b: operations.elementwise(a, b, kind=kind, stream=stream)
        by_expert, order = operations.sort(chosen, indices=True, stream=stream)
        firsts = numbers(*range(0, self.experts, self._own))
        starts = operations.search_sorted(by_expert, firsts, stream=stream)
        owners = operations.search_sorted(numbers(*range(self._own, self.experts, self._own)), by_expert,
                                          flags=SEARCH_RIGHT, stream=stream)
        positions = combine("subtract", numbers(*range(self._slots)),
                            operations.gather_forward(starts, owners, stream=stream))
        bases = combine("multiply", owners, numbers(self._slots).broadcast((self._slots,)))
        sorted_places = combine("add", positions, bases)
        return _scattered(sorted_places, order, empty(self._slots, "i32", stream.context), stream)

    def route(self, chosen: Sequence[Tensor]) -> List[Tensor]:
        """Determines the destination of each row.

        Parameters
        ----------
        chosen : sequence of Tensor
            For each member an i32 tensor of rank 1: the experts, from 0 on, of its rows; equally many for all members.

        Returns
        -------
        list of Tensor
            For each member the offsets of its experts' rows, for tenon.gemm_ragged.
        """
        streams = self.group.streams
        self._slots = chosen[0].shape[0]
        self._places = [self._place(c, s) for c, s in zip(chosen, streams)]
        length = self.group.size * self._slots
        padding = [full(length, self.experts, "i32", s.context) for s in streams]
        sent = [_scattered(c, p, n, s) for c, p, n, s in zip(chosen, self._places, padding, streams)]
        self._orders, self.offsets = [], []
        for rank, received, stream in zip(self.group.ranks, self.group.all_to_all(sent), streams):
            by_expert, order = operations.sort(received, indices=True, stream=stream)
            bounds = np.arange(rank * self._own, (rank + 1) * self._own + 1, dtype="i4")
            self._orders.append(order)
            self.offsets.append(operations.search_sorted(by_expert, tensor(bounds, stream=stream), stream=stream))
        return self.offsets

    def dispatch(self, rows: Sequence[Tensor]) -> List[Tensor]:
        """Returns for each member the rows for its experts in the order of the offsets, then rows of zeros."""
        streams, length = self.group.streams, self.group.size * self._slots
        sent = [_scattered(r, p, zeros((length, *r.shape[1:]), r.dtype, r.context), s)
                for r, p, s in zip(rows, self._places, streams)]
        return [operations.gather_forward(received, order, stream=s)
                for received, order, s in zip(self.group.all_to_all(sent), self._orders, streams)]

    def collect(self, rows: Sequence[Tensor]) -> List[Tensor]:
        """Returns for each member the rows of its own slots: the inverse of `dispatch`."""
        streams = self.group.streams
        sent = [_scattered(r, o, empty(r.shape, r.dtype, r.context), s)
                for r, o, s in zip(rows, self._orders, streams)]
        return [operations.gather_forward(received, places, stream=s)
                for received, places, s in zip(self.group.all_to_all(sent), self._places, streams)]

    def blocks(self, rows: Sequence[Tensor]) -> List[Tensor]:
        """Returns for each member its rows as blocks, one for each of its experts: a product of the blocks of inputs
        and of gradients is the gradient of the experts' weights. A block has as many rows as all members dispatch,
        padded with zeros.
        """
        made = []
        for r, offsets, stream in zip(rows, self.offsets, self.group.streams):
            size = r.shape[0]
            numbers = tensor(np.arange(size, dtype="i4"), stream=stream).broadcast((self._own, size))
            first = offsets[:-1].reshape((self._own, 1)).broadcast((self._own, size))
            end = offsets[1:].reshape((self._own, 1)).broadcast((self._own, size))
            at = operations.elementwise(first, numbers, kind="add", stream=stream)
            inside = operations.compare(at, end, kind="less", stream=stream)
            found = operations.gather_forward(r, at, stream=stream)
            made.append(operations.where(inside.reshape((self._own, size, 1)).broadcast(found.shape), found,
                                         zeros((), r.dtype, r.context).broadcast(found.shape), stream=stream))
        return made

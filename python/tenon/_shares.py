"""Unequal devices: shares of a batch by measured speed."""
import math
import threading
import time
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Dict, Iterator, List, Optional, Sequence, Union

import numpy as np

from ._arguments import integer, real, sequence, wrong_type
from ._context import Stream
from ._group import Group
from ._makers import tensor

_MOST = 2**31 - 1  # samples or members


def _numbers(name: str, values: Any) -> List[float]:
    return [real(name, value) for value in sequence(name, "a sequence of numbers", values)]


def divide(batch: int, speeds: Sequence[float]) -> List[int]:
    """Divides a batch among members so that the slowest one is done as early as possible.

        parallel.divide(96, [1, 3])     # [24, 72]
        parallel.divide(40, [1, 50])    # [0, 40]: one sample would take longer than the others need for all

    Parameters
    ----------
    batch : int
        The number of samples, at least 0.
    speeds : sequence of float
        Samples per second of each member, in any unit. A member with speed 0 gets no samples.

    Returns
    -------
    list of int
        The samples of each member. The longest time, of samples / speed, is the smallest possible. Among equally fast
        members the first ones get one sample more.

    Raises
    ------
    ValueError
        A speed is negative, infinite or not a number, or none is positive.
    """
    batch = integer("divide: batch", batch, 0, _MOST)
    numbers = _numbers("divide: speeds", speeds)
    for member, number in enumerate(numbers):
        if not 0 <= number < math.inf:
            raise ValueError(f"divide: speeds: the speed of member {member} is {number}, not a number from 0 on")
    rates = [Fraction(number) for number in numbers]  # exact, so that all processes get the same result
    total = sum(rates)
    if total == 0:
        raise ValueError(f"divide: speeds: none of {len(rates)} members has a speed above 0")
    counts = [int(batch * rate / total) for rate in rates]
    able = [m for m, rate in enumerate(rates) if rate > 0]
    for _ in range(batch - sum(counts)):  # fewer than there are members
        counts[min(able, key=lambda m: ((counts[m] + 1) / rates[m], -rates[m]))] += 1
    return counts


class Shares:
    """The samples of each batch that each member of a data-parallel training gets, by measured speed.

        shares = Shares(len(streams), 96)
        for x in batches:
            for m, part in enumerate(shares.slices):
                with shares.measure(m, streams[m]):
                    ...  # enqueue the forward and backward pass of x[part] on streams[m]
            ...  # add the gradients, update the parameters

    All members begin with equal shares. For a few steps their times are measured; then the shares stay as they are, so
    that later steps, and a training that is resumed with `counts`, are reproducible. A member that would need longer
    for one sample than the others need for all gets none.

    Each division is used for `repeats` steps, and the shortest time of each member counts: the first step
    with new shapes also selects and compiles kernels. The next division follows from the speeds so far. Once it has
    been measured before, or `rounds` divisions have been, the one with the shortest step is kept. If there are
    more members than samples, they take turns first, so that each one is measured.

    Gradients of the whole batch are a mean over samples, not over members: scale each sample's loss by 1 / batch and
    add the gradients of the members; or, where a member's gradients are the mean over its own samples, multiply them
    by its element of `weights` before they are added.

    Parameters
    ----------
    members : int or Group
        The number of members. In several processes the group, whose members exchange their times.
    batch : int
        The number of samples of a batch.
    rounds : int, default 3
        The largest number of divisions that are measured, after every member has been measured once.
    repeats : int, default 2
        The number of steps with each division.
    counts : sequence of int, default None
        The samples of each member, from an earlier training: nothing is measured.

    Attributes
    ----------
    members : int
        The number of members, in all processes.
    batch : int
        The number of samples of a batch.
    counts : list of int
        The samples of each member in the next step.
    is_fixed : bool
        True once nothing is measured any more.

    Raises
    ------
    ValueError
        A number is below 1, or `counts` are not those of so many members and samples.
    """

    def __init__(self, members: Union[int, Group], batch: int, *, rounds: int = 3, repeats: int = 2,
                 counts: Optional[Sequence[int]] = None):
        self._group = members if isinstance(members, Group) else None
        self.members = members.size if isinstance(members, Group) else integer("Shares: members", members, 1, _MOST)
        self._ranks = members.ranks if isinstance(members, Group) else range(self.members)
        self._lock = threading.Lock()
        self._measured: Dict[int, float] = {}  # times of this step, by rank
        self.batch = integer("Shares: batch", batch, 1, _MOST)
        self._rounds = integer("Shares: rounds", rounds, 1, _MOST)
        self._repeats = integer("Shares: repeats", repeats, 1, _MOST)
        self.is_fixed = counts is not None or self.members == 1
        self.counts = divide(batch, [1.0] * self.members) if counts is None else self._given(counts)
        self._speeds: List[Optional[float]] = [None] * self.members
        self._times: List[List[float]] = []  # of the steps with the present division
        self._seen: List[List[int]] = []  # divisions that have been measured
        self._best, self._shortest = self.counts, math.inf

    def _given(self, counts: Sequence[int]) -> List[int]:
        found = [integer("Shares: counts", c, 0, self.batch)
                 for c in sequence("Shares: counts", "a sequence of integers", counts)]
        if len(found) != self.members or sum(found) != self.batch:
            raise ValueError(f"Shares: counts: {found} are not {self.batch} samples of {self.members} members")
        return found

    @property
    def slices(self) -> List[slice]:
        """The place of each member's samples in a batch."""
        ends = np.cumsum(self.counts).tolist()
        return [slice(end - count, end) for end, count in zip(ends, self.counts)]

    @property
    def weights(self) -> List[float]:
        """Each member's share of the batch, from 0 to 1."""
        return [count / self.batch for count in self.counts]

    @property
    def active(self) -> List[int]:
        """The members that have samples. Once the shares are fixed, the others need not be part of the training."""
        return [m for m, count in enumerate(self.counts) if count > 0]

    def record(self, times: Sequence[float]) -> None:
        """Takes the times of a step that was made with `counts`, which may change them. Does nothing once the shares
        are fixed. In several processes all of them must give the same times.

        Parameters
        ----------
        times : sequence of float
            The seconds that each member computed; those of members without samples are ignored.

        Raises
        ------
        ValueError
            There are not as many times as members, or the time of a member with samples is not positive and finite.
        """
        seconds = _numbers("Shares.record: times", times)
        if len(seconds) != self.members:
            raise ValueError(f"Shares.record: times: {len(seconds)} of them, but there are {self.members} members")
        for m in self.active:
            if not 0 < seconds[m] < math.inf:
                raise ValueError(f"Shares.record: times: {seconds[m]} s for {self.counts[m]} samples of member {m}; "
                                 "a positive, finite time is required")
        if self.is_fixed:
            return
        self._times.append(seconds)
        if len(self._times) == self._repeats:
            self._judge()
            self._advance()

    def _judge(self) -> None:
        """Determines the speeds with the present division."""
        least = {m: min(times[m] for times in self._times) for m in self.active}
        for m, seconds in least.items():
            self._speeds[m] = self.counts[m] / seconds
        if max(least.values()) < self._shortest:
            self._best, self._shortest = self.counts, max(least.values())
        self._seen.append(self.counts)
        self._times = []

    def _advance(self) -> None:
        """Chooses the next division, or keeps the best one."""
        speeds = [s for s in self._speeds if s is not None]
        if len(speeds) < self.members:  # the others' turn
            self.counts = divide(self.batch, [float(s is None) for s in self._speeds])
            return
        self.counts = divide(self.batch, speeds)
        if self._rounds == 0 or self.counts in self._seen:
            self.counts, self.is_fixed = self._best, True
        self._rounds -= 1

    @contextmanager
    def measure(self, rank: int, stream: Stream) -> Iterator[None]:
        """Measures a member: `with shares.measure(rank, stream):` around the code that enqueues its forward and
        backward pass of one step. The last member of the step calls `record`.

        The block waits for the stream when it begins and when it ends, so the members are measured one after another,
        unless each has a thread. Leave collectives on these streams out, or make the group of other streams. Once the
        shares are fixed, the block does nothing and does not wait.

        Parameters
        ----------
        rank : int
            A member of this process, once in each step.
        stream : Stream
            The stream on which it computes.

        Raises
        ------
        ValueError
            The process has no such member, or it was measured already in this step.
        Error
            The work of the stream or a collective of the group has failed.
        """
        if self.is_fixed:
            yield
            return
        if not isinstance(stream, Stream):
            raise wrong_type("Shares.measure: stream", "a tenon.Stream", stream)
        if rank not in self._ranks or rank in self._measured:
            raise ValueError(f"Shares.measure: rank {rank} is not in this process, or was measured already in this "
                             "step")
        if self._group is not None:
            self._group.wait()
        try:
            stream.finish()
            begin = time.perf_counter()
            yield
            stream.finish()
            seconds = time.perf_counter() - begin
        except BaseException:
            self._measured = {}  # the step has to be made again
            raise
        self._end(rank, seconds)

    def _end(self, rank: int, seconds: float) -> None:
        """Takes the time of a member. The last one ends the step."""
        with self._lock:
            self._measured[rank] = seconds
            if len(self._measured) < len(self._ranks):
                return
            times = [self._measured[r] for r in self._ranks]
            self._measured = {}
        self.record(times if self._group is None else _gathered(times, self._group))

    def __repr__(self) -> str:
        return f"<tenon.parallel.Shares {self.counts}{', fixed' if self.is_fixed else ''}>"


def _gathered(times: Sequence[float], group: Group) -> List[float]:
    """Returns the times of all ranks."""
    given = [tensor(np.array([t]), stream=s) for t, s in zip(times, group.streams)]
    all_times = group.all_gather(given)
    group.wait()
    return all_times[0].numpy().tolist()

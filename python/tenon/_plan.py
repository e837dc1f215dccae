"""Plans: an operation validated and compiled once, to be run many times."""
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ._arguments import real, unsigned
from ._context import Context, Stream
from ._loader import check, ffi, lib, text
from ._makers import empty, tensor
from ._tensor import Tensor, stream_of


class Bound:
    """A plan or sequence with fixed operands: the fastest way to run it again and again.

    Made by Plan.bind and Sequence.bind. `run` enqueues it on the stream for which it was made.
    """

    def __init__(self, function: Any, handle: Any, given: Tuple[Any, int], stream: Stream, memories: Sequence[Any],
                 kept: Any, made: Any):
        self._function, self._handle, (self._given, self._count) = function, handle, given
        self._stream, self._memories, self._kept, self._made = stream, tuple(memories), kept, made

    def run(self, scalars: Sequence[Any] = ()) -> Any:
        """Enqueues the run and returns the outputs, which are the same tensors each time.

        Parameters
        ----------
        scalars : sequence, default ()
            Used by Plan.run and Sequence.run.

        Returns
        -------
        Tensor or tuple of Tensor
            As Plan.run; None for a sequence.
        """
        stream, numbers = self._stream, ffi.new("tenon_scalar[]", scalars) if scalars else ffi.NULL
        for memory in self._memories:
            memory.use(stream)
        with stream.lock:
            status = self._function(stream._c, self._handle, self._given, self._count, numbers, len(scalars), ffi.NULL)
            if status:
                check(status)
        return self._made


class Plan:
    """A validated and compiled operation, returned by the functions `…_plan`.

    `run` takes operands by the operation's names: tensors with the shapes, types and strides that the plan
    was made with, at any offset in their memory. Outputs that are not passed are allocated. `run` also takes
    scalars, which apply to that run only: the plan does not change, and threads may run it at the same time
    with different values.
    """

    def __init__(self, name: str, context: Context, handle: Any, operands: Dict[str, Any],
                 outputs: List[str], unread: List[str], scales: Sequence[Optional[Tensor]]):
        self._c = ffi.gc(handle, lib.tenon_plan_release)
        self.name = name
        self.context = context
        self._outputs = outputs
        # The plan holds its packed operands; runs do not take them.
        self._views = {o: v for o, v in operands.items() if o != "packed"}
        self.packed = operands.get("packed")
        self._unread = unread
        self._scales = list(scales)
        self._numbers = self._scalars()

    def _scalars(self) -> Dict[str, Any]:
        """Returns the scalars by name, as the library's structs."""
        found: Dict[str, Any] = {}
        scalar = lib.tenon_plan_scalar(self._c, 0)
        while scalar.name != ffi.NULL:
            found[text(scalar.name)] = scalar
            scalar = lib.tenon_plan_scalar(self._c, len(found))
        return found

    @property
    def workspace(self) -> int:
        """The workspace that a run requires, in bytes."""
        return lib.tenon_plan_workspace(self._c)

    @property
    def operands(self) -> Dict[str, Any]:
        """The view that each operand was planned with; None for absent operands."""
        return dict(self._views)

    @property
    def scalars(self) -> Dict[str, Any]:
        """The scalars that a run can set, with the values in the plan."""
        return {name: s.real if s.kind == lib.TENON_SCALAR_F64 else s.integer
                for name, s in self._numbers.items()}

    def describe(self) -> str:
        """Returns one line with the solver's name, the workspace and the launches."""
        line = ffi.new("char[]", lib.tenon_plan_describe(self._c, ffi.NULL, 0) + 1)
        lib.tenon_plan_describe(self._c, line, len(line))
        return ffi.string(line).decode("utf-8", "replace")

    def wait(self) -> "Plan":
        """Waits until a background plan has been made."""
        check(lib.tenon_plan_wait(self._c))
        return self

    def _operand(self, name: str, value: Any, stream: Stream) -> Optional[Tensor]:
        view = self._views[name]
        if view is None or (value is None and name in self._outputs):
            if value is not None:
                raise ValueError(f"{self.name}: the plan was made without {name}")
            return None if view is None else empty(view.shape, view.dtype, self.context)
        if isinstance(value, np.ndarray) and name not in self._outputs:
            value = tensor(value, context=self.context, stream=stream)
        if not isinstance(value, Tensor):
            raise TypeError(f"{self.name}: {name}: expected a tenon.Tensor, got {type(value).__name__}")
        if value.context is not self.context:
            raise ValueError(f"{self.name}: {name} belongs to another context than the plan")
        forms = [(t.dtype, t.shape, t.strides) for t in (view, value)]
        if forms[0] != forms[1]:
            raise ValueError(f"{self.name}: {name} has (type, shape, strides) {forms[1]}, "
                             f"the plan was made for {forms[0]}")
        return value

    def _number(self, name: str, value: Any) -> Any:
        """Returns a scalar of a run."""
        planned, called = self._numbers[name], f"{self.name}: {name}"
        if planned.kind == lib.TENON_SCALAR_F64:
            return lib.tenon_scalar_f64(planned.name, real(called, value))
        return lib.tenon_scalar_u64(planned.name, unsigned(called, value))

    def _unknown(self) -> TypeError:
        scalars = f"; the scalars are {', '.join(self._numbers)}" if self._numbers else ""
        return TypeError(f"{self.name}: unknown or too many arguments; the operands are "
                         f"{', '.join(self._views)}{scalars}")

    def _named(self, inputs: Sequence[Any], named: Dict[str, Any]) -> Tuple[List[Any], Dict[str, Any]]:
        """Returns the scalars, and the other arguments by name."""
        names = [o for o, v in self._views.items() if v is not None and o not in self._outputs]
        numbers = [self._number(n, named[n]) for n in named if n in self._numbers and n not in self._views]
        named = {n: v for n, v in named.items() if n in self._views or n not in self._numbers}
        if len(inputs) > len(names) or set(named) - set(self._views):
            raise self._unknown()
        values = dict(zip(names, inputs))
        if set(values) & set(named):
            raise TypeError(f"{self.name}: {', '.join(set(values) & set(named))} is given twice")
        return numbers, {**values, **named}

    def _in_order(self, operands: Dict[str, Any]) -> List[Optional[Tensor]]:
        """Returns the tensors in the order of the library's operands."""
        tensors = [*(None if o in self._unread else t for o, t in operands.items()), *self._scales]
        return tensors[:lib.tenon_plan_operands(self._c)]

    def arguments(self, named: Dict[str, Any]) -> Tuple[List[Any], List[Optional[Tensor]]]:
        """Returns the scalars and the operands of a step of a sequence, which must all be given."""
        numbers, values = self._named([], named)
        for o, view in self._views.items():
            if view is not None and o not in self._unread and not isinstance(values.get(o), Tensor):
                raise TypeError(f"{self.name}: {o}: expected a tenon.Tensor, got {type(values.get(o)).__name__}")
        stream = self.context.stream
        return numbers, self._in_order({o: None if v is None else self._operand(o, values.get(o), stream)
                                        for o, v in self._views.items()})

    def _bind(self, inputs: Sequence[Any], named: Dict[str, Any], stream: Stream) -> Tuple[List[Any], Bound]:
        numbers, values = self._named(inputs, named)
        operands = {o: self._operand(o, values.get(o), stream) for o in self._views}
        tensors = self._in_order(operands)
        given = ffi.new("tenon_operand[]", max(len(tensors), 1))
        for i, t in enumerate(tensors):
            given[i].name = lib.tenon_plan_operand_name(self._c, i)
            if t is not None:
                given[i].memory, given[i].offset = t._c.memory, t._c.offset
        made = [operands[o] for o in self._outputs]
        bound = Bound(lib.tenon_plan_run_operands, self._c, (given, len(tensors)), stream,
                      [t.memory for t in tensors if t is not None], (tensors, self),
                      None if not made else made[0] if len(made) == 1 else tuple(made))
        return numbers, bound

    def bind(self, *inputs: Any, stream: Optional[Stream] = None, **named: Any) -> Bound:
        """Returns an object whose run() runs the plan on these operands with the least overhead.

        Parameters
        ----------
        *inputs : Tensor
            Inputs by position.
        **named : Tensor
            Operands. Outputs that are not passed are allocated once.
        stream : Stream, default None
            The stream to run on; None: the stream of the plan's context.

        Returns
        -------
        Bound
            Its run() returns the outputs.

        Raises
        ------
        TypeError, ValueError
            As run. Scalars are not operands: the plan's own values apply.
        """
        numbers, bound = self._bind(inputs, named, stream_of(stream, self.context))
        if numbers:
            raise self._unknown()
        return bound

    def run(self, *inputs: Any, stream: Optional[Stream] = None, **named: Any) -> Any:
        """Enqueues the plan.

        Slices of tensors are valid operands: plan.run(a=x[i], b=w, d=y[i]) uses one plan for every i.

        Parameters
        ----------
        *inputs : Tensor
            Inputs by position.
        **named : Tensor or number
            Operands, and scalars: parameters with a value for this run, as in
            plan.run(..., step=step, learning_rate=rate); Plan.scalars lists them. If a name is not a Python
            identifier, use plan.run(..., **{"activation.alpha": 0.1}). The result has the same bits as the
            operation with these parameters. An alpha or beta of 0 cannot become another value, and other
            values cannot become 0.
        stream : Stream, default None
            The stream to run on; None: the stream of the plan's context.

        Returns
        -------
        Tensor or tuple of Tensor
            The outputs that the plan was made with, in the operation's order; None if there are none.

        Raises
        ------
        TypeError, ValueError
            An operand does not match the plan; a scalar is unknown (the message lists the valid ones), has
            the wrong type, or has a value that the operation does not allow.
        """
        numbers, bound = self._bind(inputs, named, stream_of(stream, self.context))
        return bound.run(numbers)

    def __repr__(self) -> str:
        return f"<tenon.Plan {self.describe()}>"

"""Plans: an operation validated and compiled once, run as often as you like."""
from typing import Any, Dict, List, Optional, Sequence

import numpy as np

from ._arguments import real, unsigned
from ._context import Context, Stream
from ._loader import check, ffi, lib, text
from ._makers import empty, tensor
from ._tensor import Tensor, stream_of


class Plan:
    """What `…_plan` gives: an operation that is checked and compiled.

    `run` takes operands by the operation's names, tensors of the shapes,
    types and strides that the plan was made with, wherever in their memory they begin; outputs that are
    not given are made. `run` also takes scalars, for that run alone: the plan stays as it is, and threads may
    run it at the same time with different values.
    """

    def __init__(self, name: str, context: Context, handle: Any, operands: Dict[str, Any],
                 outputs: List[str], unread: List[str], scales: Sequence[Optional[Tensor]]):
        self._c = ffi.gc(handle, lib.tenon_plan_release)
        self.name = name
        self.context = context
        self._outputs = outputs
        # Packed operands are the plan's own, and runs are not given them.
        self._views = {o: v for o, v in operands.items() if o != "packed"}
        self._unread = unread
        self._scales = list(scales)
        self._numbers = self._scalars()

    def _scalars(self) -> Dict[str, Any]:
        """The scalars by name, as the library gives them."""
        found: Dict[str, Any] = {}
        scalar = lib.tenon_plan_scalar(self._c, 0)
        while scalar.name != ffi.NULL:
            found[text(scalar.name)] = scalar
            scalar = lib.tenon_plan_scalar(self._c, len(found))
        return found

    @property
    def workspace(self) -> int:
        """The bytes of workspace that a run needs."""
        return lib.tenon_plan_workspace(self._c)

    @property
    def operands(self) -> Dict[str, Any]:
        """The view that each operand was planned with, None where there is none."""
        return dict(self._views)

    @property
    def scalars(self) -> Dict[str, Any]:
        """The scalars that a run can set, with the values that the plan was made with."""
        return {name: s.real if s.kind == lib.TENON_SCALAR_F64 else s.integer
                for name, s in self._numbers.items()}

    def describe(self) -> str:
        """A line: the solver's name, the workspace and the launches."""
        line = ffi.new("char[]", lib.tenon_plan_describe(self._c, ffi.NULL, 0) + 1)
        lib.tenon_plan_describe(self._c, line, len(line))
        return ffi.string(line).decode("utf-8", "replace")

    def wait(self) -> "Plan":
        """Waits until a plan in the background has been made."""
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
            raise TypeError(f"{self.name}: {name} is {type(value).__name__}, not a tenon.Tensor")
        if value.context is not self.context:
            raise ValueError(f"{self.name}: {name} is of another context than the plan")
        forms = [(t.dtype, t.shape, t.strides) for t in (view, value)]
        if forms[0] != forms[1]:
            raise ValueError(f"{self.name}: {name} has (type, shape, strides) {forms[1]}, "
                             f"the plan was made for {forms[0]}")
        return value

    def _number(self, name: str, value: Any) -> Any:
        """A scalar of a run."""
        planned, called = self._numbers[name], f"{self.name}: {name}"
        if planned.kind == lib.TENON_SCALAR_F64:
            return lib.tenon_scalar_f64(planned.name, real(called, value))
        return lib.tenon_scalar_u64(planned.name, unsigned(called, value))

    def _unknown(self) -> TypeError:
        scalars = f", the scalars {', '.join(self._numbers)}" if self._numbers else ""
        return TypeError(f"{self.name}: the operands are {', '.join(self._views)}{scalars}")

    def run(self, *inputs: Any, stream: Optional[Stream] = None, **named: Any) -> Any:
        """Enqueues the plan.

        Parts of one memory are tensors as any: plan.run(a=x[i], b=w, d=y[i]) of one plan, for every i.

        Parameters
        ----------
        *inputs : Tensor
            Inputs without a name, in their order.
        **named : Tensor or number
            Operands, and scalars: parameters that have a value of their own in this run, as
            plan.run(..., step=step, learning_rate=rate); Plan.scalars lists them. A name that is no word of
            Python is given as plan.run(..., **{"activation.alpha": 0.1}). The result has the bits that the
            operation gives with these parameters. An alpha or beta of 0 cannot become another value, nor
            another value 0.
        stream : Stream, default None
            The stream that runs it; None: that of the plan's context.

        Returns
        -------
        Tensor or tuple of Tensor
            The outputs that the plan was made with, in the operation's order; None where there are none.

        Raises
        ------
        TypeError, ValueError
            An operand is not what the plan was made for; a scalar is unknown (the message lists those there
            are), of the wrong type, or of a value that the operation does not allow.
        """
        stream = stream_of(stream, self.context)
        names = [o for o, v in self._views.items() if v is not None and o not in self._outputs]
        numbers = [self._number(n, named.pop(n)) for n in list(named)
                   if n in self._numbers and n not in self._views]
        if len(inputs) > len(names) or set(named) - set(self._views):
            raise self._unknown()
        values = dict(zip(names, inputs))
        if set(values) & set(named):
            raise TypeError(f"{self.name}: {', '.join(set(values) & set(named))} is given twice")
        values.update(named)
        operands = {o: self._operand(o, values.get(o), stream) for o in self._views}
        tensors = [*(None if o in self._unread else t for o, t in operands.items()), *self._scales]
        count = lib.tenon_plan_operands(self._c)
        given = ffi.new("tenon_operand[]", count)
        for i, t in enumerate(tensors[:count]):
            given[i].name = lib.tenon_plan_operand_name(self._c, i)
            if t is not None:
                given[i].memory, given[i].offset = t._c.memory, t._c.offset
                t.memory.use(stream)
        with stream.lock:
            check(lib.tenon_plan_run_operands(stream._c, self._c, given, count,
                                              ffi.new("tenon_scalar[]", numbers), len(numbers), ffi.NULL))
        made = [operands[o] for o in self._outputs]
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    def __repr__(self) -> str:
        return f"<tenon.Plan {self.describe()}>"

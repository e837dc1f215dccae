"""Plans: an operation validated and compiled once, run as often as you like."""
from typing import Any, Dict, List, Optional, Sequence

import numpy as np

from ._context import Context, Stream
from ._loader import check, ffi, lib
from ._makers import empty, tensor
from ._tensor import Tensor, stream_of


class Plan:
    """What `…_plan` gives: an operation that is checked and compiled.

    `run` takes operands by the operation's names, tensors of the shapes,
    types and strides that the plan was made with, wherever in their memory they begin; outputs that are
    not given are made.
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

    @property
    def workspace(self) -> int:
        """The bytes of workspace that a run needs."""
        return lib.tenon_plan_workspace(self._c)

    @property
    def operands(self) -> Dict[str, Any]:
        """The view that each operand was planned with, None where there is none."""
        return dict(self._views)

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

    def run(self, *inputs: Any, stream: Optional[Stream] = None, **named: Any) -> Any:
        """Enqueues the plan.

        Parts of one memory are tensors as any: plan.run(a=x[i], b=w, d=y[i]) of one plan, for every i.

        Parameters
        ----------
        *inputs, **named : Tensor
            Operands without a name are the inputs in their order.
        stream : Stream, default None
            The stream that runs it; None: that of the plan's context.

        Returns
        -------
        Tensor or tuple of Tensor
            The outputs that the plan was made with, in the operation's order; None where there are none.

        Raises
        ------
        TypeError, ValueError
            An operand is not what the plan was made for.
        """
        stream = stream_of(stream, self.context)
        names = [o for o, v in self._views.items() if v is not None and o not in self._outputs]
        if len(inputs) > len(names) or set(named) - set(self._views):
            raise TypeError(f"{self.name}: the operands are {', '.join(self._views)}")
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
            check(lib.tenon_plan_run_operands(stream._c, self._c, given, count, ffi.NULL, 0, ffi.NULL))
        made = [operands[o] for o in self._outputs]
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    def __repr__(self) -> str:
        return f"<tenon.Plan {self.describe()}>"

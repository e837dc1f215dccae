"""Sequences: plans, copies and concatenations that are recorded once and run by one call."""
from typing import Any, Dict, List, Optional, Sequence as SequenceOf, Set

import numpy as np

from ._arguments import real, string, unsigned
from ._arguments import sequence as items_of
from ._context import Context, Stream, context_of
from ._loader import check, defaults, ffi, lib, text
from ._params import Params
from ._plan import Bound, Plan
from ._tensor import DTYPES, Memory, Shape, Tensor, checked, dtype_name, shape_tuple, stream_of

_CONCAT = defaults("tenon_concat_params")


class Sequence:
    """Plans that run one after another by one call, such as the layers of a network.

        layers = tenon.Sequence()
        x, h, y = layers.tensor((8, 64), name="x"), layers.tensor((8, 32)), layers.tensor((8, 10), name="y")
        layers.add(tenon.gemm_plan(x, w1, d=h, activation="relu"), a=x, b=w1, d=h)
        layers.add(tenon.gemm_plan(h, w2, d=y), a=h, b=w2, d=y)
        layers.finish()
        layers.run(x=images, y=scores)

    Tensors with a name are operands: their memory is given at each run. Tensors without a name are
    intermediates, which exist only during a run and share memory. All other tensors, such as weights, are
    bound to their step. A finished sequence does not change and may be run by several threads.
    """

    def __init__(self, context: Optional[Context] = None):
        self.context = context_of(context)
        out = ffi.new("tenon_sequence **")
        check(lib.tenon_sequence_create(self.context._c, out))
        self._c = ffi.gc(out[0], lib.tenon_sequence_release)
        self._bound: Set[Memory] = set()
        self._operands: Dict[str, Tensor] = {}

    def tensor(self, shape: Shape, dtype: Any = "f32", name: Optional[str] = None) -> Tensor:
        """Makes a row-major tensor in memory of the sequence, for plans and steps.

        Parameters
        ----------
        shape : int or sequence of int
            The sizes.
        dtype : str or NumPy's type, default "f32"
            "f64", "f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64" or "bool".
        name : str, default None
            The name of an operand of each run; None: an intermediate.

        Returns
        -------
        Tensor
            A tensor whose elements only steps of the sequence can read and write. Its views can be used like it.
        """
        sizes = shape_tuple(shape)
        value = ffi.new("tenon_tensor *")
        called = ffi.NULL if name is None else ffi.new("char[]", string("name", name))
        check(lib.tenon_sequence_tensor(self._c, called, DTYPES[dtype_name(dtype)], len(sizes), sizes, value))
        memory = Memory(self.context, None)
        memory.owner = self  # the sequence lives as long as its tensors
        made = Tensor(checked(value[0]), memory)
        if name is not None:
            self._operands[name] = made
        return made

    def _bind(self, tensors: SequenceOf[Optional[Tensor]]) -> None:
        """Keeps the memory that a step uses and that is not the sequence's."""
        self._bound.update(t.memory for t in tensors if t is not None and t.memory.owner is None)

    def add(self, plan: Plan, *, label: Optional[str] = None, **named: Any) -> None:
        """Appends a run of a plan.

        Parameters
        ----------
        plan : Plan
            A plan of the sequence's context.
        label : str, default None
            Runs can set the scalars of steps with a label.
        **named : Tensor or number
            All operands of the plan by name, and scalars with a value for this step.
        """
        if not isinstance(plan, Plan):
            raise TypeError(f"Sequence.add: plan: expected a tenon.Plan, got {type(plan).__name__}")
        numbers, tensors = plan.arguments(named)
        views = [ffi.NULL if t is None else t._c for t in tensors]
        called = ffi.NULL if label is None else ffi.new("char[]", string("label", label))
        check(lib.tenon_sequence_add(self._c, called, plan._c, ffi.new("tenon_tensor *[]", views), len(views),
                                     ffi.new("tenon_scalar[]", numbers), len(numbers)))
        self._bind([*tensors, plan.packed])

    def copy(self, x: Tensor, y: Tensor) -> None:
        """Appends a copy of x to y, which may differ in type and strides."""
        check(lib.tenon_sequence_copy(self._c, ffi.NULL, _tensor("copy", "x", x)._c, _tensor("copy", "y", y)._c))
        self._bind([x, y])

    def concat(self, inputs: SequenceOf[Tensor], y: Tensor, *, axis: int = _CONCAT.axis) -> None:
        """Appends a concatenation along an axis. An input that is its slice of y already is not copied."""
        given = items_of("Sequence.concat: inputs", "a sequence of tenon.Tensor", inputs)
        views = [_tensor("concat", f"inputs[{i}]", x)._c for i, x in enumerate(given)]
        params = Params("tenon_concat_params", dict(axis=axis))
        check(lib.tenon_sequence_concat(self._c, params.c, ffi.new("tenon_tensor *[]", views), len(views),
                                        _tensor("concat", "y", y)._c))
        self._bind([*given, y])

    def finish(self) -> "Sequence":
        """Merges steps into epilogues, places the intermediates and returns the sequence, which can then be run."""
        check(lib.tenon_sequence_finish(self._c))
        return self

    @property
    def workspace(self) -> int:
        """The workspace that a run requires, with all intermediates, in bytes."""
        return lib.tenon_sequence_workspace(self._c)

    @property
    def operands(self) -> List[str]:
        """The names of the operands of a run."""
        return list(self._operands)

    def __len__(self) -> int:
        """Returns the number of steps; those that finish has merged are not counted."""
        return lib.tenon_sequence_steps(self._c)

    def describe(self) -> List[str]:
        """Returns a line for each step with the solver's name, the workspace and the launches."""
        lines = []
        for i in range(len(self)):
            plan = lib.tenon_sequence_step(self._c, i)
            line = ffi.new("char[]", lib.tenon_plan_describe(plan, ffi.NULL, 0) + 1)
            lib.tenon_plan_describe(plan, line, len(line))
            lines.append(text(line))
        return lines

    def bind(self, *, stream: Optional[Stream] = None, **operands: Tensor) -> Bound:
        """Returns an object whose run() runs the sequence on these operands with the least overhead."""
        stream = stream_of(stream, self.context)
        given = ffi.new("tenon_operand[]", max(len(operands), 1))
        names = [ffi.new("char[]", string("operand", name)) for name in operands]
        tensors = [_tensor("run", name, t) for name, t in operands.items()]
        for i, t in enumerate(tensors):
            form, planned = (t.dtype, t.shape, t.strides), self._operands.get(list(operands)[i])
            if planned is not None and form != (planned.dtype, planned.shape, planned.strides):
                raise ValueError(f"Sequence.run: {list(operands)[i]} has (type, shape, strides) {form}, the sequence "
                                 f"has {(planned.dtype, planned.shape, planned.strides)}")
            given[i].name, given[i].memory, given[i].offset = names[i], t._c.memory, t._c.offset
        return Bound(lib.tenon_sequence_run, self._c, (given, len(operands)), stream,
                     [*(t.memory for t in tensors), *self._bound], (names, tensors, self), None)

    def run(self, *, stream: Optional[Stream] = None, scalars: Optional[Dict[str, Any]] = None,
            **operands: Tensor) -> None:
        """Enqueues all steps in order.

        Parameters
        ----------
        stream : Stream, default None
            The stream to run on; None: the stream of the sequence's context.
        scalars : dict, default None
            Values for this run only: {"label.scalar": value} sets the scalar of every step with this label.
        **operands : Tensor
            All operands by name, of the type, shape and strides of the sequence's tensors.

        Raises
        ------
        TypeError, ValueError
            An operand is unknown, missing or does not match; a scalar is unknown or has a value that is not
            allowed.
        """
        given = {ffi.new("char[]", string("scalar", name)): value for name, value in (scalars or {}).items()}
        self.bind(stream=stream, **operands).run([_scalar(name, value) for name, value in given.items()])

    def __repr__(self) -> str:
        return f"<tenon.Sequence of {len(self)} steps, operands {', '.join(self._operands)}>"


def _scalar(name: Any, value: Any) -> Any:
    """Returns a scalar of a run. The name is the library's, which must be kept."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 0:
        return lib.tenon_scalar_u64(name, unsigned(ffi.string(name).decode(), value))
    return lib.tenon_scalar_f64(name, real(ffi.string(name).decode(), value))


def _tensor(function: str, name: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"Sequence.{function}: {name}: expected a tenon.Tensor, got {type(value).__name__}")
    return value

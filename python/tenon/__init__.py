"""Tenon: tensor operations on OpenCL devices, with NumPy arrays in and out.

    import numpy as np, tenon
    a = np.random.rand(512, 512).astype("f4")
    d = tenon.gemm(a, a)              # arrays in, an array out
    t = tenon.tensor(a)               # copied to the device
    y = tenon.softmax_forward(t @ t.T * 0.1 + 1)
    y[y < 1e-3] = 0                   # operators, masks and methods as with arrays, on the device
    print(y.sum(axis=1)[:4].numpy())  # slices are views; numpy() copies back

The first calls on a device take longer, from a second to about 20 in total: each kernel is compiled and checked
once against a reference. The results are cached for later processes. TENON_VERBOSE=1 in the environment prints
these steps.

An output that is not passed is allocated; pass a tensor to write to, or a shape. Request an optional output with
True: y, mean = tenon.norm_forward(x, mean=True). Parameters are keywords with the library's defaults; an
enumeration is given by a word, as in activation="relu". help(tenon.gemm) documents one operation. Types are f64,
f32, f16, i8, u8, i16, u16, i32, u32, i64, bool, and bf16 with tenon.tensor(x, dtype="bf16").

Tensors have NumPy's operators, indexing and usual methods. NumPy's functions run on the device (np.where(t > 0, t, 0))
or raise TypeError; none runs on the host. docs/python.md has a table, and the rules for types.

Calls run on the default device (set TENON_DEVICE in the environment to choose another) and its stream; use Context
and Stream for others. A plan is an operation that is validated and compiled once: plan = tenon.gemm_plan(t, t),
then plan.run(t, t). A Sequence runs many plans by one call. Flags are constants: tenon.GEMM_ALLOW_TF32. `ffi` and `lib` are the complete C API by cffi.
"""
from . import _constants, _functions, _operations
from ._calls import OPERATIONS as _OPERATIONS
from ._constants import *  # noqa: F401,F403
from ._context import Context, Stream, default_context, device_list, device_select
from ._errors import (DeviceNotFound, Error, InvalidArgument, Mismatch, OutOfMemory, PeerLost, Timeout,
                      Unsupported)
from ._functions import *  # noqa: F401,F403
from ._group import Group
from ._lists import clip_by_norm, concat
from ._loader import ffi, lib, version
from ._makers import empty, from_dlpack, full, tensor, view, zeros
from ._operations import *  # noqa: F401,F403
from ._packed import Packed, conv_pack_filter, gemm_pack
from ._params import Activation
from ._plan import Bound, Plan
from ._sequence import Sequence
from ._tensor import Tensor

__version__ = version
__all__ = ["tensor", "empty", "zeros", "full", "view", "from_dlpack"]
__all__ += _operations.__all__
__all__ += _functions.__all__
__all__ += ["concat", "clip_by_norm", "gemm_pack", "conv_pack_filter",
            "default_context", "device_list", "device_select",
            "Activation", "Bound", "Context", "Group", "Packed", "Plan", "Sequence", "Stream", "Tensor",
            "DeviceNotFound", "Error", "InvalidArgument", "Mismatch", "OutOfMemory", "PeerLost", "Timeout", "Unsupported",
            "ffi", "lib", "version"]


def _listed():
    """Returns a line for each operation with its inputs and outputs."""
    lines = []
    for name, (_, _, inputs, outputs, _) in _OPERATIONS.items():
        needed = [o for o, marks in inputs.items() if "?" not in marks]
        read = ", ".join(needed + [f"{o}=None" for o in inputs if o not in needed])
        gives = ", ".join(o + ("=True" if "?" in marks else "") for o, marks in outputs.items())
        lines.append(f"    {name}({read})" + (f" -> {gives}" if gives else ", in place"))
    return "\n".join(lines)


__doc__ += ("\nThe operations with their inputs and outputs. Each has a function that makes its plan, for example "
            f"gemm_plan:\n\n{_listed()}\n")
for _name in __all__:  # hide the modules in which they are defined
    if getattr(globals()[_name], "__module__", "").startswith("tenon."):
        globals()[_name].__module__ = "tenon"


def __dir__():
    return sorted({*__all__, *(name for name in vars(_constants) if name.isupper()), "__all__", "__doc__",
                   "__file__", "__name__", "__version__"})

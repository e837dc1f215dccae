"""Tenon: tensor operations on OpenCL devices, with NumPy arrays in and out.

    import numpy as np, tenon
    a = np.random.rand(512, 512).astype("f4")
    d = tenon.gemm(a, a)              # arrays in, an array out
    t = tenon.tensor(a)               # on the device, and staying there
    print((t @ t + 1).numpy())

Operations have the names of the C API. They work on the default device (TENON_DEVICE in the
environment chooses another) and its stream; Context and Stream name others. `ffi` and `lib` are
the whole C API by cffi.
"""
from .constants import *  # noqa: F401,F403
from .context import (Context, Stream, default_context, device_list,  # noqa: F401
                      device_select)
from .loader import (DeviceNotFound, Error, InvalidArgument, OutOfMemory,  # noqa: F401
                      Unsupported, ffi, lib, version)
from .lists import clip_by_norm, concat  # noqa: F401
from .operations import *  # noqa: F401,F403
from .packed import Packed, conv_pack_filter, gemm_pack  # noqa: F401
from .params import Activation  # noqa: F401
from .plan import Plan  # noqa: F401
from .tensor import (Tensor, empty, from_dlpack, full, tensor, view,  # noqa: F401
                     zeros)

__version__ = version

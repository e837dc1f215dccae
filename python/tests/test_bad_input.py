"""Bad input raises an exception whose message names the error, and never crashes."""
import inspect
import os
import subprocess
import sys
import unittest

import numpy as np
import tenon
from tenon import _operations as operations

A = np.ones((4, 4), "f4")


class Refusals(unittest.TestCase):
    def refused(self, error, pattern, call, *args, **kwargs):
        with self.assertRaisesRegex(error, pattern):
            call(*args, **kwargs)

    def test_types(self):
        for array in (A.astype("u8"), A.astype("c8"), A.astype(object),
                      np.array(["a"])):
            self.refused(TypeError, "is not supported", tenon.tensor, array)
            self.refused(TypeError, "is not supported", tenon.gemm, array, array)
        self.refused(TypeError, "gemm: a: expected a tenon.Tensor or numpy", tenon.gemm, [[1.0]], A)
        self.refused(TypeError, "gemm: b is None", tenon.gemm, A, None)
        self.refused(TypeError, "gemm: d is written", tenon.gemm, A, A, d=A)
        self.refused(TypeError, "sgd: parameter is written", tenon.sgd, A, A)
        self.refused(TypeError, "packed", tenon.gemm_packed, A, A)
        self.refused(TypeError, "Packed", tenon.gemm, A, tenon.gemm_pack(A))
        self.refused(TypeError, "stream", tenon.gemm, A, A, stream=3)
        self.refused(TypeError, "context", tenon.tensor, A, context=3)

    def test_shapes(self):
        self.refused(ValueError, "tenon.gemm: .*3", tenon.gemm, A, np.ones((3, 4), "f4"))
        self.refused(ValueError, "gemm: cannot infer the shape of d from a", tenon.gemm, A[0], A)
        self.refused(ValueError, "tenon.gemm: ", tenon.gemm, A, A, d=tenon.empty((3, 4)))
        self.refused(ValueError, "elementwise: cannot infer the shape", tenon.elementwise, A, A[:3])
        self.refused(ValueError, "conv_forward: cannot infer the shape", tenon.conv_forward, A, A)
        x = np.ones((1, 2, 4, 4), "f4")
        self.refused(ValueError, "conv_forward", tenon.conv_forward, x, np.ones((3, 3, 3, 3), "f4"))
        self.refused(ValueError, "conv_forward", tenon.conv_forward, x, x, stride=0)
        self.refused(ValueError, "", tenon.softmax_forward, A, axis=2)
        self.refused(ValueError, "", tenon.reduce, A, axes=(0, 0))
        self.refused(ValueError, "axes", tenon.reduce, A, axes=())
        self.refused(ValueError, "rank|shape", tenon.tensor, np.ones((1,) * 9, "f4"))
        self.refused(ValueError, "shape", tenon.empty, (-1,))
        for shape in (2.5, (2.0, 3), "23", None):
            self.refused(TypeError, "", tenon.empty, shape)
        self.refused(ValueError, "shape", tenon.empty, (2**62, 2**62))
        self.refused(TypeError, "pass dx=shape", tenon.conv_backward_data, x, x)

    def test_parameters(self):
        self.refused(ValueError, "unknown 'relv'", tenon.gemm, A, A, activation="relv")
        self.refused(ValueError, "solver", tenon.gemm, A, A, solver="gemm/nothing")
        self.refused(ValueError, "c is None, but beta is 2", tenon.gemm, A, A, beta=2)
        self.refused(ValueError, "pass a bias as the argument bias", tenon.gemm, A, A, c=np.ones(3, "f4"))
        self.refused(TypeError, "", tenon.gemm, A, A, alpha="two")
        self.refused(TypeError, "", tenon.gemm, A, A, alhpa=2)
        self.refused(ValueError, "flags: -1 is out of range, allowed are 0 to 4294967295", tenon.gemm, A, A, flags=-1)
        self.refused(ValueError, "flags", tenon.gemm, A, A, flags=1 << 31)
        self.refused(ValueError, "at most 3", tenon.im2col, A, filter=(1, 2, 3, 4))
        self.refused(ValueError, "at most 8", tenon.elementwise_chain, A, steps=[{}] * 9)
        self.refused(ValueError, "steps.0.: unknown 'what'; valid: .*'op'", tenon.elementwise_chain, A,
                     steps=[{"what": 1}])
        self.refused(ValueError, "inputs is empty", tenon.concat, [])

    def test_views(self):
        t = tenon.tensor(A)
        for key in (4, (0, 0, 0), -5, (..., ...), "a", 1.0, True):
            self.refused(IndexError, "", t.__getitem__, key)
        self.refused(ValueError, "slice", t.slice, 0, 3, 2)
        self.refused(ValueError, "permute", t.permute, (0, 0))
        self.refused(ValueError, "permute", t.permute, (0,))
        self.refused(ValueError, "", t.reshape, 3, -1)
        self.refused(tenon.Unsupported, "", t.T.reshape, 16, copy=False)
        self.refused(ValueError, "upload", t.upload, A[:2])
        self.refused(ValueError, "upload", t.upload, A.astype("f8"))
        self.refused(ValueError, "", t[0].broadcast(4, 4).upload, A)

    def test_a_view_without_memory(self):
        view = tenon.view((4, 4))
        self.refused(tenon.InvalidArgument, "a", tenon.gemm, view, A)
        self.refused(tenon.InvalidArgument, "", view.numpy)
        self.refused(tenon.InvalidArgument, "", view.fill, 1)

    def test_too_large(self):
        self.refused((tenon.OutOfMemory, MemoryError), "", tenon.empty, (2**50,))

    def test_statuses(self):
        with self.assertRaises(tenon.DeviceNotFound) as caught:
            tenon.Context("no such device")
        self.assertEqual(caught.exception.status, tenon.ERROR_DEVICE_NOT_FOUND)
        self.assertIn("no such device", str(caught.exception))
        self.refused(LookupError, "", tenon.device_select, "9:9")
        self.refused(ValueError, "unknown 'f63'", tenon.default_context().capability, "f63")

    def test_every_operation_refuses_what_it_cannot_mean(self):
        for name in operations.__all__:
            function = getattr(tenon, name)
            count = function.__code__.co_argcount
            for value in (None, "text", object(), [], A.astype("u8")):
                if count > 0:
                    with self.subTest(name, value=value):
                        self.refused((TypeError, ValueError), "", function, *[value] * count)

    def test_arguments_of_the_wrong_type_are_named(self):
        t, x = tenon.tensor(A), np.ones((1, 1, 4, 4), "f4")
        for error, pattern, call in (
                (TypeError, "solver: expected a str, got int", lambda: tenon.gemm(A, A, solver=5)),
                (TypeError, "stream: expected a tenon.Stream, got int", lambda: tenon.tensor(A, stream=5)),
                (TypeError, "stream: expected a tenon.Stream", lambda: tenon.gemm_pack(A, stream=5)),
                (TypeError, r"steps\[0\]: expected a dict with some of op, .*, got int",
                 lambda: tenon.elementwise_chain(A, steps=[3])),
                (TypeError, "steps: expected a sequence of dict", lambda: tenon.elementwise_chain(A, steps=3)),
                (TypeError, r"steps\[0\]\['alpha'\]: expected a number",
                 lambda: tenon.elementwise_chain(A, steps=[{"alpha": []}])),
                (TypeError, "activation: expected a word, a tenon.Activation or",
                 lambda: tenon.gemm(A, A, activation=0.5)),
                (TypeError, "activation.alpha: expected a number", lambda: tenon.gemm(A, A, activation=("elu", "x"))),
                (ValueError, "activation: 4 values; expected kind, alpha and beta",
                 lambda: tenon.gemm(A, A, activation=(1, 2, 3, 4))),
                (TypeError, "kind: expected an integer, or one of 'add', ", lambda: tenon.elementwise(A, A, kind=0.5)),
                (TypeError, "gemm: scale: expected a sequence of up to three", lambda: tenon.gemm(A, A, scale=5)),
                (ValueError, "gemm: scale: 4 values, at most 3", lambda: tenon.gemm(A, A, scale=[None] * 4)),
                (TypeError, r"stride\[1\]: expected an integer", lambda: tenon.conv_forward(x, x, stride=(1, "2"))),
                (TypeError, "stride: expected an integer, or a sequence", lambda: tenon.conv_forward(x, x, stride=1.5)),
                (TypeError, "gemm: d: expected a tenon.Tensor or a shape", lambda: tenon.gemm(A, A, d=2.5)),
                (TypeError, "concat: inputs: expected a sequence", lambda: tenon.concat(5)),
                (TypeError, "clip_by_norm: gradients: expected a sequence", lambda: tenon.clip_by_norm(5)),
                (TypeError, "clip_by_norm: gradients and sum", lambda: tenon.clip_by_norm([t], sum=A)),
                (TypeError, "layout: expected a str", lambda: tenon.gemm_pack(A, layout=5)),
                (TypeError, "device: expected a str", lambda: tenon.Context(5)),
                (TypeError, "selector: expected a str", lambda: tenon.device_select(5)),
                (TypeError, "workspace_limit: expected an integer", lambda: tenon.Context(workspace_limit="1")),
                (TypeError, "context: expected a tenon.Context", lambda: tenon.Stream(5)),
                (TypeError, "capability: expected a str", lambda: tenon.default_context().capability(5)),
                (TypeError, "bytes: expected an integer", lambda: tenon.default_context().trim("1")),
                (TypeError, "dim: expected an integer", lambda: t.transpose("0")),
                (TypeError, "permute: order", lambda: t.permute(5)),
                (TypeError, "slice: size: expected an integer", lambda: t.slice(0, 0, 1.5)),
                (TypeError, "value: expected a number", lambda: t.fill("1")),
                (ValueError, r"shape\[0\]: .* is out of range", lambda: tenon.empty(2**70))):
            with self.subTest(pattern):
                self.refused(error, pattern, call)

    def test_every_argument_of_every_function(self):
        """Passes values of wrong types, one argument at a time: only these exceptions occur, and most name the
        argument.
        """
        t = tenon.tensor(A)
        values = (object(), 2.5, "text", "nul\0", "\udc80", b"bytes", [3], [object()], [[1]], {"a": 1}, {1: 2},
                  {3}, 10**30, -10**30, 1j, A, np.ones(2), np.array("x"), t, lambda: 0, type, float("nan"))
        functions = {**{name: getattr(tenon, name) for name in operations.__all__}, "concat": tenon.concat,
                     "clip_by_norm": tenon.clip_by_norm, "gemm_pack": tenon.gemm_pack,
                     "conv_pack_filter": tenon.conv_pack_filter, "tensor": tenon.tensor, "empty": tenon.empty,
                     "full": tenon.full, "view": tenon.view, "zeros": tenon.zeros, "from_dlpack": tenon.from_dlpack,
                     "Context": tenon.Context, "Stream": tenon.Stream, "device_select": tenon.device_select}
        filters = tenon.conv_pack_filter(np.ones((4, 4, 1, 1), "f4"))
        valid = {"shape": 2, "value": 1}
        for name, function in functions.items():
            valid["packed"] = filters if "conv" in name else tenon.gemm_pack(A)
            parameters = inspect.signature(function).parameters
            needed = {p: valid.get(p, t) for p, is_of in parameters.items() if is_of.default is inspect.Parameter.empty}
            for argument in parameters:
                for value in values:
                    with self.subTest(name, argument=argument, value=value):
                        self.call_wrongly(function, argument, {**needed, argument: value})

    def call_wrongly(self, function, argument, given):
        try:
            function(**given)
        except (TypeError, ValueError, tenon.Error) as error:
            if type(given[argument]) is object:
                self.assertIn(argument, str(error))
        else:  # the function accepts the value
            self.assertIsNot(type(given[argument]), object)

    def test_without_a_library(self):
        done = subprocess.run([sys.executable, "-c", "import tenon"], capture_output=True,
                              text=True, check=False, env={**os.environ, "TENON_LIBRARY": "/none"})
        self.assertIn("ImportError: cannot open Tenon's library", done.stderr)


if __name__ == "__main__":
    unittest.main()

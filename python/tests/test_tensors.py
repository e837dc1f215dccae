"""Tensors, views, plans, streams: residence on the device and ordering of work."""
import contextlib
import gc
import io
import itertools
import subprocess
import sys
import threading
import unittest
from unittest import mock

import numpy as np
import tenon
from common import integers, reals
from tenon import __main__ as devices
from tenon import bench


class Transfers(unittest.TestCase):
    def test_every_type_comes_back(self):
        for name in ("f8", "f4", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "?"):
            a = integers(1, 3, 5, dtype=name, low=0, high=100)
            t = tenon.tensor(a)
            self.assertEqual(t.numpy().dtype, a.dtype)
            np.testing.assert_array_equal(t.numpy(), a)

    def test_whatever_way_an_array_lies(self):
        a = integers(2, 6, 8, 4)
        for x in (a.T, a[::2, ::-1], a[:, 3], np.asfortranarray(a), a.astype(">f4"),
                  np.broadcast_to(a[0], (2, 8, 4)), a[0, 0, 0], a[:0], a[:, :0]):
            np.testing.assert_array_equal(tenon.tensor(x).numpy(), x)
            self.assertEqual(tenon.tensor(x).shape, x.shape)
        np.testing.assert_array_equal(tenon.gemm(a[0].T, a[0]), a[0].T @ a[0])

    def test_bf16(self):
        a = np.array([1, 1 + 2.0**-7, 1 + 2.0**-8, 3.5], "f4")
        t = tenon.tensor(a, dtype="bf16")
        self.assertEqual((t.dtype, t.nbytes), ("bf16", 8))
        np.testing.assert_array_equal(t.numpy(), [1, 1 + 2.0**-7, 1, 3.5])  # ties to even
        b = tenon.tensor(integers(3, 4, 4), dtype="bf16")
        np.testing.assert_array_equal((b @ b).numpy(), integers(3, 4, 4) @ integers(3, 4, 4))
        with self.assertRaises(BufferError):
            t.__dlpack__()

    def test_dlpack(self):
        a = integers(4, 3, 4)
        t = tenon.from_dlpack(a)
        np.testing.assert_array_equal(np.from_dlpack(t[1:]), a[1:])
        with self.assertRaises(BufferError):
            t.__dlpack__(copy=False)
        with self.assertRaises(BufferError):
            t.__dlpack__(dl_device=(2, 0))

    def test_dlpack_on_opencl(self):
        class Other:
            """A tensor of another library; `old`: from before DLPack 1."""
            def __init__(self, t, old):
                self.t, self.old = t, old

            def __dlpack_device__(self):
                return 4, 0

            def __dlpack__(self, **given):
                if self.old and given:
                    raise TypeError("from before DLPack 1")
                return self.t.__dlpack__(dl_device=(4, 0), **given)

        a = integers(5, 6, 8)
        for old in (False, True):
            t = tenon.tensor(a)
            u = tenon.from_dlpack(Other(t[1:, ::2], old))
            self.assertEqual((u.shape, u.strides), ((5, 4), (8, 2)))
            u.fill(7)
            expected = a.copy()
            expected[1:, ::2] = 7
            del u
            np.testing.assert_array_equal(t.numpy(), expected)
            u = tenon.from_dlpack(Other(t, old))
            del t  # u keeps the buffer
            gc.collect()
            np.testing.assert_array_equal((u + 1).numpy(), expected + 1)
        t = tenon.tensor(a)
        capsule = t.__dlpack__(dl_device=(4, 0))  # never consumed
        del capsule
        u = tenon.from_dlpack(Other(t, False))
        copied = t.__dlpack__(dl_device=(4, 0), copy=True)
        self.assertIn("dltensor", repr(copied))
        other = tenon.Context()
        with self.assertRaises(tenon.InvalidArgument):
            tenon.from_dlpack(Other(t, False), context=other)
        np.testing.assert_array_equal(u.numpy(), a)

    def test_the_pool(self):
        for limit, kept in ((None, True), (0, False)):
            context = tenon.Context(pool_limit=limit)
            for _ in range(4):
                t = tenon.full((1000,), 1, context=context)
                context.stream.finish()
                del t
                gc.collect()
            self.assertEqual(context.statistics().pool_bytes > 0, kept)
            self.assertEqual(context.statistics().pool_served > 0, kept)
            context.trim()
            self.assertEqual(context.statistics().pool_bytes, 0)

    def test_as_an_array(self):
        t = tenon.full((2, 3), 1.5)
        np.testing.assert_array_equal(np.asarray(t, dtype="f8"), np.full((2, 3), 1.5))
        self.assertIn("1.5", repr(t))
        self.assertEqual([row.shape for row in t], [(3,), (3,)])


class Views(unittest.TestCase):
    def test_as_numpy_has_them(self):
        a = integers(10, 4, 6, 5)
        t = tenon.tensor(a)
        for key in (0, -1, (1, 2), (slice(1, 4), slice(None, None, 2)), (..., 3), None,
                    (slice(4, 2),), (Ellipsis, slice(0, 5, 3), 1, None), (slice(-2, None),)):
            np.testing.assert_array_equal(t[key].numpy(), a[key])
        np.testing.assert_array_equal(t.T.numpy(), a.T)
        np.testing.assert_array_equal(t.transpose().numpy(), a.swapaxes(-1, -2))
        np.testing.assert_array_equal(t.permute((2, 0, 1)).numpy(), a.transpose(2, 0, 1))
        np.testing.assert_array_equal(t.reshape(-1, 5).numpy(), a.reshape(-1, 5))
        np.testing.assert_array_equal(t[:, 0].unsqueeze(1).broadcast(4, 6, 5).numpy(),
                                      np.broadcast_to(a[:, :1], a.shape))
        np.testing.assert_array_equal(t[:1].squeeze(0).numpy(), a[0])

    def test_nhwc(self):
        for sizes in ((2, 5, 3), (2, 5, 6, 3), (2, 4, 5, 6, 3)):
            a = integers(14, *sizes)
            view = tenon.tensor(a).nhwc()
            np.testing.assert_array_equal(view.numpy(), np.moveaxis(a, -1, 1))
        w = integers(15, 4, 3, 3, 5)  # K R S C
        x = integers(16, 2, 6, 6, 5)
        y = tenon.conv_forward(tenon.tensor(x).nhwc(), tenon.tensor(w).nhwc())
        expected = tenon.conv_forward(tenon.tensor(np.ascontiguousarray(np.moveaxis(x, -1, 1))),
                                      tenon.tensor(np.ascontiguousarray(np.moveaxis(w, -1, 1))))
        np.testing.assert_array_equal(y.numpy(), expected.numpy())
        with self.assertRaisesRegex(tenon.InvalidArgument, "are stored as N H W C.*tenon.Tensor.nhwc"):
            tenon.conv_forward(tenon.tensor(x), tenon.tensor(w), y=(2, 4, 4, 4))

    def test_what_is_no_view_is_refused_where_it_is_made(self):
        t = tenon.zeros((4, 6))
        for make, text in ((lambda: t.slice(1, 5, 3), "tenon.Tensor.slice of 4x6 refused"),
                           (lambda: t.squeeze(0), "tenon.Tensor.squeeze of 4x6 refused dim 0"),
                           (lambda: t.broadcast(5, 6), "tenon.Tensor.broadcast of 4x6 refused"),
                           (lambda: t.permute((0, 0)), "tenon.Tensor.permute of 4x6 refused"),
                           (t.nhwc, "tenon.Tensor.nhwc of 4x6 refused rank 2"),
                           (lambda: tenon.view((4, -1)), "tenon.view refused shape 4x-1"),
                           (lambda: tenon.empty((1,) * 9), "tenon.view refused a rank of 9")):
            with self.assertRaises(tenon.InvalidArgument) as caught:
                make()
            self.assertTrue(str(caught.exception).startswith(text), str(caught.exception))

    def test_an_operation_reads_and_writes_views(self):
        a = integers(11, 6, 6)
        t, d = tenon.tensor(a), tenon.zeros((4, 12))
        self.assertIs(tenon.gemm(t.T[:4], t, d=d[:, ::2]).memory, d.memory)
        expected = np.zeros((4, 12), "f4")
        expected[:, ::2] = a.T[:4] @ a
        np.testing.assert_array_equal(d.numpy(), expected)

    def test_empty(self):
        a = np.zeros((0, 4), "f4")
        self.assertEqual(tenon.gemm(a, np.zeros((4, 3), "f4")).shape, (0, 3))
        np.testing.assert_array_equal(tenon.gemm(a.T, a), np.zeros((4, 4)))
        self.assertEqual(tenon.activation_forward(a, activation="relu").shape, (0, 4))
        self.assertEqual(tenon.reduce(a), 0)


class Plans(unittest.TestCase):
    def test_run(self):
        a, b = integers(20, 6, 7), integers(21, 7, 5)
        plan = tenon.gemm_plan(tenon.view((6, 7)), tenon.view((7, 5)), activation="relu")
        self.assertIn("gemm/", plan.describe())
        x, y = tenon.tensor(a), tenon.tensor(b)
        np.testing.assert_array_equal(plan.run(x, y).numpy(), np.maximum(a @ b, 0))
        d = tenon.empty((6, 5))
        self.assertIs(plan.run(a=x, b=y, d=d), d)
        np.testing.assert_array_equal(d.numpy(), np.maximum(a @ b, 0))

    def test_what_does_not_fit_is_refused(self):
        plan = tenon.gemm_plan(tenon.view((6, 7)), tenon.view((7, 5)))
        x, y = tenon.zeros((6, 7)), tenon.zeros((7, 5))
        for wrong in (dict(a=x), dict(a=y, b=y), dict(a=tenon.zeros((7, 6)).T, b=y),
                      dict(a=tenon.zeros((6, 7), "f16"), b=y), dict(a=x, b=y, c=x),
                      dict(a=x, b=y, e=x), dict(a=x, b=3), dict(a=tenon.zeros((6, 8))[:, 1:], b=y)):
            with self.assertRaises((TypeError, ValueError)):
                plan.run(**wrong)

    def test_parts_of_memory(self):
        a, b = integers(26, 3, 6, 7), integers(27, 7, 5)
        plan = tenon.gemm_plan(tenon.view((6, 7)), tenon.view((7, 5)))
        x, y, d = tenon.tensor(a), tenon.tensor(b), tenon.full((4, 6, 5), -1)
        for i in range(3):
            part = d[i + 1]
            self.assertIs(plan.run(d=part, b=y, a=x[i]), part)
        np.testing.assert_array_equal(d.numpy()[1:], a @ b)
        np.testing.assert_array_equal(d.numpy()[0], np.full((6, 5), -1))  # other elements are unchanged
        with self.assertRaisesRegex(tenon.InvalidArgument, "overlap"):
            plan.run(a=x[0], b=y, d=x.reshape(-1)[7:37].reshape(6, 5))
        # c is not read if beta is 0, but may be passed; if it is read, it counts.
        for beta, given in ((1, {}), (0, {"beta": 0}), (2, {"beta": 2})):
            plan = tenon.gemm_plan(tenon.view((6, 7)), tenon.view((7, 5)), c=tenon.view((6, 5)), **given)
            got = plan.run(a=x[2], b=y, c=d[0])
            np.testing.assert_array_equal(got.numpy(), a[2] @ b - beta)

    def test_packed_and_integers(self):
        a, b = integers(22, 3, 16), integers(23, 16, 32)
        plan = tenon.gemm_packed_plan(tenon.view((3, 16)), tenon.gemm_pack(b))
        gc.collect()
        np.testing.assert_array_equal(plan.run(tenon.tensor(a)).numpy(), a @ b)
        a, b = integers(24, 3, 16, dtype="i1"), integers(25, 16, 8, dtype="i1")
        plan = tenon.gemm_plan(a, b, zero_point=(np.array(1, "i1"), None, None))
        np.testing.assert_array_equal(plan.run(a, b).numpy(), (a.astype("i4") - 1) @ b)

    def test_in_the_background(self):
        context = tenon.default_context()
        with context.prepare():
            plan = tenon.softmax_forward_plan(tenon.view((3, 11)))
        self.assertIn("softmax/", plan.wait().describe())
        made, asked = context.prepare_progress()
        self.assertTrue(0 < made <= asked)


class Order(unittest.TestCase):
    def test_streams_wait_for_one_another(self):
        streams = [tenon.Stream() for _ in range(3)]
        t = tenon.zeros(1000)
        for stream in itertools.islice(itertools.cycle(streams), 30):
            t = tenon.elementwise(t, 1, stream=stream)
        np.testing.assert_array_equal(t.numpy(), np.full(1000, 30))

    def test_threads_share_the_default_stream(self):
        a = integers(30, 40, 40)
        expected, wrong = a @ a, []

        def work():
            for _ in range(20):
                if not np.array_equal(tenon.gemm(a, a), expected):
                    wrong.append(1)
                with contextlib.suppress(ValueError):
                    tenon.gemm(a, a[1:])
                    wrong.append("not refused")
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_any_order_of_release(self):
        for order in itertools.permutations(("context", "stream", "tensor", "plan")):
            left = {"context": tenon.Context()}
            left["stream"] = tenon.Stream(left["context"])
            left["tensor"] = tenon.tensor(np.ones((4, 4), "f4"), stream=left["stream"])
            left["plan"] = tenon.gemm_plan(left["tensor"], left["tensor"])
            d = left["plan"].run(left["tensor"], left["tensor"], stream=left["stream"])
            for name in order:
                del left[name]
                gc.collect()
            np.testing.assert_array_equal(d.numpy(), np.full((4, 4), 4))

    def test_a_process_ends_with_work_on_its_way(self):
        program = ("import numpy as np, tenon\n"
                   "a = tenon.tensor(np.ones((64, 64), 'f4'))\n"
                   "kept = [a @ a for _ in range(50)]\n"
                   "import sys; sys.kept = kept\n")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_context_of_its_own(self):
        context = tenon.Context(tenon.default_context().device.selector)
        t = tenon.tensor(reals(31, 4, 4), context=context)
        self.assertIs((t @ t).context, context)
        self.assertGreater(context.statistics().plans, 0)
        self.assertIsInstance(context.capability("f64")[0], bool)
        with self.assertRaises(ValueError):
            t @ tenon.zeros((4, 4))
        with self.assertRaises(ValueError):
            tenon.gemm(t, t, stream=tenon.default_context().stream)


class Commands(unittest.TestCase):
    def test_devices(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(devices.main(), 0)
        self.assertIn("* " + tenon.device_select().selector, out.getvalue())

    def test_bench(self):
        with contextlib.redirect_stdout(io.StringIO()) as out, \
                mock.patch.object(bench, "PRODUCTS", [(16, 16, 16)]), \
                mock.patch.object(bench, "CONVOLUTIONS", [(1, 3, 8, 4, 3)]), \
                mock.patch.object(sys, "argv", ["bench", "--seconds", "0"]):
            bench.main()
        self.assertRegex(out.getvalue(), r"gemm 16x16x16 +[\d.]+ +[\d.]+")
        self.assertRegex(out.getvalue(), r"conv 1x3x8x8 4x3x3 +[\d.]+ +[\d.]+")

    def test_bench_computes_what_it_says(self):
        x, w = integers(40, 2, 3, 6, 6), integers(41, 4, 3, 3, 3)
        y = tenon.conv_forward(x, w, pad_begin=1, pad_end=1)
        np.testing.assert_array_equal(bench.columns(x, w).transpose(0, 3, 1, 2), y)


class Streams(unittest.TestCase):
    def test_a_tensor_on_several_streams(self):
        streams, t = [tenon.Stream() for _ in range(3)], tenon.zeros(1000)
        for i in range(60):  # each addition waits for the last one on another stream
            tenon.elementwise(t, 1, kind="add", d=t, stream=streams[i % 3])
        np.testing.assert_array_equal(t.numpy(), np.full(1000, 60, "f4"))

    def test_wait(self):
        first, second = tenon.Stream(), tenon.Stream()
        first.wait(second)
        first.wait(first)
        with self.assertRaisesRegex(TypeError, "other: expected a tenon.Stream, got Context"):
            first.wait(first.context)
        with self.assertRaisesRegex(tenon.InvalidArgument, "another OpenCL context"):
            first.wait(tenon.Stream(tenon.Context(first.context.device.selector)))


if __name__ == "__main__":
    unittest.main()

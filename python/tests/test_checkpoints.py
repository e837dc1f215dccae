"""Checkpoints: round trips, slices, exchange with the package safetensors, refused files, and requests to end."""
import importlib.util
import json
import os
import signal
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np
import tenon

HAS_SAFETENSORS = importlib.util.find_spec("safetensors") is not None
TYPES = ("f8", "f4", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "?")


def arrays():
    """Returns an array of each type, a scalar and an empty array."""
    random = np.random.default_rng(7)
    found = {f"of {t}": random.integers(0, 2 if t == "?" else 100, (3, 5)).astype(t) for t in TYPES}
    return {**found, "scalar": np.array(2.5, "f4"), "empty": np.empty((0, 3), "f4"), "ä\"\\\n": np.ones(2, "f2")}


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "f.safetensors"

    def assert_same(self, got, expected):
        got = got.numpy() if isinstance(got, tenon.Tensor) else got
        self.assertEqual((got.dtype, got.shape), (expected.dtype, expected.shape))
        np.testing.assert_array_equal(got, expected)


class RoundTrips(Folder):
    def test_arrays_and_tensors_of_every_type(self):
        for make in (lambda x: x, tenon.tensor):
            tenon.save(self.path, {name: make(x) for name, x in arrays().items()}, {"step": "3", "ä": "ö\n"})
            loaded = tenon.load(str(self.path))
            self.assertEqual(set(loaded), set(arrays()))
            for name, x in arrays().items():
                self.assert_same(loaded[name], x)
            with tenon.Checkpoint(self.path) as checkpoint:
                self.assertEqual(checkpoint.metadata, {"step": "3", "ä": "ö\n"})

    def test_strided_and_bf16_tensors(self):
        x = np.random.default_rng(1).standard_normal((6, 10)).astype("f4")
        t = tenon.tensor(x)
        tenon.save(self.path, {"t": t.T[1:, ::2], "b": tenon.tensor(x, dtype="bf16"), "wide": t[:1].broadcast((4, 10))})
        with tenon.Checkpoint(self.path) as checkpoint:
            self.assert_same(checkpoint["t"], x.T[1:, ::2])
            self.assert_same(checkpoint["wide"], np.broadcast_to(x[:1], (4, 10)))
            self.assertEqual((checkpoint.dtype("b"), checkpoint.shape("b")), ("bf16", (6, 10)))
            self.assert_same(checkpoint["b"], tenon.tensor(x, dtype="bf16").numpy())
            out = tenon.zeros((5, 18))
            checkpoint.read("t", 4, out=out[:, 3:6])
            expected = np.zeros((5, 18), "f4")
            expected[:, 3:6] = x.T[5:, ::2]
            self.assert_same(out, expected)

    def test_the_mapping(self):
        tenon.save(self.path, {"b": np.ones((4, 2), "f4"), "a": np.zeros(3, "f8")})
        checkpoint = tenon.Checkpoint(self.path)
        self.assertEqual(list(checkpoint), ["a", "b"])  # larger elements first
        self.assertEqual(len(checkpoint), 2)
        self.assertIn("a", checkpoint)
        self.assertNotIn("c", checkpoint)
        self.assertRaises(KeyError, lambda: checkpoint["c"])
        self.assertEqual([x.shape for x in checkpoint.values()], [(3,), (4, 2)])
        os.remove(self.path)  # an open file stays readable
        self.assertEqual(checkpoint.read("b", 1, 3).shape, (2, 2))
        self.assertEqual(checkpoint.read("b", 4).shape, (0, 2))
        checkpoint.close()

    def test_tensors_of_two_contexts_are_one_file(self):
        other = tenon.Context()
        whole = np.arange(24, dtype="f4").reshape(6, 4)
        parts = [tenon.tensor(whole[:2]), tenon.tensor(whole[2:], context=other)]
        with tenon.CheckpointWriter(self.path, {"w": whole}, {"step": "1"}) as writer:
            threads = [threading.Thread(target=writer.write, args=("w", parts[i], 2 * i)) for i in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        with tenon.Checkpoint(self.path, context=other) as checkpoint:
            self.assertIs(checkpoint["w"].context, other)
            self.assert_same(checkpoint["w"], whole)


class Refused(Folder):
    def test_damaged_files(self):
        tenon.save(self.path, {"w": np.ones((3, 4), "f4")})
        whole = self.path.read_bytes()
        for size in (0, 7, 8, 50, len(whole) - 1):
            self.path.write_bytes(whole[:size])
            with self.assertRaises(tenon.FileError) as caught:
                tenon.load(self.path)
            self.assertIsInstance(caught.exception, OSError)
            self.assertRegex(str(caught.exception), "f.safetensors.*FILE")

    def test_absent_files_and_folders(self):
        self.assertRaisesRegex(tenon.FileError, "absent", tenon.load, self.folder / "absent")
        self.assertRaisesRegex(tenon.FileError, "absent", tenon.save, self.folder / "absent" / "f", {})

    def test_other_tensors(self):
        tenon.save(self.path, {"w": np.ones((3, 4), "f4")})
        with tenon.Checkpoint(self.path) as checkpoint:
            with self.assertRaisesRegex(tenon.FileError, r"tenon.Checkpoint.read: .*\"w\" is f32 3x5, in the file f32 3x4"):
                checkpoint.read("w", out=tenon.zeros((3, 5)))
            self.assertRaisesRegex(tenon.FileError, "no tensor \"v\"", checkpoint.read, "v")
            self.assertRaises(ValueError, checkpoint.read, "w", 2, 4)
            self.assertRaises(ValueError, checkpoint.read, "w", -1)
            self.assertRaises(ValueError, checkpoint.read, "w", 4)
            self.assertRaises(TypeError, checkpoint.read, "w", 0, 3, tenon.zeros((3, 4)))

    def test_types_that_tensors_lack(self):
        header = json.dumps({"w": {"dtype": "U64", "shape": [1], "data_offsets": [0, 8]},
                             "f": {"dtype": "F8_E4M3", "shape": [8], "data_offsets": [8, 16]}}).encode()
        self.path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(16))
        with tenon.Checkpoint(self.path) as checkpoint:
            self.assertEqual(list(checkpoint), ["w", "f"])
            self.assertRaisesRegex(tenon.Unsupported, "U64", checkpoint.read, "w")
            self.assertRaisesRegex(TypeError, "f8_e4m3", checkpoint.read, "f")

    def test_writers(self):
        self.path.write_bytes(b"old")
        with self.assertRaisesRegex(tenon.InvalidArgument, "entries 0 to 1 of tensor \"w\""):
            with tenon.CheckpointWriter(self.path, {"w": np.empty((4, 2))}) as writer:
                writer.write("w", np.ones((2, 2)), 2)
        with self.assertRaises(ZeroDivisionError):
            with tenon.CheckpointWriter(self.path, {}) as writer:
                raise ZeroDivisionError
        self.assertEqual(self.path.read_bytes(), b"old")
        self.assertEqual(os.listdir(self.folder), [self.path.name])
        self.assertRaises(TypeError, tenon.save, self.path, {1: np.ones(2)})
        self.assertRaises(TypeError, tenon.save, self.path, {"w": np.ones(2)}, {"step": 3})
        self.assertRaises(ValueError, tenon.save, self.path, {"\udc80": np.ones(2)})
        self.assertRaises(TypeError, tenon.save, self.path, {"w": None})
        self.assertRaises(TypeError, tenon.save, 3, {})


@unittest.skipUnless(HAS_SAFETENSORS, "the package safetensors is not installed")
class Exchange(Folder):
    def test_safetensors_reads_ours(self):
        from safetensors import safe_open
        from safetensors.numpy import load_file
        tenon.save(self.path, arrays(), {"step": "3"})
        loaded = load_file(self.path)
        self.assertEqual(set(loaded), set(arrays()))
        for name, x in arrays().items():
            self.assert_same(loaded[name], x)
        with safe_open(self.path, "np") as file:
            self.assertEqual(file.metadata(), {"step": "3"})

    def test_we_read_theirs(self):
        from safetensors.numpy import save_file
        save_file(arrays(), self.path, metadata={"step": "3"})
        loaded = tenon.load(self.path)
        self.assertEqual(set(loaded), set(arrays()))
        for name, x in arrays().items():
            self.assert_same(loaded[name], x)
        with tenon.Checkpoint(self.path) as checkpoint:
            self.assertEqual(checkpoint.metadata, {"step": "3"})


class Closed(Folder):
    def test_closed_objects_are_refused(self):
        writer = tenon.CheckpointWriter(self.path, {"w": np.empty(2)})
        writer.write("w", np.ones(2))
        writer.commit()
        for _ in range(2):
            writer.close()
        self.assertRaisesRegex(tenon.InvalidArgument, "writer is None", writer.write, "w", np.ones(2))
        self.assertRaisesRegex(tenon.InvalidArgument, "writer is None", writer.commit)
        with tenon.Checkpoint(self.path) as checkpoint:
            pass
        checkpoint.close()
        self.assertEqual(list(checkpoint), ["w"])
        for call in (checkpoint.read, checkpoint.shape, checkpoint.dtype, checkpoint.__getitem__):
            self.assertRaisesRegex(tenon.InvalidArgument, "checkpoint is None", call, "w")


class Terminations(unittest.TestCase):
    def test_requests_are_recorded(self):
        before = signal.getsignal(signal.SIGTERM)
        with tenon.Termination() as termination:
            self.assertFalse(termination.requested)
            os.kill(os.getpid(), signal.SIGTERM)
            self.assertTrue(termination.requested)
        self.assertIs(signal.getsignal(signal.SIGTERM), before)


if __name__ == "__main__":
    unittest.main()

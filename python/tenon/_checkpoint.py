"""Checkpoints: files of named tensors and texts, and requests to end."""
import os
from typing import Any, Dict, Iterator, Mapping, Optional, Union

from ._arguments import integer, string, wrong_type
from ._context import Context, Stream, context_of
from ._loader import check, ffi, lib, text
from ._makers import empty, tensor
from ._tensor import DTYPES, Operand, Tensor, context_beside, dtype_name, shape_tuple, stream_of
from ._types import TYPES

Path = Union[str, "os.PathLike[str]"]


def _path(path: Path) -> bytes:
    given = os.fspath(path)
    if not isinstance(given, str):
        raise wrong_type("path", "a str or a path", path)
    return string("path", given)


def _utf8(name: str, value: Any) -> Any:
    """Returns a text as a C string in UTF-8; the library rejects others."""
    return ffi.new("char[]", string(name, value))


def _texts(metadata: Optional[Mapping[str, str]]) -> Any:
    """Returns texts for the library, and the strings they refer to."""
    kept = [(_utf8("metadata: name", name), _utf8(f"metadata[{name!r}]", value))
            for name, value in (metadata or {}).items()]
    texts = ffi.new("tenon_named_text[]", len(kept))
    for entry, (name, value) in zip(texts, kept):
        entry.name, entry.text = name, value
    return texts, kept


def _tensor(x: Any, stream: Optional[Stream]) -> Tensor:
    """Returns an array as a tensor."""
    return x if isinstance(x, Tensor) else tensor(x, stream=stream)


class CheckpointWriter:
    """Writes a checkpoint slice by slice, for tensors that are divided among devices or processes.

    The file appears under its name, whole, when a `with` block ends without an exception; otherwise an earlier file
    stays. Several threads may write at the same time, each with its own stream.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    tensors : mapping of str to an object with `shape` and `dtype`
        The complete tensors, for example of tenon.view or numpy.empty; their elements are not read.
    metadata : mapping of str to str, default None
        Texts.

    Raises
    ------
    InvalidArgument (ValueError)
        A name is not valid Unicode.
    FileError (OSError)
        The file cannot be created.
    """

    def __init__(self, path: Path, tensors: Mapping[str, Any], metadata: Optional[Mapping[str, str]] = None):
        names = [_utf8("tensors: name", name) for name in tensors]
        named = ffi.new("tenon_named_tensor[]", len(names))
        for entry, name, x in zip(named, names, tensors.values()):
            sizes = shape_tuple(x.shape)
            entry.name = name
            entry.tensor = lib.tenon_tensor_view(DTYPES[dtype_name(x.dtype)], len(sizes), sizes)
        texts, kept = _texts(metadata)
        out = ffi.new("tenon_checkpoint_writer **")
        check(lib.tenon_checkpoint_writer_create(_path(path), named, len(named), texts, len(texts), out))
        del kept  # the library has copied the strings
        self._c = ffi.gc(out[0], lib.tenon_checkpoint_writer_destroy)

    def write(self, name: str, x: Operand, start: int = 0, stream: Optional[Stream] = None) -> None:
        """Writes the entries of a tensor's first dimension from `start` on. Each entry is written once."""
        given = _tensor(x, stream)
        used = stream_of(stream, given.context)
        start = integer("start", start, 0, 2**63 - 1)
        given.memory.use(used)
        with used.lock:
            check(lib.tenon_checkpoint_writer_write(used._c, self._c, string("name", name), start, given._c))

    def commit(self) -> None:
        """Forces the file to the disk and gives it its name; done by the end of a `with` block."""
        check(lib.tenon_checkpoint_writer_commit(self._c))

    def close(self) -> None:
        """Ends the writer. Without a commit nothing is left of the file."""
        if self._c != ffi.NULL:
            ffi.release(self._c)
            self._c = ffi.NULL  # which every call rejects

    def __enter__(self) -> "CheckpointWriter":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if kind is None:
                self.commit()
        finally:
            self.close()


class Checkpoint(Mapping[str, Tensor]):
    """An open checkpoint: a mapping of names to tensors, which are read when they are accessed.

    Files of other programs in the format safetensors can be read as well. Usable from any thread, and as a `with`
    block that closes the file.

        with tenon.Checkpoint("run.safetensors") as checkpoint:
            step = int(checkpoint.metadata["step"])
            w = checkpoint["w"]
            rows = checkpoint.read("w", start=128, stop=256)

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    context : Context, default None
        The context of the tensors; None: the context of the stream, or the default context.
    stream : Stream, default None
        The stream of the copies; None: the context's stream.

    Raises
    ------
    FileError (OSError)
        The file cannot be read, is truncated or is not valid.
    """

    def __init__(self, path: Path, context: Optional[Context] = None, stream: Optional[Stream] = None):
        out = ffi.new("tenon_checkpoint **")
        check(lib.tenon_checkpoint_open(_path(path), out))
        self._c = ffi.gc(out[0], lib.tenon_checkpoint_close)
        self._context, self._stream = context if context is not None else context_beside(stream), stream
        self._names = dict.fromkeys(text(lib.tenon_checkpoint_name(self._c, i))
                                    for i in range(lib.tenon_checkpoint_count(self._c)))
        self.metadata: Dict[str, str] = {}  #: the texts by name
        for i in range(lib.tenon_checkpoint_text_count(self._c)):
            name = lib.tenon_checkpoint_text_name(self._c, i)
            self.metadata[text(name)] = text(lib.tenon_checkpoint_text(self._c, name))

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._names:
            raise KeyError(name)
        return self.read(name)

    def _view(self, name: str) -> Any:
        view = ffi.new("tenon_tensor *")
        check(lib.tenon_checkpoint_view(self._c, string("name", name), view))
        if view.dtype not in TYPES:
            raise TypeError(f"{name}: the type {text(lib.tenon_dtype_string(view.dtype))} is not supported")
        return view

    def shape(self, name: str) -> Any:
        """Returns the shape of a tensor."""
        view = self._view(name)
        return tuple(view.shape[0:view.rank])

    def dtype(self, name: str) -> str:
        """Returns the element type of a tensor, for example "f32"."""
        return TYPES[self._view(name).dtype]

    def read(self, name: str, start: int = 0, stop: Optional[int] = None, out: Optional[Tensor] = None,
             stream: Optional[Stream] = None) -> Tensor:
        """Reads the entries [start, stop) of a tensor's first dimension; by default all of them.

        Reads to `out`, which may have any strides, or to a new tensor.
        """
        view = self._view(name)
        sizes = list(view.shape[0:view.rank])
        start = integer("start", start, 0, 2**63 - 1)
        if out is None:
            if sizes:
                stop = sizes[0] if stop is None else integer("stop", stop, start, sizes[0])
                sizes[0] = max(stop - start, 0)
            out = empty(sizes, TYPES[view.dtype], context_of(self._context))
        elif stop is not None:
            raise TypeError("read: stop is not used together with out, whose shape has the number of entries")
        if stream is None and self._stream is not None and self._stream.context is out.context:
            stream = self._stream
        used = stream_of(stream, out.context)
        out.memory.use(used)
        with used.lock:
            check(lib.tenon_checkpoint_read(used._c, self._c, string("name", name), start, out._c))
        return out

    def close(self) -> None:
        """Closes the file."""
        if self._c != ffi.NULL:
            ffi.release(self._c)
            self._c = ffi.NULL  # which every call rejects

    def __enter__(self) -> "Checkpoint":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def save(path: Path, tensors: Mapping[str, Operand], metadata: Optional[Mapping[str, str]] = None,
         stream: Optional[Stream] = None) -> None:
    """Saves tensors to a file, which is replaced as a whole or not at all.

    The format is safetensors. To resume training with the same bits, save the parameters and the optimizer's state as
    tensors, and the step and the random numbers' seed and sequence as metadata.

    Parameters
    ----------
    path : str or os.PathLike
        The file; a symbolic link is replaced.
    tensors : mapping of str to Tensor or numpy.ndarray
        Of any strides, and of any contexts.
    metadata : mapping of str to str, default None
        Texts.
    stream : Stream, default None
        The stream of the copies; None: the stream of each tensor's context.

    Returns
    -------
    None

    Raises
    ------
    InvalidArgument (ValueError)
        A name is not valid Unicode.
    FileError (OSError)
        The file cannot be written, for example because the disk is full; an earlier file is unchanged.
    """
    given = {name: _tensor(x, stream) for name, x in tensors.items()}
    with CheckpointWriter(path, given, metadata) as writer:
        for name, x in given.items():
            writer.write(name, x, stream=stream)


def load(path: Path, context: Optional[Context] = None, stream: Optional[Stream] = None) -> Dict[str, Tensor]:
    """Reads all tensors of a file; use Checkpoint for its metadata, and for parts of it.

    Parameters
    ----------
    path : str or os.PathLike
        A file of tenon.save, or of another program in the format safetensors.
    context, stream
        As for Checkpoint.

    Returns
    -------
    dict of str to Tensor
        In the order of their elements in the file.

    Raises
    ------
    FileError (OSError)
        The file cannot be read, is truncated or is not valid.
    Unsupported (NotImplementedError), TypeError
        A tensor has an element type that tensors lack, for example "U64".
    """
    with Checkpoint(path, context, stream) as checkpoint:
        return dict(checkpoint)


class Termination:
    """Records requests to end (SIGTERM) during a `with` block, instead of ending the process.

        with tenon.Termination() as termination:
            while step < steps and not termination.requested:
                ...
        tenon.save(...)
    """

    def __enter__(self) -> "Termination":
        check(lib.tenon_termination_watch())
        return self

    def __exit__(self, *error: Any) -> None:
        lib.tenon_termination_unwatch()

    @property
    def requested(self) -> bool:
        """True if a request has arrived since the beginning of the first watch of the process."""
        return bool(lib.tenon_termination_requested())

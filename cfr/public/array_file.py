"""One file of named arrays, in the layout of safetensors: written piece by piece, read so or memory-mapped.

    write_arrays("a.run", {"magic": "mine"}, [Member("sums", np.dtype("<f4"), (n,), pieces)])
    file = ArrayFile.open("a.run", "mine", 1)
    file.mapped("sums")

No array is held twice, and none is pickled. Every array has a CRC-32 in the header, which `read_into` and
`check` compare; the header has one of its own, which `open` compares where there is one: it came later. Other
programs read the files by `safetensors.numpy.load_file`.
"""

from __future__ import annotations

import json
import mmap
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.support.files import open_regular, replacing

MOST_HEADER = 1 << 20
"""Bytes of the longest header that is read."""
PIECE = 1 << 22
"""Entries that are read or written at once."""
_NAMES = {
    "F64": "<f8",
    "I64": "<i8",
    "U64": "<u8",
    "F32": "<f4",
    "I32": "<i4",
    "I16": "<i2",
    "U16": "<u2",
    "I8": "<i1",
}
_META = "__metadata__"
_OWN = "header"
"""The key of the header's own checksum."""


class ArrayFileError(ValueError):
    """A file of arrays that is damaged, of another kind or a newer format: file, rule, next step."""


@dataclass(frozen=True)
class Member:
    """One array to write.

    dtype, shape: of the whole. pieces: makes the arrays of that dtype whose entries, one after another, are
    the array's.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    pieces: Callable[[], Iterable[NDArray[Any]]]

    @classmethod
    def of(cls, name: str, array: NDArray[Any]) -> Member:
        """Return what writes an array that is in memory, or mapped."""
        return cls(name, array.dtype, array.shape, lambda: pieces_of(array))

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


def raw_bytes(array: NDArray[Any]) -> memoryview:
    """Return the bytes of a contiguous array, not copied."""
    data: Any = array.reshape(-1).view(np.uint8)
    return memoryview(data)


def pieces_of(array: NDArray[Any]) -> Iterable[NDArray[Any]]:
    """Yield an array in order, in flat pieces of a few million entries."""
    flat = array.reshape(-1)
    for start in range(0, len(flat), PIECE):
        yield flat[start : start + PIECE]


def write_arrays(path: str | Path, meta: dict[str, Any], members: Sequence[Member]) -> None:
    """Write a file that appears whole or not at all.

    meta: what JSON can hold; "magic" and "format" say what the file is. members: of types of `_NAMES`.
    Raises FileProblem if it cannot be written, ArrayFileError if pieces are not as long as they should be.
    """
    # Longest entries first, so that every array is aligned; the checksums have their places kept.
    order = sorted(members, key=lambda member: -member.dtype.itemsize)
    checks = {member.name: "0" * 8 for member in order}
    with replacing(path) as file:
        file.write(_header(meta, order, checks))
        for member in order:
            checksum, written = 0, 0
            for piece in member.pieces():
                view = raw_bytes(np.ascontiguousarray(piece, member.dtype))
                checksum, written = zlib.crc32(view, checksum), written + len(view)
                file.write(view)
            if written != member.nbytes:
                raise ArrayFileError(f"{path}: {member.name} must have {member.nbytes} bytes; got {written}")
            checks[member.name] = f"{checksum:08x}"
        file.seek(0)
        file.write(_header(meta, order, checks))


def _header(meta: dict[str, Any], members: Sequence[Member], checks: dict[str, str]) -> bytes:
    kinds = {np.dtype(text): name for name, text in _NAMES.items()}
    places: dict[str, Any] = {}
    at = 0
    for member in members:
        places[member.name] = {
            "dtype": kinds[member.dtype],
            "shape": list(member.shape),
            "data_offsets": [at, at + member.nbytes],
        }
        at += member.nbytes
    whole = {**meta, "checksums": checks}
    about = {_META: {"gs2": json.dumps({**whole, _OWN: _header_check(whole, places)})}, **places}
    text = json.dumps(about).encode()
    text += b" " * (-(len(text) + 8) % 64)
    return len(text).to_bytes(8, "little") + text


def _header_check(meta: dict[str, Any], places: dict[str, Any]) -> str:
    """Return the CRC-32 of what a header says."""
    said = {name: value for name, value in meta.items() if name != _OWN}
    return f"{zlib.crc32(json.dumps([said, places], sort_keys=True).encode()):08x}"


def is_array_file(path: str | Path, magic: str) -> bool:
    """Return whether a file is there and says that it is of this kind; nothing else of it is looked at."""
    try:
        with open_regular(path) as file:
            meta, _ = _read_header(path, file.read(8), file.read)
    except (OSError, ValueError):
        return False
    return bool(meta.get("magic") == magic)


def _read_header(
    path: str | Path, first: bytes, read: Callable[[int], bytes]
) -> tuple[dict[str, Any], dict[str, Any]]:
    length = int.from_bytes(first, "little")
    if len(first) < 8 or not 2 <= length <= MOST_HEADER:
        raise ArrayFileError(
            f"{path}: the file must be an array file written by gs2; it is not; name another, or make "
            "it again"
        )
    try:
        about = json.loads(read(length))
        meta = json.loads(about.pop(_META)["gs2"])
        if not isinstance(meta, dict) or not isinstance(meta["checksums"], dict):
            raise TypeError(_META)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise ArrayFileError(
            f"{path}: the file must be an array file written by gs2; it is not, or its header is damaged; "
            "name another, or make it again"
        ) from None
    return meta, about


class ArrayFile:
    """A file of arrays that was opened; its arrays are read when asked for.

    meta: what it says of itself.
    """

    def __init__(
        self, path: Path, meta: dict[str, Any], places: dict[str, tuple[Any, ...]], data: mmap.mmap
    ) -> None:
        self.path, self.meta = path, meta
        self._places, self._map, self._data = places, data, memoryview(data)

    @classmethod
    def open(cls, path: str | Path, magic: str, newest: int) -> ArrayFile:
        """Return a file, memory-mapped, once its header is known to be right.

        magic: what the file must be. newest: the newest format that is read.
        Raises ArrayFileError; FileNotFoundError if there is none, FileProblem if it may not be read.
        """
        with open_regular(path) as file:
            meta, about = _read_header(path, file.read(8), file.read)
            if meta.get("magic") != magic:
                raise ArrayFileError(f"{path}: it must be a {magic} file; it is a {meta.get('magic')!r}")
            if not isinstance(meta.get("format"), int) or not 1 <= meta["format"] <= newest:
                raise ArrayFileError(
                    f"{path}: its format must be at most {newest}; it is {meta.get('format')!r}; "
                    "use a newer gs2"
                )
            start = file.tell()
            end = file.seek(0, 2)
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        places = {}
        try:
            at = 0
            for name, place in about.items():
                dtype, shape = np.dtype(_NAMES[place["dtype"]]), tuple(place["shape"])
                if not all(type(n) is int and 0 <= n < 1 << 48 for n in shape):
                    raise ValueError(name)
                size = dtype.itemsize * int(np.prod(shape, dtype=object))
                if place["data_offsets"] != [at, at + size]:
                    raise ValueError(name)
                places[name] = (dtype, shape, start + at, size, int(meta["checksums"][name], 16))
                at += size
            if start + at != end:
                raise ValueError("length")
            if meta.get(_OWN) not in (None, _header_check(meta, about)):
                raise ValueError(_OWN)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ArrayFileError(
                f"{path}: its arrays are not where its header says, or it is damaged; make it again"
            ) from None
        return cls(Path(path), meta, places, data)

    def require(self, shapes: dict[str, tuple[Any, tuple[int, ...]]]) -> None:
        """Raise ArrayFileError unless these arrays, and no others, are there: name -> (dtype, shape)."""
        found = {name: (place[0], place[1]) for name, place in self._places.items()}
        wanted = {name: (np.dtype(dtype), shape) for name, (dtype, shape) in shapes.items()}
        for name in wanted.keys() | found.keys():
            if wanted.get(name) != found.get(name):
                raise ArrayFileError(
                    f"{self.path}: array {name} must be {wanted.get(name, 'left out')}; it is "
                    f"{found.get(name, 'missing')}; make the file again"
                )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arrays."""
        return tuple(self._places)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array. Raises ArrayFileError if it is not there."""
        shape: tuple[int, ...] = self._place(name)[1]
        return shape

    def mapped(self, name: str) -> NDArray[Any]:
        """Return an array whose pages are read when they are looked at; nothing may be written to it."""
        dtype, shape, at, size, _ = self._place(name)
        return np.frombuffer(self._data[at : at + size], dtype).reshape(shape)

    def read_into(self, name: str, out: NDArray[Any]) -> None:
        """Fill an array of the same number of entries, piece by piece.

        Raises ArrayFileError if the checksum is wrong; `out` is then filled all the same.
        """
        flat, target = self.mapped(name).reshape(-1), out.reshape(-1)
        checksum = 0
        for start in range(0, len(flat), PIECE):
            piece = target[start : start + PIECE]
            piece[:] = flat[start : start + PIECE]
            checksum = zlib.crc32(raw_bytes(piece), checksum)
            self.let_go()
        self._compare(name, checksum)

    def check(self, names: Iterable[str] | None = None) -> None:
        """Raise ArrayFileError if the checksum of an array is wrong. names: of those read, by default all."""
        for name in self._places if names is None else names:
            checksum = 0
            for piece in pieces_of(self.mapped(name)):
                checksum = zlib.crc32(raw_bytes(piece), checksum)
                self.let_go()
            self._compare(name, checksum)

    def let_go(self) -> None:
        """Let the pages go that were read: they would count as this process's memory."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)

    def _place(self, name: str) -> tuple[Any, ...]:
        if name not in self._places:
            raise ArrayFileError(f"{self.path}: array {name} is missing; make the file again")
        return self._places[name]

    def _compare(self, name: str, checksum: int) -> None:
        if checksum != self._places[name][4]:
            raise ArrayFileError(f"{self.path}: array {name} is damaged; make the file again")

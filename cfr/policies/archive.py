"""Archives of arrays (.npz), looked at before they are unpacked: a few bytes may stand for gigabytes.

with open_regular(path) as file:
    archive = Archive(file, most=memory_limit())
    archive.require({"probs": ("f", 1)})
    probs = archive["probs"]
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

__all__ = ["Archive", "ArchiveError"]

MOST_RATIO = 100
"""Bytes that one byte of a file may become. Policies reach 12, runs that have just begun some 60."""
ALWAYS = 1 << 26
"""Bytes that any file may become."""
_SUFFIX = ".npy"


class ArchiveError(ValueError):
    """An archive that is none, or holds what it may not: the rule and what was found."""


class Archive:
    """An archive whose arrays were looked at: which there are, of which type and shape, and how large.

    names: of the arrays. Nothing is unpacked until an array is asked for by its name.
    """

    def __init__(self, file: BinaryIO, *, most: float) -> None:
        """Look at an open file, which stays open. most: bytes of all arrays together.

        Raises ArchiveError for one that would become larger, or whose parts contradict each other;
        zipfile.BadZipFile and OSError for what is no archive.
        """
        self._zip = zipfile.ZipFile(file)
        members = self._zip.infolist()
        size, packed = sum(member.file_size for member in members), os.fstat(file.fileno()).st_size
        allowed = min(most, max(ALWAYS, MOST_RATIO * packed))
        if size > allowed:
            raise ArchiveError(
                f"its arrays must take at most {allowed / 2**20:,.0f} MB; they take {size / 2**20:,.0f} MB, "
                f"packed into {packed / 2**20:,.1f} MB"
            )
        self._members = {member.filename.removesuffix(_SUFFIX): member for member in members}
        if len(self._members) != len(members):
            raise ArchiveError("every array must have its own name; one name comes twice")
        self._kinds = {name: self._header(name) for name in self._members}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arrays."""
        return tuple(self._members)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array. Raises KeyError if there is none of this name."""
        return self._kinds[name][1]

    def require(self, kinds: Mapping[str, tuple[str, int]]) -> None:
        """Raise ArchiveError unless these arrays are there: name -> (kinds of dtype, dimensions)."""
        for name, (letters, dimensions) in kinds.items():
            if name not in self._kinds:
                raise ArchiveError(f"it must hold {name}")
            dtype, shape = self._kinds[name]
            if dtype.kind not in letters or len(shape) != dimensions:
                raise ArchiveError(f"{name} must have {dimensions} dimensions; it is {dtype} {list(shape)}")

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return an array, unpacked. Raises KeyError if there is none of this name."""
        with self._zip.open(self._members[name]) as member:
            found: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
        return found

    def _header(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Return the type and shape of an array, whose bytes must be as many as they say."""
        member = self._members[name]
        with self._zip.open(member) as file:
            version = np.lib.format.read_magic(file)
            readers = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }
            if version not in readers:
                raise ArchiveError(f"{name} must be of version 1.0 or 2.0; it is of {version}")
            shape, _, dtype = readers[version](file)
            size = dtype.itemsize
            for length in shape:
                size *= length
            if dtype.hasobject or min(shape, default=0) < 0 or file.tell() + size != member.file_size:
                raise ArchiveError(f"{name} must have the size that its header says, and no objects")
        return dtype, shape

"""Rows of an array that is compressed inside a zip: it can only be read from front to back."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.data.npz import REMEDY, Header
from efface.data.table import readable
from efface.errors import DataError


@dataclass(frozen=True)
class Inflated:
    """An array of a zip. Each process keeps its place in it, so that parts that are asked for in
    their order cost one pass in all."""

    path: Path
    member: str
    offset: int
    header: Header

    @property
    def rows(self) -> int:
        return self.header.shape[0]

    @property
    def dim(self) -> int:
        return self.header.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.header.dtype

    def read(self, start: int, rows: int) -> NDArray[Any]:
        with readable(str(self.path), REMEDY):
            if self.header.fortran:
                return np.ascontiguousarray(_whole(self, _stamp(self.path))[start : start + rows])
            row = self.dim * self.dtype.itemsize
            place = _stream(self, _stamp(self.path))
            data = place.read(self.offset + start * row, rows * row)
            if start + rows == self.rows:
                place.end()
        return np.frombuffer(data, self.dtype).reshape(rows, self.dim)

    def pick(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Single rows, in ascending order."""
        out = np.empty((len(rows), self.dim), self.dtype)
        for at, row in enumerate(rows.tolist()):
            out[at] = self.read(row, 1)[0]
        return out


class _Place:
    """An open member and how far it has been read."""

    def __init__(self, array: Inflated) -> None:
        self._path = array.path
        self._archive = zipfile.ZipFile(array.path)
        self._stream: Any = self._archive.open(array.member)

    def read(self, at: int, size: int) -> bytearray:
        self._stream.seek(at)  # forward by reading, backward from the start again
        out = bytearray(size)
        view = memoryview(out)
        while view:
            got = self._stream.readinto(view)
            if not got:
                raise DataError(f"{self._path}: cannot be read (an array ends early): {REMEDY}")
            view = view[got:]
        return out

    def end(self) -> None:
        """The checksum is compared at the end of the member, and only if one gets there."""
        self._stream.read(1)


def _stamp(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


@lru_cache(maxsize=1)
def _stream(array: Inflated, stamp: tuple[int, int]) -> _Place:
    return _Place(array)


@lru_cache(maxsize=1)
def _whole(array: Inflated, stamp: tuple[int, int]) -> NDArray[Any]:
    """In Fortran order no row is in one piece: all of it is needed."""
    with zipfile.ZipFile(array.path) as archive, archive.open(array.member) as stream:
        found: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        stream.read(1)
        return found

"""Rows of an array that lies plainly in a file, read and written where they are.

Read with ``pread`` and not through a mapping: memory stays flat, and a file that is cut short under
our feet is an error and not a signal.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.data.npz import REMEDY, Header
from efface.errors import DataError


@dataclass(frozen=True)
class Plain:
    """Where in a file the elements of an array are."""

    path: Path
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

    @property
    def end(self) -> int:
        return self.offset + self.rows * self.dim * self.dtype.itemsize

    def check(self) -> None:
        if self.path.stat().st_size < self.end:
            raise DataError(f"{self.path}: cannot be read (it is cut short): {REMEDY}")

    def read(self, start: int, rows: int) -> NDArray[Any]:
        """``rows`` rows from ``start`` on, in C order."""
        with _opened(self.path) as file:
            if self.header.fortran:
                return self._columns(file, start, rows)
            out = np.empty((rows, self.dim), self.dtype)
            self._fill(file, out, start * self.dim)
            return out

    def _columns(self, file: int, start: int, rows: int) -> NDArray[Any]:
        """Of an array in Fortran order each column is one run."""
        columns = np.empty((self.dim, rows), self.dtype)
        for index, column in enumerate(columns):
            self._fill(file, column, index * self.rows + start)
        return np.ascontiguousarray(columns.T)

    def _fill(self, file: int, out: NDArray[Any], first: int) -> None:
        view = out.reshape(-1).view(np.uint8).data
        at = self.offset + first * self.dtype.itemsize
        while view:
            got = os.preadv(file, [view], at)
            if not got:
                raise DataError(f"{self.path}: cannot be read (it is cut short): {REMEDY}")
            view, at = view[got:], at + got

    def pick(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Single rows, in the order given."""
        out = np.empty((len(rows), self.dim), self.dtype)
        for at, row in enumerate(rows.tolist()):
            out[at] = self.read(row, 1)[0]
        return out


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    file = os.open(path, os.O_RDONLY)
    try:
        yield file
    finally:
        os.close(file)


def header_bytes(shape: tuple[int, int], dtype: np.dtype[Any]) -> bytes:
    """What stands before the elements of a ``.npy`` file in C order."""
    import io

    out = io.BytesIO()
    fields = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": shape,
    }
    np.lib.format.write_array_header_1_0(out, fields)
    return out.getvalue()

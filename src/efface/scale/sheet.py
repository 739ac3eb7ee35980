"""Unit vectors where every worker can map them, with the person of each row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError
from efface.measure.pairs import Tile


@dataclass(frozen=True, eq=False)
class Sheet:
    """Unit vectors in a ``.npy`` file that every worker can map, and a person code for each row.

    Files whose rows are grouped by person are read in one go, others row by row.
    """

    path: str
    person: NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "person", np.asarray(self.person, np.int64))
        shape = self._mapped.shape
        if len(shape) != 2 or len(self.person) != shape[0] or not len(self.person):
            raise DataError(
                f"{self.path}: vectors of shape {shape} and {len(self.person)} person codes: "
                "there has to be one code for every row, and at least one row"
            )
        if self.person.min() < 0:
            raise DataError(f"{self.path}: person codes are 0..m-1, one is {self.person.min()}")

    @property
    def dim(self) -> int:
        return int(self._mapped.shape[1])

    @cached_property
    def codes(self) -> NDArray[np.int32]:
        """Person codes of the rows in the order in which they are scored: by person."""
        order = self.order
        return np.ascontiguousarray(self.person if order is None else self.person[order], np.int32)

    @cached_property
    def order(self) -> NDArray[np.int64] | None:
        """Rows of the file by person; None where the file has that order."""
        if (np.diff(self.person) >= 0).all():
            return None
        return np.argsort(self.person, kind="stable")

    @cached_property
    def _mapped(self) -> NDArray[Any]:
        try:
            mapped: NDArray[Any] = np.load(self.path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise DataError(
                f"{self.path}: cannot be mapped ({error}): give a .npy file that every worker "
                "sees under this path"
            ) from error
        if mapped.dtype.kind != "f":
            raise DataError(f"{self.path}: {mapped.dtype} are no vectors: store them as float32")
        return mapped

    def read(self, start: int, stop: int) -> Tile:
        """Rows in the order of scoring, with their codes; all have to have unit length."""
        rows = slice(start, stop) if self.order is None else self.order[start:stop]
        vectors = np.ascontiguousarray(self._mapped[rows], np.float32)
        squares = np.einsum("ij,ij->i", vectors, vectors)
        bad = np.flatnonzero(~(np.abs(squares - 1) < 1e-3))
        if bad.size:
            row = int(bad[0]) + start if self.order is None else int(self.order[start + bad[0]])
            raise DataError(
                f"{self.path}: row {row} (counted from 0) has length {squares[bad[0]] ** 0.5:.4g}: "
                "bring the rows to unit length first"
            )
        return vectors, self.codes[start:stop]

    def __getstate__(self) -> dict[str, Any]:
        """The file stays where it is."""
        return {"path": self.path, "person": self.person}

"""FAISS index files: flat, HNSW and inverted lists, with or without a map of ids.

The order of the rows is that of the index; where vectors lie in lists it is that of their ids.
The target is an index of the same form, built anew from clean vectors alone: lists are trained
again and graphs linked again, for both are drawn from the vectors that were there before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError, StoreError
from efface.stores import disk
from efface.stores.address import Address
from efface.stores.arrays import ArraySink
from efface.stores.contract import Chunk, Part, Shape
from efface.stores.faiss_build import build
from efface.stores.faiss_form import Form
from efface.stores.faiss_rows import Rows, opened
from efface.stores.filesource import (
    check_kind,
    check_target,
    drawn,
    even_parts,
    fingerprint,
    selected,
)
from efface.stores.npyfile import header_bytes


class FaissSource:
    """Vectors of one index, mapped from its file where FAISS can do so."""

    kind: ClassVar[str] = "faiss"

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def place(self) -> str:
        return str(self.path)

    @property
    def rows(self) -> Rows:
        return opened(self.path)

    @property
    def form(self) -> Form:
        return self.rows.form

    @cached_property
    def shape(self) -> Shape:
        return Shape(self.rows.total, self.form.dim, self.form.dtype)

    def fingerprint(self) -> str:
        return fingerprint([("", self.path)])

    def parts(self, rows: int) -> Sequence[Part]:
        return list(even_parts(self.shape.rows, rows))

    def read(self, part: Part) -> Chunk:
        chosen = slice(part.start, part.start + part.rows)
        return Chunk(self.rows.vectors(chosen), None, self.rows.labels(chosen).tolist())

    def select(self, chunk: Chunk, rows: NDArray[np.bool_]) -> Chunk:
        return selected(chunk, rows, None)

    def sample(self, rows: int, rng: np.random.Generator) -> tuple[Sequence[Any], NDArray[Any]]:
        chosen = drawn(self.shape.rows, rows, rng)
        return self.rows.labels(chosen).tolist(), self.rows.vectors(chosen)


class FaissSink(ArraySink):
    """Rows go into an array first; the index is built in memory when all are there."""

    kind: ClassVar[str] = "faiss"

    def complete(self) -> Path:
        disk.flush(self.array)
        made = self.work.path / "index.faiss"
        build(self._vectors(), self.read_from.rows.ids(), self.read_from.form, made)
        disk.flush(made)
        return made

    def _vectors(self) -> NDArray[Any]:
        shape = self.read_from.shape
        dtype = np.dtype(shape.dtype)
        offset = len(header_bytes((shape.rows, shape.dim), dtype))
        return np.memmap(self.array, dtype, "r", offset, (shape.rows, shape.dim))

    def open(self, path: Path) -> FaissSource:
        return FaissSource(path)


def open_source(address: Address) -> FaissSource:
    path = Path(address.location)
    if not path.is_file():
        raise DataError(f"{path}: no such file: check the path")
    return FaissSource(path)


def open_sink(address: Address, source: Any) -> FaissSink:
    check_kind("faiss", source)
    target = Path(address.location)
    check_target(source.path, target)
    lists, rows = source.form.lists, source.shape.rows
    if lists > rows:
        raise StoreError(
            f"{source.place}: has {lists} lists for {rows} vectors: too few to train the lists "
            "again on clean vectors (make an index with fewer lists)"
        )
    return FaissSink(target, source)

"""``.npy`` files, also larger than memory, in C or Fortran order. The CSV beside one holds for the
target too and is not copied. Targets are in C order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from efface.data.npy import NpyTable
from efface.data.npz import REMEDY, Header, read_header, refuse_objects
from efface.data.readers import existing
from efface.data.table import choose_vectors, readable
from efface.errors import DataError
from efface.stores import disk
from efface.stores.address import Address
from efface.stores.arrays import ArraySink
from efface.stores.contract import Chunk, Part, Shape
from efface.stores.filesource import (
    check_kind,
    check_target,
    drawn,
    even_parts,
    fingerprint,
    selected,
)
from efface.stores.npyfile import Plain


class NpySource:
    """Rows of one array in a file."""

    kind: ClassVar[str] = "npy"

    def __init__(self, path: Path, embedding: str | None = None) -> None:
        self.path = path
        self.name = choose_vectors(NpyTable(path), embedding)

    @property
    def place(self) -> str:
        return str(self.path)

    @cached_property
    def array(self) -> Plain:
        with readable(self.place, REMEDY), self.path.open("rb") as stream:
            header = read_header(stream)
            offset = stream.tell()
        check_matrix(header, self.place, self.name)
        plain = Plain(self.path, offset, header)
        plain.check()
        return plain

    @property
    def shape(self) -> Shape:
        return Shape(self.array.rows, self.array.dim, dtype_name(self.array.dtype))

    def fingerprint(self) -> str:
        return fingerprint([("", self.path)])

    def parts(self, rows: int) -> Sequence[Part]:
        return list(even_parts(self.shape.rows, rows))

    def read(self, part: Part) -> Chunk:
        vectors = self.array.read(part.start, part.rows)
        return Chunk(vectors, None, range(part.start, part.start + part.rows))

    def select(self, chunk: Chunk, rows: NDArray[np.bool_]) -> Chunk:
        return selected(chunk, rows, None)

    def sample(self, rows: int, rng: np.random.Generator) -> tuple[Sequence[Any], NDArray[Any]]:
        chosen = drawn(self.shape.rows, rows, rng)
        return chosen.tolist(), self.array.pick(chosen)


class NpySink(ArraySink):
    kind: ClassVar[str] = "npy"

    def complete(self) -> Path:
        disk.flush(self.array)
        return self.array

    def open(self, path: Path) -> NpySource:
        return NpySource(path)


def open_source(address: Address) -> NpySource:
    return NpySource(existing(address.location), address.embedding)


def open_sink(address: Address, source: Any) -> NpySink:
    check_kind("npy", source)
    target = Path(address.location)
    check_target(source.path, target)
    return NpySink(target, source)


def check_matrix(header: Header, place: str, name: str) -> None:
    refuse_objects(header.dtype, place, name)
    if header.dtype.kind not in "fiu":
        raise DataError(
            f"{place}: vectors of type {header.dtype} are not numeric: convert them to float32"
        )
    if header.dtype.itemsize > 8:
        raise DataError(
            f"{place}: vectors of type {header.dtype} differ from machine to machine: convert them "
            "to float64"
        )
    if any(type(size) is not int or size < 0 for size in header.shape):
        raise DataError(f"{place}: cannot be read (an array of shape {header.shape}): {REMEDY}")
    if len(header.shape) != 2:
        raise DataError(
            f"{place}: vectors must be a 2-D array (rows x dimensions), got shape {header.shape}"
        )
    if 0 in header.shape:
        raise DataError(f"{place}: there are no vectors (shape {header.shape}): give at least one")


def dtype_name(dtype: np.dtype[Any]) -> str:
    """``float32``; with its byte order where that is not the machine's own (``>f4``)."""
    return dtype.name if dtype.isnative else dtype.str

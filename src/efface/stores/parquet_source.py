"""Rows of Parquet files, one file after another in the order of their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from efface.data.parquet import ParquetTable
from efface.data.table import PARQUET
from efface.errors import DataError
from efface.stores.columns import element_type, fixed_width, vector_column
from efface.stores.contract import Chunk, Part, Shape
from efface.stores.filesource import RowNames, cut, drawn_with_vector, fingerprint, selected
from efface.stores.parquet_file import opened

_HIDDEN = (".", "_")


class ParquetSource:
    """A file, or every Parquet file below a folder; hidden files, ``_SUCCESS`` and the like are
    passed over."""

    kind: ClassVar[str] = "parquet"

    def __init__(self, path: Path, embedding: str | None = None) -> None:
        self.path = path
        first = self._full(self.files[0])
        self.name = vector_column(ParquetTable(first), opened(first).schema, embedding)
        self.shape = self._shape()

    def __getstate__(self) -> dict[str, Any]:
        """Workers find their part by its own words: lists of files stay at home."""
        kept = {"path", "name", "shape"}
        return {key: value for key, value in self.__dict__.items() if key in kept}

    @property
    def place(self) -> str:
        return str(self.path)

    @cached_property
    def files(self) -> list[str]:
        """Below the folder, with ``/``; of a single file the empty name."""
        if not self.path.is_dir():
            return [""]
        found = [path.relative_to(self.path) for path in self.path.rglob("*")]
        for path in found:
            if (self.path / path).is_symlink() and (self.path / path).is_dir() and _shown(path):
                raise DataError(
                    f"{self.path / path}: is a link to a folder, which is not followed: put the "
                    "folder itself there, or erase it as a store of its own"
                )
        names = sorted(path.as_posix() for path in found if _is_data(path))
        files = [name for name in names if self._full(name).is_file()]
        if not files:
            raise DataError(
                f"{self.path}: no {' or '.join(PARQUET)} files in this folder: name a file"
            )
        return files

    @cached_property
    def _rows(self) -> list[int]:
        return [opened(self._full(name)).rows for name in self.files]

    def _full(self, name: str) -> Path:
        return self.path / name if name else self.path

    def _shape(self) -> Shape:
        first = opened(self._full(self.files[0])).schema
        for name in self.files[1:]:
            _compare(self._full(name), first, self.files[0])
        rows = sum(self._rows)
        width = fixed_width(first, self.name) or (self._first_width() if rows else 0)
        return Shape(rows, width, element_type(first, self.name).name)

    def _first_width(self) -> int:
        for name, rows in zip(self.files, self._rows, strict=True):
            width = opened(self._full(name)).first_width(self.name) if rows else None
            if width == 0:
                raise DataError(
                    f"{self._full(name)}: the vectors in column {self.name!r} have no elements: "
                    "write it again"
                )
            if width is not None:
                return width
        raise DataError(f"{self.path}: column {self.name!r} has no vector in any row")

    def fingerprint(self) -> str:
        """Of every file's name, size, time of change, and both ends: the footer is one of them."""
        return fingerprint((name, self._full(name)) for name in self.files)

    def parts(self, rows: int) -> Sequence[Part]:
        """No part crosses a file. Small row groups go together, large ones are divided."""
        found: list[Part] = []
        before = 0
        for name, held in zip(self.files, self._rows, strict=True):
            groups = [group.rows for group in opened(self._full(name)).footer.groups]
            for start, count in cut(groups, rows):
                found.append(Part(len(found), before + start, count, f"{start}:{name}"))
            before += held
        return found

    def read(self, part: Part) -> Chunk:
        start, name = located(part)
        file = opened(self._full(name))
        found = file.read(self.name, self.shape.dim, start, part.rows)
        numbers = range(start, start + part.rows)
        labels = RowNames(name, numbers) if name else numbers
        return Chunk(found.vectors, found.rest, labels, found.present)

    def select(self, chunk: Chunk, rows: NDArray[np.bool_]) -> Chunk:
        rest = None if chunk.rest is None else chunk.rest.filter(rows)
        return selected(chunk, rows, rest)

    def sample(self, rows: int, rng: np.random.Generator) -> tuple[Sequence[Any], NDArray[Any]]:
        """Uniform among the rows that have a vector; only pages that hold a drawn row are read."""
        labels, vectors = drawn_with_vector(self.shape.rows, rows, rng, self._single)
        return labels, np.concatenate([np.empty((0, self.shape.dim), self.shape.dtype), *vectors])

    def _single(self, rows: NDArray[np.int64]) -> tuple[list[Any], list[NDArray[Any]]]:
        labels: list[Any] = []
        vectors: list[NDArray[Any]] = []
        for name, numbers in self._located(rows):
            file = opened(self._full(name))
            for number in numbers.tolist():
                found = file.vectors(self.name, self.shape.dim, number, 1)
                if found.present is None:
                    vectors.append(found.vectors)
                    labels.append(f"{name}:{number}" if name else number)
        return labels, vectors

    def _located(self, chosen: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Rows in ascending order, by file and number in it."""
        before = 0
        for name, held in zip(self.files, self._rows, strict=True):
            low, high = np.searchsorted(chosen, [before, before + held])
            if high > low:
                yield name, chosen[low:high] - before
            before += held


def located(part: Part) -> tuple[int, str]:
    """The row of its file at which a part begins, and the file."""
    start, _, name = part.where.partition(":")
    return int(start), name


def _is_data(path: Path) -> bool:
    return path.suffix.lower() in PARQUET and _shown(path)


def _shown(path: Path) -> bool:
    return not any(p.startswith(_HIDDEN) or p.endswith(".efface-work") for p in path.parts)


def _compare(path: Path, first: Any, named: str) -> None:
    """Refuse a file whose columns are not those of the first one; their order may differ."""
    schema = opened(path).schema
    for name in [*first.names, *schema.names]:
        if name not in schema.names or name not in first.names:
            there, other = (named, path) if name not in schema.names else (path, named)
            raise DataError(
                f"{path}: column {name!r} is in {there} and not in {other}: give every file of "
                "the folder the same columns"
            )
        kinds = schema.field(name).type, first.field(name).type
        if kinds[0] != kinds[1]:
            raise DataError(
                f"{path}: column {name!r} is {kinds[0]}, in {named} it is {kinds[1]}: give every "
                "file of the folder the same types"
            )

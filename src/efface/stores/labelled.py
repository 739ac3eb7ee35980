"""Stored vectors with the person of every row, for fitting where they lie.

One column of labels beside the vectors: Parquet (a file or a folder), Arrow IPC, ``.npy`` with a
CSV, ``.npz``. Workers read the rows of their own part and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from efface.data.arrow import label_array, vector_array
from efface.data.identities import as_column
from efface.data.ipc import REMEDY as IPC_REMEDY
from efface.data.ipc import IpcTable, is_stream
from efface.data.parquet import ParquetTable, batches, parquet_file
from efface.data.readers import PathLike, open_table
from efface.data.table import Table, choose_labels, choose_vectors, readable
from efface.errors import DataError
from efface.scale.moments import PART_ROWS, Block, Labelled

_BATCH_ROWS = 8192


def open_labelled(
    path: PathLike,
    *,
    identity: str = "identity",
    embedding: str | None = None,
    labels: PathLike | None = None,
) -> Labelled:
    """Columns are chosen as :func:`efface.load` does."""
    table = open_table(path, labels)
    name = choose_vectors(table, embedding)
    choose_labels(table, identity, [], name)
    file, person = str(path), identity
    if isinstance(table, ParquetTable):
        return LabelledParquet(file, name, person)
    if isinstance(table, IpcTable):
        return LabelledIpc(file, name, person)
    return LabelledTable(file, name, person, None if labels is None else str(labels))


@dataclass(frozen=True)
class Rows:
    """A part of a file: its rows, and the row groups or record batches that hold them."""

    file: str
    start: int
    count: int
    groups: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.file}, rows {self.start} to {self.start + self.count - 1}"


@dataclass(frozen=True)
class LabelledParquet:
    """Parts are whole row groups of one file; they are read a few thousand rows at a time."""

    place: str
    embedding: str
    identity: str

    @property
    def dim(self) -> int:
        for part in self.parts(1):
            return int(next(self.blocks(part)).vectors.shape[1])
        raise DataError(f"{self.place}: no rows: give at least two vectors")

    def parts(self, rows: int) -> Sequence[Rows]:
        found: list[Rows] = []
        for path in ParquetTable(Path(self.place)).files:
            with parquet_file(path) as file:
                self._check(path, file)
                meta = file.metadata
                sizes = [meta.row_group(g).num_rows for g in range(meta.num_row_groups)]
            found += _joined(str(path), sizes, rows)
        return found

    def blocks(self, part: Rows) -> Iterator[Block]:
        path, start = Path(part.file), part.start
        columns = [self.embedding, self.identity]
        with parquet_file(path) as file:
            chosen = _Chosen(file, part.groups)
            for batch in batches(chosen, path, _BATCH_ROWS, columns):
                yield _block(batch, self.embedding, self.identity, part.file, start)
                start += len(batch)

    def _check(self, path: Path, file: Any) -> None:
        for name in (self.embedding, self.identity):
            if name not in file.schema_arrow.names:
                raise DataError(
                    f"{path}: no column {name!r}: give every file of the folder the same columns"
                )


@dataclass(frozen=True)
class _Chosen:
    """A Parquet file of which only some row groups are read."""

    file: Any
    groups: tuple[int, ...]

    def iter_batches(self, **options: Any) -> Any:
        return self.file.iter_batches(row_groups=list(self.groups), **options)


@dataclass(frozen=True)
class LabelledIpc:
    """Parts are whole record batches of a mapped Arrow file."""

    place: str
    embedding: str
    identity: str

    @property
    def dim(self) -> int:
        for part in self.parts(1):
            return int(next(self.blocks(part)).vectors.shape[1])
        raise DataError(f"{self.place}: no rows: give at least two vectors")

    def parts(self, rows: int) -> Sequence[Rows]:
        sizes = [batch.num_rows for _, batch in self._batches([self.identity])]
        return _joined(self.place, sizes, rows)

    def blocks(self, part: Rows) -> Iterator[Block]:
        start = part.start
        for _, batch in self._batches([self.embedding, self.identity], part.groups):
            with readable(self.place, IPC_REMEDY):
                batch.validate(full=True)
            for first in range(0, len(batch), PART_ROWS):
                some = batch.slice(first, PART_ROWS)
                yield _block(some, self.embedding, self.identity, self.place, start)
                start += len(some)

    def _batches(
        self, columns: Sequence[str], wanted: Sequence[int] | None = None
    ) -> Iterator[tuple[int, Any]]:
        path = Path(self.place)
        with readable(self.place, IPC_REMEDY), pa.memory_map(self.place) as source:
            names = pa.ipc.open_stream(source) if is_stream(path) else pa.ipc.open_file(source)
            fields = [names.schema.names.index(name) for name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with pa.memory_map(self.place) as source:
            yield from _numbered_batches(source, path, options, wanted)


def _numbered_batches(
    source: Any, path: Path, options: Any, wanted: Sequence[int] | None
) -> Iterator[tuple[int, Any]]:
    """A file knows where its batches lie; a stream has to be followed from its beginning."""
    last = None if wanted is None else max(wanted, default=-1)
    with readable(str(path), IPC_REMEDY):
        stream = is_stream(path)
        opened: Any = pa.ipc.open_stream if stream else pa.ipc.open_file
        reader = opened(source, options=options)
        count = None if stream else reader.num_record_batches
    index = 0
    while count is None or index < count:
        if last is not None and index > last:
            return
        if stream or wanted is None or index in wanted:
            with readable(str(path), IPC_REMEDY):
                try:
                    batch = reader.read_next_batch() if stream else reader.get_batch(index)
                except StopIteration:
                    return
            if wanted is None or index in wanted:
                yield index, batch
        index += 1


@dataclass(frozen=True)
class LabelledTable:
    """``.npy`` with a CSV, or ``.npz``: sliced from an array; every process reads the labels."""

    place: str
    embedding: str
    identity: str
    labels: str | None = None

    @property
    def dim(self) -> int:
        return int(self._vectors.shape[1])

    def parts(self, rows: int) -> Sequence[Rows]:
        total = len(self._vectors)
        return [Rows(self.place, s, min(rows, total - s)) for s in range(0, total, rows)]

    def blocks(self, part: Rows) -> Iterator[Block]:
        rows = slice(part.start, part.start + part.count)
        people = _people(self._people[rows], self.place, part.start)
        yield Block(self._vectors[rows], people, self.place, part.start)

    @cached_property
    def _table(self) -> Table:
        return open_table(self.place, self.labels)

    @cached_property
    def _vectors(self) -> NDArray[Any]:
        return self._table.vectors(self.embedding)

    @cached_property
    def _people(self) -> NDArray[Any]:
        return as_column(self._table.columns([self.identity], self.identity)[self.identity])

    def __getstate__(self) -> dict[str, Any]:
        """Paths travel, arrays do not."""
        return {k: v for k, v in vars(self).items() if not k.startswith("_")}


def _joined(file: str, sizes: Sequence[int], rows: int) -> list[Rows]:
    """Consecutive groups until they have at least so many rows."""
    found: list[Rows] = []
    start, count = 0, 0
    groups: list[int] = []
    for group, size in enumerate(sizes):
        count, groups = count + size, [*groups, group]
        if count >= rows or (count and group == len(sizes) - 1):
            found.append(Rows(file, start, count, tuple(groups)))
            start, count, groups = start + count, 0, []
    return found


def _block(batch: Any, embedding: str, identity: str, place: str, start: int) -> Block:
    vectors = vector_array(batch.column(embedding), place, embedding, start)
    people = label_array(batch.column(identity), place, identity)
    return Block(vectors, _people(as_column(people), place, start), place, start)


def _people(labels: NDArray[Any], place: str, start: int) -> NDArray[Any]:
    """Text or whole numbers without gaps, or a message that names the first bad row."""
    if labels.dtype.kind in "iu":
        return labels
    for row, label in enumerate(labels.tolist()):
        if label is None or label != label or (isinstance(label, str) and not label.strip()):
            raise DataError(
                f"{place}: no identity in row {start + row} (counted from 0): name the person or "
                "remove the row"
            )
    if labels.dtype.kind != "U":
        raise DataError(f"{place}: identities are {labels.dtype}: use text or whole numbers")
    return labels

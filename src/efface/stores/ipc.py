"""Arrow IPC files and streams, Feather files among them; told apart by their first bytes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from efface.data.ipc import REMEDY, IpcTable
from efface.data.readers import existing
from efface.data.table import readable
from efface.errors import DataError, StoreError
from efface.stores import disk
from efface.stores.address import Address
from efface.stores.columns import (
    column_of,
    element_type,
    first_width,
    fixed_width,
    vector_column,
    vectors_of,
)
from efface.stores.contract import Chunk, Done, Job, Part, Shape
from efface.stores.filesink import FileSink
from efface.stores.filesource import (
    check_kind,
    check_target,
    cut,
    drawn_with_vector,
    fingerprint,
    selected,
)
from efface.stores.ipc_messages import Batches, scan
from efface.stores.workfolder import Entry


class IpcSource:
    """Record batches of one file, mapped: what is not compressed is read where it lies."""

    kind: ClassVar[str] = "ipc"

    def __init__(self, path: Path, embedding: str | None = None) -> None:
        self.path = path
        table = IpcTable(path)
        self.name = vector_column(table, table.schema, embedding)
        self.schema = table.schema
        self.shape = self._shape()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "batches"}

    @property
    def place(self) -> str:
        return str(self.path)

    @cached_property
    def batches(self) -> Batches:
        return scan(self.path)

    def _shape(self) -> Shape:
        width = fixed_width(self.schema, self.name) or self._first_width()
        dtype = element_type(self.schema, self.name)
        return Shape(sum(self.batches.rows), width, dtype.name)

    def _first_width(self) -> int:
        for number, rows in enumerate(self.batches.rows):
            with readable(self.place, REMEDY):
                batch = _opened(self.path).batch(number)
                width = first_width(batch.column(self.name)) if rows else None
            if width == 0:
                raise DataError(
                    f"{self.place}: the vectors in column {self.name!r} have no elements: write "
                    "it again"
                )
            if width is not None:
                return width
        if sum(self.batches.rows):
            raise DataError(f"{self.place}: column {self.name!r} has no vector in any row")
        return 0

    def fingerprint(self) -> str:
        return fingerprint([("", self.path)])

    def parts(self, rows: int) -> Sequence[Part]:
        """Small batches go together, large ones are divided."""
        pieces = cut(self.batches.rows, rows)
        return [Part(index, start, count) for index, (start, count) in enumerate(pieces)]

    def read(self, part: Part) -> Chunk:
        table = self._table(part.start, part.rows)
        vectors, present = vectors_of(
            table.column(self.name), self.place, self.name, part.start, self.shape.dim
        )
        labels = range(part.start, part.start + part.rows)
        return Chunk(vectors, table.drop_columns([self.name]), labels, present)

    def _table(self, start: int, rows: int) -> Any:
        """Rows of the file, still in its batches."""
        found = []
        with readable(self.place, REMEDY):
            for number, a, b in self._touched(start, rows):
                piece = _opened(self.path).batch(number).slice(a, b - a)
                piece.validate(full=True)  # no offset may point outside of its buffers
                found.append(piece)
            return pa.Table.from_batches(found, self.schema)

    def _touched(self, start: int, rows: int) -> Iterator[tuple[int, int, int]]:
        """(batch, first row in it, row behind the last)."""
        ends = np.cumsum(self.batches.rows)
        number = int(np.searchsorted(ends, start, side="right"))
        while rows:
            held = self.batches.rows[number]
            a = start - (int(ends[number]) - held)
            b = min(held, a + rows)
            yield number, a, b
            start, rows, number = start + b - a, rows - (b - a), number + 1

    def select(self, chunk: Chunk, rows: NDArray[np.bool_]) -> Chunk:
        return selected(chunk, rows, chunk.rest.filter(rows))

    def sample(self, rows: int, rng: np.random.Generator) -> tuple[Sequence[Any], NDArray[Any]]:
        """Uniform among the rows that have a vector."""
        labels, vectors = drawn_with_vector(self.shape.rows, rows, rng, self._single)
        return labels, np.concatenate([np.empty((0, self.shape.dim), self.shape.dtype), *vectors])

    def _single(self, rows: NDArray[np.int64]) -> tuple[list[Any], list[NDArray[Any]]]:
        labels: list[Any] = []
        vectors: list[NDArray[Any]] = []
        for number in rows.tolist():
            column = self._table(number, 1).column(self.name)
            found, present = vectors_of(column, self.place, self.name, number, self.shape.dim)
            if present is None:
                labels.append(number)
                vectors.append(found)
        return labels, vectors


class _Reader:
    """An open file, its last batch kept: parts of one large batch decode it once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream = scan(path).stream
        self._last: tuple[int, Any] = -1, None
        self._open()

    def _open(self) -> None:
        source = pa.memory_map(str(self._path))
        self._reader = pa.ipc.open_stream(source) if self._stream else pa.ipc.open_file(source)
        self._next = 0

    def batch(self, number: int) -> Any:
        if self._last[0] != number:
            self._last = -1, None
            self._last = number, self._fetched(number)
        return self._last[1]

    def _fetched(self, number: int) -> Any:
        if not self._stream:
            return self._reader.get_batch(number)
        if number < self._next:
            self._open()
        while True:  # a stream has no index: what lies between is passed over
            batch = self._reader.read_next_batch()
            self._next += 1
            if self._next > number:
                return batch


def _opened(path: Path) -> _Reader:
    stat = path.stat()
    return _reader(path, stat.st_ino, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=2)
def _reader(path: Path, inode: int, size: int, changed: int) -> _Reader:
    return _Reader(path)


class IpcSink(FileSink):
    """Parts are streams of their own until all are there; then they become one file.

    A record batch may speak of words that earlier ones brought, so batches can only be written one
    after another, by one writer.
    """

    kind: ClassVar[str] = "ipc"

    def start(self, job: Job) -> None:
        (self.work.path / "parts").mkdir()

    def _part(self, index: int) -> Path:
        return self.work.path / "parts" / f"{index:08}.arrows"

    def prepare(self, part: Part, chunk: Chunk, vectors: NDArray[Any]) -> Any:
        schema = self.read_from.schema
        column = column_of(vectors, schema.field(self.read_from.name).type, chunk.present)
        index = schema.names.index(self.read_from.name)
        table = chunk.rest.add_column(index, schema.field(index), column).cast(schema)
        final = self._part(part.index)
        partial = final.with_name(f"{final.name}.{secrets.token_hex(4)}")
        with disk.writing(self.place):
            try:
                with pa.OSFile(str(partial), "wb") as file, _stream_writer(file, schema) as writer:
                    writer.write_table(table)
                os.replace(partial, final)
            finally:
                partial.unlink(missing_ok=True)
        return None

    def resume(self, entries: Sequence[Entry]) -> None:
        if not all(self._part(entry.done.index).exists() for entry in entries):
            raise StoreError(
                f"{self.work.path}: what an earlier run left is damaged: remove that folder to "
                "start afresh"
            )

    def absorb(self, part: Part, prepared: Any) -> tuple[dict[str, Any], list[Path]]:
        return {}, [self._part(part.index)]

    def complete(self) -> Path:
        joined = self.work.path / "joined.arrow"
        batches, schema = self.read_from.batches, self.read_from.schema
        # A column of text codes may gain words from batch to batch, which the file form only
        # takes as deltas.
        options = pa.ipc.IpcWriteOptions(compression=batches.codec, emit_dictionary_deltas=True)
        make = pa.ipc.new_stream if batches.stream else pa.ipc.new_file
        with pa.OSFile(str(joined), "wb") as file, make(file, schema, options=options) as writer:
            for entry in self._entries:
                for batch in _stream_batches(self._part(entry.done.index)):
                    writer.write_batch(batch)
        disk.flush(joined)
        return joined

    def written(self, part: Part, done: Done) -> NDArray[Any]:
        start = self.start_of(part)
        chunk = self.open(self.target).read(Part(part.index, start, done.rows))
        return chunk.vectors if chunk.present is None else chunk.vectors[chunk.present]

    def open(self, path: Path) -> IpcSource:
        return IpcSource(path, self.read_from.name)


def _stream_writer(file: Any, schema: Any) -> Any:
    return pa.ipc.new_stream(
        file, schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    )


def _stream_batches(path: Path) -> Iterator[Any]:
    with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as reader:
        yield from reader


def open_source(address: Address) -> IpcSource:
    return IpcSource(existing(address.location), address.embedding)


def open_sink(address: Address, source: Any) -> IpcSink:
    check_kind("ipc", source)
    target = Path(address.location)
    check_target(source.path, target)
    return IpcSink(target, source)

"""One Parquet file, read by rows: vectors from its pages, all else through Arrow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from efface.data.arrow import check_names
from efface.data.parquet import REMEDY
from efface.data.table import readable
from efface.stores.columns import element_type, first_width, vectors_of
from efface.stores.parquet_footer import Footer, Leaf, read_footer
from efface.stores.parquet_pages import (
    Layout,
    Page,
    codec_name,
    plain_from,
    read_values,
    scan,
)

_BATCH = 4096
_BATCH_BYTES = 1 << 20
_BUFFER = 1 << 20
_PHYSICAL = {(4, 0): "<f4", (5, 0): "<f8", (7, 2): "<f2"}


@dataclass(frozen=True)
class Rows:
    """Rows of a file: vectors, which of them are there (None: all), and the other columns."""

    vectors: NDArray[Any]
    present: NDArray[np.bool_] | None
    rest: Any


class ParquetRows:
    """An opened file. Processes keep the last few, so that parts of one file open it once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = str(path)
        self.footer: Footer = read_footer(path)
        with readable(self.place, REMEDY), pq.ParquetFile(path) as file:
            self.schema = file.schema_arrow
        check_names(self.schema, self.place)
        self._cursors: dict[tuple[str, ...], _Cursor] = {}
        self._pages: tuple[int, list[Page]] = -1, []

    @property
    def rows(self) -> int:
        return self.footer.rows

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum([0, *(group.rows for group in self.footer.groups)])

    def leaf(self, name: str) -> int | None:
        """The leaf of a column of vectors; None where it is not kept as one."""
        found = [at for at, leaf in enumerate(self.footer.leaves) if leaf.names[0] == name]
        return found[0] if len(found) == 1 else None

    def first_width(self, name: str) -> int | None:
        """Elements of the first vector there is; None where no row has one."""
        with readable(self.place, REMEDY), pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(64, columns=[name], use_threads=False):
                if (width := first_width(batch.column(0))) is not None:
                    return width
        return None

    def read(self, name: str, dim: int, start: int, rows: int) -> Rows:
        """``rows`` rows from ``start`` on."""
        parts = [
            self._of_group(group, name, dim, a, b) for group, a, b in self._groups(start, rows)
        ]
        if len(parts) == 1:
            return parts[0]
        present = None
        if any(part.present is not None for part in parts):
            present = np.concatenate([_there(part) for part in parts])
        rest = None if parts[0].rest is None else pa.concat_tables(part.rest for part in parts)
        return Rows(np.concatenate([part.vectors for part in parts]), present, rest)

    def vectors(self, name: str, dim: int, start: int, rows: int) -> Rows:
        """Without the other columns."""
        parts = [self._vectors(group, name, dim, a, b) for group, a, b in self._groups(start, rows)]
        if not parts:
            return Rows(np.empty((0, dim), element_type(self.schema, name)), None, None)
        vectors = np.concatenate([vectors for vectors, _ in parts])
        present = np.concatenate([np.ones(len(v), bool) if p is None else p for v, p in parts])
        return Rows(vectors, None if present.all() else present, None)

    def _groups(self, start: int, rows: int) -> Iterator[tuple[int, int, int]]:
        """(row group, first row in it, row behind the last)."""
        starts = self._starts
        group = int(np.searchsorted(starts, start, side="right")) - 1
        while rows:
            a = start - int(starts[group])
            b = min(self.footer.groups[group].rows, a + rows)
            if b > a:
                yield group, a, b
            start, rows, group = start + b - a, rows - (b - a), group + 1

    def _of_group(self, group: int, name: str, dim: int, a: int, b: int) -> Rows:
        vectors, present = self._vectors(group, name, dim, a, b)
        others = [field for field in self.schema.names if field != name]
        if not others:
            return Rows(vectors, present, None)
        with readable(self.place, REMEDY):
            rest = self._cursor(group, others, _BATCH).rows(a, b)
        return Rows(vectors, present, rest)

    def _vectors(
        self, group: int, name: str, dim: int, a: int, b: int
    ) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        layout = self._layout(group, name, dim)
        if layout is None:
            return self._decoded(group, name, dim, a, b)
        out = np.empty((b - a, dim), layout.dtype)
        with readable(self.place, REMEDY):
            file = os.open(self.path, os.O_RDONLY)
            try:
                pages = self._scanned(file, group, name)
                plain = min(b, max(a, -(-plain_from(pages) // dim)))
                values = out[plain - a :].reshape(-1)
                whole = read_values(file, pages, layout, plain * dim, values)
            finally:
                os.close(file)
        if not whole:
            return self._decoded(group, name, dim, a, b)
        if plain > a:  # the first pages have a dictionary, until it grew too large
            found, present = self._decoded(group, name, dim, a, plain)
            if present is not None:
                return self._decoded(group, name, dim, a, b)
            out[: plain - a] = found
        return out, None

    def _layout(self, group: int, name: str, dim: int) -> Layout | None:
        """How the pages are laid out, where they can be plain rows of whole vectors."""
        at = self.leaf(name)
        if at is None:
            return None
        leaf: Leaf = self.footer.leaves[at]
        found = self.footer.groups[group]
        column = found.columns[at]
        dtype = _PHYSICAL.get((leaf.physical, leaf.width))
        codec = codec_name(column.codec)
        if dtype is None or codec is None or leaf.repetitions != 1:
            return None
        if element_type(self.schema, name) != np.dtype(dtype) or column.values != found.rows * dim:
            return None
        return Layout(dim, np.dtype(dtype), leaf.definitions, codec)

    def _scanned(self, file: int, group: int, name: str) -> list[Page]:
        if self._pages[0] != group:
            at = self.leaf(name)
            self._pages = group, list(scan(file, self.footer.groups[group].columns[at or 0]))
        return self._pages[1]

    def _decoded(
        self, group: int, name: str, dim: int, a: int, b: int
    ) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        with readable(self.place, REMEDY):
            table = self._cursor(
                group, [name], max(32, min(_BATCH, _BATCH_BYTES // (4 * dim)))
            ).rows(a, b)
        start = int(self._starts[group]) + a
        return vectors_of(table.column(0), self.place, name, start, dim)

    def _cursor(self, group: int, columns: Sequence[str], batch: int) -> _Cursor:
        """Of each choice of columns the last row group stays open."""
        key = tuple(columns)
        found = self._cursors.get(key)
        if found is None or found.group != group:
            found = self._cursors[key] = _Cursor(self.path, group, columns, batch)
        return found


class _Cursor:
    """Columns of a row group from front to back: what lies between two parts is decoded and
    forgotten, a batch at a time."""

    def __init__(self, path: Path, group: int, columns: Sequence[str], batch: int) -> None:
        self.group = group
        self._path, self._columns, self._batch = path, list(columns), batch
        self._restart()

    def _restart(self) -> None:
        # Not the buffer of a whole column chunk, which may be larger than memory.
        file = pq.ParquetFile(self._path, buffer_size=_BUFFER, page_checksum_verification=True)
        self._batches = file.iter_batches(
            self._batch, row_groups=[self.group], columns=self._columns, use_threads=False
        )
        self._at = 0
        self._held: Any = None

    def rows(self, start: int, stop: int) -> Any:
        """A table of rows ``start`` to ``stop`` of the group."""
        if start < self._at:
            self._restart()
        found = []
        while self._at < stop:
            batch = self._held if self._held is not None else next(self._batches, None)
            if batch is None:
                raise ValueError("a row group has fewer rows than it says")
            end = self._at + len(batch)
            if end <= start:
                self._at, self._held = end, None
                continue
            used = min(stop, end)
            first = max(start, self._at)
            found.append(batch.slice(first - self._at, used - first))
            self._held = batch.slice(used - self._at) if used < end else None
            self._at = used
        return pa.Table.from_batches(found).select(self._columns)


def _there(part: Rows) -> NDArray[np.bool_]:
    return np.ones(len(part.vectors), bool) if part.present is None else part.present


def opened(path: Path) -> ParquetRows:
    """The file, if it is still the one that was opened before; else opened again."""
    stat = path.stat()
    return _opened(path, stat.st_ino, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4)
def _opened(path: Path, inode: int, size: int, changed: int) -> ParquetRows:
    return ParquetRows(path)

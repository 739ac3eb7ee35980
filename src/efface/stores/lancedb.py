"""LanceDB tables in a local folder: ``lancedb:PATH#TABLE``.

The vector column is a fixed-size list of float16, float32 or float64. All other columns come along
as they are, and the order of the rows is that of the table. A source stays at the version at which
it was opened, whatever is written to the table meanwhile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError, StoreError
from efface.stores.address import Address
from efface.stores.contract import Chunk, Part, Shape, Sink
from efface.stores.filesource import drawn, even_parts, selected
from efface.stores.lancedb_table import (
    Vectors,
    folder_of,
    open_table,
    reaching,
    values_of,
    vector_column,
)


@dataclass(frozen=True)
class LanceSource:
    """One version of a table."""

    folder: Path
    table: str
    vectors: Vectors
    version: int
    key: str | None = None
    _open: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    kind: ClassVar[str] = "lancedb"

    @property
    def place(self) -> str:
        return f"lancedb:{self.folder}#{self.table}"

    @property
    def path(self) -> Path:
        return folder_of(self.folder, self.table)

    @cached_property
    def shape(self) -> Shape:
        with reaching(self.place):
            rows = int(self._handle().count_rows())
        return Shape(rows, self.vectors.dim, self.vectors.dtype)

    def schema(self) -> Any:
        return self._handle().schema

    def indexes(self) -> list[str]:
        """``name (kind on column)`` of every index of the table."""
        with reaching(self.place):
            found = self._handle().list_indices()
        return [f"{i.name} ({i.index_type} on {', '.join(i.columns)})" for i in found]

    def fingerprint(self) -> str:
        """Of the newest version, its time and its number of rows: any write makes another one."""
        with reaching(self.place):
            table = open_table(self.folder, self.table)
            newest = max(table.list_versions(), key=lambda known: int(known["version"]))
            # No metadata: Lance gives it in another order each time.
            columns = [(field.name, str(field.type)) for field in table.schema]
            facts = (newest["version"], newest["timestamp"], table.count_rows(), columns)
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def parts(self, rows: int) -> Sequence[Part]:
        return list(even_parts(self.shape.rows, rows))

    def read(self, part: Part) -> Chunk:
        with reaching(self.place):
            query = self._handle().search().offset(part.start).limit(part.rows)
            rows = query.to_arrow()
        vectors, present = values_of(rows[self.vectors.name], self.vectors)
        start = part.start
        labels = rows[self.key].to_pylist() if self.key else range(start, start + len(rows))
        return Chunk(vectors, rows, labels, None if present.all() else present)

    def select(self, chunk: Chunk, rows: NDArray[np.bool_]) -> Chunk:
        import pyarrow as pa

        return selected(chunk, rows, chunk.rest.filter(pa.array(rows)))

    def sample(self, rows: int, rng: np.random.Generator) -> tuple[Sequence[Any], NDArray[Any]]:
        """Uniform among the rows that have a vector."""
        with reaching(self.place):
            filled = int(self._handle().count_rows(f"`{self.vectors.name}` IS NOT NULL"))
        if filled == self.shape.rows:
            return self._taken(drawn(self.shape.rows, rows, rng))
        labels: list[Any] = []
        found: list[NDArray[Any]] = [np.zeros((0, self.vectors.dim), self.vectors.dtype)]
        order, at = rng.permutation(self.shape.rows), 0
        while len(labels) < min(rows, filled):
            wanted = rows - len(labels)
            more, vectors = self._taken(np.sort(order[at : at + wanted]))
            labels, found, at = [*labels, *more], [*found, vectors], at + wanted
        return labels, np.concatenate(found)

    def _taken(self, chosen: NDArray[np.int64]) -> tuple[list[Any], NDArray[Any]]:
        """Those of the rows at these places that have a vector; the places ascend."""
        with reaching(self.place):
            rows = self._handle().take_offsets(chosen.tolist()).to_arrow()
        vectors, present = values_of(rows[self.vectors.name], self.vectors)
        labels = rows[self.key].to_pylist() if self.key else chosen.tolist()
        kept = np.flatnonzero(present)
        return [labels[row] for row in kept.tolist()], vectors[kept]

    def _handle(self) -> Any:
        if "table" not in self._open:
            table = open_table(self.folder, self.table)
            table.checkout(self.version)
            self._open["table"] = table
        return self._open["table"]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def open_source(address: Address) -> LanceSource:
    folder = _local(address)
    return source_of(folder, address.table, address.embedding, address.key)


def source_of(
    folder: Path, name: str, embedding: str | None = None, key: str | None = None
) -> LanceSource:
    place = f"lancedb:{folder}#{name}"
    with reaching(place):
        table = open_table(folder, name)
        vectors = vector_column(table.schema, embedding, place)
        version = int(table.version)
    if key is not None and key not in table.schema.names:
        raise DataError(f"{place}: no column {key!r}: it has {', '.join(table.schema.names)}")
    return LanceSource(folder, name, vectors, version, key)


def open_sink(address: Address, source: Any) -> Sink:
    from efface.stores.lancedb_sink import LanceSink, check_name

    folder = _local(address)
    if source.kind != "lancedb":
        raise StoreError(
            f"{source.place}: a {source.kind} store cannot be written as a LanceDB table: name a "
            "target of the same kind"
        )
    if not folder.is_dir():
        raise StoreError(f"{folder}: there is no such folder: make it first")
    return LanceSink(folder_of(folder, check_name(address.table)), source)


def _local(address: Address) -> Path:
    if "://" in address.location:
        raise StoreError(
            f"lancedb: {address.table} is in object storage or in the cloud, where no name can be "
            "changed at once: copy the table to a local folder first"
        )
    return Path(address.location)

"""Qdrant: points with a vector each, in a server's collection or in a folder of the embedded mode.

Parts are runs of ids in Qdrant's own order. A folder can be open in one process only: such a
source says ``local_only``, and the work is then done in this process.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from efface.errors import StoreError
from efface.stores.address import Address
from efface.stores.contract import Chunk, Part, Shape, Sink, Source
from efface.stores.qd import collection, connect
from efface.stores.qd.collection import Field, Point
from efface.stores.qd.connect import Opened

_LOOKED_AT = 512


@dataclass
class QdrantSource:
    """A collection to read from, by its name or an alias."""

    location: str = field(repr=False)
    collection: str
    vector: Field
    shape: Shape
    _opened: Opened | None = field(default=None, repr=False, compare=False)

    kind: ClassVar[str] = "qdrant"

    @property
    def place(self) -> str:
        return connect.place(self.location, self.collection)

    @property
    def local_only(self) -> bool:
        """A folder is open in one process at a time."""
        return not connect.is_remote(self.location)

    @property
    def client(self) -> Any:
        if self._opened is None:
            self._opened = connect.opened(self.location)
        return self._opened.client

    def fingerprint(self) -> str:
        """Every id, and the whole of up to 512 points spread evenly among them.

        It sees points that come or go. A changed vector or payload it sees only in those points.
        """
        seen = hashlib.sha256(f"{self.vector}".encode())
        with connect.speaking(self.place):
            ids = list(collection.ids(self.client, self.collection))
            seen.update(json.dumps(ids).encode())
            spread = ids[:: -(-len(ids) // _LOOKED_AT)] if ids else []
            for point in sorted(self._points(spread), key=lambda p: str(p.id)):
                text = json.dumps(point.model_dump(mode="json"), sort_keys=True)
                seen.update(text.encode())
        return seen.hexdigest()

    def parts(self, rows: int) -> Sequence[Part]:
        with connect.speaking(self.place):
            ids = list(collection.ids(self.client, self.collection))
        starts = range(0, len(ids), rows)
        return [
            Part(index, start, len(ids[start : start + rows]), _range(ids, start, start + rows))
            for index, start in enumerate(starts)
        ]

    def read(self, part: Part) -> Chunk:
        first, following = json.loads(part.where)
        with connect.speaking(self.place):
            records, after = collection.run(
                self.client, self.collection, first, part.rows, self.shape.dim
            )
        if len(records) != part.rows or records[0].id != first or after != following:
            raise StoreError(
                f"{self.place}: points came or went from id {first} on while it was read (stop "
                "what writes to it, then start again with a new target)"
            )
        return self.chunk(records)

    def select(self, chunk: Chunk, rows: NDArray[np.bool_]) -> Chunk:
        kept = np.flatnonzero(rows).tolist()
        return Chunk(
            chunk.vectors[rows],
            [chunk.rest[row] for row in kept],
            [chunk.labels[row] for row in kept],
            None if chunk.present is None else chunk.present[rows],
        )

    def sample(self, rows: int, rng: np.random.Generator) -> tuple[Sequence[Any], NDArray[Any]]:
        """Exactly uniform: ids are drawn from all ids; points without the vector are passed by."""
        with connect.speaking(self.place):
            ids = list(collection.ids(self.client, self.collection))
            order = rng.permutation(len(ids)).tolist()
            labels: list[Any] = []
            found: list[NDArray[Any]] = []
            while order and len(labels) < rows:
                drawn, order = order[: rows - len(labels)], order[rows - len(labels) :]
                chunk = self.chunk(self._points([ids[row] for row in drawn]))
                has = np.ones(len(drawn), np.bool_) if chunk.present is None else chunk.present
                labels += [label for label, there in zip(chunk.labels, has, strict=True) if there]
                found.append(chunk.vectors[has])
        empty = np.zeros((0, self.shape.dim), self.shape.dtype)
        return labels, np.concatenate([empty, *found])

    def chunk(self, records: Sequence[Any]) -> Chunk:
        """Records as vectors and the rest."""
        vectors = np.zeros((len(records), self.shape.dim), self.shape.dtype)
        present = np.zeros(len(records), np.bool_)
        rest = []
        for row, record in enumerate(records):
            others = collection.vectors_of(record)
            vector = others.pop(self.vector.name, None)
            if vector is not None:
                vectors[row], present[row] = vector, True
            rest.append(Point(record.id, record.payload, others))
        labels = [record.id for record in records]
        return Chunk(vectors, rest, labels, None if present.all() else present)

    def held(self, part: Part, rows: int) -> NDArray[Any]:
        """The vectors of so many points from a part's first id on; those without are left out."""
        first, _ = json.loads(part.where)
        with connect.speaking(self.place):
            records, _ = collection.run(self.client, self.collection, first, rows, self.shape.dim)
        chunk = self.chunk(records)
        return chunk.vectors if chunk.present is None else chunk.vectors[chunk.present]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def _points(self, ids: Sequence[int | str]) -> list[Any]:
        """Whole points in the order of their ids as given."""
        found: list[Any] = []
        size = collection.batch(self.shape.dim)
        for start in range(0, len(ids), size):
            wanted = list(ids[start : start + size])
            page = self.client.retrieve(
                self.collection, wanted, with_payload=True, with_vectors=True
            )
            by_id = {record.id: record for record in page}
            found += [by_id[one] for one in wanted if one in by_id]
        return found


def open_source(address: Address) -> QdrantSource:
    where = connect.place(address.location, address.table)
    if not connect.is_remote(address.location):
        _require_folder(address.location, where)
    with connect.speaking(where):
        opened = connect.opened(address.location)
        collection.require(opened.client, address.table, where)
        found = collection.field(opened.client, address.table, address.embedding, where)
        rows = opened.client.count(address.table, exact=True).count
    shape = Shape(rows, found.dim, found.dtype)
    return QdrantSource(address.location, address.table, found, shape, opened)


def open_sink(address: Address, source: Source) -> Sink:
    from efface.stores.qd.sink import QdrantSink

    if not isinstance(source, QdrantSource):
        raise StoreError(
            f"qdrant: rows of {source.place} cannot go into a collection: ids and payload are "
            "those of another kind of store (choose a target of the source's kind)"
        )
    return QdrantSink(address.location, address.table, source)


def _require_folder(location: str, where: str) -> None:
    """The client would make a folder that is not there; a source has to be there."""
    if location == ":memory:":
        raise StoreError(f"{where}: what is in memory only cannot be opened again: name a folder")
    if not (Path(location) / "meta.json").is_file():
        raise StoreError(f"{where}: no Qdrant folder (it has no meta.json)")


def _range(ids: Sequence[int | str], start: int, stop: int) -> str:
    return json.dumps([ids[start], ids[stop] if stop < len(ids) else None])

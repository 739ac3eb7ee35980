"""Collections in a folder and behind a server's interface, and a look at them without efface."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from db_kills import DIM, RANK
from qdrant_client import QdrantClient, models
from qdrant_stub import Stub, serving
from store_erasers import drawn

from efface.stores.address import open_sink, open_source, parse
from efface.stores.contract import Sink
from efface.stores.engine import apply_store

ROWS, PART = 40, 9
ERASER = drawn(DIM, RANK)
IDS = [n * 5 for n in range(25)] + [str(uuid.UUID(int=n << 90)) for n in range(1, 16)]


@dataclass
class Place:
    """Where collections are, and a way to look at them that is not efface's."""

    location: str
    stub: Stub | None

    def address(self, name: str, **more: Any) -> Any:
        return parse(f"qdrant:{self.location}#{name}", **more)

    def look(self) -> Look:
        return Look(self)

    @property
    def remote(self) -> bool:
        return self.stub is not None


class Look:
    def __init__(self, place: Place) -> None:
        self.place = place

    def __enter__(self) -> QdrantClient:
        stub = self.place.stub
        self.client = stub.engine if stub else QdrantClient(path=self.place.location)
        return self.client

    def __exit__(self, *_: object) -> None:
        if not self.place.remote:
            self.client.close()


def some(rows: int = ROWS) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(rows, DIM)).astype(np.float32)


def load(place: Place, name: str = "items", distance: str = "Dot", *, gaps: bool = False) -> None:
    with place.look() as client:
        params = models.VectorParams(size=DIM, distance=models.Distance(distance))
        client.create_collection(name, vectors_config=params)
        points = [
            models.PointStruct(
                id=one, vector={} if gaps and row % 7 == 3 else vector.tolist(),
                payload={"row": row, "deep": {"a": [1, None, "ü"]}} if row % 5 else None,
            )
            for row, (one, vector) in enumerate(zip(IDS, some(), strict=True))
        ]  # fmt: skip
        client.upsert(name, points)


def apply(place: Place, source: str = "items", target: str = "clean", **more: Any) -> Sink:
    origin = open_source(place.address(source))
    sink = open_sink(place.address(target), origin)
    apply_store(ERASER, origin, sink, **{"part_rows": PART, "verify": "full", **more})
    return sink


def contents(place: Place, name: str) -> dict[Any, tuple[Any, Any]]:
    with place.look() as client:
        records, _ = client.scroll(name, limit=10_000, with_payload=True, with_vectors=True)
    return {record.id: (record.payload or {}, record.vector) for record in records}


def collections(place: Place) -> tuple[set[str], dict[str, str]]:
    with place.look() as client:
        names = {c.name for c in client.get_collections().collections}
        return names, {a.alias_name: a.collection_name for a in client.get_aliases().aliases}


def erased(rows: np.ndarray) -> np.ndarray:
    """In the same blocks as the engine: a product of another height may round differently."""
    blocks = [rows[start : start + PART] for start in range(0, len(rows), PART)]
    return np.concatenate([ERASER.transform(block).astype(rows.dtype) for block in blocks])


def require_erased(place: Place, name: str = "clean") -> None:
    before, after = contents(place, "items"), contents(place, name)
    assert list(after) == IDS
    for (one, (payload, vector)), want in zip(after.items(), erased(some()), strict=True):
        assert payload == before[one][0]
        assert np.array(vector, np.float32).tobytes() == want.tobytes()


def alias(place: Place, name: str, collection: str) -> None:
    with place.look() as client:
        made = models.CreateAlias(collection_name=collection, alias_name=name)
        client.update_collection_aliases([models.CreateAliasOperation(create_alias=made)])


def collections_of(client: QdrantClient) -> set[str]:
    return {c.name for c in client.get_collections().collections}


def require_erased_closely(place: Place) -> None:
    after = contents(place, "clean")
    assert list(after) == IDS
    for (_, vector), want in zip(after.values(), ERASER.transform(some()), strict=True):
        np.testing.assert_allclose(vector, want, atol=1e-6)


@contextmanager
def in_folder() -> Iterator[Place]:
    # In memory where that can be had: the embedded mode waits for the disk after every point.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as made:
        yield Place(made, None)


@contextmanager
def on_server() -> Iterator[Place]:
    with serving() as stub:
        yield Place(stub.url, stub)

"""A table of sixty rows that is to be erased, and what has to be there in the end."""

from __future__ import annotations

from typing import Any

import numpy as np
from db_kills import DIM, RANK
from pg_server import Database
from store_erasers import drawn

from efface.stores.address import open_sink, open_source
from efface.stores.engine import apply_store

ROWS, PART = 60, 10
ERASER = drawn(DIM, RANK)


def some(rows: int = ROWS) -> np.ndarray:
    return np.random.default_rng(2).normal(size=(rows, DIM)).astype(np.float32)


def apply(db: Database, to: Database | None = None, **more: Any) -> None:
    source = open_source(db.address("items"))
    sink = open_sink((to or db).address("clean"), source)
    apply_store(ERASER, source, sink, **{"part_rows": PART, **more})


def require_complete(db: Database, to: Database | None = None, where: str = "true") -> None:
    """Every row once, with its other columns, erased; and nothing else in the schema."""
    to = to or db
    columns = "SELECT id, name, vec IS NULL FROM {} WHERE {} ORDER BY id"
    assert to.rows(columns.format("clean", "true")) == db.rows(columns.format("items", where))
    source = open_source(db.address("items"))
    chunk = source.read(source.parts(10**6)[0])
    kept = {label for label, _, _ in to.rows(columns.format("clean", "true"))}
    has = np.ones(len(chunk.labels), bool) if chunk.present is None else chunk.present
    want = {
        label: ERASER.transform(vector[None])[0] for label, vector, there
        in zip(chunk.labels, chunk.vectors, has, strict=True) if there and label in kept
    }  # fmt: skip
    clean = open_source(to.address("clean"))
    held = clean.read(clean.parts(10**6)[0])
    there = np.ones(len(held.labels), bool) if held.present is None else held.present
    got = {k: v for k, v, has in zip(held.labels, held.vectors, there, strict=True) if has}
    assert got.keys() == want.keys()
    for label, vector in got.items():
        np.testing.assert_allclose(vector, want[label], atol=1e-6)
    assert to.tables() - {"items"} == {"clean", "efface_journal"}

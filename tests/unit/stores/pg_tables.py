"""Small tables, the engine over them, and what must come out."""

from __future__ import annotations

from typing import Any

import numpy as np
from pg_server import Database
from store_erasers import drawn

from efface.stores.address import open_sink, open_source
from efface.stores.contract import Sink, Source
from efface.stores.engine import apply_store

DIM = 8
ERASER = drawn(DIM, 2)
PART = 20


def some(rows: int = 50, dim: int = DIM, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, dim)).astype(np.float32)


def apply(source: Source, sink: Sink, **more: Any) -> None:
    apply_store(ERASER, source, sink, **{"part_rows": PART, "verify": "full", **more})


def copy(db: Database, table: str, target: str, to: Database | None = None, **more: Any) -> Sink:
    """The table erased into another one; the sink that did it."""
    source = open_source(db.address(table))
    sink = open_sink((to or db).address(target), source)
    apply(source, sink, **more)
    return sink


def erased(rows: np.ndarray) -> np.ndarray:
    """In the same blocks as the engine: a product of another height may round differently."""
    blocks = [rows[start : start + PART] for start in range(0, len(rows), PART)]
    return np.concatenate([ERASER.transform(block).astype(rows.dtype) for block in blocks])


def everything(source: Source) -> np.ndarray:
    parts = [source.read(part).vectors for part in source.parts(11)]
    return np.concatenate(parts)

"""LanceDB tables with everything that has to come along, and what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

DIM, ROWS = 8, 300
FLOATS = {"float16": pa.float16(), "float32": pa.float32(), "float64": pa.float64()}


def raw(dtype: str = "float32", rows: int = ROWS) -> np.ndarray:
    return np.random.default_rng(5).normal(size=(rows, DIM)).astype(dtype)


def rows(dtype: str = "float32", missing: bool = False, count: int = ROWS) -> pa.Table:
    """Every column but ``emb`` has to stay; with ``missing`` each seventh row has no vector."""
    kind = pa.list_(pa.field("item", FLOATS[dtype]), DIM)
    mask = pa.array(np.arange(count) % 7 == 2) if missing else None
    flat = pa.array(raw(dtype, count).reshape(-1), FLOATS[dtype])
    order = np.random.default_rng(6).permutation(count)
    return pa.table(
        {
            "id": pa.array(order, pa.int64()),
            "word": pa.array([None if i % 5 == 0 else f"ü{i}" for i in order]),
            "emb": pa.FixedSizeListArray.from_arrays(flat, type=kind, mask=mask),
            "tags": pa.array([[int(i), 1] for i in order], pa.list_(pa.int32())),
            "when": pa.array(order, pa.timestamp("us")),
        }
    ).replace_schema_metadata({"made by": "the tests"})


def make(folder: Path, name: str = "raw", *, dtype: str = "float32", missing: bool = False) -> Any:
    """In four fragments of uneven length, with some rows deleted afterwards."""
    import lancedb

    whole = rows(dtype, missing)
    table = lancedb.connect(str(folder)).create_table(name, whole.slice(0, 90))
    for start, count in ((90, 10), (100, 130), (230, 70)):
        table.add(whole.slice(start, count))
    table.delete("id % 50 = 3")
    return table


def kept(dtype: str = "float32", missing: bool = False) -> pa.Table:
    """What ``make`` leaves in the table, worked out here."""
    whole = rows(dtype, missing)
    return whole.filter(pa.array(np.asarray(whole["id"]) % 50 != 3))


def vectors_of(table: pa.Table) -> np.ndarray:
    column = table["emb"].combine_chunks()
    flat = column.flatten().to_numpy(zero_copy_only=False)  # rows without a vector left out
    return flat.reshape(-1, DIM)


def read(folder: Path, name: str) -> pa.Table:
    import lancedb

    return lancedb.connect(str(folder)).open_table(name).to_arrow()

"""Labelled people in every format that a fit reads where it lies, with many small parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

FORMATS = ("parquet", "folder", "feather", "lz4", "stream", "npy", "npz")


def people(rows: int = 240, dim: int = 12, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Vectors that differ by person in four directions, and a name each, in no order."""
    rng = np.random.default_rng(seed)
    person = rng.integers(0, rows // 6, rows)
    faces = rng.standard_normal((rows // 6, 4)) @ rng.standard_normal((4, dim))
    vectors = faces[person] + 0.5 * rng.standard_normal((rows, dim))
    return vectors.astype(np.float32), np.array([f"person {p:03d}" for p in person])


def table(vectors: np.ndarray, person: Any) -> pa.Table:
    lists = pa.list_(pa.float32(), vectors.shape[1])
    column = pa.array(list(vectors), type=lists)
    return pa.table({"note": ["x"] * len(vectors), "embedding": column, "person": person})


def write(vectors: np.ndarray, person: Any, kind: str, folder: Path) -> Path:
    """The people as a file of this kind; the tables in groups of 32 rows."""
    found = table(vectors, person)
    if kind == "folder":
        (folder / "set").mkdir()
        for i in range(0, len(vectors), 100):
            pq.write_table(found[i : i + 100], folder / f"set/{i:04d}.parquet", row_group_size=32)
        return folder / "set"
    if kind == "parquet":
        pq.write_table(found, path := folder / "people.parquet", row_group_size=32)
        return path
    if kind in ("feather", "lz4"):
        how = "lz4" if kind == "lz4" else "uncompressed"
        feather.write_feather(found, str(path := folder / "p.arrow"), how, chunksize=32)
        return path
    if kind == "stream":
        with pa.ipc.new_stream(str(path := folder / "s.arrow"), found.schema) as out:
            out.write_table(found, max_chunksize=32)
        return path
    if kind == "npz":
        np.savez(path := folder / "people.npz", embedding=vectors, person=np.asarray(person))
        return path
    np.save(path := folder / "people.npy", vectors)
    lines = "\n".join(["person", *map(str, person)])
    path.with_suffix(".csv").write_text(f"{lines}\n", encoding="utf-8")
    return path

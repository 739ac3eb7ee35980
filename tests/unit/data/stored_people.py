"""One small set of people in every format that efface reads, and a map to put it through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

LISTS: dict[str, Callable[[Any, int], Any]] = {
    "list": lambda value, width: pa.list_(value),
    "large_list": lambda value, width: pa.large_list(value),
    "fixed_size_list": lambda value, width: pa.list_(value, width),
}


@dataclass(frozen=True)
class People:
    """Vectors, who they show, and columns beside them."""

    vectors: np.ndarray
    person: list[str]
    age: list[int]

    @staticmethod
    def drawn(rows: int = 12, dim: int = 4, dtype: str = "float32", seed: int = 0) -> People:
        rng = np.random.default_rng(seed)
        vectors = rng.standard_normal((rows, dim)).astype(dtype)
        person = [f"p{i % (rows // 2)}" for i in range(rows)]
        return People(vectors, person, list(range(rows)))

    def table(self, kind: str = "list") -> pa.Table:
        value = pa.from_numpy_dtype(self.vectors.dtype)
        lists = LISTS[kind](value, self.vectors.shape[1])
        schema = pa.schema(
            [("person", pa.string()), pa.field("emb", lists), ("age", pa.int16())],
            metadata={"source": "camera 3"},
        )
        columns = [self.person, vector_column(self.vectors, lists), self.age]
        return pa.table(columns, schema=schema)


def vector_column(vectors: np.ndarray, kind: Any) -> Any:
    return pa.array(list(vectors), type=kind)


def write_npz(people: People, path: Path) -> None:
    np.savez(path, emb=people.vectors, person=np.array(people.person), age=np.array(people.age))


def write_npy(people: People, path: Path) -> None:
    np.save(path, people.vectors)
    rows = zip(people.person, people.age, strict=True)
    text = "\n".join(["person,age", *(f"{who},{age}" for who, age in rows)])
    path.with_suffix(".csv").write_text(text + "\n", encoding="utf-8")


def write_parquet(people: People, path: Path) -> None:
    pq.write_table(people.table(), path, row_group_size=5)


def write_arrow_file(people: People, path: Path) -> None:
    table = people.table("fixed_size_list")
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=5)


def write_arrow_stream(people: People, path: Path) -> None:
    table = people.table("large_list")
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=5)


def write_feather(people: People, path: Path) -> None:
    feather.write_feather(people.table(), str(path))


WRITERS: dict[str, Callable[[People, Path], None]] = {
    "emb.npz": write_npz,
    "emb.npy": write_npy,
    "emb.parquet": write_parquet,
    "emb.pq": write_parquet,
    "emb.arrow": write_arrow_file,
    "emb.ipc": write_arrow_stream,
    "emb.feather": write_feather,
}


def npz(path: Path, **arrays: Any) -> Path:
    np.savez(path / "emb.npz", **arrays)
    return path / "emb.npz"


WHO = np.array(["a", "b", "a"])


def write_table(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path, compression={"person": "zstd", "when": "snappy"})
    elif path.suffix == ".feather":
        feather.write_feather(table, str(path))
    else:
        make = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
        with make(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=7)


def turned(x: np.ndarray) -> np.ndarray:
    """A map whose result depends on every element and on no other row."""
    return np.roll(x, 1, axis=1) / np.linalg.norm(x, axis=1, keepdims=True)

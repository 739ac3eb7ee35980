"""Whole files through an eraser, in this process, and files that pyarrow wrote in every way."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from efface.protect.linear.eraser import LinearEraser
from efface.stores.address import open_sink, open_source, parse
from efface.stores.contract import Job, Sink, Source
from efface.stores.engine import apply_store
from efface.stores.receipt import Receipt


def axes(dim: int) -> LinearEraser:
    """Takes out two axes: products with 0 and 1 are exact, so any cut into blocks gives the same
    bits."""
    return LinearEraser(np.eye(dim)[:, : min(2, dim - 1)])


def stores(source: Path, target: Path, embedding: str | None = None) -> tuple[Source, Sink]:
    store = open_source(parse(str(source), embedding=embedding))
    return store, open_sink(parse(str(target), embedding=embedding), store)


def run(
    source: Path,
    target: Path,
    eraser: LinearEraser | None = None,
    *,
    embedding: str | None = None,
    **options: Any,
) -> Receipt:
    """``efface apply`` without a command line; every part is read again in the end."""
    store, sink = stores(source, target, embedding)
    used = axes(store.shape.dim) if eraser is None else eraser
    return apply_store(used, store, sink, **{"verify": "full", **options})


def expected(vectors: np.ndarray, eraser: LinearEraser | None = None) -> np.ndarray:
    """What the vectors become, in the type they are stored in."""
    used = axes(vectors.shape[1]) if eraser is None else eraser
    native = vectors.astype(vectors.dtype.newbyteorder("="))
    return used.transform(native).astype(vectors.dtype)


def job_of(source: Source, rows: int, **changes: Any) -> Job:
    fields: dict[str, Any] = {
        "source": source.place, "fingerprint": source.fingerprint(), "projector": "p",
        "shape": source.shape, "parts": len(source.parts(rows)), "part_rows": rows,
    }  # fmt: skip
    return Job(**(fields | changes))


def slowly(table: pa.Table, name: str, null: str, eraser: LinearEraser) -> pa.Table:
    """The whole table in memory, row by row: what any store of it must become."""
    kind = table.schema.field(name).type
    below = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    width = below.value_type.to_pandas_dtype()
    rows: list[Any] = []
    column = table.column(name).combine_chunks()
    column = column.storage if isinstance(column, pa.ExtensionArray) else column
    for row in column:
        values = row.as_py()
        done = None
        if values is not None:
            done = expected(np.array([values], width), eraser)[0]
        rows.append(done)
    new = pa.array(rows, below)
    new = new if below is kind else pa.ExtensionArray.from_storage(kind, new)
    index = table.schema.names.index(name)
    full = table.set_column(index, table.schema.field(index), new)
    keep = [row is not None or null == "keep" for row in rows]
    return full.filter(pa.array(keep, pa.bool_())) if null == "drop" else full


def same(found: pa.Table, wanted: pa.Table) -> None:
    """Schema with metadata, rows, order, values: bit for bit."""
    assert found.schema.equals(wanted.schema, check_metadata=True), (found.schema, wanted.schema)
    assert found.num_rows == wanted.num_rows
    for name in wanted.schema.names:
        a, b = found.column(name).combine_chunks(), wanted.column(name).combine_chunks()
        assert a.equals(b) or a.to_pylist() == b.to_pylist(), name


@contextmanager
def smallest_file(limit: int) -> Iterator[None]:
    """No file may grow beyond ``limit`` bytes: a disk that is full, for this process only."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def chunks(path: Path) -> list[dict[str, Any]]:
    """What the footer says of every column chunk of the first row group, by pyarrow."""
    group = pq.ParquetFile(path).metadata.row_group(0)
    found = (group.column(at) for at in range(group.num_columns))
    return [
        {"path": c.path_in_schema, "codec": c.compression, "dictionary": c.has_dictionary_page,
         "stats": c.is_stats_set}
        for c in found
    ]  # fmt: skip

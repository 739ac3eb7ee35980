"""Files of embeddings to :class:`~efface.types.Samples`: one call for every format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from efface.data.samples import samples
from efface.data.table import FORMATS, PARQUET, Columns, Table, choose_labels, choose_vectors
from efface.data.vectors import as_matrix, check_rows
from efface.errors import DataError
from efface.types import Samples

PathLike = str | os.PathLike[str]


def load(
    path: PathLike,
    *,
    identity: str = "identity",
    embedding: str | None = None,
    attributes: Sequence[str] | None = None,
    labels: PathLike | None = None,
) -> Samples:
    """Read ``.npz``, ``.npy`` + CSV, Parquet (also a folder of it) or Arrow, and check it (P1).

    ``embedding`` is found by itself where there is one candidate. Every other column of numbers
    or text becomes an attribute, or only those named. ``labels`` is the CSV of a ``.npy``, by
    default the file of the same stem.
    """
    found = read_columns(
        path, identity=identity, embedding=embedding, attributes=attributes, labels=labels
    )
    # Errors name the whole path, reports only the stem.
    checked = samples(found.vectors, found.identity, attributes=found.attributes, dataset=str(path))
    return replace(checked, dataset=Path(path).stem, encoding=found.encoding)


def read_columns(
    path: PathLike,
    *,
    identity: str = "identity",
    embedding: str | None = None,
    attributes: Sequence[str] | None = None,
    labels: PathLike | None = None,
) -> Columns:
    """The columns as stored; an unknown name is answered with the nearest and the list."""
    table = open_table(path, labels)
    name = choose_vectors(table, embedding)
    chosen = choose_labels(table, identity, attributes, name)
    columns = table.columns(chosen, identity)
    made = getattr(table, "encoding", None)
    return Columns(table.vectors(name), columns.pop(identity), columns, made)


def read_vectors(path: PathLike, embedding: str | None = None) -> NDArray[Any]:
    """Only the vectors, as stored, in the type they are stored in; checked like samples."""
    table = open_table(path)
    vectors = as_matrix(table.vectors(choose_vectors(table, embedding)), str(path))
    check_rows(vectors, str(path))
    return vectors


def open_table(path: PathLike, labels: PathLike | None = None) -> Table:
    """The reader for a file, by its ending."""
    path = existing(path)
    ending = ".parquet" if path.is_dir() else path.suffix.lower()
    if labels is not None and ending != ".npy":
        raise DataError(
            f"{path}: labels in a file of their own (--labels) go with a .npy file; "
            "here they are columns"
        )
    if ending == ".npz":
        from efface.data.npz import NpzTable

        return NpzTable(path)
    if ending == ".npy":
        from efface.data.npy import NpyTable

        return NpyTable(path, None if labels is None else Path(labels))
    if ending in PARQUET:
        from efface.data.parquet import ParquetTable

        return ParquetTable(path)
    from efface.data.ipc import IpcTable

    return IpcTable(path)


def existing(path: PathLike) -> Path:
    """The path if there is something there in a known format that is not empty."""
    path = Path(path)
    if not path.exists():
        raise DataError(f"{path}: no such file: check the path")
    if path.is_dir():
        return path
    if path.suffix.lower() not in FORMATS:
        raise DataError(
            f"{path}: unknown format {path.suffix or '(no ending)'!r} (known: "
            f"{', '.join(FORMATS)}): convert it to one of these"
        )
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty: write it again")
    return path

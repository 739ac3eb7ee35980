"""``.npy`` with a CSV of labels beside it: one row per vector, below a header line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.data.npz import REMEDY, Header, read_header, refuse_objects
from efface.data.table import readable
from efface.errors import DataError

_NAME = "embedding"
_CSV_REMEDY = "write it as UTF-8 CSV with a header line"


class NpyTable:
    """One mapped array, which goes by the name ``embedding``, and the columns of its CSV."""

    def __init__(self, path: Path, labels: Path | None = None) -> None:
        self.path = path
        self.place = str(path)
        self.given = labels is not None
        self.labels = path.with_suffix(".csv") if labels is None else labels

    def vector_columns(self) -> dict[str, bool]:
        return {_NAME: self.header.dtype.kind == "f"}

    def label_columns(self) -> list[str]:
        return [name for name in csv_header(self._csv) if name != _NAME]

    def names(self) -> list[str]:
        return [_NAME]

    def vectors(self, name: str) -> NDArray[Any]:
        refuse_objects(self.header.dtype, self.place, name)
        if 0 in self.header.shape:
            raise DataError(f"{self.place}: the array is empty: give at least two vectors")
        with readable(self.place, REMEDY):
            array: NDArray[Any] = np.load(self.path, mmap_mode="r", allow_pickle=False)
        return array

    def columns(self, names: Sequence[str], identity: str) -> dict[str, NDArray[Any]]:
        columns = read_csv(self._csv, names, identity)
        found = len(columns[identity])
        rows = self.header.shape[0] if self.header.shape else 0
        if found != rows:
            hint = " (is its header line missing?)" if found == rows - 1 else ""
            raise DataError(
                f"{self.labels}: {found} rows below the header for {rows} vectors in "
                f"{self.place}{hint}: give one row per vector"
            )
        return columns

    @cached_property
    def header(self) -> Header:
        with readable(self.place, REMEDY), self.path.open("rb") as stream:
            return read_header(stream)

    @property
    def _csv(self) -> Path:
        if not self.labels.is_file() and self.given:
            raise DataError(
                f"{self.labels}: no such file: give a CSV with a header line and one row for each "
                f"vector of {self.place} (--labels)"
            )
        if not self.labels.is_file():
            raise DataError(
                f"{self.place}: no labels: expected {self.labels} with a header line and one row "
                "per vector, or say where its labels are (--labels)"
            )
        return self.labels


def csv_header(path: Path) -> list[str]:
    """The column names of a CSV."""
    from pyarrow import csv

    with readable(str(path), _CSV_REMEDY), csv.open_csv(path) as stream:
        names = list(stream.schema.names)
    if len(set(names)) < len(names):
        raise DataError(f"{path}: two columns have the same name: rename one")
    return names


def read_csv(path: Path, names: Sequence[str], identity: str) -> dict[str, NDArray[Any]]:
    """Columns of a CSV; types are inferred but for the identity, which is kept as written."""
    import pyarrow as pa
    from pyarrow import csv

    from efface.data.arrow import is_label, label_array

    convert = csv.ConvertOptions(column_types={identity: pa.string()}, include_columns=list(names))
    with readable(str(path), _CSV_REMEDY):
        table = csv.read_csv(
            path,
            convert_options=convert,
            parse_options=csv.ParseOptions(newlines_in_values=True),
        )
    columns = {}
    for name in names:
        column = table.column(name)
        usable = column if is_label(column.type) else column.cast(pa.string())
        columns[name] = label_array(usable, str(path), name)
    return columns | {identity: _whole(columns[identity])}


def _whole(texts: NDArray[Any]) -> NDArray[Any]:
    """Text as whole numbers if every value is written as one would print it (no ``007``)."""
    try:
        numbers = texts.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        return texts
    return numbers if (numbers.astype(str) == texts).all() else texts

"""Parquet: one file, or a folder of files with the same columns."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from efface.data.arrow import (
    check_names,
    is_floating,
    is_label,
    is_vector,
    label_array,
    vector_array,
)
from efface.data.encodings import joinable, joined
from efface.data.table import PARQUET, decoded, readable, stacked
from efface.errors import DataError, EffaceWarning
from efface.facts import Encoding

ENCODING_KEY = b"efface.encoding"
"""Where a file made by ``efface encode`` says how; see :class:`efface.facts.Encoding`."""
REMEDY = "the file is damaged or no Parquet file: write it again"
_BATCH_ROWS = 8192


class ParquetTable:
    """Columns of Parquet files, one after another in the order of their names."""

    def __init__(self, path: Path) -> None:
        self.place = str(path)
        self.files = _files(path)

    def vector_columns(self) -> dict[str, bool]:
        return {f.name: is_floating(f.type) for f in self.schema if is_vector(f.type)}

    def label_columns(self) -> list[str]:
        return [field.name for field in self.schema if is_label(field.type)]

    def names(self) -> list[str]:
        return list(self.schema.names)

    def vectors(self, name: str) -> NDArray[Any]:
        return stacked(self._vector_parts(name), self._rows, self.place, name)

    def columns(self, names: Sequence[str], identity: str) -> dict[str, NDArray[Any]]:
        parts: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
        for path in self.files:
            self._compare(path, names)
            with parquet_file(path) as file, readable(str(path), REMEDY):
                table = file.read(columns=list(names))
            for name in names:
                parts[name].append(label_array(table.column(name), str(path), name))
        return {name: np.concatenate(found) for name, found in parts.items()}

    @cached_property
    def schema(self) -> Any:
        return _schema(self.files[0])

    @cached_property
    def encoding(self) -> Encoding | None:
        """How the vectors were made; files of several encoders are not vectors of one kind."""
        found = [_encoding(path) for path in self.files]
        made = {one.encoder.weights for one in found if one is not None}
        if len(made) > 1:
            raise DataError(
                f"{self.place}: its files were made by {len(made)} different encoders: keep the "
                "vectors of one encoder in one folder"
            )
        known = [one for one in found if one is not None]
        if len(known) < len(found) or len({joinable(one) for one in known}) > 1:
            return None  # part of the vectors is of unknown or of another making
        return joined(known, self._people) if len(known) > 1 else known[0]

    def _people(self) -> int:
        """Different people over all files, in the column that efface gives them."""
        return len(np.unique(self.columns(["identity"], "identity")["identity"].astype(str)))

    @cached_property
    def _rows(self) -> int:
        rows = 0
        for path in self.files:
            with parquet_file(path) as file:
                rows += file.metadata.num_rows
        return rows

    def _vector_parts(self, name: str) -> Iterator[NDArray[Any]]:
        width = None
        for path in self.files:
            self._compare(path, [name])
            start = 0
            with parquet_file(path) as file:
                for batch in batches(file, path, _BATCH_ROWS, [name]):
                    part = vector_array(batch.column(0), str(path), name, start, width)
                    start += len(part)
                    width = part.shape[1] if len(part) else width
                    yield part

    def _compare(self, path: Path, names: Sequence[str]) -> None:
        schema = _schema(path)
        for name in names:
            if name not in schema.names:
                raise DataError(
                    f"{path}: no column {name!r}, which {self.files[0].name} has: give every file "
                    "of the folder the same columns"
                )
            kinds = schema.field(name).type, self.schema.field(name).type
            if kinds[0] != kinds[1]:
                raise DataError(
                    f"{path}: column {name!r} is {kinds[0]}, in {self.files[0].name} it is "
                    f"{kinds[1]}: give every file of the folder the same types"
                )


@contextmanager
def parquet_file(path: Path) -> Iterator[Any]:
    """An opened file whose pages are compared with their checksums, where it has any."""
    with readable(str(path), REMEDY):
        opened = pq.ParquetFile(path, page_checksum_verification=True)
    with opened as file:
        yield file


def batches(
    file: Any, path: Path, rows: int, columns: Sequence[str] | None = None
) -> Iterator[Any]:
    """Record batches of at most ``rows`` rows; only decoding counts as reading ``path``."""
    return decoded(file.iter_batches(batch_size=rows, columns=columns), str(path), REMEDY)


def _schema(path: Path) -> Any:
    with parquet_file(path) as file, readable(str(path), REMEDY):
        schema = file.schema_arrow
    check_names(schema, str(path))
    return schema


def _encoding(path: Path) -> Encoding | None:
    """What a file says of its making; a note that cannot be read is worth a warning, no more."""
    import msgspec

    note = (_schema(path).metadata or {}).get(ENCODING_KEY)
    if note is None:
        return None
    try:
        return msgspec.json.decode(note, type=Encoding)
    except msgspec.MsgspecError as error:
        warnings.warn(
            f"{path}: its note on the encoder cannot be read ({error}); the vectors can",
            EffaceWarning, stacklevel=2,
        )  # fmt: skip
        return None


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(
        entry
        for entry in path.iterdir()
        if entry.suffix.lower() in PARQUET and not entry.name.startswith((".", "_"))
    )
    if not files:
        raise DataError(f"{path}: no {' or '.join(PARQUET)} files in this folder: name a file")
    return files

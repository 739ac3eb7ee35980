"""Arrow IPC, as a file (Feather) or as a stream; told apart by the first bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from efface.data.arrow import (
    check_names,
    is_floating,
    is_label,
    is_vector,
    label_array,
    vector_array,
)
from efface.data.table import decoded, readable, stacked
from efface.errors import DataError

REMEDY = "the file is damaged or no Arrow IPC file: write it again"
_FILE_MAGIC = b"ARROW1"


class IpcTable:
    """Columns of an Arrow file, mapped: an uncompressed vector column is never copied."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = str(path)

    def vector_columns(self) -> dict[str, bool]:
        return {f.name: is_floating(f.type) for f in self.schema if is_vector(f.type)}

    def label_columns(self) -> list[str]:
        return [field.name for field in self.schema if is_label(field.type)]

    def names(self) -> list[str]:
        return list(self.schema.names)

    def vectors(self, name: str) -> NDArray[Any]:
        arrays = self._column(name)
        rows = sum(len(array) for array in arrays)
        return stacked(self._vector_parts(arrays, name), rows, self.place, name)

    def columns(self, names: Sequence[str], identity: str) -> dict[str, NDArray[Any]]:
        return {
            name: np.concatenate(
                [label_array(array, self.place, name) for array in self._column(name)]
            )
            for name in names
        }

    @cached_property
    def schema(self) -> Any:
        with ipc_batches(self.path) as (schema, _):
            found = schema
        check_names(found, self.place)
        return found

    def _column(self, name: str) -> list[Any]:
        index = self.schema.names.index(name)
        with ipc_batches(self.path) as (_, batches):
            arrays = [batch.column(index) for batch in batches]
        if not arrays:
            raise DataError(f"{self.place}: the file has no rows: give at least two vectors")
        return arrays

    def _vector_parts(self, arrays: Sequence[Any], name: str) -> Iterator[NDArray[Any]]:
        start, width = 0, None
        for array in arrays:
            part = vector_array(array, self.place, name, start, width)
            start += len(part)
            width = part.shape[1] if len(part) else width
            yield part


def is_stream(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_FILE_MAGIC)) != _FILE_MAGIC


@contextmanager
def ipc_batches(path: Path) -> Iterator[tuple[Any, Iterator[Any]]]:
    """The schema and the record batches of either form, mapped where not compressed."""
    with readable(str(path), REMEDY):
        source = pa.memory_map(str(path))
        stream = is_stream(path)
        reader = pa.ipc.open_stream(source) if stream else pa.ipc.open_file(source)
    with source:
        yield reader.schema, decoded(_sound(reader, stream), str(path), REMEDY)


def _sound(reader: Any, stream: bool) -> Iterator[Any]:
    """Every batch, after a check that no offset points outside of its buffers."""
    batches = reader if stream else map(reader.get_batch, range(reader.num_record_batches))
    for batch in batches:
        batch.validate(full=True)
        yield batch

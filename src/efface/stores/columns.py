"""Arrow columns of vectors as arrays and back, with the rows that have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from efface.data.arrow import is_vector, storage, vector_array, vector_like
from efface.data.table import Table, choose_vectors, unknown_column
from efface.errors import DataError


def vector_column(table: Table, schema: Any, embedding: str | None) -> str:
    """The column asked for or found, which has to hold one list of numbers per row."""
    name = choose_vectors(table, embedding)
    if name not in schema.names:
        raise unknown_column(table, name)
    kind = schema.field(name).type
    if not is_vector(kind):
        raise DataError(
            f"{table.place}: column {name!r} is {kind}, not a list of numbers per row: name "
            "another with --embedding (embedding= in Python)"
        )
    return name


def element_type(schema: Any, name: str) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(storage(schema.field(name).type).value_type.to_pandas_dtype())
    return dtype


def fixed_width(schema: Any, name: str) -> int | None:
    """Elements per vector, where the type says so."""
    return getattr(storage(schema.field(name).type), "list_size", None)


def first_width(array: Any) -> int | None:
    """Elements of the first vector of a column; None where no row has one."""
    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    there = array.drop_null()
    return len(there[0]) if len(there) else None


def vectors_of(
    column: Any, place: str, name: str, start: int, dim: int
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """A column of lists as rows x dimensions, zeros where a row has none, and which ones have.

    Its first row is number ``start`` for messages. One chunk without gaps is not copied.
    """
    vectors, present = [], []
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        found, there = _of_chunk(chunk, place, name, start, dim)
        vectors.append(found)
        present.append(there)
        start += len(chunk)
    whole = present[0] if len(present) == 1 else np.concatenate(present)
    joined = vectors[0] if len(vectors) == 1 else np.concatenate(vectors)
    return joined, None if whole.all() else whole


def _of_chunk(
    array: Any, place: str, name: str, start: int, dim: int
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    there = np.ones(len(array), bool)
    if not array.null_count:
        return vector_array(array, place, name, start, dim), there
    there = np.asarray(array.is_valid())
    if not there.any():
        dtype = np.dtype(array.type.value_type.to_pandas_dtype())
        return np.zeros((len(array), dim), dtype), there
    # A vector that is there stands in for each that is not, so that row numbers stay.
    rows = np.where(there, np.arange(len(array)), np.flatnonzero(there)[0])
    found = np.array(vector_array(array.take(pa.array(rows)), place, name, start, dim))
    found[~there] = 0
    return found, there


def column_of(vectors: NDArray[Any], kind: Any, present: NDArray[np.bool_] | None) -> Any:
    """Rows x dimensions as an Arrow array of exactly this type, null where no vector is."""
    column = vector_like(vectors, kind)
    if present is None or present.all():
        return column
    below = column.storage if isinstance(column, pa.ExtensionArray) else column
    gaps = below.take(pa.array(np.arange(len(present)), mask=~present))
    return gaps if storage(kind) is kind else pa.ExtensionArray.from_storage(kind, gaps)

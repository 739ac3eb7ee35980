"""LanceDB's tables as arrays: opened, their vector column found, its values there and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError, EffaceError, StoreError
from efface.extras import need


@dataclass(frozen=True)
class Vectors:
    """The vector column of a table."""

    name: str
    dim: int
    dtype: str


def folder_of(folder: Path, table: str) -> Path:
    """Where LanceDB keeps a table of a local database."""
    return folder / f"{table}.lance"


def open_table(folder: Path, table: str) -> Any:
    if not folder_of(folder, table).is_dir():
        known = sorted(path.name.removesuffix(".lance") for path in folder.glob("*.lance"))[:10]
        raise DataError(
            f"lancedb:{folder}#{table}: there is no such table"
            + (f" (there are: {', '.join(known)})" if known else ": check the path")
        )
    return need("lancedb", "lancedb").connect(str(folder)).open_table(table)


def vector_column(schema: Any, wanted: str | None, place: str) -> Vectors:
    """The column that was named, or the only one that can be meant."""
    found = {field.name: vectors for field in schema if (vectors := _vectors(field))}
    if wanted is not None:
        if wanted not in found:
            raise DataError(
                f"{place}: column {wanted!r} holds no vectors: choose among "
                f"{', '.join(found) or 'none'}"
            )
        return found[wanted]
    if not found:
        raise DataError(f"{place}: no column holds vectors (a fixed-size list of floats is needed)")
    if len(found) > 1:
        raise DataError(
            f"{place}: several columns hold vectors ({', '.join(found)}): name one with --embedding"
        )
    return next(iter(found.values()))


def _vectors(field: Any) -> Vectors | None:
    import pyarrow as pa

    kind = field.type
    if not pa.types.is_fixed_size_list(kind) or not pa.types.is_floating(kind.value_type):
        return None
    return Vectors(field.name, kind.list_size, np.dtype(kind.value_type.to_pandas_dtype()).name)


def values_of(column: Any, form: Vectors) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Copies of the vectors, zeros where a row has none; and which rows have one.

    A number that is missing inside a vector comes as NaN, so that its row is refused by name.
    """
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    present = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), bool)
    inner = column.values.slice(column.offset * form.dim, len(column) * form.dim)
    flat = np.array(inner.to_numpy(zero_copy_only=False), form.dtype)
    vectors = flat.reshape(len(column), form.dim)
    vectors[~present] = 0
    return vectors, present


def with_values(rows: Any, form: Vectors, vectors: NDArray[Any], present: Any) -> Any:
    """The rows with other vectors; every other column as it was."""
    import pyarrow as pa

    at = rows.schema.get_field_index(form.name)
    kept = rows.schema.field(at)
    flat = pa.array(np.ascontiguousarray(vectors).reshape(-1), kept.type.value_type)
    mask = None if present is None else pa.array(~present)
    column = pa.FixedSizeListArray.from_arrays(flat, type=kept.type, mask=mask)
    return rows.set_column(at, kept, column)


@contextmanager
def reaching(place: str) -> Iterator[None]:
    """Errors of LanceDB with the store's name; it says most things as plain RuntimeErrors."""
    try:
        yield
    except EffaceError:
        raise
    except (RuntimeError, ValueError, OSError) as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise StoreError(
            f"{place}: LanceDB cannot go on ({line}): see to it and run the same command again, "
            "which goes on where this one stopped"
        ) from error

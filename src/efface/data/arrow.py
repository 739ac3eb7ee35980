"""Arrow columns as NumPy arrays, without a copy where their memory allows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from efface.data.table import readable
from efface.errors import DataError


def storage(kind: Any) -> Any:
    """The type below an extension type (a tensor column, for example)."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def is_vector(kind: Any) -> bool:
    """A list of numbers, of fixed or free length."""
    kind = storage(kind)
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(check(kind) for check in lists):
        return False
    return bool(pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))


def is_floating(kind: Any) -> bool:
    return bool(pa.types.is_floating(storage(kind).value_type))


def is_label(kind: Any) -> bool:
    """One number, truth value or text per row."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return bool(number or pa.types.is_boolean(kind) or _is_text(kind))


def vector_array(
    array: Any, place: str, name: str, start: int = 0, width: int | None = None
) -> NDArray[Any]:
    """A list array as rows x dimensions; gaps and rows of unequal length are refused.

    It begins at row ``start`` of a column whose earlier rows have ``width`` elements.
    ``flatten`` respects slices and offsets and, without gaps, only points into the same memory.
    """
    if not is_vector(array.type):
        raise DataError(
            f"{place}: column {name!r} is {array.type}, not a list of numbers per row: name "
            "another with --embedding (embedding= in Python)"
        )
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if array.null_count:
        row = start + int(np.flatnonzero(array.is_null())[0])
        raise DataError(
            f"{place}: column {name!r} has no vector in row {row} (counted from 0): remove the row"
        )
    width = _width(array, place, name, start, width)
    if len(array) and not width:
        raise DataError(f"{place}: the vectors in column {name!r} have no elements: write it again")
    flat = array.flatten()
    if flat.null_count:
        row = start + int(np.flatnonzero(flat.is_null())[0]) // width
        raise DataError(
            f"{place}: column {name!r} has an empty element in row {row} (counted from 0): "
            "remove the row"
        )
    values: NDArray[Any] = flat.to_numpy(zero_copy_only=True)
    return values.reshape(len(array), width)


def _width(array: Any, place: str, name: str, start: int, width: int | None) -> int:
    if pa.types.is_fixed_size_list(array.type):
        return int(array.type.list_size)
    lengths = pc.list_value_length(array).to_numpy()
    if not len(lengths):
        return 0
    first = int(lengths[0]) if width is None else width
    odd = np.flatnonzero(lengths != first)
    if odd.size:
        raise DataError(
            f"{place}: column {name!r} is ragged: row {start + odd[0]} (counted from 0) has "
            f"{lengths[odd[0]]} elements where the first row has {first}: give every row the same "
            "length"
        )
    return first


def vector_like(values: NDArray[Any], kind: Any) -> Any:
    """Rows x dimensions as an Arrow array of exactly this type."""
    below = storage(kind)
    flat = pa.array(np.ascontiguousarray(values).reshape(-1), type=below.value_type)
    if pa.types.is_fixed_size_list(below):
        array = pa.FixedSizeListArray.from_arrays(flat, type=below)
    else:
        large = pa.types.is_large_list(below)
        ends = np.arange(len(values) + 1, dtype=np.int64 if large else np.int32) * values.shape[1]
        make = pa.LargeListArray if large else pa.ListArray
        array = make.from_arrays(pa.array(ends), flat, type=below)
    return array if below is kind else pa.ExtensionArray.from_storage(kind, array)


def label_array(column: Any, place: str, name: str) -> NDArray[Any]:
    """A label column as a NumPy array of its own memory; gaps become None (NaN in floats)."""
    if not is_label(column.type):
        raise DataError(
            f"{place}: column {name!r} is {column.type}, not one number or text per row: convert it"
        )
    with readable(place, f"column {name!r} is damaged: write the file again, text as UTF-8"):
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_floating(column.type) or not (column.null_count or _is_text(column.type)):
            array: NDArray[Any] = np.array(column.to_numpy(zero_copy_only=False))
            return array
        return np.array(column.to_pylist(), dtype=object)


def check_names(schema: Any, place: str) -> None:
    """Refuse column names that are no text, or that two columns share."""
    with readable(place, "its column names are damaged: write the file again"):
        names = list(schema.names)
    if len(set(names)) < len(names):
        raise DataError(f"{place}: two columns have the same name: rename one")


def _is_text(kind: Any) -> bool:
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(check(kind) for check in text)

"""Labels of people to integer codes (P2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from efface.data.vectors import listed
from efface.errors import DataError
from efface.types import Codes

_NO_VALUE = ("NoneType", "NAType", "NaTType")
_NUMBERS = (int, float, np.integer, np.floating)


def encode(
    identity: ArrayLike, place: str, names: Sequence[str] | NDArray[Any] | None = None
) -> tuple[Codes, NDArray[Any]]:
    """Codes 0, 1, 2 ... and the sorted unique labels they stand for.

    With ``names``, the labels are whole numbers that index it.
    """
    labels = _labels(identity, place)
    if names is not None:
        labels = _named(labels, names, place)
    if labels.dtype.kind in "iu":
        values, codes = np.unique(labels, return_inverse=True)
        return codes.astype(np.int64, copy=False), values
    texts = labels.tolist()
    known = sorted(set(texts))
    position = {text: code for code, text in enumerate(known)}
    codes = np.fromiter((position[text] for text in texts), np.int64, len(texts))
    return codes, np.asarray(known, dtype=str)


def as_column(values: ArrayLike) -> NDArray[Any]:
    """A column as an array, in which text is text and a list's mixed types stay visible
    (``np.asarray(["a", None, float("nan")])`` would turn the gaps into words)."""
    if not hasattr(values, "__array__"):
        values = np.array(values, dtype=object)
    array = np.asarray(values)
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8")
    if array.dtype.kind == "T":
        array = array.astype(object)
    if array.dtype.kind == "O" and array.ndim == 1:
        return _narrowed(array)
    return array


def _narrowed(array: NDArray[Any]) -> NDArray[Any]:
    """An object column as text or numbers if it holds nothing else."""
    types = {type(value) for value in array}
    if types and all(issubclass(t, str) for t in types):
        return array.astype(str)
    if types and types <= {bool, np.bool_}:
        return array.astype(bool)
    if types and bool not in types and all(issubclass(t, _NUMBERS) for t in types):
        narrow = np.array(array.tolist())
        whole = all(issubclass(t, int | np.integer) for t in types)
        # Whole numbers that need more than 64 bits must not be rounded to floats.
        return narrow if narrow.dtype.kind in ("iu" if whole else "f") else array
    return array


def _labels(identity: ArrayLike, place: str) -> NDArray[Any]:
    """A 1-D column of text or whole numbers without gaps."""
    try:
        labels = as_column(identity)
    except (ValueError, UnicodeDecodeError) as error:
        raise DataError(f"{place}: identities cannot be read ({error}): use text") from error
    if labels.ndim != 1:
        raise DataError(
            f"{place}: identities must be one label per row, got shape {labels.shape} "
            "(for one-hot labels, pass their argmax)"
        )
    missing = _missing(labels)
    if missing.size:
        raise DataError(
            f"{place}: no identity in {listed(missing)} (counted from 0): name the person or "
            "remove the row"
        )
    if labels.dtype.kind not in "iuU":
        raise DataError(f"{place}: identities are {_described(labels)}: use text or whole numbers")
    return labels


def _missing(labels: NDArray[Any]) -> NDArray[np.int64]:
    if labels.dtype.kind == "f":
        return np.flatnonzero(np.isnan(labels))
    if labels.dtype.kind not in "OU":
        return np.zeros(0, np.int64)
    return np.flatnonzero([_is_gap(value) for value in labels.tolist()])


def _is_gap(value: Any) -> bool:
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, float):
        return value != value
    return type(value).__name__ in _NO_VALUE


def _described(labels: NDArray[Any]) -> str:
    if labels.dtype.kind != "O" or not len(labels):
        return str(labels.dtype)
    first = type(labels[0])
    for row, value in enumerate(labels):
        if type(value) is not first:
            return f"{first.__name__} in row 0 and {type(value).__name__} in row {row}"
    return first.__name__


def _named(labels: NDArray[Any], names: Sequence[str] | NDArray[Any], place: str) -> NDArray[Any]:
    known = as_column(names)
    if known.ndim != 1 or known.dtype.kind not in "iuU" or len(np.unique(known)) < len(known):
        raise DataError(f"{place}: names must be a list of distinct texts or whole numbers")
    if labels.dtype.kind not in "iu":
        raise DataError(f"{place}: with names=, identities must be positions in it, not text")
    outside = np.flatnonzero((labels < 0) | (labels >= len(known)))
    if outside.size:
        raise DataError(
            f"{place}: identity {labels[outside[0]]} in row {outside[0]} has no name: names= has "
            f"{len(known)}, numbered from 0"
        )
    named: NDArray[Any] = known[labels]
    return named

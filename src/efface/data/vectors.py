"""Rows of numbers: checked and brought to unit length, a block at a time (P1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from efface.errors import DataError
from efface.types import Floats

_BLOCK_BYTES = 4 << 20
_SHOWN = 3


def as_matrix(data: ArrayLike, place: str) -> NDArray[Any]:
    """The vectors as a 2-D array of real numbers, or a refusal that says what they are."""
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        raise DataError(f"{place}: some vectors have masked elements: remove those rows")
    try:
        array = np.asarray(data)
    except (ValueError, TypeError, RuntimeError) as error:
        raise DataError(
            f"{place}: the vectors do not form an array ({error}): give every row the same length"
        ) from error
    if array.dtype.kind not in "fiu":
        raise DataError(
            f"{place}: vectors of type {array.dtype} are not numeric: convert them to float32"
        )
    if array.ndim != 2:
        raise DataError(
            f"{place}: vectors must be a 2-D array (rows x dimensions), got shape {array.shape}"
        )
    if 0 in array.shape:
        raise DataError(f"{place}: there are no vectors (shape {array.shape}): give at least one")
    return array


def working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What vectors are computed in: float64 stays, everything else becomes float32."""
    wide = dtype.kind == "f" and dtype.itemsize >= 8
    return np.dtype(np.float64 if wide else np.float32)


def unit_rows(data: NDArray[Any], place: str) -> Floats:
    """A copy with rows of length 1; NaN, infinity and zero rows are refused (P1).

    Each row is first divided by its largest magnitude, so no square overflows or vanishes.
    Rows that already have length 1 are copied bit for bit: reading one's own output changes
    nothing, digests included.
    """
    out = np.empty(data.shape, working_dtype(data.dtype))
    peaks = np.empty(len(data))
    tolerance = _tolerance(out)
    for rows in blocks(data):
        wide = _wide(data[rows])
        peaks[rows] = np.abs(wide).max(axis=1)
        out[rows] = _scaled(wide, peaks[rows], tolerance)
    _refuse(peaks, place, 0)
    return out


def check_rows(data: NDArray[Any], place: str, start: int = 0) -> None:
    """Refuse NaN, infinity and zero rows; ``start`` is the number of the first row."""
    peaks = np.empty(len(data))
    for rows in blocks(data):
        peaks[rows] = np.abs(_wide(data[rows])).max(axis=1)
    _refuse(peaks, place, start)


def blocks(data: NDArray[Any]) -> Iterator[slice]:
    """Slices of rows that are small enough to stay in cache as float64."""
    step = max(1, _BLOCK_BYTES // (8 * max(1, data.shape[1])))
    for start in range(0, len(data), step):
        yield slice(start, start + step)


def listed(rows: NDArray[np.integer[Any]]) -> str:
    """``row 3`` or ``rows 3, 7, 9 and 12 more``, numbered from 0."""
    shown = ", ".join(str(row) for row in rows[:_SHOWN].tolist())
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return f"row{'s' if len(rows) > 1 else ''} {shown}{more}"


def _wide(block: NDArray[Any]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # a signalling NaN is reported like any other
        return block.astype(np.float64)


def _scaled(
    wide: NDArray[np.float64], peaks: NDArray[np.float64], tolerance: float
) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        unit = wide / peaks[:, None]
        lengths = np.sqrt(np.einsum("ij,ij->i", unit, unit))
        unit /= lengths[:, None]
        kept = np.abs(peaks * lengths - 1) <= tolerance
    if kept.all():
        return wide
    np.copyto(unit, wide, where=kept[:, None])
    return unit


def _tolerance(out: Floats) -> float:
    """How far from 1 the length of a row may be that was normalised before: rounding of the
    elements in the output's dtype, and of the float64 sum of their squares."""
    rounding = float(np.finfo(out.dtype).eps)
    summing = float(np.sqrt(out.shape[1]) * np.finfo(np.float64).eps)
    return 2 * max(rounding, summing)


def _refuse(peaks: NDArray[np.float64], place: str, start: int) -> None:
    for bad, what in (
        (np.isnan(peaks), "NaN"),
        (np.isinf(peaks), "an infinite value"),
        (peaks == 0, "nothing but zeros"),
    ):
        rows = np.flatnonzero(bad) + start
        if rows.size:
            raise DataError(
                f"{place}: {listed(rows)} (counted from 0) contain{'s' if rows.size == 1 else ''} "
                f"{what}: remove or recompute these vectors"
            )

"""Vectors on their way into a scheme: one or several pictures, checked and of unit length (P1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from efface.data.vectors import as_matrix, unit_rows
from efface.errors import DataError

Matrix = NDArray[np.float64]


def pictures(x: ArrayLike, dim: int, place: str) -> Matrix:
    """(d,) or (k, d) as k unit rows."""
    array = _numbers(x, place)
    if array.ndim not in (1, 2):
        raise DataError(
            f"{place}: needs one vector, or rows for several pictures, got shape {array.shape}"
        )
    return checked(np.atleast_2d(array), dim, place)


def tries(probes: ArrayLike, dim: int, place: str) -> NDArray[np.float64]:
    """(n, d) or (n, j, d) as n tries of j unit rows each."""
    array = _numbers(probes, place)
    if array.ndim not in (2, 3) or array.shape[-1] != dim:
        raise DataError(
            f"{place}: needs rows of {dim} elements, or of several pictures for each try, got "
            f"shape {array.shape}"
        )
    if array.ndim == 2:
        array = array[:, None]
    if not len(array):
        return np.empty(array.shape)
    return checked(array.reshape(-1, dim), dim, place).reshape(array.shape)


def checked(rows: NDArray[Any], dim: int, place: str) -> Matrix:
    """Unit rows in float64, or a refusal that names the row and what is wrong with it."""
    if rows.shape[-1] != dim:
        raise DataError(
            f"{place}: vectors of {rows.shape[-1]} elements, the scheme was fitted on {dim}: use "
            "the encoder that it was fitted with"
        )
    made = unit_rows(as_matrix(rows.astype(np.float64), place), place)
    flat = np.flatnonzero((made == made[:, :1]).all(axis=1))
    if flat.size and dim > 1:
        raise DataError(
            f"{place}: row {flat[0]} (counted from 0) has equal elements throughout: no face gives "
            "that, an encoder that failed does"
        )
    return np.asarray(made, np.float64)


def average(rows: Matrix, place: str) -> Matrix:
    """The direction of the mean over the last axis but one; noise of single pictures cancels."""
    mean = rows.mean(axis=-2)
    if rows.shape[-2] == 1:
        return np.asarray(mean)
    length = np.linalg.norm(mean, axis=-1, keepdims=True)
    if (length < 1e-9).any():
        raise DataError(f"{place}: the pictures of one person cancel out: they cannot be right")
    return np.asarray(mean / length)


def _numbers(x: ArrayLike, place: str) -> NDArray[Any]:
    try:
        array = np.asarray(x)
    except (ValueError, TypeError) as error:
        raise DataError(
            f"{place}: the vectors do not form an array: give rows of one length"
        ) from (error)
    if array.dtype.kind not in "fiu":
        raise DataError(f"{place}: vectors of type {array.dtype} are not numeric")
    return array

"""Do two identity subspaces coincide? All principal cosines, beside chance (P16); and how many
directions carry how much of the energy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RandomCosines:
    """Principal cosines of two random subspaces, position by position, descending."""

    mean: Matrix
    low: Matrix
    high: Matrix


def principal_cosines(a: NDArray[Any], b: NDArray[Any]) -> Matrix:
    """Cosines of all principal angles between the column spaces, descending.

    Singular values of Qa'Qb with orthonormal Qa and Qb (Bjorck and Golub 1973). Columns may be
    oblique or dependent: there are as many cosines as the smaller of the two ranks.
    """
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b):
        raise DataError(f"subspaces are d x r arrays of one d; got shapes {a.shape} and {b.shape}")
    product = _orthonormal(a, "first").T @ _orthonormal(b, "second")
    return np.asarray(np.minimum(np.linalg.svd(product, compute_uv=False), 1.0))


def _orthonormal(x: NDArray[Any], name: str) -> Matrix:
    """An orthonormal basis of the columns; tolerance follows the dtype they came in (P5)."""
    dtype = x.dtype if np.issubdtype(x.dtype, np.floating) else np.dtype(np.float64)
    x = x.astype(np.float64)
    length = np.linalg.norm(x, axis=0)
    bad = np.flatnonzero(~((length > 0) & (length < np.inf)))
    if len(bad) or not x.shape[1]:
        where = f"column {bad[0]} is zero or not finite" if len(bad) else "there is no column"
        raise DataError(f"the {name} basis spans no subspace: {where}; leave it out")
    u, s, _ = np.linalg.svd(x / length, full_matrices=False)
    return np.asarray(u[:, s > max(x.shape) * np.finfo(dtype).eps * s[0]])


def random_cosines(
    dim: int,
    ra: int,
    rb: int,
    rng: np.random.Generator,
    draws: int = 64,
    level: float = 0.95,
) -> RandomCosines:
    """What two subspaces of ranks ``ra`` and ``rb`` would show if they had nothing in common.

    The largest cosine of two big random subspaces is near 1: without this baseline it would be
    taken for agreement (P16). By rotation one of the two may be the first coordinates.
    """
    small, large = sorted((ra, rb))
    if not 1 <= small <= large <= dim or draws < 1:
        raise DataError(
            f"ranks {ra} and {rb} with {draws} draws in {dim} dimensions: ranks must lie between "
            "1 and the dimension, draws must be positive"
        )
    drawn = np.empty((draws, small))
    for row in drawn:
        q = np.linalg.qr(rng.standard_normal((dim, small)))[0]
        row[:] = np.minimum(np.linalg.svd(q[:large], compute_uv=False), 1.0)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return RandomCosines(drawn.mean(axis=0), low, high)


def energy(squared: NDArray[Any]) -> Matrix:
    """Cumulative share of energy in the first 1, 2 ... directions; the last is exactly 1.

    ``squared`` are squared singular values (or eigenvalues), largest first; what rounding has
    pushed below zero counts as zero.
    """
    values = np.asarray(squared, np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or values[0] <= 0:
        raise DataError("energies must be a list of finite numbers that starts above zero")
    slack = 1e-9 * values[0]
    wrong = np.flatnonzero((values < -slack) | (np.diff(values, prepend=values[0]) > slack))
    if len(wrong):
        raise DataError(
            f"energy {wrong[0]} is negative or larger than the one before: give squared singular "
            "values from the largest down"
        )
    total = np.cumsum(np.maximum(values, 0.0))
    return np.asarray(total / total[-1])


def rank_for(squared: NDArray[Any], coverage: float) -> int:
    """The smallest rank whose directions hold at least this share of the energy."""
    if not 0 < coverage <= 1:
        raise DataError(f"coverage is a share above 0 and at most 1, got {coverage}")
    return int(np.argmax(energy(squared) >= coverage)) + 1

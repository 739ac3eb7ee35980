"""FII, CPI and B*: is it the face or its surroundings that a similarity comes from (P20 to P22)?

Everything here is made of cosines. A row is a query: a picture of a person, with another picture
of the same person elsewhere (the identity match) and another person in the query's surroundings
(the context match). Values that could not be had are NaN, and are in no mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError

Values = NDArray[np.float64]

TIE = 1e-6
"""Similarities no further apart are equal: float32 does not carry more."""


@dataclass(frozen=True, eq=False)
class Similarities:
    """Cosines of one encoder's vectors, raw or erased; rows are queries."""

    whole: Values
    """n: query and identity match as they are."""
    face: Values
    """n: both with the face blurred."""
    ring: Values
    """n: both with a ring of the same area blurred."""
    strangers: Values
    """n x 3: query and another person elsewhere; whole, face blurred, ring blurred."""
    identity: Values
    """n x sigmas: query and identity match, faces blurred alike."""
    context: Values
    """n x sigmas: query and context match."""
    identity_shown: Values
    """n x levels: query and identity match, so much background revealed."""
    context_shown: Values
    """n x levels: query and context match."""

    def __post_init__(self) -> None:
        n = len(self.whole)
        for name in ("face", "ring"):
            if getattr(self, name).shape != (n,):
                raise DataError(f"{n} similarities, but {name} has {getattr(self, name).shape}")
        if self.strangers.shape != (n, 3):
            raise DataError(f"strangers are {self.strangers.shape}, not {n} x 3")
        for one, two in (("identity", "context"), ("identity_shown", "context_shown")):
            shapes = getattr(self, one).shape, getattr(self, two).shape
            if shapes[0] != shapes[1] or len(shapes[0]) != 2 or shapes[0][0] != n:
                raise DataError(f"{one} is {shapes[0]} and {two} {shapes[1]}: both are {n} x steps")


def face_importance(whole: Values, face: Values, ring: Values) -> Values:
    """FII of each pair (equations 17 and 18): what blurring the faces costs, less what blurring
    the rings costs. Above 0 the similarity lives in the face."""
    return (whole - face) - (whole - ring)


def prefers_context(identity: Values, context: Values) -> Values:
    """1 where the context match is nearer, 0 where the identity match is, one half for a tie:
    the mean is CPI (equation 19)."""
    gap = context - identity
    votes: Values = np.where(np.abs(gap) <= TIE, 0.5, (gap > 0).astype(np.float64))
    return np.where(np.isfinite(gap), votes, np.nan)


def crossover(sigmas: Values, cpi: Values) -> float | None:
    """Where CPI first reaches one half, along straight lines; minus infinity where it begins
    there, None where it never does."""
    if not np.isfinite(cpi).all():
        return None
    if cpi[0] >= 0.5:
        return float("-inf")
    above = np.flatnonzero(cpi >= 0.5)
    if not len(above):
        return None
    k = int(above[0])
    step = (0.5 - cpi[k - 1]) / (cpi[k] - cpi[k - 1])
    return float(sigmas[k - 1] + step * (sigmas[k] - sigmas[k - 1]))


def overtaken_at(identity: Values, context: Values) -> NDArray[np.int64]:
    """The first level at which the context match is nearer (equation 20), as its number; as many
    as there are levels where it never is; -1 without a triplet or with ties at all levels."""
    gap = context - identity
    levels = gap.shape[1]
    over = gap > TIE
    first = np.where(over.any(axis=1), over.argmax(axis=1), levels)
    nothing = ~np.isfinite(gap).all(axis=1) | (np.abs(gap) <= TIE).all(axis=1)
    return np.where(nothing, -1, first).astype(np.int64)


def thresholds(first: NDArray[np.int64], levels: Values) -> Values:
    """B* of each triplet: 0 where the lowest level sufficed (censored at 0), 1 where none did
    (censored at 1), NaN without a preference."""
    ladder = np.append(levels, 1.0)
    ladder[0] = 0.0
    return np.where(first < 0, np.nan, ladder[np.maximum(first, 0)])


def rises(similarity: Values, slack: float) -> Values:
    """1 where a row never falls by more than ``slack`` from one level to a later one."""
    fallen = np.maximum.accumulate(similarity, axis=1) - similarity
    held = (fallen <= slack).all(axis=1).astype(np.float64)
    return np.where(np.isfinite(similarity).all(axis=1), held, np.nan)


def stays(similarity: Values, most: float) -> Values:
    """1 where a row stays within ``most`` of its mean."""
    away = np.abs(similarity - similarity.mean(axis=1, keepdims=True))
    held = (away <= most).all(axis=1).astype(np.float64)
    return np.where(np.isfinite(similarity).all(axis=1), held, np.nan)

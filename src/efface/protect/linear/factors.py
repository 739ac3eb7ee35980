"""The two products of a transform, in the form that takes the fewest operations.

x - A B'x does not change with the basis: A T⁻¹ and B T' give the same for any T that can be
inverted. With T the first (or last) r rows of A, those rows of A T⁻¹ are the identity, and r of
the d columns of the second product need no product: 2dr - r² operations in place of 2dr.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_MOST = 1e4
"""Rounding grows by up to ``spread``: beyond this factor the plain form is used."""


@dataclass(frozen=True, eq=False)
class Factors:
    """c = x ``dual`` comes off the columns ``same``; c times ``rows`` off the columns ``rest``."""

    dual: Array
    rows: Array
    same: slice
    rest: slice
    shift: Array | None = None
    """c of the mean."""
    spread: float = 1.0
    """The coefficients of x along an orthonormal A are no longer than c times this."""

    @classmethod
    def plain(cls, basis: Array, dual: Array | None, mean: Array | None) -> Factors:
        """A and B as they are: rounding as little as float64 can."""
        dual = np.asarray(basis if dual is None else dual, np.float64)
        rows = np.ascontiguousarray(basis.T, dtype=np.float64)
        shift = None if mean is None else mean @ dual
        return cls(dual, rows, slice(0, 0), slice(0, len(basis)), shift)

    @classmethod
    def short(cls, basis: Array, dual: Array | None, mean: Array | None) -> Factors:
        """The form with fewer operations, or the plain one where it would round too much."""
        plain, (d, r) = cls.plain(basis, dual, mean), basis.shape
        ends = (slice(0, r), slice(r, d)), (slice(d - r, d), slice(0, d - r))
        forms = [form for same, rest in ends if (form := plain._reduced(same, rest))]
        return min(forms, key=lambda form: form.spread, default=plain)

    def _reduced(self, same: slice, rest: slice) -> Factors | None:
        block = self.rows[:, same].T
        try:
            inverse = np.linalg.inv(block)
        except np.linalg.LinAlgError:
            return None
        spread = float(np.linalg.norm(inverse))
        if not spread <= _MOST:  # NaN is not
            return None
        shift = None if self.shift is None else self.shift @ block.T
        rows = np.ascontiguousarray(inverse.T @ self.rows[:, rest])
        return Factors(self.dual @ block.T, rows, same, rest, shift, spread)

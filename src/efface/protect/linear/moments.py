"""What the linear erasers learn from: sums that stream, merge, and never hold a one-hot (P2)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError, EraserError

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]

_CHUNK_ENTRIES = 1 << 21
"""Entries of the float64 working copy: 16 MB, whatever the dimension."""


class Moments:
    """Count and float64 sum of every identity; with ``second`` also the raw second moment.

    One pass, any order, any shard: ``update`` and ``merge`` add up to the same numbers to float64
    rounding. A refused ``update`` leaves the moments as they were. Rows are brought to unit
    length on the way in (P1) unless ``normalise`` is off.
    """

    def __init__(self, dim: int, second: bool = False, *, normalise: bool = True) -> None:
        if dim < 1:
            raise DataError(f"moments need a dimension of at least 1, got {dim}")
        self.dim = dim
        self.second = second
        self.normalise = normalise
        self.rows = 0
        self.squares = 0.0
        """Sum of the squared lengths of all rows (as counted: 1 each when normalised)."""
        self.eps = 0.0
        """Spacing of the coarsest dtype seen: what rank tolerances follow (P5)."""
        self._slot: dict[Hashable, int] = {}
        self._sums: Matrix = np.zeros((0, dim))
        self._counts: Counts = np.zeros(0, np.int64)
        self._raw: Matrix = np.zeros((dim, dim) if second else (0, 0))

    # --- gathering --------------------------------------------------------------------------

    def update(self, x: Any, identity: Any, *, dtype: Any = None) -> Self:
        """Add rows with one label each. ``dtype``: the coarser one they were stored in, if any."""
        x = _vectors(x, self.dim)
        labels, codes = identity_codes(identity, len(x))
        sums = np.zeros((len(labels), self.dim))
        raw = np.zeros_like(self._raw)
        squares = 0.0
        step = max(1, _CHUNK_ENTRIES // self.dim)
        for start in range(0, len(x), step):
            block = np.array(x[start : start + step], np.float64)
            lengths = _lengths(block, start, zero_allowed=not self.normalise)
            if self.normalise:
                block /= lengths[:, None]
                lengths[:] = 1.0
            squares += float(lengths @ lengths)
            _add_by_code(sums, block, codes[start : start + step])
            if self.second:
                raw += block.T @ block
        self._absorb(labels, sums, np.bincount(codes, minlength=len(labels)), raw)
        self.rows += len(x)
        self.squares += squares
        self.eps = max(self.eps, _spacing(x.dtype), _spacing(np.dtype(dtype or x.dtype)))
        return self

    def merge(self, other: Moments) -> Self:
        """Add the moments of another shard; identities with one label are one identity."""
        mine, theirs = ((m.dim, m.second, m.normalise) for m in (self, other))
        if mine != theirs:
            raise DataError(
                f"moments of different make cannot be merged: (dim, second, normalise) is {mine} "
                f"here and {theirs} there; gather both shards with the same settings"
            )
        self._absorb(list(other._slot), other._used(), other._tally(), other._raw)
        self.rows += other.rows
        self.squares += other.squares
        self.eps = max(self.eps, other.eps)
        return self

    def _absorb(
        self, labels: Sequence[Hashable], sums: Matrix, counts: Counts, raw: Matrix
    ) -> None:
        kinds = {type(label).__name__ for label in (*labels[:1], *list(self._slot)[:1])}
        if len(kinds) > 1:
            raise DataError(
                f"identities are {' in one part and '.join(sorted(kinds))} in another: give every "
                "part the same type of label, or 5 and '5' count as two people"
            )
        slots = np.array([self._slot.setdefault(k, len(self._slot)) for k in labels], np.int64)
        self._reserve(len(self._slot))
        self._sums[slots] += sums
        self._counts[slots] += counts
        self._raw += raw

    def _reserve(self, people: int) -> None:
        """Room for ``people`` identities, doubling so that a long stream does not copy often."""
        have = len(self._counts)
        if people <= have:
            return
        more = max(people, 2 * have) - have if have else people
        self._sums = np.concatenate([self._sums, np.zeros((more, self.dim))])
        self._counts = np.concatenate([self._counts, np.zeros(more, np.int64)])

    def _used(self) -> Matrix:
        return self._sums[: len(self._slot)]

    def _tally(self) -> Counts:
        return self._counts[: len(self._slot)]

    # --- reading ----------------------------------------------------------------------------

    @property
    def people(self) -> int:
        """How many identities were seen."""
        return len(self._slot)

    @property
    def labels(self) -> list[Hashable]:
        """The identities, sorted: the order of ``counts`` and ``means``."""
        return sorted(self._slot)  # type: ignore[type-var]

    @property
    def counts(self) -> Counts:
        return self._tally()[self._order()]

    @property
    def means(self) -> Matrix:
        """Mean vector of each identity, people x dim, sorted by label."""
        order = self._order()
        return np.asarray(self._sums[order] / self._counts[order, None])

    @property
    def mean(self) -> Matrix:
        """Mean of all rows; frequent identities weigh more."""
        return np.asarray(self._used()[self._order()].sum(axis=0) / self.rows)

    @property
    def centre(self) -> Matrix:
        """Mean of the identities' means: every identity counts once (P4)."""
        return np.asarray(self.means.mean(axis=0))

    @property
    def variance(self) -> float:
        """Total variance: the trace of the covariance, known without the second moment."""
        mean = self.mean
        return max(0.0, self.squares / self.rows - float(mean @ mean))

    @property
    def cross(self) -> Matrix:
        """Cross-covariance of vector and identity indicator, dim x people."""
        share = self.counts / self.rows
        return np.asarray((share[:, None] * (self.means - self.mean)).T)

    @property
    def between(self) -> Matrix:
        """Covariance of the identities' means, weighted by their counts."""
        spread = np.sqrt(self.counts / self.rows)[:, None] * (self.means - self.mean)
        return np.asarray(spread.T @ spread)

    @property
    def covariance(self) -> Matrix:
        """Covariance of all rows (divided by their number)."""
        if not self.second:
            raise EraserError(
                "this needs the covariance, which these moments do not hold: gather them with "
                "Moments(dim, second=True)"
            )
        mean = self.mean
        return np.asarray(self._raw / self.rows - np.outer(mean, mean))

    @property
    def within(self) -> Matrix:
        """Covariance of the rows around their identity's mean: covariance minus between."""
        return self.covariance - self.between

    def _order(self) -> Counts:
        if not self.rows:
            raise DataError("no rows seen yet: call update() first")
        return np.array([self._slot[label] for label in self.labels], np.int64)


# --- checking and summing -------------------------------------------------------------------


def _vectors(given: Any, dim: int) -> NDArray[Any]:
    x: NDArray[Any] = np.asarray(given)
    if x.ndim != 2 or x.shape[1] != dim:
        raise DataError(f"expected rows of {dim} numbers, got an array of shape {x.shape}")
    if x.dtype.kind not in "fiu":
        raise DataError(f"vectors must be real numbers, got {x.dtype}: convert them to float32")
    return x


def identity_codes(identity: Any, rows: int) -> tuple[list[Hashable], Counts]:
    """The distinct labels as Python values, and for every row its position among them."""
    labels = np.asarray(identity)
    if labels.ndim != 1:
        raise DataError(
            f"expected one identity label per row, got an array of shape {labels.shape}: pass "
            "integers or strings, not one-hot rows"
        )
    if len(labels) != rows:
        raise DataError(f"{rows} vectors but {len(labels)} identities: give each row one label")
    missing = np.flatnonzero(_absent(labels))
    if len(missing):
        raise DataError(f"row {missing[0]} has no identity: drop the row or give it a label")
    try:
        distinct, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise DataError(
            f"identities cannot be told apart ({error}): make them all strings or all integers"
        ) from None
    return distinct.tolist(), codes.astype(np.int64, copy=False)


def _absent(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """None and NaN: what tables hold where nobody filled in a name."""
    if labels.dtype.kind == "O":
        return np.array([v is None or v != v for v in labels], bool)
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    return np.zeros(len(labels), bool)


def _lengths(block: Matrix, start: int, *, zero_allowed: bool) -> Matrix:
    lengths: Matrix = np.sqrt(np.einsum("ij,ij->i", block, block))
    bad = ~np.isfinite(lengths) | ((lengths == 0) & (not zero_allowed))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        what = "is all zero" if lengths[row] == 0 else "holds NaN or infinity"
        raise DataError(f"row {start + row} {what}: remove it, or repair the file it came from")
    return lengths


def _add_by_code(sums: Matrix, block: Matrix, codes: Counts) -> None:
    """``sums[code] += row`` for every row, as one sparse product over the codes present."""
    from scipy.sparse import csc_array

    present, local = np.unique(codes, return_inverse=True)
    ones, ends = np.ones(len(block)), np.arange(len(block) + 1)
    sums[present] += csc_array((ones, local, ends), shape=(len(present), len(block))) @ block


def _spacing(dtype: np.dtype[Any]) -> float:
    return float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps)

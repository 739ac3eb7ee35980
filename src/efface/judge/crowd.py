"""How many impostor pairs a crowd makes: by the sizes of its people alone, without a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.measure import intervals, quotas


@dataclass(frozen=True, eq=False)
class Crowd:
    """Images of each person, and the quota of image pairs of two people (None: all)."""

    sizes: NDArray[np.int64]
    quota: int | None = None

    def impostor_totals(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Number of impostor pairs under each vector of weights, own copies left out."""
        if self.quota is None:
            return intervals.impostor_totals(weights, self.sizes)
        counts = quotas.quota_counts(self.sizes, self.quota)
        return np.asarray(((weights @ counts) * weights).sum(axis=1) / 2)

    def impostors_of_each(self) -> NDArray[np.int64]:
        """Number of impostor pairs that each person is in."""
        if self.quota is None:
            return np.asarray(self.sizes * (self.sizes.sum() - self.sizes))
        return np.asarray(quotas.quota_counts(self.sizes, self.quota).sum(axis=1))

    def impostor_count(self) -> int:
        """How many impostor pairs there are."""
        if self.quota is None:
            n = int(self.sizes.sum())
            return (n * n - sum(int(k) ** 2 for k in self.sizes)) // 2
        return int(quotas.quota_counts(self.sizes, self.quota).sum() // 2)

    def impostors_of(self, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
        """Number of impostor pairs of each two people listed."""
        pairs = self.sizes[left].astype(np.float64) * self.sizes[right]
        return np.asarray(pairs if self.quota is None else np.minimum(pairs, self.quota))

    def impostor_square(self) -> float:
        """Sum over all two people of the square of the number of their pairs."""
        if self.quota is not None:
            counts = quotas.quota_counts(self.sizes, self.quota).astype(np.float64)
            return float((counts**2).sum() / 2)
        squares = self.sizes.astype(np.float64) ** 2
        return float((squares.sum() ** 2 - squares @ squares) / 2)

    def reach(
        self, left: NDArray[Any], right: NDArray[Any], count: NDArray[Any], repeats: float
    ) -> intervals.Reach:
        """How much one more pair of people would move a false-accept rate."""
        a, b, hits = intervals.sums_by_pair(left, right, count, len(self.sizes))
        total, square = float(self.impostor_count()), self.impostor_square()
        up = intervals.one_more(hits / repeats, self.impostors_of(a, b), total, square)
        return intervals.Reach(total**2 / square, up, square / total**2)

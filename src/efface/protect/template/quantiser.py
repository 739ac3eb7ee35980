"""From real coordinates to integers: floor((x - min) / (max - min) q scale) (paper, section 8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError


@dataclass(frozen=True)
class Quantiser:
    """``low`` and ``high`` are the extremes of a population; q times the scale are the levels.

    What lies outside is clamped to the nearest end: wrapped around the modulus, a value just above
    the range would land at its other end.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (np.isfinite([self.low, self.high]).all() and self.low < self.high):
            raise DataError(
                "the quantiser found no range in the population (all elements are equal): fit it "
                "on embeddings of different people"
            )

    @classmethod
    def fitted(cls, x: NDArray[np.float64]) -> Quantiser:
        return cls(float(x.min()), float(x.max()))

    @property
    def width(self) -> float:
        return self.high - self.low

    def quantise(self, x: NDArray[np.float64], levels: float) -> NDArray[np.int64]:
        share = np.clip((x - self.low) / self.width, 0.0, 1.0)
        return np.floor(share * levels).astype(np.int64)

    def clamped(self, x: NDArray[np.float64]) -> NDArray[np.int64]:
        """How many coordinates of each row lie outside the range."""
        return np.asarray(((x < self.low) | (x > self.high)).sum(axis=-1))

"""The grid on which scores are counted: fixed, so that histograms add up, and fine near 1.

Cosines of one encoder may all lie within 1e-3 of 1. So the grid divides the distance from 1 and
not the score: each octave of it in 4,096 steps, from 2 down to where float32 products end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]

_NUDGE = np.float32(2.0**-18)
_LEAST = np.float32(2.0**-17)
_FINE = 12
_TOP = 128 << _FINE
SIZE = 18 * (1 << _FINE) + 1
"""Bins of a histogram: 18 octaves, and one for scores of -1."""
_SLAB = 1 << 17


def grid() -> NDArray[np.float64]:
    """Ascending score thresholds of the histogram's lower bin edges.

    The grid is fine where scores crowd: the distance from 1 is told apart to 1 part in 4,096, be
    it 1 or 1e-4. The edges lie 2^-18 off the round numbers and the last bin begins 2^-18 below 1,
    so that rounding does not part equal scores at -1, 0, 1/2 or 1.
    """
    step = SIZE - np.arange(SIZE)
    away = np.ldexp(1 + (step & ((1 << _FINE) - 1)) / (1 << _FINE), (step >> _FINE) - 17)
    return np.asarray(1 + float(_NUDGE) - away)


def count_on_grid(scores: NDArray[np.float32], histogram: Counts) -> None:
    """Add float32 scores to the grid histogram.

    The leading bits of a positive float are its octave and its place in it: a logarithmic grid
    without a logarithm.
    """
    for start in range(0, len(scores), _SLAB):
        away = (1 + _NUDGE) - scores[start : start + _SLAB]
        np.clip(away, _LEAST, 2, out=away)
        bins = away.view(np.int32)
        bins >>= 23 - _FINE
        last = bins.max()
        np.subtract(last, bins, out=bins)
        count = np.bincount(bins)
        histogram[_TOP - last :][: len(count)] += count


def at_least(histogram: Counts) -> Counts:
    """Number of scores >= each threshold of the grid."""
    return np.asarray(np.cumsum(histogram[::-1])[::-1])

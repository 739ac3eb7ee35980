"""From a false-match rate to bits and to guesses (P26)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError


def bits(fmr: float) -> float:
    """-log2 of the rate at which a stranger is accepted; infinite where none was."""
    if not 0 <= fmr <= 1:
        raise DataError(f"a false-match rate lies between 0 and 1, not at {fmr}")
    return math.inf if fmr == 0 else -math.log2(fmr)


def guesses(fmr: float, success: float) -> float:
    """Independent guesses until one is accepted with probability ``success``:
    ceil(log(1 - success) / log(1 - FMR))."""
    bits(fmr)  # refuses what is no rate
    if not 0 < success < 1:
        raise DataError(f"a chance of success lies between 0 and 1, not at {success}")
    if fmr == 0:
        return math.inf
    if fmr == 1:
        return 1.0
    return float(math.ceil(math.log1p(-success) / math.log1p(-fmr) - 1e-9))


def per_guess(opened: float, made: int) -> float:
    """The chance of one guess at which so many guesses open this share of the people:
    1 - (1 - share)^(1 / made). The share over ``made`` is less, and would flatter the scheme."""
    bits(opened)  # refuses what is no rate
    return 1.0 if opened == 1 else -math.expm1(math.log1p(-opened) / made)


def guesses_for_half(tried: NDArray[np.int64], made: int, stranger: float) -> tuple[float, bool]:
    """Guesses that open half of the templates, and whether that many were seen to.

    ``tried`` is as for :func:`guesses_seen`, of ``made`` guesses on each; a search that ended too
    early goes on at the rate that it had. ``stranger`` is the rate of strangers, who can be had
    without end.
    """
    by_rate = guesses(stranger, 0.5)
    seen = guesses_seen(tried, 0.5)
    if seen is not None:
        return (float(seen), True) if seen <= by_rate else (by_rate, False)
    return min(guesses(per_guess(float((tried > 0).mean()), made), 0.5), by_rate), False


def guesses_seen(tried: NDArray[np.int64], success: float) -> int | None:
    """The guess by which a share ``success`` of the templates was open; None if never.

    ``tried`` is the number of the guess that opened each template, 0 where none did.
    """
    opened = np.sort(tried[tried > 0])
    needed = math.ceil(success * len(tried) - 1e-9)
    return int(opened[needed - 1]) if 0 < needed <= len(opened) else None

"""Rates from two sets of scores: the plain definitions, for anyone who holds the scores.

Accept when score > tau. FAR = FMR, TAR = 1 - FNMR (ISO/IEC 19795-1 names, P15).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

FAR_GRID: Array = np.round(10.0 ** np.linspace(-6, 0, 61), 12)
"""Ten FAR targets per decade from 1e-6 to 1: the grid on which curves are reported."""


def rate(scores: Array, tau: float) -> float:
    """Share of scores accepted at tau."""
    return float(np.count_nonzero(scores > tau) / len(scores))


def operating_curve(mated_ge: Array, impostor_ge: Array) -> tuple[Array, Array]:
    """(FAR, TAR) at descending thresholds from counts of scores >= each ascending threshold.

    Starts at (0, 0), ends at (1, 1).
    """
    far = impostor_ge[::-1] / impostor_ge[0]
    tar = mated_ge[::-1] / mated_ge[0]
    return np.concatenate([[0.0], far]), np.concatenate([[0.0], tar])


def tar_at(far: Array, tar: Array, targets: Array) -> Array:
    """TAR at the largest measured FAR not above each target: never interpolated upward."""
    return np.asarray(tar[np.searchsorted(far, targets * (1 + 1e-12), side="right") - 1])


def equal_error_rate(far: Array, tar: Array) -> float:
    """Where FAR = FNMR, linear between the two points that enclose the crossing."""
    gap = far - (1 - tar)
    after = int(np.argmax(gap >= 0))
    if after == 0 or gap[after] == gap[after - 1]:
        return float(far[after])
    share = -gap[after - 1] / (gap[after] - gap[after - 1])
    return float(far[after - 1] + share * (far[after] - far[after - 1]))


def partial_auc(far: Array, tar: Array, limit: float) -> float:
    """Area under TAR over FAR in [0, limit], as a share of its maximum (appendix A.4)."""
    inside = far <= limit
    x = np.concatenate([far[inside], [limit]])
    y = np.concatenate([tar[inside], [np.interp(limit, far, tar)]])
    return float(np.diff(x) @ (y[1:] + y[:-1]) / 2 / limit)

"""Where the five points of a face lie, and whether five given points are in that order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from efface.faces.face import Outcome, Points

TEMPLATE: Points = np.array(
    [
        [38.2946, 51.6963],
        [73.5318, 51.5014],
        [56.0252, 71.7366],
        [41.5493, 92.3655],
        [70.7299, 92.2041],
    ]
)
"""The five points in a 112 x 112 picture as ArcFace networks expect them (Deng et al. 2019)."""

_ORDERS = np.array(list(permutations(range(5))))
_MIRRORED = int(np.flatnonzero((_ORDERS == (1, 0, 2, 4, 3)).all(axis=1))[0])
_TILT = np.pi / 4


def landmark_faults(landmarks: NDArray[np.floating]) -> list[Outcome | None]:
    """For each face of n x 5 x 2: ``MIRRORED``, ``DISORDERED`` or None.

    The points are fitted to the template in all 120 orders; the order given has to fit best. Fits
    that tilt the face by more than 45 degrees do not count: two eyes and two mouth corners are so
    nearly a square that a quarter turn cannot be told from a change of order.
    """
    fit = _unit(np.asarray(landmarks, np.float64)).conj() @ _unit(TEMPLATE[_ORDERS]).T
    upright = np.abs(np.angle(fit)) <= _TILT
    best = np.where(upright, np.abs(fit), 0).argmax(axis=1)
    told = np.where(upright.any(axis=1) & (fit != 0).any(axis=1), best, 1)
    known: dict[int, Outcome | None] = {0: None, _MIRRORED: Outcome.MIRRORED}
    return [known.get(int(order), Outcome.DISORDERED) for order in told]


def _unit(points: Points) -> NDArray[np.complex128]:
    """Points as complex numbers about their mean, of length 1: then |<p, q>| says how well a
    turned and scaled p fits q, and its angle by how much it was turned."""
    flat = points @ np.array([1, 1j])
    flat = flat - flat.mean(axis=1, keepdims=True)
    length = np.linalg.norm(flat, axis=1, keepdims=True)
    unit: NDArray[np.complex128] = flat / np.where(length > 0, length, 1)
    return unit

"""Face, ring and surroundings of one crop as weights: the same for its context match, whose face
lies where the crop's own does, and so made once for both."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np

from efface.faces.annulus import equal_area_annuli
from efface.faces.blur import Soft, softened
from efface.faces.face import Face, Reals
from efface.faces.mask import Masks, face_runs
from efface.faces.reveal import Distances, reveal_weight

_HELD = 8
"""Crops whose weights are in memory: 1 MB each."""


class Regions:
    """Each is made when it is first asked for."""

    def __init__(self, landmarks: Reals, size: tuple[int, int]) -> None:
        self._runs = face_runs(landmarks, size)
        self._shown: dict[float, Reals] = {}

    @cached_property
    def mask(self) -> Masks:
        """The face."""
        found: Masks = self._runs.masks()[0]
        return found

    @cached_property
    def face(self) -> Soft | None:
        return softened(self.mask)

    @cached_property
    def ring(self) -> Soft | None:
        return softened(equal_area_annuli(self._runs).masks[0])

    def shown(self, level: float) -> Reals:
        """How much of each pixel is revealed at a level."""
        if level not in self._shown:
            self._shown[level] = reveal_weight(self.mask, self._away, level)
        return self._shown[level]

    @cached_property
    def _away(self) -> Distances:
        return Distances(self.mask)


def regions_of(face: Face, size: tuple[int, ...]) -> Regions:
    """Those of the last few faces are held."""
    return _regions(face.landmarks.tobytes(), (size[0], size[1]))


@lru_cache(maxsize=_HELD)
def _regions(landmarks: bytes, size: tuple[int, int]) -> Regions:
    return Regions(np.frombuffer(landmarks).reshape(1, 5, 2), size)

"""The noun of this package, a found face, and the words for what can be wrong with a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError

Pixels = NDArray[np.uint8]
Reals = NDArray[np.floating[Any]]
Points = NDArray[np.float64]

LANDMARKS = ("right eye", "left eye", "nose", "right mouth corner", "left mouth corner")
"""The order of the five points. Right is the person's own: upright, it is left in the picture."""


class Outcome(StrEnum):
    """What became of a picture. Every picture has exactly one, so denominators stay whole."""

    ONE = "one face"
    SEVERAL = "several faces"
    NONE = "no face"
    BORDER = "face at the border"
    SMALL_FACE = "face too small"
    SMALL_PICTURE = "picture too small"
    NO_PICTURE = "not a picture"
    MIRRORED = "landmarks mirrored"
    DISORDERED = "landmarks out of order"


@dataclass(frozen=True, eq=False)
class Face:
    """A box (x1, y1, x2, y2), five points and the detector's own score.

    Points are in pixels whose centres are whole numbers; box edges are in pixels whose left and
    upper edges are. So a box around all of an 8 x 8 picture is (0, 0, 8, 8).
    """

    box: Points
    landmarks: Points
    score: float = 1.0

    def __post_init__(self) -> None:
        for name, shape in (("box", (4,)), ("landmarks", (5, 2))):
            value = np.array(getattr(self, name), np.float64)
            if value.shape != shape or not np.isfinite(value).all():
                raise DataError(
                    f"a face needs finite {name} of shape {shape}, got {value.tolist()}"
                )
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        if self.box[2] <= self.box[0] or self.box[3] <= self.box[1]:
            raise DataError(f"a face's box is (x1, y1, x2, y2), got {self.box.tolist()}")

    @property
    def size(self) -> Points:
        """Width and height of the box."""
        return self.box[2:] - self.box[:2]

    @property
    def area(self) -> float:
        return float(self.size.prod())

    @property
    def centre(self) -> Points:
        """Middle of the box."""
        return (self.box[:2] + self.box[2:]) / 2

    def moved(self, origin: tuple[float, float], scale: float) -> Face:
        """The same face after the picture was cut at ``origin`` (x, y) and resized by ``scale``."""
        at = np.array(origin, np.float64)
        box = (self.box - np.tile(at, 2)) * scale
        return Face(box, (self.landmarks + 0.5 - at) * scale - 0.5, self.score)


@dataclass(frozen=True, eq=False)
class Finding:
    """What was found in one picture; ``face`` is None where the outcome leaves none to use."""

    outcome: Outcome
    face: Face | None = None
    faces: tuple[Face, ...] = ()
    """All that the detector saw, best score first."""
    detail: str = ""


def tally(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """How often each outcome came, in that order; what never came is left out."""
    counts = Counter(outcomes)
    return {outcome.value: counts[outcome] for outcome in Outcome if counts[outcome]}

"""What counts as a picture here, and a picture cut to a size that a detector takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from efface.faces.face import Outcome, Pixels
from efface.faces.resample import resized

LEAST_SIDE = 16
"""Pictures with a shorter side hold no face that anything here could use."""


def picture_fault(picture: Any) -> Outcome | None:
    """``NO_PICTURE`` or ``SMALL_PICTURE``, or None for what can be searched."""
    if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8:
        return Outcome.NO_PICTURE
    if picture.ndim != 3 or picture.shape[2] != 3:
        return Outcome.NO_PICTURE
    return Outcome.SMALL_PICTURE if min(picture.shape[:2]) < LEAST_SIDE else None


def framed(picture: Pixels, most: tuple[int, int], multiple: int = 1) -> tuple[Pixels, float]:
    """The picture, reduced if it exceeds ``most`` = (height, width), and its scale; filled up
    with black on the right and below to sides that are multiples. Nothing is enlarged."""
    height, width = picture.shape[:2]
    scale = min(1.0, most[0] / height, most[1] / width)
    if scale < 1:
        size = (max(1, round(height * scale)), max(1, round(width * scale)))
        picture = resized(picture, size)
    return placed(
        picture, tuple(-(-side // multiple) * multiple for side in picture.shape[:2])
    ), scale


def placed(picture: Pixels, size: tuple[int, ...]) -> Pixels:
    """The picture in the upper left corner of a black one of ``size`` = (height, width)."""
    if picture.shape[:2] == size:
        return picture
    canvas = np.zeros((*size, 3), np.uint8)
    canvas[: picture.shape[0], : picture.shape[1]] = picture
    return canvas

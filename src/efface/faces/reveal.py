"""More and more of the surroundings shown while the face stays (P22, appendix D.5)."""

from __future__ import annotations

import numpy as np

from efface.errors import DataError
from efface.faces.blur import FEATHER, feathered
from efface.faces.face import Pixels
from efface.faces.mask import Masks

HIDDEN = 128
"""The grey of what is not shown. The picture's own mean colour, or a blur of it, would tell of the
surroundings where nothing of them is to be seen."""


def shown(mask: Masks, level: float) -> Masks:
    """The face and the share ``level`` of the pixels around it that are nearest to it (height x
    width). Pixels that are equally far come together, so it may be a few pixels more."""
    if not 0 <= level <= 1:
        raise DataError(f"{level} of the background cannot be shown: give 0 to 1")
    if not mask.any():
        raise DataError("a mask without a pixel has no surroundings that could be revealed")
    return _within(mask, _squared_distances(mask), level)


def revealed(
    picture: Pixels, mask: Masks, levels: tuple[float, ...], *, feather: float = FEATHER
) -> Pixels:
    """One picture (height x width x 3) at every level: levels x height x width x 3. The face's
    own pixels are as they were at all of them; at level 1 all pixels are."""
    weights = reveal_weights(mask, levels, feather=feather)
    return faded(picture, weights)


def reveal_weights(
    mask: Masks, levels: tuple[float, ...], *, feather: float = FEATHER
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """How much of each pixel is shown at every level, 0 to 1; the edges are soft, the face is not
    touched by them."""
    away = _squared_distances(mask)
    weights = np.ones((len(levels), *mask.shape), np.float32)
    for k, level in enumerate(levels):
        if level < 1:
            soft = feathered(_within(mask, away, level), feather)
            weights[k] = np.where(mask, 1.0, soft)
    return weights


def faded(picture: Pixels, weights: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Pixels:
    """The picture over plain grey, by such weights."""
    change = picture.astype(np.float32) - HIDDEN
    return (HIDDEN + weights[..., None] * change + np.float32(0.5)).astype(np.uint8)


def _squared_distances(mask: Masks) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Of every pixel to the face: whole numbers."""
    from scipy import ndimage

    away = np.rint(ndimage.distance_transform_edt(~mask) ** 2)
    return np.asarray(away, np.int64)


def _within(
    mask: Masks, away: np.ndarray[tuple[int, ...], np.dtype[np.int64]], level: float
) -> Masks:
    around = away[~mask]
    wanted = round(level * around.size)
    if not wanted:
        return mask.copy()
    nearest = np.partition(around, wanted - 1)[wanted - 1]
    return np.asarray(away <= nearest)

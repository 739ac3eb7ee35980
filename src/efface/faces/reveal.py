"""More and more of the surroundings shown while the face stays (P22, appendix D.5)."""

from __future__ import annotations

import numpy as np

from efface.errors import DataError
from efface.faces.blur import FEATHER, feathered, planes_of
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
    return Distances(mask).within(level)


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
    away = Distances(mask)
    return np.stack([reveal_weight(mask, away, level, feather=feather) for level in levels])


def reveal_weight(
    mask: Masks, away: Distances, level: float, *, feather: float = FEATHER
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """The same at one level."""
    if level >= 1:
        return np.ones(mask.shape, np.float32)
    soft = feathered(away.within(level), feather)
    return np.where(mask, np.float32(1), soft).astype(np.float32, copy=False)


def faded(picture: Pixels, weights: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Pixels:
    """The picture over plain grey, by such weights."""
    change = planes_of(picture) - HIDDEN
    out = np.empty((*weights.shape, 3), np.uint8)
    for shape in np.ndindex(weights.shape[:-2]):
        out[shape] = over_grey(change, weights[shape])
    return out


def over_grey(
    change: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    weight: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
) -> Pixels:
    """The same at one level; ``change`` is by how much the picture's planes differ from grey."""
    mixed = weight * change
    mixed += HIDDEN
    mixed += np.float32(0.5)
    return mixed.astype(np.uint8).transpose(1, 2, 0)


class Distances:
    """How far the pixels around a face are from it, counted once for all levels. Squared distances
    are whole numbers."""

    def __init__(self, mask: Masks) -> None:
        from scipy import ndimage

        self._mask = mask
        self._away = np.rint(ndimage.distance_transform_edt(~mask) ** 2).astype(np.int32)
        self._held = np.cumsum(np.bincount(self._away.ravel())) - np.count_nonzero(mask)

    def within(self, level: float) -> Masks:
        """The face and the share ``level`` of what is around it; no pixel around is at 0."""
        wanted = round(level * int(self._held[-1]))
        if not wanted:
            return self._mask.copy()
        nearest = np.searchsorted(self._held, wanted)
        return np.asarray(self._away <= nearest)

"""Histogram matching: one region's colours are given the distribution of another's (D.6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from efface.faces.face import Points, Reals


def matching(values: Reals, like: Reals) -> Points:
    """Per channel the rising map that gives ``values`` (n x channels, 0 to 255) the distribution
    of ``like``: 256 x channels. Each level goes to the level of the same rank; ranks are those of
    the middles of the steps, so that equal distributions are left as they are."""
    curves = np.tile(np.arange(256.0)[:, None], values.shape[1])
    if len(values) and len(like):
        for channel in range(values.shape[1]):
            theirs = _counts(like[:, channel])
            held = np.flatnonzero(theirs)
            ranks = _ranks(_counts(values[:, channel]))
            curves[:, channel] = np.interp(ranks, _ranks(theirs)[held], held)
    return curves


def recoloured(picture: Reals, curves: Points) -> Points:
    """A picture (... x channels) through such maps, values between two levels in proportion."""
    levels = np.arange(256)
    channels = [np.interp(picture[..., c], levels, curves[:, c]) for c in range(picture.shape[-1])]
    return np.stack(channels, axis=-1)


def _ranks(counts: NDArray[np.int64]) -> Points:
    ranks: Points = (np.cumsum(counts) - counts / 2) / counts.sum()
    return ranks


def _counts(values: Reals) -> NDArray[np.int64]:
    whole = np.clip(np.rint(values), 0, 255).astype(np.int64)
    return np.bincount(whole, minlength=256)

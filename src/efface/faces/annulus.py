"""The ring of background around a face that is as large as the face (P20)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from efface.faces.face import Points
from efface.faces.mask import Masks, Runs

TOLERANCE = 0.02
_TOGETHER = 16
"""Masks searched side by side: enough for NumPy, few enough for the processor's cache."""


@dataclass(frozen=True, eq=False)
class Annuli:
    """Rings around masks: ``dilate(M, w) - M`` with w chosen so that the areas match."""

    masks: Masks
    """n x height x width."""
    widths: Points
    """w of each, in pixels."""
    difference: Points
    """(area of the ring - area of the face) / area of the face."""

    @property
    def matched(self) -> NDArray[np.bool_]:
        """Within 2 %. A face of more than half of its picture has no ring as large as itself."""
        return np.abs(self.difference) <= TOLERANCE


def equal_area_annuli(faces: Runs | Masks) -> Annuli:
    """The ring within the picture whose area comes nearest to the face's.

    The dilation is by a disc of radius w: pixels no further than w from the face. Squared
    distances between pixels are whole numbers, so w^2 is found exactly by binary search.
    """
    runs = faces if isinstance(faces, Runs) else as_runs(faces)
    if runs is None:
        return _of_any_masks(np.asarray(faces))
    parts = [runs[start : start + _TOGETHER] for start in range(0, len(runs.left), _TOGETHER)]
    width_squared = np.concatenate([np.zeros(0, np.int64), *map(_search, parts)])
    rings = runs.masks()
    for start, part in zip(range(0, len(rings), _TOGETHER), parts, strict=True):
        here = slice(start, start + _TOGETHER)
        rings[here] ^= grown(part, width_squared[here]).masks()
    return _annuli(rings, runs.areas, width_squared)


def grown(runs: Runs, width_squared: NDArray[np.int64]) -> Runs:
    """Masks dilated by discs of radius w, clipped to the picture. A row of the result is the
    union of the runs of its neighbours at dy, each longer by sqrt(w^2 - dy^2) on both sides."""
    height = runs.left.shape[1]
    reach = min(int(np.sqrt(width_squared.max(initial=0))), height - 1)
    dy = np.arange(-reach, reach + 1)
    room = width_squared[:, None] - dy**2
    longer = np.sqrt(np.maximum(room, 0)).astype(np.int32)  # exact: these are below 2^52
    far = 4 * (height + runs.width)
    longer = np.where(room < 0, -far, longer)[:, None, :]
    empty = runs.right < runs.left
    left = np.where(empty, far, runs.left).astype(np.int32)
    right = np.where(empty, -far, runs.right).astype(np.int32)
    left = (_windows(left, reach, far) - longer).min(axis=2)
    right = (_windows(right, reach, -far) + longer).max(axis=2)
    return Runs(np.clip(left, 0, runs.width), np.clip(right, -1, runs.width - 1), runs.width)


def as_runs(masks: Masks) -> Runs | None:
    """Masks as runs, or None if a row of one is in pieces or its rows do not touch each other."""
    width = masks.shape[2]
    full: NDArray[np.bool_] = np.any(masks, axis=2)
    left = np.where(full, masks.argmax(axis=2), width)
    right = np.where(full, width - 1 - masks[:, :, ::-1].argmax(axis=2), -1)
    runs = Runs(left, right, width)
    whole = bool((runs.areas == masks.sum(axis=(1, 2))).all())
    touching = (left[:, 1:] <= right[:, :-1] + 1) & (left[:, :-1] <= right[:, 1:] + 1)
    both = full[:, 1:] & full[:, :-1]
    pieces = full[:, 0] + (full[:, 1:] & ~full[:, :-1]).sum(axis=1)
    return runs if whole and bool((touching | ~both).all() and (pieces <= 1).all()) else None


def _search(runs: Runs) -> NDArray[np.int64]:
    """For every mask the w^2 with |area of the ring - area of the face| least."""
    inside = runs.areas
    low, under = np.zeros(len(inside), np.int64), np.zeros(len(inside), np.int64)
    high, over = _bound(runs, inside)
    while ((high - low) > 1).any():
        middle = (low + high) // 2
        ring = grown(runs, middle).areas - inside
        small = ring < inside
        low, under = np.where(small, middle, low), np.where(small, ring, under)
        high, over = np.where(small, high, middle), np.where(small, over, ring)
    nearer: NDArray[np.int64] = np.where(inside - under <= np.abs(over - inside), low, high)
    return nearer


def _bound(runs: Runs, inside: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A w^2 whose ring is large enough, and that ring's area. Of all shapes a disc needs the
    widest ring, (sqrt 2 - 1) of its radius; where the picture cuts that off, the whole picture.
    """
    height = runs.left.shape[1]
    disc = np.ceil((0.42 * np.sqrt(inside / np.pi) + 2) ** 2).astype(np.int64)
    ring = grown(runs, disc).areas - inside
    cut = ring < inside
    return (
        np.where(cut, height**2 + runs.width**2, disc),
        np.where(cut, np.where(inside > 0, height * runs.width - inside, 0), ring),
    )


def _of_any_masks(masks: Masks) -> Annuli:
    """The same for masks of any shape, by a distance transform."""
    from scipy import ndimage

    inside = masks.sum(axis=(1, 2))
    rings, chosen = np.zeros_like(masks), np.zeros(len(masks), np.int64)
    for row, mask in enumerate(masks):
        if not inside[row]:
            continue
        away = np.rint(ndimage.distance_transform_edt(~mask) ** 2).astype(np.int64)
        within = np.cumsum(np.bincount(away[~mask], minlength=1))
        over = min(int(np.searchsorted(within, inside[row])), len(within) - 1)
        under = int(np.searchsorted(within, within[over - 1])) if over else 0
        near = inside[row] - within[under] <= abs(within[over] - inside[row])
        chosen[row] = under if near else over
        rings[row] = ~mask & (away <= chosen[row])
    return _annuli(rings, inside, chosen)


def _annuli(rings: Masks, inside: NDArray[np.int64], width_squared: NDArray[np.int64]) -> Annuli:
    areas = rings.sum(axis=(1, 2))
    difference = np.where(inside > 0, (areas - inside) / np.maximum(inside, 1), -1.0)
    return Annuli(rings, np.sqrt(width_squared), difference)


def _windows(rows: NDArray[np.int32], reach: int, outside: int) -> NDArray[np.int32]:
    """Every row with its neighbours up to ``reach`` away: n x height x (2 reach + 1)."""
    padded = np.pad(rows, ((0, 0), (reach, reach)), constant_values=outside)
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1, axis=1)

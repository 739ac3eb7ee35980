"""Another person's face in a picture: same surroundings, other identity (P23)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from efface.faces.align import similarity, warped
from efface.faces.blur import FEATHER, Part, feathered
from efface.faces.face import Outcome, Pixels, Points, Reals
from efface.faces.histogram import matching, recoloured
from efface.faces.landmarks import landmark_faults
from efface.faces.mask import Masks, face_masks
from efface.faces.poisson import blended
from efface.faces.resample import as_pixels

LEAST_COVERED = 0.95
"""Of the face that is replaced, the share for which the other picture must have pixels."""

INNER = 0.9
"""The part of the face ellipse, by its axes, that is replaced: at its rim lie hair and walls."""
REACH = 0.2
"""How far, in radii of the face, its edge recolours it. Where hair or a wall lies under the edge
an unlimited blend would carry their colour over the whole face."""

Placed = tuple[Reals, Masks]
"""A face lying in place in its new picture, and where it has pixels."""
Place = Callable[[Pixels, Points, Pixels, Points, Part], Placed]
"""From a picture with its landmarks and a source with its own to the source's face in place, in
the part of the picture that is asked for."""


@dataclass(frozen=True, eq=False)
class Swapped:
    """Pictures with another face in each. Where the outcome is not ``ONE`` nothing was changed."""

    pictures: tuple[Pixels, ...]
    masks: tuple[Masks, ...]
    """The pixels that may differ from the picture given."""
    covered: Points
    """The share of each face for which the other picture had pixels."""
    outcomes: tuple[Outcome, ...]


def transplant(
    pictures: Sequence[Pixels],
    landmarks: Reals,
    sources: Sequence[Pixels],
    source_landmarks: Reals,
    *,
    feather: float = FEATHER,
) -> Swapped:
    """Each source's face, turned and scaled by the similarity between the landmarks, and blended
    into the picture as :func:`swapped` says. Sources may have any size."""
    return swapped(pictures, landmarks, sources, source_landmarks, _moved, feather)


def swapped(
    pictures: Sequence[Pixels],
    landmarks: Reals,
    sources: Sequence[Pixels],
    source_landmarks: Reals,
    place: Place,
    feather: float,
) -> Swapped:
    """What ``place`` puts onto each picture, histogram-matched within the face ellipse,
    Poisson-blended there and feathered inwards: outside the ellipse nothing changes."""
    made = []
    mine, others = landmark_faults(landmarks), landmark_faults(source_landmarks)
    for row, (picture, source) in enumerate(zip(pictures, sources, strict=True)):
        fault = mine[row] or others[row]
        if fault is not None:
            made.append(_unchanged(picture, 0.0, fault))
            continue
        mask = face_masks(landmarks[row], picture.shape[:2], INNER)[0]
        part = _around(mask)
        face, there = place(picture, landmarks[row], source, source_landmarks[row], part)
        made.append(_blended(picture, face, mask, there, part, feather))
    parts = tuple(zip(*made, strict=True)) or ((), (), (), ())
    return Swapped(parts[0], parts[1], np.array(parts[2], np.float64), parts[3])


def seen_through(face: Reals, matrix: Points, part: Part) -> Placed:
    """A picture through a map, and where in that part it has pixels of its own."""
    whole = np.ones((*face.shape[:2], 1), np.float32)
    (top, low), (left, right) = ((side.start, side.stop) for side in part)
    seen = warped(
        np.concatenate([face, whole], axis=2), matrix, (low - top, right - left), (top, left)
    )
    return seen[..., :-1], seen[..., -1] > 0.999


def _moved(
    picture: Pixels, points: Points, source: Pixels, source_points: Points, part: Part
) -> Placed:
    matrix = similarity(source_points[None], points[None])[0]
    return seen_through(source.astype(np.float32), matrix, part)


def _around(mask: Masks) -> Part:
    """The rows and columns of the mask, and one more on each side."""
    spans = []
    for axis in (1, 0):
        found = np.flatnonzero(mask.any(axis=axis))
        first, last = (found[0], found[-1]) if found.size else (0, 0)
        spans.append(slice(max(int(first) - 1, 0), min(int(last) + 2, mask.shape[1 - axis])))
    return spans[0], spans[1]


def _blended(
    picture: Pixels, face: Reals, mask: Masks, there: Masks, part: Part, feather: float
) -> tuple[Pixels, Masks, float, Outcome]:
    """Only ``part`` is computed: it holds the mask and what touches it."""
    inside = np.zeros_like(mask)
    inside[part] = mask[part] & there
    share = float(inside.sum() / max(mask.sum(), 1))
    if share < LEAST_COVERED or inside.all():
        return _unchanged(picture, share, Outcome.BORDER)
    out, within = picture.copy(), inside[part]
    target = picture[part].astype(np.float64)
    coloured = recoloured(face, matching(face[within], target[within]))
    reach = REACH * np.sqrt(within.sum() / np.pi)
    whole = blended(coloured, target, within, reach, exact=False)
    weight = np.where(within, feathered(inside, feather, part), 0)[..., None]
    out[part] = as_pixels(target + weight * (whole - target))
    return out, inside, share, Outcome.ONE


def _unchanged(
    picture: Pixels, share: float, outcome: Outcome
) -> tuple[Pixels, Masks, float, Outcome]:
    return picture.copy(), np.zeros(picture.shape[:2], np.bool_), share, outcome

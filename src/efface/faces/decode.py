"""From the raw outputs of four families of detectors to candidates.

Each family answers on grids of cells, one grid per stride. A cell's numbers are offsets from its
place (YuNet of 2023, SCRFD) or from the prior boxes on it (YuNet of 2022, RetinaFace).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from efface.faces.face import Points, Reals
from efface.faces.found import Candidates, joined

_VARIANCE = (0.1, 0.2)
"""By which SSD-like detectors scale offsets of centres and of sizes (Liu et al. 2016)."""

Outputs = Mapping[str, Reals]
Size = tuple[int, int]


def yunet(outputs: Outputs, size: Size, least: float) -> Candidates:
    """YuNet of 2023 (Wu, Peng and Yu): score = sqrt(cls obj); centre = (cell + offset) stride;
    sides = exp(size) stride; points = (cell + offset) stride."""
    parts = []
    for stride in (8, 16, 32):
        kinds = ("cls", "obj", "bbox", "kps")
        cls, obj, bbox, kps = (_rows(outputs[f"{kind}_{stride}"]) for kind in kinds)
        scores = np.sqrt(np.clip(cls[:, 0], 0, 1) * np.clip(obj[:, 0], 0, 1))
        good = scores >= least
        cell = cells(size, stride)[good]
        sides = np.exp(bbox[good, 2:])
        boxes = _from_centres(cell + bbox[good, :2], sides) * stride
        points = (cell[:, None] + kps[good].reshape(-1, 5, 2)) * stride
        parts.append(Candidates(boxes, points, scores[good]))
    return joined(parts)


def scrfd(outputs: Sequence[Reals], size: Size, least: float) -> Candidates:
    """SCRFD (Guo et al. 2022): three outputs per stride, distances from the anchor's place to the
    four sides and offsets of the points, in strides."""
    strides = (8, 16, 32) if len(outputs) == 9 else (8, 16, 32, 64, 128)
    count = len(strides)
    parts = []
    for level, stride in enumerate(strides):
        scores, sides, offsets = (_rows(outputs[level + kind * count]) for kind in range(3))
        good = scores[:, 0] >= least
        places = cells(size, stride) * stride
        place = np.repeat(places, len(scores) // max(len(places), 1), axis=0)[good]
        sides = sides[good] * stride
        boxes = np.concatenate([place - sides[:, :2], place + sides[:, 2:]], axis=1)
        points = place[:, None] + offsets[good].reshape(-1, 5, 2) * stride
        parts.append(Candidates(boxes, points, scores[good, 0]))
    return joined(parts)


def retinaface(outputs: Sequence[Reals], size: Size, least: float) -> Candidates:
    """RetinaFace (Deng et al. 2020) as commonly exported: offsets, two class scores, points."""
    by_width = {output.shape[-1]: _rows(output) for output in outputs}
    scores = _second_class(by_width[2])
    sides = {8: (16, 32), 16: (64, 128), 32: (256, 512)}
    return _from_priors(by_width[4], by_width[10], scores, priors(size, sides), least)


def yunet_2022(outputs: Outputs, size: Size, least: float) -> Candidates:
    """YuNet of 2022: score = sqrt(class score x predicted overlap), boxes and points in ``loc``."""
    loc, conf, iou = (_rows(outputs[name]) for name in ("loc", "conf", "iou"))
    scores = np.sqrt(np.clip(conf[:, 1], 0, 1) * np.clip(iou[:, 0], 0, 1))
    sides = {8: (10, 16, 24), 16: (32, 48), 32: (64, 96), 64: (128, 192, 256)}
    return _from_priors(loc[:, :4], loc[:, 4:], scores, priors(size, sides), least)


def cells(size: Size, stride: int) -> Points:
    """(x, y) of each cell of the grid, row by row."""
    rows, columns = np.mgrid[: size[0] // stride, : size[1] // stride]
    return np.stack([columns.ravel(), rows.ravel()], axis=1).astype(np.float64)


def priors(size: Size, sides: Mapping[int, Sequence[int]]) -> Points:
    """Centre x, y and side of each prior box, in pixels, in the order of the outputs."""
    parts = []
    for stride, least in sides.items():
        centres = (cells(size, stride) + 0.5) * stride
        each = np.repeat(centres, len(least), axis=0)
        side = np.tile(np.array(least, np.float64), len(centres))
        parts.append(np.column_stack([each, side]))
    return np.concatenate(parts)


def _from_priors(
    offsets: Points, points: Points, scores: Points, prior: Points, least: float
) -> Candidates:
    """Centre = prior + 0.1 side offset, side = side exp(0.2 size), point = prior + 0.1 side offset.

    The networks measure in shares of the picture; prior sides are equal in pixels on both axes.
    """
    good = scores >= least
    centre, side = prior[good, :2], prior[good, 2:]
    moved = centre + _VARIANCE[0] * side * offsets[good, :2]
    boxes = _from_centres(moved, side * np.exp(_VARIANCE[1] * offsets[good, 2:]))
    spots = points[good].reshape(-1, 5, 2)
    return Candidates(boxes, centre[:, None] + _VARIANCE[0] * side[:, None] * spots, scores[good])


def _second_class(classes: Points) -> Points:
    """The chance of a face. Some exports end before the softmax: it is made up for then."""
    if np.allclose(classes.sum(axis=1), 1, atol=1e-3):
        return classes[:, 1]
    chance: Points = 1 / (1 + np.exp(np.clip(classes[:, 0] - classes[:, 1], -60, 60)))
    return chance


def _from_centres(centres: Points, sides: Points) -> Points:
    return np.concatenate([centres - sides / 2, centres + sides / 2], axis=1)


def _rows(output: Reals) -> Points:
    """An output without its batch axis: cells x numbers, whatever its rank."""
    return np.asarray(output, np.float64).reshape(-1, output.shape[-1])

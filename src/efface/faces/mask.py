"""The face as an ellipse around five landmarks (P19), kept as one run of pixels per row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from efface.faces.face import Points, Reals

WIDTH, HEIGHT = 1.2, 1.3
"""Semi-axes in inter-ocular and eye-to-mouth distances. The paper does not say whether they are
axes or semi-axes; full axes would leave three quarters of a face outside."""

Masks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Runs:
    """Masks whose rows are one run of pixels each, from ``left`` to ``right`` (n x height), both
    inside. An empty row has ``right < left``. Ellipses are like this, and stay so when grown."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    width: int

    def __getitem__(self, rows: slice) -> Runs:
        return Runs(self.left[rows], self.right[rows], self.width)

    @property
    def areas(self) -> NDArray[np.int64]:
        """Pixels in each mask."""
        lengths = np.maximum(self.right - self.left + 1, 0)
        areas: NDArray[np.int64] = lengths.sum(axis=1)
        return areas

    def masks(self) -> Masks:
        """n x height x width."""
        x = np.arange(self.width, dtype=np.int16)
        left, right = (edge.astype(np.int16)[..., None] for edge in (self.left, self.right))
        return (left <= x) & (x <= right)


def face_masks(landmarks: Reals, size: tuple[int, int], scale: float = 1.0) -> Masks:
    """Which pixels of pictures of ``size`` = (height, width) are face: n x height x width.
    ``scale`` multiplies both axes of the ellipse."""
    return face_runs(landmarks, size, scale).masks()


def face_runs(landmarks: Reals, size: tuple[int, int], scale: float = 1.0) -> Runs:
    """The same masks by rows: the pixels whose centres lie in the ellipse."""
    centre, axes, turn = ellipses(landmarks)
    axes = scale * axes
    cosine, sine = np.cos(turn)[:, None], np.sin(turn)[:, None]
    a, b = axes[:, :1], axes[:, 1:]
    y = np.arange(size[0]) - centre[:, 1:]
    # (x c + y s)^2 / a^2 + (y c - x s)^2 / b^2 <= 1, solved for x in each row y.
    square = (cosine / a) ** 2 + (sine / b) ** 2
    mixed = cosine * sine * (1 / a**2 - 1 / b**2) * y
    rest = ((sine / a) ** 2 + (cosine / b) ** 2) * y**2 - 1
    under = mixed**2 - square * rest
    half = np.sqrt(np.maximum(under, 0))
    left = np.ceil(centre[:, :1] + (-mixed - half) / square)
    right = np.floor(centre[:, :1] + (-mixed + half) / square)
    right = np.where(under < 0, -1, right)
    return Runs(
        np.clip(left, 0, size[1]).astype(np.int64),
        np.clip(right, -1, size[1] - 1).astype(np.int64),
        size[1],
    )


def ellipses(landmarks: Reals) -> tuple[Points, Points, Points]:
    """Centres (n x 2), semi-axes (n x 2: along and across the eye line) and turns (n, radians).

    Centre: middle of the eyes' middle and the mouth's; along 1.2 x inter-ocular distance, across
    1.3 x eye-to-mouth distance, turned with the eye line.
    """
    points = np.asarray(landmarks, np.float64).reshape(-1, 5, 2)
    eyes, mouth = points[:, :2].mean(axis=1), points[:, 3:].mean(axis=1)
    line = points[:, 1] - points[:, 0]
    axes = np.stack(
        [WIDTH * np.linalg.norm(line, axis=1), HEIGHT * np.linalg.norm(mouth - eyes, axis=1)], 1
    )
    return (eyes + mouth) / 2, np.maximum(axes, 0.5), np.arctan2(line[:, 1], line[:, 0])


def box_shares(masks: Masks, boxes: Points) -> Points:
    """The share of each face box that its mask covers: what P19 asks to be reported."""
    shares = np.zeros(len(masks))
    height, width = masks.shape[1:]
    for row, (mask, box) in enumerate(zip(masks, boxes, strict=True)):
        x1, y1, x2, y2 = np.clip(np.rint(box), 0, [width, height, width, height]).astype(int)
        if x2 > x1 and y2 > y1:
            shares[row] = mask[y1:y2, x1:x2].mean()
    return shares

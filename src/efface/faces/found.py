"""What a detector saw, as plain arrays, and the rule that keeps one box for each face."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from efface.faces.face import Face, Points


@dataclass(frozen=True, eq=False)
class Candidates:
    """Boxes (n x 4), five points each (n x 5 x 2) and scores (n), in the network's picture."""

    boxes: Points
    landmarks: Points
    scores: Points

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Candidates:
        return Candidates(self.boxes[rows], self.landmarks[rows], self.scores[rows])

    def faces(self, scale: float) -> tuple[Face, ...]:
        """Faces in the picture that the network saw at ``scale``. Boxes without an inside and
        numbers that are not finite, which damaged weights give, are no faces."""
        sound = (self.boxes[:, 2:] > self.boxes[:, :2]).all(axis=1)
        for values in (self.boxes, self.landmarks.reshape(-1, 10), self.scores[:, None]):
            sound &= np.isfinite(values).all(axis=1)
        return tuple(
            Face(box, points, float(score)).moved((0, 0), 1 / scale)
            for box, points, score in zip(
                self.boxes[sound], self.landmarks[sound], self.scores[sound], strict=True
            )
        )


def joined(parts: list[Candidates]) -> Candidates:
    """The candidates of all strides."""
    return Candidates(
        np.concatenate([p.boxes for p in parts]),
        np.concatenate([p.landmarks for p in parts]),
        np.concatenate([p.scores for p in parts]),
    )


def suppressed(found: Candidates, overlap: float, most: int = 5000) -> Candidates:
    """Non-maximum suppression: by falling score, a box goes if its intersection with one that
    stays exceeds ``overlap`` of their union. Equal scores keep their order."""
    order = np.argsort(-found.scores, kind="stable")[:most]
    kept: list[int] = []
    while order.size:
        first, rest = order[0], order[1:]
        kept.append(int(first))
        order = rest[_overlaps(found.boxes[first], found.boxes[rest]) <= overlap]
    return found[np.array(kept, np.int64)]


def _overlaps(box: Points, others: Points) -> Points:
    """Intersection over union of one box with each of the others."""
    corner, end = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.clip(end - corner, 0, None).prod(axis=1)
    union = (box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(axis=1) - common
    share: Points = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return share

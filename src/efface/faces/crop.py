"""FCR crops: squares of which the face box covers the same share in every picture (P18)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError
from efface.faces.face import Face, Finding, Outcome, Pixels, Points
from efface.faces.resample import as_pixels, resized

COVERAGE = 0.33
"""The share of the square that the face box takes (appendix D.2, equation 16)."""
MOST_PADDING = 0.15


@dataclass(frozen=True, eq=False)
class Crops:
    """The crops that could be used, and for every picture given what became of it."""

    pictures: Pixels
    """n x size x size x 3."""
    rows: NDArray[np.int64]
    """Which of the given pictures each crop is of."""
    faces: tuple[Face, ...]
    """Box and landmarks in the crop."""
    coverage: Points
    """The share of each crop that its face box takes, after rounding to whole pixels."""
    padding: Points
    """Sum of the four pads over four sides, of each crop."""
    findings: tuple[Finding, ...]
    """One for each picture given: ``BORDER`` where the padding was too much."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def landmarks(self) -> Points:
        """n x 5 x 2."""
        return np.array([face.landmarks for face in self.faces]).reshape(-1, 5, 2)


@dataclass(frozen=True)
class _Window:
    """A square of whole pixels around a face; it may reach over the picture's edges."""

    left: int
    top: int
    side: int

    def pads(self, height: int, width: int) -> tuple[int, int, int, int]:
        """Pixels beyond the left, upper, right and lower edge."""
        right, low = self.left + self.side - width, self.top + self.side - height
        left, top, right, low = (
            min(max(pad, 0), self.side) for pad in (-self.left, -self.top, right, low)
        )
        return left, top, right, low


def crops(
    pictures: Sequence[Pixels],
    findings: Sequence[Finding],
    size: int = 224,
    *,
    coverage: float = COVERAGE,
    most_padding: float = MOST_PADDING,
) -> Crops:
    """Cut the square of side sqrt(face box area / coverage) around each face found, fill what
    lies outside the picture with its mean colour, and resize.

    Where the padding ratio exceeds ``most_padding`` the crop is rejected as ``BORDER``.
    """
    if not (0 < coverage <= 1 and size >= 1 and most_padding >= 0):
        raise DataError(f"no crop has coverage {coverage}, size {size}, padding {most_padding}")
    made: list[tuple[int, Pixels, Face, float, float]] = []
    told = list(findings)
    for row, (picture, finding) in enumerate(zip(pictures, findings, strict=True)):
        if finding.face is None:
            continue
        window = _around(finding.face, coverage)
        padding = sum(window.pads(*picture.shape[:2])) / (4 * window.side)
        if padding > most_padding:
            told[row] = replace(
                finding, outcome=Outcome.BORDER, face=None, detail=f"padding {padding:.2f}"
            )
            continue
        face = finding.face.moved((window.left, window.top), size / window.side)
        covered = _inside(finding.face, picture) / window.side**2
        made.append((row, resized(_cut(picture, window), (size, size)), face, covered, padding))
    return Crops(
        np.array([m[1] for m in made], np.uint8).reshape(-1, size, size, 3),
        np.array([m[0] for m in made], np.int64),
        tuple(m[2] for m in made),
        np.array([m[3] for m in made]),
        np.array([m[4] for m in made]),
        tuple(told),
    )


def _around(face: Face, coverage: float) -> _Window:
    side = np.sqrt(face.area / coverage)
    left, top = face.centre - side / 2
    return _Window(round(left), round(top), max(1, round(side)))


def _inside(face: Face, picture: Pixels) -> float:
    """Area of the box within the picture."""
    height, width = picture.shape[:2]
    x1, y1, x2, y2 = np.clip(face.box, 0, [width, height, width, height])
    return float((x2 - x1) * (y2 - y1))


def _cut(picture: Pixels, window: _Window) -> Pixels:
    left, top, right, low = window.pads(*picture.shape[:2])
    inner = picture[
        window.top + top : window.top + window.side - low,
        window.left + left : window.left + window.side - right,
    ]
    if not (left or top or right or low):
        return inner
    square = np.empty((window.side, window.side, 3), np.uint8)
    square[:] = as_pixels(picture.reshape(-1, 3).mean(axis=0))
    square[top : top + inner.shape[0], left : left + inner.shape[1]] = inner
    return square

"""dlib's detector and its 68 landmarks: all that is needed comes with pip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from efface.encoders.dlib import package_file
from efface.encoders.weights import digest, existing
from efface.errors import ArtefactError
from efface.extras import need
from efface.faces.face import Face, Pixels, Points
from efface.faces.pictures import framed, picture_fault

SHAPE = "shape_predictor_68_face_landmarks.dat"
LICENCE = (
    "BSL-1.0 (dlib). The landmark weights were learnt on the iBUG 300-W pictures, whose licence "
    "excludes commercial use"
)
LONGEST = 640
_FOREHEAD = 0.35
"""By how much of the landmarks' height, brows to chin, a box reaches above the brows: on LFW the
other three sides of YuNet's boxes are those of the landmarks, and this is the mean of the fourth
(standard deviation 0.08)."""
_GROUPS = (range(36, 42), range(42, 48), range(30, 31), range(48, 49), range(54, 55))
"""Which of the 68 points make up each of the five: eyes are the mean of six points each."""


@dataclass(frozen=True, eq=False)
class DlibDetector:
    """Histograms of oriented gradients (Dalal and Triggs 2005) and a cascade of regression trees
    (Kazemi and Sullivan 2014). Make it with :func:`open_dlib`.

    Scores are distances from a margin and may exceed one. Boxes are drawn around the landmarks,
    so that a face takes the same share of a crop as with the networks.
    """

    search: Any
    shape: Any
    digest: str
    """SHA-256 of the landmark weights; the detector itself is part of dlib."""
    upsample: int = 1
    """How often the picture is doubled: at 0 faces of 80 pixels are found, at 1 of 40."""
    least: float = 0.0
    longest: int = LONGEST
    name: str = "dlib"

    def detect(self, pictures: Sequence[Pixels]) -> list[tuple[Face, ...]]:
        """The faces of each picture, best score first; none in what is no picture."""
        return [() if picture_fault(p) else self._search(p) for p in pictures]

    def _search(self, picture: Pixels) -> tuple[Face, ...]:
        seen, scale = framed(picture, (self.longest, self.longest))
        seen = np.ascontiguousarray(seen)
        boxes, scores, _ = self.search.run(seen, self.upsample, self.least)
        faces = []
        for box, score in zip(boxes, scores, strict=True):
            parts = self.shape(seen, box).parts()
            points = np.array([(part.x, part.y) for part in parts], np.float64)
            faces.append(Face(around(points), five(points), float(score)).moved((0, 0), 1 / scale))
        return tuple(sorted(faces, key=lambda face: -face.score))


def open_dlib(
    path: str | Path | None = None, *, upsample: int = 1, least: float = 0.0, longest: int = LONGEST
) -> DlibDetector:
    """dlib's detector with the landmark weights of ``face_recognition_models``, or of a file."""
    file = package_file(SHAPE) if path is None else existing(path)
    dlib = need("dlib", "dlib")
    try:
        shape = dlib.shape_predictor(str(file))
    except RuntimeError as error:
        raise ArtefactError(f"{file}: holds no landmark weights of dlib's ({error})") from error
    search = dlib.get_frontal_face_detector()
    return DlibDetector(search, shape, digest([file]), upsample, least, longest)


def five(points: Points) -> Points:
    """Eyes, nose and mouth corners out of dlib's 68 points."""
    return np.array([points[group].mean(axis=0) for group in map(list, _GROUPS)])


def around(points: Points) -> Points:
    """A face's box around the 68 points, which begin at the brows."""
    (left, brows), (right, chin) = points.min(axis=0), points.max(axis=0) + 1
    return np.array([left, brows - _FOREHEAD * (chin - brows), right, chin])

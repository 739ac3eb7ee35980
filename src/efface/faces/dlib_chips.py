"""Faces cut as dlib's recogniser wants them: its own five landmarks, a square of 150 pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from efface.encoders.dlib import package_file
from efface.encoders.weights import existing
from efface.errors import ArtefactError
from efface.extras import need
from efface.faces.face import Face, Pixels

SHAPE = "shape_predictor_5_face_landmarks.dat"
SIZE, PADDING = 150, 0.25
"""What the recogniser was trained on."""

Chips = Callable[[Sequence[Pixels], Sequence[Face]], Pixels]


def open_chips(path: str | Path | None = None) -> Chips:
    """A function from pictures and one face in each to n x 150 x 150 x 3. Only the boxes count:
    dlib looks for corners of the eyes and the base of the nose within them by itself."""
    file = package_file(SHAPE) if path is None else existing(path)
    dlib = need("dlib", "dlib")
    try:
        shape = dlib.shape_predictor(str(file))
    except RuntimeError as error:
        raise ArtefactError(f"{file}: holds no landmark weights of dlib's ({error})") from error

    def chips(pictures: Sequence[Pixels], faces: Sequence[Face]) -> Pixels:
        out = np.zeros((len(faces), SIZE, SIZE, 3), np.uint8)
        for row, (picture, face) in enumerate(zip(pictures, faces, strict=True)):
            whole = np.ascontiguousarray(picture)
            corners = shape(whole, dlib.rectangle(*(int(edge) for edge in face.box)))
            out[row] = dlib.get_face_chip(whole, corners, SIZE, PADDING)
        return out

    return chips

"""Faces cut as dlib's recogniser wants them: its own five landmarks, a square of 150 pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

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
    dlib, shape = need("dlib", "dlib"), _predictor(path)

    def chips(pictures: Sequence[Pixels], faces: Sequence[Face]) -> Pixels:
        out = np.zeros((len(faces), SIZE, SIZE, 3), np.uint8)
        for row, (picture, face) in enumerate(zip(pictures, faces, strict=True)):
            whole = np.ascontiguousarray(picture)
            corners = shape(whole, dlib.rectangle(*(int(edge) for edge in face.box)))
            out[row] = dlib.get_face_chip(whole, corners, SIZE, PADDING)
        return out

    return chips


class Window:
    """The cut through which dlib sees one face. The same cut can be made of the picture blurred:
    looked for anew, the corners of blurred eyes would move it."""

    def __init__(self, dlib: Any, corners: Any) -> None:
        self._dlib = dlib
        self._details = dlib.get_face_chip_details(corners, SIZE, PADDING)

    @property
    def scale(self) -> float:
        """Pixels of the chip for one of the picture."""
        return float(SIZE / self._details.rect.width())

    def __call__(self, picture: Pixels) -> Pixels:
        chip: Pixels = self._dlib.extract_image_chip(np.ascontiguousarray(picture), self._details)
        return chip


Windows = Callable[[Pixels, Face], Window]


def open_windows(path: str | Path | None = None) -> Windows:
    """A function from a picture and its face to the window that dlib would cut."""
    dlib, shape = need("dlib", "dlib"), _predictor(path)

    def window(picture: Pixels, face: Face) -> Window:
        whole = np.ascontiguousarray(picture)
        return Window(dlib, shape(whole, dlib.rectangle(*(int(edge) for edge in face.box))))

    return window


def _predictor(path: str | Path | None) -> Any:
    file = package_file(SHAPE) if path is None else existing(path)
    dlib = need("dlib", "dlib")
    try:
        return dlib.shape_predictor(str(file))
    except RuntimeError as error:
        raise ArtefactError(f"{file}: holds no landmark weights of dlib's ({error})") from error

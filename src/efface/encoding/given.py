"""Faces that were found already: boxes and landmarks by the name of a picture."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from efface.data.table import readable
from efface.encoders.weights import existing
from efface.errors import DataError
from efface.faces.face import Face


class GivenFaces:
    """A ``.npz`` with ``name``, ``box`` (n x 4, or 5 with a score) and ``landmarks`` (n x 5 x 2),
    in pixels of the upright picture. A name is a picture's path as it is listed, or its last part.
    """

    def __init__(self, path: str | Path) -> None:
        file = existing(path)
        with readable(str(file), "write it with numpy.savez"), np.load(file) as held:
            arrays = {name: held[name] for name in held.files}
        missing = [name for name in ("name", "box", "landmarks") if name not in arrays]
        if missing:
            raise DataError(f"{file}: has no array {missing[0]!r}: see the page on encode")
        names, boxes, points = arrays["name"], arrays["box"], arrays["landmarks"]
        count = len(names)
        if boxes.shape not in ((count, 4), (count, 5)) or points.shape != (count, 5, 2):
            raise DataError(
                f"{file}: for {count} names, box is {boxes.shape} and landmarks {points.shape}; "
                "expected are n x 4 or 5, and n x 5 x 2"
            )
        self.place = str(file)
        self._rows = {str(name): row for row, name in enumerate(names.tolist())}
        if len(self._rows) < count:
            raise DataError(f"{file}: a picture's name comes twice: give one face for each")
        self._boxes, self._points = boxes.astype(np.float64), points.astype(np.float64)

    def of(self, name: str) -> Face | None:
        """The face of a picture; None where none is given or it is not a number."""
        row = self._rows.get(name, self._rows.get(name.rpartition("/")[2]))
        if row is None:
            return None
        box, points = self._boxes[row], self._points[row]
        score = float(box[4]) if len(box) == 5 else 1.0
        if not (np.isfinite(box).all() and np.isfinite(points).all()):
            return None
        return Face(box[:4], points, score)


@lru_cache(maxsize=2)
def given_faces_of(path: str) -> Any:
    """Read once in each process."""
    return GivenFaces(path)

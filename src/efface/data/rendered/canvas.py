"""The skin of one head while features are painted on it, and windows around single features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.data.rendered.people import Colour
from efface.data.rendered.relief import Relief
from efface.data.rendered.surface import Surface
from efface.data.rendered.view import Matrix, Plane, View

_LATTICE_X = np.linspace(-1.1, 1.1, 23)
_LATTICE_Y = np.linspace(-1.2, 1.3, 26)


@dataclass(frozen=True, eq=False)
class Canvas:
    """Linear colours (3 x rows x columns) with the face point of every pixel."""

    colour: Plane
    x: Plane
    y: Plane
    scale: float
    """Pixels per unit."""
    lattice: Matrix
    """Where in the picture a lattice of face points is seen."""
    corner: NDArray[np.int64]
    """Column and row in the picture."""

    def near(self, x: float, y: float, across: float, down: float) -> Canvas:
        """The part of the canvas within ``across`` and ``down`` of a face point."""
        rows = slice(*_places(_LATTICE_Y, y - down, y + down))
        columns = slice(*_places(_LATTICE_X, x - across, x + across))
        place = self.lattice[rows, columns]
        left, top = np.floor(place.min(axis=(0, 1))).astype(int) - self.corner - 1
        right, low = np.ceil(place.max(axis=(0, 1))).astype(int) - self.corner + 2
        height, width = self.x.shape
        rows = slice(min(max(top, 0), height), min(max(low, 0), height))
        columns = slice(min(max(left, 0), width), min(max(right, 0), width))
        corner = self.corner + np.array([columns.start, rows.start])
        return Canvas(
            self.colour[:, rows, columns], self.x[rows, columns], self.y[rows, columns],
            self.scale, self.lattice, corner,
        )  # fmt: skip

    def mix(self, share: Any, colour: Sequence[Any]) -> None:
        """Cover with a colour, as far as ``share`` says."""
        for channel in range(3):
            own = self.colour[channel]
            own += share * (_value(colour[channel]) - own)

    def tint(self, share: Any, factor: Colour) -> None:
        """Multiply by a factor, as far as ``share`` says."""
        for channel in range(3):
            self.colour[channel] *= 1 + share * np.float32(factor[channel] - 1)

    def dim(self, share: Any) -> None:
        """Darken by a share that is the same for all colours."""
        np.multiply(self.colour, 1 - share, out=self.colour)


def canvas(seen: Surface, view: View, relief: Relief, colour: Colour) -> Canvas:
    """A head of one colour."""
    plane = np.empty((3, *seen.x.shape), np.float32)
    plane[:] = np.array(colour, np.float32)[:, None, None]
    x, y = np.tile(_LATTICE_X, len(_LATTICE_Y)), np.repeat(_LATTICE_Y, len(_LATTICE_X))
    lattice = view.pixels(relief.points(x, y)).reshape(len(_LATTICE_Y), len(_LATTICE_X), 2)
    corner = np.array([seen.columns.start, seen.rows.start])
    return Canvas(plane, seen.x, seen.y, view.scale, lattice, corner)


def _places(lattice: Matrix, low: float, high: float) -> tuple[int, int]:
    """The lattice points from the last below ``low`` to the first above ``high``."""
    step = lattice[1] - lattice[0]
    first = int(np.floor((low - lattice[0]) / step))
    last = int(np.ceil((high - lattice[0]) / step)) + 1
    return min(max(first, 0), len(lattice) - 2), max(min(last, len(lattice)), 2)


def _value(colour: Any) -> Any:
    """One number, or a number for every pixel."""
    return colour if isinstance(colour, np.ndarray) else np.float32(colour)


def hill(distance: Any) -> Any:
    """A bump of height one: exp(-d^2 / 2)."""
    return np.exp(np.float32(-0.5) * distance * distance)

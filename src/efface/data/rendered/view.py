"""From a head's own coordinates to pixels: turn, then scale and move (a distant camera)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.data.rendered.shots import Shot

Plane = NDArray[np.float32]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class View:
    """Head coordinates: x to the picture's right, y down, z towards the camera."""

    turn: Matrix
    """3 x 3: head to camera, without the tilt in the picture's plane."""
    tilt: Matrix
    """2 x 2."""
    scale: float
    """Pixels per unit."""
    centre: Matrix
    """Where the middle of the head is, in pixels whose centres are whole numbers."""
    size: int

    def pixels(self, points: Matrix) -> Matrix:
        """Head points (n x 3) to picture points (n x 2)."""
        plane = points @ self.turn.T[:, :2]
        return self.scale * plane @ self.tilt.T + self.centre

    def plane(self, rows: slice, columns: slice, stride: int = 1) -> tuple[Plane, Plane]:
        """Untilted camera coordinates u, v of the pixels of a window, or of some of them."""
        x = (np.arange(columns.start, columns.stop, stride) - self.centre[0]) / self.scale
        y = (np.arange(rows.start, rows.stop, stride) - self.centre[1])[:, None] / self.scale
        x, y, back = x.astype(np.float32), y.astype(np.float32), self.tilt.T.astype(np.float32)
        return back[0, 0] * x + back[0, 1] * y, back[1, 0] * x + back[1, 1] * y

    def window(self, points: Matrix, margin: int = 1) -> tuple[slice, slice]:
        """The rows and columns that hold picture points, cut to the picture."""
        low = np.floor(points.min(axis=0)).astype(int) - margin
        high = np.ceil(points.max(axis=0)).astype(int) + margin + 1
        (x0, y0), (x1, y1) = np.clip(low, 0, self.size), np.clip(high, 0, self.size)
        return slice(int(y0), int(y1)), slice(int(x0), int(x1))


def view(shot: Shot, size: int) -> View:
    """The view of a shot at a size in pixels."""
    sin, cos = np.sin, np.cos
    yaw = np.array(
        [[cos(shot.yaw), 0, sin(shot.yaw)], [0, 1, 0], [-sin(shot.yaw), 0, cos(shot.yaw)]]
    )
    pitch = np.array(
        [[1, 0, 0], [0, cos(shot.pitch), sin(shot.pitch)], [0, -sin(shot.pitch), cos(shot.pitch)]]
    )
    tilt = np.array([[cos(shot.roll), -sin(shot.roll)], [sin(shot.roll), cos(shot.roll)]])
    centre = np.array([shot.x, shot.y]) * size - 0.5
    return View(pitch @ yaw, tilt, shot.scale * size, centre, size)


def soft(distance: Any, scale: float) -> Any:
    """The share of a pixel on the positive side of a line at this distance in units."""
    return unit(distance * np.float32(scale) + np.float32(0.5))


def unit(values: Any) -> Any:
    """Cut to 0 and 1. On small arrays twice as fast as ``np.clip``."""
    return np.minimum(np.maximum(values, np.float32(0)), np.float32(1))


def band(distance: Any, half: Any, scale: float) -> Any:
    """The share of a pixel within ``half`` of a line: thin lines fade, they do not swell."""
    return soft(distance + half, scale) - soft(distance - half, scale)

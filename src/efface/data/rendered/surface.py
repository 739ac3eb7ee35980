"""Which point of the head every pixel sees, and which way the head faces there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from efface.data.rendered.relief import Relief
from efface.data.rendered.view import Matrix, Plane, View, soft

_ROUNDS = 2
_COARSE = 36.0
"""Pixels per unit from which on every second pixel is enough."""
_FLAT = np.float32(1e-3)


@dataclass(frozen=True, eq=False)
class Surface:
    """Face points, normals and coverage for the pixels of a window."""

    rows: slice
    columns: slice
    x: Plane
    y: Plane
    z: Plane
    normal: tuple[Plane, Plane, Plane]
    """In camera coordinates: right, down, towards the camera."""
    cover: Plane
    """The share of each pixel that the head takes."""


def surface(view: View, relief: Relief) -> Surface:
    """Solve for the head: the ellipsoid exactly, its narrowing and bumps by repetition.

    A pixel (u, v) sees the ellipsoid's point E whose displaced place E + D(E) projects onto it.
    With D from the round before, E is where the ray through (u, v) - D meets the ellipsoid. In
    large pictures every second pixel is solved and the others lie between.
    """
    rows, columns = view.window(_outline(view, relief), 2)
    stride = 1 if view.scale < _COARSE else 2
    fields = _solved(view, relief, rows, columns, stride)
    if stride == 2:
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        fields = tuple(_doubled(field, shape) for field in fields)
    inside, x, y, z, *normal = fields
    cover: Plane = soft(inside, view.scale)
    return Surface(rows, columns, x, y, z, (normal[0], normal[1], normal[2]), cover)


def _solved(
    view: View, relief: Relief, rows: slice, columns: slice, stride: int
) -> tuple[Plane, ...]:
    """Distance from the outline, face point and normal of every pixel, or of every second."""
    u, v = view.plane(rows, columns, stride)
    turn, ray = view.turn.astype(np.float32), _Ray(view, relief)
    a, b = u, v
    for _ in range(_ROUNDS):
        x, y, _z, _depth = ray.meets(a, b)
        dx, dy, dz = _displaced(relief, x, y)
        a = u - turn[0, 0] * dx - turn[0, 1] * dy - turn[0, 2] * dz
        b = v - turn[1, 0] * dx - turn[1, 1] * dy - turn[1, 2] * dz
    x, y, z, depth = ray.meets(a, b)
    dx, dy, dz = _displaced(relief, x, y)
    depth += turn[2, 0] * dx + turn[2, 1] * dy + turn[2, 2] * dz
    normal = _normals(depth, view.scale / stride)
    return ray.inside(a, b), x + dx, y + dy, z + dz, *normal


def _doubled(coarse: Plane, shape: tuple[int, ...]) -> Plane:
    """Values at every second row and column made values at all, by means of neighbours."""
    rows = np.empty((shape[0], coarse.shape[1]), np.float32)
    rows[::2] = coarse
    rows[1::2] = coarse[: shape[0] // 2]
    rows[1:-1:2] = (rows[:-2:2] + rows[2::2]) * np.float32(0.5)
    out = np.empty(shape, np.float32)
    out[:, ::2] = rows
    out[:, 1::2] = rows[:, : shape[1] // 2]
    out[:, 1:-1:2] = (out[:, :-2:2] + out[:, 2::2]) * np.float32(0.5)
    return out


class _Ray:
    """Where the ray through a camera point meets the ellipsoid: the larger root of a quadratic."""

    def __init__(self, view: View, relief: Relief) -> None:
        self.back = view.turn.T.astype(np.float32)
        scaled = view.turn.T / relief.axes[:, None]
        flat, ray = scaled[:, :2], scaled[:, 2]
        along, square = flat.T @ ray, float(ray @ ray)
        form = (flat.T @ flat) / square - np.outer(along, along) / square**2
        self.along = (along / square).astype(np.float32)
        self.form = form.astype(np.float32)
        self.square = np.float32(1 / square)

    def meets(self, a: Plane, b: Plane) -> tuple[Plane, Plane, Plane, Plane]:
        """Head coordinates and depth; outside the outline, of the outline's plane."""
        depth = np.sqrt(np.maximum(self._under(a, b), 0))
        depth -= self.along[0] * a
        depth -= self.along[1] * b
        x, y, z = (row[0] * a + row[1] * b + row[2] * depth for row in self.back)
        return x, y, z, depth

    def inside(self, a: Plane, b: Plane) -> Plane:
        """Distance from the outline, to first order, positive inside."""
        (p, q), (_, r) = self.form
        dx, dy = p * a + q * b, q * a + r * b
        slope = np.sqrt(dx * dx + dy * dy)
        distance: Plane = self._under(a, b) / np.maximum(2 * slope, _FLAT)
        return distance

    def _under(self, a: Plane, b: Plane) -> Plane:
        (p, q), (_, r) = self.form
        under: Plane = self.square - a * (p * a + (2 * q) * b) - r * b * b
        return under


def _displaced(relief: Relief, x: Plane, y: Plane) -> tuple[Plane, Plane, Plane]:
    dx = (relief.narrowed(y) - 1) * x
    dy = np.maximum(y, 0) * np.float32(relief.drop - 1)
    return dx, dy, relief.bump(x + dx, y + dy)


def _normals(depth: Plane, scale: float) -> tuple[Plane, Plane, Plane]:
    """From the slope of the depth between neighbours that are 1 / scale apart."""
    step = np.float32(scale / 2)
    right, down = np.empty_like(depth), np.empty_like(depth)
    np.subtract(depth[:, 2:], depth[:, :-2], out=right[:, 1:-1])
    right[:, 0], right[:, -1] = right[:, 1], right[:, -2]
    np.subtract(depth[2:], depth[:-2], out=down[1:-1])
    down[0], down[-1] = down[1], down[-2]
    right *= -step
    down *= -step
    length = 1 / np.sqrt(right * right + down * down + 1)
    right *= length
    down *= length
    return right, down, length


def _outline(view: View, relief: Relief) -> Matrix:
    """Picture points on a rectangle around the head."""
    reach = 1.08 * np.linalg.norm(view.turn[:2] * relief.axes, axis=1)
    corners = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]]) * reach
    outline: Matrix = view.scale * corners @ view.tilt.T + view.centre
    return outline

"""The lattice E8: nearest point of many blocks at once (Conway and Sloane, IEEE Trans. Inf. Theory
28(2), 1982, algorithms 2 to 5), and how far from a point its cell reaches.

E8 is D8, the integer points with an even sum, together with D8 shifted by one half everywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

SIZE = 8
_BLOCKS = 2048
"""Blocks that are decoded together: they and their temporaries stay in cache."""


def decode(points: Matrix) -> Matrix:
    """The lattice point nearest to each block of eight; the last axis is a multiple of eight.

    Halves are exact in float64. Of several nearest points it is always the same one.
    """
    flat = np.ascontiguousarray(points, np.float64).reshape(-1, SIZE)
    out = np.empty_like(flat)
    for start in range(0, len(flat), _BLOCKS):
        rows = slice(start, start + _BLOCKS)
        out[rows] = _nearest(np.ascontiguousarray(flat[rows].T)).T
    return out.reshape(points.shape)


def _nearest(x: Matrix) -> Matrix:
    """Columns to lattice points, both cosets from one rounding.

    With e = x - round(x), the half point on e's side is off by 1/2 - |e|. An odd sum costs moving
    the coordinate that is furthest off to its second choice: towards x from an integer, back
    across x from a half.
    """
    point = np.rint(x)
    error = x - point
    size = np.abs(error)
    odd, odd_half = _odd(point, error)
    cost = odd * (1 - 2 * size.max(axis=0))
    half = 2 - size.sum(axis=0) + odd_half * (2 * size.min(axis=0)) < cost
    step = np.copysign(0.5, error)
    point += half * step
    (moved,) = np.nonzero(np.where(half, odd_half, odd))
    towards = np.where(half[moved], -1.0, 1.0)
    worst = (size.take(moved, axis=1) * towards).argmax(axis=0)
    point[worst, moved] += 2 * step[worst, moved] * towards
    return point


def _odd(point: Matrix, error: Matrix) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether the integer point has an odd sum, and whether the half point less 1/2 has one."""
    odd = (point.sum(axis=0).astype(np.int64) & 1).astype(bool)
    return odd, odd ^ np.logical_xor.reduce(np.signbit(error), axis=0)


def reach(differences: Matrix) -> Matrix:
    """The largest factor by which each row may grow and still decode to zero in every block.

    The cell of a root lattice is cut out by its shortest vectors (Conway and Sloane, Sphere
    Packings, chapter 21): s d decodes to zero while s <d, v> < 1 for all 240 of them, that is for
    the two largest magnitudes, and for half of all with an even number of signs turned.
    """
    blocks = differences.reshape(*differences.shape[:-1], -1, SIZE)
    size = np.abs(blocks)
    top = np.partition(size, SIZE - 2, axis=-1)
    integer = top[..., -1] + top[..., -2]
    turned = (np.signbit(blocks).sum(axis=-1) & 1).astype(bool)
    half = size.sum(axis=-1) / 2 - np.where(turned, size.min(axis=-1), 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(1 / np.maximum(integer, half).max(axis=-1))

"""How far an export may be from the Python transform, worked out and used by the tests.

Three things add up in a row. Work in floating point: a sum of d terms that are rounded by u goes
astray by about sqrt(d) u of what goes through the map (rounding errors are of both signs; Higham
and Mary 2019), at most the map's norm k = 1 + |A||B| times the row; ``SAFETY`` is room for bad
luck. Unit length: what is left has the length l, and bringing it to 1 divides the error by l, once
for the direction and once for the length. The type that ships: both sides round to it once, and
Python, where it brings rows to unit length, rounds the row and the factor before their product.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.protect.linear.eraser import LinearEraser

SAFETY = 2.0


def tolerance(
    eraser: LinearEraser, rows: NDArray[Any], *, inside: str = "float64", out: str = "float32"
) -> NDArray[np.float64]:
    """Greatest Euclidean distance, row by row, between an export's output and Python's.

    ``inside`` is the type the export computes in, ``out`` the type in which both ship.
    """
    x = np.atleast_2d(np.asarray(rows, np.float64))
    if eraser.normalise:
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    left = np.linalg.norm(_erased(eraser, x), axis=1)
    work = SAFETY * np.sqrt(eraser.dim) * _unit(inside) * _reach(eraser, x)
    shipped = np.ones(len(x)) if eraser.normalise else left
    work = 2 * work / left if eraser.normalise else work
    python = _unit("float64" if out == "float64" else "float32") if eraser.normalise else 0.0
    return np.asarray(work + 2 * (_unit(out) + python) * shipped)


def residue(dtype: Any) -> float:
    """Length at or below which a unit row holds nothing after erasure but its own rounding.

    The Python transform refuses such a row; an export that cannot refuse gives NaN.
    """
    return 8 * float(np.finfo(dtype).eps)


def _unit(dtype: str) -> float:
    """The unit roundoff: half the gap between 1 and the next number."""
    return float(np.finfo(dtype).eps) / 2


def _erased(eraser: LinearEraser, x: NDArray[np.float64]) -> NDArray[np.float64]:
    dual = eraser.basis if eraser.dual is None else eraser.dual
    centred = x if eraser.mean is None else x - eraser.mean
    return np.asarray(x - centred @ dual @ eraser.basis.T)


def _reach(eraser: LinearEraser, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest numbers that can appear on the way of each row."""
    dual = eraser.basis if eraser.dual is None else eraser.dual
    norm = 1 + float(np.linalg.norm(eraser.basis, 2) * np.linalg.norm(dual, 2))
    mean = 0.0 if eraser.mean is None else float(np.linalg.norm(eraser.mean))
    return np.asarray(norm * (np.linalg.norm(x, axis=1) + mean))

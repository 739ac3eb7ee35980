"""What the engine must give, row by row and without parts, workers or files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from efface.protect.linear.eraser import LinearEraser


@dataclass
class Expected:
    vectors: np.ndarray
    ids: np.ndarray
    present: np.ndarray


def erased(
    eraser: LinearEraser, vectors: np.ndarray, ids: np.ndarray, present: np.ndarray, null: str
) -> Expected:
    rows, kept = [], []
    for row, there in enumerate(present):
        if not there and null == "drop":
            continue
        kept.append(row)
        rows.append(one(eraser, vectors[row]) if there else np.zeros_like(vectors[row]))
    return Expected(
        np.array(rows, vectors.dtype).reshape(-1, vectors.shape[1]), ids[kept], present[kept]
    )


def one(eraser: LinearEraser, row: np.ndarray) -> np.ndarray:
    """The formula of the map, for one vector, in long double."""
    x = row.astype(np.longdouble)
    dual = eraser.basis if eraser.dual is None else eraser.dual
    mean = np.zeros(eraser.dim) if eraser.mean is None else eraser.mean
    if eraser.normalise:
        x = x / np.sqrt((x * x).sum())
    x = x - eraser.basis.astype(np.longdouble) @ (dual.T.astype(np.longdouble) @ (x - mean))
    if eraser.normalise:
        x = x / np.sqrt((x * x).sum())
    return x.astype(row.dtype)

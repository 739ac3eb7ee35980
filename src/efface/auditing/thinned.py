"""Do vectors lack directions, as they do after an erasure? Then what is called raw is not."""

from __future__ import annotations

import numpy as np

from efface.types import Samples

_GAP = 10.0
"""How far the spread along what is there stands above that along what is missing."""
_ROWS = 20_000


def missing_directions(samples: Samples) -> int:
    """Directions along which the vectors hold nothing but the rounding of their type.

    A projector leaves such directions, and no others nearly as empty. Columns that are zero
    throughout, as some networks have, are not counted; neither is anything in too few rows.
    """
    x = np.asarray(samples.data[:: -(-len(samples) // _ROWS)], np.float64)
    x = x[:, x.any(axis=0)]
    rows, columns = x.shape
    if rows < 2 * columns or columns < 2:
        return 0
    spreads = np.sqrt(np.maximum(np.linalg.eigvalsh(x.T @ x / rows), 0.0))  # ascending
    rounding = 4 * _eps(samples) * float(np.sqrt(np.mean(spreads**2)))
    empty = int((spreads < rounding).sum())
    return empty if empty < columns and spreads[empty] > _GAP * rounding else 0


def _eps(samples: Samples) -> float:
    """Of the coarsest type the vectors went through, and of the square root of a float64 sum."""
    stored = np.dtype(samples.stored_dtype or samples.data.dtype)
    kinds = [t for t in (stored, samples.data.dtype) if t.kind == "f"]
    return max(*(float(np.finfo(t).eps) for t in kinds), float(np.finfo(np.float32).eps))

"""Resizing by exact areas: every new pixel is the mean of the rectangle that it covers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from efface.faces.face import Pixels, Reals


def resized(picture: Pixels, size: tuple[int, int]) -> Pixels:
    """The picture with ``size`` = (height, width), up or down, both axes by exact areas."""
    if picture.shape[:2] == size:
        return picture
    exact = resampled(picture.astype(np.float32), size)
    return (exact + np.float32(0.5)).astype(np.uint8)  # means of pixels: none above 255


def resampled(picture: Reals, size: tuple[int, int]) -> Reals:
    """The same, without rounding."""
    height, width, depth = picture.shape
    if (height, width) == size:
        return picture
    down = _weights(height, size[0]) @ picture.reshape(height, -1)
    turned = down.reshape(size[0], width, depth).transpose(1, 0, 2).reshape(width, -1)
    across = _weights(width, size[1]) @ np.ascontiguousarray(turned)
    out: Reals = across.reshape(size[1], size[0], depth).transpose(1, 0, 2)
    return out


def as_pixels(values: Reals) -> Pixels:
    """Rounded to the nearest of 0 to 255."""
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


@lru_cache(maxsize=256)
def _weights(old: int, new: int) -> Any:
    """Row i: by how much each old pixel lies within [i, i + 1) * old / new. Rows sum to 1."""
    edges = np.arange(new + 1) * (old / new)
    first = np.floor(edges[:-1]).astype(np.int64)
    last = np.minimum(np.ceil(edges[1:]).astype(np.int64), old)
    counts = np.maximum(last - first, 1)
    rows = np.repeat(np.arange(new), counts)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    columns = np.minimum(np.repeat(first, counts) + np.arange(counts.sum()) - starts, old - 1)
    overlap = np.minimum(edges[rows + 1], columns + 1) - np.maximum(edges[rows], columns)
    shares = (np.clip(overlap, 0, None) * (new / old)).astype(np.float32)
    return sparse.csr_array((shares, (rows, columns)), shape=(new, old))

"""One vector from what a network gives for a picture: tokens, a map, or the vector itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError
from efface.types import Floats


def pooled(found: NDArray[Any], pooling: str) -> Floats:
    """n x d from n x d, from n x d x 1 x 1, or by ``pooling`` from tokens (n x t x d) or a map."""
    if found.ndim == 4 and found.shape[2:] == (1, 1):
        found = found[:, :, 0, 0]
    if found.ndim == 2:
        if pooling:
            raise DataError(f"the output is one vector already: leave --pooling {pooling} out")
        return np.asarray(found, np.float32)
    if found.ndim == 4 and pooling == "mean":
        return np.asarray(found.mean(axis=(2, 3), dtype=np.float32))
    if found.ndim == 3 and pooling in ("cls", "mean", "cls+mean"):
        return tokens(found, pooling, 1)
    kinds = {3: "tokens (n x t x d): declare --pooling cls, mean or cls+mean",
             4: "a map (n x c x h x w): declare --pooling mean"}  # fmt: skip
    kinds[0] = "a single number for all pictures together: it is no encoder"
    why = kinds.get(found.ndim, "neither vectors, tokens nor a map: it is no encoder")
    raise DataError(f"the output is {' x '.join(map(str, found.shape)) or 'without axes'}, {why}")


def tokens(found: NDArray[Any], pooling: str, special: int) -> Floats:
    """From n x t x d of which the first is the class token; ``special`` are no patches."""
    cls, mean = found[:, 0], found[:, special:].mean(axis=1, dtype=np.float32)
    parts = {"cls": [cls], "mean": [mean], "cls+mean": [cls, mean]}[pooling]
    return np.concatenate(parts, axis=1).astype(np.float32, copy=False)

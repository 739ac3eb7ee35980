"""A projector that was fitted elsewhere, as a protection."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from efface.protect.linear.eraser import LinearEraser
from efface.types import Release, Samples

_SHIPS = ("float16", "float32", "float64")


class Stored:
    """Releases through a finished eraser; ``fit`` learns nothing and leaves it as it is.

    The release is in ``dtype``, or without one in the type that the vectors are stored in, as
    ``efface apply`` writes it.
    """

    def __init__(self, eraser: LinearEraser, dtype: str | None = None) -> None:
        self.eraser = eraser
        self.dtype = dtype

    @property
    def eraser_(self) -> LinearEraser:
        return self.eraser

    @property
    def nested(self) -> bool:
        """Whether its leading directions alone are the same method at a lower rank."""
        return self.eraser.method != "rlace"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"eraser": self.eraser, "dtype": self.dtype}

    def fit(self, samples: Samples, /) -> Self:
        return self

    def release(self, samples: Samples, rng: np.random.Generator) -> Release:
        stored = samples.stored_dtype if samples.stored_dtype in _SHIPS else "float32"
        dtype = self.dtype or stored
        wide = samples.data.astype(np.result_type(samples.data, dtype), copy=False)
        return Release(self.eraser.transform(wide).astype(dtype, copy=False), samples.kind)

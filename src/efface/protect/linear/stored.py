"""A projector that was fitted elsewhere, as a protection."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from efface.protect.linear.eraser import LinearEraser
from efface.types import Release, Samples


class Stored:
    """Releases through a finished eraser; ``fit`` learns nothing and leaves it as it is."""

    def __init__(self, eraser: LinearEraser) -> None:
        self.eraser = eraser

    @property
    def eraser_(self) -> LinearEraser:
        return self.eraser

    @property
    def nested(self) -> bool:
        """Whether its leading directions alone are the same method at a lower rank."""
        return self.eraser.method != "rlace"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"eraser": self.eraser}

    def fit(self, samples: Samples, /) -> Self:
        return self

    def release(self, samples: Samples, rng: np.random.Generator) -> Release:
        return Release(self.eraser.transform(samples.data), samples.kind)

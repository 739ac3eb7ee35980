"""The attacker who needs nothing: compare the released vectors as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from efface.attack.verify.comparison import unit_claim
from efface.registry import register
from efface.results import Card, Scalar, Threat
from efface.types import Claim, Release, Samples


@register(
    Card(
        role="attack",
        name="cosine",
        summary="Cosine similarity of the released vectors; no training, no knowledge.",
        accepts="embedding",
        yields="comparison vectors",
        needs="nothing",
        paper="P9: raw cosine often beats a weakly trained probe",
    )
)
@dataclass
class Cosine:
    """score(a, b) = cos(a, b)."""

    trained: ClassVar[bool] = False

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        return self

    def options(self) -> Sequence[Self]:
        return (self,)

    def settings(self) -> dict[str, Scalar]:
        return {}

    def run(self, release: Release) -> Claim:
        return unit_claim(release.data)

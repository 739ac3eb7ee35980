"""One guess for everybody: the mean of a population (P26)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from efface.attack.template.guessing import guess_all
from efface.attack.template.population import Population
from efface.registry import register
from efface.results import Card, Scalar, Threat
from efface.types import Claim, Release, Samples


@register(
    Card(
        role="attack",
        name="centre-query",
        summary="Queries each template once, with the mean of public embeddings.",
        accepts="template",
        yields="embeddings",
        needs="public embeddings of other people",
        paper="none: the adversary that the papers of these schemes leave out (P26)",
    )
)
@dataclass
class CentreQuery:
    """The mean is nearer to everybody than people are to each other: squared distances of two
    people are twice those to the mean. A decoder that reaches one picture of a person from another
    may reach it from there."""

    population_: Population | None = field(default=None, repr=False)

    schemes: ClassVar[tuple[str, ...]] = ()
    """Names of the schemes it is for; empty for all."""

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        self.population_ = Population.of(shadow)
        return self

    def options(self) -> Sequence[Self]:
        return (self,)

    def settings(self) -> dict[str, Scalar]:
        return {}

    def run(self, release: Release) -> Claim:
        if self.population_ is None:
            raise RuntimeError("fit the attack before running it")
        return guess_all(release, self.population_.mean[None], self.population_)

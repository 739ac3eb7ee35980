"""Offline search for a false accept: embeddings of others, real or drawn, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from efface.attack.template.guessing import guess_all
from efface.attack.template.population import Population, drawn
from efface.errors import PlanError
from efface.registry import register
from efface.results import Card, Scalar, Threat
from efface.types import Claim, Release, Samples


@register(
    Card(
        role="attack",
        name="dictionary",
        summary="Tries embeddings of other people on each template until one is accepted.",
        accepts="template",
        yields="embeddings",
        needs="public embeddings of other people",
        paper="the offline false-accept search; see Ratha, Connell and Bolle, 2001 (P26)",
    )
)
@dataclass
class Dictionary:
    """``source="public"`` tries real embeddings, ``"model"`` draws them from a mixture of
    ``components`` Gaussians fitted on them, and so never runs out.

    Guesses are moved to the mean of the population by ``pull``: 0 leaves them, 1 is the centre
    query. The mean itself is the first guess.
    """

    source: Literal["public", "model"] = "public"
    guesses: int = 200
    pull: float = 0.5
    components: int = 4
    population_: Population | None = field(default=None, repr=False)
    list_: NDArray[np.float64] | None = field(default=None, repr=False)

    schemes: ClassVar[tuple[str, ...]] = ()
    without_helper: ClassVar[str] = (
        "a guess can be told right from wrong only with the helper: "
        "without it there is nothing to start from"
    )

    def check(self) -> None:
        if self.source not in ("public", "model"):
            raise PlanError(f"dictionary: source takes public or model, not {self.source!r}")
        if self.guesses < 1 or self.components < 1 or not 0 <= self.pull <= 1:
            raise PlanError("dictionary: guesses and components are from 1, pull from 0 to 1")

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        self.check()
        known = Population.of(shadow)
        count = self.guesses - 1
        if self.source == "model":
            rows = drawn(known.rows, self.components, count, rng)
        else:
            rows = known.rows[_one_each(shadow, rng)[:count]]
        pulled = (1 - self.pull) * rows + self.pull * known.mean
        self.population_, self.list_ = known, np.concatenate([known.mean[None], pulled])
        return self

    def options(self) -> Sequence[Self]:
        return (self,)

    def settings(self) -> dict[str, Scalar]:
        used = None if self.list_ is None else len(self.list_)
        return {"source": self.source, "guesses": used, "pull": self.pull}

    def run(self, release: Release) -> Claim:
        if self.list_ is None or self.population_ is None:
            raise RuntimeError("fit the attack before running it")
        return guess_all(release, self.list_, self.population_)


def _one_each(shadow: Samples, rng: np.random.Generator) -> NDArray[np.int64]:
    """Row numbers in random order, a picture of everybody before anybody's second."""
    order = rng.permutation(len(shadow))
    _, first = np.unique(shadow.identity[order], return_index=True)
    again = np.ones(len(order), bool)
    again[first] = False
    return np.concatenate([order[np.sort(first)], order[again]])

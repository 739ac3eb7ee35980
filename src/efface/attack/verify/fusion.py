"""Several attackers at once: what one cannot see another may, and an intruder may run them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from efface.attack.verify.comparison import unit_claim
from efface.attack.verify.params import chosen, positive
from efface.registry import cards, make, register
from efface.results import Card, Scalar, Threat
from efface.types import Attack, Claim, Release, Samples

Merit = Callable[[Attack], tuple[float, float]]


@register(
    Card(
        role="attack",
        name="fusion",
        summary="Weighted sum of the other attackers' scores; calibration people set the weights.",
        accepts="embedding",
        yields="comparison vectors",
        needs="labelled shadow vectors",
        paper="P10: the worst case over attackers includes the one who combines them",
    )
)
@dataclass
class Fusion:
    """score = sum of w_i^2 score_i over members; as unit vectors side by side, each times w_i.

    Members join one after another, the best first, each with the weight at which calibration
    people are linked most, or not at all.
    """

    parts: tuple[str, ...] = ("cosine", "ridge", "lda", "mlp")
    steps: tuple[float, ...] = (0.35, 0.6, 1.0, 1.6)
    """Weights to try for a member, against 1 for the best one."""
    members_: Mapping[str, Attack] = field(default_factory=dict, repr=False)
    weights_: Mapping[str, float] = field(default_factory=dict, repr=False)

    strong_only: ClassVar[bool] = True
    """Not one of the paper's attackers."""

    def check(self) -> None:
        positive("fusion", "steps", self.steps)
        known = [c.name for c in cards("attack") if c.accepts == "embedding"]
        chosen("fusion", "parts", self.parts, [name for name in known if name != "fusion"])

    def fit(self, shadow: Samples, threat: Threat, rng: np.random.Generator) -> Self:
        trained = {name: make("attack", name).fit(shadow, threat, rng) for name in self.parts}
        return self.join({name: attack.options()[0] for name, attack in trained.items()})

    def join(self, members: Mapping[str, Attack]) -> Self:
        """Take attackers that are trained and set up already, each under a name of its own."""
        self.members_ = dict(members)
        self.weights_ = dict.fromkeys(members, 1.0)
        return self

    def options(self) -> Sequence[Self]:
        return (self,)

    def tune(self, merit: Merit) -> Self:
        """Greedy: the best member, then whoever raises the merit, at the best weight for it."""
        alone = {name: merit(self._with({name: 1.0})) for name in self.members_}
        order = sorted(alone, key=lambda name: alone[name], reverse=True)
        best = self._with({order[0]: 1.0})
        reached = alone[order[0]]
        for name in order[1:]:
            tries = [self._with({**best.weights_, name: step}) for step in self.steps]
            scored = [(merit(candidate), candidate) for candidate in tries]
            top = max(scored, key=lambda pair: pair[0])
            if top[0] > reached:
                reached, best = top
        return best

    def _with(self, weights: Mapping[str, float]) -> Self:
        return replace(self, weights_=dict(weights))

    def settings(self) -> dict[str, Scalar]:
        return dict(self.weights_)

    def run(self, release: Release) -> Claim:
        if not self.weights_:
            raise RuntimeError("fit the attack before running it")
        claims: list[Any] = [
            weight * self.members_[name].run(release).vectors
            for name, weight in self.weights_.items()
        ]
        return unit_claim(np.hstack(claims))

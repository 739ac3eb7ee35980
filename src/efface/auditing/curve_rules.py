"""Which ways to run a scheme a curve compares, and how hard it looks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from efface.errors import PlanError
from efface.hazmat.derive import Argon2id, Blake2b, KeyDerivation


@dataclass(frozen=True)
class Way:
    """How many pictures of a person are enrolled, how many a try has, and how many of these have
    to pass; 0 votes: their mean."""

    images: int = 1
    tries: int = 1
    votes: int = 0


@dataclass(frozen=True)
class Arm:
    """A way to run the scheme, with its name and its hash."""

    name: str
    way: Way = field(default_factory=Way)
    kdf: KeyDerivation = field(default_factory=Blake2b)


def arms_for(images: int, votes: int = 0, kdf: KeyDerivation | None = None) -> tuple[Arm, ...]:
    """As published; with several pictures; hardened by their mean, and by votes."""
    slow, several = kdf or Argon2id(), Way(images, images)
    if images == 1:
        return Arm("paper"), Arm("hardened", Way(), slow)
    votes = votes or images // 2 + 1
    return (
        Arm("paper"),
        Arm(f"paper, {images} pictures", several),
        Arm(f"hardened, mean of {images}", several, slow),
        Arm(f"hardened, {votes} of {images} votes", replace(several, votes=votes), slow),
    )


@dataclass(frozen=True)
class CurveRules:
    """``guesses`` are made at each template, ``lattices`` shared by the people; ``bkz`` is the
    block of the thief's reduction, 0 for the service's own basis."""

    target: float = 0.9
    guesses: int = 2000
    strangers: int = 20
    people: int | None = None
    lattices: int = 2
    bkz: int = 0
    core_hour: float | None = None
    bootstrap: int = 1000
    seed: int = 0

    def check(self) -> None:
        if not 0 < self.target < 1:
            raise PlanError(f"curve: the TPR wanted lies between 0 and 1, not at {self.target}")
        if min(self.guesses, self.strangers, self.lattices) < 1 or self.bkz < 0:
            raise PlanError("curve: guesses, strangers and lattices take numbers above zero")
        if self.core_hour is not None and not 0 <= self.core_hour < math.inf:
            raise PlanError("curve: a price for a core-hour is a number from 0 on")
        if self.bootstrap < 200:
            raise PlanError("curve: bootstrap takes a number from 200")

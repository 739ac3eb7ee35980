"""Everything that is chosen before an attribution, checked at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from efface.errors import PlanError

SIGMAS = (0.0, 1.0, 2.0, 4.0, 6.0, 8.0)
LEVELS = (0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class Settings:
    """The defaults are those of the paper, as P18 to P22 read it."""

    canvas: int = 224
    """Side of the crops on which everything is done; blurs are in its pixels."""
    coverage: float = 0.33
    most_padding: float = 0.15
    occlusion: float = 8.0
    """Sigma of the blur that hides face and ring."""
    sigmas: tuple[float, ...] = SIGMAS
    levels: tuple[float, ...] = LEVELS
    per_person: int = 2
    """Queries of each person at most."""
    people: int | None = None
    """People with queries at most, by lot."""
    most_coverage_difference: float = 0.02
    """Between query and identity match (appendix D.6)."""
    bootstrap: int = 2000
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if not 64 <= self.canvas <= 1024:
            raise PlanError(f"a canvas of {self.canvas} pixels: give 64 to 1024; 224 is usual")
        if not 0 < self.coverage <= 0.45:
            raise PlanError(
                f"coverage {self.coverage}: give a share above 0 and at most 0.45, so that a ring "
                "as large as the face has room"
            )
        if self.per_person < 1 or (self.people is not None and self.people < 2):
            raise PlanError("at least one query of each person, and at least two people")
        if not _rising(self.sigmas) or self.sigmas[0] != 0:
            raise PlanError(f"sigmas {self.sigmas} have to rise from 0: the first is no blur")
        if not _rising(self.levels) or self.levels[0] <= 0 or self.levels[-1] != 1:
            raise PlanError(f"levels {self.levels} have to rise from above 0 to 1, all of it")
        if self.occlusion <= 0 or self.bootstrap < 100 or not 0.5 <= self.level < 1:
            raise PlanError("occlusion above 0, bootstrap from 100, level from 0.5 to below 1")

    @property
    def blurs(self) -> tuple[float, ...]:
        """All sigmas at which a face is blurred."""
        return tuple(sorted({*self.sigmas[1:], self.occlusion}))


def _rising(values: tuple[float, ...]) -> bool:
    return len(values) >= 2 and all(a < b for a, b in pairwise(values))

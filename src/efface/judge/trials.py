"""What a judge holds: a claim with the truth beside it, the operating point, the outcomes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from efface.judge.area import Area
from efface.judge.crowd import Crowd
from efface.measure import pairs, quotas
from efface.types import Claim


@dataclass(frozen=True, eq=False)
class Trials:
    """A claim with the truth beside it: codes 0..m-1 of the same length as the vectors.

    ``quota`` draws so many image pairs per two people instead of all (paper mode, A.2).
    """

    claim: Claim
    person: NDArray[np.int64]
    quota: int | None = None

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.bincount(self.person)

    @property
    def slack(self) -> np.float32:
        """What a score may exceed another by without meaning anything."""
        return np.float32(pairs.rounding(self.claim.vectors.shape[1]))

    def impostors(
        self, keep: int, above: float | None, rng: np.random.Generator
    ) -> pairs.ImpostorScores:
        vectors = self.claim.vectors
        if self.quota is None:
            return pairs.impostor_scores(vectors, self.person, keep=keep, above=above)
        return quotas.quota_scores(vectors, self.person, self.quota, rng, keep=keep, above=above)

    @property
    def crowd(self) -> Crowd:
        return Crowd(self.sizes, self.quota)

    def impostor_totals(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.crowd.impostor_totals(weights)

    def impostors_of_each(self) -> NDArray[np.int64]:
        return self.crowd.impostors_of_each()

    def impostor_count(self) -> int:
        return self.crowd.impostor_count()


@dataclass(frozen=True, eq=False)
class Calibration:
    """The frozen operating point and what is needed to resample it."""

    far: float
    threshold: float | None
    """Accept above it, on calibration and on test people alike. It lies by ``slack`` above the
    calibration score that set it, so that rounding parts no equal scores."""
    allowed: int
    accepted: int
    impostors: int
    people: int
    ladder: NDArray[np.float32]
    """Threshold of every resample of the calibration people; empty if there is none."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Outcomes on test people, by person, summed over resamples of the query images."""

    mated: NDArray[np.int64]
    accepted: NDArray[np.int64]
    accepted_ladder: NDArray[np.int64]
    """(people, resamples): mated accepts at each resampled threshold."""
    impostors: int
    confusions: pairs.Confusions
    mated_histogram: NDArray[np.int64]
    impostor_histogram: NDArray[np.int64]
    areas: tuple[Area, ...] = ()
    """What the partial AUC is made from, of every resample of the query images."""

    def __add__(self, other: Evidence) -> Evidence:
        joined = pairs.Confusions(
            np.concatenate([self.confusions.left, other.confusions.left]),
            np.concatenate([self.confusions.right, other.confusions.right]),
            np.concatenate([self.confusions.count, other.confusions.count]),
        )
        return Evidence(
            self.mated + other.mated,
            self.accepted + other.accepted,
            self.accepted_ladder + other.accepted_ladder,
            self.impostors + other.impostors,
            joined,
            self.mated_histogram + other.mated_histogram,
            self.impostor_histogram + other.impostor_histogram,
            self.areas + other.areas,
        )

"""A threshold from some people and what it accepts of others, over all pairs, on a runner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from efface.measure.pairs import rounding
from efface.measure.tails import allowed
from efface.scale.pairs import impostor_scores_on, mated_scores_on
from efface.scale.runner import Runner
from efface.scale.sheet import Sheet


@dataclass(frozen=True)
class Verified:
    """Counts at a threshold that was set on other people (P12); None if these were too few."""

    target: float
    threshold: float | None
    allowed: int
    calibration_impostors: int
    mated: int
    mated_accepted: int
    impostors: int
    impostors_accepted: int

    @property
    def tar(self) -> float:
        """Share of pairs of one person that are accepted."""
        return self.mated_accepted / self.mated if self.mated else float("nan")

    @property
    def far(self) -> float:
        """Share of pairs of two people that are accepted."""
        return self.impostors_accepted / self.impostors if self.impostors else float("nan")


def threshold_on(runner: Runner, sheet: Sheet, far: float) -> tuple[float | None, int, int]:
    """(threshold, impostors allowed above it, impostor pairs): the smallest score at which at most
    floor(FAR x pairs) are accepted, and by more than rounding; None if that number is zero."""
    sizes = np.bincount(sheet.person)
    total = (len(sheet.person) ** 2 - sum(int(n) ** 2 for n in sizes)) // 2
    k = allowed(far, total)
    if k < 1:
        return None, k, total
    tail = impostor_scores_on(runner, sheet, keep=k + 1).tail
    scores = np.empty(0) if tail is None else tail.result()[0]
    return float(scores[k] + np.float32(rounding(sheet.dim))), k, total


def verify_store(runner: Runner, calibration: Sheet, test: Sheet, far: float = 1e-3) -> Verified:
    """How many pairs of ``test`` stay linked at the threshold of ``calibration`` people.

    Exact counts over all pairs, as the audit counts them; for an interval, audit a sample.
    """
    tau, k, total = threshold_on(runner, calibration, far)
    above = np.inf if tau is None else tau
    mated = mated_scores_on(runner, test, np.array([above]))
    found = impostor_scores_on(runner, test, above=above)
    return Verified(
        far,
        tau,
        k,
        total,
        int(mated.pairs.sum()),
        int(mated.accepted.sum()),
        found.total,
        int(found.confusions.count.sum()),
    )

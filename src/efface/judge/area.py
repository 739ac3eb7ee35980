"""Partial AUC over FAR in [0, 1e-3]: what is kept of the test pairs, and the estimate (A.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from efface.judge.crowd import Crowd
from efface.measure import intervals, pairs
from efface.measure.tails import allowed
from efface.results import Estimate

LIMIT = 1e-3
NEEDED = 10
"""Impostors below the limit that carry an area; of fewer a bootstrap knows nothing."""
_LINEAR, _EARLY = 192, 64
_MOST = 1000


@dataclass(frozen=True, eq=False)
class Strip:
    """The best impostor scores: who made them, and the thresholds at which TAR is counted."""

    labels: NDArray[np.int32]
    steps: NDArray[np.int64]
    """Places of the thresholds in the descending scores; the first is 0."""
    above: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Area:
    """One set of trials: TAR of each person at every step of the strip."""

    crowd: Crowd
    strip: Strip
    accepted: NDArray[np.int64]
    """(people, steps): mated accepts."""
    mated: NDArray[np.int64]

    def draws(self, weights: intervals.Weights) -> NDArray[np.float64]:
        """The area of each resample; of the sample itself where all weights are 1."""
        budgets = LIMIT * self.crowd.impostor_totals(weights)
        strip = self.strip
        return intervals.pauc_draws(
            strip.labels, strip.steps, self.accepted, self.mated, weights, budgets
        )

    def hits(self) -> NDArray[np.float64]:
        """Mated accepts of each person, averaged over the impostors below the limit."""
        once = np.ones(len(self.mated))
        budget = LIMIT * self.crowd.impostor_count()
        share = intervals.step_shares(self.strip.labels, self.strip.steps, once, budget)
        return np.asarray(self.accepted @ share)


def tail_length(total: int) -> int:
    """Impostor scores to keep: a heavy resample reaches further down than the limit itself."""
    enough = LIMIT * total >= NEEDED
    return min(total, 4 * allowed(LIMIT, total) + 256) if enough else 0


def strip_of(found: pairs.ImpostorScores, slack: np.float32) -> Strip:
    """Thresholds spread over the tail, and more of them at its beginning."""
    if found.tail is None:
        none = np.empty((0, 2), np.int32)
        return Strip(none, np.empty(0, np.int64), np.empty(0, np.float32))
    scores, labels = found.tail.result()
    early = np.geomspace(1, len(scores), _EARLY).astype(np.int64) - 1
    even = np.arange(0, len(scores), max(1, len(scores) // _LINEAR))
    steps = np.union1d(early, even)
    return Strip(labels, steps, scores[steps] + slack)


def estimate(
    areas: Sequence[Area], rng: np.random.Generator, bootstrap: int, level: float
) -> Estimate:
    """Value and interval by one estimator on the same pairs: the mean over resamples of the
    query images. The value is the resample in which everybody stands once."""
    mated = np.sum([a.mated for a in areas], axis=0)
    n, people = int(np.sum(mated)), int(np.count_nonzero(mated))
    fewest = min((a.crowd.impostor_count() for a in areas), default=0)
    if not n or not fewest:
        return intervals.unknown("no mated or no impostor test pair", n, people, level)
    if fewest * LIMIT < NEEDED:
        return intervals.unknown(_too_few(fewest), n, people, level)
    tail = max(len(a.strip.labels) for a in areas)
    count = intervals.resamples(min(bootstrap, _MOST), tail, len(mated))
    weights = intervals.draw(len(mated), count, rng)
    once = np.ones((1, len(mated)))
    value = float(np.mean([a.draws(once) for a in areas]))
    draws = np.mean([a.draws(weights) for a in areas], axis=0)
    hits = np.sum([a.hits() for a in areas], axis=0)
    return intervals.interval(
        value, draws, reach=intervals.reach(hits, mated), n=n, clusters=people,
        method=f"bootstrap over people, {count:,} resamples", level=level,
    )  # fmt: skip


def _too_few(impostors: int) -> str:
    need = int(np.ceil(NEEDED / LIMIT))
    return (
        f"the partial AUC over FAR 0 to {LIMIT:g} needs at least {need:,} impostor pairs among "
        f"test people, there are {impostors:,}"
    )

"""Honest intervals: people are the unit, the threshold's own uncertainty is inside (P14).

A resample draws people with replacement and is a vector of weights, so nothing is re-scored. A
mated pair of person i weighs w_i, an impostor pair of i and j weighs w_i w_j; pairs of a person
with its own copy are left out. Calibration people are resampled too and move the threshold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.results import Estimate

Weights = NDArray[np.float64]
_WORK = 400_000_000
_MIN_RESAMPLES = 200


def resamples(wanted: int, tail: int, people: int) -> int:
    """How many resamples fit the work budget: fewer for very long tails or very many people."""
    budget = _WORK // max(tail, 10 * people, 1)
    return max(min(wanted, budget), min(wanted, _MIN_RESAMPLES))


def draw(people: int, count: int, rng: np.random.Generator) -> Weights:
    """(count, people) multinomial weights: how often each person is in each resample."""
    return rng.multinomial(people, np.full(people, 1 / people), size=count).astype(np.float64)


def impostor_totals(weights: Weights, sizes: NDArray[Any]) -> NDArray[np.float64]:
    """Number of impostor pairs in each resample, own copies left out."""
    n = np.asarray(sizes, dtype=np.float64)
    own = (weights**2) @ (n**2)
    return np.asarray(((weights @ n) ** 2 - own) / 2)


def resampled_thresholds(
    scores: NDArray[Any],
    labels: NDArray[Any],
    weights: Weights,
    totals: NDArray[np.float64],
    far: float,
) -> NDArray[np.float32]:
    """The calibrated threshold of each resample, from the descending labelled impostor tail.

    It is the first score at which the weight accepted above it would exceed floor(FAR x N).
    A resample that runs past the end of the tail gets its last score.
    """
    out = np.empty(len(weights), np.float32)
    step = max(1, 8_000_000 // max(len(scores), 1))
    left, right = labels[:, 0], labels[:, 1]
    by_person = np.ascontiguousarray(weights.T, dtype=np.float32)  # whole numbers: exact
    for start in range(0, len(weights), step):
        w = by_person[:, start : start + step]
        accepted = np.cumsum(w[left] * w[right], axis=0, dtype=np.float64)
        budget = np.floor(far * totals[start : start + step] + 1e-9)
        place = np.count_nonzero(accepted <= budget, axis=0)
        out[start : start + step] = scores[np.minimum(place, len(scores) - 1)]
    return out


def zero_bound(units: int, level: float = 0.95) -> float:
    """Largest rate compatible with no success among so many independent people.

    Exact (Clopper-Pearson) at the two-sided level; about 3.7/n, the rule of three made two-sided.
    """
    return float(1 - ((1 - level) / 2) ** (1 / max(units, 1)))


def interval(
    value: float,
    draws: NDArray[Any],
    *,
    n: int,
    clusters: int,
    method: str,
    level: float = 0.95,
    tails: int = 1,
) -> Estimate:
    """Percentile interval, never tighter than no success (or no failure) would allow.

    Without that floor 0 of 70 people would give [0, 0], and 1 of 70 a smaller upper end than 0
    of 70. ``tails`` > 1 narrows the error level to level/tails (Bonferroni).
    """
    error = (1 - level) / tails
    draws = draws[np.isfinite(draws)]
    low, high = np.quantile(draws, [error / 2, 1 - error / 2]) if len(draws) else (0.0, 1.0)
    floor = zero_bound(clusters, 1 - error)
    low, high = min(float(low), 1 - floor, value), max(float(high), floor, value)
    return Estimate(value, max(low, 0.0), min(high, 1.0), n, clusters, method, level)


def unknown(reason: str, n: int = 0, clusters: int = 0, level: float = 0.95) -> Estimate:
    """Insufficient data as an outcome of its own: no number, and why."""
    return Estimate(None, None, None, n, clusters, reason, level)


def rate_draws(
    accepted: NDArray[Any], pairs: NDArray[Any], weights: Weights
) -> NDArray[np.float64]:
    """Resampled pooled rate; ``accepted`` is (people,), or (people, draws) if each draw has its
    own threshold."""
    trials = weights @ pairs
    hits = weights @ accepted if accepted.ndim == 1 else (weights * accepted.T).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(hits / trials)


def confusion_draws(
    left: NDArray[Any],
    right: NDArray[Any],
    count: NDArray[Any],
    weights: Weights,
    totals: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Resampled false-accept rate from counts per pair of people."""
    out = np.empty(len(weights))
    step = max(1, 20_000_000 // max(len(left), 1))
    for start in range(0, len(weights), step):
        w = weights[start : start + step]
        out[start : start + step] = (w[:, left] * w[:, right]) @ count
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(out / totals)


def pauc_draws(
    labels: NDArray[Any],
    accepted: NDArray[Any],
    pairs: NDArray[Any],
    weights: Weights,
    budgets: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Resampled area under TAR over the first ``budgets`` impostors, as a share of its maximum.

    ``labels`` are the two people of each impostor score, descending; ``accepted`` (people,
    scores) the mated accepts of each person above each of those scores.
    """
    out = np.empty(len(weights))
    for b, (w, budget) in enumerate(zip(weights, budgets, strict=True)):
        reach = np.minimum(np.cumsum(w[labels[:, 0]] * w[labels[:, 1]]), budget)
        share = np.diff(reach, prepend=0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            tar = (w @ accepted) / (w @ pairs)
            out[b] = (share @ tar + (budget - reach[-1]) * tar[-1]) / budget
    return out

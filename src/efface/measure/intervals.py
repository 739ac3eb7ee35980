"""Honest intervals: people are the unit, the threshold's own uncertainty is inside (P14).

A resample draws people with replacement and is a vector of weights, so nothing is re-scored. A
mated pair of person i weighs w_i, an impostor pair of i and j weighs w_i w_j; pairs of a person
with its own copy are left out. Calibration people are resampled too and move the threshold.

Products of weights exaggerate: what is chance between two people, and not a trait of either, they
count three times (Owen 2007, The pigeonhole bootstrap). ``pair_shrink`` measures by how much.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.measure.tails import allowed_each
from efface.results import Estimate

Weights = NDArray[np.float64]
_WORK = 400_000_000
_MIN_RESAMPLES = 200
_RUN = 128


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


def pair_shrink(
    left: NDArray[Any], right: NDArray[Any], count: NDArray[Any], expected: NDArray[Any]
) -> float:
    """Factor that brings deviations of sums under w_i w_j down to their true size.

    ``count`` accepts for each pair of people, ``expected`` for each person if all were alike. With
    R = sum of squared residuals by person and S = sum of squared counts by pair, the variance of
    the sum is about R - S (person + chance) and the bootstrap's R + S (person + 3 x chance).
    """
    low, high = np.minimum(left, right).astype(np.int64), np.maximum(left, right)
    people = len(expected)
    _, pair = np.unique(low * people + high, return_inverse=True)
    by_pair = np.bincount(pair, weights=count)
    by_person = np.bincount(low, count, people) + np.bincount(high, count, people)
    spread, chance = float(np.sum((by_person - expected) ** 2)), float(by_pair @ by_pair)
    if chance == 0:
        return 1.0
    return float(np.sqrt(max((spread - chance) / (spread + chance), 1 / 3)))


def resampled_thresholds(
    scores: NDArray[Any],
    labels: NDArray[Any],
    weights: Weights,
    totals: NDArray[np.float64],
    far: float,
    *,
    k: int = 0,
    shrink: float = 1.0,
) -> NDArray[np.float32]:
    """The calibrated threshold of each resample, from the descending labelled impostor tail.

    It is the first score at which the weight accepted above it would exceed floor(FAR x N).
    A resample that runs past the end of the tail gets its last score. With ``shrink`` c < 1 a
    pair weighs 1 + c (w_i w_j - 1) and the budget is as far from ``k``, that of the sample.
    """
    out = np.empty(len(weights), np.float32)
    step = max(1, 8_000_000 // max(len(scores), 1))
    left, right = labels[:, 0], labels[:, 1]
    by_person = np.ascontiguousarray(weights.T, dtype=np.float32)  # whole numbers: exact
    for start in range(0, len(weights), step):
        w = by_person[:, start : start + step]
        budget = allowed_each(far, totals[start : start + step]).astype(np.float64)
        if shrink < 1:
            budget = k + shrink * (budget - k) + 1e-9  # sums of fractions: allow for rounding
        place = _crossing(w[left] * w[right], budget, shrink)
        out[start : start + step] = scores[np.minimum(place, len(scores) - 1)]
    return out


def _crossing(
    weight: NDArray[np.float32], budget: NDArray[np.float64], shrink: float
) -> NDArray[np.int64]:
    """How many leading rows of each column fit its budget: whole blocks first, then rows."""
    rows, columns = weight.shape
    starts = np.arange(0, rows, _RUN)
    ends = np.cumsum(np.add.reduceat(weight, starts, axis=0), axis=0, dtype=np.float64)
    upto = np.minimum(starts + _RUN, rows)[:, None]
    full = np.count_nonzero(shrink * ends + (1 - shrink) * upto <= budget, axis=0)
    before = np.vstack([np.zeros((1, columns)), ends])[full, np.arange(columns)]
    index = (full * _RUN)[:, None] + np.arange(_RUN)
    inside = weight[np.minimum(index, rows - 1), np.arange(columns)[:, None]]
    total = before[:, None] + np.cumsum(inside, axis=1, dtype=np.float64)
    fits = (shrink * total + (1 - shrink) * (index + 1) <= budget[:, None]) & (index < rows)
    return np.asarray(full * _RUN + np.count_nonzero(fits, axis=1))


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
    steps: NDArray[np.integer[Any]],
    accepted: NDArray[Any],
    pairs: NDArray[Any],
    weights: Weights,
    budgets: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Resampled area under TAR over the first ``budgets`` impostors, as a share of its maximum.

    ``labels`` are the two people of each impostor score, descending; ``accepted`` (people,
    steps) the mated accepts of each person above the scores at the places ``steps``, which start
    at 0: TAR is taken as constant from one step to the next.
    """
    out = np.empty(len(weights))
    ends = np.append(steps[1:], len(labels)) - 1
    for b, (w, budget) in enumerate(zip(weights, budgets, strict=True)):
        reached = np.cumsum(w[labels[:, 0]] * w[labels[:, 1]])[ends]
        reach = np.minimum(reached, budget)
        share = np.diff(reach, prepend=0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            tar = (w @ accepted) / (w @ pairs)
            out[b] = (share @ tar + (budget - reach[-1]) * tar[-1]) / budget
    return out

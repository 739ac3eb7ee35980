"""Honest intervals: people are the unit, the threshold's own uncertainty is inside (P14).

A resample draws people with replacement and is a vector of weights, so nothing is re-scored. A
mated pair of person i weighs w_i, an impostor pair of i and j weighs w_i w_j; pairs of a person
with its own copy are left out. Calibration people are resampled too and move the threshold.

Products of weights exaggerate: what is chance between two people, and not a trait of either, they
count three times (Owen 2007, The pigeonhole bootstrap). ``pair_shrink`` measures by how much.

Few successes say little about the spread of successes. So an end allows for one more person, as
large as people are, whose pairs succeed together as far as those of others do: see ``Reach``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.measure.tails import allowed_each
from efface.results import Estimate

Weights = NDArray[np.float64]
_WORK = 400_000_000
_MIN_RESAMPLES = 200
_RUN = 128
_FEW = 20
_DOUBT = 0.25
"""Of one person who succeeds in all of its pairs: few successes do not show how they cluster.
A whole one is too much at a low TAR, none too little (simulated: docs/design/decisions.md, p)."""


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

    Accepts that hang on few people cannot tell the two apart: then nothing is shrunk.
    """
    people = len(expected)
    by_pair = sums_by_pair(left, right, count, people)[2]
    by_person = np.bincount(left, count, people) + np.bincount(right, count, people)
    carried = float(by_person @ by_person)
    if carried == 0 or by_person.sum() ** 2 < _FEW * carried:
        return 1.0
    spread, chance = float(np.sum((by_person - expected) ** 2)), float(by_pair @ by_pair)
    return float(np.sqrt(max((spread - chance) / (spread + chance), 1 / 3)))


def sums_by_pair(
    left: NDArray[Any], right: NDArray[Any], count: NDArray[Any], people: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """(lower person, higher person, sum of ``count``), every two people once."""
    low, high = np.minimum(left, right).astype(np.int64), np.maximum(left, right)
    keys, place = np.unique(low * people + high, return_inverse=True)
    sums = np.bincount(place, weights=count).astype(np.float64)
    return keys // people, keys % people, sums


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


def zero_bound(units: float, level: float = 0.95) -> float:
    """Largest rate compatible with no success among so many independent people.

    Exact (Clopper-Pearson) at the two-sided level; about 3.7/n, the rule of three made two-sided.
    People with unequal numbers of pairs count for fewer: see ``Reach``.
    """
    return float(1 - ((1 - level) / 2) ** (1 / max(units, 1.0)))


@dataclass(frozen=True)
class Reach:
    """How much one more person would move a pooled rate."""

    units: float
    """People of equal weight that would be worth as much (Kish): (sum m)^2 / sum m^2."""
    up: float
    """Share of all pairs that one more success would be, and (``down``) one more failure."""
    down: float


def reach(hits: NDArray[Any], sizes: NDArray[Any]) -> Reach:
    """The reach of one more person, from the successes and the pairs of each."""
    m, a = np.asarray(sizes, dtype=np.float64), np.asarray(hits, dtype=np.float64)
    total, square = float(m.sum()), float(m @ m)
    return Reach(
        total**2 / square, one_more(a, m, total, square), one_more(m - a, m, total, square)
    )


def one_more(hits: NDArray[Any], sizes: NDArray[Any], total: float, square: float) -> float:
    """Share of all ``total`` pairs in which one more person would succeed together.

    It is as large as people are on average, each weighed by its pairs. With s, how often who
    succeeds does (over those who do and a part of one who always does), and p, how often all do,
    (s - p) / (1 - p) of it is more than chance: all where people succeed wholly or not at all, one
    pair where every pair is a trial of its own.
    """
    size = square / total
    doubt = _DOUBT * size**2
    s, p = (hits @ hits + doubt) / (hits @ sizes + doubt), hits.sum() / total
    together = (s - p) / (1 - p) if p < 1 else 1.0
    return float(min(max(together * size, 1.0), size) / total)


def interval(
    value: float,
    draws: NDArray[Any],
    *,
    reach: Reach,
    n: int,
    clusters: int,
    method: str,
    level: float = 0.95,
    tails: int = 1,
) -> Estimate:
    """Percentile interval, but never tighter than one more person would allow.

    The percentiles of few successes are too close: one of 70 people would get a smaller upper
    end than none of 70. ``tails`` > 1 narrows the error level to level/tails (Bonferroni).
    """
    error = (1 - level) / tails
    draws = draws[np.isfinite(draws)]
    if not len(draws):
        return Estimate(value, 0.0, 1.0, n, clusters, method, level)
    low, high = np.quantile(draws, [error / 2, 1 - error / 2])
    floor, spread = zero_bound(reach.units, 1 - error), float(draws.var())
    least = 1 - _with_one_more(1 - value, spread, reach.down, error / 2)
    most = _with_one_more(value, spread, reach.up, error / 2)
    low, high = min(float(low), 1 - floor, least, value), max(float(high), floor, most, value)
    return Estimate(value, max(low, 0.0), min(high, 1.0), n, clusters, method, level)


def _with_one_more(rate: float, spread: float, share: float, error: float) -> float:
    """Upper end of the beta distribution with the mean and the variance of the rate with one
    more success, which is ``share`` of all.

    Where n equal people succeed wholly or not at all, this is Clopper and Pearson's end.
    """
    from scipy.special import betaincinv  # slow to import, and needed late

    if rate >= 1:
        return 1.0
    mean = (rate + share) / (1 + share)
    variance = (spread + share**2 * (1 - rate)) / ((1 + share) ** 2 * (1 + 2 * share))
    size = max(mean * (1 - mean) / variance - 1, 1e-3)
    return float(betaincinv(mean * size, (1 - mean) * size, 1 - error))


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
    for b, (w, budget) in enumerate(zip(weights, budgets, strict=True)):
        with np.errstate(invalid="ignore", divide="ignore"):
            out[b] = step_shares(labels, steps, w, budget) @ ((w @ accepted) / (w @ pairs))
    return out


def step_shares(
    labels: NDArray[Any], steps: NDArray[np.integer[Any]], w: Weights, budget: float
) -> NDArray[np.float64]:
    """Share of the first ``budget`` impostors that lies in each step; what the tail does not
    reach belongs to the last."""
    ends = np.append(steps[1:], len(labels)) - 1
    reached = np.minimum(np.cumsum(w[labels[:, 0]] * w[labels[:, 1]])[ends], budget)
    share = np.diff(reached, prepend=0.0)
    share[-1] += budget - reached[-1]
    return np.asarray(share / budget)

"""Means and shares over clusters of people, with the intervals of P14.

A value belongs to one person; people are drawn again with replacement and take all their values
along. Where a value depends on a second person too, such as whose face was lent, that one is drawn
as well. Shares get the guards of :mod:`efface.measure.intervals`, so that none and all of the cases
never give an interval of no width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.measure.intervals import (
    Weights,
    draw,
    interval,
    rate_draws,
    reach,
    sums_by_pair,
    unknown,
)
from efface.results import Estimate

LEAST = 5
"""People below which no interval is given: resamples of so few say nothing of others."""
METHOD = "bootstrap over people"

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Clusters:
    """Who each value belongs to, and the resamples of people that all estimates share."""

    person: NDArray[np.int64]
    """0, 1, 2 ... for every value."""
    weights: Weights
    """Resamples x people."""
    level: float = 0.95
    second: NDArray[np.int64] | None = None
    """The other person on whom each value depends, numbered alike; None where there is none."""

    @classmethod
    def of(
        cls, codes: NDArray[Any], count: int, rng: np.random.Generator, level: float = 0.95,
        second: NDArray[Any] | None = None,
    ) -> Clusters:  # fmt: skip
        """From any codes of people; ``count`` resamples."""
        both = [codes] if second is None else [codes, second]
        known, number = np.unique(np.concatenate(both), return_inverse=True)
        parts = number.reshape(len(both), -1).astype(np.int64)
        weights = draw(max(len(known), 1), count, rng)
        return cls(parts[0], weights, level, None if second is None else parts[1])

    @property
    def people(self) -> int:
        return int(self.weights.shape[1])

    def sums(self, values: Values, there: NDArray[np.bool_]) -> tuple[Values, Values]:
        """Sum and number of the values of each person."""
        who = self.person[there]
        sizes = np.bincount(who, minlength=self.people).astype(np.float64)
        sums = np.bincount(who, values[there], self.people).astype(np.float64)
        return sums, sizes

    def draws(self, values: Values) -> Values:
        """The mean in every resample; values that are not finite are not there."""
        there = np.isfinite(values)
        if self.second is None:
            return rate_draws(*self.sums(values, there), self.weights)
        return pair_draws(values[there], self.person[there], self.second[there], self.weights)


def pair_draws(
    values: Values, one: NDArray[np.int64], two: NDArray[np.int64], weights: Weights
) -> Values:
    """The mean in every resample of values that depend on two people: each moves it with its own
    weight, to first order.

    What is chance between the two would be counted with either. With R, the squared residuals by
    person, and S, those by pair, the variance of the sum is about R - S, and that of these draws
    before they are shrunk is R (compare :func:`efface.measure.intervals.pair_shrink`).
    """
    if not len(values):
        return np.full(len(weights), np.nan)
    off, people = values - values.mean(), weights.shape[1]
    by_person = np.bincount(one, off, people) + np.bincount(two, off, people)
    by_pair = sums_by_pair(one, two, off, people)[2]
    spread, chance = float(by_person @ by_person), float(by_pair @ by_pair)
    shrink = np.sqrt(max(1 - chance / spread, 0.5)) if spread > 0 else 1.0
    return np.asarray(values.mean() + shrink * (weights @ by_person) / len(values))


def mean(values: Values, clusters: Clusters) -> Estimate:
    """Mean with a percentile interval, widened as Student's t is over the normal for so many
    people (Hesterberg 2015): plain percentiles are too narrow for few."""
    there = np.isfinite(values)
    few = _few(values, clusters)
    if few is not None:
        return few
    _, sizes = clusters.sums(values, there)
    people = int((sizes > 0).sum())
    draws = clusters.draws(values)
    error = _expanded((1 - clusters.level) / 2, people)
    low, high = np.quantile(draws[np.isfinite(draws)], [error, 1 - error])
    return Estimate(
        float(values[there].mean()), float(low), float(high), int(there.sum()), people, METHOD,
        clusters.level,
    )  # fmt: skip


def share(hits: Values, clusters: Clusters) -> Estimate:
    """Share of the cases that are a hit (1; a half for a tie); NaN is no case."""
    few = _few(hits, clusters)
    if few is not None:
        return few
    there = np.isfinite(hits)
    sums, sizes = clusters.sums(hits, there)
    known = sizes > 0
    return interval(
        float(hits[there].mean()), clusters.draws(hits),
        reach=reach(sums[known], sizes[known]), n=int(there.sum()), clusters=int(known.sum()),
        method=METHOD, level=clusters.level,
    )  # fmt: skip


def difference(after: Values, before: Values, clusters: Clusters) -> Estimate:
    """Share after less share before, of the same cases.

    The ends come from those of the two shares and from how the resamples make them move
    together (Zou and Donner 2008), so that two shares of none do not give a certain zero.
    """
    one, two = share(after, clusters), share(before, clusters)
    ends = (one.value, one.low, one.high, two.value, two.low, two.high)
    if any(end is None for end in ends):
        return one if one.value is None else two
    a, al, ah, b, bl, bh = (float(end) for end in ends if end is not None)
    r = _together(clusters.draws(after), clusters.draws(before))
    low = a - b - _root(a - al, bh - b, r)
    high = a - b + _root(ah - a, b - bl, r)
    return Estimate(
        a - b, max(low, -1.0), min(high, 1.0), one.n, one.clusters, METHOD, clusters.level
    )


def _few(values: Values, clusters: Clusters) -> Estimate | None:
    """Insufficient data, in words, or None where there is enough."""
    there = np.isfinite(values)
    people = len(np.unique(clusters.person[there]))
    if people >= LEAST:
        return None
    why = f"{people} people: at least {LEAST} are needed"
    return unknown(why, int(there.sum()), people, clusters.level)


def _expanded(error: float, people: int) -> float:
    """The tail of a normal distribution that reaches as far as Student's t with its larger
    standard deviation."""
    from scipy.special import ndtr, stdtrit

    return float(ndtr(np.sqrt(people / (people - 1)) * stdtrit(people - 1, error)))


def _together(one: Values, two: Values) -> float:
    """Correlation of two series of draws; 0 where one of them does not move."""
    there = np.isfinite(one) & np.isfinite(two)
    one, two = one[there] - one[there].mean(), two[there] - two[there].mean()
    size = np.sqrt((one @ one) * (two @ two))
    return float(one @ two / size) if size > 0 else 0.0


def _root(one: float, two: float, r: float) -> float:
    return float(np.sqrt(max(one**2 + two**2 - 2 * r * one * two, 0.0)))

"""Intervals against a bootstrap that copies people and scores every pair again; coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slow_pairs as slow
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from efface.errors import DataError
from efface.measure import intervals, pairs
from efface.measure.tails import allowed

Array = NDArray[Any]


class Resample:
    """A crowd in which person i stands w_i times; copies of one person never meet."""

    def __init__(self, vectors: Array, person: Array, weights: Array) -> None:
        copies = [(i, c) for i, w in enumerate(weights) for c in range(int(w))]
        rows = [np.flatnonzero(person == i) for i, _ in copies]
        owner = np.repeat(np.arange(len(copies)), [len(r) for r in rows])
        every = slow.all_pairs(vectors[np.concatenate(rows)], owner)
        self.mated = np.array([p.score for p in slow.mated(every)])
        strangers = [p for p in slow.impostors(every) if copies[p.left][0] != copies[p.right][0]]
        self.impostor = np.array([p.score for p in strangers])

    def threshold(self, far: float) -> float:
        return slow.smallest_threshold(self.impostor, allowed(far, len(self.impostor)))

    def stepwise_area(self, budget: float) -> float:
        """Mean TAR above the first ``budget`` impostors, taken one by one."""
        best = np.sort(self.impostor)[::-1]
        steps = [float((self.mated > s).mean()) for s in best[: int(np.ceil(budget))]]
        share = np.minimum(budget - np.arange(len(steps)), 1)
        return float(share @ steps / budget)


@pytest.fixture(params=[0, 1, 2])
def crowd(request: pytest.FixtureRequest) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(request.param)
    person = slow.crowd(rng, 9, 4)
    vectors = slow.dyadic(rng, len(person), 5, steps=16)
    return vectors, person, intervals.draw(9, 12, rng)


def tail_of(vectors: Array, person: Array) -> tuple[Array, Array]:
    found = pairs.impostor_scores(vectors, person, keep=10_000)
    assert found.tail is not None
    return found.tail.result()


# --- weights are a bootstrap ----------------------------------------------------------------


def test_weights_draw_as_many_people_as_there_are(rng: np.random.Generator) -> None:
    weights = intervals.draw(30, 4000, rng)
    assert (weights.sum(axis=1) == 30).all()
    assert weights.mean(axis=0) == pytest.approx(np.ones(30), abs=0.1)
    assert weights.var() == pytest.approx(1 - 1 / 30, rel=0.05)


@pytest.mark.parametrize("far", [0.05, 0.2])
def test_thresholds_are_those_of_scored_resamples(
    crowd: tuple[Array, Array, Array], far: float
) -> None:
    vectors, person, weights = crowd
    totals = intervals.impostor_totals(weights, np.bincount(person))
    scores, labels = tail_of(vectors, person)
    found = intervals.resampled_thresholds(scores, labels, weights, totals, far)
    for w, total, tau in zip(weights, totals, found, strict=True):
        again = Resample(vectors, person, w)
        assert total == len(again.impostor)
        # Equal scores of pairs that weigh nothing move the value, never who is accepted.
        assert np.array_equal(again.impostor > tau, again.impostor > again.threshold(far))


def test_rates_are_those_of_scored_resamples(crowd: tuple[Array, Array, Array]) -> None:
    vectors, person, weights = crowd
    tau = 0.01
    mated = pairs.mated_scores(vectors, person, np.array([tau, 0.02]))
    confused = pairs.impostor_scores(vectors, person, above=tau).confusions
    totals = intervals.impostor_totals(weights, np.bincount(person))
    tar = intervals.rate_draws(mated.accepted[:, 0], mated.pairs, weights)
    far = intervals.confusion_draws(confused.left, confused.right, confused.count, weights, totals)
    for w, t, f in zip(weights, tar, far, strict=True):
        again = Resample(vectors, person, w)
        assert t == pytest.approx((again.mated > tau).mean())
        assert f == pytest.approx((again.impostor > tau).mean())


def test_every_draw_has_its_own_threshold(crowd: tuple[Array, Array, Array]) -> None:
    vectors, person, weights = crowd
    ladder = np.linspace(-0.05, 0.05, len(weights))
    mated = pairs.mated_scores(vectors, person, ladder)
    tar = intervals.rate_draws(mated.accepted, mated.pairs, weights)
    for w, tau, t in zip(weights, ladder.astype(np.float32), tar, strict=True):
        assert t == pytest.approx((Resample(vectors, person, w).mated > tau).mean())


def test_partial_area_is_that_of_scored_resamples(crowd: tuple[Array, Array, Array]) -> None:
    vectors, person, weights = crowd
    scores, labels = tail_of(vectors, person)
    mated = pairs.mated_scores(vectors, person, scores[::-1])
    budgets = 0.07 * intervals.impostor_totals(weights, np.bincount(person))
    found = intervals.pauc_draws(
        labels, np.arange(len(scores)), mated.accepted[:, ::-1], mated.pairs, weights, budgets
    )
    expected = [
        Resample(vectors, person, w).stepwise_area(b) for w, b in zip(weights, budgets, strict=True)
    ]
    assert found == pytest.approx(np.array(expected))


def test_everybody_once_is_the_sample_itself(crowd: tuple[Array, Array, Array]) -> None:
    vectors, person, _ = crowd
    scores, labels = tail_of(vectors, person)
    once = np.ones((1, 9))
    totals = intervals.impostor_totals(once, np.bincount(person))
    assert totals[0] == len(scores)
    for far in (0.04, 0.1, 0.25, 0.5):
        k = allowed(far, len(scores))
        for shrink in (1.0, 0.7):
            found = intervals.resampled_thresholds(
                scores, labels, once, totals, far, k=k, shrink=shrink
            )
            assert found[0] == scores[k]


def test_shrunken_resamples_lie_between_the_sample_and_the_resample(
    crowd: tuple[Array, Array, Array],
) -> None:
    vectors, person, weights = crowd
    scores, labels = tail_of(vectors, person)
    totals = intervals.impostor_totals(weights, np.bincount(person))
    far, c = 0.1, 0.6
    k = allowed(far, len(scores))
    found = intervals.resampled_thresholds(scores, labels, weights, totals, far, k=k, shrink=c)
    for w, total, tau in zip(weights, totals, found, strict=True):
        accepted, budget = 0.0, k + c * (allowed(far, int(total)) - k)
        expected = None
        for score, (a, b) in zip(scores, labels, strict=True):
            accepted += 1 + c * (w[a] * w[b] - 1)
            if accepted > budget + 1e-9:
                expected = score
                break
        assert tau == expected


def test_a_resample_past_the_end_of_the_tail_gets_its_last_score() -> None:
    scores, labels = np.array([0.9, 0.8], np.float32), np.array([[0, 1], [0, 1]])
    weights = np.array([[0.0, 3.0, 0.0], [1.0, 1.0, 1.0]])
    found = intervals.resampled_thresholds(scores, labels, weights, np.array([3.0, 3.0]), 0.4)
    assert found == pytest.approx([0.8, 0.8])


# --- chance between two people counts three times -------------------------------------------


@pytest.mark.parametrize(("trait", "expected"), [(0.0, np.sqrt(1 / 3)), (0.25, 0.8)])
def test_shrinking_brings_the_spread_to_its_true_size(
    trait: float, expected: float, rng: np.random.Generator
) -> None:
    """``trait`` is how much a person's own rate of false accepts varies around 0.3."""
    people, worlds = 40, 150
    left, right = np.triu_indices(people, 1)
    sums, spreads, shrinks = [], [], []
    for _ in range(worlds):
        own = rng.normal(0, trait / 2, people)
        count = (rng.random(len(left)) < 0.3 + own[left] + own[right]).astype(float)
        weights = intervals.draw(people, 200, rng)
        totals = intervals.impostor_totals(weights, np.ones(people))
        draws = intervals.confusion_draws(left, right, count, weights, totals)
        alike = np.full(people, 2 * count.sum() / people)
        shrinks.append(intervals.pair_shrink(left, right, count, alike))
        sums.append(count.mean())
        spreads.append(draws.std())
    raw, true = np.sqrt(np.mean(np.square(spreads))), np.std(sums)
    shrunk = np.sqrt(np.mean(np.square(np.multiply(spreads, shrinks))))
    if trait == 0:
        assert raw > 1.4 * true  # the exaggeration was there
    assert shrunk == pytest.approx(true, rel=0.2)
    assert np.mean(shrinks) == pytest.approx(expected, abs=0.1)


def test_shrinking_has_limits() -> None:
    nothing = np.empty(0, np.int64)
    assert intervals.pair_shrink(nothing, nothing, nothing, np.zeros(4)) == 1
    left, right = np.triu_indices(6, 1)
    even = np.full(6, 5.0)  # everybody exactly as expected
    assert intervals.pair_shrink(left, right, np.ones(15), even) == pytest.approx(np.sqrt(1 / 3))
    turned = intervals.pair_shrink(right, left, np.arange(15), even)
    assert turned == intervals.pair_shrink(left, right, np.arange(15), even)


# --- the ends -------------------------------------------------------------------------------


@pytest.mark.parametrize("people", [1, 2, 10, 70, 1000])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_bound_at_zero_is_the_exact_one(people: int, level: float) -> None:
    exact = stats.binomtest(0, people).proportion_ci(level, method="exact").high
    assert intervals.zero_bound(people, level) == pytest.approx(exact)


@given(st.integers(2, 120), st.integers(1, 8))
def test_more_successes_never_lower_an_end(people: int, tails: int) -> None:
    rng = np.random.default_rng(people)
    weights = intervals.draw(people, 300, rng)
    before: tuple[float, float] | None = None
    for successes in range(people + 1):
        accepted = (np.arange(people) < successes).astype(float)
        draws = intervals.rate_draws(accepted, np.ones(people), weights)
        found = intervals.interval(
            successes / people, draws, n=people, clusters=people, method="", tails=tails
        )
        assert found.low is not None
        assert found.high is not None
        assert 0 <= found.low <= successes / people <= found.high <= 1
        if successes in (0, people):
            assert found.high - found.low == pytest.approx(
                intervals.zero_bound(people, 1 - 0.05 / tails)
            )
        if before is not None:
            assert (found.low, found.high) >= before
            assert found.high >= before[1]
        before = (found.low, found.high)


def test_sharing_the_error_among_attackers_widens(rng: np.random.Generator) -> None:
    draws = rng.normal(0.5, 0.05, 20_000)
    ends = [
        intervals.interval(0.5, draws, n=1000, clusters=1000, method="", tails=t) for t in (1, 10)
    ]
    for found, tails in zip(ends, (1, 10), strict=True):
        z = stats.norm.ppf(1 - 0.025 / tails)
        assert found.high == pytest.approx(0.5 + 0.05 * z, abs=0.005)
        assert found.low == pytest.approx(0.5 - 0.05 * z, abs=0.005)


def test_without_a_draw_nothing_is_known() -> None:
    found = intervals.interval(0.4, np.array([np.nan, np.nan]), n=9, clusters=3, method="")
    assert (found.low, found.value, found.high) == (0, 0.4, 1)


def test_insufficient_data_is_an_outcome() -> None:
    found = intervals.unknown("too few pairs", n=12, clusters=3)
    assert (found.value, found.low, found.high) == (None, None, None)
    assert (found.n, found.clusters, found.method) == (12, 3, "too few pairs")
    assert str(found) == "insufficient data"


def test_the_work_is_bounded_but_never_too_little() -> None:
    assert intervals.resamples(2000, tail=1000, people=100) == 2000
    assert intervals.resamples(2000, tail=10**6, people=100) == 400
    assert intervals.resamples(2000, tail=10**9, people=100) == 200
    assert intervals.resamples(50, tail=10**9, people=100) == 50


def test_a_far_that_is_no_rate_is_refused_here_too() -> None:
    with pytest.raises(DataError, match="between 0 and 1"):
        intervals.resampled_thresholds(
            np.ones(1), np.zeros((1, 2), int), np.ones((1, 1)), np.ones(1), 1.5
        )

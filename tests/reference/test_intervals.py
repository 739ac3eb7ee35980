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
from efface.results import Estimate

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
    left, right = np.triu_indices(30, 1)
    even = np.full(30, 29.0)  # everybody exactly as expected
    ones = np.ones(len(left))
    assert intervals.pair_shrink(left, right, ones, even) == pytest.approx(np.sqrt(1 / 3))
    many = np.arange(len(left))
    turned = intervals.pair_shrink(right, left, many, even)
    assert turned == intervals.pair_shrink(left, right, many, even) < 1


def test_what_hangs_on_few_people_is_not_shrunk() -> None:
    """Few accepts, or many that a few people make: the residuals cannot tell what they are."""
    alike = np.full(60, 0.2)
    few = np.arange(0, 12, 2)
    assert intervals.pair_shrink(few, few + 1, np.ones(6), alike) == 1
    many = np.arange(0, 60, 2)
    assert intervals.pair_shrink(many, many + 1, np.ones(30), 5 * alike) < 0.6
    left, right = np.triu_indices(5, 1)
    assert intervals.pair_shrink(left, right, np.full(10, 6.0), 10 * alike) == 1


def test_sums_by_pair_by_loops(rng: np.random.Generator) -> None:
    left, right = rng.integers(0, 5, 40), rng.integers(5, 9, 40)
    swap = rng.random(40) < 0.5
    count = rng.integers(1, 4, 40)
    found = intervals.sums_by_pair(
        np.where(swap, right, left), np.where(swap, left, right), count, 9
    )
    expected: dict[tuple[int, int], float] = {}
    for a, b, n in zip(left.tolist(), right.tolist(), count.tolist(), strict=True):
        expected[a, b] = expected.get((a, b), 0) + n
    listed = zip(*(f.tolist() for f in found), strict=True)
    assert {(a, b): n for a, b, n in listed} == expected


# --- the ends -------------------------------------------------------------------------------


@pytest.mark.parametrize("people", [1, 2, 10, 70, 1000])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_bound_at_zero_is_the_exact_one(people: int, level: float) -> None:
    exact = stats.binomtest(0, people).proportion_ci(level, method="exact").high
    assert intervals.zero_bound(people, level) == pytest.approx(exact)


def rate_interval(accepted: Array, sizes: Array, tails: int = 1, seed: int = 0) -> Estimate:
    weights = intervals.draw(len(sizes), 300, np.random.default_rng(seed))
    draws = intervals.rate_draws(accepted, sizes, weights)
    return intervals.interval(
        float(accepted.sum() / sizes.sum()), draws, reach=intervals.reach(accepted, sizes),
        n=int(sizes.sum()), clusters=len(sizes), method="", tails=tails,
    )  # fmt: skip


def ends(found: Estimate) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


@given(st.integers(2, 120), st.integers(1, 8))
def test_more_successes_never_lower_an_end(people: int, tails: int) -> None:
    before = (0.0, 0.0)
    for successes in range(people + 1):
        accepted = (np.arange(people) < successes).astype(float)
        low, high = ends(rate_interval(accepted, np.ones(people), tails, seed=people))
        assert 0 <= low <= successes / people <= high <= 1
        if successes in (0, people):
            assert high - low == pytest.approx(intervals.zero_bound(people, 1 - 0.05 / tails))
        assert low >= before[0]
        assert high >= before[1]
        before = (low, high)


@pytest.mark.parametrize(("successes", "people"), [(0, 30), (1, 70), (4, 70), (9, 100), (69, 70)])
def test_people_who_succeed_wholly_or_not_get_the_exact_ends(successes: int, people: int) -> None:
    """Clopper and Pearson's, wherever the percentiles are closer; else the percentiles."""
    rate = successes / people
    exact = stats.binomtest(successes, people).proportion_ci(method="exact")
    hits = (np.arange(people) < successes).astype(float)
    flat = rate + np.sqrt(rate * (1 - rate) / people) * np.repeat([-1, 1], 500)
    found = intervals.interval(
        rate, flat, reach=intervals.reach(hits, np.ones(people)), n=people, clusters=people,
        method="",
    )  # fmt: skip
    expected = (min(exact.low, flat[0]), max(exact.high, flat[-1]))
    assert ends(found) == pytest.approx(expected, abs=1e-12)
    assert expected[0 if rate > 0.5 else 1] == (exact.low if rate > 0.5 else exact.high)
    resampled = ends(rate_interval(hits, np.ones(people)))
    assert resampled[0] <= exact.low * 1.15
    assert resampled[1] >= exact.high * 0.93


def test_people_with_many_pairs_count_for_fewer() -> None:
    sizes = np.array([190.0] * 10 + [10.0] * 90)
    units = sizes.sum() ** 2 / (sizes**2).sum()
    assert units == pytest.approx(21.2, abs=0.1)
    low, high = ends(rate_interval(np.zeros(100), sizes))
    assert (low, high) == (0, pytest.approx(1 - 0.025 ** (1 / units)))
    # Some small ones are found out: that says nothing about the large ones.
    hits = np.where(np.arange(100) > 95, sizes, 0)
    assert ends(rate_interval(hits, sizes))[1] > high


def test_one_more_person_by_hand() -> None:
    sizes = np.array([10.0, 10, 20])
    found = intervals.reach(np.array([0, 0, 0]), sizes)
    assert found.units == pytest.approx(1600 / 600)
    assert found.up == pytest.approx(600 / 1600)  # whole, for want of anybody who succeeded
    # Who succeeds does so in half of its pairs, or with a quarter of a person of 15 pairs that
    # succeeds in all in s of them; all do in 15 of 40. What is above chance succeeds together.
    half = intervals.reach(np.array([0, 5, 10]), sizes)
    s, p = (25 + 100 + 15**2 / 4) / (50 + 200 + 15**2 / 4), 15 / 40
    assert half.up == pytest.approx((s - p) / (1 - p) * 15 / 40)
    s, p = (100 + 25 + 100 + 15**2 / 4) / (100 + 50 + 200 + 15**2 / 4), 25 / 40
    assert half.down == pytest.approx((s - p) / (1 - p) * 15 / 40)
    assert intervals.reach(np.array([10, 5, 10]), sizes).down == pytest.approx(half.up)


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.8])
def test_where_pairs_are_trials_of_their_own_one_more_is_a_pair(
    rate: float, rng: np.random.Generator
) -> None:
    """People alike: the ends must be those of as many trials as there are pairs."""
    sizes = np.full(300, 50.0)
    hits = rng.binomial(50, rate, 300).astype(float)
    found = intervals.reach(hits, sizes)
    assert found.up * sizes.sum() < 2.5
    assert found.down * sizes.sum() < 2.5
    value, pairs_ = hits.sum() / sizes.sum(), int(sizes.sum())
    exact = stats.binomtest(int(hits.sum()), pairs_).proportion_ci(method="exact")
    assert ends(rate_interval(hits, sizes)) == pytest.approx((exact.low, exact.high), abs=0.002)
    assert exact.low < value < exact.high


def test_where_successes_are_spread_the_percentiles_decide(rng: np.random.Generator) -> None:
    """Nearly: one more of 400 people moves little."""
    sizes = np.full(400, 10.0)
    hits = rng.binomial(10, 0.5, 400).astype(float)
    low, high = ends(rate_interval(hits, sizes))
    spread = np.std(hits / 10) / np.sqrt(400)
    assert 1.9 < (high - hits.mean() / 10) / spread < 2.3
    assert 1.9 < (hits.mean() / 10 - low) / spread < 2.3


def test_sharing_the_error_among_attackers_widens(rng: np.random.Generator) -> None:
    draws = rng.normal(0.5, 0.05, 20_000)
    equal = intervals.reach(np.repeat([0, 1], 10**6), np.ones(2 * 10**6))
    for tails in (1, 10):
        found = intervals.interval(
            0.5, draws, reach=equal, n=1000, clusters=1000, method="", tails=tails
        )
        z = stats.norm.ppf(1 - 0.025 / tails)
        assert ends(found) == pytest.approx((0.5 - 0.05 * z, 0.5 + 0.05 * z), abs=0.005)


def test_without_a_draw_nothing_is_known() -> None:
    equal = intervals.reach(np.array([1, 0, 0]), np.ones(3))
    found = intervals.interval(
        0.4, np.array([np.nan, np.nan]), reach=equal, n=9, clusters=3, method=""
    )
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

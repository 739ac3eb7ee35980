"""Means, shares and differences over people: small tables, and how often intervals hold."""

from __future__ import annotations

import numpy as np
import pytest

from efface.measure.means import Clusters, difference, mean, share


def clusters(people: list[int] | np.ndarray, count: int = 2000, seed: int = 0) -> Clusters:
    return Clusters.of(np.asarray(people), count, np.random.default_rng(seed))


def test_the_mean_is_over_cases_and_the_interval_over_people() -> None:
    values = np.array([1.0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    each = mean(values, clusters(list(range(12))))
    pairs = mean(values, clusters([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]))
    assert each.value == pairs.value == 0.5
    assert (each.n, each.clusters, pairs.clusters) == (12, 12, 6)
    assert pairs.high - pairs.low > each.high - each.low  # type: ignore[operator]


def test_values_that_are_not_there_count_nowhere() -> None:
    values = np.array([0.2, 0.4, np.nan, 0.6, 0.8, 0.5])
    found = mean(values, clusters([0, 1, 2, 3, 4, 5]))
    assert found.value == pytest.approx(0.5)
    assert (found.n, found.clusters) == (5, 5)


def test_too_few_people_get_no_number() -> None:
    for estimate in (mean, share):
        found = estimate(np.ones(40), clusters([0, 1, 2, 3] * 10))
        assert found.value is None
        assert "4 people" in found.method


def test_no_hits_and_all_hits_leave_room() -> None:
    none, every = (share(np.full(20, v), clusters(list(range(20)))) for v in (0.0, 1.0))
    assert (none.value, none.low) == (0, 0)
    assert 0.1 < (none.high or 0) < 0.2  # 1 - 0.025 ** (1 / 20) = 0.168
    assert 0.8 < (every.low or 0) < 0.9


def test_a_difference_of_two_shares_of_none_is_no_certain_zero() -> None:
    zeros = np.zeros(20)
    found = difference(zeros, zeros, clusters(list(range(20))))
    assert found.value == 0
    assert (found.low or 0) < -0.1
    assert (found.high or 0) > 0.1


def test_a_difference_of_the_same_cases_is_narrower_than_of_others() -> None:
    rng = np.random.default_rng(1)
    before = (rng.random(200) < 0.5).astype(float)
    moved = np.where(rng.random(200) < 0.1, 1.0, before)
    apart = (rng.random(200) < moved.mean()).astype(float)
    who = clusters(np.arange(200))
    alike, other = difference(moved, before, who), difference(apart, before, who)
    assert alike.value == pytest.approx(moved.mean() - before.mean())
    assert alike.high - alike.low < other.high - other.low  # type: ignore[operator]


@pytest.mark.parametrize("people", [8, 30])
def test_intervals_of_means_hold_about_as_often_as_they_say(people: int) -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(300):
        own = rng.normal(0.1, 0.2, people)
        values = (own[:, None] + rng.normal(0, 0.1, (people, 3))).ravel()
        found = mean(values, clusters(np.repeat(np.arange(people), 3), 400, int(rng.integers(1e9))))
        held += (found.low or 0) <= 0.1 <= (found.high or 0)
    assert 0.90 <= held / 300 <= 0.99


def of_two(rng: np.random.Generator, people: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two values of each person, each of which leans on a second person more than on the first;
    some are asked more often, as where the better of two faces is lent."""
    one, own = np.repeat(np.arange(people), 2), rng.normal(0, 1, people)
    steps = rng.permuted(np.tile(np.arange(1, people), (len(one), 1)), axis=1)
    offered = (one[:, None] + steps) % people
    two = offered[:, :2].min(axis=1)
    return own[one] + rng.normal(0, 1.5, people)[two] + rng.normal(0, 1, len(one)), one, two


@pytest.mark.parametrize(("kind", "truth"), [("mean", 0.0), ("share", 0.5)])
def test_who_else_a_value_depends_on_is_drawn_too(kind: str, truth: float) -> None:
    rng = np.random.default_rng(4)
    held = alone = 0
    for _ in range(300):
        values, one, two = of_two(rng)
        values = values if kind == "mean" else (values > 0).astype(float)
        seed, make = int(rng.integers(1e9)), mean if kind == "mean" else share
        plain, both = (
            make(values, Clusters.of(one, 400, np.random.default_rng(seed), second=second))
            for second in (None, two)
        )
        held += (both.low or 0) <= truth <= (both.high or 0)
        alone += (plain.low or 0) <= truth <= (plain.high or 0)
    assert 0.90 <= held / 300 <= 0.99
    assert alone / 300 < 0.88  # and was not covered when only the first was drawn


def test_a_second_person_who_moves_nothing_costs_next_to_nothing() -> None:
    rng = np.random.default_rng(5)
    one = np.repeat(np.arange(200), 2)
    values = rng.normal(0, 1, 200)[one] + rng.normal(0, 1, 400)
    two = (one + rng.integers(1, 50, 400)) % 200
    plain, both = (
        mean(values, Clusters.of(one, 2000, np.random.default_rng(0), second=second))
        for second in (None, two)
    )
    ratio = (both.high - both.low) / (plain.high - plain.low)  # type: ignore[operator]
    assert 0.9 < ratio < 1.15


def test_draws_of_two_people_by_hand() -> None:
    """Three values of people 0-1, 1-2 and 2-0, each pair once: 3, 0 and 0, about their mean of 1
    2, -1 and -1. By person 1, 1 and -2 (R = 6), by pair S = 6: shrunk by the least, the root of a
    half."""
    made = Clusters(
        np.array([0, 1, 2]), np.array([[1.0, 1, 1], [3, 0, 0], [0, 0, 3]]),
        second=np.array([1, 2, 0]),
    )  # fmt: skip
    shrink = np.sqrt(0.5)
    expected = [1.0, 1 + shrink * 3 / 3, 1 - shrink * 6 / 3]
    assert made.draws(np.array([3.0, 0, 0])) == pytest.approx(expected)

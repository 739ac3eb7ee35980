"""Impostor pairs by quota: distinct, in the right numbers, drawn evenly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from slow_pairs import crowd, dyadic

from efface.errors import DataError
from efface.measure import pairs, quotas

Array = NDArray[Any]


class Listed(quotas.Ledger):
    """Remembers the pairs it was given."""

    def take_pairs(self, scores: Array, left: Array, right: Array) -> None:
        drawn.extend(zip(scores.tolist(), left.tolist(), right.tolist(), strict=True))
        super().take_pairs(scores, left, right)


drawn: list[tuple[float, int, int]] = []


def one_hot_scores(person: Array) -> Array:
    """Vectors with which every pair of rows has a score of its own, exactly."""
    n = len(person)
    symmetric = np.arange(n * n, dtype=np.float64).reshape(n, n)
    symmetric = np.triu(symmetric, 1) + np.triu(symmetric, 1).T
    values, axes = np.linalg.eigh(symmetric + n**3 * np.eye(n))
    return np.asarray(axes * np.sqrt(values))


@pytest.mark.parametrize("quota", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("chunk", [1 << 22, 60])
def test_quota_draws_distinct_pairs_in_the_right_numbers(
    quota: int, chunk: int, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    person = rng.permutation(np.repeat(np.arange(6), [1, 2, 5, 3, 1, 4]))
    drawn.clear()
    monkeypatch.setattr(quotas, "Ledger", Listed)
    monkeypatch.setattr(quotas, "_CHUNK", chunk)
    found = quotas.quota_scores(one_hot_scores(person), person, quota, rng, keep=10)
    sizes = np.bincount(person)
    expected = quotas.quota_counts(sizes, quota)
    seen = np.zeros((6, 6), np.int64)
    for _, a, b in drawn:
        seen[a, b] += 1
    assert np.array_equal(seen, np.triu(expected))
    assert all(
        expected[i, j] == min(quota, sizes[i] * sizes[j]) for i in range(6) for j in range(i)
    )
    assert found.total == expected.sum() // 2
    assert len({round(score) for score, _, _ in drawn}) == len(drawn)  # no pair twice


def test_a_quota_larger_than_the_crowd_is_all_pairs(rng: np.random.Generator) -> None:
    person = crowd(rng, 12, 4)
    vectors = dyadic(rng, len(person), 3)
    every = pairs.impostor_scores(vectors, person, keep=40, above=0.0)
    by_quota = quotas.quota_scores(vectors, person, 100, rng, keep=40, above=0.0)
    assert every.tail is not None
    assert by_quota.tail is not None
    for a, b in zip(every.tail.result(), by_quota.tail.result(), strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(every.histogram, by_quota.histogram)
    assert np.array_equal(every.confusions.count, by_quota.confusions.count)


def test_every_cell_is_drawn_equally_often(rng: np.random.Generator) -> None:
    room, quota, times = 7, 3, 7000
    entry, cell = quotas.draw_cells(np.full(times, room), quota, rng)
    assert np.array_equal(np.bincount(entry), np.full(times, quota))
    sets = np.sort(cell.reshape(times, quota), axis=1)
    assert (np.diff(sets, axis=1) > 0).all()
    _, often = np.unique(sets, axis=0, return_counts=True)
    assert len(often) == 35  # each of the 7 over 3 sets ...
    assert np.abs(often - times / 35).max() < 5 * np.sqrt(times / 35)  # ... about as often


def test_a_quota_below_one_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(DataError, match="quota = 0"):
        quotas.quota_scores(np.eye(3), np.arange(3), 0, rng)

"""The all-pairs engine against a naive quadratic reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slow_pairs as slow
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.metrics import roc_curve
from slow_pairs import crowd, dyadic

from efface.measure import pairs, rates, score_grid

Array = NDArray[Any]


CASES = [(seed, people, most, dim, block) for seed, (people, most, dim, block) in enumerate([
    (2, 1, 1, 2048), (3, 5, 2, 3), (12, 6, 3, 7), (25, 3, 5, 1), (9, 9, 8, 16), (30, 4, 4, 2048),
])]  # fmt: skip


@pytest.fixture(params=CASES, ids=lambda c: f"{c[1]}-people-block-{c[4]}")
def scene(request: pytest.FixtureRequest) -> tuple[Array, Array, int]:
    seed, people, most, dim, block = request.param
    rng = np.random.default_rng(seed)
    person = crowd(rng, people, most)
    vectors = dyadic(rng, len(person), dim)
    vectors[rng.integers(0, len(vectors), len(vectors) // 4)] = vectors[0]  # duplicates
    return vectors, person, block


def test_impostors_are_those_of_the_reference(scene: tuple[Array, Array, int]) -> None:
    vectors, person, block = scene
    expected = slow.impostors(slow.all_pairs(vectors, person))
    keep = max(1, len(expected) // 3)
    found = pairs.impostor_scores(vectors, person, keep=keep, above=0.03, block=block)
    assert found.tail is not None
    scores, labels = found.tail.result()
    listed = [(float(s), int(a), int(b)) for s, (a, b) in zip(scores, labels, strict=True)]
    assert found.total == len(expected) == found.tail.seen == found.histogram.sum()
    assert listed == slow.ranked(expected)[:keep]
    confused = zip(*(getattr(found.confusions, f).tolist() for f in ("left", "right", "count")))  # noqa: B905
    assert {(a, b): n for a, b, n in confused} == dict(slow.confusions(expected, 0.03))


def test_histograms_are_those_of_the_reference(scene: tuple[Array, Array, int]) -> None:
    vectors, person, block = scene
    listed = slow.all_pairs(vectors, person)
    counted = (
        pairs.impostor_scores(vectors, person, block=block).histogram,
        pairs.mated_scores(vectors, person, np.array([0.0])).histogram,
    )
    for histogram, expected in zip(
        counted, (slow.impostors(listed), slow.mated(listed)), strict=True
    ):
        bins = [slow.on_grid(p.score) for p in expected]
        assert histogram.tolist() == np.bincount(bins, minlength=len(histogram)).tolist()


def test_mated_are_those_of_the_reference(scene: tuple[Array, Array, int]) -> None:
    vectors, person, _ = scene
    listed = slow.mated(slow.all_pairs(vectors, person))
    ladder = np.unique(np.array([-1.0, 0.0, 0.01, 2.0, *(p.score for p in listed[:5])]))
    found = pairs.mated_scores(vectors, person, ladder)
    for code in range(person.max() + 1):
        own = np.array([p.score for p in listed if p.left == code])
        assert found.pairs[code] == len(own)
        assert found.accepted[code].tolist() == [int((own > t).sum()) for t in ladder]


def test_one_person_with_very_many_images(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    person = np.array([0] * 23 + [1] * 2)
    vectors = dyadic(rng, 25, 4)
    ladder = np.array([-0.1, 0.0, 0.02])
    whole = pairs.mated_scores(vectors, person, ladder)
    monkeypatch.setattr(pairs, "_MATED_CHUNK", 100)
    strips = pairs.mated_scores(vectors, person, ladder)
    assert whole.pairs.tolist() == [23 * 22 // 2, 1]
    for field in ("pairs", "accepted", "histogram"):
        assert np.array_equal(getattr(whole, field), getattr(strips, field))


def test_rows_in_any_order_give_the_same_account(rng: np.random.Generator) -> None:
    person = crowd(rng, 20, 5)
    vectors = dyadic(rng, len(person), 3)
    accounts = []
    for order in (np.arange(len(person)), rng.permutation(len(person))):
        found = pairs.impostor_scores(vectors[order], person[order], keep=50, above=0.0, block=8)
        assert found.tail is not None
        scores, labels = found.tail.result()
        confused = found.confusions
        lists = (scores, labels, found.histogram, confused.left, confused.right, confused.count)
        accounts.append([a.tolist() for a in lists])
    assert accounts[0] == accounts[1]


@pytest.mark.parametrize("block", [1, 2, 3, 5, 64])
def test_the_block_size_does_not_matter(block: int, rng: np.random.Generator) -> None:
    person = crowd(rng, 15, 4)
    vectors = dyadic(rng, len(person), 6)
    one = pairs.impostor_scores(vectors, person, keep=30, above=0.01, block=1000)
    many = pairs.impostor_scores(vectors, person, keep=30, above=0.01, block=block)
    assert one.tail is not None
    assert many.tail is not None
    for a, b in zip(one.tail.result(), many.tail.result(), strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(one.histogram, many.histogram)
    assert np.array_equal(one.confusions.count, many.confusions.count)


def test_progress_ends_with_everything_done(rng: np.random.Generator) -> None:
    said: list[tuple[int, int]] = []
    pairs.impostor_scores(
        dyadic(rng, 10, 2), np.arange(10), block=3, progress=lambda a, b: said.append((a, b))
    )
    assert said == [(i, 10) for i in range(1, 11)]


def test_four_rows_by_hand() -> None:
    vectors = np.array([[1, 0], [0.6, 0.8], [0, 1], [0.8, 0.6]], np.float32)
    person = np.array([0, 0, 1, 1])
    # impostors: (0,2) 0.00, (0,3) 0.80, (1,2) 0.80, (1,3) 0.96; mated: 0.60 and 0.60
    found = pairs.impostor_scores(vectors, person, keep=2, above=0.7)
    assert found.tail is not None
    scores, labels = found.tail.result()
    assert scores == pytest.approx([0.96, 0.8])
    assert labels.tolist() == [[0, 1], [0, 1]]
    assert found.total == 4
    assert found.confusions.count.tolist() == [3]
    mated = pairs.mated_scores(vectors, person, np.array([0.5, 0.7]))
    assert mated.pairs.tolist() == [1, 1]
    assert mated.accepted.tolist() == [[1, 0], [1, 0]]
    far, tar = rates.operating_curve(
        score_grid.at_least(mated.histogram), score_grid.at_least(found.histogram)
    )
    assert rates.equal_error_rate(far, tar) == pytest.approx(0.75)
    # Above 0.6 three of four impostors and no mated pair: nothing under the curve up to there.
    assert rates.partial_auc(far, tar, 0.75) == 0


def test_scores_at_and_a_hair_outside_the_ends_are_counted() -> None:
    hair = np.float32(1) + 8 * np.finfo(np.float32).eps
    scores = np.array([-hair, -1, 1, hair, np.nextafter(np.float32(1), np.float32(0))], np.float32)
    histogram = np.zeros(len(score_grid.grid()), np.int64)
    score_grid.count_on_grid(scores, histogram)
    counted = {round(float(score_grid.grid()[i]), 3): int(n) for i, n in enumerate(histogram) if n}
    assert counted == {-1.0: 2, 1.0: 3}


@pytest.mark.parametrize("dim", [1, 2])
def test_scores_that_are_all_exactly_one_or_minus_one(dim: int) -> None:
    vectors = np.zeros((40, dim), np.float32)
    vectors[:, 0] = np.tile([1, -1], 20)
    person = np.repeat(np.arange(10), 4)
    found = pairs.impostor_scores(vectors, person, keep=1000)
    assert found.tail is not None
    scores, _ = found.tail.result()
    assert found.total == 10 * 9 // 2 * 16
    assert (scores == 1).sum() == (scores == -1).sum() == found.total // 2
    assert (
        found.histogram[np.searchsorted(score_grid.grid(), [-1, 1], side="right") - 1].sum() == 720
    )


@given(arrays(np.float32, st.integers(1, 60), elements=st.floats(-1, 1, width=32)))
def test_a_bin_holds_the_scores_between_its_edges(scores: Array) -> None:
    edges = score_grid.grid()
    histogram = np.zeros(len(edges), np.int64)
    score_grid.count_on_grid(scores, histogram)
    ge = score_grid.at_least(histogram)
    near = 2e-7  # a score within float32 rounding of an edge may fall to either side
    for i in np.unique(np.minimum(np.searchsorted(edges, scores), len(edges) - 1)):
        least = np.count_nonzero(scores >= edges[i] + near)
        most = np.count_nonzero(scores >= edges[i] - near)
        assert least <= ge[i] <= most


def test_the_grid_curve_is_the_roc_of_binned_scores(rng: np.random.Generator) -> None:
    person = crowd(rng, 25, 6)
    vectors = dyadic(rng, len(person), 4)
    listed = slow.all_pairs(vectors, person)
    mated = pairs.mated_scores(vectors, person, np.array([0.0])).histogram
    impostor = pairs.impostor_scores(vectors, person).histogram
    far, tar = rates.operating_curve(score_grid.at_least(mated), score_grid.at_least(impostor))
    floored = [slow.on_grid(p.score) for p in listed]
    same = [p.left == p.right for p in listed]
    fpr, tpr, _ = roc_curve(same, floored, drop_intermediate=False)
    assert np.array_equal(np.unique(np.c_[far, tar], axis=0), np.unique(np.c_[fpr, tpr], axis=0))

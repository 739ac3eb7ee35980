"""The map: right gradient, right perplexity, as faithful as scikit-learn's, inventing nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.manifold import TSNE, trustworthiness
from sklearn.metrics import silhouette_score

from efface.diagnose.embedding_map import (
    calibrate,
    choose_people,
    cosine_distances,
    embedding_map,
    objective,
)
from efface.errors import DataError


def clusters(
    rng: np.random.Generator, people: int = 8, images: int = 12, noise: float = 0.5
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    person = np.repeat(np.arange(people), images)
    centres = rng.standard_normal((people, 24))
    return centres[person] + noise * rng.standard_normal((len(person), 24)), person


def points(*args: Any, **options: Any) -> NDArray[np.float64]:
    return np.stack(embedding_map(*args, **options), axis=1)


def perplexities(p: NDArray[np.float64]) -> NDArray[np.float64]:
    logs = np.log(p, where=p > 0, out=np.zeros_like(p))
    return np.exp(-(p * logs).sum(axis=1))


def test_the_gradient_is_the_slope_of_the_objective(rng: np.random.Generator) -> None:
    x, _ = clusters(rng, people=3, images=4)
    conditional = calibrate(cosine_distances(x), 3.0)
    joint = (conditional + conditional.T) / (2 * len(x))
    y = rng.standard_normal((len(x), 2))
    slope, step = np.empty_like(y), 1e-6
    for i in np.ndindex(*y.shape):
        up, down = y.copy(), y.copy()
        up[i] += step
        down[i] -= step
        slope[i] = (objective(joint, up)[0] - objective(joint, down)[0]) / (2 * step)
    assert np.abs(slope).max() > 1e-3
    np.testing.assert_allclose(objective(joint, y)[1], slope, atol=1e-8)


def test_the_objective_is_the_divergence_written_out(rng: np.random.Generator) -> None:
    x, _ = clusters(rng, people=2, images=3)
    conditional = calibrate(cosine_distances(x), 2.0)
    joint = (conditional + conditional.T) / (2 * len(x))
    y = rng.standard_normal((6, 2))
    near = [[1 / (1 + ((y[i] - y[j]) ** 2).sum()) if i != j else 0 for j in range(6)]
            for i in range(6)]  # fmt: skip
    total = sum(map(sum, near))
    terms = [joint[i, j] * np.log(joint[i, j] * total / near[i][j])
             for i in range(6) for j in range(6) if i != j]  # fmt: skip
    assert joint.sum() == pytest.approx(1.0)
    assert objective(joint, y)[0] == pytest.approx(sum(terms))


@pytest.mark.parametrize("wanted", [1.5, 5.0, 30.0, 80.0])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_every_row_has_the_perplexity_asked_for(
    wanted: float, scale: float, rng: np.random.Generator
) -> None:
    x, _ = clusters(rng)
    p = calibrate(scale * cosine_distances(x), wanted)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(np.diag(p), 0.0)
    np.testing.assert_allclose(perplexities(p), wanted, rtol=1e-6)


def test_an_outlier_far_from_all_gets_its_perplexity_too(rng: np.random.Generator) -> None:
    distance = cosine_distances(clusters(rng)[0])
    distance[0, 1:] += 1e5
    distance[1:, 0] += 1e5
    np.testing.assert_allclose(perplexities(calibrate(distance, 10.0)), 10.0, rtol=1e-5)


def test_as_trustworthy_as_scikit_learn_and_as_low_in_the_objective(
    rng: np.random.Generator,
) -> None:
    x, person = clusters(rng, people=10, images=14, noise=0.9)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    ours = points(x, person, rng)
    theirs = TSNE(perplexity=30, random_state=0).fit_transform(unit).astype(np.float64)
    conditional = calibrate(cosine_distances(x), 30.0)
    joint = (conditional + conditional.T) / (2 * len(x))

    def trust(y: NDArray[np.float64]) -> float:
        return float(trustworthiness(x, y, n_neighbors=10, metric="cosine"))

    assert trust(theirs) > 0.9
    assert trust(ours) >= trust(theirs) - 0.01
    assert objective(joint, ours)[0] <= 1.05 * objective(joint, theirs)[0]


def test_separate_people_stay_separate(rng: np.random.Generator) -> None:
    x, person = clusters(rng, noise=0.25)
    y = points(x, person, rng)
    gaps = np.linalg.norm(y[:, None] - y[None], axis=2)
    np.fill_diagonal(gaps, np.inf)
    np.testing.assert_array_equal(person[gaps.argmin(axis=1)], person)
    assert silhouette_score(y, person) > 0.6


def test_no_people_appear_in_a_cloud_that_holds_none(rng: np.random.Generator) -> None:
    x = rng.standard_normal((150, 24))
    person = rng.permutation(np.repeat(np.arange(10), 15))
    y = points(x, person, rng)
    assert silhouette_score(y, person) < 0.02
    np.testing.assert_allclose(y.mean(axis=0), 0.0, atol=1e-9)


def test_the_map_does_not_know_who_is_who(rng: np.random.Generator) -> None:
    x, person = clusters(rng, people=4, images=6)
    same = points(x, person, np.random.default_rng(0))
    other = points(x, np.zeros_like(person), np.random.default_rng(0))
    np.testing.assert_array_equal(same, other)


def test_one_seed_one_map_and_length_and_sign_of_the_input_do_not_matter(
    rng: np.random.Generator,
) -> None:
    x, person = clusters(rng, people=4, images=6)
    first = points(x, person, np.random.default_rng(3))
    np.testing.assert_array_equal(first, points(x, person, np.random.default_rng(3)))
    lengths = 2.0 ** rng.integers(-3, 4, len(x))[:, None]  # powers of two: no rounding
    np.testing.assert_allclose(points(x * lengths, person, np.random.default_rng(3), steps=1),
                               points(x, person, np.random.default_rng(3), steps=1))  # fmt: skip
    np.testing.assert_allclose(points(-x, person, np.random.default_rng(3), steps=1),
                               points(x, person, np.random.default_rng(3), steps=1))  # fmt: skip


@pytest.mark.parametrize("n", [4, 7, 30])
def test_equal_rows_and_small_sets_have_a_map(n: int, rng: np.random.Generator) -> None:
    x = np.zeros((n, 5), np.float32)
    x[:, 2] = 1
    y = points(x, np.zeros(n, int), rng)
    assert np.isfinite(y).all()
    assert len(np.unique(y, axis=0)) == n  # noise parts what nothing else would
    x = rng.standard_normal((n, 1)).astype(np.float16)
    assert np.isfinite(points(x, np.zeros(n, int), rng)).all()


def test_the_start_is_the_principal_plane_with_its_largest_values_positive() -> None:
    """A library's choice of sign must not mirror the map of another machine."""
    for seed in range(6):
        x, person = clusters(np.random.default_rng(seed), people=4, images=6)
        y = points(x, person, np.random.default_rng(0), steps=0)
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        axes = np.linalg.svd(unit - unit.mean(axis=0))[2][:2]
        expected = (unit - unit.mean(axis=0)) @ axes.T
        for found, wanted in zip(y.T, expected.T, strict=True):
            assert abs(np.corrcoef(found, wanted)[0, 1]) > 0.99
            assert found[np.abs(found).argmax()] > 0


def test_refusals(rng: np.random.Generator) -> None:
    x, person = clusters(rng)
    with pytest.raises(DataError, match="got 3 and 3"):
        embedding_map(x[:3], person[:3], rng)
    with pytest.raises(DataError, match="choose rows with choose_people"):
        embedding_map(np.ones((1001, 2)), np.zeros(1001, int), rng)
    with pytest.raises(DataError, match="got 96 and 95"):
        embedding_map(x, person[1:], rng)
    with pytest.raises(DataError, match="perplexity 96 must lie between 1 and 95"):
        embedding_map(x, person, rng, perplexity=96)
    x[17] = 0
    with pytest.raises(DataError, match="vector 17 is zero or not finite"):
        embedding_map(x, person, rng)


# --- who is on the map ----------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=200),
    st.integers(1, 8),
    st.integers(1, 6),
    st.integers(0, 2**32 - 1),
)
def test_chosen_rows_are_whole_people_relabelled(
    codes: list[int], people: int, images: int, seed: int
) -> None:
    identity = 100 + 3 * np.array(codes)
    rows, person = choose_people(identity, np.random.default_rng(seed), people, images)
    again = choose_people(identity, np.random.default_rng(seed), people, images)
    np.testing.assert_array_equal(rows, again[0])
    assert (np.diff(rows) > 0).all()
    assert len({*zip(identity[rows].tolist(), person.tolist(), strict=True)}) == person.max() + 1
    assert sorted(set(person.tolist())) == list(range(min(people, len(set(codes)))))
    taken = np.bincount(person)
    have = [int((identity == identity[rows[person == p][0]]).sum()) for p in range(len(taken))]
    assert taken.tolist() == [min(images, h) for h in have]
    counts = np.sort(np.minimum(np.unique(identity, return_counts=True)[1], images))[::-1]
    assert taken.sum() == counts[: len(taken)].sum()  # the fullest, so far as the map has room


def test_other_seeds_choose_other_people_and_labels_follow_no_order() -> None:
    identity = np.repeat(np.arange(50), 4)
    chosen = [choose_people(identity, np.random.default_rng(s), 5, 3) for s in range(20)]
    assert len({tuple(np.unique(identity[rows])) for rows, _ in chosen}) > 15
    firsts = [identity[rows][np.argsort(person, kind="stable")][::3] for rows, person in chosen]
    assert any((np.diff(order) < 0).any() for order in firsts)


def test_nobody_to_choose_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(DataError, match="one person and one image"):
        choose_people(np.array([], np.int64), rng)
    with pytest.raises(DataError, match="one person and one image"):
        choose_people(np.array([0, 1]), rng, people=0)

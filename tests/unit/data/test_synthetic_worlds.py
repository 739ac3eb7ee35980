"""The worlds are what they claim to be: every claimed truth is measured here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from efface.data.splits import split
from efface.data.synthetic import (
    copies_world,
    embedding_world,
    product_world,
    second_dataset,
    utility_world,
)
from efface.errors import DataError
from efface.types import Samples


def means(samples: Samples) -> np.ndarray:
    """Class means, one row per identity."""
    return np.stack([samples.data[samples.identity == c].mean(axis=0) for c in samples.people])


def tar(vectors: np.ndarray, who: np.ndarray, far: float = 1e-3) -> float:
    """TAR of raw cosine by brute force over all pairs."""
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    first, second = np.triu_indices(len(vectors), 1)
    scores = (vectors @ vectors.T)[first, second]
    mated = who[first] == who[second]
    return float((scores[mated] > np.quantile(scores[~mated], 1 - far)).mean())


def without(vectors: np.ndarray, basis: np.ndarray) -> np.ndarray:
    return vectors - vectors @ basis @ basis.T


# --- the embedding world --------------------------------------------------------------------


def test_bases_are_orthonormal_and_apart() -> None:
    world = embedding_world()
    together = np.column_stack(
        [world.identity_basis, world.context_basis, world.attribute_direction]
    )
    np.testing.assert_allclose(together.T @ together, np.eye(24 + 16 + 1), atol=1e-12)
    np.testing.assert_allclose(world.mean @ together, 0, atol=1e-12)
    assert 0 < np.linalg.norm(world.mean) < 0.5


def test_identity_and_attribute_are_all_that_differs_between_people() -> None:
    """Without noise and context, class means span exactly U and w."""
    world = embedding_world(people=100, noise=0.0, context=0.0, rank=7, context_rank=4)
    centred = means(world.samples) - means(world.samples).mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False)
    # Unit length adds a component along the common mean: one direction more, no other.
    assert (values > 1e-3 * values[0]).sum() == 7 + 1 + 1
    known = np.column_stack([world.identity_basis, world.attribute_direction, world.mean])
    q = np.linalg.qr(known)[0]
    assert np.abs(without(world.samples.data, q)).max() < 1e-6


def test_between_class_scatter_finds_the_identity_basis() -> None:
    world = embedding_world(people=400, images=20)
    centred = means(world.samples) - means(world.samples).mean(axis=0)
    found = np.linalg.svd(centred, full_matrices=False)[2][: 24 + 1].T
    truth = np.column_stack([world.identity_basis, world.attribute_direction])
    cosines = np.cos(subspace_angles(found, truth))
    assert cosines.min() > 0.95
    random = np.linalg.qr(np.random.default_rng(0).standard_normal((128, 25)))[0]
    assert np.cos(subspace_angles(random, truth)).min() < 0.3


def test_raw_cosine_leaks_part_remains_after_part_and_nothing_after_all() -> None:
    world = embedding_world()
    data, who = world.samples.data, world.samples.identity
    assert tar(data, who) > 0.8
    assert 0.1 < tar(without(data, world.identity_basis[:, :8]), who) < 0.7
    gone = without(data, world.identity_basis)
    assert tar(gone, who) < 0.01  # the attribute alone does not tell people apart at this FAR


@pytest.mark.parametrize("strength", [0.3, 0.6, 1.0, 1.5])
def test_strength_is_the_share_of_identity(strength: float) -> None:
    world = embedding_world(strength=strength)
    inside = (world.samples.data @ world.identity_basis) ** 2
    noise = 0.25 * 24 / 128
    share = (strength**2 + noise) / (strength**2 + 0.36 + 0.25 + 0.25 + 0.04)
    assert inside.sum(axis=1).mean() == pytest.approx(share, rel=0.1)


def test_the_attribute_is_one_per_person_and_lies_along_its_direction() -> None:
    world = embedding_world()
    gender = world.samples.attributes["gender"]
    for code in world.samples.people:
        assert len(set(gender[world.samples.identity == code])) == 1
    along = world.samples.data @ world.attribute_direction
    assert ((along > 0) == (gender == 1)).mean() > 0.99
    across = np.delete(world.samples.data @ world.context_basis, 0, axis=1)
    assert np.abs(across[gender == 1].mean(axis=0) - across[gender == 0].mean(axis=0)).max() < 0.06


def test_scenes_are_shared_by_people() -> None:
    world = embedding_world()
    scene = world.samples.attributes["context"]
    assert len(np.unique(scene)) == 20
    inside = world.samples.data @ world.context_basis
    centres = np.stack([inside[scene == k].mean(axis=0) for k in range(20)])
    distance = ((inside[:, None] - centres[None]) ** 2).sum(axis=2)
    assert (distance.argmin(axis=1) == scene).mean() > 0.95


def test_worlds_are_seeded() -> None:
    assert embedding_world(seed=4).samples.digest() == embedding_world(seed=4).samples.digest()
    assert embedding_world(seed=4).samples.digest() != embedding_world(seed=5).samples.digest()
    np.random.seed(0)  # noqa: NPY002
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    embedding_world()
    product_world()
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


def test_a_world_can_be_split() -> None:
    assert split(embedding_world(people=20).samples).counts()["test"] == [4, 40]


# --- a second dataset -----------------------------------------------------------------------


@pytest.mark.parametrize(("shared", "common"), [(0.0, 0), (0.3, 7), (0.7, 17), (1.0, 24)])
def test_exactly_the_shared_directions_are_shared(shared: float, common: int) -> None:
    world = embedding_world()
    other = second_dataset(world, shared=shared)
    cosines = np.cos(subspace_angles(world.identity_basis, other.identity_basis))
    cosines = np.sort(cosines)[::-1]
    np.testing.assert_allclose(cosines[:common], 1, atol=1e-9)
    np.testing.assert_allclose(cosines[common:], 0, atol=1e-6)
    together = np.column_stack(
        [other.identity_basis, other.context_basis, other.attribute_direction]
    )
    np.testing.assert_allclose(together.T @ together, np.eye(together.shape[1]), atol=1e-9)
    np.testing.assert_array_equal(other.attribute_direction, world.attribute_direction)
    assert abs(world.mean @ other.mean) < 0.5 * np.linalg.norm(world.mean) * np.linalg.norm(
        other.mean
    )


def test_erasing_the_first_dataset_helps_the_second_in_part() -> None:
    world = embedding_world()
    second = second_dataset(world)
    data, who = second.samples.data, second.samples.identity
    raw = tar(data, who)
    crossed = tar(without(data, world.identity_basis), who)
    own = tar(without(data, second.identity_basis), who)
    assert raw > 0.7
    assert own < 0.02
    assert 10 * own < crossed < raw / 4


def test_the_second_dataset_has_its_own_people() -> None:
    world = embedding_world(people=30)
    other = second_dataset(world, people=50)
    assert len(other.samples.people) == 50
    assert other.params["people"] == 50
    assert second_dataset(world).params["people"] == 30


# --- things that are no faces ---------------------------------------------------------------


def nearest_neighbour(samples: Samples, data: np.ndarray) -> float:
    data = data / np.linalg.norm(data, axis=1, keepdims=True)
    scores = data @ data.T
    np.fill_diagonal(scores, -2)
    return float((samples.identity[scores.argmax(axis=1)] == samples.identity).mean())


@pytest.mark.parametrize("overlap", [0.0, 0.1, 0.5, 1.0])
def test_overlap_is_the_share_of_class_energy_inside_the_identity_subspace(overlap: float) -> None:
    world = embedding_world()
    made = utility_world(world, overlap=overlap, per_class=2000, noise=0.5, seed=3)
    centred = means(made) - means(made).mean(axis=0)
    inside = ((centred @ world.identity_basis) ** 2).sum() / (centred**2).sum()
    assert inside == pytest.approx(overlap, abs=0.06)


def test_classes_survive_the_erasure_of_identity_and_not_that_of_their_own_space() -> None:
    world = embedding_world()
    made = utility_world(world)
    assert len(made) == 600
    raw = nearest_neighbour(made, made.data)
    assert 0.6 < raw < 0.999
    kept = nearest_neighbour(made, without(made.data, world.identity_basis))
    assert kept > 0.85 * raw
    inside = utility_world(world, overlap=1.0)
    assert nearest_neighbour(inside, inside.data) > 0.6
    assert nearest_neighbour(inside, without(inside.data, world.identity_basis)) < 0.2


def test_copies_find_their_original_the_less_the_more_is_edited() -> None:
    made = copies_world(embedding_world(), edits=3)
    edit = made.attributes["edit"]
    assert sorted(set(edit)) == ["edit-1", "edit-2", "edit-3", "original"]
    assert len(made) == 800
    first = made.take(np.flatnonzero(edit == "original"))
    assert sorted(first.identity) == list(range(200))
    recall = []
    cosine = []
    for level in ("edit-1", "edit-2", "edit-3"):
        copies = made.take(np.flatnonzero(edit == level))
        scores = copies.data @ first.data.T
        recall.append((first.identity[scores.argmax(axis=1)] == copies.identity).mean())
        cosine.append(scores[np.arange(200), copies.identity].mean())
    assert cosine[0] > cosine[1] + 0.05 > cosine[2] + 0.1
    assert recall[0] > 0.95
    assert 0.3 < recall[2] < recall[0]


# --- a leak that no linear attacker sees ----------------------------------------------------


def ridge_accuracy(features: np.ndarray, who: np.ndarray, train: np.ndarray) -> float:
    """Ridge against centred indicators of the people, tested on their other images."""
    targets = np.eye(who.max() + 1)[who]
    x = features - features[train].mean(axis=0)
    y = targets - targets[train].mean(axis=0)
    gram = x[train].T @ x[train] + 1e-3 * np.eye(x.shape[1])
    scores = x @ np.linalg.solve(gram, x[train].T @ y[train])
    return float((scores.argmax(axis=1) == who)[~train].mean())


def test_products_reveal_what_no_linear_classifier_sees() -> None:
    world = product_world(people=64, images=60)
    who = world.samples.identity
    train = np.arange(len(who)) % 2 == 0
    linear = ridge_accuracy(world.samples.data, who, train)
    parts = world.samples.data @ world.basis
    products = parts[:, :8] * parts[:, 8:]
    assert ridge_accuracy(products, who, train) > 0.7
    chance, tested = 1 / 64, (~train).sum()
    assert linear < chance + 4 * np.sqrt(chance / tested)


def test_class_means_are_zero_in_expectation() -> None:
    world = product_world(people=50, images=400)
    found = (means(world.samples) ** 2).sum(axis=1)
    # 400 independent unit rows: squared length of the mean 1/400, of 50 such means +- 20 %
    assert found.mean() == pytest.approx(1 / 400, rel=0.2)
    moved = embedding_world(people=50, images=40, dim=64)
    assert (means(moved.samples) ** 2).sum(axis=1).mean() > 50 / 400


def test_cosine_between_images_tells_nothing() -> None:
    world = product_world()
    assert tar(world.samples.data, world.samples.identity) < 0.02


def test_the_codes_are_the_signs_of_the_products() -> None:
    world = product_world(people=256, images=30)
    assert len({tuple(code) for code in world.codes.tolist()}) == 256
    assert set(np.unique(world.codes)) == {-1, 1}
    parts = world.samples.data @ world.basis
    products = parts[:, :8] * parts[:, 8:]
    read = np.stack([products[world.samples.identity == c].mean(axis=0) for c in range(256)])
    np.testing.assert_array_equal(np.sign(read), world.codes)
    np.testing.assert_allclose(world.basis.T @ world.basis, np.eye(16), atol=1e-12)


# --- worlds that cannot be ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: embedding_world(people=1), "people=1 .* at least 2"),
        (lambda: embedding_world(images=0), "images=0"),
        (lambda: embedding_world(dim=41), "42 orthogonal directions do not fit into 41"),
        (lambda: second_dataset(embedding_world(dim=48), shared=0.0), "do not fit into 48"),
        (lambda: second_dataset(embedding_world(), shared=1.2), "between 0 and 1"),
        (lambda: utility_world(embedding_world(), classes=1), "classes=1"),
        (lambda: utility_world(embedding_world(), overlap=-0.1), "between 0 and 1"),
        (lambda: copies_world(embedding_world(), edits=0), "edits=0"),
        (lambda: product_world(people=257), "257 people need different codes: 8 bits give 256"),
        (lambda: product_world(bits=33), "66 orthogonal directions do not fit into 64"),
    ],
)
def test_impossible_worlds_say_why(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        make()

"""P7: the three cases in which the public LEACE package goes wrong, and one where it is right.

Ours is always tested; the package's half is skipped where it is not installed.
"""

from __future__ import annotations

from typing import Any

import erasers_reference as ref
import numpy as np
import pytest

from efface import ISP, LEACE, SAL
from efface.errors import EraserError
from efface.protect.linear.eraser import LinearEraser

Array = Any


@pytest.fixture
def peer() -> Any:
    pytest.importorskip("torch", reason="the public package needs torch")
    return pytest.importorskip("concept_erasure", reason="the public package is not installed")


def tensor(array: Array) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(array))


def taken(eraser: LinearEraser) -> Array:
    return eraser.basis @ (eraser.basis if eraser.dual is None else eraser.dual).T


def peer_taken(eraser: Any) -> Array:
    return (eraser.proj_left @ eraser.proj_right).numpy().astype(float)


def between_energy(x: Array, identity: Array) -> float:
    found = ref.means(x, identity)
    return float(np.sum((found - found.mean(axis=0)) ** 2))


# --- where it is right: few people, float64, one-hot floats -----------------------------------


def test_with_few_people_both_are_the_same_map(rng: np.random.Generator, peer: Any) -> None:
    x, identity = ref.uneven_world(rng)
    fitter = peer.LeaceFitter(64, 24, dtype=tensor(x).dtype, shrinkage=False, svd_tol=1e-8)
    theirs = fitter.update(tensor(x), tensor(ref.one_hot(identity))).eraser
    ours = LEACE().fit(x, identity).eraser_
    assert np.allclose(taken(ours), peer_taken(theirs), atol=1e-8)
    assert np.allclose(ours.project(x), theirs(tensor(x)).numpy(), atol=1e-8)


# --- twelve thousand people -------------------------------------------------------------------

PEOPLE, DIM, RANK = 12_000, 64, 8


@pytest.fixture(scope="module")
def crowd() -> tuple[Array, Array, Array]:
    """Two images each of 12,000 people who differ in 8 of 64 directions; the truth comes along."""
    rng = np.random.default_rng(12)
    truth = ref.rotation(rng, DIM)[:, :RANK]
    identity = np.repeat(np.arange(PEOPLE), 2)
    who = rng.standard_normal((PEOPLE, RANK)) @ truth.T
    x = ref.unit(who[identity] + 0.2 * rng.standard_normal((2 * PEOPLE, DIM)))
    order = rng.permutation(len(x))
    return x[order].astype("f4"), identity[order], truth


@pytest.mark.slow
def test_the_package_erases_nothing_of_a_crowd(crowd: Any, peer: Any) -> None:
    import torch

    x, identity, _ = crowd
    fitter = peer.LeaceFitter(DIM, PEOPLE, dtype=torch.float32)
    for start in range(0, len(x), 1000):
        rows = slice(start, start + 1000)
        one_hot = torch.zeros(len(x[rows]), PEOPLE)
        one_hot[torch.arange(len(one_hot)), tensor(identity[rows])] = 1.0
        fitter.update(tensor(x[rows]), one_hot)
    assert np.linalg.matrix_rank(peer_taken(fitter.eraser)) == 0


@pytest.mark.parametrize("method", [LEACE, ISP, SAL])
def test_a_crowd_fills_the_space_and_is_not_erased_whole(crowd: Any, method: Any) -> None:
    x, identity, _ = crowd
    with pytest.raises(EraserError, match=r"12000 identities in 64 dimensions.*everything"):
        method().fit(x, identity)


@pytest.mark.parametrize("method", [LEACE, ISP, SAL])
def test_of_a_crowd_as_much_is_erased_as_there_is(crowd: Any, method: Any) -> None:
    x, identity, truth = crowd
    eraser = method(rank=RANK).fit(x, identity).eraser_
    assert eraser.rank == RANK
    before = between_energy(x, identity)
    left = eraser.project(x.astype(float))
    # What stays between the means is the noise of two images, which no rank-8 map can know.
    floor = before - np.sum(
        np.linalg.svd(ref.means(x.astype(float), identity), compute_uv=False)[:RANK] ** 2
    )
    assert before > 5 * floor
    assert between_energy(left, identity) < 1.02 * floor
    # And the true directions are the ones that went.
    assert between_energy(x @ truth, identity) > 0.8 * before
    assert between_energy(left @ truth, identity) < 1e-3 * before


@pytest.mark.parametrize("method", [ISP, SAL])
def test_coverage_finds_the_rank_of_a_crowd(crowd: Any, method: Any) -> None:
    """Not LEACE: in the whitened metric two images of each make noise look like people."""
    x, identity, _ = crowd
    assert 4 <= method(rank="auto", coverage=0.8).fit(x, identity).eraser_.rank <= RANK


# --- unit vectors -----------------------------------------------------------------------------


@pytest.fixture
def unit_vectors(rng: np.random.Generator) -> tuple[Array, Array]:
    identity = np.repeat(np.arange(120), 8)
    who = rng.standard_normal((120, 256)) * np.geomspace(1, 0.1, 256)
    noise = rng.standard_normal((len(identity), 256))
    return ref.unit(who[identity] + 0.3 * noise).astype("f4"), identity


def test_the_packages_orthogonal_method_stops_short_on_unit_vectors(
    unit_vectors: Any, peer: Any
) -> None:
    x, identity = unit_vectors
    one_hot = ref.one_hot(identity).astype("f4")
    theirs = peer.LeaceFitter.fit(tensor(x), tensor(one_hot), method="orth").eraser
    assert np.linalg.matrix_rank(peer_taken(theirs), tol=1e-4) < 119 / 3
    left = theirs(tensor(x)).numpy()
    assert ref.spread_of_means(left, identity) > 0.2 * ref.spread_of_means(x, identity)


@pytest.mark.parametrize(("asked", "removed"), [(None, 119), (40, 40)])
@pytest.mark.parametrize("method", [SAL, ISP, LEACE])
def test_on_unit_vectors_ours_removes_what_was_asked(
    unit_vectors: Any, method: Any, asked: int | None, removed: int
) -> None:
    x, identity = unit_vectors
    eraser = method(rank=asked).fit(x, identity).eraser_
    assert eraser.rank == removed
    left = eraser.project(x.astype(float))
    if asked is None:
        assert ref.spread_of_means(left, identity) < 1e-6 * ref.spread_of_means(x, identity)
    else:
        assert between_energy(left, identity) < 0.5 * between_energy(x, identity)


# --- integer labels ---------------------------------------------------------------------------


def test_the_package_reads_integer_labels_as_one_number(
    rng: np.random.Generator, peer: Any
) -> None:
    x, identity = ref.uneven_world(rng)
    theirs = peer.LeaceFitter.fit(tensor(x), tensor(identity)).eraser
    assert np.linalg.matrix_rank(peer_taken(theirs), tol=1e-6) == 1
    left = theirs(tensor(x)).numpy()
    assert ref.spread_of_means(left, identity) > 0.9 * ref.spread_of_means(x, identity)


def test_ours_reads_integer_labels_as_people(rng: np.random.Generator) -> None:
    x, identity = ref.uneven_world(rng)
    named = np.array([f"person {i}" for i in identity])
    one, two = (LEACE().fit(x, labels).eraser_ for labels in (identity, named))
    assert one.rank == two.rank == 23
    assert np.allclose(taken(one), taken(two), atol=1e-10)
    left = one.project(x)
    assert ref.spread_of_means(left, identity) < 1e-10 * ref.spread_of_means(x, identity)

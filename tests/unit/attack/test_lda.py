"""Within-class whitening: identities of the algebra, and the subspace of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from attack_worlds import Array, blobs, played, quiet, thirds, trained
from scipy import linalg
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from efface.attack.verify.cosine import Cosine
from efface.attack.verify.lda import LDA, Weighing
from efface.types import Release, Samples


def scatter(shadow: Samples) -> tuple[Array, Array, Array]:
    """Within-person covariance, class means about the grand mean, 1 / images; by loops."""
    x = shadow.data.astype(np.float64) - shadow.data.astype(np.float64).mean(axis=0)
    within = np.zeros((shadow.dim, shadow.dim))
    means = []
    for code in shadow.people:
        own = x[shadow.identity == code]
        means.append(own.mean(axis=0))
        for row in own:
            within += np.outer(row - means[-1], row - means[-1])
    within /= len(x) - len(means)
    return within, np.array(means), 1 / np.unique(shadow.identity, return_counts=True)[1]


def weights(shadow: Samples, shrinkage: float, weighing: Weighing) -> Array:
    state = trained(LDA(), shadow).state_  # type: ignore[attr-defined]
    return np.asarray(state.weights(shrinkage, weighing))


@pytest.fixture
def shadow() -> Samples:
    return blobs(40, 6, 12, spread=0.7)


@pytest.mark.parametrize("shrinkage", [0.0, 1e-3, 0.1, 1.0])
def test_whitening_makes_people_round(shadow: Samples, shrinkage: float) -> None:
    within, _, _ = scatter(shadow)
    v = weights(shadow, shrinkage, "whiten")
    target = within + shrinkage * np.trace(within) / shadow.dim * np.eye(shadow.dim)
    assert v.T @ target @ v == pytest.approx(np.eye(shadow.dim), abs=1e-9)


@pytest.mark.parametrize("shrinkage", [1e-3, 0.3])
def test_plda_weighs_each_direction_by_what_people_differ_in(
    shadow: Samples, shrinkage: float
) -> None:
    within, means, share = scatter(shadow)
    target = within + shrinkage * np.trace(within) / shadow.dim * np.eye(shadow.dim)
    between = means.T @ means / (len(means) - 1)
    lengths, axes = linalg.eigh(between, target)  # axes' target axes = I
    gain = np.maximum(lengths - share.mean(), 1e-12)
    expected = axes * np.sqrt(gain / (1 + gain))
    found = weights(shadow, shrinkage, "plda")
    assert found @ found.T == pytest.approx(expected @ expected.T, abs=1e-8)


def test_fewer_people_than_dimensions_span_no_more_directions() -> None:
    shadow = blobs(5, 6, 20)
    assert weights(shadow, 0.1, "plda").shape == (20, 5)
    assert np.linalg.matrix_rank(weights(shadow, 0.1, "plda"), tol=1e-4) <= 4
    assert weights(shadow, 0.1, "whiten").shape == (20, 20)


def test_the_subspace_is_that_of_scikit_learn() -> None:
    shadow = blobs(6, 40, 12, spread=0.5)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(
        shadow.data.astype(np.float64), shadow.identity
    )
    state = trained(LDA(), shadow).state_  # type: ignore[attr-defined]
    ours = linalg.svd(state.weights(0.0, "plda"), full_matrices=False)[0][:, :5]
    assert np.cos(linalg.subspace_angles(ours, theirs.scalings_[:, :5])) == pytest.approx(1.0)


def test_strong_shrinkage_is_the_plain_cosine_about_the_mean(shadow: Samples) -> None:
    data = blobs(5, 4, 12, seed=8).data
    far = trained(LDA(shrinkage=1e9, weighing="whiten"), shadow).run(Release(data)).vectors
    centred = data.astype(np.float64) - shadow.data.astype(np.float64).mean(axis=0)
    plain = Cosine().run(Release(centred)).vectors
    assert far @ far.T == pytest.approx(plain @ plain.T, abs=1e-6)


def test_options_share_what_was_learnt(shadow: Samples) -> None:
    attack = trained(LDA(), shadow)
    options = attack.options()
    assert len(options) == 2 * len(LDA().shrinkages)
    assert len({str(o.settings()) for o in options}) == len(options)
    assert all(o.state_ is attack.state_ for o in options)  # type: ignore[attr-defined]
    assert options[3].options() == (options[3],)


def test_people_of_one_image_each_do_not_break_it() -> None:
    single = blobs(10, 1, 6)
    for option in trained(LDA(), single).options():
        assert np.isfinite(option.run(Release(single.data)).vectors).all()


def test_it_reads_a_leak_under_noise_that_cosine_cannot() -> None:
    made = blobs(150, 8, 24, spread=0.5)
    loud = made.data.astype(np.float64)
    loud[:, :6] += 3 * np.random.default_rng(0).standard_normal((len(made), 6))
    parts = thirds(made.replace(loud / np.linalg.norm(loud, axis=1, keepdims=True)))
    blind, _ = played(Cosine(), parts)
    seeing, _ = played(LDA(), parts)
    assert seeing > 2 * blind


def test_it_reads_what_an_eraser_left_in_quiet_directions() -> None:
    """With the five shrinkages it once had, the quiet directions never came through."""
    parts = thirds(quiet(3e-3))
    coarse, _ = played(LDA(**LDA.paper_params), parts)
    assert coarse < 0.3
    assert played(LDA(), parts)[0] > 0.9


def test_not_fitted_says_so() -> None:
    with pytest.raises(RuntimeError, match="fit the attack"):
        LDA().run(Release(np.eye(3)))

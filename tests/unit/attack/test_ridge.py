"""Ridge against the equation solved as it stands, and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model
from attack_worlds import Array, blobs, indicators, played, quiet, scores, thirds, trained
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.attack.verify.cosine import Cosine
from efface.attack.verify.ridge import Ridge, _dual, _primal
from efface.types import Release, Samples

SHAPES = {
    "more rows than dimensions": (8, 12, 20),
    "fewer rows": (6, 4, 40),
    "many people": (30, 4, 9),
}


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def shadow(request: pytest.FixtureRequest) -> Samples:
    people, images, dim = request.param
    return blobs(people, images, dim)


def solved(shadow: Samples, alpha: float) -> Array:
    """(X'X + aI)^-1 X'Y, written out."""
    x = shadow.data.astype(np.float64) - shadow.data.astype(np.float64).mean(axis=0)
    system = x.T @ x + alpha * np.eye(x.shape[1])
    return np.asarray(np.linalg.solve(system, x.T @ indicators(shadow.identity)))


def claimed(shadow: Samples, alpha: float, data: Array) -> Array:
    vectors = trained(Ridge(alpha=alpha), shadow).run(Release(data)).vectors
    return np.asarray(vectors @ vectors.T)


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1.0, 100.0])
def test_pairs_score_as_under_the_closed_form(shadow: Samples, alpha: float) -> None:
    test = blobs(5, 4, shadow.dim, seed=9).data
    centred = test.astype(np.float64) - shadow.data.astype(np.float64).mean(axis=0)
    expected = scores(centred @ solved(shadow, alpha))
    assert claimed(shadow, alpha, test) == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("alpha", [1e-2, 1.0])
def test_pairs_score_as_with_scikit_learn(shadow: Samples, alpha: float) -> None:
    theirs = sklearn.linear_model.Ridge(alpha=alpha, solver="svd")
    hot = (shadow.identity[:, None] == shadow.people).astype(np.float64)
    theirs.fit(shadow.data.astype(np.float64), hot)
    test = blobs(5, 4, shadow.dim, seed=9).data
    # Their prediction carries an intercept that centres it on the training rows.
    expected = scores(theirs.predict(test.astype(np.float64)) - hot.mean(axis=0))
    assert claimed(shadow, alpha, test) == pytest.approx(expected, abs=2e-6)


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 5), st.integers(2, 25))
@settings(max_examples=30)
def test_primal_and_dual_are_one_solution(seed: int, people: int, images: int, dim: int) -> None:
    shadow = blobs(people, images, dim, seed=seed)
    x = shadow.data.astype(np.float64)
    x -= x.mean(axis=0)
    for alpha in (1e-2, 1.0):
        one = _primal(x, shadow.identity).weights(alpha)
        other = _dual(x, shadow).weights(alpha)
        # The thin form fixes weights up to a rotation: compare what scores depend on.
        assert one @ one.T == pytest.approx(other @ other.T, abs=1e-8)


def test_one_decomposition_serves_every_strength(shadow: Samples) -> None:
    attack = trained(Ridge(), shadow)
    for option in attack.options():
        assert option.path_ is attack.path_
        assert option.alpha is not None
        alone = trained(Ridge(alpha=option.alpha), shadow)
        data = blobs(4, 3, shadow.dim, seed=3).data
        assert np.array_equal(option.run(Release(data)).vectors, alone.run(Release(data)).vectors)
    assert [o.settings() for o in attack.options()] == [{"alpha": a} for a in attack.alphas]
    assert trained(Ridge(alpha=1.0), shadow).options()[0].settings() == {"alpha": 1.0}


def test_more_people_than_dimensions_need_no_more_columns() -> None:
    shadow = blobs(30, 4, 9)
    attack = trained(Ridge(alpha=0.1), shadow)
    data = blobs(4, 3, 9, seed=3).data
    assert attack.run(Release(data)).vectors.shape == (12, 9)
    full = solved(shadow, 0.1)
    assert full.shape == (9, 30)
    assert attack.path_ is not None
    thin = attack.path_.weights(0.1)
    assert thin @ thin.T == pytest.approx(full @ full.T, rel=1e-9)


def test_paper_strengths_are_a_part_of_ours() -> None:
    assert set(Ridge.paper_params["alphas"]) <= set(Ridge().alphas)


def test_it_reads_a_leak_that_loud_axes_hide_from_cosine() -> None:
    rng = np.random.default_rng(0)
    made = blobs(150, 8, 24, spread=0.5)
    loud = made.data.astype(np.float64)
    loud[:, :6] += 3 * rng.standard_normal((len(made), 6))
    parts = thirds(made.replace(loud / np.linalg.norm(loud, axis=1, keepdims=True)))
    blind, _ = played(Cosine(), parts)
    seeing, _ = played(Ridge(), parts)
    assert seeing > 2 * blind


def test_it_reads_what_an_eraser_left_in_quiet_directions() -> None:
    """With 1e-4 as its weakest strength it read next to nothing of this."""
    parts = thirds(quiet(3e-4))
    coarse, _ = played(Ridge(alphas=tuple(a for a in Ridge().alphas if a >= 1e-4)), parts)
    assert coarse < 0.3
    assert played(Ridge(), parts)[0] > 0.8


def test_not_fitted_says_so() -> None:
    with pytest.raises(RuntimeError, match="fit the attack"):
        Ridge().run(Release(np.eye(3)))

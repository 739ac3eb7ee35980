"""What the erasers promise, as theorems: each first shows that the leak was there."""

from __future__ import annotations

import warnings
from typing import Any

import erasers_reference as ref
import numpy as np
import pytest

from efface import INLP, ISP, LEACE, RLACE, SAL
from efface.errors import EffaceWarning
from efface.protect.linear.eraser import LinearEraser

Array = Any


def whitened(**params: Any) -> ISP:
    return ISP(whiten=True, **params)


FULL = (ISP, whitened, LEACE, SAL, RLACE)
"""Those that at full rank make all means equal; INLP stops at chance instead."""
EVERY = (*FULL, INLP)
ORTHOGONAL = (ISP, SAL, RLACE, INLP)


def name(method: Any) -> str:
    return str(method.__name__)


full = pytest.mark.parametrize("method", FULL, ids=name)
every = pytest.mark.parametrize("method", EVERY, ids=name)


def taken(eraser: LinearEraser) -> Array:
    """A B', the d x d map of what is removed."""
    return eraser.basis @ (eraser.basis if eraser.dual is None else eraser.dual).T


# --- equal means: nothing linear is left ------------------------------------------------------


@full
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_full_rank_makes_the_means_of_all_people_equal(
    rng: np.random.Generator, method: Any, dtype: str
) -> None:
    x, identity = ref.uneven_world(rng)
    before = ref.spread_of_means(x, identity)
    assert before > 0.3
    eraser = method().fit(x.astype(dtype), identity).eraser_
    assert eraser.rank == 23
    # In the dtype the eraser was fitted on: rounding of the input is not its business.
    after = ref.spread_of_means(eraser.project(x.astype(dtype).astype(float)), identity)
    assert after < before * (1e-10 if dtype == "float64" else 1e-6)


@full
def test_after_full_rank_no_logistic_regression_beats_the_constant(
    rng: np.random.Generator, method: Any
) -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    x, identity = ref.uneven_world(rng)
    share = np.bincount(identity) / len(identity)
    entropy = -float(share @ np.log(share))

    def play(z: Array) -> tuple[float, float]:
        """Accuracy and cross-entropy of the best classifier, on what it was trained on."""
        model = linear.LogisticRegression(C=1e3, max_iter=100, tol=1e-6).fit(z, identity)
        chosen = model.predict_log_proba(z)[np.arange(len(z)), identity]
        return float(model.score(z, identity)), -float(chosen.mean())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a hundred steps need not converge
        accuracy, loss = play(x)
        assert accuracy > 5 * share.max()
        assert loss < entropy / 2
        accuracy, loss = play(method().fit(x, identity).eraser_.project(x))
    assert loss > entropy - 1e-6
    assert accuracy < share.max() + 0.01


def test_after_inlp_a_new_classifier_is_at_chance_on_new_images(rng: np.random.Generator) -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    identity = np.repeat(np.arange(40), 60)
    who = rng.standard_normal((40, 10)) @ ref.rotation(rng, 64)[:10]
    x = ref.unit(who[identity] + rng.standard_normal((len(identity), 64)))
    seen = np.arange(len(x)) % 2 == 0
    eraser = INLP().fit(x[seen], identity[seen]).eraser_
    assert eraser.rank < 32, "it ends by itself"

    def accuracy(z: Array) -> float:
        model = linear.RidgeClassifier(alpha=0.1).fit(z[seen], identity[seen])
        return float(model.score(z[~seen], identity[~seen]))

    chance, before = 1 / 40, accuracy(x)
    assert before > 8 * chance
    assert accuracy(eraser.project(x)) - chance < 0.05 * (before - chance)


@pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
def test_inlp_ends_where_shuffled_labels_are_explained_as_well(rng: np.random.Generator) -> None:
    x, identity = ref.uneven_world(rng)
    x, identity = balanced(x, identity, 4)
    basis = INLP(ridge=0.1, min_variance=0.0, step=4).fit(x, identity).eraser_.basis
    ridge = penalty(x, 0.1)

    def explained(taken: Array) -> tuple[float, float]:
        shuffled = [ref.ridge_gain(x, rng.permutation(identity), taken, ridge) for _ in range(20)]
        return ref.ridge_gain(x, identity, taken, ridge), float(np.mean(shuffled))

    true, chance = explained(np.zeros((64, 1)))
    assert true > 1.2 * chance
    true, chance = explained(basis)
    assert true < 1.02 * chance
    assert explained(basis[:, :-4])[0] > explained(basis[:, :-4])[1], "one round fewer is too few"


def balanced(x: Array, identity: Array, images: int) -> tuple[Array, Array]:
    rows = np.concatenate([np.flatnonzero(identity == i)[:images] for i in np.unique(identity)])
    return x[rows], identity[rows]


# --- the map is the projection it claims to be ------------------------------------------------


@every
@pytest.mark.parametrize("rank", [1, 7])
def test_the_map_is_a_projection_of_exactly_the_rank(
    rng: np.random.Generator, method: Any, rank: int
) -> None:
    x, identity = ref.uneven_world(rng)
    eraser = method(rank=rank).fit(x, identity).eraser_
    dual = eraser.basis if eraser.dual is None else eraser.dual
    assert np.allclose(dual.T @ eraser.basis, np.eye(rank), atol=1e-10)
    once = eraser.project(x)
    assert np.allclose(eraser.project(once), once, atol=1e-12)
    assert np.linalg.matrix_rank(once - x, tol=1e-9) == rank
    assert np.linalg.matrix_rank(taken(eraser), tol=1e-9) == rank


@pytest.mark.parametrize("method", ORTHOGONAL, ids=name)
def test_orthogonal_ones_leave_nothing_along_what_they_remove(
    rng: np.random.Generator, method: Any
) -> None:
    x, identity = ref.uneven_world(rng)
    eraser = method(rank=9).fit(x, identity).eraser_
    assert eraser.dual is None
    assert np.abs(x @ eraser.basis).max() > 0.1
    assert np.abs(eraser.transform(x) @ eraser.basis).max() < 1e-14
    assert np.allclose(np.linalg.norm(eraser.transform(x), axis=1), 1)


@every
def test_turning_the_space_turns_the_eraser(rng: np.random.Generator, method: Any) -> None:
    x, identity = ref.uneven_world(rng)
    turn = ref.rotation(rng, 64)
    plain = method(rank=7).fit(x, identity).eraser_
    turned = method(rank=7).fit(x @ turn.T, identity).eraser_
    assert np.allclose(taken(turned), turn @ taken(plain) @ turn.T, atol=1e-8)
    assert np.allclose(turned.energy[:7], plain.energy[:7])


@pytest.mark.parametrize("method", [*FULL[:4], INLP, RLACE], ids=name)
def test_a_lower_rank_is_the_beginning_of_a_higher_one(
    rng: np.random.Generator, method: Any
) -> None:
    x, identity = ref.uneven_world(rng)
    high, low = (method(rank=r).fit(x, identity) for r in (13, 6))
    assert high.nested
    cut = LinearEraser(
        high.eraser_.basis[:, :6],
        None if high.eraser_.dual is None else high.eraser_.dual[:, :6],
    )
    assert np.allclose(taken(cut), taken(low.eraser_), atol=1e-8)


# --- each against its definition, computed another way ----------------------------------------


@pytest.mark.parametrize("rank", [1, 5, 23])
def test_isp_equals_its_equations(rng: np.random.Generator, rank: int) -> None:
    x, identity = ref.uneven_world(rng)
    eraser = ISP(rank=rank).fit(x, identity).eraser_
    assert np.allclose(taken(eraser), ref.isp(x, identity, rank), atol=1e-10)


def test_isp_counts_every_person_once(rng: np.random.Generator) -> None:
    x, identity = ref.uneven_world(rng)
    popular = np.flatnonzero(identity == 3)
    more, whose = (np.concatenate([a, *[a[popular]] * 20]) for a in (x, identity))
    plain, crowded = (ISP(rank=5).fit(*d).eraser_ for d in ((x, identity), (more, whose)))
    assert np.allclose(taken(plain), taken(crowded), atol=1e-8)
    weighed = [SAL(rank=5).fit(*d).eraser_ for d in ((x, identity), (more, whose))]
    assert not np.allclose(taken(weighed[0]), taken(weighed[1]), atol=0.1)


@pytest.mark.parametrize("rank", [1, 5, 23])
@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_whitened_isp_equals_the_explicit_computation(
    rng: np.random.Generator, rank: int, shrinkage: float
) -> None:
    x, identity = ref.uneven_world(rng)
    eraser = ISP(rank=rank, whiten=True, shrinkage=shrinkage).fit(x, identity).eraser_
    assert np.allclose(taken(eraser), ref.whitened_isp(x, identity, rank, shrinkage), atol=1e-8)


@pytest.mark.parametrize("rank", [1, 5, 23])
def test_sal_equals_the_svd_of_the_cross_covariance(rng: np.random.Generator, rank: int) -> None:
    x, identity = ref.uneven_world(rng)
    eraser = SAL(rank=rank).fit(x, identity).eraser_
    assert np.allclose(taken(eraser), ref.sal(x, identity, rank), atol=1e-8)
    values = np.linalg.svd(ref.cross(x, identity), compute_uv=False)[:23]
    assert np.allclose(eraser.energy, values**2, rtol=1e-6)


@pytest.mark.parametrize("rank", [1, 5, 23])
def test_leace_equals_its_closed_form(rng: np.random.Generator, rank: int) -> None:
    x, identity = ref.uneven_world(rng)
    eraser = LEACE(rank=rank).fit(x, identity).eraser_
    assert np.allclose(taken(eraser), ref.leace(x, identity, rank), atol=1e-8)
    assert np.allclose(eraser.project(x).mean(axis=0), x.mean(axis=0))


def test_at_full_rank_fisher_and_leace_are_one_map(rng: np.random.Generator) -> None:
    x, identity = ref.uneven_world(rng)
    fisher = ISP(whiten=True, shrinkage=0.0).fit(x, identity).eraser_
    leace = LEACE().fit(x, identity).eraser_
    assert np.allclose(taken(fisher), taken(leace), atol=1e-8)
    assert not np.allclose(taken(leace), taken(ISP().fit(x, identity).eraser_), atol=0.1)


# --- LEACE changes the vectors least ----------------------------------------------------------


def distortion(eraser: LinearEraser, x: Array) -> float:
    about = eraser if eraser.mean is not None else centred(eraser, x)
    return float(np.sum((about.project(x) - x) ** 2) / len(x))


def centred(eraser: LinearEraser, x: Array) -> LinearEraser:
    """About the mean, as LEACE is: the comparison is of directions, not of the offset."""
    return LinearEraser(eraser.basis, eraser.dual, x.mean(axis=0))


def test_no_other_eraser_changes_the_vectors_less_than_leace(rng: np.random.Generator) -> None:
    x, identity = ref.uneven_world(rng)
    least = distortion(LEACE().fit(x, identity).eraser_, x)
    for method in (SAL, ISP, RLACE, lambda: ISP(whiten=True), lambda: LEACE(shrinkage=0.3)):
        other = method().fit(x, identity).eraser_
        assert ref.spread_of_means(other.project(x), identity) < 1e-10
        assert distortion(other, x) > least * 1.001


def test_leace_is_a_stationary_point_of_distortion(rng: np.random.Generator) -> None:
    """Every map that erases is I - A B' with B on the same span; tilting A elsewhere costs."""
    x, identity = ref.uneven_world(rng)
    eraser = LEACE().fit(x, identity).eraser_
    assert eraser.dual is not None
    least = distortion(eraser, x)
    means = ref.means(x, identity)
    frame = np.linalg.svd((means - means.mean(axis=0)).T, full_matrices=False)[0][:, :23]
    for _ in range(20):
        tilt = rng.standard_normal((64, 23))
        dual = eraser.dual + 1e-2 * (tilt - frame @ (frame.T @ tilt))
        # B'A = I with A on the span of the means makes it an eraser again.
        basis = frame @ np.linalg.inv(dual.T @ frame)
        tilted = LinearEraser(basis, dual, eraser.mean)
        assert ref.spread_of_means(tilted.project(x), identity) < 1e-10
        assert distortion(tilted, x) > least


# --- RLACE plays its game to the end ----------------------------------------------------------


def penalty(x: Array, ridge: float = 1e-3) -> float:
    return float(ridge * np.trace(ref.covariance(x)) / x.shape[1])


@pytest.mark.parametrize("rank", [1, 4, 12])
def test_no_projection_found_leaves_a_ridge_adversary_less_than_rlace(
    rng: np.random.Generator, rank: int
) -> None:
    x, identity = ref.uneven_world(rng)

    def gain(basis: Array) -> float:
        return ref.ridge_gain(x, identity, basis, penalty(x))

    basis = RLACE(rank=rank).fit(x, identity).eraser_.basis
    untouched, least = gain(np.zeros((64, 1))), gain(basis)
    assert least < 0.99 * untouched
    rivals = [m(rank=rank).fit(x, identity).eraser_.basis for m in (ISP, SAL, INLP)]
    rivals += [np.linalg.qr(rng.standard_normal((64, rank)))[0] for _ in range(20)]
    rivals += [
        np.linalg.qr(basis + s * rng.standard_normal((64, rank)))[0]
        for s in (1e-3, 1e-2, 1e-1)
        for _ in range(10)
    ]
    assert min(gain(r) for r in rivals) >= least * (1 - 1e-9)


@pytest.mark.parametrize("people", [24, 32])
def test_alternation_lowers_the_gain_towards_the_known_value(
    rng: np.random.Generator, people: int
) -> None:
    x, identity = ref.uneven_world(rng, people=people)
    params = {"rank": 4, "ridge": 0.1, "force": True}
    exact = RLACE(**params).fit(x, identity)
    played = RLACE(**params, solver="alternate", iterations=40, tolerance=1e-6).fit(x, identity)
    start = SAL(rank=4, force=True).fit(x, identity)
    value, reached, first = (
        ref.ridge_gain(x, identity, e.eraser_.basis, penalty(x, 0.1))
        for e in (exact, played, start)
    )
    untouched = ref.ridge_gain(x, identity, np.zeros((64, 1)), penalty(x, 0.1))
    assert value < first, "the start must not be the answer"
    assert reached - value < 0.75 * (first - value)
    assert played.gap_ == pytest.approx((reached - value) / untouched, abs=1e-9)
    assert exact.gap_ == 0.0


@pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
def test_an_unfinished_game_is_admitted(rng: np.random.Generator) -> None:
    x, identity = ref.uneven_world(rng, people=60)
    rushed = RLACE(rank=3, solver="alternate", iterations=1, ridge=1e-6).fit(x, identity)
    said = " ".join(rushed.eraser_.warnings)
    assert ("above its value" in said) == (rushed.gap_ > 0.05)


@pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
@pytest.mark.parametrize("solver", ["exact", "alternate"])
def test_on_two_classes_rlace_finds_the_difference_of_the_means(
    rng: np.random.Generator, solver: Any
) -> None:
    x, label = rng.standard_normal((400, 16)) * np.geomspace(3, 0.3, 16), rng.integers(0, 2, 400)
    x[label == 1] += rng.standard_normal(16)
    eraser = RLACE(rank=1, normalise=False, solver=solver).fit(x, label).eraser_
    difference = x[label == 1].mean(axis=0) - x[label == 0].mean(axis=0)
    cosine = eraser.basis[:, 0] @ difference / np.linalg.norm(difference)
    assert abs(cosine) == pytest.approx(1)


# --- INLP -------------------------------------------------------------------------------------


def test_inlp_removes_what_its_classifier_reads_round_by_round(rng: np.random.Generator) -> None:
    """The first round against the ridge regression that it is, on data and one-hot labels."""
    x, identity = ref.uneven_world(rng)
    eraser = INLP(rank=3, step=3, ridge=0.1).fit(x, identity).eraser_
    centred, z = x - x.mean(axis=0), ref.one_hot(identity)
    shrunk = centred.T @ centred + len(x) * penalty(x, 0.1) * np.eye(64)
    weights = np.linalg.solve(shrunk, centred.T @ (z - z.mean(axis=0)))
    contrasts = np.linalg.svd(centred @ weights, full_matrices=False)[2][:3]
    read = np.linalg.qr(weights @ contrasts.T)[0]
    assert np.allclose(read @ read.T, taken(eraser), atol=1e-8)


def test_inlp_takes_no_more_directions_a_round_than_the_classifier_has(
    rng: np.random.Generator,
) -> None:
    """Two classes have one contrast: a step of 8 must not fill up with noise."""
    label = np.repeat([0, 1], 200)
    x = ref.unit(rng.standard_normal((400, 32)) + 1.5 * label[:, None] * np.eye(32)[0] + 0.2)
    with pytest.warns(EffaceWarning) as caught:
        eraser = INLP(rank=8).fit(x, label).eraser_
    assert eraser.rank <= 2
    assert any("at chance" in str(w.message) for w in caught)
    assert abs(eraser.basis[0, 0]) > 0.9


# --- rounding leaks ---------------------------------------------------------------------------


def test_what_is_removed_leaves_no_linear_trace_in_float32(rng: np.random.Generator) -> None:
    """A float32 product leaves a residue that is linear in what was removed; ours does not."""
    frame, rows = ref.rotation(rng, 128), 20_000
    signal = rng.standard_normal((rows, 40)) @ frame[:, :40].T
    rest = rng.standard_normal((rows, 88)) @ frame[:, 40:].T
    x = ref.unit(signal + 0.1 * rest).astype("f4")
    basis = frame[:, :40]

    def traced(released: Array) -> float:
        """Share of the removed coordinates that least squares reads from what remains there."""
        wanted, seen = x.astype(float) @ basis, released.astype(float) @ basis
        half = rows // 2
        weights = np.linalg.lstsq(seen[:half], wanted[:half], rcond=None)[0]
        missed = wanted[half:] - seen[half:] @ weights
        return float(1 - np.sum(missed**2) / np.sum(wanted[half:] ** 2))

    narrow = basis.astype("f4")
    quick = x - (x @ narrow) @ narrow.T
    assert traced(ref.unit(quick)) > 0.003
    assert traced(LinearEraser(basis).transform(x)) < 0

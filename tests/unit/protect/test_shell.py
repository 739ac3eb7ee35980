"""The shell of the erasers: input, parameters, streams, releases, scikit-learn's manners."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest
from erasure_worlds import unit, world

import efface
from efface import INLP, ISP, LEACE, RLACE, SAL
from efface.errors import DataError, EraserError, PlanError
from efface.protect.linear.base import LinearProtection
from efface.protect.linear.moments import Moments
from efface.registry import cards, make
from efface.types import Protection, Samples

ALL = (ISP, LEACE, SAL, INLP, RLACE)
VARIANTS = [
    *((method, {"rank": 6}) for method in ALL),
    (ISP, {"rank": 6, "whiten": True}),
    (LEACE, {"rank": 6, "shrinkage": "auto"}),
    (RLACE, {"rank": 6, "solver": "alternate"}),
]

each = pytest.mark.parametrize("method", ALL)
every_variant = pytest.mark.parametrize(
    ("method", "params"), VARIANTS, ids=[f"{m.__name__}-{'-'.join(p)}" for m, p in VARIANTS]
)


def as_samples(x: Any, identity: Any, **more: Any) -> Samples:
    return Samples(
        unit(x), identity, np.array([f"p{i}" for i in range(identity.max() + 1)]), **more
    )


def projector(eraser: Any) -> Any:
    dual = eraser.basis if eraser.dual is None else eraser.dual
    return eraser.basis @ dual.T


# --- fitting ------------------------------------------------------------------------------------


@every_variant
def test_samples_arrays_strings_and_lists_give_the_same_eraser(
    rng: np.random.Generator, method: Any, params: dict[str, Any]
) -> None:
    x, identity = world(rng)
    samples = as_samples(x, identity)
    digest = method(**params).fit(samples).eraser_.digest()
    names = np.array([f"{i:02d}" for i in identity])
    for X, y in [(samples.data, identity), (samples.data, names), (samples.data.tolist(), names)]:
        assert method(**params).fit(X, y).eraser_.digest() == digest


@every_variant
def test_integer_labels_are_categories_not_numbers(
    rng: np.random.Generator, method: Any, params: dict[str, Any]
) -> None:
    x, identity = world(rng)
    other = rng.permutation(1000)[identity]  # the same people under other numbers
    one, two = (method(**params).fit(x, y).eraser_ for y in (identity, other))
    assert np.allclose(projector(one), projector(two), atol=1e-8)


@every_variant
def test_batches_shards_and_one_pass_agree(
    rng: np.random.Generator, method: Any, params: dict[str, Any]
) -> None:
    x, identity = world(rng)
    order = rng.permutation(len(x))
    whole = projector(method(**params).fit(x, identity).eraser_)
    stream = method(**params)
    for rows in np.array_split(order, 7):
        assert stream.partial_fit(x[rows], identity[rows]) is stream
    shards = [Moments(64, True).update(x[o], identity[o]) for o in np.array_split(order, 3)]
    merged = shards[2].merge(shards[0]).merge(shards[1])
    assert np.allclose(projector(stream.eraser_), whole, atol=1e-8)
    assert np.allclose(projector(method(**params).fit_moments(merged).eraser_), whole, atol=1e-8)


def test_streams_of_samples_go_by_name_not_by_code(rng: np.random.Generator) -> None:
    x, identity = world(rng)
    swapped = np.array([f"p{i}" for i in range(23, -1, -1)])
    one = Samples(x[::2], identity[::2], np.array([f"p{i}" for i in range(24)]))
    two = Samples(x[1::2], 23 - identity[1::2], swapped)
    stream = ISP(rank=6).partial_fit(one).partial_fit(two)
    assert np.allclose(projector(stream.eraser_), projector(ISP(rank=6).fit(x, identity).eraser_))


def test_a_stream_can_go_on_after_a_look(rng: np.random.Generator) -> None:
    x, identity = world(rng)
    stream = ISP(rank=6).partial_fit(x[::2], identity[::2])
    early = stream.eraser_.digest()
    assert stream.eraser_.rows == 120
    stream.partial_fit(x[1::2], identity[1::2])
    assert stream.eraser_.rows == len(x)
    assert stream.eraser_.digest() != early
    assert stream.variance_kept_ < 1


@each
def test_a_new_fit_forgets_the_old(rng: np.random.Generator, method: Any) -> None:
    x, identity = world(rng)
    used = method(rank=4).partial_fit(x[::2], identity[::2])
    used.fit(x[::3], identity[::3])
    assert "moments_" not in vars(used)
    used.fit(x, identity)
    assert used.eraser_.digest() == method(rank=4).fit(x, identity).eraser_.digest()


def test_moments_stay_only_when_asked_for(rng: np.random.Generator) -> None:
    x, identity = world(rng)
    kept = ISP(rank=4, keep_moments=True).fit(x, identity)
    assert kept.moments_.rows == len(x)
    again = ISP(rank=4).fit_moments(kept.moments_)
    assert again.eraser_.digest() == kept.eraser_.digest()
    assert "moments_" not in vars(again)


@each
def test_the_eraser_says_where_it_comes_from(rng: np.random.Generator, method: Any) -> None:
    samples = as_samples(*world(rng))
    fitted = method(rank=np.int64(5)).fit(samples)
    eraser = fitted.eraser_
    assert eraser.method == method.__name__.lower() == fitted.card.name
    assert (eraser.rank, eraser.dim, eraser.identities, eraser.rows) == (5, 64, 24, 240)
    assert eraser.fit_digest == samples.digest()
    assert eraser.params["rank"] == 5
    assert type(eraser.params["rank"]) is int
    assert make("protection", eraser.method, **eraser.params).get_params() == fitted.get_params()
    assert np.all(np.diff(eraser.energy) <= 0)
    assert len(eraser.energy) >= 5
    assert fitted.n_features_in_ == 64


@every_variant
def test_float16_input_is_taken_and_its_coarseness_known(
    rng: np.random.Generator, method: Any, params: dict[str, Any]
) -> None:
    x, identity = world(rng)
    fine = method(**params).fit(x, identity).eraser_
    coarse = method(**params).fit(x.astype("f2"), identity)
    assert np.allclose(projector(coarse.eraser_), projector(fine), atol=0.02)
    out = coarse.transform(x.astype("f2"))
    assert out.dtype == np.float32
    assert np.allclose(np.linalg.norm(out, axis=1), 1, atol=1e-6)


def test_the_dtype_of_the_file_counts_not_that_in_memory(rng: np.random.Generator) -> None:
    x, identity = world(rng, people=30)
    stored = x.astype("f2").astype("f4")
    samples = as_samples(stored, identity, stored_dtype="float16")
    kept = ISP(rank=4, keep_moments=True).fit(samples)
    assert kept.moments_.eps == float(np.finfo("f2").eps)


def test_unnormalised_vectors_can_be_asked_for(rng: np.random.Generator) -> None:
    x, identity = world(rng)
    x *= rng.uniform(1, 3, (len(x), 1))
    eraser = LEACE(normalise=False).fit(x, identity)
    means = [eraser.transform(x)[identity == i].mean(axis=0) for i in range(24)]
    before = [x[identity == i].mean(axis=0) for i in range(24)]
    assert np.ptp(before, axis=0).max() > 0.1
    assert np.ptp(means, axis=0).max() < 1e-12
    with pytest.raises(EraserError, match="gathered with normalise=True"):
        LEACE(normalise=False).fit_moments(Moments(64, True).update(x, identity))


# --- input that cannot be used ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda x, y: (x, None), "identities are missing"),
        (lambda x, y: (x, y[:-1]), "240 vectors but 239 identities"),
        (lambda x, y: (x[0], y[:1]), "expected rows of vectors"),
        (lambda x, y: (x[:0], y[:0]), "expected rows of vectors"),
        (lambda x, y: ([[1.0, 2.0], [1.0]], [0, 1]), "differ in length"),
        (lambda x, y: (x.astype(str), y), "real numbers"),
        (lambda x, y: (x > 0, y), "real numbers"),
        (lambda x, y: (np.where(np.arange(240)[:, None] == 7, np.nan, x), y), "row 7 holds NaN"),
        (lambda x, y: (np.where(np.arange(240)[:, None] == 7, 0, x), y), "row 7 is all zero"),
        (lambda x, y: (x, np.zeros_like(y)), "at least two"),
    ],
)
@each
def test_bad_input_is_refused_in_words(
    rng: np.random.Generator, method: Any, spoil: Any, words: str
) -> None:
    x, identity = world(rng)
    with pytest.raises(DataError, match=words):
        method(rank=2).fit(*spoil(x, identity))


@pytest.mark.parametrize(
    ("make_one", "words"),
    [
        (lambda: ISP(rank=0), "remove nothing"),
        (lambda: ISP(dtype="int8"), "float16, float32, float64"),  # type: ignore[arg-type]
        (lambda: ISP(shrinkage=2.0), "shrinkage"),
        (lambda: ISP(shrinkage="some"), "shrinkage"),  # type: ignore[arg-type]
        (lambda: LEACE(shrinkage=-0.1), "shrinkage"),
        (lambda: INLP(step=0), "step"),
        (lambda: INLP(ridge=0.0), "ridge"),
        (lambda: RLACE(ridge=-1.0), "ridge"),
        (lambda: RLACE(solver="magic"), "solver"),  # type: ignore[arg-type]
        (lambda: RLACE(iterations=0), "iterations"),
        (lambda: INLP(rank=65), "65 asked for in 64"),
    ],
)
def test_bad_parameters_are_stored_and_refused_when_fitting(
    rng: np.random.Generator, make_one: Any, words: str
) -> None:
    eraser = make_one()
    with pytest.raises(EraserError, match=words):
        eraser.fit(*world(rng))


def test_whitening_within_people_needs_variance_within_people(rng: np.random.Generator) -> None:
    x, identity = world(rng, images=1, people=40)
    with pytest.raises(EraserError, match="singular"):
        ISP(rank=4, whiten=True).fit(x, identity)
    x, identity = world(rng, images=2, people=30)
    with pytest.raises(EraserError, match="shrinkage='auto'"):
        ISP(rank=4, whiten=True, shrinkage=0.0).fit(x, identity)
    assert ISP(rank=4, whiten=True).fit(x, identity).eraser_.rank == 4


def test_shuffled_labels_leave_inlp_nothing_to_hear(rng: np.random.Generator) -> None:
    x, identity = world(rng)
    assert INLP(rank=4).fit(x, identity).eraser_.rank == 4
    with pytest.raises(EraserError, match="at chance"):
        INLP(rank=4).fit(x, rng.permutation(identity))


@each
def test_an_unfitted_eraser_says_so(method: Any, rng: np.random.Generator) -> None:
    eraser = method()
    for use in (
        lambda: eraser.eraser_,
        lambda: eraser.transform(np.ones((1, 4))),
        lambda: eraser.release(as_samples(*world(rng)), rng),
    ):
        with pytest.raises(EraserError, match=r"call fit\(\) first"):
            use()
    assert not hasattr(eraser, "eraser_")
    assert not hasattr(eraser, "nonsense")


# --- applying -----------------------------------------------------------------------------------


@every_variant
def test_samples_in_samples_out(
    rng: np.random.Generator, method: Any, params: dict[str, Any]
) -> None:
    x, identity = world(rng)
    samples = as_samples(x, identity, attributes={"row": np.arange(len(x))})
    fitted = method(**params).fit(samples)
    clean = fitted.transform(samples)
    assert np.array_equal(clean.data, fitted.transform(samples.data))
    assert np.array_equal(clean.attributes["row"], np.arange(len(x)))
    assert np.array_equal(method(**params).fit_transform(samples).data, clean.data)
    assert np.allclose(fitted.transform(x[3]), clean.data[3])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("given", ["float16", "float32", "float64"])
def test_a_release_is_in_the_dtype_that_ships(
    rng: np.random.Generator, dtype: Any, given: str
) -> None:
    x, identity = world(rng)
    samples = as_samples(x, identity)
    samples = samples.replace(samples.data.astype(given))
    fitted = ISP(rank=4, dtype=dtype).fit(samples)
    assert isinstance(fitted, Protection)
    release = fitted.release(samples, rng)
    assert release.data.dtype == dtype
    slack = 4 * max(float(np.finfo(t).eps) for t in (dtype, given))
    truth = ISP(rank=4).fit(samples).eraser_.transform(samples.data.astype(float))
    assert np.allclose(release.data, truth, atol=slack)


def test_a_bad_row_to_transform_is_named(rng: np.random.Generator) -> None:
    x, identity = world(rng)
    for normalise in (True, False):
        fitted = ISP(rank=4, normalise=normalise).fit(x, identity)
        bad = x.copy()
        bad[11, 2] = np.nan
        with pytest.raises(EraserError, match="row 11"):
            fitted.transform(bad)
        with pytest.raises(EraserError, match="64-dimensional vectors, these have 63"):
            fitted.transform(x[:, 1:])


# --- manners ------------------------------------------------------------------------------------


@each
def test_parameters_come_and_go(method: Any) -> None:
    eraser = method(rank=3, min_variance=0.2)
    assert eraser.get_params()["rank"] == 3
    assert eraser.set_params(rank="auto", force=True) is eraser
    assert (eraser.rank, eraser.force, eraser.min_variance) == ("auto", True, 0.2)
    with pytest.raises(PlanError, match=r"no parameter 'rnak'.*did you mean 'rank'"):
        eraser.set_params(rnak=3)


def test_the_catalogue_holds_the_five_and_their_papers() -> None:
    found = {card.name: card for card in cards("protection")}
    assert {"isp", "leace", "sal", "inlp", "rlace"} <= set(found)
    assert all(card.paper and card.summary for card in found.values())
    assert isinstance(make("protection", "leace", rank=3, shrinkage="auto"), efface.LEACE)


@each
def test_scikit_learn_takes_it_as_a_transformer(rng: np.random.Generator, method: Any) -> None:
    base = pytest.importorskip("sklearn.base")
    pipeline = pytest.importorskip("sklearn.pipeline")
    ridge = pytest.importorskip("sklearn.linear_model")
    validation = pytest.importorskip("sklearn.utils.validation")
    x, identity = world(rng)
    twin = base.clone(method(rank=5))
    assert twin.get_params() == method(rank=5).get_params()
    with pytest.raises(EraserError):
        twin.transform(x)
    whole = pipeline.make_pipeline(twin, ridge.RidgeClassifier())
    whole.set_params(**{f"{method.__name__.lower()}__rank": 7})
    whole.fit(x, identity)
    assert whole[0].eraser_.rank == 7
    validation.check_is_fitted(whole[0])
    assert base.clone(whole)[0].rank == 7
    assert whole.predict(x).shape == identity.shape
    assert copy.copy(whole[0]).eraser_ is whole[0].eraser_


@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_repr",
        "check_no_attributes_set_in_init",
        "check_get_params_invariance",
        "check_set_params",
        "check_parameters_default_constructible",
        "check_mixin_order",
        "check_estimator_tags_renamed",
        "check_valid_tag_types",
    ],
)
@each
def test_scikit_learns_own_checks(method: Any, check: str) -> None:
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(checks, check)(method.__name__, method())


def test_a_method_is_one_function_away(rng: np.random.Generator) -> None:
    """What a plug-in has to write: its directions; the shell does the rest."""
    x, identity = world(rng)

    class First(LinearProtection):
        card = ISP.card

        def _solve(self, moments: Moments) -> Any:
            return ISP(rank=1)._solve(moments)

    assert First().fit(x, identity).eraser_.rank == 1

"""The rank that data carry in each dtype, the rank that is asked for, and what is refused (P5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from erasure_worlds import class_means, exact_world, unit, world
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from efface import INLP, ISP, LEACE, RLACE, SAL
from efface.errors import DataError, EffaceWarning, EraserError
from efface.protect.linear.decompose import differences
from efface.protect.linear.moments import Moments
from efface.protect.linear.rank import Wish, choose, covering

ALL = (ISP, LEACE, SAL, INLP, RLACE)
DTYPES = ("float16", "float32", "float64")


def rank_of(x: Any, identity: Any, **options: Any) -> int:
    return differences(Moments(x.shape[1], **options).update(x, identity)).rank


def naive_rank(x: Any, identity: Any) -> int:
    """Centred means, cut at what float64 can resolve: what one writes first."""
    means = class_means(x.astype(float), identity)
    return int(np.linalg.matrix_rank(means - means.mean(axis=0)))


# --- numerical rank -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_people_in_general_position_span_one_direction_less_than_they_are(
    rng: np.random.Generator, dtype: str
) -> None:
    x, identity = world(rng, people=30, dim=64)
    assert rank_of(x.astype(dtype), identity) == 29


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("people", "dim", "rank"), [(40, 64, 5), (300, 32, 10), (64, 256, 3)])
def test_exactly_low_rank_means_show_their_rank_in_any_dtype(
    rng: np.random.Generator, dtype: str, people: int, dim: int, rank: int
) -> None:
    x, identity = exact_world(rng, people=people, dim=dim, rank=rank)
    assert naive_rank(x, identity) == rank
    if dtype != "float64":
        assert naive_rank(x.astype(dtype), identity) > rank, "rounding must look like signal"
    assert rank_of(x.astype(dtype), identity) == rank


def test_means_summed_in_float32_would_count_one_direction_too_many(
    rng: np.random.Generator,
) -> None:
    x, identity = world(rng, people=30, dim=64)
    means = np.stack([x.astype("f4")[identity == i].mean(axis=0) for i in range(30)])
    centred = (means - means.mean(axis=0)).astype(float)
    assert np.linalg.matrix_rank(centred) == 30
    assert rank_of(x.astype("f4"), identity) == 29


def test_long_sums_of_float64_do_not_make_directions(rng: np.random.Generator) -> None:
    means, _ = exact_world(rng, people=6, dim=16, rank=3, images=1)
    identity = np.repeat(np.arange(6), 4000)
    noise = rng.standard_normal((6, 2000, 16))
    x = 1000 + means[identity] + np.concatenate([noise, -noise], axis=1).reshape(-1, 16)
    order = rng.permutation(len(x))
    assert naive_rank(x[order], identity[order]) > 3, "the sums must round"
    assert rank_of(x[order], identity[order], normalise=False) == 3


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e3, 1e12])
def test_the_rank_does_not_depend_on_the_scale(rng: np.random.Generator, scale: float) -> None:
    x, identity = exact_world(rng, people=40, dim=64, rank=5)
    x = x.astype("f4").astype(float) * scale
    moments = Moments(64, normalise=False).update(x, identity, dtype="float32")
    assert differences(moments).rank == 5


@pytest.mark.parametrize("rounded", [("float16", 9), ("float32", 10), ("float64", 10)])
def test_a_weak_direction_counts_until_rounding_hides_it(
    rng: np.random.Generator, rounded: tuple[str, int]
) -> None:
    dtype, expected = rounded
    x, identity = exact_world(rng, people=200, dim=32, rank=10, weakest=1e-5)
    assert rank_of(x.astype(dtype), identity) == expected


# --- choosing ---------------------------------------------------------------------------------

ENERGY = np.array([6.0, 3.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (Wish(), 3),
        (Wish(rank=2), 2),
        (Wish(rank=4, force=True), 4),
        (Wish(rank="auto", coverage=0.6), 1),
        (Wish(rank="auto", coverage=0.61), 2),
        (Wish(rank="auto"), 2),
        (Wish(rank="auto", coverage=1.0), 3),
    ],
)
def test_the_chosen_rank(wish: Wish, expected: int) -> None:
    assert choose(ENERGY, 3, wish, people=5, dim=8) == expected


@pytest.mark.parametrize(
    ("wish", "full", "words"),
    [
        (Wish(rank=4), 3, "rank 4 is more than the 3 directions.*force=True, goes up to 4"),
        (Wish(rank=5, force=True), 3, "ask for at most 3"),
    ],
)
def test_a_rank_that_means_nothing_is_refused(wish: Wish, full: int, words: str) -> None:
    with pytest.raises(EraserError, match=words):
        choose(ENERGY, full, wish, people=5, dim=8)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (Wish(rank=0), "would remove nothing"),
        (Wish(rank=-3), "would remove nothing"),
        (Wish(rank=2.5), "whole number"),  # type: ignore[arg-type]
        (Wish(rank=True), "whole number"),
        (Wish(rank="all"), "whole number"),  # type: ignore[arg-type]
        (Wish(coverage=0.0), "coverage"),
        (Wish(coverage=1.1), "coverage"),
        (Wish(min_variance=1.0), "min_variance"),
        (Wish(min_variance=-0.1), "min_variance"),
    ],
)
def test_a_wish_that_cannot_be_is_refused(wish: Wish, words: str) -> None:
    with pytest.raises(EraserError, match=words):
        wish.check()


@given(
    energy=arrays(float, st.integers(1, 20), elements=st.floats(1e-3, 10)),
    coverage=st.floats(0.01, 1),
)
def test_coverage_takes_the_smallest_rank_that_covers(energy: Any, coverage: float) -> None:
    energy = np.sort(energy)[::-1]
    rank = covering(energy, coverage)
    goal = coverage * energy.sum()
    assert energy[:rank].sum() >= goal * (1 - 1e-9)
    assert energy[: rank - 1].sum() < goal


# --- refusals and warnings through the erasers ----------------------------------------------------


@pytest.mark.parametrize("eraser", ALL)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_hundred_people_in_32_dimensions_are_not_erased_to_nothing(
    rng: np.random.Generator, eraser: Any, dtype: str
) -> None:
    x, identity = world(rng, people=100, dim=32, noise=0.1)
    x = x.astype(dtype)
    with pytest.raises(EraserError, match=r"would remove everything|min_variance"):
        eraser().fit(x, identity)
    assert eraser(rank=8).fit(x, identity).eraser_.rank == 8


def test_as_many_people_as_dimensions_is_said_in_so_many_words(rng: np.random.Generator) -> None:
    x, identity = world(rng, people=100, dim=32)
    with pytest.raises(EraserError, match=r"100 identities in 32 dimensions.*rank=8"):
        LEACE().fit(x, identity)


@pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
def test_force_erases_to_nothing_and_the_rows_are_then_refused(rng: np.random.Generator) -> None:
    x, identity = world(rng, people=100, dim=32)
    forced = SAL(force=True).fit(x, identity)
    assert forced.eraser_.rank == 32
    assert forced.variance_kept_ == pytest.approx(0, abs=1e-12)
    # What is left is rounding, and unit length would blow it up into something to train on.
    with pytest.raises(EraserError, match="row 0 cannot be brought to unit length"):
        forced.transform(x)
    # LEACE keeps the mean, so everyone becomes one and the same vector.
    same = LEACE(force=True).fit(x, identity).transform(x)
    assert np.ptp(same, axis=0).max() < 1e-12


@pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
@pytest.mark.parametrize("eraser", [ISP, SAL, LEACE, RLACE])
def test_leaving_too_little_variance_is_refused_unless_forced(
    rng: np.random.Generator, eraser: Any
) -> None:
    x, identity = world(rng, people=60, dim=64, noise=0.02)
    with pytest.raises(EraserError, match=r"59 of 64 dimensions would leave .*min_variance=0.01"):
        eraser().fit(x, identity)
    forced = eraser(force=True).fit(x, identity)
    allowed = eraser(min_variance=0.0).fit(x, identity)
    assert forced.variance_kept_ == allowed.variance_kept_ < 0.01
    said = " ".join(forced.eraser_.warnings)
    assert "of the variance: check the utility" in said
    assert "59 of 64 dimensions: more than half" in said


@pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
@pytest.mark.parametrize("eraser", [ISP, LEACE, SAL, RLACE])
def test_a_forced_rank_reaches_into_the_noise(rng: np.random.Generator, eraser: Any) -> None:
    x, identity = exact_world(rng, people=40, dim=64, rank=5)
    x = unit(x + 1e-9 * rng.standard_normal(x.shape)).astype("f4")
    with pytest.raises(EraserError, match="rank 7 is more than the 5 directions"):
        eraser(rank=7).fit(x, identity)
    assert eraser(rank=7, force=True).fit(x, identity).eraser_.rank == 7


@pytest.mark.parametrize("eraser", [ISP, LEACE, SAL, RLACE])
def test_people_without_differences_are_refused(rng: np.random.Generator, eraser: Any) -> None:
    one = np.concatenate([unit(rng.standard_normal((4, 30)))] * 25)
    with pytest.raises(EraserError, match="nothing to remove; check that the labels"):
        eraser().fit(one, np.repeat(np.arange(25), 4))


@pytest.mark.parametrize("eraser", ALL)
def test_one_identity_is_refused(rng: np.random.Generator, eraser: Any) -> None:
    with pytest.raises(DataError, match=r"1 identity .*at least two"):
        eraser(rank=1).fit(rng.standard_normal((5, 4)), ["a"] * 5)


def test_warnings_are_given_and_kept(rng: np.random.Generator) -> None:
    x, identity = world(rng, people=12, dim=16, noise=2.0)
    with pytest.warns(EffaceWarning) as caught:
        eraser = ISP().fit(x, identity).eraser_
    said = " ".join(eraser.warnings)
    assert "12 identities only" in said
    assert "11 of 16 dimensions" in said
    assert [f"isp: {note}" for note in eraser.warnings] == [str(w.message) for w in caught]
    assert caught[0].filename == __file__, "the warning points at the caller"


def test_a_rank_no_smaller_than_the_people_is_doubted(rng: np.random.Generator) -> None:
    x, identity = world(rng, people=24, dim=64)
    with pytest.warns(EffaceWarning, match="span at most 23"):
        ISP(rank=24, force=True).fit(x, identity)


def test_good_data_bring_no_warning(rng: np.random.Generator) -> None:
    assert ISP().fit(*world(rng)).eraser_.warnings == ()


# --- how much is left ---------------------------------------------------------------------------


@pytest.mark.parametrize("eraser", [*ALL, lambda **p: ISP(whiten=True, **p)])
def test_the_variance_kept_is_the_variance_of_what_is_left(
    rng: np.random.Generator, eraser: Any
) -> None:
    x, identity = world(rng)
    fitted = eraser(rank=9).fit(x, identity)
    left = fitted.eraser_.project(x)
    measured = left.var(axis=0).sum() / x.var(axis=0).sum()
    assert fitted.variance_kept_ == pytest.approx(measured)


def test_without_a_covariance_even_spread_within_people_is_assumed(
    rng: np.random.Generator,
) -> None:
    x, identity = world(rng, people=60, images=40)
    flat = x[np.arange(len(x)) // 40 * 40] + 0.05 * rng.standard_normal(x.shape)
    exact = ISP(rank=9).fit_moments(Moments(64, second=True).update(flat, identity))
    judged = ISP(rank=9).fit_moments(Moments(64).update(flat, identity))
    assert exact.variance_kept_ < 0.9
    assert judged.variance_kept_ == pytest.approx(exact.variance_kept_, abs=0.02)

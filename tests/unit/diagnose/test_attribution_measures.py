"""FII, CPI and B* against tables worked out by hand, and against slow code that shares nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from efface.diagnose import attributed
from efface.diagnose.attribution import (
    Similarities,
    crossover,
    face_importance,
    overtaken_at,
    prefers_context,
    rises,
    stays,
    thresholds,
)
from efface.errors import DataError
from efface.measure.means import Clusters
from efface.results import Estimate

SIGMAS = (0.0, 1.0, 2.0, 4.0, 6.0, 8.0)
LEVELS = (0.2, 0.4, 0.6, 0.8, 1.0)
NAN = float("nan")
cosine = st.floats(-1, 1, allow_nan=False, width=32)


def clusters(people: list[int], count: int = 400) -> Clusters:
    return Clusters.of(np.array(people), count, np.random.default_rng(0))


def similarities(n: int, **given_: np.ndarray) -> Similarities:
    """All equal but for what is given."""
    plain = {
        "whole": np.full(n, 0.8), "face": np.full(n, 0.8), "ring": np.full(n, 0.8),
        "strangers": np.full((n, 3), 0.1), "identity": np.full((n, 6), 0.5),
        "context": np.full((n, 6), 0.5), "identity_shown": np.full((n, 5), 0.5),
        "context_shown": np.full((n, 5), 0.5),
    }  # fmt: skip
    return Similarities(**{**plain, **given_})


# --- FII -------------------------------------------------------------------------------------


def test_fii_of_a_table_worked_out_by_hand() -> None:
    whole, face, ring = (
        np.array([0.9, 0.9, 0.5]),
        np.array([0.3, 0.9, 0.5]),
        np.array([0.8, 0.2, 0.5]),
    )
    assert face_importance(whole, face, ring) == pytest.approx([0.6 - 0.1, 0.0 - 0.7, 0.0])


@given(arrays.arrays(np.float64, (3, 7, 5), elements=st.floats(-3, 3, width=32)))
def test_fii_from_vectors_as_the_paper_writes_it(x: np.ndarray) -> None:
    """Equations 17 and 18, one pair at a time, from the vectors themselves."""
    vectors = x + 1e-3 * np.random.default_rng(0).standard_normal(x.shape)
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    q, r = vectors[:, :-1], vectors[:, 1:]
    whole, face, ring = (np.einsum("nd,nd->n", q[k], r[k]) for k in range(3))
    slow = []
    for k in range(6):
        cos = [
            sum(float(a) * float(b) for a, b in zip(q[v, k], r[v, k], strict=True))
            for v in range(3)
        ]
        slow.append((cos[0] - cos[1]) - (cos[0] - cos[2]))
    assert face_importance(whole, face, ring) == pytest.approx(slow, abs=1e-9)


def test_what_blur_does_to_everybody_cancels_over_strangers() -> None:
    n = 12
    strangers = np.tile([0.1, 0.6, 0.1], (n, 1))  # blurred faces are alike, whoever they are
    found = attributed.importance(
        similarities(n, whole=np.full(n, 0.7), face=np.full(n, 0.75), ring=np.full(n, 0.7),
                     strangers=strangers),
        clusters(list(range(n))), clusters(list(range(n))),
    )  # fmt: skip
    assert found is not None
    assert found.fii.value == pytest.approx(-0.05)
    assert found.strangers.value == pytest.approx(-0.5)
    assert found.specific.value == pytest.approx(0.45)


def test_pairs_that_are_not_there_are_in_no_mean() -> None:
    whole = np.array([0.9] * 6 + [NAN])
    who = clusters([0, 1, 2, 3, 4, 5, 6])
    found = attributed.importance(similarities(7, whole=whole), who, who)
    assert found is not None
    assert (found.fii.n, found.fii.clusters) == (6, 6)
    assert sum(found.distribution.counts) == 6
    nothing = similarities(7, whole=np.full(7, NAN))
    assert attributed.importance(nothing, clusters([0] * 7), clusters([0] * 7)) is None


# --- CPI -------------------------------------------------------------------------------------


def test_cpi_of_a_table_worked_out_by_hand() -> None:
    identity = np.array([[0.5, 0.5], [0.5, 0.3], [0.2, 0.3], [0.4, NAN]])
    context = np.array([[0.4, 0.6], [0.5, 0.3], [0.9, 0.3 + 1e-8], [0.1, 0.2]])
    votes = prefers_context(identity, context)
    assert votes[:3].tolist() == [[0, 1], [0.5, 0.5], [1, 0.5]]
    assert votes[3, 0] == 0
    assert math.isnan(votes[3, 1])


@given(arrays.arrays(np.float64, (9, 2), elements=cosine))
def test_cpi_is_a_count(pairs: np.ndarray) -> None:
    slow = 0.0
    for identity, context in pairs.tolist():
        slow += 1.0 if context > identity + 1e-6 else 0.5 if context >= identity - 1e-6 else 0.0
    assert prefers_context(pairs[:, 0], pairs[:, 1]).sum() == pytest.approx(slow)
    other = prefers_context(pairs[:, 1], pairs[:, 0])
    assert prefers_context(pairs[:, 0], pairs[:, 1]) == pytest.approx(1 - other)


def test_a_triplet_that_lacks_one_blur_is_in_no_cpi() -> None:
    n = 8
    context = np.full((n, 6), 0.9)
    context[0, 3] = NAN
    found = attributed.preference(
        similarities(n, context=context), SIGMAS, clusters(list(range(n)))
    )
    assert found is not None
    assert [estimate.n for estimate in found.cpi] == [7] * 6
    assert found.ties == [0] * 6


def test_a_constant_encoder_prefers_nothing() -> None:
    n = 10
    who = clusters(list(range(n)))
    found = attributed.preference(similarities(n), SIGMAS, who)
    assert found is not None
    assert [estimate.value for estimate in found.cpi] == [0.5] * 6
    assert found.ties == [n] * 6
    assert found.delta.value == 0
    bstar = attributed.revelation(similarities(n), LEVELS, who, who)
    assert bstar is None  # a tie at every level is no preference


@pytest.mark.parametrize(
    ("cpi", "expected"),
    [
        ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], 3.0),  # between 2 and 4, half way
        ([0.0, 0.5, 0.9, 0.9, 0.9, 0.9], 1.0),
        ([0.1, 0.1, 0.1, 0.1, 0.1, 0.5], 8.0),
        ([0.5, 0.0, 0.0, 0.0, 0.0, 0.0], float("-inf")),  # there from the start
        ([0.0, 0.6, 0.0, 0.6, 0.0, 0.6], 5 / 6),  # the first of several
        ([0.0, 0.1, 0.2, 0.3, 0.4, 0.49], None),
        ([0.0, 0.1, NAN, 0.3, 0.4, 0.9], None),
    ],
)
def test_crossover(cpi: list[float], expected: float | None) -> None:
    found = crossover(np.array(SIGMAS), np.array(cpi))
    assert found == (expected if expected is None else pytest.approx(expected))


@given(st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_the_crossover_lies_where_the_line_passes_one_half(cpi: list[float]) -> None:
    found = crossover(np.array(SIGMAS), np.array(cpi))
    if found is None:
        assert max(cpi) < 0.5
    elif math.isfinite(found):
        assert np.interp(found, SIGMAS, cpi) == pytest.approx(0.5)
        assert all(c < 0.5 for s, c in zip(SIGMAS, cpi, strict=True) if s < found - 1e-9)
    else:
        assert cpi[0] >= 0.5


def test_an_interval_of_the_crossover_is_open_where_resamples_never_cross() -> None:
    n = 30
    context = np.full((n, 6), 0.9)
    identity = np.full((n, 6), 0.95)
    identity[:16, 5] = 0.1  # 16 of 30 prefer the context at the last sigma only
    found = attributed.preference(
        similarities(n, identity=identity, context=context), SIGMAS, clusters(list(range(n)))
    )
    assert found is not None
    assert found.crossover.crossing == "crossed"
    assert 6 < (found.crossover.sigma or 0) <= 8
    assert found.crossover.low is not None
    assert found.crossover.high is None
    assert 0.2 < (found.crossover.crossed or 0) < 0.9


# --- B* --------------------------------------------------------------------------------------


def test_bstar_of_a_table_worked_out_by_hand() -> None:
    identity = np.full((5, 5), 0.5)
    context = np.array(
        [
            [0.6, 0.1, 0.1, 0.1, 0.1],  # overtaken at once: censored at 0
            [0.1, 0.1, 0.6, 0.1, 0.6],  # at 0.6, whatever comes after
            [0.1, 0.1, 0.1, 0.1, 0.1],  # never: censored at 1
            [0.5, 0.5, 0.5, 0.5, 0.5],  # ties: no preference
            [0.1, 0.1, 0.1, 0.1, 0.6],  # at the very end, and not censored
        ]
    )
    first = overtaken_at(identity, context)
    assert first.tolist() == [0, 2, 5, -1, 4]
    found = thresholds(first, np.array(LEVELS))
    assert found[[0, 1, 2, 4]].tolist() == [0.0, 0.6, 1.0, 1.0]
    assert math.isnan(found[3])


@given(arrays.arrays(np.float64, (2, 6, 5), elements=cosine))
def test_bstar_is_the_least_level_that_suffices(x: np.ndarray) -> None:
    identity, context = x
    found = thresholds(overtaken_at(identity, context), np.array(LEVELS))
    for row in range(6):
        over = [
            b for b, i, c in zip(LEVELS, identity[row], context[row], strict=True) if c > i + 1e-6
        ]
        ties = all(abs(i - c) <= 1e-6 for i, c in zip(identity[row], context[row], strict=True))
        if ties:
            assert math.isnan(found[row])
        else:
            expected = min(over) if over else 1.0
            assert found[row] == (0.0 if expected == LEVELS[0] else expected)


@given(arrays.arrays(np.float64, (2, 8, 5), elements=cosine), st.floats(0, 0.5))
def test_a_nearer_context_never_raises_bstar(x: np.ndarray, more: float) -> None:
    levels = np.array(LEVELS)
    before = thresholds(overtaken_at(x[0], x[1]), levels)
    after = thresholds(overtaken_at(x[0], x[1] + more), levels)
    both = np.isfinite(before) & np.isfinite(after)
    assert (after[both] <= before[both]).all()


def test_the_share_overtaken_by_the_end_is_not_less_than_cpi_without_blur() -> None:
    """The last level is the picture as it is, as is the first sigma."""
    rng = np.random.default_rng(2)
    identity, context = rng.uniform(-1, 1, (2, 40, 5))
    found = similarities(
        40, identity_shown=identity, context_shown=context,
        identity=np.repeat(identity[:, -1:], 6, axis=1),
        context=np.repeat(context[:, -1:], 6, axis=1),
    )  # fmt: skip
    who = clusters(list(range(40)))
    cpi, bstar = (
        attributed.preference(found, SIGMAS, who),
        attributed.revelation(found, LEVELS, who, who),
    )
    assert cpi is not None
    assert bstar is not None
    assert (bstar.overtaken[-1].value or 0) >= (cpi.cpi[0].value or 0)
    assert sum(bstar.counts) + bstar.never == 40


def estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, low, high, 20, 10, "test")


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([(0.7, 0.6, 0.8)] * 5, (0.0, 0.0, 0.0)),
        ([(0.1, 0.0, 0.2)] * 5, (1.0, 1.0, 1.0)),
        ([(0.3, 0.2, 0.55), (0.6, 0.4, 0.7), (0.7, 0.6, 0.8), (0.8, 0.7, 0.9), (0.9, 0.8, 1)],
         (0.4, 0.0, 0.6)),
        ([(0.1, 0, 0.2)] * 4 + [(0.4, 0.2, 0.6)], (1.0, 1.0, 1.0)),
    ],
)  # fmt: skip
def test_the_median_and_its_ends_come_from_the_shares(
    shares: list[tuple[float, float, float]], expected: tuple[float, float, float]
) -> None:
    found = attributed.median([estimate(*share) for share in shares], LEVELS)
    assert (found.value, found.low, found.high) == expected


def test_the_median_is_that_of_the_triplets() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        identity, context = rng.uniform(-1, 1, (2, 21, 5)) + np.array([0, 0.02])[:, None, None]
        found = attributed.revelation(
            similarities(21, identity_shown=identity, context_shown=context), LEVELS,
            clusters(list(range(21))), clusters(list(range(21))),
        )  # fmt: skip
        assert found is not None
        slow = np.median(thresholds(overtaken_at(identity, context), np.array(LEVELS)))
        assert found.median.value == slow
        assert (found.median.low or 0) <= slow <= (found.median.high or 0)


def test_series_that_rise_and_series_that_stay() -> None:
    up = np.array([[0.1, 0.2, 0.2, 0.3], [0.1, 0.4, 0.38, 0.5], [0.1, NAN, 0.2, 0.3]])
    assert rises(up, 0.01)[:2].tolist() == [1, 0]
    assert rises(up, 0.03)[:2].tolist() == [1, 1]
    flat = np.array([[0.5, 0.52, 0.48, 0.5], [0.5, 0.5, 0.5, 0.9]])
    assert stays(flat, 0.05).tolist() == [1, 0]
    assert math.isnan(rises(up, 0.01)[2])


# --- what they say together ------------------------------------------------------------------


def test_sides_are_decided_by_intervals_and_not_by_points() -> None:
    said = {"FII": "context", "FII over strangers": "face", "CPI": "face", "B*": "face"}
    assert attributed.side(said) == "face"  # type: ignore[arg-type]
    for name in ("FII over strangers", "CPI", "B*"):
        assert attributed.side({**said, name: "undecided"}) == "undecided"  # type: ignore[dict-item]
    other = {"FII": "face", "FII over strangers": "undecided", "CPI": "context", "B*": "context"}
    assert attributed.side(other) == "context"  # type: ignore[arg-type]
    against = {**other, "FII over strangers": "face"}
    assert attributed.side(against) == "undecided"  # type: ignore[arg-type]


def test_few_people_decide_nothing() -> None:
    n = 12
    context = np.full((n, 6), 0.1)
    found = similarities(n, context=context, context_shown=np.full((n, 5), 0.1),
                         face=np.full(n, 0.1))  # fmt: skip
    for people, expected in (([0, 1, 2, 3] * 3, "undecided"), (list(range(n)), "face")):
        who = clusters(people)
        votes = attributed.votes(
            attributed.importance(found, who, who), attributed.preference(found, SIGMAS, who),
            attributed.revelation(found, LEVELS, who, who),
        )  # fmt: skip
        assert attributed.side(votes) == expected


def test_similarities_of_different_lengths_are_refused() -> None:
    with pytest.raises(DataError, match="face has"):
        similarities(3, face=np.zeros(2))
    with pytest.raises(DataError, match="both are 3 x steps"):
        similarities(3, context=np.zeros((3, 2)))
    with pytest.raises(DataError, match="strangers"):
        similarities(3, strangers=np.zeros((3, 2)))


@given(st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=50))
def test_histograms_hold_every_value_and_have_an_edge_at_nothing(values: list[float]) -> None:
    found = attributed.histogram(np.array(values))
    assert sum(found.counts) == len(values)
    assert len(found.edges) == len(found.counts) + 1 <= 33
    assert any(abs(edge) < 1e-12 for edge in found.edges)
    assert found.edges[0] <= min(values) + 1e-9
    assert max(values) <= found.edges[-1] + 1e-9

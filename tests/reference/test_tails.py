"""Exact thresholds against NumPy's sort; tails in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slow_pairs as slow
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from efface.errors import DataError
from efface.measure.tails import Tail, allowed, threshold

Array = NDArray[Any]


@pytest.mark.parametrize(
    ("far", "n", "expected"),
    [
        (0.001, 1_000_000, 1000), (0.001, 999, 0), (0.001, 1000, 1), (1e-6, 50_000_000, 50),
        (0.1, 30, 3), (0.07, 100, 7), (0.29, 100, 29), (0.57, 100, 57), (1e-4, 1_790_000, 179),
        (0.58, 50, 29), (1e-6, 1_799_970_001_000_001, 1_799_970_001), (0.5, 1, 0),
    ],
)  # fmt: skip
def test_allowed_is_taken_on_the_written_decimal(far: float, n: int, expected: int) -> None:
    assert allowed(far, n) == expected
    assert allowed(float(np.float64(far)), n) == expected


def test_floating_point_alone_would_get_allowed_wrong() -> None:
    assert int(0.29 * 100) == 28 < allowed(0.29, 100)


@pytest.mark.parametrize("far", [0.0, 1.0, -0.1, 2.0, float("nan")])
def test_a_far_target_that_is_no_rate_is_refused(far: float) -> None:
    with pytest.raises(DataError, match="between 0 and 1"):
        allowed(far, 10)


ties = arrays(np.float32, st.integers(1, 80), elements=st.integers(-4, 4).map(lambda i: i / 4))
real = arrays(np.float32, st.integers(1, 80), elements=st.floats(-1, 1, width=32))


@given(st.one_of(ties, real), st.integers(1, 79))
def test_threshold_is_the_smallest_that_keeps_the_promise(scores: Array, k: int) -> None:
    far = k / 80
    tau, count = threshold(scores, far)
    assert count == (k * len(scores)) // 80
    if count < 1:
        assert tau is None
        return
    assert tau == slow.smallest_threshold(scores, count)
    assert tau == np.sort(scores)[::-1][count]


@pytest.mark.parametrize("far", [1e-5, 3e-5, 1e-4, 1e-2, 0.5, 0.9])
def test_threshold_down_to_one_in_n(far: float, rng: np.random.Generator) -> None:
    scores = rng.standard_normal(200_000).astype(np.float32)
    tau, k = threshold(scores, far)
    assert k == round(far * 200_000)
    assert tau == np.sort(scores)[::-1][k]
    assert (scores > np.float32(tau)).sum() <= k
    assert threshold(scores[:99_999], 1e-5) == (None, 0)


def test_a_double_precision_threshold_does_not_sink_in_single_precision() -> None:
    scores = 1.0 + np.arange(10) * 1e-9
    assert len(np.unique(scores.astype(np.float32))) == 1
    tau, k = threshold(scores, 0.3)
    assert (k, np.count_nonzero(scores > tau)) == (3, 3)


def test_minus_infinity_is_a_score_like_another() -> None:
    scores = np.array([-np.inf, 1.0, -np.inf, -np.inf], np.float32)
    assert threshold(scores, 0.25) == (-np.inf, 1)
    assert threshold(scores, 0.5) == (-np.inf, 2)


def test_a_score_that_is_not_a_number_is_named() -> None:
    scores = np.zeros(70_000, np.float32)
    scores[66_001] = np.nan
    with pytest.raises(DataError, match="score 66001 is not a number"):
        threshold(scores, 0.1)


labelled = st.lists(
    st.tuples(st.integers(-2, 2), st.integers(0, 3), st.integers(4, 7)), min_size=1, max_size=60
)


@given(labelled, st.integers(1, 20), st.randoms(use_true_random=False), st.integers(1, 6))
@settings(max_examples=60)
def test_tails_merge_in_any_order(
    stream: list[tuple[int, int, int]], keep: int, random: Any, parts: int
) -> None:
    expected = sorted(stream, key=lambda t: (-t[0], t[1], t[2]))[:keep]
    shuffled = list(stream)
    random.shuffle(shuffled)
    tails = []
    for part in range(parts):
        tail = Tail(keep, labelled=True)
        rows = shuffled[part::parts]
        if rows:
            table = np.array(rows)
            tail.update(table[:, 0].astype(np.float32), table[:, 1:].astype(np.int32))
        tails.append(tail)
    random.shuffle(tails)
    whole = tails[0]
    for tail in tails[1:]:
        whole.merge(tail)
    scores, labels = whole.result()
    found = [(int(s), int(a), int(b)) for s, (a, b) in zip(scores, labels, strict=True)]
    assert found == expected
    assert whole.seen == len(stream)


def test_a_long_stream_is_forgotten_but_for_its_tail(rng: np.random.Generator) -> None:
    scores = rng.permutation(np.repeat(np.arange(20_000), 30)).astype(np.float32)
    tail = Tail(100)
    for part in np.array_split(scores, 7):
        tail.update(part)
        assert tail._held <= 2 * tail.keep + (1 << 16) + tail.keep
    assert np.array_equal(tail.result()[0], np.sort(scores)[::-1][:100])
    assert tail.floor > 19_000


def test_tails_of_different_kinds_do_not_mix() -> None:
    for other in (Tail(4), Tail(3, labelled=True), Tail(3, dtype=np.float64)):
        with pytest.raises(DataError, match="cannot be merged"):
            Tail(3).merge(other)
    with pytest.raises(DataError, match="at least one"):
        Tail(0)
    with pytest.raises(DataError, match="needs a pair of labels"):
        Tail(3, labelled=True).update(np.ones(2, np.float32))

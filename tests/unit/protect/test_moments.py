"""Moments: the same from any shard in any order, checked against explicit loops."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from erasure_worlds import class_means, unit, world
from hypothesis import given
from hypothesis import strategies as st

from efface.errors import DataError, EraserError
from efface.protect.linear import moments as module
from efface.protect.linear.moments import Moments


def gathered(x: Any, identity: Any, **options: Any) -> Moments:
    return Moments(np.asarray(x).shape[1], **options).update(x, identity)


def assert_same(one: Moments, two: Moments) -> None:
    assert one.labels == two.labels
    assert one.rows == two.rows
    assert one.eps == two.eps
    assert one.counts.tolist() == two.counts.tolist()
    assert np.allclose(one.means, two.means, rtol=0, atol=1e-15)
    assert one.squares == pytest.approx(two.squares, rel=1e-14)
    if one.second:
        assert np.allclose(one.covariance, two.covariance, rtol=0, atol=1e-15)


# --- one pass, any order, any shard -----------------------------------------------------------


@given(data=st.data())
def test_any_sharding_in_any_order_gives_the_same_moments(data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    rows, dim = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 6))
    x = rng.standard_normal((rows, dim)).astype(data.draw(st.sampled_from(["f4", "f8"])))
    identity = rng.integers(0, data.draw(st.integers(1, 12)), rows)
    shard = rng.integers(0, data.draw(st.integers(1, 5)), rows)
    order = rng.permutation(rows)
    whole = gathered(x, identity, second=True)
    parts = [
        gathered(x[order][shard[order] == s], identity[order][shard[order] == s], second=True)
        for s in rng.permutation(np.unique(shard))
    ]
    merged = Moments(dim, second=True)
    for part in parts:
        merged.merge(part)
    assert_same(merged, whole)


def test_batches_equal_one_pass_whatever_the_working_block(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, identity = world(rng)
    whole = gathered(x, identity, second=True)
    monkeypatch.setattr(module, "_CHUNK_ENTRIES", 7 * x.shape[1])
    blocks = Moments(x.shape[1], second=True)
    for start in range(0, len(x), 31):
        blocks.update(x[start : start + 31], identity[start : start + 31])
    assert_same(blocks, whole)


def test_merging_changes_only_the_left_hand_side(rng: np.random.Generator) -> None:
    x, identity = world(rng)
    one, two = gathered(x[:99], identity[:99]), gathered(x[99:], identity[99:])
    before = two.means.copy()
    one.merge(two)
    assert np.array_equal(two.means, before)
    assert one.rows == len(x)


# --- against the obvious way --------------------------------------------------------------------


def test_every_moment_equals_its_definition(rng: np.random.Generator) -> None:
    raw = rng.standard_normal((60, 5)) + 1
    identity = rng.integers(0, 7, 60)
    x, n = unit(raw), 60
    found = gathered(raw, identity, second=True)
    people, counts = np.unique(identity, return_counts=True)
    means = class_means(x, identity)
    one_hot = (identity[:, None] == people).astype(float)
    inside = x - means[np.searchsorted(people, identity)]
    assert found.labels == people.tolist()
    assert found.counts.tolist() == counts.tolist()
    assert np.allclose(found.means, means)
    assert np.allclose(found.mean, x.mean(axis=0))
    assert np.allclose(found.centre, means.mean(axis=0))
    assert not np.allclose(found.centre, found.mean, atol=1e-3), "the world must be unbalanced"
    assert np.allclose(found.covariance, np.cov(x.T, bias=True))
    assert np.allclose(found.within, inside.T @ inside / n)
    assert np.allclose(found.between, found.covariance - found.within)
    assert np.allclose(found.cross, (x - x.mean(0)).T @ (one_hot - one_hot.mean(0)) / n)
    assert found.variance == pytest.approx(np.trace(found.covariance))


def test_unit_length_is_brought_about_on_the_way_in(rng: np.random.Generator) -> None:
    x, identity = world(rng)
    scales = rng.uniform(0.1, 10, (len(x), 1))
    assert_same(gathered(x * scales, identity), gathered(x, identity))
    loose = gathered(x * scales, identity, normalise=False)
    assert np.allclose(loose.means, class_means(x * scales, identity))
    assert loose.squares == pytest.approx(float(np.sum((x * scales) ** 2)))


def test_the_input_is_left_alone(rng: np.random.Generator) -> None:
    x, identity = world(rng)
    x *= 3
    before = x.copy(), identity.copy()
    gathered(x, identity, second=True)
    assert np.array_equal(x, before[0])
    assert np.array_equal(identity, before[1])


def test_integers_strings_and_objects_name_the_same_people(rng: np.random.Generator) -> None:
    x, identity = world(rng, people=10)
    texts = np.array([f"person {i}" for i in identity])
    plain = gathered(x, identity)
    for labels in (texts, texts.astype(object), texts.tolist(), identity.astype(np.uint8)):
        assert np.array_equal(gathered(x, labels).means, plain.means)
    assert gathered(x, texts).labels[0] == "person 0"


def test_no_one_hot_is_ever_made(rng: np.random.Generator) -> None:
    rows, people = 20_000, 5_000
    x = rng.standard_normal((rows, 8), dtype=np.float32)
    identity = rng.permutation(rows) % people
    gathered(x[:10], identity[:10])  # imports
    tracemalloc.start()
    gathered(x, identity, second=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16e6, "a one-hot of bytes alone would take 100 MB"


# --- what is remembered of the data -----------------------------------------------------------


def test_the_coarsest_dtype_seen_is_remembered(rng: np.random.Generator) -> None:
    x, identity = world(rng)
    eps = {t: float(np.finfo(t).eps) for t in ("f2", "f4", "f8")}
    fine = gathered(x, identity)
    assert fine.eps == eps["f8"]
    assert fine.update(x.astype("f4"), identity).eps == eps["f4"]
    assert fine.update(x, identity).eps == eps["f4"]
    assert gathered(x, identity).merge(gathered(x.astype("f2"), identity)).eps == eps["f2"]
    stored = Moments(x.shape[1]).update(x.astype("f4"), identity, dtype="float16")
    assert stored.eps == eps["f2"]


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "words"), [(np.nan, "NaN"), (np.inf, "NaN"), (None, "zero")])
def test_a_bad_row_is_named_and_nothing_is_taken_in(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, value: float | None, words: str
) -> None:
    x, identity = world(rng)
    moments = gathered(x, identity, second=True)
    kept = moments.means.copy(), moments.covariance.copy()
    monkeypatch.setattr(module, "_CHUNK_ENTRIES", 16 * x.shape[1])
    bad = x.copy()
    bad[37] = 0.0
    if value is not None:
        bad[37, 5] = value
    with pytest.raises(DataError, match=f"row 37 .*{words}"):
        moments.update(bad, identity + 1000)
    assert moments.rows == len(x)
    assert moments.people == 24
    assert np.array_equal(moments.means, kept[0])
    assert np.array_equal(moments.covariance, kept[1])


def test_zero_rows_are_fine_where_length_does_not_matter() -> None:
    assert gathered(np.zeros((2, 3)), [0, 1], normalise=False).squares == 0.0


@pytest.mark.parametrize(
    ("x", "identity", "words"),
    [
        (np.ones((3, 2)), [0, 1], "3 vectors but 2 identities"),
        (np.ones((3, 4)), [0, 1, 2], "rows of 2 numbers"),
        (np.ones(2), [0, 1], "rows of 2 numbers"),
        (np.ones((3, 2)), np.eye(3), "not one-hot"),
        (np.ones((3, 2)), [[0], [1], [2]], "one identity label per row"),
        (np.ones((3, 2)), [0.0, np.nan, 1.0], "row 1 has no identity"),
        (np.ones((3, 2)), np.array(["a", "b", None], object), "row 2 has no identity"),
        (np.ones((3, 2)), np.array(["a", 1, "b"], object), "all strings or all integers"),
        (np.ones((3, 2)) + 1j, [0, 1, 2], "real numbers"),
        (np.array([["a", "b"]] * 3), [0, 1, 2], "real numbers"),
    ],
)
def test_what_cannot_be_summed_is_refused(x: Any, identity: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        Moments(2).update(x, identity)


def test_shards_that_name_people_differently_are_refused(rng: np.random.Generator) -> None:
    x, identity = world(rng)
    numbered, named = gathered(x, identity), gathered(x, identity.astype(str))
    with pytest.raises(DataError, match="int in one part and str in another"):
        numbered.merge(named)
    assert numbered.rows == len(x)


@pytest.mark.parametrize("options", [{"second": True}, {"normalise": False}])
def test_shards_of_another_make_are_refused(options: dict[str, bool]) -> None:
    with pytest.raises(DataError, match="different make"):
        Moments(3).merge(Moments(3, **options))
    with pytest.raises(DataError, match="different make"):
        Moments(3).merge(Moments(4))


def test_what_was_not_gathered_is_asked_for_by_name(rng: np.random.Generator) -> None:
    with pytest.raises(EraserError, match="second=True"):
        _ = gathered(*world(rng)).covariance
    with pytest.raises(DataError, match=r"call update\(\)"):
        _ = Moments(3).means
    with pytest.raises(DataError, match="at least 1"):
        Moments(0)

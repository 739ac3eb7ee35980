"""The attacker who needs nothing, and what all attackers share."""

from __future__ import annotations

import numpy as np
import pytest
from attack_worlds import blobs, indicators, scores
from hypothesis import given
from hypothesis import strategies as st

from efface.attack.verify.comparison import class_sums, linear_claim, unit_claim
from efface.attack.verify.cosine import Cosine
from efface.types import Release


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_scores_are_cosines(dtype: type, rng: np.random.Generator) -> None:
    data = (rng.standard_normal((30, 7)) * np.logspace(-2, 2, 30)[:, None]).astype(dtype)
    claim = Cosine().run(Release(data))
    assert claim.vectors.dtype == np.float32
    expected = scores(data.astype(np.float64))
    assert claim.vectors @ claim.vectors.T == pytest.approx(expected, abs=1e-6)


def test_it_learns_nothing_and_has_no_choice(rng: np.random.Generator) -> None:
    attack = Cosine()
    assert attack.options() == (attack,)
    assert attack.settings() == {}
    assert not attack.trained


def test_a_row_without_direction_claims_nothing() -> None:
    data = np.zeros((6, 300), np.float32)
    data[0, 3] = data[1, 4] = 2.0
    claimed = unit_claim(data).vectors
    assert np.linalg.norm(claimed, axis=1) == pytest.approx(np.ones(6))
    assert len(np.unique(claimed[2:], axis=0)) == 1  # alike against everybody
    assert not data[2:].any()  # the release itself is left alone


def test_tiny_and_huge_rows_keep_their_direction() -> None:
    data = np.array([[3e-100, 4e-100], [3e-5, 4e-5], [3e100, 4e100]])
    assert unit_claim(data).vectors == pytest.approx(np.tile([0.6, 0.8], (3, 1)))
    assert unit_claim(np.array([[3e-38, 4e-38]], np.float32)).vectors == pytest.approx(
        np.array([[0.6, 0.8]]), rel=1e-5
    )


def test_a_linear_claim_is_the_same_in_chunks(rng: np.random.Generator) -> None:
    data = rng.standard_normal((20_000, 3)).astype(np.float32)
    mean, weights = rng.standard_normal(3), rng.standard_normal((3, 2))
    claimed = linear_claim(data, mean, weights).vectors
    plain = (data.astype(np.float64) - mean) @ weights
    plain /= np.linalg.norm(plain, axis=1, keepdims=True)
    assert claimed == pytest.approx(plain, abs=1e-6)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_class_sums_are_those_of_one_hot_labels(codes: list[int]) -> None:
    identity = np.array(codes) * 10
    x = np.arange(len(codes) * 2, dtype=np.float64).reshape(-1, 2)
    sums, counts = class_sums(x, identity)
    hot = identity[:, None] == np.unique(identity)
    assert np.array_equal(sums, hot.T @ x)
    assert np.array_equal(counts, hot.sum(axis=0))


def test_centred_indicators_are_what_the_references_use() -> None:
    made = blobs(4, 3, 5)
    assert indicators(made.identity).sum(axis=0) == pytest.approx(np.zeros(4), abs=1e-12)

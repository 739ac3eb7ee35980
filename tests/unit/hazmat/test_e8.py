"""E8: theorems about its cells that need no second decoder."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from efface.hazmat import e8

FINITE = st.floats(-1e4, 1e4)


def roots() -> np.ndarray:
    """The 240 shortest vectors: two of +-1, or eight halves with an even number of minus signs."""
    whole = [
        a * np.eye(8)[i] + b * np.eye(8)[j]
        for i, j in itertools.combinations(range(8), 2)
        for a, b in itertools.product((1, -1), repeat=2)
    ]
    half = [np.array(s) / 2 for s in itertools.product((1, -1), repeat=8) if s.count(-1) % 2 == 0]
    return np.array(whole + half)


def test_the_240_shortest_vectors_decode_to_themselves() -> None:
    assert len(roots()) == 240
    np.testing.assert_array_equal(e8.decode(roots()), roots())


@given(arrays(float, (3, 16), elements=FINITE))
def test_what_is_decoded_is_within_the_covering_radius_and_decodes_to_itself(
    x: np.ndarray,
) -> None:
    found = e8.decode(x)
    off = ((x - found).reshape(-1, 8) ** 2).sum(axis=1)
    assert (off <= 1 + 1e-9).all()
    np.testing.assert_array_equal(e8.decode(found), found)


@given(arrays(float, 8, elements=FINITE), st.integers(0, 239))
def test_decoding_moves_with_the_lattice(x: np.ndarray, which: int) -> None:
    shift = 3 * roots()[which]
    off = x - e8.decode(x)
    moved = (x + shift) - e8.decode(x + shift)
    # Where two points are equally near either may be taken: then only the distance is the same.
    assert float(moved @ moved) == pytest.approx(float(off @ off), abs=1e-6)


def test_anything_shorter_than_the_packing_radius_decodes_to_zero(
    rng: np.random.Generator,
) -> None:
    x = rng.standard_normal((500, 8))
    x *= 0.7071 / np.linalg.norm(x, axis=1, keepdims=True)
    assert not e8.decode(x).any()


def test_reach_is_where_the_cell_ends(rng: np.random.Generator) -> None:
    d = rng.standard_normal((300, 24)) * rng.uniform(0.1, 10, (300, 1))
    border = e8.reach(d)[:, None]
    assert not e8.decode(d * border * (1 - 1e-9)).any()
    assert e8.decode(d * border * (1 + 1e-9)).any(axis=1).all()


def test_reach_is_one_over_the_largest_product_with_a_root(rng: np.random.Generator) -> None:
    d = rng.standard_normal((50, 8))
    np.testing.assert_allclose(e8.reach(d), 1 / (d @ roots().T).max(axis=1))
    assert np.isinf(e8.reach(np.zeros((1, 8))))[0]


def test_the_number_of_blocks_changes_nothing(rng: np.random.Generator) -> None:
    x = rng.normal(size=(2048 * 2 + 3, 8))
    whole = e8.decode(x)
    np.testing.assert_array_equal(e8.decode(x[:2050])[:2050], whole[:2050])
    np.testing.assert_array_equal(e8.decode(x.reshape(1, -1, 8))[0], whole)
    assert e8.decode(x[:0]).shape == (0, 8)

"""Principal cosines and energy (P16) against SciPy, theorems and hand-made subspaces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import subspace_angles

from efface.diagnose.subspace import energy, principal_cosines, random_cosines, rank_for
from efface.errors import DataError


@pytest.mark.parametrize(("ra", "rb"), [(1, 1), (3, 7), (10, 4), (12, 12)])
def test_cosines_agree_with_scipy(ra: int, rb: int, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((20, ra)), rng.standard_normal((20, rb))
    expected = np.sort(np.cos(subspace_angles(a, b)))[::-1]
    np.testing.assert_allclose(principal_cosines(a, b), expected, atol=1e-12)


def test_known_angles_are_read_back(rng: np.random.Generator) -> None:
    """span(e1, e2) against the same turned by 30 and 60 degrees into fresh directions."""
    turn = np.linalg.qr(rng.standard_normal((9, 9)))[0]
    angles = np.radians([30.0, 60.0])
    a = turn[:, :2]
    b = a * np.cos(angles) + turn[:, 2:4] * np.sin(angles)
    np.testing.assert_allclose(principal_cosines(a, b), np.cos(angles), atol=1e-14)


def test_only_the_spans_matter(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((15, 4)), rng.standard_normal((15, 6))
    expected = principal_cosines(a, b)
    mixed = a @ rng.standard_normal((4, 4)) * np.array([1e-12, 1.0, 1e3, 1e8])
    np.testing.assert_allclose(principal_cosines(mixed, b), expected, atol=1e-9)
    np.testing.assert_allclose(principal_cosines(b, a), expected, atol=1e-12)
    turn = np.linalg.qr(rng.standard_normal((15, 15)))[0]
    np.testing.assert_allclose(principal_cosines(turn @ a, turn @ b), expected, atol=1e-12)


def test_shared_directions_are_ones_and_orthogonal_ones_zeros(rng: np.random.Generator) -> None:
    q = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    cosines = principal_cosines(q[:, :5], q[:, 3:8])
    np.testing.assert_allclose(cosines, [1, 1, 0, 0, 0], atol=1e-12)
    assert cosines.max() <= 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_column_repeated_but_for_rounding_adds_no_direction(
    dtype: type, rng: np.random.Generator
) -> None:
    a = rng.standard_normal((30, 3)).astype(dtype)
    noise = np.finfo(dtype).eps * rng.standard_normal(30)
    doubled = np.hstack([a, (a @ [1.0, 2.0, 3.0] * (1 + noise))[:, None].astype(dtype)])
    assert doubled.shape[1] == 4
    assert len(principal_cosines(doubled, rng.standard_normal((30, 6)))) == 3


def test_the_baseline_is_what_random_subspaces_show(rng: np.random.Generator) -> None:
    base = random_cosines(40, 6, 15, rng, draws=400)
    slow = np.array([
        principal_cosines(rng.standard_normal((40, 6)), rng.standard_normal((40, 15)))
        for _ in range(400)
    ])  # fmt: skip
    np.testing.assert_allclose(base.mean, slow.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(base.low, np.quantile(slow, 0.025, axis=0), atol=0.05)
    np.testing.assert_allclose(base.high, np.quantile(slow, 0.975, axis=0), atol=0.05)
    assert (base.low < base.mean).all()
    assert (base.mean < base.high).all()


def test_mean_squared_cosine_is_the_larger_rank_over_the_dimension(
    rng: np.random.Generator,
) -> None:
    """E |PaPb|^2 = ra rb / d for independent projectors: the sum has an exact expectation."""
    total = [float((random_cosines(50, 8, 20, rng, draws=1).mean ** 2).sum()) for _ in range(300)]
    assert np.mean(total) == pytest.approx(8 * 20 / 50, abs=4 * np.std(total) / np.sqrt(300))


def test_big_random_subspaces_look_alike_in_their_largest_cosine(
    rng: np.random.Generator,
) -> None:
    base = random_cosines(64, 32, 32, rng, draws=16)
    assert base.mean[0] > 0.98
    assert base.mean[-1] < 0.1


def test_ranks_that_fill_the_space_must_meet(rng: np.random.Generator) -> None:
    base = random_cosines(10, 7, 6, rng, draws=5)
    np.testing.assert_allclose(base.mean[:3], 1.0, atol=1e-12)
    assert base.mean[3] < 1 - 1e-6
    again = random_cosines(10, 6, 7, np.random.default_rng(1), draws=5)
    same = random_cosines(10, 7, 6, np.random.default_rng(1), draws=5)
    np.testing.assert_array_equal(again.mean, same.mean)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20), st.floats(0.01, 1.0))
def test_energy_and_rank_are_each_others_inverse(values: list[float], coverage: float) -> None:
    squared = np.sort(np.array([1.0, *values]))[::-1]
    shares = energy(squared)
    rank = rank_for(squared, coverage)
    assert shares[-1] == 1.0
    assert (np.diff(shares) >= 0).all()
    assert shares[rank - 1] >= coverage
    assert rank == 1 or shares[rank - 2] < coverage


def test_energy_by_hand() -> None:
    np.testing.assert_allclose(energy(np.array([6.0, 3.0, 1.0, 0.0])), [0.6, 0.9, 1.0, 1.0])
    assert rank_for(np.array([6.0, 3.0, 1.0, 0.0]), 0.6) == 1
    assert rank_for(np.array([6.0, 3.0, 1.0, 0.0]), 0.61) == 2
    assert rank_for(np.array([6.0, 3.0, 1.0, -1e-17]), 1.0) == 3
    assert energy(np.array([6.0, 3.0, 1.0, -1e-9])).tolist()[2:] == [1.0, 1.0]


def test_refusals(rng: np.random.Generator) -> None:
    a = rng.standard_normal((8, 3))
    with pytest.raises(DataError, match=r"got shapes \(8, 3\) and \(9, 3\)"):
        principal_cosines(a, rng.standard_normal((9, 3)))
    with pytest.raises(DataError, match="second basis spans no subspace: column 1 is zero"):
        principal_cosines(a, a * np.array([1.0, 0.0, 1.0]))
    with pytest.raises(DataError, match="column 0 is zero or not finite"):
        principal_cosines(a * np.nan, a)
    with pytest.raises(DataError, match="there is no column"):
        principal_cosines(a[:, :0], a)
    for ranks in ((0, 2), (2, 9)):
        with pytest.raises(DataError, match="ranks must lie between"):
            random_cosines(8, *ranks, rng)
    with pytest.raises(DataError, match="above zero"):
        energy(np.zeros(3))
    with pytest.raises(DataError, match="energy 2 is negative or larger"):
        energy(np.array([3.0, 1.0, 2.0]))
    with pytest.raises(DataError, match="energy 1 is negative"):
        energy(np.array([3.0, -1.0]))
    with pytest.raises(DataError, match="coverage is a share"):
        rank_for(np.ones(3), 1.1)

"""The projection onto the Fantope: feasible, nearest, and equal to a slow bisection."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from efface.protect.linear.fantope import onto_capped_simplex, onto_fantope

values = arrays(float, st.integers(1, 12), elements=st.floats(-3, 3, width=32))


def bisected(values: np.ndarray, k: int) -> np.ndarray:
    low, high = values.min() - 1, values.max()
    for _ in range(200):
        middle = (low + high) / 2
        if np.clip(values - middle, 0, 1).sum() > k:
            low = middle
        else:
            high = middle
    return np.clip(values - high, 0, 1)


@given(values=values, data=st.data())
def test_capped_simplex_equals_bisection(values: np.ndarray, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    found = onto_capped_simplex(values, k)
    assert found.sum() == pytest.approx(k, abs=1e-12)
    assert found.min() >= 0
    assert found.max() <= 1
    assert np.allclose(found, bisected(values, k) if k < len(values) else 1.0, atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(2, 8), data=st.data())
def test_the_fantope_point_is_the_nearest(seed: int, size: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, size - 1))
    rng = np.random.default_rng(seed)
    given_ = rng.standard_normal((size, size))
    given_ += given_.T
    nearest, frame = onto_fantope(given_, k)
    eigen = np.linalg.eigvalsh(nearest)
    assert eigen.min() > -1e-12
    assert eigen.max() < 1 + 1e-12
    assert np.trace(nearest) == pytest.approx(k)
    assert np.allclose(frame.T @ frame, np.eye(k))
    # A point of a convex set is nearest exactly when no other point makes an acute angle.
    for _ in range(20):
        other = np.linalg.qr(rng.standard_normal((size, k)))[0]
        assert np.sum((given_ - nearest) * (other @ other.T - nearest)) <= 1e-9


def test_a_projection_stays_itself(rng: np.random.Generator) -> None:
    frame = np.linalg.qr(rng.standard_normal((9, 4)))[0]
    found, leading = onto_fantope(frame @ frame.T, 4)
    assert np.allclose(found, frame @ frame.T)
    assert np.allclose(leading @ leading.T, frame @ frame.T)

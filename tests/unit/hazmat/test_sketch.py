"""Sketches lead back to the enrolled vector, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from efface.hazmat.lattice import Lattice, Shape
from efface.hazmat.reduction import reduced
from efface.hazmat.sketch import e8_recover, e8_sketch, lattice_recover, lattice_sketch


@given(arrays(float, 16, elements=st.floats(-3, 3)), st.integers(0, 2**32 - 1))
def test_every_near_vector_recovers_the_same_bytes(x: np.ndarray, seed: int) -> None:
    sketch = e8_sketch(x)
    own = e8_recover(sketch, x[None])
    noise = np.random.default_rng(seed).standard_normal((5, 2, 8))
    noise *= 0.7 / np.linalg.norm(noise, axis=2, keepdims=True)  # packing radius 0.7071
    found = e8_recover(sketch, x + noise.reshape(5, 16))
    assert {row.tobytes() for row in found} == {own[0].tobytes()}
    np.testing.assert_allclose(own[0], x, atol=1e-6)


def test_the_sketch_of_a_short_vector_is_the_negated_vector(rng: np.random.Generator) -> None:
    """What PIPE reads: at scales that accept people, c is mostly zero."""
    x = rng.standard_normal((20, 512))
    x *= 5.7 / np.linalg.norm(x, axis=1, keepdims=True)
    sketch = np.stack([e8_sketch(row) for row in x]).astype(float)
    cosine = (-sketch * x).sum(axis=1) / np.linalg.norm(sketch, axis=1) / 5.7
    assert cosine.mean() > 0.5
    assert cosine.min() > 0.3  # of vectors without relation it is 0 +- 0.04


@pytest.mark.parametrize("shape", [Shape(24, 8, 130003), Shape(24, 8, 2_147_483_647)])
def test_the_lattice_sketch_gives_its_secret_back(shape: Shape, rng: np.random.Generator) -> None:
    basis = reduced(Lattice(shape, bytes(32)))
    secret, x = rng.integers(0, shape.q, shape.l), rng.integers(0, 180, shape.m)
    sketch = lattice_sketch(basis.lattice, secret, x)
    assert sketch.dtype == np.int32
    probes = x + rng.integers(-9, 10, (30, shape.m))
    assert (lattice_recover(basis, sketch, probes) == secret).all()

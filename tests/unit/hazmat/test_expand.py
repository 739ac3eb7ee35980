"""Streams from a seed: uniform, apart from each other, and the same for ever."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.hazmat.expand import gaussians, residues, stream

SEED = bytes(range(32))
GOLDEN_RESIDUES = [52296, 28067, 62737, 126892]
GOLDEN_GAUSSIANS = [-0.057366144959529, -0.1902180885011698, -0.8642762354425292]


def test_a_stream_is_shake_under_a_label_with_its_length() -> None:
    wanted = hashlib.shake_256(b"\x03\x00abc" + SEED).digest(40)
    assert stream(SEED, "abc", 40) == wanted
    assert stream(SEED, "abc", 10) == wanted[:10]


def test_labels_cannot_run_into_the_seed() -> None:
    assert stream(b"c" + SEED, "ab", 32) != stream(SEED, "abc", 32)


def test_stored_templates_rest_on_these_values() -> None:
    # If this changes, every stored seed means another matrix: make a new version of the scheme.
    assert residues(SEED, "lattice 0", (4,), 130003).tolist() == GOLDEN_RESIDUES
    np.testing.assert_allclose(gaussians(SEED, "mrp", (3,)), GOLDEN_GAUSSIANS, rtol=1e-14)


@given(st.integers(2, 2**31 - 1), st.integers(0, 40))
def test_residues_are_those_of_a_loop(q: int, count: int) -> None:
    words = np.frombuffer(stream(SEED, "x", 4 * 400), "<u4").tolist()
    limit = 2**32 // q * q
    wanted = [word % q for word in words if word < limit][:count]
    assert residues(SEED, "x", (count,), q).tolist() == wanted


def test_residues_are_uniform_where_most_words_are_skipped() -> None:
    q = (1 << 31) + 11  # no modulus of ours: the rule at its worst, half of all words are skipped
    drawn = residues(SEED, "half", (20_000,), q)
    assert 0 <= drawn.min() <= drawn.max() < q
    counts = np.histogram(drawn, bins=20, range=(0, q))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 50  # chi squared with 19 degrees of freedom


def test_gaussians_have_the_moments_of_gaussians() -> None:
    x = gaussians(SEED, "moments", (200_001,))
    assert x.shape == (200_001,)
    assert abs(x.mean()) < 0.01
    assert x.std() == pytest.approx(1, abs=0.01)
    assert (x**4).mean() == pytest.approx(3, abs=0.1)
    assert abs((x[::2][:100_000] * x[1::2]).mean()) < 0.01  # the two of a pair do not go together

"""Arithmetic modulo a prime, exact where floats would not be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.errors import PlanError
from efface.hazmat import modular

PRIMES = [2, 3, 17, 97, 130003, 67_108_859, 2_147_483_647]


def slow(a: np.ndarray, b: np.ndarray, q: int) -> list[list[int]]:
    return [
        [sum(int(x) * int(y) for x, y in zip(row, column, strict=True)) % q for column in b.T]
        for row in a
    ]


@pytest.mark.parametrize("q", PRIMES)
def test_products_are_those_of_python_integers(rng: np.random.Generator, q: int) -> None:
    a, b = rng.integers(q - min(q, 9), q, (5, 70)), rng.integers(0, q, (70, 6))
    assert modular.matmul(a, b, q).tolist() == slow(a, b, q)
    assert modular.matmul(a[0], b, q).tolist() == slow(a[:1], b, q)[0]


def test_float32_products_would_be_wrong(rng: np.random.Generator) -> None:
    """The trap that the published code fell into."""
    q = 130003
    a, b = rng.integers(0, q, (20, 60)), rng.integers(0, q, (60, 20))
    rounded = np.rint(a.astype("f4") @ b.astype("f4")).astype(np.int64) % q
    assert (rounded != modular.matmul(a, b, q)).mean() > 0.9


@pytest.mark.parametrize("q", PRIMES)
def test_inverse_times_matrix_is_one(rng: np.random.Generator, q: int) -> None:
    for _ in range(40):
        matrix = rng.integers(0, q, (7, 7))
        found = modular.inverse(matrix, q)
        if found is not None:
            assert modular.matmul(found, matrix, q).tolist() == np.eye(7, dtype=int).tolist()
            return
    pytest.fail("no matrix could be inverted")


@given(st.integers(0, 2**32 - 1))
def test_a_singular_matrix_has_no_inverse(seed: int) -> None:
    rng = np.random.default_rng(seed)
    thin = modular.matmul(rng.integers(0, 97, (6, 5)), rng.integers(0, 97, (5, 6)), 97)
    assert modular.inverse(thin, 97) is None


@pytest.mark.parametrize("q", PRIMES)
def test_primes_are_taken(q: int) -> None:
    modular.check_prime(q)


@pytest.mark.parametrize("q", [-7, 0, 1, 4, 130004, 130003 * 2, 46337**2, 2**31 + 11])
def test_other_moduli_are_refused(q: int) -> None:
    with pytest.raises(PlanError, match="no prime below"):
        modular.check_prime(q)

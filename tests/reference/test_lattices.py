"""The vectorised decoders against the slow ones: E8 by all candidates, Babai in exact fractions."""

from __future__ import annotations

from fractions import Fraction

import lattices_slow as slow
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.hazmat import e8
from efface.hazmat.lattice import Lattice, Shape
from efface.hazmat.reduction import DELTA, ETA, Basis, nearest_plane, nearest_point, reduced

SHAPE = Shape(12, 4, 97)


def in_e8(points: np.ndarray) -> np.ndarray:
    """All integer or all half-integer, with an even sum."""
    double = np.rint(2 * points).astype(int)
    same = (double % 2 == double[:, :1] % 2).all(axis=1)
    return same & (double / 2 == points).all(axis=1) & (double.sum(axis=1) % 4 == 0)


def test_e8_is_nearest_among_all_candidates(rng: np.random.Generator) -> None:
    x = np.concatenate([rng.normal(size=(60, 8)) * s for s in (0.3, 1.0, 7.0)])
    found = e8.decode(x)
    assert in_e8(found).all()
    off = ((x - found) ** 2).sum(axis=1)
    wanted = [slow.e8_near(row)[0] for row in x.tolist()]
    np.testing.assert_allclose(off, wanted, rtol=0, atol=1e-12)


# Quarters lie on walls between cells, where two or more points are equally near.
@given(st.lists(st.integers(-20, 20), min_size=8, max_size=8))
def test_e8_on_the_walls_is_as_near_as_can_be(quarters: list[int]) -> None:
    x = np.array([quarters]) / 4
    found = e8.decode(x)
    assert in_e8(found).all()
    assert float(((x - found) ** 2).sum()) == pytest.approx(slow.e8_near(x[0].tolist())[0])


def test_lll_is_reduced_and_spans_the_same_lattice() -> None:
    lattice = Lattice(SHAPE, bytes(32))
    basis = reduced(lattice)
    rows = basis.rows.tolist()
    assert not slow.lll_reduced(lattice.basis().tolist(), Fraction(DELTA), Fraction(ETA))
    assert slow.lll_reduced(
        rows, Fraction(DELTA) - Fraction(1, 1000), Fraction(ETA) + Fraction(1, 1000)
    )
    assert lattice.contains(basis.rows).all()
    assert slow.determinant(rows) == SHAPE.q ** (2 * (SHAPE.m - SHAPE.l))


@pytest.mark.parametrize("unreduced", [True, False])
def test_babai_is_that_of_exact_fractions(rng: np.random.Generator, unreduced: bool) -> None:
    lattice = Lattice(SHAPE, bytes(32))
    basis = Basis(lattice, lattice.basis()) if unreduced else reduced(lattice)
    targets = rng.integers(-300, 300, (80, SHAPE.m))
    wanted = np.array([slow.babai(basis.rows.tolist(), t) for t in targets.tolist()])
    np.testing.assert_array_equal(nearest_point(basis, targets), wanted)
    np.testing.assert_array_equal(nearest_plane(basis, targets), lattice.secrets(wanted))


def test_babai_is_that_of_fpylll(rng: np.random.Generator) -> None:
    fpylll = pytest.importorskip("fpylll", reason="fpylll (GPL) is for audits, not installed")
    basis = reduced(Lattice(Shape(60, 20, 130003), bytes(32)))
    matrix = fpylll.GSO.Mat(fpylll.IntegerMatrix.from_matrix(basis.rows.tolist()))
    matrix.update_gso()
    targets = rng.integers(0, 130003, (50, 60))
    wanted = [np.array(matrix.babai(t), dtype=np.int64) @ basis.rows for t in targets.tolist()]
    np.testing.assert_array_equal(nearest_point(basis, targets), wanted)

"""BKZ at the published size: how much further than LLL it decodes. Needs fpylll."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from efface.attack.template.lattice_reduction import bkz, stronger
from efface.errors import MissingExtra
from efface.hazmat.lattice import Lattice, Shape
from efface.hazmat.reduction import Basis, reduced
from efface.protect.template.bases import Memory

HERE = importlib.util.find_spec("fpylll") is not None
needs_fpylll = pytest.mark.skipif(
    not HERE, reason="fpylll (extra audit-gpl, GPL) is not installed: no reduction beyond LLL"
)
SMALL = Lattice(Shape(40, 13, 130003), b"s" * 32)


def radius(basis: Basis, share: float) -> float:
    """The length of noise that decodes to zero for a share of random directions."""
    noise = np.random.default_rng(0).standard_normal((2000, basis.lattice.shape.m))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    return float(np.quantile(basis.reach(noise), 1 - share))


@needs_fpylll
@pytest.mark.slow
def test_at_the_published_size_bkz_corrects_twice_as_much_as_lll() -> None:
    basis = reduced(Lattice(Shape(180, 60, 130003), bytes(32)))
    strong = bkz(basis, 10)
    assert strong.lattice == basis.lattice
    for share in (0.99, 0.5, 0.1):
        assert radius(strong, share) > 2 * radius(basis, share)


@needs_fpylll
def test_a_stronger_basis_is_of_the_same_lattice_and_begins_at_the_service_s() -> None:
    asked: list[Any] = []

    class Watched(Memory):
        def known(self, lattice: Lattice, digest: bytes) -> Basis:
            asked.append(lattice)
            return super().known(lattice, digest)

    made = stronger(Watched(), 10)(SMALL)
    assert asked == [SMALL]
    made.check()
    assert radius(made, 0.5) >= 0.95 * radius(reduced(SMALL), 0.5)


@pytest.mark.skipif(HERE, reason="fpylll is installed: there is nothing to be told")
def test_without_fpylll_the_extra_is_named() -> None:
    with pytest.raises(MissingExtra, match="audit-gpl"):
        bkz(reduced(SMALL), 10)

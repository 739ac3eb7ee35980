"""Theorem 1 of L2FE-Hash against numbers computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from efface.errors import DataError
from efface.measure.guesses import bits, guesses, guesses_for_half, guesses_seen, per_guess
from efface.measure.theorem import Theorem1

PAPER = Theorem1(m=180, l=60, q=130003, r=91, balls=8e9, radius=100, error=2.0**-64)
# m = 4, l = 2, q = 101: sqrt(4 / 17.0795) * sqrt(101) = 0.483941 * 10.049876 = 4.863551.
SMALL = Theorem1(m=4, l=2, q=101, r=10, balls=2, radius=3, error=0.5)


def test_the_shortest_vector_of_the_paper_s_lattice() -> None:
    # 180 / (2 pi e) = 10.5389, its root 3.24637; 130003^(2/3) = e^(2/3 * 11.775312) = 2566.1
    assert PAPER.shortest == pytest.approx(3.24637 * 2566.1, rel=1e-4)


def test_the_paper_s_own_scale_is_far_from_its_hypothesis() -> None:
    # R = 130003 * 0.0014 / 2 = 91 levels, 8330 are needed: 91.5 times too few.
    assert 1 / PAPER.alpha == pytest.approx(8330.5 / 91, rel=1e-3)
    assert not PAPER.holds
    assert PAPER.gamma < PAPER.ceiling < 0
    assert PAPER.kappa == 0


def test_a_small_case_by_hand() -> None:
    assert SMALL.shortest == pytest.approx(4.863551, rel=1e-6)
    assert SMALL.alpha == pytest.approx(10 / 4.863551, rel=1e-6)
    assert SMALL.holds
    # beta pi^2 / 2! 3^4 = 2 * 4.934802 * 81 = 799.4380 points, log2 = 9.642842
    assert SMALL.entropy == pytest.approx(9.642842, abs=1e-6)
    assert SMALL.box == pytest.approx(4 * math.log2(21))
    # 9.642842 + 4 * log2(2.056134) - 4 * 4.392317 = 9.642842 + 4.159765 - 17.569270
    assert SMALL.gamma == pytest.approx(-3.766663, abs=1e-4)
    assert SMALL.kappa == 0


def test_kappa_where_the_balls_fill_the_box() -> None:
    full = replace(SMALL, radius=1000)
    assert full.entropy == full.box
    assert full.gamma == pytest.approx(full.ceiling) == pytest.approx(4.159765, abs=1e-4)
    # gamma - 2 log2(1 / 0.5) + 2 = gamma
    assert full.kappa == pytest.approx(full.gamma)
    assert replace(full, error=0.25).kappa == pytest.approx(full.gamma - 2)


def test_the_hypothesis_is_strict() -> None:
    assert not replace(SMALL, r=SMALL.shortest).holds
    assert replace(SMALL, r=SMALL.shortest * 1.001).holds


@pytest.mark.parametrize(
    "wrong", [{"l": 4}, {"l": 0}, {"r": 0.0}, {"balls": 0}, {"radius": -1}, {"error": 1.0}]
)
def test_what_the_theorem_does_not_speak_of_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(DataError, match="Theorem 1 needs"):
        replace(SMALL, **wrong)


def test_bits_and_guesses_by_hand() -> None:
    assert bits(0.125) == 3
    assert bits(0) == math.inf
    assert guesses(0.5, 0.5) == 1
    assert guesses(0.1, 0.5) == 7  # 0.9^6 = 0.531, 0.9^7 = 0.478
    assert guesses(0.1, 0.99) == 44  # 0.9^43 = 0.0108, 0.9^44 = 0.0097
    assert guesses(1, 0.5) == 1
    assert guesses(0, 0.99) == math.inf


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan])
def test_what_is_no_rate_is_refused(rate: float) -> None:
    with pytest.raises(DataError, match="false-match rate"):
        guesses(rate, 0.5)
    with pytest.raises(DataError, match="chance of success"):
        guesses(0.5, 1.0)


def test_guesses_that_were_seen() -> None:
    import numpy as np

    tried = np.array([3, 0, 1, 9])  # the second template never opened
    assert guesses_seen(tried, 0.5) == 3
    assert guesses_seen(tried, 0.75) == 9
    assert guesses_seen(tried, 0.99) is None


def test_a_share_is_extended_at_the_rate_that_gave_it() -> None:
    """So a search that ended one person short of half is no dearer than one that did not."""
    import numpy as np

    assert per_guess(0.75, 2) == pytest.approx(0.5)
    assert per_guess(0.0, 9) == 0
    assert per_guess(1.0, 9) == 1
    for share in (0.02, 0.3, 0.49):  # that many guesses open that share again
        assert 1 - (1 - per_guess(share, 5000)) ** 5000 == pytest.approx(share)
    tried = np.array([1] * 499 + [0] * 501)
    assert guesses_for_half(tried, 5000, 0.0)[0] == pytest.approx(5000, rel=0.01)

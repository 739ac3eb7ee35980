"""Surroundings revealed step by step: exact shares, a face that stays, nothing that leaks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.errors import DataError
from efface.faces.mask import face_masks
from efface.faces.reveal import HIDDEN, reveal_weights, revealed, shown

POINTS = np.array([[40.0, 45], [60, 45], [50, 55], [43, 65], [57, 65]])
MASK = face_masks(POINTS[None], (100, 100))[0]
LEVELS = (0.2, 0.4, 0.6, 0.8, 1.0)


@given(st.floats(0, 1))
def test_so_much_of_the_surroundings_is_shown(level: float) -> None:
    found = shown(MASK, level)
    share = (found & ~MASK).sum() / (~MASK).sum()
    assert (found >= MASK).all()
    assert level - 1e-3 <= share <= level + 0.02  # pixels equally far come together


def test_what_is_shown_once_stays_shown() -> None:
    steps = [shown(MASK, level) for level in (0, *LEVELS)]
    assert np.array_equal(steps[0], MASK)
    assert steps[-1].all()
    for less, more in itertools.pairwise(steps):
        assert (more >= less).all()


def test_the_nearest_pixels_come_first() -> None:
    from scipy import ndimage

    away = ndimage.distance_transform_edt(~MASK)
    found = shown(MASK, 0.3)
    assert away[found].max() <= away[~found].min()


def test_the_face_is_untouched_and_what_is_hidden_tells_nothing() -> None:
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 256, (2, 100, 100, 3), np.uint8)
    two[MASK] = one[MASK]
    a, b = revealed(one, MASK, LEVELS), revealed(two, MASK, LEVELS)
    for k, level in enumerate(LEVELS):
        assert np.array_equal(a[k][MASK], one[MASK])
        from_afar = reveal_weights(MASK, (level,))[0] == 0
        assert (a[k][from_afar] == HIDDEN).all()
        assert np.array_equal(a[k][from_afar], b[k][from_afar])
    assert np.array_equal(a[-1], one)


def test_nothing_of_the_surroundings_at_level_nought_beyond_the_soft_edge() -> None:
    weights = reveal_weights(MASK, (0.0,))[0]
    assert (weights[MASK] == 1).all()
    assert weights[:10].max() == 0


def test_levels_and_masks_that_make_no_sense_are_refused() -> None:
    with pytest.raises(DataError, match=r"1\.5 of the background"):
        shown(MASK, 1.5)
    with pytest.raises(DataError, match="without a pixel"):
        shown(np.zeros((5, 5), bool), 0.5)

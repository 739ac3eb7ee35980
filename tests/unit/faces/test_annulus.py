"""Rings against brute force: dilation by every disc, and the nearest area of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_faces import UPRIGHT, turned
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.faces.annulus import as_runs, equal_area_annuli, grown
from efface.faces.mask import Runs, face_masks, face_runs


def dilated(mask: np.ndarray, width_squared: int) -> np.ndarray:
    """Every pixel no further than w from a pixel of the mask, by looking at each pair."""
    y, x = np.nonzero(mask)
    py, px = np.indices(mask.shape)
    away = (py[..., None] - y) ** 2 + (px[..., None] - x) ** 2
    return (away <= width_squared).any(axis=-1) if len(y) else mask


def slowly(mask: np.ndarray) -> tuple[np.ndarray, float]:
    """Try every radius; the first of the nearest areas."""
    inside = mask.sum()
    rings = [dilated(mask, q) & ~mask for q in range(2 * max(mask.shape) ** 2)]
    best = min(rings, key=lambda ring: abs(int(ring.sum()) - int(inside)))
    return best, (best.sum() - inside) / inside


def test_a_single_pixel_by_hand() -> None:
    """Around one pixel the first ring, w = 1, has four: three too many; none is one too few."""
    mask = np.zeros((1, 9, 9), np.bool_)
    mask[0, 4, 4] = True
    made = equal_area_annuli(mask)
    assert made.masks.sum() == 0
    assert made.difference.tolist() == [-1]
    assert made.matched.tolist() == [False]


def test_a_square_of_nine_by_hand() -> None:
    """Nine pixels: the ring of w = 1 has twelve, which is nearer than none."""
    mask = np.zeros((1, 11, 11), np.bool_)
    mask[0, 4:7, 4:7] = True
    made = equal_area_annuli(mask)
    assert made.masks.sum() == 12
    assert made.widths.tolist() == [1]
    assert made.difference.tolist() == [pytest.approx(1 / 3)]


@settings(max_examples=25)
@given(st.floats(-90, 90), st.floats(0.04, 0.11), st.floats(-4, 4), st.floats(-4, 4))
def test_small_faces_as_brute_force_finds_them(
    degrees: float, scale: float, x: float, y: float
) -> None:
    points = turned(UPRIGHT - [110, 122.5] + 13, degrees, scale, (x, y))
    runs = face_runs(points[None], (26, 28))
    mask = runs.masks()[0]
    if not mask.any():
        return
    made, (ring, difference) = equal_area_annuli(runs), slowly(mask)
    assert made.masks[0].sum() == ring.sum()
    assert made.difference[0] == pytest.approx(difference)
    assert not (made.masks[0] & mask).any()


@given(st.floats(-90, 90), st.integers(0, 90))
def test_growing_runs_is_dilating_masks(degrees: float, width_squared: int) -> None:
    runs = face_runs(turned(UPRIGHT - [110, 122.5] + 13, degrees, 0.1)[None], (26, 28))
    fast = grown(runs, np.array([width_squared])).masks()[0]
    assert np.array_equal(fast, dilated(runs.masks()[0], width_squared))


def test_a_batch_of_real_sizes_is_matched_and_equals_the_distance_transform() -> None:
    points = np.stack([turned(UPRIGHT, d, s) for d in (-30, 0, 12) for s in (0.6, 0.9, 1.1)] * 3)
    masks = face_masks(points, (224, 224))
    made = equal_area_annuli(masks)
    assert made.matched.all()
    assert np.abs(made.difference).max() < 0.01
    assert not (made.masks & masks).any()
    torn = masks.copy()
    torn[:, 0, 0] = True  # a crumb far away: no longer one run per row, so the other way is taken
    assert as_runs(torn) is None
    other = equal_area_annuli(torn)
    assert other.matched.all()
    assert np.abs(other.widths - made.widths).max() < 2


def test_both_ways_agree_exactly() -> None:
    from efface.faces.annulus import _of_any_masks

    masks = face_masks(np.stack([turned(UPRIGHT, d) for d in (0, 25)]), (224, 224))
    fast, general = equal_area_annuli(masks), _of_any_masks(masks)
    assert np.array_equal(fast.masks, general.masks)
    assert np.array_equal(fast.difference, general.difference)


def test_a_face_of_most_of_the_picture_has_no_equal_ring() -> None:
    made = equal_area_annuli(face_masks(UPRIGHT[None] * 2 - 110, (224, 224)))
    assert not made.matched[0]
    assert made.difference[0] < -0.02
    assert (made.masks[0] | face_masks(UPRIGHT[None] * 2 - 110, (224, 224))[0]).all()


def test_no_face_has_no_ring_and_none_is_no_error() -> None:
    empty = equal_area_annuli(np.zeros((2, 30, 30), np.bool_))
    assert not empty.masks.any()
    assert not empty.matched.any()
    assert len(equal_area_annuli(np.zeros((0, 30, 30), np.bool_)).masks) == 0
    ragged = np.zeros((1, 30, 30), np.bool_)
    ragged[0, 3, [2, 9]] = True
    assert equal_area_annuli(ragged).masks.sum() in (0, 8)


@pytest.mark.parametrize(
    "rows",
    [
        [(5, 8), (12, 14)],  # neighbours that do not touch
        [(5, 8), None, (5, 8)],  # a gap
    ],
)
def test_rows_that_do_not_touch_are_no_runs(rows: list) -> None:
    mask = np.zeros((1, 8, 20), np.bool_)
    for y, span in enumerate(rows):
        if span:
            mask[0, y, span[0] : span[1] + 1] = True
    assert as_runs(mask) is None
    whole = as_runs(face_masks(UPRIGHT[None], (224, 224)))
    assert isinstance(whole, Runs)

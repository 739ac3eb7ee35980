"""Histogram matching and Poisson blending: theorems, and a dense solver beside the sparse one."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_faces import UPRIGHT
from hypothesis import given
from hypothesis import strategies as st

from efface.errors import DataError
from efface.faces import poisson
from efface.faces.histogram import matching, recoloured
from efface.faces.mask import face_masks
from efface.faces.poisson import blended
from efface.faces.screened import edge_of

MASK = face_masks(UPRIGHT[None] / 4, (56, 56))[0]


def matched(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    return recoloured(values, matching(values, like))


def picture(seed: int, side: int = 56) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 255, (side, side, 3))


def test_equal_distributions_stay_as_they_are() -> None:
    values = np.random.default_rng(0).integers(0, 256, (500, 3)).astype(float)
    shuffled = np.random.default_rng(1).permutation(values)
    assert np.allclose(matched(values, shuffled), values, atol=1e-9)


def test_two_levels_go_to_two_levels() -> None:
    values = np.repeat([[10.0], [20.0]], [30, 70], axis=0)
    like = np.repeat([[100.0], [200.0]], [30, 70], axis=0)
    assert np.unique(matched(values, like)).tolist() == [100, 200]


@given(st.integers(0, 1000))
def test_the_result_has_the_other_s_distribution_and_keeps_the_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.clip(rng.normal(80, 20, (4000, 1)), 0, 255)
    like = np.clip(rng.normal(rng.uniform(60, 190), 35, (4000, 1)), 0, 255)
    out = matched(values, like)
    assert np.abs(np.sort(out, axis=0) - np.sort(like, axis=0)).mean() < 1.5
    order = np.argsort(values[:, 0])
    assert (np.diff(out[order, 0]) >= -1e-9).all()


def test_matching_nothing() -> None:
    assert matched(np.zeros((0, 3)), np.zeros((5, 3))).shape == (0, 3)
    assert matched(np.ones((2, 3)), np.zeros((0, 3))).tolist() == [[1, 1, 1], [1, 1, 1]]


def test_outside_the_mask_the_target_is_untouched() -> None:
    target = picture(1)
    out = blended(picture(0), target, MASK)
    assert np.array_equal(out[~MASK], target[~MASK])
    assert not np.allclose(out[MASK], target[MASK])


def test_a_source_that_differs_by_a_constant_gives_the_target() -> None:
    target = picture(2)
    assert np.allclose(blended(target + 60, target, MASK), target, atol=1e-8)


def test_without_gradients_a_ramp_goes_on_through_the_hole() -> None:
    """A ramp is harmonic: it is the only filling without bumps that meets its own edge."""
    y, x = np.mgrid[:56.0, :56.0]
    ramp = np.stack([x, y, 2 * x - y], axis=-1)
    holed = np.where(MASK[..., None], 0, ramp)
    assert np.allclose(blended(np.zeros_like(ramp), holed, MASK), ramp, atol=1e-8)


@pytest.mark.parametrize("reach", [np.inf, 5.0])
def test_as_a_dense_solver_would(reach: float) -> None:
    """Every pixel's equation written out: 4 f - sum of neighbours = 4 g - sum of neighbours."""
    source, target = picture(3, 12), picture(4, 12)
    mask = np.zeros((12, 12), np.bool_)
    mask[0:7, 3:9] = True  # at the picture's edge there are three neighbours
    at = {pixel: k for k, pixel in enumerate(zip(*np.nonzero(mask), strict=True))}
    a, b = np.zeros((len(at), len(at))), np.zeros((len(at), 3))
    for (y, x), k in at.items():
        a[k, k] += 1 / reach**2
        b[k] += source[y, x] / reach**2
        for ny, nx in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            if not (0 <= ny < 12 and 0 <= nx < 12):
                continue
            a[k, k] += 1
            b[k] += source[y, x] - source[ny, nx]
            if (ny, nx) in at:
                a[k, at[ny, nx]] -= 1
            else:
                b[k] += target[ny, nx]
    assert np.allclose(blended(source, target, mask, reach)[mask], np.linalg.solve(a, b))


def test_a_short_reach_leaves_the_middle_as_the_source_has_it() -> None:
    source, target = picture(5), picture(6)
    out = blended(source, target + 200, MASK, reach=1.0)
    assert np.allclose(out[30, 28], source[30, 28], atol=0.5)


def test_no_mask_and_all_mask() -> None:
    target = picture(7)
    assert np.array_equal(blended(picture(8), target, MASK & False), target)
    with pytest.raises(DataError, match="no edge"):
        blended(target, target, MASK | True)


@pytest.mark.parametrize("turn", [False, True])
def test_half_the_digits_move_no_pixel_by_a_hundredth(turn: bool) -> None:
    source, target = picture(3), picture(4)
    mask = MASK.copy()
    mask[28, :28] = True  # up to the picture's edge: a band is solved
    mask = mask.T if turn else mask
    exact, quick = (blended(source, target, mask, 4.0, exact=way) for way in (True, False))
    assert np.abs(exact - quick).max() < 0.01


def by_band(source: np.ndarray, target: np.ndarray, mask: np.ndarray, reach: float) -> np.ndarray:
    """The same by the decomposition that takes masks of any kind."""
    added = poisson._solved(mask, target - source, reach, True)
    return np.where(mask[..., None], source + added, target)


@pytest.mark.parametrize("reach", [1.0, 4.0, 40.0])
@pytest.mark.parametrize("holes", [0, 60])
def test_sources_on_the_edge_give_what_a_decomposition_gives(reach: float, holes: int) -> None:
    """Faces lose pixels where the other picture ends: masks with holes and pieces."""
    source, target = picture(9), picture(10)
    mask = MASK.copy()
    mask[tuple(np.random.default_rng(11).integers(10, 50, (2, holes)))] = False
    assert edge_of(mask) is not None
    made = blended(source, target, mask, reach)
    assert np.abs(made - by_band(source, target, mask, reach)).max() < 1e-8
    assert np.array_equal(made[~mask], target[~mask])


def test_masks_at_the_picture_s_edge_have_no_edge_to_put_sources_on() -> None:
    for side in (np.s_[0, 5], np.s_[-1, 5], np.s_[5, 0], np.s_[5, -1]):
        mask = np.zeros((12, 12), np.bool_)
        mask[side] = True
        assert edge_of(mask) is None
    assert edge_of(MASK & False) is None

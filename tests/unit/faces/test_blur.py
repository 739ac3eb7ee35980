"""The blur against SciPy's, what it keeps, and that outside its mask nothing changes."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_faces import UPRIGHT, noise
from scipy import ndimage

from efface.errors import DataError
from efface.faces.annulus import equal_area_annuli
from efface.faces.blur import blur_inside, blurred, feathered, kernel
from efface.faces.mask import face_masks

MASKS = face_masks(UPRIGHT[None], (224, 224))


@pytest.mark.parametrize(("sigma", "taps"), [(8, 49), (6, 37), (4, 25), (2, 13), (1, 7), (0, 1)])
def test_the_kernel_has_the_paper_s_size(sigma: float, taps: int) -> None:
    values = kernel(sigma)
    assert len(values) == taps
    assert values.sum() == pytest.approx(1)
    assert np.array_equal(values, values[::-1])


@pytest.mark.parametrize("sigma", [-1.0, float("nan"), float("inf")])
def test_a_blur_that_cannot_be_is_refused(sigma: float) -> None:
    with pytest.raises(DataError, match="cannot be made"):
        kernel(sigma)


@pytest.mark.parametrize("sigma", [1.0, 3.0, 8.0])
def test_as_scipy_blurs(sigma: float) -> None:
    pictures = noise(0, 60, 90)[None]
    reach = int(np.ceil(3 * sigma))
    theirs = ndimage.gaussian_filter(
        pictures[0].astype(float), (sigma, sigma, 0), mode="mirror", radius=(reach, reach, 0)
    )
    assert np.abs(blurred(pictures, sigma)[0] - theirs).max() <= 0.51


def test_as_opencv_blurs() -> None:
    cv2 = pytest.importorskip("cv2")
    picture = noise(1)
    theirs = cv2.GaussianBlur(picture, (49, 49), 8)
    assert np.abs(blurred(picture[None])[0].astype(int) - theirs).max() <= 2  # in fixed point


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (3, 200), (40, 7)])
def test_pictures_smaller_than_the_kernel(shape: tuple[int, int]) -> None:
    flat = np.full((1, *shape, 3), 77, np.uint8)
    assert np.array_equal(blurred(flat), flat)


def test_outside_a_softened_mask_nothing_changes_and_deep_inside_all_is_blurred() -> None:
    picture = noise(2)
    out = blur_inside(picture[None], MASKS)[0][0]
    away = ndimage.distance_transform_edt(~MASKS[0])
    deep = ndimage.distance_transform_edt(MASKS[0])
    assert np.array_equal(out[away > 13], picture[away > 13])
    assert np.array_equal(out[deep > 13], blurred(picture[None])[0][deep > 13])
    edge = (away == 1).nonzero()
    assert 0.3 < feathered(MASKS[0])[edge].mean() < 0.6


def test_without_a_feather_the_mask_is_the_edge() -> None:
    picture = noise(3)
    out = blur_inside(picture[None], MASKS, feather=0)[0][0]
    assert np.array_equal(out[~MASKS[0]], picture[~MASKS[0]])
    assert np.array_equal(out[MASKS[0]], blurred(picture[None])[0][MASKS[0]])


def test_one_blur_for_several_masks_is_each_by_itself() -> None:
    pictures = np.stack([noise(4), noise(5)])
    masks = np.concatenate([MASKS, face_masks(UPRIGHT[None] + 20, (224, 224))])
    rings = equal_area_annuli(masks).masks
    both = blur_inside(pictures, masks, rings)
    for out, mask in zip(both, (masks, rings), strict=True):
        alone = blur_inside(pictures, mask)[0]
        assert np.abs(out.astype(int) - alone).max() <= 1  # another region, another last bit
    again = blur_inside(pictures, masks, rings)
    assert all(np.array_equal(a, b) for a, b in zip(both, again, strict=True))


def test_a_blur_of_nothing() -> None:
    picture = noise(6)[None]
    empty = np.zeros_like(MASKS)
    assert np.array_equal(blur_inside(picture, empty)[0], picture)
    assert np.array_equal(blur_inside(picture, MASKS, sigma=0)[0], picture)
    assert blur_inside(picture[:0], MASKS[:0])[0].shape == (0, 224, 224, 3)


def test_the_given_pictures_stay() -> None:
    picture = noise(7)[None]
    before = picture.copy()
    blur_inside(picture, MASKS)
    assert np.array_equal(picture, before)


def test_more_blur_leaves_less() -> None:
    picture = noise(8)[None]
    left = [
        np.abs(np.diff(blur_inside(picture, MASKS, sigma=s)[0][0].astype(float), axis=0)).mean()
        for s in (0, 1, 2, 4, 6, 8)
    ]
    assert left == sorted(left, reverse=True)

"""Exact areas: hand-computed means, an independent slow reference, and what must be kept."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_faces import noise
from hypothesis import given
from hypothesis import strategies as st

from efface.faces.resample import resampled, resized

SIDES = st.integers(1, 23)


def slowly(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """Every new pixel by itself: the mean over its rectangle, pixel by pixel."""
    old_h, old_w, depth = picture.shape
    out = np.zeros((height, width, depth))
    for i in range(height):
        for j in range(width):
            y0, y1 = i * old_h / height, (i + 1) * old_h / height
            x0, x1 = j * old_w / width, (j + 1) * old_w / width
            for y in range(int(y0), min(int(np.ceil(y1)), old_h)):
                for x in range(int(x0), min(int(np.ceil(x1)), old_w)):
                    share = (min(y1, y + 1) - max(y0, y)) * (min(x1, x + 1) - max(x0, x))
                    out[i, j] += max(share, 0) * picture[y, x]
            out[i, j] /= (y1 - y0) * (x1 - x0)
    return out


def test_halving_is_the_mean_of_four() -> None:
    picture = np.arange(16, dtype=np.uint8).reshape(4, 4)[..., None].repeat(3, axis=2)
    assert resized(picture, (2, 2))[..., 0].tolist() == [[3, 5], [11, 13]]


def test_doubling_repeats_pixels() -> None:
    picture = noise(0, 5, 7)
    assert np.array_equal(resized(picture, (10, 14)), picture.repeat(2, axis=0).repeat(2, axis=1))


def test_three_to_two_by_hand() -> None:
    row = np.array([[0.0, 30.0, 90.0]])[..., None]
    assert np.allclose(resampled(row, (1, 2))[..., 0], [[10, 70]])


@given(SIDES, SIDES, SIDES, SIDES)
def test_any_size_to_any_size(old_h: int, old_w: int, height: int, width: int) -> None:
    picture = noise(old_h * 31 + old_w, old_h, old_w).astype(float)
    out = resampled(picture, (height, width))
    assert np.allclose(out, slowly(picture, height, width), atol=1e-3)


@given(SIDES, SIDES)
def test_the_mean_colour_stays(height: int, width: int) -> None:
    picture = noise(3, 12, 17).astype(float)
    out = resampled(picture, (height, width))
    assert np.allclose(out.mean(axis=(0, 1)), picture.mean(axis=(0, 1)), atol=1e-3)


def test_as_opencv_resizes_by_area() -> None:
    cv2 = pytest.importorskip("cv2")
    picture = noise(5, 189, 189)
    for side in (224, 112, 100, 189):
        theirs = cv2.resize(picture, (side, side), interpolation=cv2.INTER_AREA)
        assert np.abs(resized(picture, (side, side)).astype(int) - theirs).max() <= 1

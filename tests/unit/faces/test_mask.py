"""The ellipse against a pixel-by-pixel definition, and the numbers of P19."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_faces import UPRIGHT, turned
from hypothesis import given
from hypothesis import strategies as st

from efface.faces.mask import box_shares, ellipses, face_masks, face_runs

SIZE = (224, 224)


def by_pixel(landmarks: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """The definition: rotate every pixel centre into the ellipse's frame and ask."""
    right_eye, left_eye, _, right_mouth, left_mouth = landmarks
    eyes, mouth = (right_eye + left_eye) / 2, (right_mouth + left_mouth) / 2
    centre, line = (eyes + mouth) / 2, left_eye - right_eye
    a, b = 1.2 * np.linalg.norm(line), 1.3 * np.linalg.norm(mouth - eyes)
    turn = np.arctan2(line[1], line[0])
    y, x = np.mgrid[: size[0], : size[1]] - centre[::-1, None, None]
    along, across = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
    return (along / a) ** 2 + (across / b) ** 2 <= 1


def test_centre_axes_and_turn_by_hand() -> None:
    centre, axes, turn = ellipses(UPRIGHT[None])
    assert centre.tolist() == [[110, 122.5]]
    assert axes.tolist() == [[1.2 * 40, 1.3 * 45]]
    assert turn.tolist() == [0]


@given(st.floats(-180, 180), st.floats(0.05, 3), st.floats(-150, 150), st.floats(-150, 150))
def test_the_mask_is_the_definition(degrees: float, scale: float, x: float, y: float) -> None:
    points = turned(UPRIGHT, degrees, scale, (x, y))
    mask, slow = face_masks(points[None], SIZE)[0], by_pixel(points, SIZE)
    assert (mask != slow).sum() <= 2  # pixels that lie on the line but for rounding


@pytest.mark.parametrize("degrees", [0, 15, -40, 90])
def test_its_area_is_pi_a_b(degrees: float) -> None:
    mask = face_masks(turned(UPRIGHT, degrees)[None], SIZE)[0]
    assert abs(mask.sum() / (np.pi * 48 * 58.5) - 1) < 0.003


def test_an_upright_face_is_symmetric_about_its_middle_column() -> None:
    mask = face_masks(UPRIGHT[None], SIZE)[0]
    assert np.array_equal(mask[:, 110 - 60 : 110], mask[:, 111 : 111 + 60][:, ::-1])


def test_runs_and_masks_say_the_same() -> None:
    batch = np.stack([turned(UPRIGHT, d, s) for d, s in ((0, 1), (30, 0.5), (-70, 2))])
    runs = face_runs(batch, (200, 180))
    masks = runs.masks()
    assert masks.shape == (3, 200, 180)
    assert runs.areas.tolist() == masks.sum(axis=(1, 2)).tolist()
    assert runs[1:2].areas.tolist() == runs.areas[1:2].tolist()
    for row, points in enumerate(batch):
        assert np.array_equal(face_masks(points[None], (200, 180))[0], masks[row])


def test_a_face_outside_its_picture_leaves_an_empty_mask() -> None:
    assert not face_masks(UPRIGHT[None] + 1000, SIZE).any()
    assert face_masks(np.zeros((0, 5, 2)), SIZE).shape == (0, *SIZE)


def test_a_smaller_ellipse_lies_inside() -> None:
    whole, inner = face_masks(UPRIGHT[None], SIZE), face_masks(UPRIGHT[None], SIZE, 0.9)
    assert not (inner & ~whole).any()
    assert abs(inner.sum() / whole.sum() - 0.81) < 0.01


def test_the_covered_share_of_a_box() -> None:
    """An ellipse in the box that touches it covers pi / 4; a box beside the picture, nothing."""
    mask = face_masks(UPRIGHT[None], SIZE)
    touching = np.array([[110.0 - 48, 122.5 - 58.5, 110 + 48, 122.5 + 58.5]])
    assert abs(box_shares(mask, touching)[0] - np.pi / 4) < 0.01
    assert box_shares(mask, np.array([[500.0, 500, 600, 600]])).tolist() == [0]

"""The similarity is found again exactly, never mirrors, and pictures follow it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn_faces import UPRIGHT, noise, turned
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from efface.errors import DataError
from efface.faces.align import aligned, arcface_template, similarity, warped
from efface.faces.landmarks import TEMPLATE


@given(st.floats(-180, 180), st.floats(0.1, 10), st.floats(-300, 300), st.floats(-300, 300))
def test_a_similarity_is_found_again(degrees: float, scale: float, x: float, y: float) -> None:
    onto = turned(UPRIGHT, degrees, scale, (x, y))
    matrix = similarity(UPRIGHT[None], onto[None])[0]
    assert np.allclose(UPRIGHT @ matrix[:, :2].T + matrix[:, 2], onto, atol=1e-6)
    assert np.isclose(np.linalg.det(matrix[:, :2]), scale**2)


def test_it_has_the_least_squared_error_of_its_kind(rng: np.random.Generator) -> None:
    onto = rng.normal(size=(5, 2))
    matrix = similarity(UPRIGHT[None], onto[None])[0]

    def error(m: np.ndarray) -> float:
        return float(((UPRIGHT @ m[:, :2].T + m[:, 2] - onto) ** 2).sum())

    for _ in range(50):
        a, b, x, y = rng.normal(size=4) * 1e-3
        step = np.array([[a, -b, x], [b, a, y]])
        assert error(matrix + step) >= error(matrix)


def test_mirrored_points_are_not_mirrored_back() -> None:
    matrix = similarity(UPRIGHT[None, [1, 0, 2, 4, 3]], UPRIGHT[None])[0]
    assert np.linalg.det(matrix[:, :2]) >= 0


def test_points_on_one_spot_are_refused() -> None:
    with pytest.raises(DataError, match="lie on one point"):
        similarity(np.ones((1, 5, 2)), UPRIGHT[None])


def test_a_whole_shift_moves_pixels_and_fills_with_black() -> None:
    picture = noise(0, 20, 30)
    out = warped(picture, np.array([[1.0, 0, 3], [0, 1, 2]]), (20, 30))
    assert np.array_equal(out[2:, 3:], picture[:-2, :-3])
    assert not out[:2].any()
    assert not out[:, :3].any()


def test_between_pixels_a_ramp_stays_a_ramp() -> None:
    y, x = np.mgrid[:40.0, :50.0]
    ramp = (2 * x + 3 * y)[..., None]
    matrix = similarity(UPRIGHT[None] / 5, turned(UPRIGHT / 5, 20, 1.3)[None])[0]
    there = np.linalg.inv(matrix[:, :2])
    out = warped(ramp, matrix, (40, 50))
    px, py = there @ (np.stack([x.ravel(), y.ravel()]) - matrix[:, 2:])
    inside = (px >= 0) & (px <= 49) & (py >= 0) & (py <= 39)
    assert inside.any()
    assert np.allclose(out.ravel()[inside], (2 * px + 3 * py)[inside], atol=1e-3)


def test_as_scipy_warps() -> None:
    picture = noise(1, 60, 80).astype(np.float64)
    matrix = similarity(UPRIGHT[None], turned(UPRIGHT, -33, 0.7, (-60, -80))[None])[0]
    back = np.linalg.inv(matrix[:, :2])[::-1, ::-1]
    offset = -back @ matrix[::-1, 2]
    theirs = [
        ndimage.affine_transform(c, back, offset, (50, 70), order=1, mode="grid-constant")
        for c in picture.transpose(2, 0, 1)
    ]
    assert np.allclose(warped(picture, matrix, (50, 70)), np.stack(theirs, -1), atol=1e-3)


def test_landmarks_end_on_the_template() -> None:
    """White dots at landmarks that are a turned template: after alignment they are where the
    template says, which is not at whole pixels, so the brightest pixel is the nearest one."""
    points = np.rint(turned(TEMPLATE, 30, 1.5, (40, 40)))
    picture = np.zeros((250, 250, 3), np.uint8)
    for x, y in points.astype(int):
        picture[y - 1 : y + 2, x - 1 : x + 2] = 255
    out = aligned([picture], points[None])
    assert out.shape == (1, 112, 112, 3)
    for x, y in TEMPLATE:
        near = out[0, round(y) - 2 : round(y) + 3, round(x) - 2 : round(x) + 3, 0]
        assert near[1:4, 1:4].max() > 200
    assert np.array_equal(out, aligned([picture], points[None]))


@pytest.mark.parametrize(("size", "x"), [(112, 38.2946), (224, 76.5892), (128, 46.2946)])
def test_templates_of_other_sizes(size: int, x: float) -> None:
    assert np.isclose(arcface_template(size)[0, 0], x)


def test_a_size_without_a_template_is_refused() -> None:
    with pytest.raises(DataError, match="not 100"):
        arcface_template(100)
    assert aligned([], np.zeros((0, 5, 2))).shape == (0, 112, 112, 3)


@pytest.mark.shared
def test_alignment_gives_the_vectors_of_a_face_recogniser_again(shared: Path) -> None:
    """Vectors that others made of LFW: where their alignment was a least-squares one too, ours
    are the same; on every seventh picture theirs left out points as outliers."""
    from PIL import Image

    runtime = pytest.importorskip("onnxruntime")
    lfw = shared / "data" / "lfw"
    marks, given = np.load(lfw / "landmarks.npz"), np.load(lfw / "embeddings/face_mobile_512.npz")
    rows = np.arange(0, 4200, 150)
    pictures = [np.asarray(Image.open(lfw / "images" / marks["name"][r])) for r in rows]
    network = runtime.InferenceSession(str(shared / "models" / "face_mobile_512.onnx"))
    faces = (aligned(pictures, marks["landmarks"][rows]).astype(np.float32) - 127.5) / 128
    out = [network.run(None, {"input": f.transpose(2, 0, 1)[None]})[0][0] for f in faces]
    theirs = given["embedding"][rows].astype(np.float64)
    cosine = (np.array(out) * theirs).sum(1) / np.linalg.norm(out, axis=1)
    cosine /= np.linalg.norm(theirs, axis=1)
    assert np.median(cosine) > 0.999
    assert (cosine > 0.99).mean() > 0.7
    assert cosine.min() > 0.8

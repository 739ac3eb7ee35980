"""FCR crops of drawn pictures, whose pixels, padding and coverage a person can count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn_faces import found, noise
from hypothesis import given
from hypothesis import strategies as st

from efface.errors import DataError
from efface.faces.crop import crops
from efface.faces.face import Face, Finding, Outcome, tally
from efface.faces.find import given_faces


def test_inside_the_picture_a_crop_is_a_window() -> None:
    """A box of 33 x 100 has area 3300: at 0.33 the side is 100, around the centre (116, 110)."""
    picture = noise(0)
    made = crops([picture], [found((100, 60, 133, 160))], 100)
    assert np.array_equal(made.pictures[0], picture[60:160, 66:166])  # 116.5 - 50 rounds to even
    assert made.coverage.tolist() == [0.33]
    assert made.padding.tolist() == [0]
    assert made.faces[0].box.tolist() == [34, 0, 67, 100]
    assert made.rows.tolist() == [0]


def test_what_is_outside_has_the_mean_colour() -> None:
    picture = np.zeros((100, 100, 3), np.uint8)
    picture[:50] = (200, 100, 40)
    made = crops([picture], [found((0, 30, 33, 63))], 100, most_padding=1)
    side = round(np.sqrt(33 * 33 / 0.33))
    pad = -round(16.5 - side / 2)
    assert np.all(made.pictures[0][:, : int(pad * 100 / side) - 1] == (100, 50, 20))
    assert made.padding[0] == pad / (4 * side)


def test_padding_counts_all_four_sides() -> None:
    """A window of 200 around the middle of a picture of 100: 50 on each side, of 4 x 200."""
    picture, face = noise(1, 100, 100), found((0, 0, 100, 132))
    shifted = Face(face.face.box - [0, 16, 0, 16], face.face.landmarks)
    finding = Finding(Outcome.ONE, shifted)
    made = crops([picture], [finding], 50, most_padding=1)
    assert made.padding.tolist() == [0.25]
    refused = crops([picture], [finding], 50)
    assert len(refused) == 0
    assert refused.pictures.shape == (0, 50, 50, 3)
    assert refused.landmarks.shape == (0, 5, 2)
    assert refused.findings[0].outcome is Outcome.BORDER
    assert refused.findings[0].detail == "padding 0.25"


def test_the_limit_itself_is_allowed() -> None:
    picture = noise(2, 100, 100)
    made = crops([picture], [found((-50, 0, 50, 33))], 20, most_padding=0.25)
    assert len(made) == 1  # 50 beyond the left edge, 33.5 rounded above: (50 + 34) / 400
    assert made.padding[0] == 0.2075 or made.padding[0] == 0.21


def test_nothing_is_dropped_from_the_denominator() -> None:
    pictures = [noise(3), np.zeros((1, 1, 3), np.uint8), noise(4), noise(5)]
    findings = [
        found((80, 80, 140, 140)), Finding(Outcome.SMALL_PICTURE), Finding(Outcome.NONE),
        found((-40, -40, 50, 50)),
    ]  # fmt: skip
    made = crops(pictures, findings)
    assert made.rows.tolist() == [0]
    assert len(made.findings) == 4
    assert tally(f.outcome for f in made.findings) == {
        "one face": 1, "no face": 1, "face at the border": 1, "picture too small": 1,
    }  # fmt: skip


@given(st.integers(20, 150), st.integers(20, 150), st.integers(-20, 200), st.integers(-20, 200))
def test_coverage_and_landmarks_for_any_box(width: int, height: int, x: int, y: int) -> None:
    picture = np.full((224, 224, 3), 50, np.uint8)
    picture[:, :, 0] = np.arange(224)
    finding = found((x, y, x + width, y + height))
    made = crops([picture], [finding], 64)
    if not len(made):
        return
    side = np.sqrt(width * height / 0.33)
    assert made.coverage[0] <= 0.33 * (1 + 2 / side) ** 2
    assert made.padding[0] <= 0.15
    if made.padding[0]:
        return
    # The red channel tells the column that a pixel of the crop comes from.
    column = made.pictures[0, 32, :, 0].astype(float)
    for (now, _), (before, _) in zip(made.landmarks[0], finding.face.landmarks, strict=True):
        assert abs(np.interp(now, np.arange(64), column) - before) < 0.51 + side / 64


@pytest.mark.parametrize(
    "wrong", [{"coverage": 0}, {"coverage": 1.5}, {"size": 0}, {"most_padding": -1}]
)
def test_crops_that_cannot_be_are_refused(wrong: dict) -> None:
    with pytest.raises(DataError, match="no crop has"):
        crops([], [], **{"size": 10} | wrong)


@pytest.mark.shared
def test_crops_give_the_vectors_of_a_general_encoder_again(shared: Path) -> None:
    from PIL import Image

    runtime = pytest.importorskip("onnxruntime")
    lfw = shared / "data" / "lfw"
    known = np.load(lfw / "landmarks.npz")
    theirs = np.load(lfw / "embeddings" / "efficientnet_lite0.npz")["embedding"].astype(float)
    rows = np.arange(0, 4200, 150)
    pictures = [np.asarray(Image.open(lfw / "images" / known["name"][r])) for r in rows]
    faces = [Face(known["box"][r, :4], known["landmarks"][r]) for r in rows]
    made = crops(pictures, given_faces(pictures, faces))
    assert len(made) == len(rows)
    assert abs(made.coverage.mean() - 0.33) < 0.001
    network = runtime.InferenceSession(str(shared / "models" / "efficientnet_lite0.onnx"))
    numbers = (made.pictures / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    batches = numbers.transpose(0, 3, 1, 2).astype(np.float32)
    out = np.concatenate([network.run(None, {"image": one[None]})[0] for one in batches])
    cosine = (out * theirs[rows]).sum(1) / np.linalg.norm(out, axis=1)
    cosine /= np.linalg.norm(theirs[rows], axis=1)
    assert cosine.min() > 0.999
    assert np.median(cosine) > 0.9997

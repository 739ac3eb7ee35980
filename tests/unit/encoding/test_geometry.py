"""Faces that were given or found, cut to what the encoder takes; each refusal has its word."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from encode_world import Means, flat, listed, order, picture, read
from PIL import Image

from efface.encoding.finish import left_out_path
from efface.encoding.geometry import FaceCut, Geometry, Whole
from efface.encoding.given import GivenFaces
from efface.encoding.run import encode
from efface.errors import ArtefactError, DataError
from efface.faces.align import aligned
from efface.faces.crop import crops
from efface.faces.face import Face, Finding, Outcome
from efface.facts import Preprocessing

WANTED = Preprocessing(height=112, width=112)
POINTS = np.array([[60, 70], [100, 72], [80, 95], [65, 115], [97, 117]], float)
BOX = np.array([45, 40, 115, 135], float)


def given(path: Path, **changes: Any) -> Path:
    held = {"name": np.array(["a/1.png"]), "box": BOX[None], "landmarks": POINTS[None], **changes}
    np.savez(path, **{name: value for name, value in held.items() if value is not None})
    return path


def cut(path: Path, kind: Any = "crop", **changes: Any) -> FaceCut:
    return FaceCut(kind, WANTED, faces=str(path), **changes)


def test_a_crop_is_that_of_the_faces_package(tmp_path: Path) -> None:
    pixels = picture(1, 200, 180)
    made = cut(given(tmp_path / "f.npz"))(pixels, "a/1.png")
    face = Face(BOX, POINTS)
    theirs = crops([pixels], [Finding(Outcome.ONE, face, (face,))], 112)
    assert np.array_equal(made.image, theirs.pictures[0])
    assert made.measured["face_coverage"] == pytest.approx(0.33, abs=0.01)
    assert made.measured["face_padding"] == pytest.approx(theirs.padding[0])


def test_an_alignment_is_that_of_the_faces_package(tmp_path: Path) -> None:
    pixels = picture(1, 200, 180)
    made = cut(given(tmp_path / "f.npz"), "arcface")(pixels, "a/1.png")
    assert np.array_equal(made.image, aligned([pixels], POINTS[None], 112)[0])


def test_a_face_is_found_by_the_last_part_of_a_path_too(tmp_path: Path) -> None:
    faces = GivenFaces(given(tmp_path / "f.npz", name=np.array(["1.png"])))
    assert faces.of("deep/down/1.png") is not None
    assert faces.of("deep/down/2.png") is None


@pytest.mark.parametrize(
    ("name", "changes", "outcome"),
    [
        ("b/2.png", {}, "no face"),
        ("a/1.png", {"box": np.array([[0, 0, 170, 190.0]])}, "face at the border"),
        ("a/1.png", {"landmarks": POINTS[None, [1, 0, 2, 4, 3]]}, "landmarks mirrored"),
        ("a/1.png", {"box": np.array([[45, 40, 50, 45.0]])}, "face too small"),
        ("a/1.png", {"box": np.full((1, 4), np.nan)}, "no face"),
    ],
)
def test_each_refusal_has_its_word(
    tmp_path: Path, name: str, changes: dict[str, Any], outcome: str
) -> None:
    made = cut(given(tmp_path / "f.npz", **changes))(picture(1, 200, 180), name)
    assert (made.image, made.outcome) == (None, outcome)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"box": None}, "has no array 'box'"),
        ({"box": BOX[None, :3]}, r"box is \(1, 3\)"),
        ({"landmarks": POINTS}, r"landmarks \(5, 2\)"),
        ({"name": np.array(["a", "a"]), "box": np.stack([BOX] * 2),
          "landmarks": np.stack([POINTS] * 2)}, "comes twice"),
        ({"name": np.array([{}], dtype=object)}, "cannot be read"),
    ],
)  # fmt: skip
def test_a_file_of_faces_with_mistakes(tmp_path: Path, changes: Any, says: str) -> None:
    path = given(tmp_path / "f.npz", **changes)
    with pytest.raises(DataError, match=says):
        GivenFaces(path)


def test_what_is_no_file_of_faces(tmp_path: Path) -> None:
    (tmp_path / "f.npz").write_bytes(b"no archive")
    with pytest.raises(DataError, match="cannot be read"):
        GivenFaces(tmp_path / "f.npz")
    with pytest.raises(ArtefactError, match="no such file"):
        cut(tmp_path / "none.npz").check()


def test_what_cannot_be_cut_is_refused_before_the_work(tmp_path: Path) -> None:
    path = given(tmp_path / "f.npz")
    wide = FaceCut("crop", Preprocessing(height=100, width=200), faces=str(path))
    with pytest.raises(DataError, match="faces are cut to squares"):
        wide.check()
    with pytest.raises(DataError, match="too small for any encoder"):
        FaceCut("crop", Preprocessing(height=8, width=8), faces=str(path)).check()


def test_geometries_travel_to_workers(tmp_path: Path) -> None:
    for geometry in (Whole(WANTED), cut(given(tmp_path / "f.npz"))):
        assert isinstance(geometry, Geometry)
        assert pickle.loads(pickle.dumps(geometry)).facts == geometry.facts


class Wide(Means):
    """Means for pictures of 112."""

    facts = Means.facts.__class__(
        name="wide", kind="test", weights="0" * 64, dimension=12, preprocessing=WANTED
    )

    def encode(self, images: Any) -> Any:
        x = np.stack(images).astype(np.float32) - 128
        return x.reshape(-1, 2, 56, 2, 56, 3).mean(axis=(2, 4)).reshape(len(images), -1)


def test_from_pictures_to_crops_to_vectors(tmp_path: Path) -> None:
    root, out = tmp_path / "in", tmp_path / "emb.parquet"
    flat(root / "b" / "1.png", 50)
    (root / "a").mkdir()
    (root / "c").mkdir()
    names = np.array(["a/1.png", "c/2.png"])
    for number, name in enumerate(names):
        Image.fromarray(picture(number, 200, 180)).save(root / name)
    path = given(tmp_path / "f.npz", name=names, box=np.stack([BOX] * 2),
                 landmarks=np.stack([POINTS] * 2))  # fmt: skip
    made = encode(order(root, out, encoder=Wide(), geometry=cut(path)))
    assert read(out)["name"] == names.tolist()
    assert [row["kind"] for row in listed(left_out_path(out))] == ["no face"]
    assert made.geometry.name == "FCR crop"
    assert made.geometry.detector == "given faces"
    assert made.geometry.settings["coverage"] == 0.33
    assert set(made.geometry.achieved) == {
        "face_score", "faces_seen", "face_coverage", "face_padding", "face_ellipse",
    }  # fmt: skip

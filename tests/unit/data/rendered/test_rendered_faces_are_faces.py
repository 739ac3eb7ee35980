"""Detectors take rendered people for people, and recognisers tell them apart."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from efface.data.rendered.world import RenderedFaces, rendered_faces
from efface.faces.align import aligned
from efface.faces.face import Face
from efface.faces.find import find_faces


@lru_cache(maxsize=1)
def crowd() -> RenderedFaces:
    return rendered_faces(60, 1, size=128, seed=5)


def found(faces: list[Face | None], truth: RenderedFaces) -> np.ndarray:
    """Whether a face was found that lies where the true one does."""
    middle = (truth.boxes[:, :2] + truth.boxes[:, 2:]) / 2
    near = (truth.boxes[:, 2:] - truth.boxes[:, :2]) * 0.35
    return np.array([
        face is not None and bool((np.abs(face.centre - middle[row]) < near[row]).all())
        for row, face in enumerate(faces)
    ])  # fmt: skip


def errors(faces: list[Face | None], hits: np.ndarray, truth: RenderedFaces) -> np.ndarray:
    """Distance of each landmark from the true one, in distances between the eyes."""
    seen = [face for face, hit in zip(faces, hits, strict=True) if hit and face is not None]
    points = np.array([face.landmarks for face in seen])
    own = truth.landmarks[hits]
    eyes = np.linalg.norm(own[:, 1] - own[:, 0], axis=1)
    return np.linalg.norm(points - own, axis=2) / eyes[:, None]


def test_dlib_finds_them_where_they_are() -> None:
    pytest.importorskip("dlib")
    from efface.faces.dlib_detector import open_dlib

    truth = crowd()
    findings = find_faces(list(truth.pictures), open_dlib())
    hits = found([f.face for f in findings], truth)
    assert hits.mean() > 0.75
    away = errors([f.face for f in findings], hits, truth)
    assert np.median(away, axis=0).max() < 0.12
    again = find_faces(list(truth.pictures[:3]), open_dlib())
    assert [f.outcome for f in again] == [f.outcome for f in findings[:3]]


def test_dlib_names_what_it_cannot_use() -> None:
    pytest.importorskip("dlib")
    from efface.faces.dlib_detector import open_dlib
    from efface.faces.face import Outcome

    truth = crowd()
    wide = np.concatenate([truth.pictures[0], truth.pictures[1]], axis=1)
    grey = np.full((90, 120, 3), 127, np.uint8)
    pictures = [wide, grey, np.zeros((1, 1, 3), np.uint8), np.zeros((4000, 16, 3), np.uint8)]
    findings = find_faces(pictures, open_dlib(), "only")
    assert [f.outcome for f in findings] == [
        Outcome.SEVERAL, Outcome.NONE, Outcome.SMALL_PICTURE, Outcome.NONE,
    ]  # fmt: skip
    assert findings[0].face is None
    assert len(findings[0].faces) == 2


def test_dlib_weights_that_are_none_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("dlib")
    from efface.errors import ArtefactError
    from efface.faces.dlib_chips import open_chips
    from efface.faces.dlib_detector import open_dlib

    text = tmp_path / "weights.dat"
    text.write_text("no weights")
    for open_ in (open_dlib, open_chips):
        with pytest.raises(ArtefactError, match="no landmark weights"):
            open_(text)
        with pytest.raises(ArtefactError, match="no such file"):
            open_(tmp_path / "absent.dat")


def test_chips_are_squares_of_150_around_the_face() -> None:
    pytest.importorskip("dlib")
    from efface.faces.dlib_chips import open_chips

    truth = crowd()
    faces = [Face(truth.boxes[k], truth.landmarks[k]) for k in range(3)]
    chips = open_chips()(list(truth.pictures[:3]), faces)
    assert chips.shape == (3, 150, 150, 3)
    assert chips.std() > 20


@pytest.mark.shared
def test_yunet_finds_them_where_they_are(shared: Path) -> None:
    pytest.importorskip("onnxruntime")
    from efface.faces.onnx_detector import open_detector

    truth = crowd()
    detector = open_detector(shared / "models" / "yunet_2023mar.onnx")
    faces = [f.face for f in find_faces(list(truth.pictures), detector)]
    hits = found(faces, truth)
    assert hits.mean() > 0.95
    assert np.median(errors(faces, hits, truth), axis=0).max() < 0.17


@pytest.mark.shared
def test_a_recogniser_tells_rendered_people_apart(shared: Path) -> None:
    """A network that has only seen real faces scores two pictures of one rendered person, in
    other places and poses, above two people nearly always."""
    runtime = pytest.importorskip("onnxruntime")
    world = rendered_faces(25, 4, size=128, contexts=30, seed=6)
    network = runtime.InferenceSession(str(shared / "models" / "face_mobile_512.onnx"))
    numbers = (aligned(list(world.pictures), world.landmarks).astype(np.float32) - 127.5) / 128
    batches = numbers.transpose(0, 3, 1, 2)
    out = np.concatenate([network.run(None, {"input": one[None]})[0] for one in batches])
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    pairs = np.triu_indices(len(out), 1)
    same = (world.identity[:, None] == world.identity)[pairs]
    scores = (out @ out.T)[pairs]
    others = np.sort(scores[~same])
    assert np.searchsorted(others, scores[same]).mean() / len(others) > 0.95

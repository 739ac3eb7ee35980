"""Detectors from files: known by their outputs, refused by name, and YuNet beside OpenCV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn_faces import noise

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

import tiny_detectors as tiny

from efface.errors import ArtefactError, DataError
from efface.faces.onnx_detector import open_detector

POINTS = [[16, 18], [32, 18], [24, 25], [18, 32], [30, 32]]


def test_a_yunet_answers_with_its_face(tmp_path: Path) -> None:
    detector = open_detector(tiny.yunet(tmp_path / "y.onnx"))
    assert detector.family.name == "yunet"
    assert detector.name == "y"
    assert len(detector.digest) == 64
    (face,), nothing = detector.detect([noise(0, 60, 64), np.zeros((1, 1, 3), np.uint8)])
    assert nothing == ()
    assert np.allclose(face.box, [8, 8, 40, 40], atol=1e-5)
    assert np.allclose(face.landmarks, POINTS, atol=1e-5)
    assert face.score == pytest.approx(0.9)
    assert detector.detect([]) == []


def test_a_large_picture_is_reduced_and_the_face_comes_back_in_its_pixels(tmp_path: Path) -> None:
    detector = open_detector(tiny.yunet(tmp_path / "y.onnx"), longest=64)
    (face,) = detector.detect([noise(0, 128, 128)])[0]
    assert np.allclose(face.box, [16, 16, 80, 80], atol=1e-4)
    assert np.allclose(face.landmarks, 2 * np.array(POINTS) + 0.5, atol=1e-4)


def test_the_lowest_score_can_be_said(tmp_path: Path) -> None:
    path = tiny.yunet(tmp_path / "y.onnx")
    assert open_detector(path, least=0.95).detect([noise(0, 64, 64)]) == [()]


def test_a_network_of_fixed_size_gets_that_size(tmp_path: Path) -> None:
    detector = open_detector(tiny.scrfd(tmp_path / "s.onnx"))
    assert (detector.family.name, detector.size) == ("scrfd", (64, 64))
    (face,) = detector.detect([noise(0, 30, 50)])[0]
    assert np.allclose(face.box, [8, 8, 40, 40], atol=1e-5)
    (face,) = detector.detect([noise(0, 96, 128)])[0]
    assert np.allclose(face.box, [16, 16, 80, 80], atol=1e-4)


def test_a_retinaface_is_known_by_the_widths_of_its_outputs(tmp_path: Path) -> None:
    detector = open_detector(tiny.retinaface(tmp_path / "r.onnx"))
    assert detector.family.name == "retinaface"
    assert detector.detect([noise(0)]) == [()]


def test_other_networks_are_refused_with_their_outputs(tmp_path: Path) -> None:
    path = tiny.yunet(tmp_path / "y.onnx", drop="kps_8")
    with pytest.raises(DataError, match="no detector known here, its outputs are cls_8"):
        open_detector(path)


def test_outputs_of_the_wrong_length_are_refused_at_once(tmp_path: Path) -> None:
    path = tiny.yunet(tmp_path / "y.onnx", pad=3)
    with pytest.raises(DataError, match="looks like a yunet and does not answer like one"):
        open_detector(path)


def test_files_that_are_no_networks(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="no such file"):
        open_detector(tmp_path / "absent.onnx")
    text = tmp_path / "text.onnx"
    text.write_text("not a network")
    with pytest.raises(DataError, match="no ONNX file"):
        open_detector(text)


@pytest.mark.shared
def test_yunet_as_opencv_reads_it(shared: Path) -> None:
    """The same weights through OpenCV's own detector, drawn noise and photographs alike."""
    cv2 = pytest.importorskip("cv2")
    from PIL import Image

    weights = str(shared / "models" / "yunet_2023mar.onnx")
    names = np.load(shared / "data" / "lfw" / "landmarks.npz")["name"][::300]
    pictures = [np.asarray(Image.open(shared / "data/lfw/images" / name)) for name in names]
    pictures += [noise(0), noise(1, 100, 300), pictures[0][:131, 20:]]
    ours = open_detector(weights).detect(pictures)
    assert sum(map(len, ours)) >= len(names)
    for picture, faces in zip(pictures, ours, strict=True):
        size = picture.shape[1::-1]
        other = cv2.FaceDetectorYN.create(weights, "", size, 0.6, 0.3)
        theirs = other.detect(picture[..., ::-1])[1]
        theirs = np.zeros((0, 15)) if theirs is None else theirs
        assert len(faces) == len(theirs)
        for face, row in zip(faces, theirs[np.argsort(-theirs[:, 14])], strict=True):
            assert np.allclose(face.box, np.concatenate([row[:2], row[:2] + row[2:4]]), atol=0.01)
            assert np.allclose(face.landmarks, row[4:14].reshape(5, 2), atol=0.01)
            assert face.score == pytest.approx(row[14], abs=1e-4)


@pytest.mark.shared
def test_yunet_finds_the_known_faces(shared: Path) -> None:
    """Landmarks that others found with these weights: ours lie within a tenth of the distance
    between the eyes, which is what the network itself varies by when a picture is resized."""
    from PIL import Image

    from efface.faces.find import find_faces

    known = np.load(shared / "data" / "lfw" / "landmarks.npz")
    rows = np.arange(0, 4200, 60)
    pictures = [np.asarray(Image.open(shared / "data/lfw/images" / known["name"][r])) for r in rows]
    detector = open_detector(shared / "models" / "yunet_2023mar.onnx")
    findings = find_faces(pictures, detector, "central")
    assert all(finding.face is not None for finding in findings)
    points = np.array([f.face.landmarks for f in findings if f.face])
    away = np.linalg.norm(points - known["landmarks"][rows], axis=2).mean(axis=1)
    eyes = np.linalg.norm(known["landmarks"][rows, 1] - known["landmarks"][rows, 0], axis=1)
    assert np.median(away / eyes) < 0.1
    assert np.mean(away / eyes < 0.2) > 0.95

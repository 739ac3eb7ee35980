"""On real photographs: the public command gives the vectors that were computed elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import efface
from efface.cli.main import invoke
from efface.report.schema import read
from efface.types import Samples

pytestmark = pytest.mark.shared
COUNT = 24


@pytest.fixture(scope="module")
def images(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Links to some pictures, spread over all people."""
    folder = tmp_path_factory.mktemp("lfw")
    every = sorted((shared / "data" / "lfw" / "images").glob("*.jpg"))
    for path in every[:: len(every) // COUNT][:COUNT]:
        (folder / path.name).symlink_to(path)
    return folder


def encoded(images: Path, out: Path, *more: str) -> Samples:
    command = ["encode", str(images), "--out", str(out), "--workers", "1", *more]
    assert invoke(command) == 0
    return efface.load(out)


def cosines(samples: Samples, published: Path) -> np.ndarray:
    """Of each picture's vector with the published one of the same name."""
    with np.load(published) as held:
        row = {name: index for index, name in enumerate(held["name"].tolist())}
        rows = [row[name] for name in samples.attributes["name"].tolist()]
        theirs = held["embedding"][rows].astype(np.float64)
        who = held["identity"][rows]
    assert (samples.names[samples.identity] == who).all()
    theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)
    return np.asarray((samples.data * theirs).sum(axis=1))


def test_general_encoder_on_fcr_crops(images: Path, shared: Path, tmp_path: Path) -> None:
    lfw = shared / "data" / "lfw"
    samples = encoded(
        images, tmp_path / "e.parquet", "--encoder",
        str(shared / "models" / "efficientnet_lite0.onnx"), "--normalise", "imagenet", "--face",
        "crop", "--faces", str(lfw / "landmarks.npz"),
    )  # fmt: skip
    found = cosines(samples, lfw / "embeddings" / "efficientnet_lite0.npz")
    assert found.min() > 0.99
    assert np.median(found) > 0.999


def test_face_encoder_on_aligned_faces(images: Path, shared: Path, tmp_path: Path) -> None:
    lfw = shared / "data" / "lfw"
    network = f"arcface:{shared / 'models' / 'face_mobile_512.onnx'}"
    given = ["--normalise", "half-128", "--faces", str(lfw / "landmarks.npz"), "--encoder", network]
    published = lfw / "embeddings" / "face_mobile_512.npz"
    right = cosines(encoded(images, tmp_path / "r.parquet", "--colour", "RGB", *given), published)
    wrong = cosines(encoded(images, tmp_path / "b.parquet", "--colour", "BGR", *given), published)
    assert np.median(right) > 0.999
    assert np.median(wrong) < 0.95


def test_one_command_from_photographs_to_a_report(
    images: Path, shared: Path, tmp_path: Path
) -> None:
    """Twelve people of LFW with all of their pictures, YuNet, the face encoder."""
    some = tmp_path / "in"
    some.mkdir()
    photographs = sorted((shared / "data" / "lfw" / "images").glob("*.jpg"))
    people = dict.fromkeys(path.stem.rpartition("_")[0] for path in photographs)
    for path in photographs:
        if path.stem.rpartition("_")[0] in list(people)[:12]:
            (some / path.name).symlink_to(path)
    command = [
        "audit", str(some), "--encoder", f"arcface:{shared / 'models' / 'face_mobile_512.onnx'}",
        "--colour", "RGB", "--normalise", "half-128", "--detector",
        str(shared / "models" / "yunet_2023mar.onnx"), "--policy", "central", "--far", "0.1",
        "--attack", "cosine", "--bootstrap", "200", "--workers", "1", "--out", str(tmp_path / "o"),
    ]  # fmt: skip
    assert invoke(command) == 0
    report = read(tmp_path / "o" / "report.json")
    assert report.encoding is not None
    assert report.encoding.pictures.found == report.subject.rows == len(list(some.iterdir()))
    assert report.encoding.geometry.detector == "yunet_2023mar"
    assert report.encoding.identity_rule == "the file name without its last number"
    assert (report.worst().tar.value or 0) > 0.5


def test_dlib_needs_no_file_at_all(images: Path, shared: Path, tmp_path: Path) -> None:
    pytest.importorskip("dlib")
    lfw = shared / "data" / "lfw"
    published = lfw / "embeddings" / "dlib128.npz"
    faces = ["--encoder", "dlib", "--faces", str(lfw / "landmarks.npz")]
    assert cosines(encoded(images, tmp_path / "g.parquet", *faces), published).min() > 0.9999
    found = encoded(images, tmp_path / "d.parquet", "--encoder", "dlib")
    assert found.encoding is not None
    assert found.encoding.geometry.detector == "dlib"
    assert len(found) >= 0.9 * COUNT
    assert np.median(cosines(found, published)) > 0.99

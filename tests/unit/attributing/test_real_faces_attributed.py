"""On real photographs: the face encoder is face-dominant, the general one is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from efface.attributing.run import attribution
from efface.attributing.settings import Settings
from efface.attributing.survey import Finder
from efface.attributions import Finding
from efface.encoders.choose import open_encoder
from efface.encoders.declared import Declared, Sheet

pytestmark = [pytest.mark.shared, pytest.mark.slow]
PEOPLE, EACH = 12, 3


@pytest.fixture(scope="module")
def found(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    folder = tmp_path_factory.mktemp("lfw")
    lfw = shared / "data" / "lfw"
    by_person: dict[str, list[Path]] = {}
    for path in sorted((lfw / "images").glob("*.jpg")):
        by_person.setdefault(path.stem.rpartition("_")[0], []).append(path)
    (folder / "in").mkdir()
    for who in sorted(by_person)[::30][:PEOPLE]:
        for path in by_person[who][:EACH]:
            (folder / "in" / path.name).symlink_to(path)
    general = open_encoder(
        str(shared / "models" / "efficientnet_lite0.onnx"),
        Sheet(preprocessing=Declared(normalise="imagenet")),
    )
    face = open_encoder(
        f"arcface:{shared / 'models' / 'face_mobile_512.onnx'}",
        Sheet(preprocessing=Declared(colour="RGB", normalise="half-128")),
    )
    made = attribution(
        folder / "in", [general, face], settings=Settings(bootstrap=300, per_person=1),
        finder=Finder(faces=str(lfw / "landmarks.npz")), cache=folder / "cache",
    )  # fmt: skip
    assert made.pictures.usable == PEOPLE * EACH
    assert made.examples == []
    assert 0.6 < made.views[1].ring_seen < 0.8
    return {one.encoder: one for one in made.findings}


def test_the_face_encoder_is_face_dominant(found: dict[str, Finding]) -> None:
    face = found["face_mobile_512"]
    assert face.side == "face"
    assert face.importance is not None
    assert (face.importance.specific.low or 0) > 0.1


def test_the_general_encoder_is_context_dominant(found: dict[str, Finding]) -> None:
    general = found["efficientnet_lite0"]
    assert general.side == "context"
    assert general.revelation is not None
    assert general.revelation.median.value == 0


def test_blur_makes_strangers_alike_for_the_face_encoder(found: dict[str, Finding]) -> None:
    """Why FII as published does not decide."""
    held = found["face_mobile_512"].importance
    assert held is not None
    assert (held.strangers.high or 0) < -0.2
    assert (held.fii.value or 1) < (held.specific.low or 0)

"""The manifest is complete and truthful, and an encoder is found by whatever names it."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
from tiny_checkpoints import save_model
from tiny_networks import onnx_encoder, torchscript_encoder

from efface.encoders.choose import open_detector_path, open_encoder
from efface.encoders.declared import Declared, Sheet
from efface.encoders.manifest import models_folder, read_manifest
from efface.encoders.shelf import Shelf
from efface.errors import ArtefactError, DataError, PlanError

OWN = """
[team-encoder]
kind = "onnx"
summary = "ours"
page = "https://example.org/team"
licence = "internal"
terms = "free"
[[team-encoder.files]]
name = "team.onnx"
sha256 = "{sha}"
[team-encoder.declared.preprocessing]
normalise = "half"
"""


def test_every_entry_says_what_a_user_must_know() -> None:
    models = read_manifest()
    assert {"sface", "yunet", "dlib-resnet", "sscd-disc-mixup", "dinov2-base"} <= set(models)
    for name, model in models.items():
        assert model.page.startswith("https://"), name
        assert model.licence, name
        fetched = all(file.url for file in model.files)
        assert fetched != bool(model.by_hand), f"{name}: fetched or by hand, not both"
        assert all(file.url.startswith("https://") for file in model.files if file.url), name
        if model.restricted:
            assert model.notice, f"{name}: restricted without a word why"


def test_the_digest_of_the_packaged_weights_is_right() -> None:
    pytest.importorskip("dlib")
    name = "dlib-resnet"
    (found,) = Shelf(Path("nowhere")).look(name, read_manifest()[name])
    assert found.state == "verified"


@pytest.mark.shared
def test_the_detector_here_is_the_one_of_its_publisher(shared: Path) -> None:
    (file,) = read_manifest()["yunet"].files
    data = (shared / "models" / "yunet_2023mar.onnx").read_bytes()
    assert hashlib.sha256(data).hexdigest() == file.sha256
    assert len(data) == file.bytes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[a]\nkind = 'onnx'", "no manifest"),
        ("a = ", "no manifest"),
        (OWN.format(sha="xyz"), "no manifest"),
        (OWN.format(sha="0" * 64).replace("team.onnx", "../evil.onnx"), "no manifest"),
        (OWN.format(sha="0" * 64).replace('name = "team', 'url = "file:///x"\nname = "team'),
         "no manifest"),
    ],
)  # fmt: skip
def test_a_manifest_with_mistakes_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(PlanError, match=says):
        read_manifest(tmp_path / "own.toml")
    with pytest.raises(PlanError, match="cannot be read"):
        read_manifest(tmp_path / "none.toml")


def test_where_models_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    monkeypatch.delenv("EFFACE_MODELS", raising=False)
    assert models_folder() == Path("/cache/efface/models")
    monkeypatch.setenv("EFFACE_MODELS", "/models")
    assert models_folder() == Path("/models")
    assert models_folder("here") == Path("here")


# --- how an encoder is named ----------------------------------------------------------------

HALF = Sheet(preprocessing=Declared(normalise="half"))


def test_by_path(tmp_path: Path) -> None:
    face = onnx_encoder(tmp_path / "face.onnx", shape=("n", 3, 112, 112))
    script = torchscript_encoder(tmp_path / "s.pt")
    assert open_encoder(str(face), HALF).facts.kind == "onnx"
    assert open_encoder(f"adaface:{face}").facts.kind == "adaface"
    assert open_encoder(f"sscd:{script}").facts.preprocessing.height == 320
    small = Sheet(preprocessing=Declared(size=288))
    assert open_encoder(f"sscd:{script}", small).facts.preprocessing.shorter == 288
    sized = Sheet(preprocessing=Declared(normalise="half", size=40))
    assert open_encoder(str(script), sized).facts.kind == "torchscript"


def test_by_folder_with_a_pooling(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = str(save_model(tmp_path / "dino", "dinov2"))
    assert open_encoder(folder).facts.pooling == "cls"
    assert open_encoder(f"hf:{folder}", Sheet(pooling="mean")).facts.pooling == "mean"
    with pytest.raises(DataError, match="brings its own preprocessing: leave --size out"):
        open_encoder(folder, Sheet(preprocessing=Declared(size=3)))


def test_dlib_by_its_name() -> None:
    pytest.importorskip("dlib")
    assert open_encoder("dlib").facts.kind == "dlib"
    assert open_encoder("dlib-resnet").facts.weights == open_encoder("dlib").facts.weights
    with pytest.raises(DataError, match="leave --pooling out"):
        open_encoder("dlib", Sheet(pooling="cls"))


def test_by_a_name_of_the_users_own_manifest(tmp_path: Path) -> None:
    weights = onnx_encoder(tmp_path / "made.onnx")
    sha = hashlib.sha256(weights.read_bytes()).hexdigest()
    (tmp_path / "own.toml").write_text(OWN.format(sha=sha))
    named = {"models": tmp_path / "models", "manifest": tmp_path / "own.toml"}
    with pytest.raises(ArtefactError, match=f"not here yet.*put team.onnx from .*{sha}"):
        open_encoder("team-encoder", **named)
    place = tmp_path / "models" / "team-encoder" / "team.onnx"
    place.parent.mkdir(parents=True)
    shutil.copy(weights, place)
    facts = open_encoder("team-encoder", **named).facts
    assert (facts.name, facts.licence) == ("team-encoder", "internal")
    assert facts.source == "https://example.org/team"
    onnx_encoder(place, dim=7)
    with pytest.raises(ArtefactError, match=f"declared is {sha}"):
        open_encoder("team-encoder", **named)


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("sfase", "no encoder 'sfase' .*did you mean 'sface'"),
        ("yunet", "is a detector, not an encoder"),
        ("onnx:", "no encoder 'onnx:'"),
        ("x" * 5000, "no encoder"),
    ],
)
def test_names_that_are_none(tmp_path: Path, named: str, says: str) -> None:
    with pytest.raises(PlanError, match=says):
        open_encoder(named, models=tmp_path)


def test_detectors_by_name_or_path(tmp_path: Path) -> None:
    assert open_detector_path("dlib") == "dlib"
    assert open_detector_path("some/file.onnx") == "some/file.onnx"
    with pytest.raises(PlanError, match="is an encoder, not a detector"):
        open_detector_path("sface")
    with pytest.raises(ArtefactError, match="efface models pull yunet"):
        open_detector_path("yunet", tmp_path)

"""TorchScript and SSCD, and dlib's recogniser, against the libraries themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiny_networks import DIM, pictures, torchscript_encoder

from efface.encoders.declared import Declared, Sheet
from efface.encoders.dlib import Dlib, package_file
from efface.encoders.fit import fitted
from efface.encoders.torchscript import SSCD, TorchScript
from efface.encoders.weights import file_digest
from efface.errors import ArtefactError, DataError, MissingExtra

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return torchscript_encoder(tmp_path_factory.mktemp("script") / "sscd_tiny.torchscript.pt")


def by_hand(script: Path, picture: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """torchvision's Resize on a Pillow image, ToTensor and Normalize, written out."""
    resized = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BILINEAR))
    x = torch.from_numpy(((resized / 255 - MEAN) / STD).transpose(2, 0, 1).astype(np.float32))
    with torch.inference_mode():
        return np.asarray(torch.jit.load(str(script)).eval()(x[None])[0])


def test_sscd_as_its_authors_prepare_pictures(script: Path) -> None:
    tall, wide = pictures(1, 100, 60)[0], pictures(1, 70, 333)[0]
    for encoder, sizes in (
        (SSCD(str(script)), [(320, 320)] * 2),
        (SSCD(str(script), side=288), [(288, 480), (1370, 288)]),
    ):
        wanted = encoder.facts.preprocessing
        ours = encoder.encode([fitted(tall, wanted), fitted(wide, wanted)])
        for one, picture, size in zip(ours, (tall, wide), sizes, strict=True):
            assert np.abs(one - by_hand(script, picture, size)).max() < 1e-5
    assert SSCD(str(script)).facts.name == "sscd_tiny"
    with pytest.raises(DataError, match="288 or 320"):
        _ = SSCD(str(script), side=224).facts  # type: ignore[arg-type]


def test_a_script_says_nothing_so_all_is_declared(script: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="any size: declare"):
        _ = TorchScript(str(script)).facts
    said = Declared(size=48, normalise="half")
    assert TorchScript(str(script), Sheet(preprocessing=said)).facts.dimension == DIM
    beside = tmp_path / "s.pt"
    beside.write_bytes(script.read_bytes())
    (tmp_path / "s.toml").write_text("[preprocessing]\nsize = 48\nnormalise = 'half'\n")
    assert TorchScript(str(beside)).facts.preprocessing.height == 48


def test_what_is_no_script_or_no_encoder(script: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.pt"
    text.write_text("not a network")
    with pytest.raises(DataError, match="no TorchScript file that loads here"):
        _ = SSCD(str(text)).facts
    said = Declared(size=2, normalise="half")
    with pytest.raises(DataError, match="does not take 2 x 2 pictures"):
        _ = TorchScript(str(script), Sheet(preprocessing=said)).facts
    with pytest.raises(ArtefactError, match="declared is"):
        _ = SSCD(str(script), Sheet(sha256="1" * 64)).facts
    for module, says in ((torch.nn.Flatten(0), "is no encoder"), (Pair(), "gives tuple")):
        torch.jit.trace(module, torch.zeros(1, 3, 8, 8)).save(str(text))
        with pytest.raises(DataError, match=says):
            _ = SSCD(str(text)).facts


class Pair(torch.nn.Module):
    def forward(self, x):  # type: ignore[no-untyped-def]
        return x, x


def test_dlib_needs_nothing_but_pip() -> None:
    dlib = pytest.importorskip("dlib")
    encoder = Dlib()
    weights = package_file("dlib_face_recognition_resnet_model_v1.dat")
    assert encoder.facts.weights == file_digest(weights)
    chips = [np.ascontiguousarray(chip) for chip in pictures(2, 150, 150)]
    theirs = dlib.face_recognition_model_v1(str(weights)).compute_face_descriptor(chips[1])
    assert np.abs(encoder.encode(chips)[1] - np.array(theirs)).max() < 1e-5
    assert "CC0" in encoder.facts.licence


def test_dlib_refuses_other_files_and_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dlib")
    (tmp_path / "x.dat").write_bytes(b"no model of dlib's")
    with pytest.raises(ArtefactError, match="no model of dlib's"):
        _ = Dlib(str(tmp_path / "x.dat")).facts
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"efface\[dlib\]"):
        _ = Dlib().facts

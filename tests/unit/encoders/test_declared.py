"""A declaration beside the weights, what is typed over it, and mistakes in either."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_networks import onnx_encoder

from efface.encoders.arcface import AdaFace, ArcFace
from efface.encoders.declared import Declared, Sheet, declaration, read_sheet
from efface.encoders.onnx import Onnx
from efface.errors import DataError, PlanError

FULL = """
name = "mine"
licence = "MIT"
source = "https://example.org"
output = "vector"

[preprocessing]
size = [24, 24]
fit = "crop"
shorter = 30
filter = "bicubic"
colour = "BGR"
mean = [0.1, 0.2, 0.3]
std = [1, 2, 3]
scale = 0.5
"""


@pytest.mark.parametrize("name", ["e.toml", "e.onnx.toml"])
def test_the_file_beside_the_weights_declares_them(tmp_path: Path, name: str) -> None:
    path = onnx_encoder(tmp_path / "e.onnx")
    (tmp_path / name).write_text(FULL)
    facts = Onnx(str(path)).facts
    assert (facts.name, facts.licence, facts.source) == ("mine", "MIT", "https://example.org")
    made = facts.preprocessing
    assert (made.height, made.fit, made.shorter, made.filter) == (24, "crop", 30, "bicubic")
    assert (made.colour, made.scale, made.mean, made.std) == (
        "BGR",
        0.5,
        (0.1, 0.2, 0.3),
        (1, 2, 3),
    )
    assert facts.assumed == []


def test_what_is_typed_wins(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(FULL)
    typed = Sheet(name="other", preprocessing=Declared(normalise="half", colour="RGB"))
    merged = declaration(tmp_path / "e.onnx", typed)
    assert (merged.name, merged.licence) == ("other", "MIT")
    said = merged.preprocessing
    assert (said.colour, said.filter, said.shorter) == ("RGB", "bicubic", 30)
    assert said.numbers == (1 / 255, (0.5,), (0.5,))


def test_half_a_normalisation_is_not_mixed_with_another(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(FULL)
    said = declaration(tmp_path / "e.onnx", Sheet(preprocessing=Declared(mean=(0.5,))))
    assert said.preprocessing.numbers == (1 / 255, (0.5,), (1.0,))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[preprocessing]\nnormalize = 'half'", r"no key 'preprocessing\.normalize'.*'normalise'"),
        ("licens = 'MIT'", "no key 'licens'.*'licence'"),
        ("[preprocessing]\nnormalise = 'imagnet'", "Invalid enum value 'imagnet'"),
        ("[preprocessing]\nsize = 'large'", "size"),
        ("[preprocessing]\nnormalise = 'half'\nmean = [1]", "give it or them, not both"),
        ("preprocessing = 3", "preprocessing"),
        ("sha256 = 'abc'", "sha256"),
        ("name = ", "is no TOML"),
        ("name = '\udcff'", "is no TOML"),
    ],
)
def test_mistakes_are_named_with_the_file(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "e.toml"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises((PlanError, DataError), match=says) as caught:
        read_sheet(file)
    assert "e.toml" in str(caught.value)


@pytest.mark.parametrize("size", [0, -3, 9000, (24, 0)])
def test_an_impossible_size_is_refused(tmp_path: Path, size: object) -> None:
    path = onnx_encoder(tmp_path / "e.onnx", shape=("n", 3, "h", "w"))
    said = Declared(normalise="half", size=size)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"height|width"):
        _ = Onnx(str(path), Sheet(preprocessing=said)).facts


def test_arcface_wants_its_colour_said(tmp_path: Path) -> None:
    path = onnx_encoder(tmp_path / "face.onnx", shape=("n", 3, 112, 112))
    with pytest.raises(DataError, match="declare --colour RGB or --colour BGR"):
        _ = ArcFace(str(path)).facts
    facts = ArcFace(str(path), Sheet(preprocessing=Declared(colour="RGB"))).facts
    assert (facts.kind, facts.alignment) == ("arcface", "arcface")
    assert facts.preprocessing.formula == "(x / 255 - 0.5) / 0.5"
    assert "normalise half" in facts.assumed


def test_adaface_is_blue_first(tmp_path: Path) -> None:
    path = onnx_encoder(tmp_path / "face.onnx", shape=("n", 3, 112, 112))
    facts = AdaFace(str(path)).facts
    assert (facts.preprocessing.colour, facts.alignment) == ("BGR", "arcface")
    red = ArcFace(str(path), Sheet(preprocessing=Declared(colour="RGB")))
    from tiny_networks import pictures

    images = pictures(2, 112, 112)
    swapped = [image[..., ::-1] for image in images]
    assert (AdaFace(str(path)).encode(images) == red.encode(swapped)).all()
    assert (AdaFace(str(path)).encode(images) != red.encode(images)).any()


def test_an_arcface_file_that_normalises_itself_is_left_to_it(tmp_path: Path) -> None:
    start = [("Sub", 127.5), ("Mul", 1 / 128)]
    path = onnx_encoder(tmp_path / "face.onnx", shape=("n", 3, 112, 112), start=start)
    facts = ArcFace(str(path), Sheet(preprocessing=Declared(colour="RGB"))).facts
    assert facts.preprocessing.formula == "pixels as they are, 0 to 255"


def test_a_face_network_of_another_size_is_no_arcface(tmp_path: Path) -> None:
    path = onnx_encoder(tmp_path / "e.onnx")
    with pytest.raises(DataError, match="takes 24 x 24 pictures, declared are 112 x 112"):
        _ = AdaFace(str(path)).facts

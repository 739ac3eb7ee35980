"""``efface attribute``: what is written and printed, exit codes, and every bad input by name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from attribute_world import EACH, PEOPLE, network, pictures
from onnx import TensorProto, helper
from PIL import Image

import efface
from efface.cli.main import invoke
from efface.encoders.choose import open_encoder
from efface.export.fitting import Encoder, Fitting
from efface.protect.linear.eraser import LinearEraser
from efface.report.attribution import from_json, to_html

Place = tuple[Path, Path, Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Pictures, faces, network."""
    root = tmp_path_factory.mktemp("attribute")
    images, faces = pictures(root)
    return images, faces, network(root / "means.onnx")


def run(made: Place, out: Path, *more: str, images: Path | None = None) -> int:
    where, faces, encoder = made
    given = ["attribute", str(images or where), "--encoder", str(encoder), "--faces", str(faces)]
    usual = ["--out", str(out), "--workers", "1", "--canvas", "96", "--bootstrap", "200"]
    return invoke([*given, *usual, *more])


def saved_eraser(path: Path, dim: int = 192, weights: str | None = None, people: int = 0) -> Path:
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((dim, 12)))[0]
    fitting = Fitting(encoder=None if weights is None else Encoder(weights=weights))
    made = LinearEraser(basis=basis, method="isp", identities=people)
    efface.save_eraser(made, path, provenance=fitting)
    return path


def test_json_page_and_lines_say_the_same(
    made: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    projector = saved_eraser(tmp_path / "p.safetensors")
    assert run(made, tmp_path / "out", "--projector", str(projector)) == 0
    said = capsys.readouterr().out
    found = from_json((tmp_path / "out" / "attribution.json").read_bytes())
    assert (tmp_path / "out" / "attribution.html").read_text(encoding="utf-8") == to_html(found)
    assert found.headline in said
    assert f"{PEOPLE * EACH} of {PEOPLE * EACH} usable, {PEOPLE} people" in said
    assert [one.release for one in found.findings] == ["raw", "isp-12"]
    assert found.command.startswith("efface")
    assert "/" not in found.command.split("--canvas")[0].replace("faces.npz", "")
    assert found.examples == []


def test_unrecognised_people_of_a_projector_are_said_wherever_a_reader_looks(
    made: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    projector = saved_eraser(tmp_path / "p.safetensors", people=30)
    assert run(made, tmp_path / "out", "--projector", str(projector)) == 0
    said = (
        "recognised 0 of the 30 people this projector was fitted on; the others may be among these "
        "pictures, and then the erased figures flatter it: attribute pictures of other people"
    )
    assert f"means, isp-12: {said}" in capsys.readouterr().out
    found = from_json((tmp_path / "out" / "attribution.json").read_bytes())
    assert said in found.findings[1].notes
    top, _, _ = to_html(found).partition('<section aria-labelledby="figures">')
    assert said in top


def test_a_projector_of_nobody_known_is_not_doubted(
    made: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    projector = saved_eraser(tmp_path / "p.safetensors")
    assert run(made, tmp_path / "out", "--projector", str(projector)) == 0
    assert "flatter" not in capsys.readouterr().out
    found = from_json((tmp_path / "out" / "attribution.json").read_bytes())
    assert "does not say whom" in found.findings[1].notes[0]


def test_a_second_command_remembers_and_json_goes_to_standard_output(
    made: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(made, tmp_path / "out") == 0
    capsys.readouterr()
    assert run(made, tmp_path / "out", "--json", "--show-pictures") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["views"][0]["encoded"] == 0
    assert found["views"][0]["remembered"] > 0
    assert len(found["examples"]) == 3
    assert run(made, tmp_path / "other", "--cache", str(tmp_path / "out" / "cache")) == 0
    again = json.loads((tmp_path / "other" / "attribution.json").read_bytes())
    assert again["views"][0]["encoded"] == 0


def test_several_encoders_each_with_its_declaration_beside_it(
    made: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    second = network(tmp_path / "finer.onnx", field=4)
    projector = saved_eraser(tmp_path / "p.safetensors", dim=768)
    more = ["--encoder", str(second), "--projector", f"finer={projector}"]
    assert run(made, tmp_path / "out", *more) == 0
    found = from_json((tmp_path / "out" / "attribution.json").read_bytes())
    assert [(f.encoder, f.release) for f in found.findings] == [
        ("means", "raw"), ("finer", "raw"), ("finer", "isp-12"),
    ]  # fmt: skip
    assert run(made, tmp_path / "out", "--encoder", str(second), "--normalise", "unit") == 2
    assert "write a TOML file beside each" in capsys.readouterr().err


def test_a_projector_goes_to_the_encoder_it_was_fitted_for(made: Place, tmp_path: Path) -> None:
    """Two encoders of one length: the file says whose it is, so nobody has to name it."""
    other = network(tmp_path / "other.onnx", side=128, field=16)
    weights = open_encoder(str(other)).facts.weights
    path = saved_eraser(tmp_path / "p.safetensors", weights=weights)
    more = ("--encoder", str(other), "--projector", str(path))
    assert run(made, tmp_path / "out", *more) == 0
    found = from_json((tmp_path / "out" / "attribution.json").read_bytes())
    releases = [(one.encoder, one.release) for one in found.findings]
    assert releases == [("means", "raw"), ("other", "raw"), ("other", "isp-12")]


def test_the_gate(made: Place, tmp_path: Path) -> None:
    """The colours of a whole crop are those of its surroundings."""
    out = tmp_path / "out"
    assert run(made, out, "--expect", "context") in (0, 3)
    side = from_json((out / "attribution.json").read_bytes()).findings[0].side
    assert run(made, out, "--expect", "context") == (0 if side == "context" else 3)
    assert run(made, out, "--expect", "face") == (1 if side == "context" else 3)


def test_too_few_people_for_an_interval_end_with_3(
    made: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(made, tmp_path / "out", "--people", "3") == 3
    found = from_json((tmp_path / "out" / "attribution.json").read_bytes())
    assert found.findings[0].side == "undecided"
    assert found.findings[0].importance is not None
    assert found.findings[0].importance.fii.value is None
    assert "undecided" in capsys.readouterr().out


# --- what cannot be used ---------------------------------------------------------------------


def no_such_folder(place: Path, made: Place) -> tuple[list[str], str]:
    return [str(place / "nowhere")], "no such folder"


def one_person(place: Path, made: Place) -> tuple[list[str], str]:
    shutil.copytree(made[0] / "Zoë 0", place / "in" / "Zoë 0")
    return [str(place / "in")], "usable faces of 1 people"


def nobody_twice(place: Path, made: Place) -> tuple[list[str], str]:
    for who in (0, 1, 2):
        (place / "in" / f"Zoë {who}").mkdir(parents=True)
        shutil.copy(made[0] / f"Zoë {who}" / "0 ü.png", place / "in" / f"Zoë {who}" / "0 ü.png")
    return [str(place / "in")], "nobody has a second usable picture"


def no_faces_at_all(place: Path, made: Place) -> tuple[list[str], str]:
    for who in (0, 1):
        (place / "in" / f"p{who}").mkdir(parents=True)
        for k in (0, 1):
            picture = np.full((64, 64, 3), 40 * k, np.uint8)
            Image.fromarray(picture).save(place / "in" / f"p{who}" / f"{k}.png")
    return [str(place / "in")], "usable faces of 0 people (4 no face)"


def faces_at_the_border(place: Path, made: Place) -> tuple[list[str], str]:
    (place / "in").mkdir()
    shutil.copytree(made[0], place / "in", dirs_exist_ok=True)
    for path in sorted((place / "in").rglob("*.png")):
        Image.open(path).crop((70, 0, 128, 128)).save(path)
    with np.load(made[1]) as held:
        arrays = {name: held[name] for name in held.files}
    arrays["box"] = arrays["box"] - [70, 0, 70, 0]
    arrays["landmarks"] = arrays["landmarks"] - [70, 0]
    np.savez(place / "faces.npz", **arrays)
    return [str(place / "in"), "--faces", str(place / "faces.npz")], "face at the border"


def text_for_pictures(place: Path, made: Place) -> tuple[list[str], str]:
    for who in (0, 1):
        (place / "in" / f"p{who}").mkdir(parents=True)
        (place / "in" / f"p{who}" / "0.jpg").write_text("no picture")
        (place / "in" / f"p{who}" / "1.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    return [str(place / "in")], "0 people (4 not a picture)"


def no_encoder_but_a_detector_like_file(place: Path, made: Place) -> tuple[list[str], str]:
    shape = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 32, 32])
    outs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 3, 32, 32]) for n in "ab"]
    nodes = [helper.make_node("Relu", ["image"], [name]) for name in "ab"]
    graph = helper.make_graph(nodes, "two", [shape], outs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, place / "two.onnx")
    return [str(made[0]), "--encoder", str(place / "two.onnx")], "two.onnx"


def an_output_that_is_a_file(place: Path, made: Place) -> tuple[list[str], str]:
    (place / "file").write_text("x")
    return [str(made[0]), "--out", str(place / "file")], "cannot write there"


def a_cache_that_is_a_file(place: Path, made: Place) -> tuple[list[str], str]:
    (place / "file").write_text("x")
    return [str(made[0]), "--cache", str(place / "file")], "file"


def a_projector_of_another_encoder(place: Path, made: Place) -> tuple[list[str], str]:
    path = saved_eraser(place / "p.safetensors", dim=30)
    return [str(made[0]), "--projector", str(path)], "30 dimensions fits no encoder"


def a_projector_of_another_encoder_of_the_same_length(
    place: Path, made: Place
) -> tuple[list[str], str]:
    path = saved_eraser(place / "p.safetensors", weights="ab" * 32)
    return [str(made[0]), "--projector", str(path)], "an encoder with abababab"


def a_named_projector_of_another_encoder(place: Path, made: Place) -> tuple[list[str], str]:
    path = saved_eraser(place / "p.safetensors", weights="ab" * 32)
    return [str(made[0]), "--projector", f"means={path}"], "an encoder with abababab"


def a_projector_that_is_none(place: Path, made: Place) -> tuple[list[str], str]:
    (place / "p.safetensors").write_text("no projector")
    return [str(made[0]), "--projector", str(place / "p.safetensors")], "p.safetensors"


def a_projector_for_nobody(place: Path, made: Place) -> tuple[list[str], str]:
    path = saved_eraser(place / "p.safetensors")
    return [str(made[0]), "--projector", f"nobody={path}"], "the encoders are means"


def half_a_swap_network(place: Path, made: Place) -> tuple[list[str], str]:
    return [str(made[0]), "--swap", "x.onnx"], "--swap and --swap-encoder go together"


def a_swap_network_that_is_none(place: Path, made: Place) -> tuple[list[str], str]:
    more = ["--swap", str(made[2]), "--swap-encoder", str(made[2])]
    return [str(made[0]), *more], "is no swap network"


def a_canvas_too_small(place: Path, made: Place) -> tuple[list[str], str]:
    return [str(made[0]), "--canvas", "10"], "canvas of 10 pixels"


def aligned_faces_of_an_odd_size(place: Path, made: Place) -> tuple[list[str], str]:
    return [str(made[0]), "--face", "arcface"], "sides of 112 or 128"


CASES = [
    no_such_folder, one_person, nobody_twice, no_faces_at_all, faces_at_the_border,
    text_for_pictures, no_encoder_but_a_detector_like_file, an_output_that_is_a_file,
    a_cache_that_is_a_file, a_projector_of_another_encoder,
    a_projector_of_another_encoder_of_the_same_length, a_named_projector_of_another_encoder,
    a_projector_that_is_none, a_projector_for_nobody, half_a_swap_network,
    a_swap_network_that_is_none, a_canvas_too_small, aligned_faces_of_an_odd_size,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_bad_input_is_named_in_one_line(
    case: Callable[[Path, Place], tuple[list[str], str]], made: Place, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (images, *more), said = case(tmp_path, made)
    given = ["attribute", images]
    if "--encoder" not in more:
        given += ["--encoder", str(made[2])]
    if "--faces" not in more:
        given += ["--faces", str(made[1])]
    if "--out" not in more:
        given += ["--out", str(tmp_path / "out")]
    if "--canvas" not in more:
        given += ["--canvas", "96"]
    assert invoke([*given, "--workers", "1", *more]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert "does not know" not in error
    assert not (tmp_path / "out" / "attribution.json").exists()

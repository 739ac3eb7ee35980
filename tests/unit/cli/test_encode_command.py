"""``efface encode``: what is printed, what is refused, and where the vectors go on to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image

import efface
from efface.cli import encoded
from efface.cli.main import invoke


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Eight people with four pictures each, around a picture of their own."""
    rng = np.random.default_rng(0)
    for who in range(8):
        folder = tmp_path / "in" / f"Zoë {who}"
        folder.mkdir(parents=True)
        own = rng.integers(0, 256, (6, 6, 3))
        for number in range(4):
            small = np.clip(own + rng.normal(0, 25, own.shape), 0, 255).astype(np.uint8)
            image = Image.fromarray(small).resize((60, 60), Image.Resampling.BICUBIC)
            image.save(folder / f"{number}.jpg", quality=90)
    return tmp_path / "in"


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """Means of 3 x 3 fields: 27 numbers."""
    shape = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 24, 24])
    out = helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["n", 27])
    nodes = [
        helper.make_node("AveragePool", ["image"], ["pool"], kernel_shape=[8, 8], strides=[8, 8]),
        helper.make_node("Flatten", ["pool"], ["vector"]),
    ]
    graph = helper.make_graph(nodes, "means", [shape], [out])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "n.onnx")
    return tmp_path / "n.onnx"


def run(images: Path, network: Path, *more: str) -> int:
    out = str(images.parent / "emb.parquet")
    given = ["encode", str(images), "--encoder", str(network), "--out", out, "--workers", "1"]
    return invoke([*given, *more])


def test_it_says_what_it_assumes_and_what_became_of_the_pictures(
    images: Path, network: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (images / "Zoë 0" / "text.jpg").write_text("no picture")
    assert run(images, network, "--normalise", "half") == 0
    said = capsys.readouterr().out
    for part in (
        "encoder   n (onnx), 27 numbers, licence not declared, SHA-256 ",
        "takes     24 x 24, proportions not kept; bilinear; RGB; (x / 255 - 0.5) / 0.5; NCHW",
        "assumed   colour RGB, filter bilinear, fit squash: declare what is not so",
        "cuts      whole picture",
        "people    told by the folder a picture is in",
        "emb.parquet: 32 of 33 pictures of 8 people",
        "left out  1 not a picture: ",
        "emb.left-out.csv",
    ):
        assert part in said


def test_the_record_as_json(
    images: Path, network: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(images, network, "--normalise", "half", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["format"] == "efface.encoding/1"
    assert record["encoder"]["preprocessing"]["std"] == [0.5]
    assert record["pictures"]["encoded"] == 32


def test_every_declaration_reaches_the_encoder(images: Path, network: Path) -> None:
    code = run(
        images, network, "--mean", "0.1,0.2,0.3", "--std", "0.5", "--fit", "crop", "--shorter",
        "30", "--filter", "area", "--colour", "BGR", "--size", "24x24", "--output", "vector",
        "--layout", "NCHW", "--dtype", "float16",
    )  # fmt: skip
    assert code == 0
    samples = efface.load(images.parent / "emb.parquet")
    assert samples.stored_dtype == "float16"
    assert samples.encoding is not None
    made = samples.encoding.encoder.preprocessing
    assert (made.mean, made.std, made.shorter) == ((0.1, 0.2, 0.3), (0.5,), 30)
    assert (made.filter, made.colour, made.fit) == ("area", "BGR", "crop")
    assert samples.encoding.encoder.assumed == []


def test_the_vectors_go_on_to_fit(images: Path, network: Path) -> None:
    assert run(images, network, "--normalise", "half") == 0
    out = images.parent / "emb.parquet"
    projector = images.parent / "p.safetensors"
    assert invoke(["fit", str(out), "--all", "--rank", "3", "--out", str(projector)]) == 0


Case = Callable[[Path, Path], tuple[list[str], str]]


def no_numbers(images: Path, network: Path) -> tuple[list[str], str]:
    return [], "declare --normalise (imagenet"


def other_size(images: Path, network: Path) -> tuple[list[str], str]:
    return ["--normalise", "half", "--size", "48"], "takes 24 x 24 pictures, declared are 48"


def no_size(images: Path, network: Path) -> tuple[list[str], str]:
    return ["--normalise", "half", "--size", "large"], "neither a number of pixels"


def bad_mean(images: Path, network: Path) -> tuple[list[str], str]:
    return ["--mean", "a,b"], "is no list of numbers"


def both(images: Path, network: Path) -> tuple[list[str], str]:
    return ["--normalise", "half", "--mean", "3"], "give it or them, not both"


def no_pictures(images: Path, network: Path) -> tuple[list[str], str]:
    for file in images.rglob("*.jpg"):
        file.rename(file.with_suffix(".txt"))
    return ["--normalise", "half"], "holds no pictures (but 32 .txt)"


def no_network(images: Path, network: Path) -> tuple[list[str], str]:
    network.write_bytes(b"text")
    return ["--normalise", "half"], "n.onnx: is no ONNX"


def several_outputs(images: Path, network: Path) -> tuple[list[str], str]:
    model = onnx.load(network)
    model.graph.output.append(helper.make_tensor_value_info("pool", TensorProto.FLOAT, None))
    onnx.save(model, network)
    return ["--normalise", "half"], "has 2 outputs"


def eight_bits(images: Path, network: Path) -> tuple[list[str], str]:
    given = helper.make_tensor_value_info("image", TensorProto.INT8, ["n", 3, 24, 24])
    out = helper.make_tensor_value_info("out", TensorProto.INT8, None)
    node = helper.make_node("Identity", ["image"], ["out"])
    graph = helper.make_graph([node], "g", [given], [out])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), network)
    return ["--normalise", "half"], "takes tensor(int8)"


def wrong_digest(images: Path, network: Path) -> tuple[list[str], str]:
    network.with_suffix(".toml").write_text(f"sha256 = '{'0' * 64}'\n")
    return ["--normalise", "half"], "declared is 000"


def typo_beside(images: Path, network: Path) -> tuple[list[str], str]:
    network.with_suffix(".toml").write_text("[preprocessing]\nnormalize = 'half'\n")
    return [], "did you mean 'normalise'"


def no_detector(images: Path, network: Path) -> tuple[list[str], str]:
    return ["--normalise", "half", "--face", "crop", "--detector", "no.onnx"], "no.onnx: no such"


def no_such_folder(images: Path, network: Path) -> tuple[list[str], str]:
    return ["--normalise", "half", "--out", str(images / "none" / "e.parquet")], "no such folder"


def other_format(images: Path, network: Path) -> tuple[list[str], str]:
    return ["--normalise", "half", "--out", str(images.parent / "e.npz")], "name it .parquet"


def out_is_a_folder(images: Path, network: Path) -> tuple[list[str], str]:
    return ["--normalise", "half", "--out", str(images)], "is a folder"


CASES: list[Case] = [
    no_numbers, other_size, no_size, bad_mean, both, no_pictures, no_network, several_outputs,
    eight_bits, wrong_digest, typo_beside, no_detector, no_such_folder, other_format,
    out_is_a_folder,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_bad_input_is_named_in_a_line(
    case: Case, images: Path, network: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more, says = case(images, network)
    assert run(images, network, *more) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "Traceback" not in error
    assert not (images.parent / "emb.parquet").exists()


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a place closed even to root")
def test_a_read_only_place(images: Path, network: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(images, network, "--normalise", "half", "--out", "/proc/self/emb.parquet") == 2
    assert re.search("cannot be written|not writable", capsys.readouterr().err)


def test_a_full_disk_is_named_and_the_next_run_goes_on(
    images: Path, network: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from efface.stores import disk

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(disk, "write_whole", full)
        assert run(images, network, "--normalise", "half") == 2
    error = capsys.readouterr().err
    assert "the disk or its quota is full" in error
    assert run(images, network, "--normalise", "half") == 0


def test_one_person_is_a_warning(
    images: Path, network: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(images / "Zoë 1", network, "--normalise", "half", "--pattern", "(.)") == 0
    # the pattern takes the first character of each name: four people
    capsys.readouterr()
    for number in range(4):
        (images / "Zoë 1" / f"{number}.jpg").rename(images / "Zoë 1" / f"Zoë_{number}.jpg")
    assert run(images / "Zoë 1", network, "--normalise", "half") == 0
    assert "warning: " in (said := capsys.readouterr().err)
    assert "all pictures are of one person" in said


def test_faces_cut_for_another_kind_of_encoder(
    images: Path, network: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network.with_suffix(".toml").write_text("alignment = 'arcface'\n")
    assert run(images, network, "--normalise", "half", "--face", "none") == 0
    said = capsys.readouterr().err
    assert "trained on faces cut as --face arcface does, and is given --face none" in said
    network.with_suffix(".toml").unlink()
    assert run(images, network, "--normalise", "half", "--face", "none") == 0
    assert "trained on faces" not in capsys.readouterr().err


def test_what_was_measured_on_faces_is_said_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = SimpleNamespace(
        encoded=2, found=2, people=1, left_out={}, treated={}, passed_over={},
        near_duplicates_across=0, near_duplicates=0,
    )  # fmt: skip
    achieved = {"face_score": (0.9, 0.1, 1.0), "faces_seen": (1.0, 0.0, 1.0)}
    made: Any = SimpleNamespace(pictures=found, geometry=SimpleNamespace(achieved=achieved))
    order: Any = SimpleNamespace(out=tmp_path / "emb.parquet")
    encoded._tell(order, made)
    told = capsys.readouterr().out
    assert "The detector's own score  mean 0.900, sd 0.100, largest 1.000" in told
    assert "Faces in a picture  mean 1.000" in told
    assert "face_score" not in told

"""``efface audit IMAGES --encoder``: the same as encode and then audit, in one command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image

import efface
from efface.cli.main import invoke
from efface.encoding.kept import note_path
from efface.report.html import to_html
from efface.report.schema import read

QUICK = ["--far", "0.05", "--attack", "cosine", "--bootstrap", "200", "--sweep", "none"]


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Thirty people with four pictures each, around a picture of their own, and two that fail."""
    rng = np.random.default_rng(0)
    root = tmp_path / "Fotos ü"
    for who in range(30):
        own = rng.integers(0, 256, (6, 6, 3))
        (root / f"{who:02}").mkdir(parents=True)
        for number in range(4):
            small = np.clip(own + rng.normal(0, 40, own.shape), 0, 255).astype(np.uint8)
            image = Image.fromarray(small).resize((60, 60), Image.Resampling.BICUBIC)
            image.save(root / f"{who:02}" / f"{number}.png", compress_level=1)
    (root / "00" / "text.jpg").write_text("no picture")
    (root / "01" / "cut.png").write_bytes((root / "01" / "0.png").read_bytes()[:400])
    return root


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """Means of 8 x 8 fields: 27 numbers."""
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


def given(network: Path) -> list[str]:
    return ["--encoder", str(network), "--normalise", "half", "--workers", "1"]


def audit(images: Path, network: Path, out: Path, *more: str) -> int:
    return invoke(["audit", str(images), *given(network), *QUICK, "--out", str(out), *more])


def without_names(report: Path) -> dict[str, Any]:
    """A report but for the name of its data and the command that was typed."""
    plain: dict[str, Any] = json.loads(report.read_bytes())
    plain["provenance"]["command"] = plain["subject"]["dataset"] = ""
    return plain


def test_people_with_one_picture_are_left_out_with_min_images_and_nobody_else_loses_any(
    images: Path, network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The refusal says how, and that nothing has to be encoded again."""
    for number in (1, 2, 3):
        (images / "00" / f"{number}.png").unlink()
    out = tmp_path / "out"
    assert audit(images, network, out) == 2
    said = capsys.readouterr().err
    assert "(--min-images 2)" in said
    assert "efface." not in said
    assert f"The vectors are kept in {out / 'embeddings.parquet'}" in said
    assert audit(images, network, out, "--min-images", "2") == 0
    told = capsys.readouterr().out
    assert "nothing was encoded" in told
    assert "left out  1 person of Fotos ü with fewer than 2 pictures, 1 picture in all" in told
    assert sum(rows for _, rows in read(out / "report.json").subject.parts.values()) == 29 * 4
    assert audit(images, network, out, "--min-images", "2", "--json") == 0
    told = capsys.readouterr().out
    assert json.loads(told)["subject"]["dataset"] == "Fotos ü"


def test_one_command_gives_the_bytes_of_two(images: Path, network: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert audit(images, network, one) == 0
    assert invoke(["encode", str(images), *given(network), "--out", str(tmp_path / "e.pq")]) == 0
    assert invoke(["audit", str(tmp_path / "e.pq"), *QUICK, "--out", str(two)]) == 0
    assert (one / "embeddings.parquet").read_bytes() == (tmp_path / "e.pq").read_bytes()
    for kind in ("left-out", "near-duplicates"):
        theirs = (tmp_path / f"e.{kind}.csv").read_bytes()
        assert (one / f"embeddings.{kind}.csv").read_bytes() == theirs
    assert without_names(one / "report.json") == without_names(two / "report.json")
    assert read(one / "report.json").subject.dataset == "Fotos ü"


def test_the_report_says_by_whom_and_of_what(images: Path, network: Path, tmp_path: Path) -> None:
    assert audit(images, network, tmp_path / "out", "--images", "3") == 0
    report = read(tmp_path / "out" / "report.json")
    assert report.encoding is not None
    import hashlib

    digest = hashlib.sha256(network.read_bytes()).hexdigest()
    assert report.encoding.encoder.weights == digest
    assert report.encoding.encoder.preprocessing.mean == (0.5,)
    assert (report.encoding.pictures.found, report.encoding.pictures.encoded) == (122, 120)
    assert report.encoding.pictures.left_out == {"damaged": 1, "not a picture": 1}
    page = re.sub(r"<[^>]*>|\s+", " ", to_html(report))
    for words in (digest, "damaged 1 0.82", "not audited 30", "audited 90",
                  "colour RGB, filter bilinear, fit squash"):  # fmt: skip
        assert words in re.sub(" +", " ", page)


def test_the_next_run_encodes_nothing(
    images: Path,
    network: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from efface.encoders.base import NetworkEncoder

    out = tmp_path / "out"
    assert audit(images, network, out) == 0
    first = without_names(out / "report.json")

    def encode(*_: Any) -> None:
        raise AssertionError("encoded again")

    with monkeypatch.context() as patched:
        patched.setattr(NetworkEncoder, "encode", encode)
        capsys.readouterr()
        assert audit(images, network, out) == 0
        assert "the vectors of an earlier run" in capsys.readouterr().out
        assert without_names(out / "report.json") == first
        assert audit(images, network, out, "--protect", "isp", "--rank", "3") == 0
        assert not list(out.glob("*efface-work"))
        (images / "05" / "new.png").write_bytes((images / "05" / "0.png").read_bytes())
        assert audit(images, network, out) == 2  # and other pictures are encoded
    assert audit(images, network, out) == 0
    found = read(out / "report.json").encoding
    assert found is not None
    assert (found.pictures.encoded, found.pictures.near_duplicates) == (121, 1)


def test_an_interrupted_one_is_taken_up(
    images: Path, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from efface.encoders.base import NetworkEncoder
    from efface.encoding import run

    real, calls = NetworkEncoder.encode, []

    def counted(self: Any, pictures: Any, /) -> Any:
        calls.append(len(pictures))
        if len(calls) == 5:
            raise KeyboardInterrupt
        return real(self, pictures)

    monkeypatch.setattr(run, "PART_ROWS", 16)
    monkeypatch.setattr(NetworkEncoder, "encode", counted)
    out = tmp_path / "out"
    assert audit(images, network, out, "--batch", "16") == 130
    assert audit(images, network, out, "--batch", "16") == 0
    assert len(calls) == 5 + 4  # eight batches, four of which were there
    whole = tmp_path / "whole"
    assert audit(images, network, whole, "--batch", "16") == 0
    kept = "embeddings.parquet"
    assert (out / kept).read_bytes() == (whole / kept).read_bytes()


def test_a_file_that_no_audit_left_there_is_not_replaced(
    images: Path, network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    mine = out / "embeddings.parquet"
    mine.write_bytes(b"mine")
    assert audit(images, network, out) == 2
    assert "not as an audit left it" in capsys.readouterr().err
    assert mine.read_bytes() == b"mine"
    mine.unlink()
    assert audit(images, network, out) == 0
    mine.write_bytes(b"changed since")
    assert audit(images, network, out) == 2
    assert mine.read_bytes() == b"changed since"


def test_a_death_before_the_last_note(images: Path, network: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert audit(images, network, out) == 0
    note = note_path(out / "embeddings.parquet")
    whole, vectors = note.read_bytes(), (out / "embeddings.parquet").read_bytes()
    note.write_bytes(json.dumps({**json.loads(whole), "vectors": ""}).encode())
    assert audit(images, network, out) == 0
    assert note.read_bytes() == whole
    assert (out / "embeddings.parquet").read_bytes() == vectors


def test_a_note_that_is_damaged_is_no_note(images: Path, network: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert audit(images, network, out) == 0
    note = note_path(out / "embeddings.parquet")
    for content in (b"", b"[]", b'{"job": 3}'):
        note.write_bytes(content)
        assert audit(images, network, out) == 2


def test_a_projector_fitted_on_the_kept_vectors(
    images: Path, network: Path, tmp_path: Path
) -> None:
    out, projector = tmp_path / "out", tmp_path / "p.safetensors"
    assert audit(images, network, out) == 0
    vectors = str(out / "embeddings.parquet")
    assert invoke(["fit", vectors, "--rank", "3", "--out", str(projector)]) == 0
    assert audit(images, network, tmp_path / "after", "--projector", str(projector)) == 0
    report = read(tmp_path / "after" / "report.json")
    assert [r.unseen for r in report.releases] == ["shown", "shown"]
    assert report.releases[1].identities_recognised == 12


def test_a_projector_of_another_encoder_is_refused(
    images: Path, network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from efface.export.safetensors import read_projector

    vectors, projector = tmp_path / "e.parquet", tmp_path / "p.safetensors"
    assert invoke(["encode", str(images), *given(network), "--out", str(vectors)]) == 0
    assert invoke(["fit", str(vectors), "--rank", "3", "--out", str(projector)]) == 0
    recorded = read_projector(projector).fitting.encoder
    made = efface.load(vectors).encoding
    assert recorded is not None
    assert made is not None
    assert (recorded.name, recorded.weights) == ("n", made.encoder.weights)
    other = onnx.load(network)
    other.doc_string = "the same network in another file"
    onnx.save(other, network)
    assert audit(images, network, tmp_path / "out", "--projector", str(projector)) == 2
    assert "give the projector of this encoder" in capsys.readouterr().err


def test_a_gate_that_cannot_be_met_is_named_before_the_encoding(
    images: Path,
    network: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from efface.encoders.base import NetworkEncoder
    from efface.errors import DataError

    def stop(*_: object) -> None:
        raise DataError("stopped")

    with monkeypatch.context() as patched:
        patched.setattr(NetworkEncoder, "encode", stop)
        assert audit(images, network, tmp_path / "out", "--fail-above", "0.05") == 2
    said = capsys.readouterr().err
    assert said.index("the gate is 0.05, but with 6 test people") < said.index("stopped")
    assert audit(images, network, tmp_path / "out", "--fail-above", "0.05") in (1, 3)
    assert capsys.readouterr().err.count("the gate is 0.05") == 1


def test_lists_bring_their_columns(images: Path, network: Path, tmp_path: Path) -> None:
    parts = ["fit", "calibration", "test"]
    rows = [
        f"{p.relative_to(tmp_path)},{p.parent.name},{parts[int(p.parent.name) % 3]}"
        for p in sorted(images.rglob("?.png"))
    ]
    listing = tmp_path / "list.csv"
    listing.write_text("\n".join(["path,who,part", *rows]), encoding="utf-8")
    more = ["--identity", "who", "--split-column", "part"]
    assert audit(listing, network, tmp_path / "out", *more) == 0
    report = read(tmp_path / "out" / "report.json")
    assert report.subject.dataset == "list"
    assert report.subject.parts["test"][0] == 10


def test_archives_are_audited_in_place(images: Path, network: Path, tmp_path: Path) -> None:
    import tarfile

    with tarfile.open(tmp_path / "shard-0.tar", "w") as archive:
        for path in sorted(images.rglob("*.*")):
            archive.add(path, path.relative_to(images))
    assert audit(tmp_path / "shard-0.tar", network, tmp_path / "tar") == 0
    assert audit(images, network, tmp_path / "folder") == 0
    one, two = (without_names(tmp_path / place / "report.json") for place in ("tar", "folder"))
    assert one["measurements"] == two["measurements"]
    assert one["encoding"]["pictures"] == two["encoding"]["pictures"]


def test_a_folder_of_vectors_may_hold_a_picture_too(
    images: Path, network: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "vectors"
    folder.mkdir()
    out = str(folder / "e.parquet")
    assert invoke(["encode", str(images), *given(network), "--out", out]) == 0
    (folder / "preview.png").write_bytes((images / "00" / "0.png").read_bytes())
    assert invoke(["audit", str(folder), *QUICK, "--out", str(tmp_path / "out")]) == 0


def test_json_is_all_that_is_printed(
    images: Path, network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(images, network, tmp_path / "out", "--json") == 0
    assert json.loads(capsys.readouterr().out)["encoding"]["pictures"]["found"] == 122


def test_from_python_it_is_the_same(images: Path, network: Path, tmp_path: Path) -> None:
    from efface.encoders.choose import open_encoder
    from efface.encoders.declared import Declared, Sheet
    from efface.encoding.run import Order, encode
    from efface.pictures.source import open_source

    assert audit(images, network, tmp_path / "out") == 0
    encoder = open_encoder(str(network), Sheet(preprocessing=Declared(normalise="half")))
    vectors = tmp_path / "e.parquet"
    made = encode(Order(open_source(images), encoder, vectors))
    report = efface.audit(
        efface.load(vectors), far=0.05, attacks=["cosine"], bootstrap=200, sweep=()
    )
    theirs = read(tmp_path / "out" / "report.json")
    assert report.encoding == made == theirs.encoding
    assert report.measurements == theirs.measurements


Case = Callable[[Path, Path], tuple[list[str], str]]


def no_encoder(images: Path, network: Path) -> tuple[list[str], str]:
    return [str(images)], "say with --encoder which network"


def one_picture(images: Path, network: Path) -> tuple[list[str], str]:
    return [str(images / "00" / "0.png")], "say with --encoder which network"


def stray(images: Path, network: Path) -> tuple[list[str], str]:
    return [str(images), "--face", "crop"], "--face is about pictures: give --encoder too"


def vectors(images: Path, network: Path) -> tuple[list[str], str]:
    (images / "e.npz").touch()
    return [str(images / "e.npz"), *given(network)], "holds vectors, not pictures"


def column_of_vectors(images: Path, network: Path) -> tuple[list[str], str]:
    return [str(images), *given(network), "--embedding", "x"], "go with files of vectors"


def nothing_there(images: Path, network: Path) -> tuple[list[str], str]:
    return [str(images / "none"), *given(network)], "no such folder, list or archive"


def a_single_picture_each(images: Path, network: Path) -> tuple[list[str], str]:
    for file in images.rglob("[1-3].png"):
        file.unlink()
    return [str(images), *given(network)], "have fewer than 2 images"


def one_person(images: Path, network: Path) -> tuple[list[str], str]:
    return [str(images), *given(network), "--pattern", "([.])"], "all pictures are of one person"


CASES: list[Case] = [
    no_encoder, one_picture, stray, vectors, column_of_vectors, nothing_there,
    a_single_picture_each, one_person,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_bad_input_is_named_in_a_line(
    case: Case, images: Path, network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, says = case(images, network)
    assert invoke(["audit", *words, *QUICK, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "Traceback" not in error
    assert not (tmp_path / "out" / "report.json").exists()

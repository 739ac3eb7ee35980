"""``efface export`` writes what the functions write, and says no in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from export_worlds import eraser, vectors

from efface.cli.main import invoke
from efface.export.safetensors import save_eraser


@pytest.fixture
def projector(tmp_path: Path) -> Path:
    save_eraser(eraser("oblique"), tmp_path / "p.safetensors")
    return tmp_path / "p.safetensors"


@pytest.mark.parametrize(
    ("form", "more", "words"),
    [
        ("faiss", [], "flat index of 16 dimensions"),
        ("faiss", ["--compact"], "flat index of 12 dimensions"),
        ("onnx", [], "input raw, output clean"),
        ("torch", [], "PyTorch state"),
        ("json", [], "efface.projector-json/1"),
        ("npz", [], "NumPy arrays"),
    ],
)
def test_every_form(
    projector: Path, capsys: pytest.CaptureFixture[str], form: str, more: list[str], words: str
) -> None:
    out = projector.with_name("out.file")
    assert invoke(["export", str(projector), "--to", form, "--out", str(out), *more]) == 0
    said = capsys.readouterr().out
    assert words in said
    assert "5 of 16 directions removed" in said
    assert out.stat().st_size > 0
    assert sorted(p.name for p in projector.parent.iterdir()) == ["out.file", projector.name]


def test_what_is_written_erases(projector: Path) -> None:
    faiss = pytest.importorskip("faiss")
    out = projector.with_name("chain.faiss")
    invoke(["export", str(projector), "--to", "faiss", "--out", str(out)])
    chain, x = faiss.read_index(str(out)), vectors(eraser())
    chain.add(x)
    clean = eraser("oblique").transform(x)
    assert np.allclose(chain.search(x, 30)[0].max(1), (clean @ clean.T).max(1), atol=1e-5)
    out = projector.with_name("p.json")
    invoke(["export", str(projector), "--to", "json", "--out", str(out)])
    assert json.loads(out.read_text())["digest"] == eraser("oblique").digest()


def test_behind_an_encoder(projector: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    names = ("embedding", "other")
    graph = helper.make_graph(
        [helper.make_node("Neg", ["image"], [name]) for name in names],
        "encoder",
        [helper.make_tensor_value_info("image", kind, ["n", 16])],
        [helper.make_tensor_value_info(name, kind, ["n", 16]) for name in names],
    )
    path, out = projector.with_name("encoder.onnx"), projector.with_name("clean.onnx")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    onnx.save(model, path)
    words = ["export", str(projector), "--to", "onnx", "--out", str(out), "--encoder", str(path)]
    assert invoke(words) == 2
    assert "name the embedding (embedding, other)" in capsys.readouterr().err
    assert not out.exists()
    assert invoke([*words, "--output", "embedding"]) == 0
    assert [o.name for o in onnx.load(out).graph.output] == ["clean"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to", "onnx", "--compact"], "--compact goes with --to faiss"),
        (["--to", "faiss", "--encoder", "x"], "--encoder goes with --to onnx"),
        (["--to", "onnx", "--output", "x"], "give both"),
        (["--to", "excel"], "'excel' is not one of"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    projector: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    out = projector.with_name("x")
    assert invoke(["export", str(projector), "--out", str(out), *words]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()

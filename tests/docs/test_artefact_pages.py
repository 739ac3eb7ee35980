"""The pages about the projector file and the service run as written."""

from __future__ import annotations

import json
from pathlib import Path

from pages import DOCS, blocks
from test_examples import play

from efface.export.safetensors import load_eraser


def test_the_projector_file(tmp_path: Path) -> None:
    said = play(DOCS / "projector-file.md", tmp_path)
    eraser = load_eraser(tmp_path / "projector.safetensors")
    inspected = json.loads((tmp_path / "projector.json").read_text())
    assert inspected["digest"] == eraser.digest()
    assert inspected["encoder"]["name"] == "ArcFace"
    assert f"rank {eraser.rank} of 32, TAR " in said
    assert "why rank" in said
    assert "valid, signed with key" in said
    assert len(blocks(DOCS / "projector-file.md")) == 7


def test_the_service(tmp_path: Path) -> None:
    said = play(DOCS / "serve.md", tmp_path)
    digest = load_eraser(tmp_path / "projector.safetensors").digest()
    assert json.loads(said.splitlines()[-1]) == {"status": "ok", "projector": digest}

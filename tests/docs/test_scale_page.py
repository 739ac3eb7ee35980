"""The page on runners does what it says."""

from __future__ import annotations

from pathlib import Path

from pages import DOCS
from test_examples import play

import efface


def test_scale(tmp_path: Path) -> None:
    said = play(DOCS / "scale.md", tmp_path).splitlines()
    command, fitted, verified = said
    eraser = efface.load_eraser(tmp_path / "projector.safetensors")
    assert "removes 8 of 32 directions, fitted on 300 people" in command
    assert fitted == f"8 {eraser.fit_digest[:12]}", "the same data, rows and parts"
    threshold, tar, far = map(float, verified.split())
    assert 0.5 < threshold < 1
    assert 0.2 < tar < 1
    assert far < 5e-3

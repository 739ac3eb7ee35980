"""The demo's second half: rendered people, a real recogniser, two reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from efface.demo import pictures

pytest.importorskip("dlib", reason="no dlib: pip install 'efface[dlib]'")


@pytest.mark.slow
def test_rendered_people_are_encoded_audited_and_attributed(tmp_path: Path) -> None:
    said = list(pictures.run(tmp_path, 0, people=60, rank=8, queried=6))
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    looked = json.loads((tmp_path / "attribution.json").read_text(encoding="utf-8"))
    found = report["encoding"]["pictures"]
    assert found["found"] == 300
    assert f"7. {found['encoded']} vectors" in said[1]
    assert said[2].startswith("   before:")
    assert "120 of 128 directions" in said[4]
    assert looked["headline"] in said[6]
    assert looked["examples"]  # nobody is on these pictures
    for page in ("report.html", "attribution.html"):
        assert (tmp_path / page).stat().st_size > 10_000

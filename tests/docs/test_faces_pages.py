"""The pages about faces run as written, and name every outcome there is."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from pages import DOCS, in_code, rows, sections
from test_examples import play

from efface.data.rendered.world import RenderedFaces
from efface.faces.face import Outcome
from efface.report.schema import read


def test_rendered_faces(tmp_path: Path) -> None:
    said = play(DOCS / "rendered-faces.md", tmp_path)
    assert "(32, 96, 96, 3)" in said
    assert "pixels outside both persons that differ: 0" in said
    assert "6 pictures" in said
    assert "person_0001_0002.png" in said
    assert "file,identity,context" in said
    # Nobody real is in the documentation: its sheet comes out of the renderer, up to rounding.
    image = pytest.importorskip("PIL.Image")
    shown, drawn = (
        np.asarray(image.open(path)).astype(int)
        for path in (DOCS / "images" / "rendered-people.png", tmp_path / "people.png")
    )
    assert shown.shape == drawn.shape
    assert np.abs(shown - drawn).mean() < 0.5


def test_faces(tmp_path: Path) -> None:
    pytest.importorskip("dlib")
    said = play(DOCS / "faces.md", tmp_path)
    assert "'one face':" in said
    assert "of 20 used; coverage 0.33" in said
    assert "largest area difference 0." in said


def test_every_outcome_is_in_the_table() -> None:
    table = rows(sections(DOCS / "faces.md")["Finding faces"])
    named = {in_code(row[0])[0] for row in table if len(row) == 3 and in_code(row[0])}
    assert named == {outcome.value for outcome in Outcome}


def test_every_field_of_rendered_faces_is_in_the_table() -> None:
    table = rows(sections(DOCS / "rendered-faces.md")["What is exact"])
    named = {word for row in table for word in in_code(row[0])} - {"RenderedFaces"}
    assert named == {field.name for field in fields(RenderedFaces)}


def test_from_pictures_to_a_report(tmp_path: Path) -> None:
    pytest.importorskip("dlib")
    said = play(DOCS / "encoders.md", tmp_path)
    before, after = (read(tmp_path / name / "report.json") for name in ("before", "after"))
    assert before.encoding == after.encoding
    assert before.encoding is not None
    found = before.encoding.pictures
    assert found.found == 160
    assert f"{found.encoded} of 160 pictures" in said
    assert before.encoding.encoder.name in said
    one, two = (tmp_path / "before" / "embeddings.parquet", tmp_path / "emb.parquet")
    assert one.read_bytes() == two.read_bytes()


def test_attribution(tmp_path: Path) -> None:
    pytest.importorskip("dlib")
    said = play(DOCS / "attribution.md", tmp_path)
    assert "10 of 10 usable, 5 people" in said
    assert "dlib_face_recognition_resnet_model_v1: " in said
    found = (tmp_path / "attribution" / "attribution.json").read_text(encoding="utf-8")
    assert '"examples": []' in found

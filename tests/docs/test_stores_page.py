"""The page on stores runs as written, and says what the program says."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from pages import DOCS, in_code, rows, sections
from test_examples import play

from efface.protect.linear.cone import Cone
from efface.protect.linear.eraser import LinearEraser
from efface.stores.address import DATABASES, FILES
from efface.stores.check import EXIT, sample_size
from efface.stores.receipt import Receipt

PAGE = DOCS / "stores.md"


def test_the_page_runs(tmp_path: Path) -> None:
    said = play(PAGE, tmp_path)
    assert "clean.npz: 1,200 vectors, 8 of 32 directions removed" in said
    assert "clean.npz: clean. All 1,200 rows" in said
    assert "faces.npz: raw." in said
    assert '"format": "efface.receipt/1"' in said


def test_every_answer_is_in_the_table_with_its_exit_code() -> None:
    text = sections(PAGE)["Was it projected?"]
    table = {row[0]: row[2] for row in rows(text) if len(row) == 3 and row[0] != "answer"}
    assert table == {name: str(code) for name, code in EXIT.items()}


def test_every_field_of_a_receipt_is_in_the_table() -> None:
    text = sections(PAGE)["Verification and receipt"]
    named = {word for row in rows(text) if row[0] != "field" for word in in_code(row[0])}
    assert named == {field.name for field in msgspec.structs.fields(Receipt)} - {"format"}


def test_every_kind_of_store_is_named() -> None:
    text = sections(PAGE)["What is a store"]
    for ending in set(FILES) - {".pq"}:
        assert ending in text
    for kind in set(DATABASES) - {"postgres"}:
        assert f"{kind}:" in text


def test_numbers_of_the_page_are_those_of_the_program() -> None:
    text = sections(PAGE)["Was it projected?"]
    one = Cone(LinearEraser(np.eye(512)[:, :1]))
    table = {row[0]: float(row[1]) for row in rows(text) if row[0].startswith("float")}
    for name, shown in table.items():
        assert f"{one.tolerance(np.dtype(name)):.1e}" == f"{shown:.1e}"
    assert len(table) == 3
    assert f"{one.chance(one.tolerance(np.dtype('float16'))):.1%}" == "0.9%"
    assert sample_size(0.001, 0.01, 0.0) == 4603
    assert "4,603" in text

"""JSON and .npz carry all that a port needs, and the port in the docs works."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_worlds import KINDS, distances, eraser, erasers, removed_row, vectors
from hypothesis import given, settings

from efface.export.plain import FORMAT, save_json, save_npz, to_json
from efface.export.tolerance import tolerance
from efface.protect.linear.eraser import LinearEraser

SCRIPT = Path(__file__).resolve().parents[3] / "docs" / "examples" / "erase.mjs"
every_kind = pytest.mark.parametrize("kind", KINDS)
both = pytest.mark.parametrize("normalise", [True, False])


def from_json(p: dict[str, Any]) -> LinearEraser:
    arrays = (None if p[n] is None else np.array(p[n]) for n in ("basis", "dual", "mean"))
    return LinearEraser(*arrays, p["normalise"])  # type: ignore[arg-type]


@settings(max_examples=20)
@given(erasers())
def test_json_holds_the_very_same_map(one: LinearEraser) -> None:
    told = json.loads(to_json(one))
    assert told["format"] == FORMAT
    assert told["digest"] == one.digest() == from_json(told).digest()
    assert (told["dim"], told["rank"]) == (one.dim, one.rank)
    assert to_json(one) == to_json(one)


@settings(max_examples=20)
@given(erasers())
def test_test_vectors_are_right_and_notice_a_wrong_port(one: LinearEraser) -> None:
    told = json.loads(to_json(one))
    for test in told["tests"]:
        raw, clean = np.array([test["raw"]]), np.array([test["clean"]])
        assert distances(one.transform(raw), clean)[0] <= test["tolerance"]
        # Near 1e-3 the rounding of float32 would still show; a port in float32 is noticed.
        assert test["tolerance"] < 1e-6 * max(1.0, float(np.linalg.norm(clean)))
        assert np.linalg.norm(raw / np.linalg.norm(raw) - clean) > test["tolerance"]


@every_kind
@both
def test_npz_needs_no_efface_and_no_pickle(tmp_path: Path, kind: str, normalise: bool) -> None:
    one = eraser(kind, normalise=normalise)
    save_npz(one, tmp_path / "p.npz")
    p = np.load(tmp_path / "p.npz", allow_pickle=False)
    arrays = (p.get(n) for n in ("basis", "dual", "mean"))
    again = LinearEraser(*arrays, bool(p["normalise"]))
    assert again.digest() == one.digest() == str(p["digest"])


# --- JavaScript ---------------------------------------------------------------------------------


def node(path: Path, rows: Any) -> subprocess.CompletedProcess[str]:
    program = shutil.which("node")
    if program is None:
        pytest.skip("no Node.js: install node to test the example in JavaScript")
    return subprocess.run(
        [program, str(SCRIPT), str(path)], input=json.dumps(rows), capture_output=True, text=True
    )


@every_kind
@both
def test_javascript_gives_the_same_vectors(tmp_path: Path, kind: str, normalise: bool) -> None:
    one = eraser(kind, normalise=normalise)
    save_json(one, tmp_path / "p.json")
    x = vectors(one, dtype=np.float64)
    done = node(tmp_path / "p.json", x.tolist())
    assert done.returncode == 0, done.stderr
    clean = np.array(json.loads(done.stdout))
    assert (distances(clean, one.transform(x)) <= tolerance(one, x, out="float64")).all()


def test_javascript_refuses_what_python_refuses(tmp_path: Path) -> None:
    one = eraser()
    save_json(one, tmp_path / "p.json")
    for row, words in (
        (np.zeros(16), "no direction"),
        (removed_row(one)[0], "no direction"),
        (np.ones(15), "not 16 numbers but 15"),
    ):
        done = node(tmp_path / "p.json", [row.tolist()])
        assert done.returncode != 0
        assert words in done.stderr


def test_javascript_notices_a_changed_number(tmp_path: Path) -> None:
    told = json.loads(to_json(eraser()))
    told["basis"][3][1] += 1e-6
    (tmp_path / "p.json").write_text(json.dumps(told), encoding="utf-8")
    assert "a bad port" in node(tmp_path / "p.json", []).stderr


def test_the_example_has_twenty_lines_at_most() -> None:
    assert len(SCRIPT.read_text(encoding="utf-8").splitlines()) <= 20

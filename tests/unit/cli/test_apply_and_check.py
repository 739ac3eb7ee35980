"""``efface apply`` and ``efface check`` as a user types them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from efface.cli.main import invoke
from efface.export.safetensors import save_eraser
from efface.protect.linear.eraser import LinearEraser

DIM = 24


def eraser(seed: int) -> LinearEraser:
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(DIM, 4)))[0]
    return LinearEraser(basis, method="isp")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    vectors = np.random.default_rng(7).normal(size=(900, DIM)).astype(np.float32)
    np.savez("raw.npz", embedding=vectors, person=np.arange(900))
    np.save("raw.npy", vectors)
    save_eraser(eraser(1), "p.safetensors")
    save_eraser(eraser(2), "other.safetensors")
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert invoke(list(words)) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_apply_then_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "apply", "p.safetensors", "raw.npz", "--out", "clean.npz")
    assert out == (
        "clean.npz: 900 vectors, 4 of 24 directions removed, verified by reading 1 of 1 parts "
        "again\n"
    )
    assert (folder / "clean.npz.receipt.json").exists()
    with np.load("clean.npz") as clean, np.load("raw.npz") as raw:
        np.testing.assert_array_equal(clean["embedding"], eraser(1).transform(raw["embedding"]))
        np.testing.assert_array_equal(clean["person"], raw["person"])
    assert "clean.npz: clean. All 900 rows" in said(capsys, "check", "clean.npz", "p.safetensors")
    out = said(capsys, "check", "raw.npz", "p.safetensors", code=1)
    assert "raw.npz: raw. All 900 rows were looked at. None is as this projector" in out
    out = said(capsys, "check", "clean.npz", "other.safetensors", code=1)
    assert "clean.npz: another projector." in out
    assert "fill 20 of 24 dimensions" in out


def test_swapped_arguments_are_told_apart(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "stored.bin").write_bytes((folder / "p.safetensors").read_bytes())
    for words, right in (
        (["apply", "raw.npz", "p.safetensors", "--out", "c.npz"],
         "efface apply p.safetensors raw.npz"),
        (["apply", "raw.npz", "stored.bin", "--out", "c.npz"], "efface apply stored.bin raw.npz"),
        (["check", "p.safetensors", "raw.npz"], "efface check raw.npz p.safetensors"),
        (["export", "chain.npz", "--to", "npz", "--out", "p.safetensors"],
         "efface export p.safetensors --to npz --out chain.npz"),
    ):  # fmt: skip
        out = " ".join(said(capsys, *words, code=2).split())
        assert "the wrong way round" in out
        assert f"give: {right}" in out
    # Two projectors, or none, are no swap: what is wrong with them is said as before.
    assert "wrong way" not in said(capsys, "check", "other.safetensors", "p.safetensors", code=2)
    assert "wrong way" not in said(capsys, "check", "raw.npz", "raw.npz", code=2)
    assert "wrong way" not in said(capsys, "check", "none.npz", "none.safetensors", code=2)


@pytest.mark.parametrize(
    ("fitted", "stored", "warned"),
    [("float32", "float64", "finer numbers keep traces"), ("float32", "float32", None),
     ("float32", "float16", "they round more coarsely"), (None, "float64", None)],
)  # fmt: skip
def test_another_type_than_the_projector_was_fitted_for(
    capsys: pytest.CaptureFixture[str], fitted: Any, stored: str, warned: str | None
) -> None:
    from efface.export.fitting import Fitting

    save_eraser(eraser(1), "typed.safetensors", provenance=Fitting(dtype=fitted))
    np.save("typed.npy", np.random.default_rng(7).normal(size=(90, DIM)).astype(stored))
    out = said(capsys, "apply", "typed.safetensors", "typed.npy", "--out", "clean.npy")
    assert ("warning: " in out) == (warned is not None)
    if warned:
        assert f"typed.npy: holds {stored} and keeps it" in out
        assert f"release in {fitted} ({warned}" in out
        assert f"--dtype {stored}" in out
    assert np.load("clean.npy").dtype == stored


def test_check_names_raw_rows_among_clean_ones(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "apply", "p.safetensors", "raw.npy", "--out", "clean.npy")
    vectors, raw = np.load("clean.npy"), np.load("raw.npy")
    vectors[[4, 800]] = raw[[4, 800]]
    np.save("mixed.npy", vectors)
    out = said(capsys, "check", "mixed.npy", "p.safetensors", code=1)
    assert "mixed.npy: mixed." in out
    assert "2 are not as this projector leaves them: 4, 800." in out
    found = json.loads(said(capsys, "check", "mixed.npy", "p.safetensors", "--json", code=1))
    assert (found["outcome"], found["labels"]) == ("mixed", ["4", "800"])
    assert found["format"] == "efface.check/1"


def test_exit_codes_of_a_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "apply", "p.safetensors", "raw.npy", "--out", "clean.npy")
    out = said(capsys, "check", "clean.npy", "p.safetensors", "--rows", "40", code=3)
    assert "clean.npy: inconclusive." in out
    said(
        capsys, "check", "clean.npy", "p.safetensors", "--rows", "40", "--max-raw", "0.2",
        "--error", "0.05", code=0,
    )  # fmt: skip
    np.save("wide.npy", np.eye(7, dtype=np.float32))
    out = said(capsys, "check", "wide.npy", "p.safetensors", code=2)
    assert "24-dimensional" in out
    assert "give a share" in said(
        capsys, "check", "clean.npy", "p.safetensors", "--error", "0", code=2
    )
    out = said(capsys, "check", "clean.npy", "p.safetensors", "--rows", "4", "--all", code=2)
    assert "exclude each other" in out
    out = said(capsys, "check", "clean.npy", "p.safetensors", "--seed", "-1", code=2)
    assert "not in the range" in out
    assert "no such file" in said(capsys, "check", "gone.npy", "p.safetensors", code=2)


def test_options_of_apply(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["apply", "p.safetensors", "raw.npy", "--part-rows", "100", "--workers", "1"]
    text = said(
        capsys, *words, "--out", "clean.npy", "--verify", "full", "--receipt", "r.json", "--date",
        "today", "--json",
    )  # fmt: skip
    found = json.loads(text)
    assert found == json.loads((folder / "r.json").read_text())
    assert (found["date"], found["verified"]["parts"], found["parts"]["count"]) == ("today", 9, 9)
    assert not (folder / "clean.npy.receipt.json").exists()
    out = said(capsys, *words, "--out", "clean.npy", "--receipt", "r.json", code=2)
    assert re.search(r"^error: clean\.npy: is there already .* --resume", out, re.M)
    out = said(capsys, *words, "--out", "clean.npy", "--receipt", "r.json", "--resume")
    assert "verified by reading 8 of 9 parts again" in out
    out = said(capsys, *words, "--out", "less.npy", "--verify", "none")
    assert "rows counted, not read again" in out
    out = said(capsys, *words, "--out", "live.npy", "--swap", "raw.npy")
    assert "now live as raw.npy" in out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["raw.npy", "--out", "gone/clean.npy"], "no such folder"),
        (["raw.npy", "--out", "clean.npy", "--receipt", "gone/r.json"], "no such folder"),
        (["raw.npy", "--out", "raw.npy"], "is the store that is read"),
        (["raw.npy", "--out", "clean.tiff"], "unknown kind of store"),
        (["mysql:x#y", "--out", "clean.npy"], "no store of kind 'mysql'"),
        (["raw.npy", "--out", "clean.npy", "--workers", "0"], "--workers"),
    ],
)
def test_bad_words_leave_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    before = sorted(folder.iterdir())
    assert expected in said(capsys, "apply", "p.safetensors", *words, code=2)
    assert sorted(folder.iterdir()) == before


def test_a_bad_row_ends_it_and_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vectors = np.load("raw.npy")
    vectors[[17, 40]] = np.nan
    np.save("bad.npy", vectors)
    out = said(capsys, "apply", "p.safetensors", "bad.npy", "--out", "clean.npy", code=2)
    assert "error: bad.npy: rows 17, 40 (of 900 in part 0) have NaN" in out
    assert not (folder / "clean.npy").exists()

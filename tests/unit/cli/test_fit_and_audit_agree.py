"""``efface fit`` and ``efface audit`` on one file: whom they set aside, and what they say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import efface
from efface.cli.main import invoke
from efface.data import synthetic
from efface.report.schema import read
from efface.results import ReleaseSummary, Report

AUDIT = ["--attack", "cosine", "--far", "1e-2", "--sweep", "none", "--bootstrap", "200",
         "--fail-above", "1"]  # fmt: skip
PARTS = np.array(["train", "shadow", "val", "test"])


@pytest.fixture(scope="module")
def emb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = synthetic.embedding_world(people=80, images=10, dim=32, rank=8, context_rank=8).samples
    path = tmp_path_factory.mktemp("emb") / "emb.npz"
    part = PARTS[world.identity % 4]
    np.savez(
        path, embedding=world.data, identity=world.names[world.identity].astype(str), part=part
    )
    return path


def fit(emb: Path, out: Path, *more: str) -> int:
    return invoke(["fit", str(emb), "--rank", "4", "--out", str(out), *more])


def audit(emb: Path, out: Path, *more: str) -> tuple[int, Report]:
    code = invoke(["audit", str(emb), *AUDIT, "--out", str(out), *more])
    return code, read(out / "report.json")


def protected(report: Report) -> ReleaseSummary:
    return next(r for r in report.releases if r.protection is not None)


@pytest.mark.parametrize("options", [[], ["--images", "4"], ["--images", "4", "--seed", "3"],
                                     ["--min-images", "4"],
                                     ["--split-column", "part"],
                                     ["--split-column", "part", "--images", "7"]])  # fmt: skip
def test_the_same_options_give_the_same_people(
    emb: Path, tmp_path: Path, options: list[str]
) -> None:
    assert fit(emb, tmp_path / "p.safetensors", *options) == 0
    stored = ["--projector", str(tmp_path / "p.safetensors"), *options]
    code, report = audit(emb, tmp_path / "a", *stored)
    assert code == 0
    eraser = efface.load_eraser(tmp_path / "p.safetensors")
    assert protected(report).identities_recognised == eraser.identities
    assert protected(report).unseen == "shown"
    assert report.subject.parts["fit"] == [eraser.identities, eraser.rows]
    # An audit that fits for itself, with the same options, fits the same people.
    _, fresh = audit(emb, tmp_path / "b", "--protect", "isp", "--rank", "4", *options)
    assert fresh.subject.parts["fit"] == report.subject.parts["fit"]
    assert protected(fresh).digest == eraser.digest()


def test_a_selection_does_not_hide_who_was_fitted(
    emb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fit(emb, tmp_path / "p.safetensors") == 0
    code, report = audit(
        emb, tmp_path / "a", "--projector", str(tmp_path / "p.safetensors"), "--images", "2"
    )
    assert code == 0
    assert protected(report).identities_recognised == 32
    assert report.subject.parts["fit"] == [32, 64]
    assert "recognised 32 of 32 people" in capsys.readouterr().out


def test_only_the_users_word_passes_a_projector_of_unknown_people(
    emb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = efface.load(emb)
    half = samples.take(efface.split(samples, seed=0).fit)
    moments = efface.ISP(rank=4, keep_moments=True).fit(half).moments_
    path = tmp_path / "p.safetensors"
    efface.save_eraser(efface.ISP(rank=4).fit_moments(moments).eraser_, path)
    code, report = audit(emb, tmp_path / "a", "--projector", str(path))
    assert code == 3
    assert "new to it: not shown" in capsys.readouterr().out
    code, report = audit(emb, tmp_path / "a", "--projector", str(path), "--unseen")
    assert code == 0
    assert any("the user vouched" in s for s in report.verdict.sentences)
    assert "vouched" in (tmp_path / "a" / "report.html").read_text(encoding="utf-8")


def test_a_projector_saved_straight_from_python_on_everybody_is_refused(
    emb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.safetensors"
    efface.save_eraser(efface.ISP(rank=4).fit(efface.load(emb)).eraser_, path)
    for more in ([], ["--unseen"], ["--images", "3"]):
        words: list[Any] = ["audit", emb, *AUDIT, "--projector", path, "--out", tmp_path / "o"]
        assert invoke([*map(str, words), *more]) == 2
        assert "it has not seen" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    "option", [["--images", "3"], ["--min-images", "3"], ["--split-column", "part"]]
)
def test_workers_take_every_row(
    emb: Path, tmp_path: Path, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert fit(emb, tmp_path / "p.safetensors", "--all", "--workers", "1", *option) == 2
    assert "leave out --images, --min-images and --split-column" in capsys.readouterr().err


@pytest.mark.parametrize("how", [[], ["--all"], ["--all", "--workers", "1"]])
def test_labels_of_pictures_are_not_taken_for_people(
    emb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: list[str]
) -> None:
    """A column that is new in every row, such as a file name, fits a projector of noise."""
    held = np.load(emb)
    wrong = tmp_path / "wrong.npz"
    np.savez(wrong, embedding=held["embedding"], identity=np.arange(800).astype(str))
    out = tmp_path / "p.safetensors"
    assert fit(wrong, out, *how) == 2
    assert "may tell pictures apart, not people" in capsys.readouterr().err
    assert not out.exists()
    assert fit(wrong, out, *how, "--force") == 0

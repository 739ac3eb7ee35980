"""A projector on disk: what comes back is what was saved, or a refusal that names the file."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from projector_files import OBLIQUE, PLAIN, eraser, record
from safetensors import safe_open

from efface.errors import ArtefactError
from efface.export.fitting import Fitting, SplitRecord, Validation
from efface.export.safetensors import (
    FORMAT,
    load_eraser,
    read_metadata,
    read_projector,
    save_eraser,
)
from efface.protect.linear.eraser import LinearEraser
from efface.results import Sweep


def fields(one: LinearEraser) -> dict[str, Any]:
    found = {f.name: getattr(one, f.name) for f in dataclasses.fields(one)}
    arrays = ("basis", "dual", "mean", "energy")
    plain = {k: None if v is None else v.tolist() for k, v in found.items() if k in arrays}
    return {**found, **plain, "params": dict(one.params)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "projector.safetensors"


# --- there and back -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PLAIN, OBLIQUE])
def test_what_is_loaded_is_what_was_saved(path: Path, kind: str) -> None:
    saved = eraser(kind)
    save_eraser(saved, path)
    loaded = load_eraser(path)
    assert fields(loaded) == fields(saved)
    assert loaded.digest() == saved.digest()
    x = np.random.default_rng(1).standard_normal((5, 9))
    assert np.array_equal(loaded.transform(x), saved.transform(x))


def test_metadata_tells_the_whole_story(path: Path) -> None:
    notes = {"dataset": "faces", "reviewed": ["a", {"by": 1}], "ü": None}
    save_eraser(eraser(), path, metadata=notes)
    found = read_metadata(path)
    assert found["notes"] == notes
    assert found["format"] == FORMAT == "efface.projector/1"
    assert (found["method"], found["rank"], found["dim"]) == ("isp", 3, 9)
    assert found["params"]["coverage"] == 0.9
    assert found["digest"] == eraser().digest()
    assert found["efface"]


def test_any_safetensors_reader_can_open_it(path: Path) -> None:
    save_eraser(eraser(), path)
    with safe_open(path, framework="numpy") as file:
        assert set(file.keys()) == {"basis", "dual", "mean", "energy"}
        assert np.array_equal(file.get_tensor("basis"), eraser().basis)
        assert file.metadata()["format"] == FORMAT
        assert json.loads(file.metadata()["identities"]) == 24


def test_one_eraser_is_one_file_byte_for_byte(path: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{i}" for i in range(5)]
    for file in files:
        save_eraser(eraser(), file, metadata={"b": 1, "a": 2})
    assert len({file.read_bytes() for file in files}) == 1


def test_basis_views_and_strings_of_any_kind_survive(path: Path) -> None:
    basis = np.asfortranarray(np.linalg.qr(np.random.default_rng(0).standard_normal((6, 4)))[0])
    save_eraser(LinearEraser(basis[:, :2], method='with "quotes" and \n'), path)
    assert load_eraser(path).method == 'with "quotes" and \n'
    assert np.array_equal(load_eraser(path).basis, basis[:, :2])


@pytest.mark.parametrize("notes", [{"x": float("nan")}, {"x": object()}, {"x": np.ones(2)}])
def test_metadata_that_are_no_json_are_refused(path: Path, notes: Any) -> None:
    with pytest.raises(ArtefactError, match="no JSON"):
        save_eraser(eraser(), path, metadata=notes)
    assert not path.exists()


# --- how it was fitted --------------------------------------------------------------------------


def test_the_record_of_the_fit_comes_back_whole(path: Path) -> None:
    save_eraser(eraser(), path, provenance=record(), metadata={"own": 1})
    assert read_projector(path).fitting == record()
    found = read_metadata(path)
    assert found["split"]["counts"] == {"fit": [24, 240]}
    assert found["validation"]["far"] == 1e-3
    assert found["validation"]["sweep"]["points"][0]["tar"]["high"] == 0.04
    assert (found["dtype"], found["seed"], found["dataset"]) == ("float16", 7, "faces ü")
    assert found["encoder"] == {"name": "ArcFace", "weights": "ef" * 32}
    assert found["notes"] == {"own": 1}


def test_without_a_record_nothing_is_made_up(path: Path) -> None:
    save_eraser(eraser(), path)
    assert read_projector(path).fitting == Fitting()
    found = read_metadata(path)
    assert [found[name] for name in ("dtype", "split", "seed", "validation", "encoder")] == [
        None
    ] * 5


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"split": SplitRecord(rule="r", counts={"fit": (23, 240)})}, "23 people"),
        (
            {"validation": Validation(far=0.1, sweep=Sweep(
                axis="rank", release="r", measured_on="calibration", points=[], chosen=4))},
            "chose rank 4",
        ),
    ],
)  # fmt: skip
def test_the_record_of_another_eraser_is_refused(
    path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ArtefactError, match=words):
        save_eraser(eraser(), path, provenance=record(**changes))
    assert not path.exists()


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for missing in (tmp_path / "none.safetensors", tmp_path):
        with pytest.raises(ArtefactError, match="cannot be read"):
            load_eraser(missing)


# --- whole or not at all ------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_in_the_middle_leaves_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str, failure: BaseException
) -> None:
    save_eraser(eraser(PLAIN), path)
    before = path.read_bytes()

    def fail(*args: Any) -> None:
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        with pytest.raises((ArtefactError, KeyboardInterrupt)):
            save_eraser(eraser(), path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name], "no partial file stays behind"
    save_eraser(eraser(), path)
    assert load_eraser(path).rank == 3
    assert path.read_bytes() != before


def test_the_bytes_are_on_disk_before_the_name_is(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    for step in ("fsync", "replace"):
        real = getattr(os, step)
        monkeypatch.setattr(os, step, lambda *a, s=step, r=real: (done.append(s), r(*a))[1])
    save_eraser(eraser(), path)
    assert done == ["fsync", "replace"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"none.*cannot be written.*choose another folder"):
        save_eraser(eraser(), tmp_path / "none" / "p.safetensors")


def test_a_link_stays_a_link(tmp_path: Path, path: Path) -> None:
    link = tmp_path / "link"
    save_eraser(eraser(PLAIN), path)
    link.symlink_to(path)
    save_eraser(eraser(), link)
    assert link.is_symlink()
    assert load_eraser(path).digest() == eraser().digest()

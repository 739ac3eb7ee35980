"""A projector on disk: what comes back is what was saved, or a refusal that names the file."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save

from efface.errors import ArtefactError
from efface.export import safetensors as module
from efface.export.safetensors import FORMAT, load_eraser, read_metadata, save_eraser
from efface.protect.linear.eraser import LinearEraser

PLAIN, OBLIQUE = "plain", "oblique"


def eraser(kind: str = OBLIQUE) -> LinearEraser:
    rng = np.random.default_rng(5)
    basis = np.linalg.qr(rng.standard_normal((9, 3)))[0]
    if kind == PLAIN:
        return LinearEraser(basis, normalise=False)
    return LinearEraser(
        basis,
        dual=basis + 0.25,
        mean=rng.standard_normal(9),
        method="isp",
        params={"rank": "auto", "coverage": 0.9, "force": False, "floor": None},
        energy=np.array([3.0, 2.0, 0.5, 0.1]),
        identities=24,
        rows=240,
        fit_digest="ab" * 32,
        fingerprints=("00ff", "a1b2"),
        warnings=("fitted on 24 identities ü",),
    )


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


# --- damage -------------------------------------------------------------------------------------

SOUND = b""


@pytest.fixture(scope="module", autouse=True)
def sound(tmp_path_factory: pytest.TempPathFactory) -> None:
    global SOUND
    file = tmp_path_factory.mktemp("sound") / "p"
    save_eraser(eraser(), file, metadata={"note": "kept"})
    SOUND = file.read_bytes()


def outcome(path: Path, blob: bytes) -> Any:
    """The content that a file of these bytes loads as, or the refusal."""
    path.write_bytes(blob)
    try:
        return fields(load_eraser(path)), read_metadata(path)
    except ArtefactError as error:
        return error


def assert_refused_or_identical(path: Path, found: Any, truth: Any) -> None:
    if isinstance(found, ArtefactError):
        assert str(path) in str(found)
    else:
        assert found == truth


def test_a_flipped_byte_is_noticed_wherever_it_is(path: Path) -> None:
    tensors = 8 + int.from_bytes(SOUND[:8], "little")
    truth = outcome(path, SOUND)
    assert not isinstance(truth, ArtefactError)
    refused = 0
    places = [*range(16), *range(16, len(SOUND), 3)]
    for at in places:
        blob = bytearray(SOUND)
        blob[at] ^= 1 << (at % 8)
        found = outcome(path, bytes(blob))
        assert_refused_or_identical(path, found, truth)
        refused += isinstance(found, ArtefactError)
        assert at < tensors or isinstance(found, ArtefactError), f"tensor byte {at} unnoticed"
    assert refused > 0.98 * len(places)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_bytes_changed_added_or_lost_never_load_as_something_else(
    path: Path, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(SOUND)))
    end = data.draw(st.integers(start, min(len(SOUND), start + 40)))
    with_ = data.draw(st.binary(max_size=40))
    found = outcome(path, SOUND[:start] + with_ + SOUND[end:])
    assert_refused_or_identical(path, found, outcome(path, SOUND))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(blob=st.binary(max_size=200))
@example(blob=b"")
@example(blob=(2**63).to_bytes(8, "little"))
@example(blob=(2).to_bytes(8, "little") + b"[]")
@example(blob=(4).to_bytes(8, "little") + b"null")
@example(blob=(20).to_bytes(8, "little") + b'{"__metadata__": []}')
@example(blob=(100_000).to_bytes(8, "little") + b"[" * 100_000)
def test_anything_else_is_no_projector(path: Path, blob: bytes) -> None:
    assert isinstance(outcome(path, blob), ArtefactError)


def test_a_cut_file_is_called_truncated(path: Path) -> None:
    for length in (0, 5, 60, len(SOUND) - 1):
        assert "truncated" in str(outcome(path, SOUND[:length])) or length > 1000
        assert isinstance(outcome(path, SOUND[:length]), ArtefactError)


def forged(
    path: Path,
    change: Callable[[dict[str, np.ndarray], dict[str, str]], None],
    *,
    sealed: bool = True,
) -> ArtefactError:
    """Change a sound file, renew its seal, and see what loading says."""
    tensors, strings = module._tensors(eraser()), module._strings(eraser(), {})
    change(tensors, strings)
    strings["seal"] = module._seal(tensors, strings) if sealed else "0" * 64
    path.write_bytes(save(tensors, strings))
    with pytest.raises(ArtefactError) as caught:
        load_eraser(path)
    assert str(path) in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t, s: s.update(format="efface.projector/2"), "of format 'efface.projector/2'"),
        (lambda t, s: s.update(format="other/1"), "no efface projector"),
        (lambda t, s: s.pop("format"), "no efface projector"),
        (lambda t, s: t.pop("basis"), "no tensor 'basis'"),
        (lambda t, s: t.update(basis=t["basis"].astype("f4")), "float32, not float64"),
        (lambda t, s: t.update(basis=t["basis"].astype("i8")), "int64, not float64"),
        (lambda t, s: t.update(basis=t["basis"].ravel()), "does not belong"),
        (lambda t, s: t.update(basis=t["basis"].T.copy()), "does not belong"),
        (lambda t, s: t.update(dual=t["dual"][:, :2].copy()), "does not belong"),
        (lambda t, s: t.update(mean=t["mean"][:-1].copy()), "does not belong"),
        (lambda t, s: t.update(energy=t["energy"][None].copy()), "does not belong"),
        (lambda t, s: t.update(extra=t["mean"]), "'extra'.*does not belong"),
        (lambda t, s: t["mean"].__setitem__(2, np.nan), "not finite"),
        (lambda t, s: t["energy"].__setitem__(0, np.inf), "not finite"),
        (lambda t, s: t["basis"].__setitem__((0, 0), 7.0), "not the one that was saved"),
        (lambda t, s: t.pop("dual"), "not the one that was saved"),
        (lambda t, s: s.update(normalise="false"), "not the one that was saved"),
        (lambda t, s: s.update(normalise="1"), "'normalise' is not understood"),
        (lambda t, s: s.update(params="[]"), "'params' is not understood"),
        (lambda t, s: s.update(rows="many"), "'rows' is not understood"),
        (lambda t, s: s.update(rank="true"), "'rank' is not understood"),
        (lambda t, s: s.pop("warnings"), "lack warnings"),
    ],
)
def test_a_file_of_another_make_is_refused_by_name(path: Path, change: Any, words: str) -> None:
    import re

    assert re.search(words, str(forged(path, change)))


def test_a_broken_seal_is_refused(path: Path) -> None:
    assert "seal" in str(forged(path, lambda t, s: None, sealed=False))
    assert "seal" in str(forged(path, lambda t, s: s.update(method="other"), sealed=False))


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

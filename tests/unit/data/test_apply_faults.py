"""Whatever goes wrong while a file is transformed: one error, and nothing half written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from stored_people import WRITERS, People, turned, write_table

import efface.data.apply as module
from efface.data.apply import apply_file
from efface.errors import DataError, EraserError

PEOPLE = People.drawn(rows=20, dim=6)


def failing(after: int, error: BaseException) -> Callable[[np.ndarray], np.ndarray]:
    calls = iter(range(after))

    def transform(x: np.ndarray) -> np.ndarray:
        if next(calls, None) is None:
            raise error
        return turned(x)

    return transform


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError(), ValueError("mine")])
def test_a_run_cut_short_leaves_the_old_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException
) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 100)
    WRITERS[name](PEOPLE, tmp_path / name)
    target = tmp_path / f"new-{name}"
    target.write_bytes(b"old")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(type(error)) as caught:
        apply_file(failing(2, error), tmp_path / name, target)
    assert caught.value is error
    assert target.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_said_to_be_the_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    WRITERS[name](PEOPLE, tmp_path / name)
    full = failing(0, OSError(28, "No space left on device"))
    with pytest.raises(DataError, match=rf"new-{name}: cannot be written \(No space left"):
        apply_file(full, tmp_path / name, tmp_path / f"new-{name}")
    assert not (tmp_path / f"new-{name}").exists()


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(("bad", "words"), [(np.nan, "NaN"), (np.inf, "infinite"), (0, "zeros")])
def test_bad_rows_are_named_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, bad: float, words: str
) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 100)
    vectors = PEOPLE.vectors.copy()
    vectors[17] = bad
    WRITERS[name](People(vectors, PEOPLE.person, PEOPLE.age), tmp_path / name)
    with pytest.raises(DataError, match=rf"{name}: row 17 .*{words}"):
        apply_file(turned, tmp_path / name, tmp_path / f"new-{name}")
    assert not (tmp_path / f"new-{name}").exists()


@pytest.mark.parametrize(
    ("transform", "words"),
    [
        (lambda x: x[:, :3], r"turned \(20, 6\) into \(20, 3\)"),
        (lambda x: x[:-1], r"turned \(20, 6\) into \(19, 6\)"),
        (lambda x: x * np.where(np.arange(20) == 4, np.nan, 1)[:, None], "after .*row 4 .*NaN"),
        (lambda x: x * 1e6, "after the transform: rows 0, 1, 2 and 17 more .*infinite"),
        (lambda x: x * 1e-12, "after the transform: rows 0, 1, 2 and 17 more .*zeros"),
    ],
)
def test_what_comes_out_is_checked_in_the_type_that_ships(
    tmp_path: Path, transform: Callable[[np.ndarray], np.ndarray], words: str
) -> None:
    np.save(tmp_path / "old.npy", PEOPLE.vectors.astype(np.float16))
    with pytest.raises(DataError, match=words):
        apply_file(transform, tmp_path / "old.npy", tmp_path / "new.npy")
    assert os.listdir(tmp_path) == ["old.npy"]


def test_an_erasers_refusal_says_in_which_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 24 * 8)
    np.save(tmp_path / "old.npy", PEOPLE.vectors)
    error = EraserError("row 1 cannot be brought to unit length")
    with pytest.raises(EraserError, match=r"old\.npy, rows 8 to 15: row 1 cannot"):
        apply_file(failing(1, error), tmp_path / "old.npy", tmp_path / "new.npy")


def test_refused_before_anything_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "old.npy", PEOPLE.vectors)
    os.link(tmp_path / "old.npy", tmp_path / "same.npy")
    (tmp_path / "folder").mkdir()
    for target, words in (
        ("new.npz", r"new\.npz: the format is kept, so the name must end in \.npy"),
        ("old.npy", r"old\.npy: is the file that is read"),
        ("same.npy", r"same\.npy: is the file that is read"),
        ("gone/new.npy", "there is no folder .*gone: make it first"),
    ):
        with pytest.raises(DataError, match=words):
            apply_file(turned, tmp_path / "old.npy", tmp_path / target)
    with pytest.raises(DataError, match="is a folder: apply the projector to one file at a time"):
        apply_file(turned, tmp_path / "folder", tmp_path / "new.parquet")
    np.save(tmp_path / "codes.npy", np.ones((3, 2), np.int8))
    with pytest.raises(DataError, match="type int8 cannot hold unit rows: convert"):
        apply_file(turned, tmp_path / "codes.npy", tmp_path / "new.npy")
    assert sorted(os.listdir(tmp_path)) == ["codes.npy", "folder", "old.npy", "same.npy"]


@pytest.mark.parametrize("name", [n for n in WRITERS if n != "emb.npy"])
def test_files_without_rows_are_refused(tmp_path: Path, name: str) -> None:
    WRITERS[name](People(PEOPLE.vectors[:0], [], []), tmp_path / name)
    with pytest.raises(DataError, match=r"no (rows|vectors)"):
        apply_file(turned, tmp_path / name, tmp_path / f"new-{name}")
    assert not (tmp_path / f"new-{name}").exists()


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_batches_of_unequal_width_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1)
    rows = [[1.0, 2.0]] * 3 + [[1.0, 2.0, 3.0]] * 3
    table = pa.table({"emb": pa.array(rows, pa.list_(pa.float32()))})
    write_table(table, tmp_path / f"old{ending}")
    with pytest.raises(DataError, match=r"ragged: row 3 .* 3 elements where the first row has 2"):
        apply_file(turned, tmp_path / f"old{ending}", tmp_path / f"new{ending}")
    assert os.listdir(tmp_path) == [f"old{ending}"]


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_vectors_without_elements_are_refused(tmp_path: Path, ending: str) -> None:
    table = pa.table({"emb": pa.array([[], []], pa.list_(pa.float32()))})
    write_table(table, tmp_path / f"old{ending}")
    with pytest.raises(DataError, match="have no elements"):
        apply_file(turned, tmp_path / f"old{ending}", tmp_path / f"new{ending}")


def test_damaged_metadata_is_an_error_and_not_the_end_of_the_process(tmp_path: Path) -> None:
    WRITERS["emb.parquet"](PEOPLE, tmp_path / "old.parquet")
    whole = (tmp_path / "old.parquet").read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little")
    refused = 0
    for at in range(len(whole) - 8 - footer, len(whole) - 8, 11):
        damaged = whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :]
        (tmp_path / "old.parquet").write_bytes(damaged)
        try:
            apply_file(turned, tmp_path / "old.parquet", tmp_path / "new.parquet")
            (tmp_path / "new.parquet").unlink()
        except DataError:
            assert os.listdir(tmp_path) == ["old.parquet"]
            refused += 1
    assert refused > 20

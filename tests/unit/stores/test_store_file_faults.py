"""Whatever goes wrong while a file is erased: one error in words, nothing shown, and the same
command goes on."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_runs import axes, expected, run

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
from stored_people import WRITERS, People, write_table

from efface.data.readers import read_vectors
from efface.errors import DataError, EraserError, StoreError
from efface.protect.linear.eraser import LinearEraser

PEOPLE = People.drawn(rows=20, dim=6)


class Failing(LinearEraser):
    """Does a few parts and then raises."""

    def transform(self, x: np.ndarray) -> np.ndarray:
        if next(self.params["calls"], None) is None:  # type: ignore[call-overload]
            raise self.params["error"]  # type: ignore[misc]
        return super().transform(x)


def failing(after: int, error: BaseException) -> LinearEraser:
    good = axes(6)
    params: Any = {"calls": iter(range(after)), "error": error}
    return Failing(good.basis, params=params)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError(), ValueError("mine")])
def test_a_run_cut_short_shows_nothing_and_goes_on(
    tmp_path: Path, name: str, error: BaseException
) -> None:
    WRITERS[name](PEOPLE, tmp_path / name)
    target = tmp_path / f"new-{name}"
    with pytest.raises(type(error)) as caught:
        run(tmp_path / name, target, failing(2, error), part_rows=5)
    assert caught.value is error
    assert not target.exists()
    # Two parts are held and two are left: a run that can do two more gets to the end.
    run(tmp_path / name, target, failing(2, error), part_rows=5)
    np.testing.assert_array_equal(read_vectors(target), expected(PEOPLE.vectors))
    assert not list(tmp_path.glob("*.efface-work"))


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(("bad", "words"), [(np.nan, "NaN"), (np.inf, "infinite"), (0, "zeros")])
def test_bad_rows_are_named_and_nothing_is_shown(
    tmp_path: Path, name: str, bad: float, words: str
) -> None:
    vectors = PEOPLE.vectors.copy()
    vectors[17] = bad
    WRITERS[name](People(vectors, PEOPLE.person, PEOPLE.age), tmp_path / name)
    with pytest.raises(DataError, match=rf"{name}: row 17 .*{words}"):
        run(tmp_path / name, tmp_path / f"new-{name}", part_rows=5)
    assert not (tmp_path / f"new-{name}").exists()


def test_a_row_of_which_nothing_is_left_is_named(tmp_path: Path) -> None:
    vectors = PEOPLE.vectors.copy()
    vectors[9, 2:] = 0
    np.save(tmp_path / "old.npy", vectors)
    with pytest.raises(EraserError, match=r"old\.npy: row 9 .*nothing left"):
        run(tmp_path / "old.npy", tmp_path / "new.npy", part_rows=5)


def test_refused_before_anything_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "old.npy", PEOPLE.vectors)
    os.link(tmp_path / "old.npy", tmp_path / "same.npy")
    for target, words in (
        ("new.npz", r"a npy store cannot be written as npz: name a target of the same kind"),
        ("old.npy", r"old\.npy: is the store that is read"),
        ("same.npy", r"same\.npy: is the store that is read"),
        ("gone/new.npy", "there is no folder .*gone: make it first"),
    ):
        with pytest.raises(StoreError, match=words):
            run(tmp_path / "old.npy", tmp_path / target)
    np.save(tmp_path / "codes.npy", np.ones((3, 6), np.int8))
    with pytest.raises(DataError, match="type int8 cannot hold unit rows: convert"):
        run(tmp_path / "codes.npy", tmp_path / "new.npy")
    assert sorted(os.listdir(tmp_path)) == ["codes.npy", "old.npy", "same.npy"]


@pytest.mark.parametrize("name", [n for n in WRITERS if n != "emb.npy"])
def test_files_without_rows_are_refused(tmp_path: Path, name: str) -> None:
    WRITERS[name](People(PEOPLE.vectors[:0], [], []), tmp_path / name)
    with pytest.raises(DataError, match=r"no (rows|vectors)"):
        run(tmp_path / name, tmp_path / f"new-{name}", axes(6))
    assert not (tmp_path / f"new-{name}").exists()


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize("part", [1, 100])
def test_batches_of_unequal_width_are_refused(tmp_path: Path, ending: str, part: int) -> None:
    rows = [[1.0, 2.0, 3.0]] * 3 + [[1.0, 2.0, 3.0, 4.0]] * 3
    table = pa.table({"emb": pa.array(rows, pa.list_(pa.float32()))})
    write_table(table, tmp_path / f"old{ending}")
    with pytest.raises(DataError, match=r"ragged: row 3 .* 4 elements where the first row has 3"):
        run(tmp_path / f"old{ending}", tmp_path / f"new{ending}", part_rows=part)
    assert not (tmp_path / f"new{ending}").exists()


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_vectors_without_elements_are_refused(tmp_path: Path, ending: str) -> None:
    table = pa.table({"emb": pa.array([[], []], pa.list_(pa.float32()))})
    write_table(table, tmp_path / f"old{ending}")
    with pytest.raises(DataError, match="have no elements"):
        run(tmp_path / f"old{ending}", tmp_path / f"new{ending}")


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".ipc"])
@pytest.mark.parametrize("null", ["keep", "drop"])
def test_rows_without_a_vector(tmp_path: Path, ending: str, null: str) -> None:
    rows: list[Any] = [list(row) if i % 3 else None for i, row in enumerate(PEOPLE.vectors)]
    table = pa.table({
        "who": pa.array(PEOPLE.person).dictionary_encode(),
        "emb": pa.array(rows, pa.list_(pa.float32())),
    })  # fmt: skip
    write_table(table, tmp_path / f"old{ending}")
    with pytest.raises(DataError, match=r"rows 0, 3, 6, .*no vector.*--null keep or --null drop"):
        run(tmp_path / f"old{ending}", tmp_path / f"new{ending}")
    target = tmp_path / f"{null}{ending}"
    receipt = run(tmp_path / f"old{ending}", target, part_rows=4, null=null)
    there = [i for i in range(20) if i % 3]
    kept = list(range(20)) if null == "keep" else there
    assert receipt.rows.written == len(kept)
    new = _table(target)
    assert new.column("who").to_pylist() == [PEOPLE.person[i] for i in kept]
    got = new.column("emb").to_pylist()
    assert [i for i, row in zip(kept, got, strict=True) if row is not None] == there
    vectors = np.array([row for row in got if row is not None], np.float32)
    np.testing.assert_array_equal(vectors, expected(PEOPLE.vectors[there]))


def _table(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    opening = pa.ipc.open_stream if path.suffix == ".ipc" else pa.ipc.open_file
    with pa.OSFile(str(path)) as file:
        return opening(file).read_all()


# --- damaged files of the other formats -------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in WRITERS if not n.endswith((".parquet", ".pq"))])
def test_cut_short_anywhere(tmp_path: Path, name: str) -> None:
    """No read goes beyond the end: an error in words, not a signal."""
    WRITERS[name](PEOPLE, tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    last = len(whole) - (12 if name.endswith(".ipc") else 1)  # a stream may lack its end mark
    for at in range(1, last, 37):
        (tmp_path / name).write_bytes(whole[:at])
        with pytest.raises((DataError, StoreError), match=name.replace(".", r"\.")):
            run(tmp_path / name, tmp_path / f"new-{name}", axes(6), embedding=None, part_rows=5)
        assert not (tmp_path / f"new-{name}").exists()
        _clear(tmp_path, name)


@pytest.mark.parametrize("name", ["emb.arrow", "emb.ipc", "emb.feather"])
def test_a_byte_of_an_arrow_file_changed(tmp_path: Path, name: str) -> None:
    """Refused, or of a kind that shows in the result: never the end of the process."""
    WRITERS[name](PEOPLE, tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    refused = 0
    for at in range(0, len(whole), 23):
        damaged = whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :]
        (tmp_path / name).write_bytes(damaged)
        try:
            run(tmp_path / name, tmp_path / f"new-{name}", axes(6), part_rows=5)
        except (DataError, StoreError, EraserError):
            assert not (tmp_path / f"new-{name}").exists()
            refused += 1
        _clear(tmp_path, name)
    assert refused > 10


def test_a_changed_byte_of_an_npz_is_noticed(tmp_path: Path) -> None:
    """Plain members are read where they lie; their checksum is compared all the same."""
    WRITERS["emb.npz"](PEOPLE, tmp_path / "emb.npz")
    whole = (tmp_path / "emb.npz").read_bytes()
    at = whole.index(PEOPLE.vectors[3].tobytes())
    (tmp_path / "emb.npz").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(DataError, match=r"emb\.npz: cannot be read .*CRC"):
        run(tmp_path / "emb.npz", tmp_path / "new.npz", part_rows=5)
    assert not (tmp_path / "new.npz").exists()


def _clear(folder: Path, name: str) -> None:
    for path in folder.glob(f"new-{name}*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()

"""Rows that cannot go through are named as their store calls them, and nothing becomes visible."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flat_store import FlatSink, FlatSource, load, save
from store_erasers import drawn

from efface.errors import DataError, EraserError, StoreError
from efface.protect.linear.eraser import LinearEraser
from efface.scale.runner import Processes
from efface.stores.contract import Chunk, Part, Shape
from efface.stores.engine import apply_store, default_part_rows
from efface.stores.erase import Erase, label, named

ROWS, DIM = 40, 8


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(ROWS, DIM)).astype(np.float32)


def store(folder: Path, vectors: np.ndarray, present: np.ndarray | None = None) -> FlatSource:
    ids = np.array([f"k{row}" for row in range(len(vectors))])
    return FlatSource(save(folder / "old", vectors, ids, present))


def run(folder: Path, source: FlatSource, **more: Any) -> Any:
    eraser = more.pop("eraser", drawn(DIM, 3))
    return apply_store(eraser, source, FlatSink(folder / "new"), **{"part_rows": 10, **more})


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize(
    ("bad", "words"), [(np.nan, "NaN"), (np.inf, "an infinite value"), (0, "nothing but zeros")]
)
def test_bad_rows_are_named(
    tmp_path: Path, vectors: np.ndarray, bad: float, words: str, normalise: bool
) -> None:
    vectors[[11, 13, 14, 18, 19]] = bad
    with pytest.raises(DataError) as caught:
        run(tmp_path, store(tmp_path, vectors), eraser=drawn(DIM, 3, normalise=normalise))
    said = str(caught.value)
    assert f"{tmp_path / 'old'}: rows 'k11', 'k13', 'k14', 'k18', 'k19' (of 10 in part 1)" in said
    assert words in said
    assert "remove or recompute" in said
    assert not (tmp_path / "new").exists()


def test_rows_of_which_nothing_is_left_are_named(tmp_path: Path, vectors: np.ndarray) -> None:
    eraser = drawn(DIM, 3)
    vectors[[22, 27]] = eraser.basis.T[:2]
    with pytest.raises(EraserError) as caught:
        run(tmp_path, store(tmp_path, vectors), eraser=eraser)
    said = str(caught.value)
    assert "rows 'k22', 'k27' (of 10 in part 2) have nothing left" in said
    assert "use a lower rank" in said


def test_names_are_those_of_rows_that_have_a_vector(tmp_path: Path, vectors: np.ndarray) -> None:
    present = np.arange(ROWS) % 2 == 0
    vectors[14] = np.nan
    with pytest.raises(DataError, match=r"row 'k14' \(of 10 in part 1\) has NaN"):
        run(tmp_path, store(tmp_path, vectors, present), null="keep")
    with pytest.raises(DataError, match=r"row 'k14' \(of 5 in part 1\) has NaN"):
        run(tmp_path / "drop", _moved(tmp_path), null="drop")


def _moved(folder: Path) -> FlatSource:
    (folder / "drop").mkdir()
    return FlatSource((folder / "old").rename(folder / "drop" / "old"))


def test_what_is_infinite_only_after_erasure(tmp_path: Path, vectors: np.ndarray) -> None:
    eraser = drawn(DIM, 3, normalise=False, oblique=True)
    large = LinearEraser(1e3 * eraser.basis, eraser.dual, None, False)
    with pytest.raises(DataError, match="an infinite value after erasure"):
        run(tmp_path, store(tmp_path, 300 * vectors.astype(np.float16)), eraser=large)


def test_rows_without_a_vector_end_the_work_unless_it_is_said_what_to_do(
    tmp_path: Path, vectors: np.ndarray
) -> None:
    present = np.ones(ROWS, bool)
    present[[3, 31]] = False
    source = store(tmp_path, vectors, present)
    with pytest.raises(DataError, match=r"row 'k3' .* has no vector: .*--null keep or --null drop"):
        run(tmp_path, source)
    assert not (tmp_path / "new").exists()


def test_a_part_without_any_vector(tmp_path: Path, vectors: np.ndarray) -> None:
    present = np.arange(ROWS) >= 10
    source = store(tmp_path, vectors, present)
    receipt = run(tmp_path, source, null="keep")
    assert (receipt.rows.written, receipt.rows.null_kept) == (ROWS, 10)
    assert load(tmp_path / "new")[2].tolist() == present.tolist()
    receipt = apply_store(
        drawn(DIM, 3), source, FlatSink(tmp_path / "less"), part_rows=10, null="drop"
    )
    assert (receipt.rows.written, receipt.rows.null_dropped) == (30, 10)
    assert load(tmp_path / "less")[1].tolist() == [f"k{row}" for row in range(10, ROWS)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"eraser": drawn(DIM + 1, 3)}, "fitted on 9-dimensional vectors, these have 8"),
        ({"null": "leave"}, "no policy 'leave'"),
    ],
)
def test_refused_before_anything_is_made(
    tmp_path: Path, vectors: np.ndarray, change: dict[str, Any], words: str
) -> None:
    with pytest.raises((DataError, StoreError), match=words):
        run(tmp_path, store(tmp_path, vectors), **change)
    assert os.listdir(tmp_path) == ["old"]


def test_other_types_and_empty_stores_are_refused(tmp_path: Path, vectors: np.ndarray) -> None:
    with pytest.raises(DataError, match="type int64 cannot hold unit rows"):
        run(tmp_path, store(tmp_path, np.ones((3, DIM), int)))
    (tmp_path / "b").mkdir()
    with pytest.raises(DataError, match="no rows"):
        run(tmp_path / "b", store(tmp_path / "b", vectors[:0]))
    (tmp_path / "c").mkdir()
    source = store(tmp_path / "c", vectors)
    with pytest.raises(StoreError, match="is the store that is read"):
        apply_store(drawn(DIM, 3), source, FlatSink(source.folder))


class Unsteady(FlatSource):
    """Changes while it is read."""

    reads: int = 0

    def read(self, part: Part) -> Chunk:
        self.reads += 1
        if self.reads == 3:
            np.save(self.folder / "ids.npy", np.arange(ROWS))
        return super().read(part)


def test_a_source_that_changes_while_it_is_read(tmp_path: Path, vectors: np.ndarray) -> None:
    source = store(tmp_path, vectors)
    with pytest.raises(StoreError, match="changed while it was read"):
        run(tmp_path, Unsteady(source.folder))
    assert not (tmp_path / "new").exists()
    with pytest.raises(StoreError, match="other work"):
        run(tmp_path, source)


def test_a_source_that_changed_between_two_runs(tmp_path: Path, vectors: np.ndarray) -> None:
    source = store(tmp_path, vectors)

    class Full(FlatSink):
        def commit(self, part: Part, prepared: Any, done: Any) -> None:
            if part.index == 2:
                raise OSError(28, "No space left on device")
            super().commit(part, prepared, done)

    with pytest.raises(StoreError) as caught:
        apply_store(drawn(DIM, 3), source, Full(tmp_path / "new"), part_rows=10)
    assert "new: cannot be written (No space left on device)" in str(caught.value)
    assert "run the same command again" in str(caught.value)
    np.save(source.folder / "ids.npy", np.arange(ROWS))
    with pytest.raises(StoreError, match="other work"):
        run(tmp_path, source)


class Shrunk(FlatSource):
    @property
    def shape(self) -> Shape:
        return Shape(ROWS + 1, DIM, "float32")

    def parts(self, rows: int) -> list[Part]:
        return [Part(0, 0, ROWS)]


class Halved(FlatSource):
    def read(self, part: Part) -> Chunk:
        return super().read(Part(part.index, part.start, part.rows - 1))


def test_rows_that_are_lost_on_the_way_are_missed(tmp_path: Path, vectors: np.ndarray) -> None:
    store(tmp_path, vectors)
    with pytest.raises(StoreError, match="has 41 rows and then 40"):
        run(tmp_path, Shrunk(tmp_path / "old"))
    with pytest.raises(StoreError, match="part 0 held 10 rows and now has 9"):
        run(tmp_path, Halved(tmp_path / "old"))


class Forgetful:
    workers = 1

    def imap(self, task: Any, items: Any) -> Iterator[tuple[int, Any]]:
        for index, item in enumerate(items[:-1]):
            yield index, task(item)

    def close(self) -> None:
        return None


def test_a_runner_that_loses_a_part_is_noticed(tmp_path: Path, vectors: np.ndarray) -> None:
    with pytest.raises(StoreError, match="1 parts were lost"):
        run(tmp_path, store(tmp_path, vectors), runner=Forgetful())
    assert not (tmp_path / "new").exists()


def test_workers_do_the_same_and_say_the_same(tmp_path: Path, vectors: np.ndarray) -> None:
    source = store(tmp_path, vectors)
    eraser = drawn(DIM, 3, oblique=True, centred=True)
    with Processes(2) as runner:
        apply_store(eraser, source, FlatSink(tmp_path / "two"), part_rows=3, runner=runner)
        apply_store(eraser, source, FlatSink(tmp_path / "one"), part_rows=3)
        for name in ("vectors", "ids"):
            one, two = (np.load(tmp_path / n / f"{name}.npy") for n in ("one", "two"))
            assert one.tobytes() == two.tobytes()
        vectors[17] = 0
        (tmp_path / "bad").mkdir()
        bad = store(tmp_path / "bad", vectors)
        with pytest.raises(DataError, match=r"row 'k17' \(of 10 in part 1\) has nothing but zeros"):
            run(tmp_path / "bad", bad, eraser=eraser, runner=runner)


class Deadly(FlatSource):
    """Takes the worker with it, while a certain file is there."""

    def read(self, part: Part) -> Chunk:
        if part.index == 2 and (self.folder / "poison").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(part)


def test_a_part_that_kills_every_worker_ends_the_run_and_can_be_done_later(
    tmp_path: Path, vectors: np.ndarray
) -> None:
    source = Deadly(store(tmp_path, vectors).folder)
    (source.folder / "poison").touch()
    with Processes(2) as runner, pytest.raises(StoreError, match=r"worker processes died"):
        run(tmp_path, source, runner=runner)
    assert not (tmp_path / "new").exists()
    (source.folder / "poison").unlink()
    receipt = run(tmp_path, source)
    assert receipt.rows.written == ROWS
    assert receipt.time.rows < ROWS  # what was committed before was not done again
    np.testing.assert_array_equal(load(tmp_path / "new")[0], drawn(DIM, 3).transform(vectors))


def test_the_task_travels_without_what_it_does_not_need(tmp_path: Path) -> None:
    full = LinearEraser(
        np.eye(DIM)[:, :2], method="isp", params={"rank": 2}, fingerprints=("ab" * 8,) * 1000
    )
    task = Erase(full, FlatSource(tmp_path), FlatSink(tmp_path / "new"), "keep")
    sent = pickle.dumps(task)
    assert len(sent) < 2000
    back = pickle.loads(sent)
    assert back.eraser.digest() == full.digest()
    assert back.null == "keep"


def test_part_size_follows_bytes_and_never_the_number_of_workers() -> None:
    assert default_part_rows(Shape(10**9, 512, "float32")) == 32768
    assert default_part_rows(Shape(10**9, 512, "float16")) == 65536
    assert default_part_rows(Shape(10**9, 2, "float16")) == 1 << 17
    assert default_part_rows(Shape(10, 10**8, "float64")) == 1


def test_how_rows_are_called() -> None:
    assert named([7, 8, 9], np.array([1])) == "row 8"
    assert named(range(100), np.arange(14)) == "rows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 4 more"
    assert named(["it's"], np.array([0])) == 'row "it\'s"'
    assert label(np.int64(3)) == "3"
    assert label("x" * 100) == "'" + "x" * 58 + "…"

"""From addresses to a receipt: who works, where the receipt goes, how a swap ends."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store_erasers import drawn

from efface.errors import StoreError
from efface.scale.runner import Processes, Serial
from efface.stores import receipt as receipts
from efface.stores import run as module
from efface.stores import swapping
from efface.stores.address import parse
from efface.stores.contract import Shape
from efface.stores.receipt import Pending
from efface.stores.run import Order, run

ERASER = drawn(8, 3)


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32)


@pytest.fixture
def order(tmp_path: Path, vectors: np.ndarray) -> Order:
    np.save(tmp_path / "old.npy", vectors)
    return ordered(tmp_path)


def ordered(folder: Path, source: str = "old.npy", **more: Any) -> Order:
    target = parse(str(folder / "new.npy"))
    given = {"workers": 1, "part_rows": 10, **more}
    return Order(parse(str(folder / source)), target, folder / "r.json", **given)


def test_a_receipt_lies_beside_the_target_and_no_note_is_left(
    tmp_path: Path, order: Order, vectors: np.ndarray
) -> None:
    receipt = run(order, ERASER)
    assert receipts.read(tmp_path / "r.json") == receipt
    np.testing.assert_array_equal(np.load(tmp_path / "new.npy"), ERASER.transform(vectors))
    assert not Pending.path(order.receipt).exists()


def test_the_live_file_is_replaced_and_kept(
    tmp_path: Path, order: Order, vectors: np.ndarray
) -> None:
    swap = ordered(tmp_path, swap=str(tmp_path / "old.npy"))
    receipt = run(swap, ERASER)
    assert receipt.swapped == str(tmp_path / "old.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "old.npy"), ERASER.transform(vectors))
    np.testing.assert_array_equal(np.load(tmp_path / "old.npy.before-efface"), vectors)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert run(swap, ERASER) == receipt  # the same command again: all is done already
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    # New raw vectors under the live name are new work.
    (tmp_path / "old.npy.before-efface").unlink()
    np.save(tmp_path / "old.npy", vectors + 1)
    run(swap, ERASER)
    np.testing.assert_array_equal(np.load(tmp_path / "old.npy"), ERASER.transform(vectors + 1))


class Death(BaseException):
    """Stands for kill -9."""


@pytest.mark.parametrize("after", [False, True])
def test_a_death_around_the_swap_is_made_good(
    tmp_path: Path,
    order: Order,
    vectors: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
    after: bool,
) -> None:
    swap = ordered(tmp_path, swap=str(tmp_path / "old.npy"))
    real = swapping.swap

    def deadly(target: Path, live: Path) -> None:
        if after:
            real(target, live)
        raise Death

    with monkeypatch.context() as patched:
        patched.setattr(swapping, "swap", deadly)
        with pytest.raises(Death):
            run(swap, ERASER)
    assert run(swap, ERASER).swapped
    assert receipts.read(order.receipt).live_fingerprint
    np.testing.assert_array_equal(np.load(tmp_path / "old.npy"), ERASER.transform(vectors))
    np.testing.assert_array_equal(np.load(tmp_path / "old.npy.before-efface"), vectors)
    assert not Pending.path(order.receipt).exists()


def test_a_swap_that_lost_both_names_is_not_guessed_at(
    tmp_path: Path, order: Order, vectors: np.ndarray
) -> None:
    np.save(tmp_path / "live.npy", vectors)
    swap = ordered(tmp_path, swap=str(tmp_path / "live.npy"))
    receipt = run(ordered(tmp_path), ERASER)
    Pending(job="", swapping=str(tmp_path / "live.npy"), receipt=receipt).write(order.receipt)
    (tmp_path / "live.npy").unlink()
    (tmp_path / "new.npy").unlink()
    swapped = receipts.msgspec.structs.replace(receipt, swapped=str(tmp_path / "live.npy"))
    Pending(job="", swapping=swapped.swapped, receipt=swapped).write(order.receipt)
    with pytest.raises(StoreError, match=r"neither it nor .*can be opened"):
        run(swap, ERASER)


def test_a_file_is_not_read_and_written_at_once(tmp_path: Path, order: Order) -> None:
    (tmp_path / "new.npy").symlink_to(tmp_path / "old.npy")
    with pytest.raises(StoreError, match="is the store that is read"):
        run(order, ERASER)
    (tmp_path / "new.npy").unlink()
    shutil.copy(tmp_path / "old.npy", tmp_path / "new.npy")
    with pytest.raises(StoreError, match="is there already"):
        run(order, ERASER)


@pytest.mark.parametrize("name", ["old.npy", "new.npy", "notes.txt"])
def test_a_receipt_never_replaces_anything_but_a_receipt(
    tmp_path: Path, order: Order, vectors: np.ndarray, name: str
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    wrong = Order(order.source, order.target, tmp_path / name)
    with pytest.raises(StoreError, match="give another name with --receipt"):
        run(wrong, ERASER)
    np.testing.assert_array_equal(np.load(tmp_path / "old.npy"), vectors)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "new.npy").exists()
    run(order, ERASER)
    run(ordered(tmp_path, resume=True), ERASER)  # over the older receipt


def test_a_live_name_that_is_not_there_is_told_before_the_work(tmp_path: Path) -> None:
    np.save(tmp_path / "old.npy", np.ones((3, 8), np.float32))
    with pytest.raises(StoreError, match=r"gone\.npy: is not there, so nothing can take its place"):
        run(ordered(tmp_path, swap=str(tmp_path / "gone.npy")), ERASER)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.npy"]


@pytest.mark.parametrize(
    ("rows", "part_rows", "workers", "expected"),
    [(100, None, 8, 1), (100, 10, 8, 8), (100, 60, 8, 2), (100, 100, None, 1), (100, 1, 1, 1)],
)
def test_no_more_workers_than_parts(
    order: Order, tmp_path: Path, rows: int, part_rows: int | None, workers: Any, expected: int
) -> None:
    wanted = ordered(tmp_path, part_rows=part_rows, workers=workers)
    with module._runner(Shape(rows, 8, "float32"), wanted) as runner:
        assert runner.workers == expected
        assert isinstance(runner, Serial if expected == 1 else Processes)


def test_as_many_workers_as_this_process_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda pid: {0, 3, 5})
    wanted = ordered(tmp_path, part_rows=1, workers=None)
    with module._runner(Shape(100, 8, "float32"), wanted) as runner:
        assert runner.workers == 3


def test_a_store_that_lets_one_process_in_gets_one(tmp_path: Path) -> None:
    wanted = ordered(tmp_path, part_rows=1, workers=4)
    with module._runner(Shape(100, 8, "float32"), wanted, alone=True) as runner:
        assert isinstance(runner, Serial)
    clustered = ordered(tmp_path, scheduler="tcp://host:8786")
    with pytest.raises(StoreError, match="leave --scheduler out"):
        module._runner(Shape(100, 8, "float32"), clustered, alone=True)

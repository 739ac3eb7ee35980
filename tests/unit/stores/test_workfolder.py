"""Work under way beside a target: one run at a time, taken up after any death, never mixed up."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from file_runs import axes, expected, job_of, run, smallest_file, stores

from efface.errors import StoreError
from efface.stores import disk, workfolder
from efface.stores.contract import Done, Sink, Source
from efface.stores.workfolder import WorkFolder, is_made, read_record, record_path

VECTORS = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)


def write(path: Path) -> Path:
    if path.suffix == ".npy":
        np.save(path, VECTORS)
        return path
    if path.suffix == ".npz":
        np.savez(path, emb=VECTORS)
        return path
    table = pa.table({"emb": pa.array(list(VECTORS), pa.list_(pa.float32()))})
    if path.suffix == ".arrow":
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=10)
    elif path.suffix:
        pq.write_table(table, path, row_group_size=10)
    else:
        path.mkdir()
        for i in range(3):
            pq.write_table(table.slice(10 * i, 10), path / f"{i}.parquet")
    return path


NAMES = ["old.npy", "old.npz", "old.arrow", "old.parquet", "old"]


@pytest.fixture(params=NAMES)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write(tmp_path / request.param)


def target_of(source: Path) -> Path:
    return source.with_name(source.name.replace("old", "new"))


def commit(store: Source, sink: Sink, indices: range) -> None:
    for part in [store.parts(10)[index] for index in indices]:
        chunk = store.read(part)
        prepared = sink.prepare(part, chunk, chunk.vectors)
        sink.commit(part, prepared, Done(part.index, part.rows, "a", "b"))


def vectors(path: Path) -> np.ndarray:
    store, _ = stores(path, path.with_name(f"unused{path.suffix}"))
    return store.sample(1_000_000, np.random.default_rng(0))[1]


def begun(source: Path, **job: Any) -> tuple[Source, Sink]:
    store, sink = stores(source, target_of(source))
    sink.begin(job_of(store, 10, **job), resume=False)
    return store, sink


def test_parts_that_were_committed_are_held(source: Path) -> None:
    store, sink = begun(source)
    commit(store, sink, range(2))
    del sink
    store, sink = stores(source, target_of(source))
    held = sink.begin(job_of(store, 10), resume=False)
    assert held == [Done(0, 10, "a", "b"), Done(1, 10, "a", "b")]
    commit(store, sink, range(2, 3))
    assert not target_of(source).exists()
    sink.finish()
    np.testing.assert_array_equal(vectors(target_of(source)), VECTORS)
    assert not list(source.parent.glob("*.efface-work"))


def test_nothing_is_shown_before_all_is_there(source: Path) -> None:
    store, sink = begun(source)
    commit(store, sink, range(2))
    with pytest.raises(StoreError, match="is not complete: run the same command again"):
        sink.finish()
    assert not target_of(source).exists()


def test_what_a_death_left_of_the_record_is_used_up(source: Path) -> None:
    target = target_of(source)
    left = target.with_name(f"{record_path(target).name}.partial")
    left.write_bytes(b"half a rec")
    run(source, target, part_rows=10)
    assert not list(source.parent.glob("*.partial"))
    record = read_record(target)
    assert record is not None
    assert len(record.entries) == 3


def test_parts_out_of_turn_are_refused(source: Path) -> None:
    store, sink = begun(source)
    with pytest.raises(StoreError, match="out of turn"):
        commit(store, sink, range(1, 2))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"projector": "q"}, "differs in: projector"),
        ({"fingerprint": "f", "null": "keep"}, "differs in: content of the source, policy for"),
        ({"part_rows": 9}, "differs in: rows per part"),
    ],
)
def test_another_job_is_refused(source: Path, change: dict[str, Any], words: str) -> None:
    store, sink = begun(source)
    commit(store, sink, range(1))
    del sink
    store, sink = stores(source, target_of(source))
    with pytest.raises(StoreError, match=f"unfinished work of another job .{words}"):
        sink.begin(job_of(store, 10, **change), resume=True)
    assert len(sink.begin(job_of(store, 10), resume=False)) == 1
    commit(store, sink, range(1, 3))
    sink.finish()
    _, sink = stores(source, target_of(source))
    with pytest.raises(StoreError, match=f"is there already, made by another job .{words}"):
        sink.begin(job_of(store, 10, **change), resume=True)


def test_another_job_of_which_no_part_is_done_gives_way(source: Path) -> None:
    """A run that was refused at its first rows does not bar the one that heeds its advice."""
    begun(source)
    store, sink = stores(source, target_of(source))
    assert sink.begin(job_of(store, 10, projector="q"), resume=False) == []
    commit(store, sink, range(3))
    sink.finish()
    np.testing.assert_array_equal(vectors(target_of(source)), VECTORS)


def test_a_policy_told_later_takes_up_what_was_done_without_one(source: Path) -> None:
    store, sink = begun(source)
    commit(store, sink, range(1))
    for null in ("keep", "keep"):
        store, sink = stores(source, target_of(source))
        assert len(sink.begin(job_of(store, 10, null=null), resume=False)) == 1
    for other in ("drop", "fail"):  # what was kept is not dropped any more
        _, sink = stores(source, target_of(source))
        with pytest.raises(StoreError, match=r"another job .differs in: policy"):
            sink.begin(job_of(store, 10, null=other), resume=False)
    store, sink = stores(source, target_of(source))
    sink.begin(job_of(store, 10, null="keep"), resume=False)
    commit(store, sink, range(1, 3))
    sink.finish()
    record = read_record(target_of(source))
    assert record is not None
    assert record.job["null"] == "keep"
    np.testing.assert_array_equal(vectors(target_of(source)), VECTORS)


def test_a_finished_target_comes_back_whole_or_is_refused(source: Path) -> None:
    run(source, target_of(source), part_rows=10)
    before = vectors(target_of(source))
    with pytest.raises(StoreError, match=r"finished by this very job: give --resume to verify"):
        run(source, target_of(source), part_rows=10)
    assert run(source, target_of(source), part_rows=10, resume=True).verified.parts == 3
    np.testing.assert_array_equal(vectors(target_of(source)), before)
    np.testing.assert_array_equal(before, expected(VECTORS))


def test_a_target_that_was_there_before_is_never_touched(source: Path) -> None:
    target = write(target_of(source))
    before = vectors(target)
    for resume in (False, True):
        with pytest.raises(StoreError, match="is there already and is not of this job"):
            run(source, target, part_rows=10, resume=resume)
    np.testing.assert_array_equal(vectors(target), before)
    assert not list(source.parent.glob("*.efface-work"))


def test_a_target_that_was_changed_is_no_longer_this_jobs(tmp_path: Path) -> None:
    source = write(tmp_path / "old.npy")
    run(source, tmp_path / "new.npy", part_rows=10)
    np.save(tmp_path / "new.npy", VECTORS)
    with pytest.raises(StoreError, match="is there already and is not of this job"):
        run(source, tmp_path / "new.npy", part_rows=10, resume=True)


def test_a_death_between_showing_and_clearing_up(source: Path) -> None:
    store, sink = begun(source)
    commit(store, sink, range(3))
    made = sink.complete()  # type: ignore[attr-defined]
    sink.work.note(made)  # type: ignore[attr-defined]
    disk.show(made, target_of(source))
    del sink
    store, sink = stores(source, target_of(source))
    assert len(sink.begin(job_of(store, 10), resume=False)) == 3
    sink.finish()
    np.testing.assert_array_equal(vectors(target_of(source)), VECTORS)
    assert not list(source.parent.glob("*.efface-work"))


# --- power cuts and torn journals ------------------------------------------------------------


def test_after_a_power_cut_only_what_the_disk_had_counts(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, sink = begun(source)
    commit(store, sink, range(1))
    sink.work.safe(1)  # type: ignore[attr-defined]
    commit(store, sink, range(1, 2))
    del sink
    monkeypatch.setattr(workfolder, "_boot", lambda: "another start of the machine")
    store, sink = stores(source, target_of(source))
    assert [done.index for done in sink.begin(job_of(store, 10), resume=False)] == [0]
    commit(store, sink, range(1, 3))
    sink.finish()
    np.testing.assert_array_equal(vectors(target_of(source)), VECTORS)


def test_data_are_flushed_before_the_journal_calls_them_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("efface.stores.flusher._BYTES", 1)
    flushed: list[Path] = []
    monkeypatch.setattr("efface.stores.flusher.disk.flush", flushed.append)
    store, sink = begun(write(tmp_path / "old.npy"))
    commit(store, sink, range(1))
    sink._flusher._under_way.result()  # type: ignore[attr-defined]
    commit(store, sink, range(1, 3))
    lines = (tmp_path / "new.npy.efface-work/journal.jsonl").read_text().splitlines()
    kinds = [next(iter(json.loads(line))) for line in lines]
    assert kinds[:4] == ["efface-parts", "done", "done", "safe"]
    assert json.loads(lines[3]) == {"safe": 1}
    assert tmp_path / "new.npy.efface-work/vectors.npy" in flushed


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_torn_line_ends_the_journal(source: Path, cut: int) -> None:
    store, sink = begun(source)
    commit(store, sink, range(2))
    journal = target_of(source).with_name(f"{target_of(source).name}.efface-work") / "journal.jsonl"
    del sink
    journal.write_bytes(journal.read_bytes()[:-cut])
    store, sink = stores(source, target_of(source))
    assert [done.index for done in sink.begin(job_of(store, 10), resume=False)] == [0]
    commit(store, sink, range(1, 3))
    sink.finish()
    np.testing.assert_array_equal(vectors(target_of(source)), VECTORS)


def test_a_work_folder_of_another_version_is_refused(tmp_path: Path) -> None:
    store, sink = begun(write(tmp_path / "old.npy"))
    del sink
    journal = tmp_path / "new.npy.efface-work/journal.jsonl"
    journal.write_text(journal.read_text().replace('"efface-parts":1', '"efface-parts":2'))
    _, sink = stores(tmp_path / "old.npy", tmp_path / "new.npy")
    with pytest.raises(StoreError, match="of another version of efface"):
        sink.begin(job_of(store, 10), resume=False)


def test_data_that_went_missing_are_noticed(source: Path) -> None:
    store, sink = begun(source)
    commit(store, sink, range(2))
    work = sink.work.path  # type: ignore[attr-defined]
    del sink
    for path in [p for p in work.rglob("*") if p.is_file()]:
        if path.name not in ("lock", "journal.jsonl"):
            path.unlink()
    store, sink = stores(source, target_of(source))
    with pytest.raises(StoreError, match="is damaged: remove that folder to start afresh"):
        sink.begin(job_of(store, 10), resume=False)


# --- one run at a time -----------------------------------------------------------------------


def test_a_second_run_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    source = write(tmp_path / "old.npy")
    store, sink = begun(source)
    told: list[str] = []

    def second() -> None:
        try:
            begun(source)
        except StoreError as error:
            told.append(str(error))

    thread = threading.Thread(target=second)
    thread.start()
    thread.join()
    assert len(told) == 1
    assert "another run is writing it" in told[0]
    commit(store, sink, range(3))
    sink.finish()


def test_a_run_of_another_process_is_seen_and_its_death_too(tmp_path: Path) -> None:
    source = write(tmp_path / "old.npy")
    code = """
import sys
sys.path[:0] = [sys.argv[1]]
from test_workfolder import *
store, sink = begun(Path(sys.argv[2]))
commit(store, sink, range(1))
print("begun", flush=True)
sys.stdin.read()
"""
    words = [sys.executable, "-c", code, str(Path(__file__).parent), str(source)]
    other = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "begun\n"
    with pytest.raises(StoreError, match="another run is writing it: wait"):
        begun(source)
    other.kill()
    other.communicate()
    store, sink = stores(source, tmp_path / "new.npy")
    assert len(sink.begin(job_of(store, 10), resume=False)) == 1


def test_a_failed_run_in_this_thread_gives_way(tmp_path: Path) -> None:
    source = write(tmp_path / "old.npy")
    first = begun(source)
    second = begun(source)
    del first
    with pytest.raises(StoreError, match="another run"):
        _in_thread(lambda: begun(source))
    assert second[1].begin(job_of(second[0], 10), resume=False) == []


def _in_thread(work: Any) -> None:
    caught: list[BaseException] = []

    def inner() -> None:
        try:
            work()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=inner)
    thread.start()
    thread.join()
    raise caught[0]


def test_a_folder_that_goes_while_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by the run before, which cleared up between our opening and our locking."""
    work = WorkFolder(tmp_path / "new.npy")
    real, first = workfolder.locked, iter([True])

    def overtaken(path: Path, target: Path) -> Any:
        if next(first, False):
            shutil.rmtree(path.parent)
            return None
        return real(path, target)

    monkeypatch.setattr(workfolder, "locked", overtaken)
    work.open()
    assert (work.path / "lock").exists()
    work.close()


# --- disks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [200, 700])
def test_a_full_disk_ends_in_words_and_the_same_command_goes_on(source: Path, limit: int) -> None:
    with (
        smallest_file(limit),
        pytest.raises(StoreError, match=r"the disk or its quota is full .* same command again"),
    ):
        run(source, target_of(source), part_rows=10)
    assert not target_of(source).exists()
    run(source, target_of(source), part_rows=10)
    np.testing.assert_array_equal(vectors(target_of(source)), expected(VECTORS))
    assert not list(source.parent.glob("*.efface-work"))


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_written(
    source: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", refuse)
        with pytest.raises(StoreError, match="give write permission"):
            run(source, target_of(source))
    run(source, target_of(source))
    np.testing.assert_array_equal(vectors(target_of(source)), expected(VECTORS))


def test_a_full_file_system_of_its_own(tmp_path: Path) -> None:
    """A real one, of 150 kB; only root may mount it."""
    disk_folder = tmp_path / "disk"
    disk_folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=150k", "none", str(disk_folder)]
    if os.geteuid() or subprocess.run(words, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        big = np.random.default_rng(0).standard_normal((3000, 16)).astype(np.float32)
        table = pa.table({"emb": pa.array(list(big), pa.list_(pa.float32()))})
        pq.write_table(table, tmp_path / "old.parquet")
        np.save(tmp_path / "old.npy", big)
        for name in ("old.parquet", "old.npy"):
            target = disk_folder / name.replace("old", "new")
            with pytest.raises(StoreError, match="the disk or its quota is full"):
                run(tmp_path / name, target, part_rows=300)
            assert not target.exists()
            subprocess.run(["mount", "-o", "remount,size=2m", str(disk_folder)], check=True)
            run(tmp_path / name, target, part_rows=300)
            np.testing.assert_array_equal(vectors(target), expected(big))
            target.unlink()
            subprocess.run(["mount", "-o", "remount,size=150k", str(disk_folder)], check=True)
    finally:
        subprocess.run(["umount", str(disk_folder)], check=True)


# --- swaps -----------------------------------------------------------------------------------


def live_of(source: Path) -> Path:
    return write(source.with_name(source.name.replace("old", "live")))


def finished(source: Path) -> Sink:
    run(source, target_of(source), part_rows=10)
    return stores(source, target_of(source))[1]


def test_a_target_becomes_the_live_one_and_the_old_is_kept(source: Path) -> None:
    live = live_of(source)
    sink = finished(source)
    sink.swap(str(live))
    np.testing.assert_array_equal(vectors(live), expected(VECTORS))
    old = live.with_name(f"{live.name}.before-efface")
    kept = old.rename(old.with_name(source.name.replace("old", "kept")))
    np.testing.assert_array_equal(vectors(kept), VECTORS)
    assert not target_of(source).exists()
    assert not record_path(target_of(source)).exists()
    assert is_made(read_record(live), live)
    sink.swap(str(live))  # once more is not twice
    np.testing.assert_array_equal(vectors(live), expected(VECTORS))


@pytest.mark.parametrize("exchange", [True, False])
def test_a_swap_that_a_death_cut_short_is_ended(
    source: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    """After the exchange the old content has the target's name; the next run sees to it."""
    if not exchange:
        if source.is_dir():
            pytest.skip("folders need the exchange")
        monkeypatch.setattr(disk, "_rename", lambda old, new, how: False)
    live = live_of(source)
    sink = finished(source)

    def die(*args: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(disk, "settle", die)
        with pytest.raises(KeyboardInterrupt):
            sink.swap(str(live))
    np.testing.assert_array_equal(vectors(live), expected(VECTORS))
    stores(source, target_of(source))
    assert not target_of(source).exists()
    assert live.with_name(f"{live.name}.before-efface").exists()
    assert is_made(read_record(live), live)


def test_swaps_that_cannot_be_are_refused(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = finished(source)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    other = tmp_path / ("file" if source.is_dir() else "folder")
    for live in (tmp_path / "gone", other):
        with pytest.raises(StoreError, match=r"could take over: rename by hand"):
            sink.swap(str(live))
    live = live_of(source)
    old = live.with_name(f"{live.name}.before-efface")
    old.write_bytes(b"")
    with pytest.raises(StoreError, match="is there from an earlier swap"):
        sink.swap(str(live))
    old.unlink()
    if source.is_dir():
        with monkeypatch.context() as patch:
            patch.setattr(disk, "_rename", lambda old, new, how: False)
            with pytest.raises(StoreError, match=r"cannot exchange two folders .* rename by hand"):
                sink.swap(str(live))
    np.testing.assert_array_equal(vectors(live), VECTORS)
    np.testing.assert_array_equal(vectors(target_of(source)), expected(VECTORS))


def test_a_changed_target_is_not_swapped(tmp_path: Path) -> None:
    source = write(tmp_path / "old.npy")
    live = live_of(source)
    sink = finished(source)
    np.save(tmp_path / "new.npy", VECTORS)
    with pytest.raises(StoreError, match="is not what this job made: nothing was swapped"):
        sink.swap(str(live))


def test_the_eraser_of_these_tests_changes_something() -> None:
    assert not np.array_equal(axes(4).transform(VECTORS), VECTORS)

"""Every runner keeps the same promises; local processes survive the death of workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scale_tasks as tasks
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from efface.errors import DataError, EffaceError, StoreError
from efface.scale.runner import Processes, Runner, Serial, describe, in_order, map_merge
from efface.scale.threads import one_blas_thread
from efface.scale.window import Window

# --- what every runner does -----------------------------------------------------------------


def test_every_item_comes_back_once_with_its_index(runner: Any) -> None:
    assert isinstance(runner, Runner)
    found = list(runner.imap(tasks.square, range(40)))
    assert sorted(found) == [(i, i * i) for i in range(40)]
    assert list(runner.imap(tasks.square, [])) == []


def test_results_in_order_and_folded_in_order(runner: Any) -> None:
    assert list(in_order(runner, tasks.slow_square, range(12))) == [i * i for i in range(12)]
    text = map_merge(runner, tasks.square, range(6), lambda a, b: f"{a} {b}", "")
    assert text == " 0 1 4 9 16 25"


def test_an_error_keeps_its_type_and_words_and_names_the_item(runner: Any) -> None:
    with pytest.raises(DataError, match="row 7 is odd") as caught:
        list(runner.imap(tasks.no_four, range(40)))
    assert str(caught.value) == "faces.parquet: row 7 is odd"
    assert "while working on 4" in caught.value.__notes__
    assert len(list(runner.imap(tasks.square, range(5)))) == 5  # and the runner goes on


def test_an_error_that_cannot_travel_still_says_what_it_said(runner: Any) -> None:
    with pytest.raises(Exception, match="5: for no reason"):
        list(runner.imap(tasks.stubborn, [1]))


def test_only_a_few_items_are_ever_under_way(runner: Any, tmp_path: Path) -> None:
    results = runner.imap(tasks.Touch(str(tmp_path)), range(60))
    first, _ = next(results)
    for _ in range(20):  # give workers that were told too much the time to show it
        time.sleep(0.01)
    started = len(list(tmp_path.iterdir()))
    results.close()
    assert first < 2 * runner.workers
    assert started <= 2 * runner.workers
    assert len(list(tmp_path.iterdir())) <= 2 * runner.workers


def test_blas_has_one_thread_inside_tasks(runner: Any) -> None:
    for _, threads in runner.imap(tasks.blas_threads, range(4)):
        assert threads
        assert set(threads) == {1}


# --- which item may start -------------------------------------------------------------------


@settings(max_examples=30)
@given(st.integers(0, 20), st.integers(1, 3), st.data())
def test_the_window_moves_over_all_items(total: int, workers: int, data: st.DataObject) -> None:
    window, open_, done = Window(total), [], []
    while not window.finished:
        while (index := window.start(workers)) is not None:
            open_.append(index)
            assert len(open_) <= 2 * workers
            assert index < min(open_) + 4 * workers
        assert open_, "nothing under way and nothing may start"
        index = data.draw(st.sampled_from(open_))
        open_.remove(index)
        if data.draw(st.integers(0, 4)) == 0:
            window.lost(index)
        else:
            window.done(index)
            done.append(index)
    assert sorted(done) == list(range(total))


def test_one_slow_item_holds_back_those_far_ahead() -> None:
    window = Window(100)
    assert [window.start(2) for _ in range(5)] == [0, 1, 2, 3, None]
    for index in range(1, 8):
        window.done(index)
        window.start(2)
    assert window.start(2) is None  # item 0 is still open, and 8 is far enough
    window.done(0)
    assert window.start(2) == 8


# --- BLAS threads ---------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["numpy", "faiss"])  # the second one's limits are by thread
@pytest.mark.parametrize("first_out", ["main", "other"])
def test_the_last_task_out_lifts_the_limit(first_out: str, library: str) -> None:
    pytest.importorskip(library)
    before = _threads()
    seen: list[int] = []
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with one_blas_thread():
            inside.set()
            leave.wait(10)
            seen.extend(_threads())

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        assert inside.wait(10)
        if first_out == "other":
            leave.set()
            thread.join()
            assert set(_threads()) == {1}
    leave.set()
    thread.join()
    assert set(seen) == {1}
    assert _threads() == before


def test_another_thread_that_set_the_limit_does_not_bar_a_task() -> None:
    other = threading.Thread(target=_hold_limit, args=(done := threading.Event(),))
    other.start()
    time.sleep(0.05)
    with one_blas_thread():
        inside = _threads()
    done.set()
    other.join()
    assert set(inside) == {1}


def _hold_limit(done: threading.Event) -> None:
    with threadpool_limits(2, user_api="blas"):
        done.wait(10)


def _threads() -> list[int]:
    np.ones((4, 4)) @ np.ones((4, 4))
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


# --- local processes ------------------------------------------------------------------------


def test_both_processes_work_and_end_when_closed() -> None:
    with Processes(2) as runner:
        pids = {pid for _, pid in runner.imap(tasks.busy_worker, range(6))}
        assert len(pids) == 2
        again = {pid for _, pid in runner.imap(tasks.worker, range(6))}
        assert again <= pids, "a second run has the same processes"
    assert not any(_alive(pid) for pid in pids)


def test_fewer_items_start_fewer_processes() -> None:
    with Processes(3) as runner:
        assert list(runner.imap(tasks.square, [5])) == [(0, 25)]
        assert len(runner._team) == 1


def test_a_killed_worker_changes_nothing(tmp_path: Path, two_processes: Processes) -> None:
    for victim in (0, 7, 19):
        dying = tasks.Murderous(two_processes, victim, tmp_path / str(victim))
        assert list(in_order(dying, tasks.square, range(20))) == [i * i for i in range(20)]
        assert (tmp_path / str(victim)).exists()


def test_workers_killed_from_outside_change_nothing(two_processes: Processes) -> None:
    results = dict([next(run := two_processes.imap(tasks.slow_square, range(60)))])
    for process in multiprocessing.active_children():
        process.kill()
    results.update(run)
    assert results == {i: i * i for i in range(60)}


def test_idle_workers_may_die_too(two_processes: Processes) -> None:
    list(two_processes.imap(tasks.slow_square, range(8)))
    for process in multiprocessing.active_children():
        process.kill()
        process.join()
    assert dict(two_processes.imap(tasks.square, range(8))) == {i: i * i for i in range(8)}


def test_an_item_that_kills_every_worker_is_named(two_processes: Processes) -> None:
    with pytest.raises(StoreError, match=r"^3: 4 worker processes died on it .*code -9"):
        list(two_processes.imap(tasks.deadly_three, range(10)))
    with pytest.raises(StoreError, match=r"^0: 4 worker processes died on it .*code 3"):
        list(two_processes.imap(tasks.quits, range(1)))
    assert len(list(two_processes.imap(tasks.square, range(5)))) == 5


def test_a_task_travels_once_and_an_item_is_packed_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Processes(2) as runner:
        assert len(list(runner.imap(tasks.Travelled(str(log)), range(30)))) == 30
        assert len(log.read_text().splitlines()) <= 2
        tasks.Parcel.packed = 0
        found = dict(runner.imap(tasks.unwrap, [tasks.Parcel(i) for i in range(10)]))
    assert found == {i: i for i in range(10)}
    assert tasks.Parcel.packed == 10


def test_items_and_results_larger_than_a_pipe_holds(two_processes: Processes) -> None:
    items = [bytes([i]) * 3_000_000 for i in range(6)]
    found = dict(two_processes.imap(tasks.first_byte, items))
    assert all(found[i] == items[i] * 2 for i in range(6))


def test_what_cannot_travel_is_an_error_and_no_hang(two_processes: Processes) -> None:
    with pytest.raises(Exception, match=r"pickle|local object"):
        list(two_processes.imap(tasks.unsendable, [1]))
    with pytest.raises(Exception, match=r"pickle|local object"):
        list(two_processes.imap(lambda x: x, [1]))
    with pytest.raises(Exception, match=r"pickle|local object"):
        list(two_processes.imap(tasks.square, [lambda: 1]))
    assert dict(two_processes.imap(tasks.square, range(3))) == {0: 0, 1: 1, 2: 4}


def test_a_run_inside_a_run_is_refused(two_processes: Processes) -> None:
    outer = two_processes.imap(tasks.slow_square, range(5))
    next(outer)
    with pytest.raises(EffaceError, match="in the middle of another run"):
        next(two_processes.imap(tasks.square, range(5)))
    outer.close()
    assert len(list(two_processes.imap(tasks.square, range(5)))) == 5


def test_no_workers_is_no_number_of_workers() -> None:
    with pytest.raises(EffaceError, match="0 worker processes"):
        Processes(0)


def test_a_runner_closes_after_an_error() -> None:
    def use(runner: Any) -> None:
        with runner:
            list(runner.imap(tasks.no_four, range(8)))

    runner = Processes(2)
    with pytest.raises(DataError):
        use(runner)
    assert runner._team == []
    with Serial() as serial:
        assert list(serial.imap(tasks.square, [2])) == [(0, 4)]


def test_long_items_are_described_shortly() -> None:
    assert describe("a") == "a"
    assert len(describe("x" * 1000)) == 200


# --- scripts --------------------------------------------------------------------------------

_SCRIPT = """
import multiprocessing, threading, time
from efface.scale.runner import Processes

def nap(x):
    time.sleep(60)

def tell():
    print(*(p.pid for p in multiprocessing.active_children()), flush=True)

def main():
    with Processes(2) as runner:
        threading.Timer(0.5, tell).start()
        list(runner.imap(nap, range(5)))

{guard}main()
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_driver(how: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT.format(guard='if __name__ == "__main__":\n    '))
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdout is not None
        pids = [int(pid) for pid in driver.stdout.readline().split()]
        assert len(pids) == 2
        assert all(_alive(pid) for pid in pids)
        driver.send_signal(how)
        driver.wait(20)
    deadline = time.monotonic() + 20
    while any(_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(_alive(pid) for pid in pids)


def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT.format(guard=""))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "StoreError" in done.stderr
    assert 'if __name__ == "__main__":' in done.stderr.splitlines()[-1]


def _alive(pid: int) -> bool:
    """Running, and not only waiting to be buried by its parent."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        if sys.platform == "linux":
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True
    return state != "Z"

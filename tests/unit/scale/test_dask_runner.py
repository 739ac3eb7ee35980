"""Dask as a runner: deaths, refusals, and nothing left behind on the cluster."""

from __future__ import annotations

import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
import scale_tasks as tasks

import efface.scale.carrier as carrier
from efface.errors import EffaceWarning, MissingExtra, StoreError
from efface.scale import dask
from efface.scale.dask import DaskRunner, connect
from efface.scale.runner import in_order


def test_connect_by_address_and_close(cluster: Any) -> None:
    with connect(cluster.scheduler_address) as runner:
        assert runner.workers == 2
        assert dict(runner.imap(tasks.square, range(9))) == {i: i * i for i in range(9)}
        client = runner.client
    assert client.status == "closed"


def test_a_client_that_was_passed_in_stays_open(client: Any) -> None:
    with DaskRunner(client) as runner:
        assert len(list(runner.imap(tasks.square, range(3)))) == 3
    assert client.status == "running"


def test_a_killed_worker_changes_nothing(dask_runner: DaskRunner, tmp_path: Path) -> None:
    dying = tasks.Murderous(dask_runner, 7, tmp_path / "mark")
    assert list(in_order(dying, tasks.square, range(20))) == [i * i for i in range(20)]
    assert (tmp_path / "mark").exists()


def test_a_worker_killed_from_outside_changes_nothing(dask_runner: DaskRunner) -> None:
    pids = dask_runner.client.run(os.getpid)
    run = dask_runner.imap(tasks.slow_square, range(60))
    results = dict([next(run)])
    os.kill(next(iter(pids.values())), signal.SIGKILL)
    results.update(run)
    assert results == {i: i * i for i in range(60)}


def test_an_item_that_kills_every_worker_ends_the_run() -> None:
    # A cluster of its own: a worker that dies while it starts is not started again.
    with (
        _cluster(4) as cluster,
        connect(cluster.scheduler_address) as runner,
        pytest.raises(StoreError, match=r"^3: 4 Dask workers that had it died"),
    ):
        list(runner.imap(tasks.deadly_three, [3]))


def test_a_cluster_without_workers_is_not_waited_for_for_ever() -> None:
    import distributed

    with _cluster(0) as cluster:
        with pytest.raises(
            StoreError, match=r"no worker after 0.2 s: start some with `dask worker"
        ):
            connect(cluster.scheduler_address, timeout=0.2)
        with distributed.Client(cluster, set_as_default=False) as client:
            runner = DaskRunner(client, patience=0.2)
            assert runner.workers == 1
            with pytest.raises(StoreError, match=r"no worker for 0.2 s"):
                list(runner.imap(tasks.square, range(3)))


def _cluster(workers: int) -> Any:
    import distributed

    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    )


def test_nothing_stays_on_the_cluster(dask_runner: DaskRunner, client: Any) -> None:
    with pytest.raises(Exception, match="row 7"):
        list(dask_runner.imap(tasks.no_four, range(30)))
    given_up = dask_runner.imap(tasks.slow_square, range(30))
    next(given_up)
    given_up.close()
    deadline = time.monotonic() + 10
    while (client.futures or _carried(client)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not client.futures
    assert not _carried(client)


def _carried(client: Any) -> list[str]:
    held = client.run(_plugins)
    return [name for names in held.values() for name in names if name.startswith("efface")]


def _plugins(dask_worker: Any) -> list[str]:
    return list(dask_worker.plugins)


def test_the_task_goes_to_each_worker_once(dask_runner: DaskRunner, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert len(list(dask_runner.imap(tasks.Travelled(str(log)), range(40)))) == 40
    # Two workers, and wherever Dask looks into what passes through it.
    assert len(log.read_text().splitlines()) <= 4


def test_two_runs_at_once_do_not_mix(dask_runner: DaskRunner) -> None:
    both = zip(
        dask_runner.imap(tasks.square, range(12)),
        dask_runner.imap(tasks.no_four, range(4)),
        strict=False,
    )
    for (i, squared), (j, same) in both:
        assert (squared, same) == (i * i, j)


def test_no_scheduler_is_a_plain_answer() -> None:
    with pytest.raises(StoreError, match=r"tcp://127.0.0.1:9: no Dask scheduler.*dask scheduler"):
        connect("tcp://127.0.0.1:9", timeout=1)


def test_another_efface_on_a_worker_is_refused(
    dask_runner: DaskRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carrier, "__version__", "0.0.0")
    with pytest.raises(StoreError, match=r"this process 0\.0\.0: install the same version"):
        list(dask_runner.imap(tasks.square, [1]))


def test_another_numpy_is_warned_about(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    monkeypatch.setattr(np, "__version__", "1.0")
    with pytest.warns(EffaceWarning, match=r"has numpy .*, this process 1\.0: .*last bits") as said:
        dask._warn_of_differences(client, "tcp://there", [])
    assert len(said) == 2


def test_what_dask_finds_different_is_passed_on(client: Any) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.warn("Mismatched versions found\n\n| msgpack |", UserWarning, stacklevel=1)
    with pytest.warns(EffaceWarning, match=r"^tcp://there: Mismatched versions found \| msgpack"):
        dask._warn_of_differences(client, "tcp://there", said)


def test_without_distributed_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"pip install 'efface\[dask\]'"):
        connect("tcp://127.0.0.1:9")
    with pytest.raises(MissingExtra, match="dask"):
        DaskRunner(None)

"""Runners that the tests of ``scale`` share: starting them costs more than the tests."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from efface.scale.dask import DaskRunner
from efface.scale.runner import Processes, Serial


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Two Dask worker processes with one thread each."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as found:
        yield found


@pytest.fixture(scope="session")
def client(cluster: Any) -> Iterator[Any]:
    import distributed

    with distributed.Client(cluster, set_as_default=False) as found:
        yield found


@pytest.fixture(scope="session")
def dask_runner(client: Any) -> DaskRunner:
    return DaskRunner(client)


@pytest.fixture(scope="session")
def two_processes() -> Iterator[Processes]:
    with Processes(2) as runner:
        yield runner


@pytest.fixture(params=["serial", "processes", "dask"])
def runner(request: pytest.FixtureRequest) -> Any:
    """Each kind of runner in turn."""
    if request.param == "serial":
        return Serial()
    return request.getfixturevalue(
        "two_processes" if request.param == "processes" else "dask_runner"
    )

"""A Dask cluster as a runner: local, by scheduler address, or any ``distributed.Client``.

with connect("tcp://10.0.0.1:8786") as runner:          # an address
    ...
runner = DaskRunner(Client(SLURMCluster(...)))           # any other cluster
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from efface.errors import EffaceError, EffaceWarning, StoreError
from efface.extras import need
from efface.scale.runner import Closing, describe, naming
from efface.scale.window import Window

T = TypeVar("T")
R = TypeVar("R")


def connect(address: str, *, timeout: float = 30.0) -> DaskRunner:
    """The runner for the scheduler at ``address``; closing it closes the connection."""
    distributed = need("distributed", "dask")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        client = _client(distributed, address, timeout)
    try:
        client.wait_for_workers(1, timeout=timeout)
        _warn_of_differences(client, address, said)
    except BaseException as error:
        client.close()
        if isinstance(error, TimeoutError):
            raise StoreError(
                f"{address}: the scheduler has no worker after {timeout:g} s: start some with "
                f"`dask worker {address}`"
            ) from error
        raise
    return DaskRunner(client, owned=True)


class DaskRunner(Closing):
    """Runs tasks on the workers of a ``distributed.Client``, a few per worker thread at a time.

    Dask itself runs the tasks of a lost worker again; an item whose worker died more often than
    ``distributed.scheduler.allowed-failures`` (3) ends the run with an error that names it. So
    does a cluster without any worker for ``patience`` seconds. A client that was passed in stays
    open; ``owned`` says to close it.
    """

    def __init__(self, client: Any, *, patience: float = 600.0, owned: bool = False) -> None:
        need("distributed", "dask")
        self.client = client
        self.patience = patience
        self._owned = owned
        self._numbers = count()

    @property
    def workers(self) -> int:
        """Threads of all workers there are now; clusters grow and shrink."""
        return max(1, self._threads())

    def _threads(self) -> int:
        with _reachable():
            return int(sum(self.client.nthreads().values()))

    def imap(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        name = f"efface-{self.client.id}-{next(self._numbers)}"
        under_way: dict[Any, int] = {}
        try:
            _spread(self.client, name, task)
            yield from self._run(name, items, under_way)
        finally:
            self._forget(name, list(under_way))

    def _run(
        self, name: str, items: Sequence[Any], under_way: dict[Any, int]
    ) -> Iterator[tuple[int, Any]]:
        from efface.scale.carrier import work

        window = Window(len(items))
        done: SimpleQueue[Any] = SimpleQueue()
        while not window.finished:
            workers = self.workers
            while (index := window.start(workers)) is not None:
                future = self.client.submit(
                    work, name, items[index], key=f"{name}-{index}", pure=False
                )
                under_way[future] = index
                future.add_done_callback(done.put)
            future = self._next(done)
            index = under_way[future]
            result = _result(future, items[index])
            del under_way[future]
            future.release()
            window.done(index)
            yield index, result

    def _next(self, done: SimpleQueue[Any]) -> Any:
        """The next future that is done, unless nobody is there to do anything."""
        look = min(5.0, self.patience / 4)
        empty = 0.0
        while True:
            try:
                return done.get(timeout=look)
            except Empty:
                empty = 0.0 if self._threads() else empty + look
            if empty >= self.patience:
                raise StoreError(
                    f"the Dask cluster at {self.client.scheduler.address} has had no worker for "
                    f"{self.patience:g} s: start some and run the same command again"
                )

    def _forget(self, name: str, futures: list[Any]) -> None:
        """Nothing of the run stays on the cluster; a lost connection must not hide its cause."""
        if self.client.status != "running":
            return
        try:
            self.client.cancel(futures, force=True)
            self.client.unregister_worker_plugin(name)
        except (OSError, TimeoutError, ValueError):
            return

    def close(self) -> None:
        if self._owned:
            self.client.close()


def _client(distributed: Any, address: str, timeout: float) -> Any:
    try:
        return distributed.Client(address, timeout=timeout, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise StoreError(
            f"{address}: no Dask scheduler answers there ({type(error).__name__}): start one with "
            "`dask scheduler` and give its address as tcp://HOST:8786"
        ) from error


def _warn_of_differences(client: Any, address: str, said: Sequence[Any]) -> None:
    """Different NumPy means different last bits; what Dask itself finds is passed on."""
    from efface.scale.carrier import installed

    with _installed_everywhere():
        found = client.run(installed)
    ours = installed()
    notes = [
        f"{address}: worker {worker} has {package} {theirs[package]}, this process "
        f"{ours[package]}: results may differ in their last bits"
        for worker, theirs in found.items()
        for package in ("numpy",)
        if theirs[package] != ours[package]
    ]
    notes += [f"{address}: {' '.join(str(w.message).split())}" for w in said]
    for note in notes:
        warnings.warn(note, EffaceWarning, stacklevel=3)


def _spread(client: Any, name: str, task: Callable[[Any], Any]) -> None:
    """Put the task on all workers, those that join later included."""
    from efface.scale.carrier import Carrier

    with _installed_everywhere():
        client.register_plugin(Carrier(name, task), name=name)


def _result(future: Any, item: Any) -> Any:
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    try:
        with _reachable():
            return future.result()
    except KilledWorker as error:
        raise StoreError(
            f"{describe(item)}: {error.allowed_failures + 1} Dask workers that had it died one "
            "after another; that is most often too little memory: give the workers more, or use "
            "smaller parts"
        ) from error
    except CancelledError as error:
        raise StoreError(
            f"{describe(item)}: the Dask scheduler gave it up (restarted, or its connection was "
            "lost): run the same command again"
        ) from error
    except Exception as error:
        with naming(item):
            raise error


@contextmanager
def _installed_everywhere() -> Iterator[None]:
    try:
        yield
    except EffaceError:
        raise
    except (ImportError, AttributeError) as error:
        raise StoreError(
            f"a Dask worker cannot load what it is to run ({error}): install the same efface on "
            "every machine, with the extras of the store; a task of your own needs its module there"
        ) from error


@contextmanager
def _reachable() -> Iterator[None]:
    from distributed.comm.core import CommClosedError

    try:
        yield
    except CommClosedError as error:
        raise StoreError(
            f"the connection to the Dask scheduler is lost ({error}): run the same command again"
        ) from error

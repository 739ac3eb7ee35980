"""Who does the work: this process, several processes, or a cluster. One small interface.

A task is a module-level function (or a frozen dataclass with ``__call__``) and a small item, such
as a part of a store; vectors are read where they are worked on and never travel. Every runner
gives BLAS one thread inside a task, so a task computes the same bits wherever it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Any, Protocol, TypeVar, runtime_checkable

from threadpoolctl import threadpool_limits

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A")


@runtime_checkable
class Runner(Protocol):
    """Runs tasks, somewhere; a lost worker's tasks are run again."""

    @property
    def workers(self) -> int: ...

    def imap(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """(index, result) of every item, in the order in which they are done.

        Only a few more items than there are workers are ever under way, so that results that
        wait to be used stay few. The first error ends the run and is raised.
        """
        ...

    def close(self) -> None: ...


def map_merge(
    runner: Runner, task: Callable[[T], R], items: Sequence[T], merge: Callable[[A, R], A], start: A
) -> A:
    """Fold results in the order of the items, whatever the order in which they arrive.

    So a sum of floats has the same bits on any number of workers.
    """
    waiting: dict[int, R] = {}
    merged, due = start, 0
    for index, result in runner.imap(task, items):
        waiting[index] = result
        while due in waiting:
            merged = merge(merged, waiting.pop(due))
            due += 1
    return merged


class Serial:
    """This process, one item after another."""

    workers = 1

    def imap(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        for index, item in enumerate(items):
            with threadpool_limits(1, user_api="blas"):
                result = task(item)
            yield index, result

    def close(self) -> None:
        return None


class Processes:
    """Local worker processes with one BLAS thread each."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        # Spawned, not forked: a fork would copy the locks of Arrow's and BLAS's threads.
        self._pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=one_thread)

    def imap(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        under_way: dict[Future[Any], int] = {}
        todo = iter(enumerate(items))
        try:
            while True:
                while len(under_way) < 2 * self.workers and (following := next(todo, None)):
                    index, item = following
                    under_way[self._pool.submit(task, item)] = index
                if not under_way:
                    return
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=under_way.__getitem__):
                    yield under_way.pop(future), future.result()
        finally:
            for future in under_way:
                future.cancel()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def one_thread() -> None:
    """In a worker: one BLAS thread for good; the workers share the cores already."""
    threadpool_limits(1, user_api="blas")

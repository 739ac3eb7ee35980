"""Who does the work: this process, several processes, or a cluster. One small interface.

A task is a module-level function (or a frozen dataclass with ``__call__``) and a small item, such
as a part of a store; vectors are read where they are worked on and never travel. Every runner
gives BLAS one thread inside a task, so a task computes the same bits wherever it runs, on
machines of one kind.

    with Processes(4) as runner:
        for index, result in runner.imap(task, items): ...

A cluster is in :mod:`efface.scale.dask`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from multiprocessing.connection import wait
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from efface.errors import EffaceError, StoreError
from efface.scale.threads import one_blas_thread
from efface.scale.window import Window
from efface.scale.worker import Worker, pack

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A")


class DeadlyItem(StoreError):
    """An item on which worker after worker died; ``index`` says which."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


RERUNS = 3
"""How often an item is run again after the death of the worker that had it."""


@runtime_checkable
class Runner(Protocol):
    """Runs tasks, somewhere; a lost worker's tasks are run again."""

    @property
    def workers(self) -> int: ...

    def imap(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """(index, result) of every item, in the order in which they are done.

        Only a few more items than there are workers are ever under way, and none far ahead of the
        oldest that is not done, so that results that wait to be used stay few. The first error
        ends the run and is raised, with a note that names the item.
        """
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def in_order(
    runner: Runner, task: Callable[[T], R], items: Sequence[T]
) -> Generator[R, None, None]:
    """Results in the order of the items, whatever the order in which they arrive.

    What waits for its turn stays few, as the runner does not go far ahead.
    """
    waiting: dict[int, R] = {}
    due = 0
    arriving = runner.imap(task, items)
    try:
        for index, result in arriving:
            waiting[index] = result
            while due in waiting:
                yield waiting.pop(due)
                due += 1
    finally:
        if isinstance(arriving, Generator):
            arriving.close()  # gives up what is under way


def map_merge(
    runner: Runner, task: Callable[[T], R], items: Sequence[T], merge: Callable[[A, R], A], start: A
) -> A:
    """Fold results in the order of the items: a sum of floats has the same bits on any number of
    workers."""
    return reduce(merge, in_order(runner, task, items), start)


class Closing:
    """``with`` for a runner."""

    def close(self) -> None:
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Serial(Closing):
    """This process, one item after another."""

    workers = 1

    def imap(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        for index, item in enumerate(items):
            with naming(item), one_blas_thread():
                result = task(item)
            yield index, result


class Processes(Closing):
    """Local worker processes with one BLAS thread each. They start when the first run does.

    A script that uses them needs ``if __name__ == "__main__":``, as workers import it.
    """

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise EffaceError(f"{workers} worker processes cannot do anything: ask for at least 1")
        self.workers = workers
        self._team: list[Worker] = []
        self._running = False

    def imap(self, task: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        if self._running:
            raise EffaceError("these processes are in the middle of another run: finish it first")
        run = _Run(self._team, self.workers, pack(task), items)
        self._running = True
        try:
            for worker in list(self._team):
                run.adopt(worker)
            while not run.window.finished:
                run.hand_out()
                yield from run.collect()
        finally:
            # After an error or an interrupt: what is under way is worth nothing any more.
            for worker in [w for w in self._team if w.holds or not w.ready]:
                self._team.remove(worker)
                worker.kill()
            self._running = False

    def close(self) -> None:
        while self._team:
            self._team.pop().buried()


class _Run:
    """One task on many items by a team of processes, in which members may die."""

    def __init__(self, team: list[Worker], size: int, packed: bytes, items: Sequence[Any]) -> None:
        self.team, self.size, self.packed, self.items = team, size, packed, items
        self.window = Window(len(items))
        self.deaths: Counter[int] = Counter()

    def adopt(self, worker: Worker) -> None:
        try:
            worker.adopt(self.packed)
        except OSError:
            self._lost(worker)

    def hand_out(self) -> None:
        """Give every worker one item, and the next one already while there are plenty."""
        while (worker := self._free()) is not None:
            index = self.window.start(self.size)
            if index is None:
                return
            try:
                worker.give(index, self.items[index])
            except OSError:
                self._lost(worker)

    def _free(self) -> Worker | None:
        idle = min(self.team, key=lambda w: len(w.holds), default=None)
        if idle is not None and not idle.holds:
            return idle
        if len(self.team) < self.size and self.window.waiting:
            self.team.append(Worker())
            self.adopt(self.team[-1])
            return self._free()
        # At the end of the run nothing should wait behind a slow item while others are idle.
        deep = 2 if self.window.waiting > self.size else 1
        return idle if idle is not None and len(idle.holds) < deep else None

    def collect(self) -> Iterator[tuple[int, Any]]:
        """Wait until somebody has something to say; a death is heard as the end of its pipe."""
        speaking = wait([w.pipe for w in self.team if w.holds])
        for worker in [w for w in self.team if w.pipe in speaking]:
            try:
                said = worker.answer()
            except (EOFError, OSError):
                self._lost(worker)
                continue
            if said is not None:
                index = worker.holds.popleft()
                self.window.done(index)
                yield index, _checked(said, self.items[index])

    def _lost(self, worker: Worker) -> None:
        """Take up again what it had; it worked on the oldest, and that counts as a try."""
        self.team.remove(worker)
        code = worker.buried()
        if not worker.ready and code > 0:
            raise StoreError(
                f"a worker process could not start (exit code {code}): a script that starts "
                'workers has to be a file, with `if __name__ == "__main__":` around what it runs'
            )
        for index in worker.holds:
            self.window.lost(index)
        if worker.holds:
            self._count(worker.holds[0], code)

    def _count(self, index: int, code: int) -> None:
        self.deaths[index] += 1
        if self.deaths[index] > RERUNS:
            raise DeadlyItem(
                index,
                f"{describe(self.items[index])}: {self.deaths[index]} worker processes died on it "
                f"one after another (the last with exit code {code}); -9 is most often too little "
                "memory: use fewer workers or smaller parts",
            )


def _checked(said: tuple[bool, Any], item: Any) -> Any:
    went_well, value = said
    if not went_well:
        with naming(item):
            raise value
    return value


@contextmanager
def naming(item: Any) -> Iterator[None]:
    """An error in here says which item it came from; its type and message stay."""
    try:
        yield
    except Exception as error:
        error.add_note(f"while working on {describe(item)}")
        raise


def describe(item: Any) -> str:
    text = str(item)
    return text if len(text) <= 200 else f"{text[:199]}…"

"""Tasks and runners for the tests of ``scale``; workers import this module."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from efface.errors import DataError
from efface.scale.runner import Closing, Serial


class Shuffled(Closing):
    """A runner whose results arrive in an order that a seed decides."""

    workers = 3

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def imap(self, task: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        done = list(Serial().imap(task, items))
        for place in self.rng.permutation(len(done)):
            yield done[place]


@dataclass(frozen=True)
class DyingOnce:
    """Another task, but for one item on which the worker is killed the first time."""

    task: Callable[[Any], Any]
    victim: int
    items: tuple[Any, ...]
    mark: str

    def __call__(self, index: int) -> Any:
        if index == self.victim and _first(self.mark):
            os.kill(os.getpid(), signal.SIGKILL)
        return self.task(self.items[index])


class Murderous(Closing):
    """A runner that kills the worker of one item once, whatever the task."""

    def __init__(self, runner: Any, victim: int, mark: Path) -> None:
        self.runner, self.victim, self.mark = runner, victim, mark
        self.workers = runner.workers

    def imap(self, task: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        dying = DyingOnce(task, self.victim, tuple(items), str(self.mark))
        yield from self.runner.imap(dying, range(len(items)))


def _first(mark: str) -> bool:
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def square(x: int) -> int:
    return x * x


def slow_square(x: int) -> int:
    time.sleep(0.01)
    return x * x


def worker(x: int) -> int:
    return os.getpid()


def busy_worker(x: int) -> int:
    time.sleep(0.3)
    return os.getpid()


def deadly_three(x: int) -> int:
    if x == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return x


def no_four(x: int) -> int:
    if x == 4:
        raise DataError("faces.parquet: row 7 is odd")
    return x


class Stubborn(Exception):
    """Cannot be made again from its arguments."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(f"{code}: {why}")


def stubborn(x: int) -> int:
    raise Stubborn(5, "for no reason")


def unsendable(x: int) -> Any:
    return lambda: x


def quits(x: int) -> int:
    raise SystemExit(3)


def blas_threads(x: int) -> list[int]:
    np.ones((4, 4)) @ np.ones((4, 4))
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


@dataclass(frozen=True)
class Touch:
    """Leaves a file for every item it has begun."""

    folder: str

    def __call__(self, x: int) -> int:
        Path(self.folder, str(x)).touch()
        return x


@dataclass
class Travelled:
    """A task that notes each arrival in a process."""

    log: str
    fresh: bool = field(default=False)

    def __call__(self, x: int) -> int:
        return x

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        with Path(self.log).open("a") as log:
            log.write("arrived\n")


class Parcel:
    """An item that counts how often it is packed."""

    packed = 0

    def __init__(self, x: int) -> None:
        self.x = x

    def __reduce__(self) -> Any:
        Parcel.packed += 1
        return Parcel, (self.x,)


def unwrap(parcel: Parcel) -> int:
    return parcel.x


def first_byte(data: bytes) -> bytes:
    return data * 2

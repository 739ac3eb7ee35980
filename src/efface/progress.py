"""Progress with an estimate of the time left: only on a terminal, only past two seconds."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")


class Progress(Generic[T]):
    """``with Progress("audit", 12) as tick: tick(result)`` hands the result through."""

    def __init__(self, what: str, total: int, unit: str = "case") -> None:
        self.what, self.total, self.unit = what, total, unit
        self._bar: Any = None
        self._begun = False

    def __enter__(self) -> Self:
        from tqdm import tqdm

        self._bar = tqdm(
            total=self.total, desc=self.what, unit=self.unit, delay=2, disable=None, leave=False,
            dynamic_ncols=True, unit_scale=self.unit == "row",
        )  # fmt: skip
        return self

    def __call__(self, result: T) -> T:
        self._bar.update(1)
        return result

    def of(self, done: int, total: int) -> None:
        """Progress told as so many of so many; what the first call tells was done before."""
        if not self._begun:
            self._bar.initial, self._begun = done, True
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.close()


class Stages:
    """A bar for each stage of a run: called with the stage, how many are done and of how many."""

    def __init__(self) -> None:
        self._stage = ""
        self._bar: Progress[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self.close()
            self._stage = stage
            self._bar = Progress[None](stage, total, unit="picture").__enter__()
        if self._bar is not None:
            self._bar.of(done, total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

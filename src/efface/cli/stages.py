"""Progress of a run with several stages, a bar for each."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from efface.progress import Progress


class Stages:
    """Called with the stage, how many are done and of how many."""

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

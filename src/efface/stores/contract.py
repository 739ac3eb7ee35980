"""What a store is to the engine: parts that are read, erased and committed one at a time.

A *source* divides its rows into parts, always the same ones for the same content. A *sink* commits
a part whole or not at all and remembers which it holds, so the same command, run again after any
kind of death, finishes the work: no row lost, doubled or left raw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Shape:
    """Rows and columns of a store's vectors and the type they are kept in."""

    rows: int
    dim: int
    dtype: str


@dataclass(frozen=True)
class Part:
    """A run of rows in the source's own order, the unit of work and of commitment."""

    index: int
    start: int
    rows: int


@dataclass(frozen=True, eq=False)
class Chunk:
    """The rows of a part: vectors in the stored type, and all else in the store's own form."""

    vectors: NDArray[Any]
    rest: Any
    labels: Sequence[Any]
    """What the store calls each row (id, primary key or row number), for error messages."""


@dataclass(frozen=True)
class Job:
    """What makes two runs the same work: a sink resumes its own job and refuses any other."""

    source: str
    fingerprint: str
    projector: str
    shape: Shape
    parts: int


@runtime_checkable
class Source(Protocol):
    """A store to read from; it is never written to."""

    kind: ClassVar[str]

    @property
    def place(self) -> str: ...

    @property
    def shape(self) -> Shape: ...

    def fingerprint(self) -> str:
        """Changes when the content changes; cheap, so that a resume can ask."""
        ...

    def parts(self, rows: int) -> Sequence[Part]:
        """All rows in parts of about ``rows``; the same for the same content."""
        ...

    def read(self, part: Part) -> Chunk: ...

    def sample(self, rows: int, rng: np.random.Generator) -> tuple[Sequence[Any], NDArray[Any]]:
        """Labels and vectors of that many rows drawn without replacement, for a check."""
        ...


@runtime_checkable
class Sink(Protocol):
    """A new store; it is complete, and visible under its name, only after ``finish``."""

    @property
    def place(self) -> str: ...

    def begin(self, job: Job, *, resume: bool) -> set[int]:
        """Make the store, or go on with this very job: the indexes of the parts it holds."""
        ...

    def write(self, part: Part, chunk: Chunk, vectors: NDArray[Any]) -> None:
        """Commit the part with new vectors, whole or not at all; the same part twice is once."""
        ...

    def finish(self) -> None: ...

    def swap(self, live: str) -> None:
        """Make this store the one called ``live``, atomically; a StoreError where it cannot."""
        ...

"""What a store is to the engine: parts that are read, erased, prepared and committed.

A *source* divides its rows into parts, always the same ones for the same content. A *sink* takes
them in two steps. ``prepare`` may run in any process and on any machine: it writes or packs what is
to be stored and makes nothing visible. ``commit`` runs in the process that drives the work, one
part at a time and in the order of the parts: it makes the part count, whole or not at all, and
remembers it. So what a sink holds is always a run of parts from the first on, and the same command,
run again after any kind of death, finishes the work: no row lost, doubled or left raw.

Sources and sinks travel to workers: they pickle as what is needed to open the store again (paths,
addresses), never as open handles. Open lazily and drop handles in ``__getstate__``. One that only
one process may open at a time says so with an attribute ``local_only`` that is true; the work is
then done in the driving process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    where: str = ""
    """What the source needs to find the part again: a file of a folder, a key of a table."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """The rows of a part: vectors in the stored type, and all else in the store's own form.

    ``present`` is None where every row has a vector. Otherwise it says which rows have one;
    ``vectors`` then holds zeros in the others' places.
    """

    vectors: NDArray[Any]
    rest: Any
    labels: Sequence[Any]
    """What the store calls each row (id, primary key or row number), for error messages."""
    present: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Job:
    """What makes two runs the same work: a sink resumes its own job and refuses any other."""

    source: str
    """The address of the source, without passwords."""
    fingerprint: str
    projector: str
    shape: Shape
    parts: int
    part_rows: int
    null: str = "fail"

    def follows(self, earlier: Job) -> bool:
        """Does work of the earlier job count for this one? It is the same job, or that one ended
        at rows without a vector and this one says what becomes of them: what was done has none."""
        return earlier in (self, replace(self, null="fail"))


@dataclass(frozen=True)
class Done:
    """What a commit remembers of a part."""

    index: int
    rows: int
    """Rows in the target; fewer than were read where rows without a vector were dropped."""
    before: str
    """BLAKE3 of the vectors as read, in the stored type; rows without a vector left out."""
    after: str
    """BLAKE3 of the vectors as written, in the stored type; the same rows."""
    nulls: int = 0
    """Rows of the target that were kept without a vector."""


@runtime_checkable
class Source(Protocol):
    """A store to read from; it is never written to."""

    kind: ClassVar[str]

    @property
    def place(self) -> str:
        """How messages name it; no password in it."""
        ...

    @property
    def shape(self) -> Shape: ...

    def fingerprint(self) -> str:
        """Changes when the content changes; cheap, so that a resume can ask."""
        ...

    def parts(self, rows: int) -> Sequence[Part]:
        """All rows in parts of about ``rows``; the same for the same content."""
        ...

    def read(self, part: Part) -> Chunk: ...

    def select(self, chunk: Chunk, rows: NDArray[np.bool_]) -> Chunk:
        """The chosen rows of a chunk, with everything that belongs to them."""
        ...

    def sample(self, rows: int, rng: np.random.Generator) -> tuple[Sequence[Any], NDArray[Any]]:
        """Labels and vectors of that many rows that have one, drawn without replacement, for a
        check; fewer only where these are all."""
        ...


@runtime_checkable
class Sink(Protocol):
    """A new store; it is complete, and visible under its name, only after ``finish``."""

    @property
    def place(self) -> str: ...

    def begin(self, job: Job, *, resume: bool) -> Sequence[Done]:
        """Make the store, or go on with this very job: the parts it holds already, from part 0 on.

        Work under way that this job follows is always taken up; of another job it is refused,
        unless no part of it was done: that is worth nothing, and gives way. A
        finished target is refused unless ``resume`` is set and it is of the same job; then all of
        its parts come back.
        """
        ...

    def prepare(self, part: Part, chunk: Chunk, vectors: NDArray[Any]) -> Any:
        """Anywhere: pack or write the part with its new vectors, which have the stored type.

        What comes back goes to ``commit`` as it is and is small, or as large as the part at most.
        Doing it twice does no harm.
        """
        ...

    def commit(self, part: Part, prepared: Any, done: Done) -> None:
        """In the driving process: from here on the part counts, also after a power cut."""
        ...

    def finish(self) -> None:
        """Check that every part is there, then show the store under its name, at once. On a
        finished store, as after a death right here, it does nothing."""
        ...

    def written(self, part: Part, done: Done) -> NDArray[Any]:
        """The vectors of a part as the finished store holds them, read afresh, in order; rows
        without a vector are left out."""
        ...

    def source(self) -> Source:
        """The finished store, to read from."""
        ...

    def swap(self, live: str) -> None:
        """Make this store the one called ``live``, atomically; a StoreError where it cannot."""
        ...

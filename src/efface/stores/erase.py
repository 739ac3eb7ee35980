"""What a worker does to one part: read it, see to its rows, erase, prepare for the commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from efface.data.vectors import working_dtype
from efface.errors import DataError, EffaceError, EraserError, StoreError
from efface.protect.linear.eraser import LinearEraser
from efface.stores import digest
from efface.stores.contract import Chunk, Done, Part, Sink, Source

Null = Literal["fail", "keep", "drop"]
NULLS: tuple[Null, ...] = get_args(Null)
_SHOWN = 10
_LONGEST = 60
_BLOCK = 256


@dataclass(frozen=True)
class Ready:
    """A part that only waits for its turn to be committed."""

    prepared: Any
    done: Done


@dataclass(frozen=True, eq=False)
class Erase:
    """The task of the engine: from a part of the source to one the sink can commit."""

    eraser: LinearEraser
    source: Source
    sink: Sink
    null: Null

    def __call__(self, part: Part) -> Ready:
        with reaching(self.source.place, "read"):
            chunk = self._kept(part, self.source.read(part))
        there = slice(None) if chunk.present is None else chunk.present
        stored = chunk.vectors[there]
        erased = self._erased(part, chunk, stored)
        vectors = erased
        if chunk.present is not None:
            vectors = np.zeros_like(chunk.vectors)
            vectors[there] = erased
        with reaching(self.sink.place, "written"):
            prepared = self.sink.prepare(part, chunk, vectors)
        nulls = len(chunk.vectors) - len(stored)
        hashes = digest.of_vectors(stored), digest.of_vectors(erased)
        return Ready(prepared, Done(part.index, len(chunk.vectors), *hashes, nulls))

    def _kept(self, part: Part, chunk: Chunk) -> Chunk:
        """The rows that go on, by the policy for those without a vector."""
        if len(chunk.vectors) != part.rows:
            raise StoreError(
                f"{self.source.place}: part {part.index} held {part.rows} rows and now has "
                f"{len(chunk.vectors)}: leave the store alone while it is read, and start afresh"
            )
        if chunk.present is None or chunk.present.all():
            return chunk
        if self.null == "fail":
            raise DataError(
                f"{self._where(part, chunk, ~chunk.present)} no vector: fill or remove them, or "
                "give --null keep or --null drop"
            )
        return chunk if self.null == "keep" else self.source.select(chunk, chunk.present)

    def _erased(self, part: Part, chunk: Chunk, stored: NDArray[Any]) -> NDArray[Any]:
        """New vectors for the rows that have one, in the stored type."""
        wide = _working(stored)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                if not self.eraser.normalise:  # a row without length is no error to this eraser
                    self._refuse(part, chunk, stored, "")
                erased = self.eraser.transform(wide).astype(stored.dtype, copy=False)
                if not self.eraser.normalise:
                    self._refuse(part, chunk, erased, " after erasure")
        except EraserError as error:
            self._refuse(part, chunk, stored, "")
            raise self._lost(part, chunk, wide, error) from error
        return erased

    def _refuse(self, part: Part, chunk: Chunk, rows: NDArray[Any], when: str) -> None:
        """Name the rows that are not finite or have no direction."""
        if not len(rows):
            return
        peaks = np.maximum(rows.max(axis=1), -rows.min(axis=1))
        for bad, what in (
            (np.isnan(peaks), "NaN"),
            (np.isinf(peaks), "an infinite value"),
            (peaks == 0, "nothing but zeros"),
        ):
            if bad.any():
                raise DataError(
                    f"{self._where(part, chunk, _among(chunk, bad))} {what}{when}: remove or "
                    "recompute these vectors"
                )

    def _lost(self, part: Part, chunk: Chunk, wide: NDArray[Any], error: Exception) -> EffaceError:
        """The rows of which nothing is left, found one by one: it happens once, and then ends."""
        bad = np.zeros(len(wide), bool)
        for start in range(0, len(wide), _BLOCK):
            if self._fails(wide[start : start + _BLOCK]):
                for row in range(start, min(start + _BLOCK, len(wide))):
                    bad[row] = self._fails(wide[row : row + 1])
        if not bad.any():  # on the very edge, where blocks and single rows round differently
            return EraserError(f"{self.source.place}, part {part.index}: {error}")
        return EraserError(
            f"{self._where(part, chunk, _among(chunk, bad))} nothing left after erasure but "
            "rounding: remove these vectors, or use a lower rank"
        )

    def _fails(self, rows: NDArray[Any]) -> bool:
        try:
            self.eraser.transform(rows)
        except EraserError:
            return True
        return False

    def _where(self, part: Part, chunk: Chunk, bad: NDArray[np.bool_]) -> str:
        """``store: rows 3, 7 and 12 more (of 1,000 in part 4) have``."""
        verb = "has" if bad.sum() == 1 else "have"
        rows = named(chunk.labels, np.flatnonzero(bad))
        return f"{self.source.place}: {rows} (of {len(bad):,} in part {part.index}) {verb}"

    def __getstate__(self) -> dict[str, Any]:
        """Only what erasing needs travels to a worker: the map, and not where it came from."""
        eraser = self.eraser
        bare = (eraser.basis, eraser.dual, eraser.mean, eraser.normalise)
        return {**self.__dict__, "eraser": bare}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, eraser=LinearEraser(*state["eraser"]))


@dataclass(frozen=True)
class Reread:
    """The task of the verification: the digest of a part as the finished store holds it."""

    sink: Sink

    def __call__(self, item: tuple[Part, Done]) -> str:
        part, done = item
        if not done.rows:  # all of its rows were dropped
            return done.after
        with reaching(self.sink.place, "read again"):
            return digest.of_vectors(self.sink.written(part, done))


@contextmanager
def reaching(place: str, what: str) -> Iterator[None]:
    """Errors of the disk or the line, with the store's name and the way out."""
    try:
        yield
    except EffaceError:
        raise
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise StoreError(
            f"{place}: cannot be {what} ({reason}): see to it, then run the same command again, "
            "which goes on where this one stopped"
        ) from error


def named(labels: Sequence[Any], rows: NDArray[np.integer[Any]]) -> str:
    """``row 3``, or ``rows 'a', 'b' and 12 more``: as the store calls them."""
    shown = ", ".join(label(labels[row]) for row in rows[:_SHOWN].tolist())
    more = f" and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    return f"row{'s' if len(rows) > 1 else ''} {shown}{more}"


def label(value: Any) -> str:
    """Numbers as they are, words in quotes, nothing longer than a line can bear."""
    number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    text = str(value) if number else repr(str(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _working(stored: NDArray[Any]) -> NDArray[Any]:
    """In the machine's byte order; halves stay, so that the eraser knows how they were rounded."""
    dtype = stored.dtype if stored.dtype.itemsize == 2 else working_dtype(stored.dtype)
    return stored.astype(dtype.newbyteorder("="), copy=False)


def _among(chunk: Chunk, bad: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """From the rows that have a vector to all rows of the chunk."""
    if chunk.present is None:
        return bad
    rows = np.zeros(len(chunk.vectors), bool)
    rows[np.flatnonzero(chunk.present)[bad]] = True
    return rows

"""All pairs of more vectors than one machine should score alone: tiles of pairs on a runner.

A worker maps the file of vectors and reads the rows of its tile; only counts, histograms and the
largest scores travel. The blocks that are multiplied are those of
:func:`efface.measure.pairs.impostor_scores`, so that what it finds on one BLAS thread is found
here bit by bit, on any runner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.measure.pairs import (
    ImpostorScores,
    Ledger,
    MatedScores,
    mated_scores,
    score_tile,
)
from efface.scale.runner import Runner, map_merge
from efface.scale.sheet import Sheet

Progress = Callable[[int, int], None]

_BLOCK = 2048
_EDGE = 7
"""Blocks along the edge of a tile at most: 200 million pairs, a second or two of one core."""
_MATED_ROWS = 1 << 15
_AT_ONCE = 1 << 24
"""Scores that all tiles together may send while the floor of the tail is not known."""


# --- impostor pairs -------------------------------------------------------------------------


def impostor_scores_on(
    runner: Runner,
    sheet: Sheet,
    *,
    keep: int = 0,
    above: float | None = None,
    block: int = _BLOCK,
    progress: Progress | None = None,
) -> ImpostorScores:
    """What :func:`efface.measure.pairs.impostor_scores` finds, by many workers."""
    people = int(sheet.person.max()) + 1
    ledger = Ledger(keep, above, people)
    tiles = _tiles(len(sheet.person), block)
    done = 0

    def take(ledger: Ledger, share: ImpostorScores) -> Ledger:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(tiles))
        return ledger.merge(share)

    for some in _rounds(tiles, keep, runner.workers):
        floor = -np.inf if ledger.tail is None else ledger.tail.settle().floor
        map_merge(runner, ScoreTile(sheet, keep, above, block, people, floor), some, take, ledger)
    return ledger.close()


@dataclass(frozen=True)
class Span:
    """A tile: two ranges of rows in the order of scoring; the same twice on the diagonal."""

    left: tuple[int, int]
    right: tuple[int, int]

    def __str__(self) -> str:
        (a, b), (c, d) = self.left, self.right
        return f"pairs of rows {a} to {b - 1} with rows {c} to {d - 1} (sorted by person)"


@dataclass(frozen=True, eq=False)
class ScoreTile:
    """The task: a tile to its account."""

    sheet: Sheet
    keep: int
    above: float | None
    block: int
    people: int
    floor: float

    def __call__(self, span: Span) -> ImpostorScores:
        ledger = Ledger(self.keep, self.above, self.people, self.floor)
        left = self.sheet.read(*span.left)
        right = None if span.right == span.left else self.sheet.read(*span.right)
        score_tile(ledger, left, right, block=self.block)
        found = ledger.close()
        if found.tail is not None:
            found.tail.settle()
        return found


def _tiles(rows: int, block: int) -> list[Span]:
    """The upper triangle in tiles: square, as what is read grows with the edge, what is scored
    with its square."""
    blocks = -(-rows // block)
    edge = block * min(_EDGE, max(1, blocks // 6))
    starts = range(0, rows, edge)
    return [
        Span((i, min(i + edge, rows)), (j, min(j + edge, rows)))
        for i in starts
        for j in starts
        if j >= i
    ]


def _rounds(tiles: Sequence[Span], keep: int, workers: int) -> Iterator[Sequence[Span]]:
    """All at once where tails are short. Else in rounds that double: the tail so far says which
    scores cannot stay, and they need not travel."""
    if keep * len(tiles) <= _AT_ONCE:
        yield tiles
        return
    start, size = 0, max(1, workers)
    while start < len(tiles):
        yield tiles[start : start + size]
        start += size
        size = start


# --- mated pairs ----------------------------------------------------------------------------


def mated_scores_on(runner: Runner, sheet: Sheet, thresholds: NDArray[Any]) -> MatedScores:
    """What :func:`efface.measure.pairs.mated_scores` finds, by many workers."""
    people = int(sheet.person.max()) + 1
    ladder = np.asarray(thresholds, np.float32)
    empty = np.zeros((1, sheet.dim), np.float32)
    start = mated_scores(empty, np.array([people - 1]), ladder)
    return map_merge(
        runner, ScoreMated(sheet, ladder), _people_ranges(sheet.codes), _add_people, start
    )


@dataclass(frozen=True, eq=False)
class ScoreMated:
    """The task: a range of rows that holds whole people to (its first person, their scores)."""

    sheet: Sheet
    thresholds: NDArray[np.float32]

    def __call__(self, rows: tuple[int, int]) -> tuple[int, MatedScores]:
        vectors, codes = self.sheet.read(*rows)
        first = int(codes[0])
        return first, mated_scores(vectors, codes - first, self.thresholds)


def _people_ranges(codes: NDArray[np.int32]) -> list[tuple[int, int]]:
    """Rows sorted by person in ranges of whole people."""
    ends = np.append(np.flatnonzero(np.diff(codes)) + 1, len(codes))
    found, start = [], 0
    while start < len(codes):
        enough = int(np.searchsorted(ends, start + _MATED_ROWS))
        stop = int(ends[min(enough, len(ends) - 1)])
        found.append((start, stop))
        start = stop
    return found


def _add_people(all_: MatedScores, some: tuple[int, MatedScores]) -> MatedScores:
    first, found = some
    people = slice(first, first + len(found.pairs))
    all_.pairs[people] = found.pairs
    all_.accepted[people] = found.accepted
    all_.histogram[:] += found.histogram
    return all_

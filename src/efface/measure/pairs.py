"""All pairs of unit vectors, exactly, in bounded memory: one engine scores every attack.

Blocks of the inner-product matrix are made, counted and forgotten. What stays is small and
mergeable: a histogram on the score grid, the largest impostor scores with the two people
each came from, and how often each two people were confused above a threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.measure.score_grid import SIZE, count_on_grid
from efface.measure.tails import Tail

_SLAB = 1 << 17
_BLOCK = 2048
_MATED_CHUNK = 1 << 22

Progress = Callable[[int, int], None]
Counts = NDArray[np.int64]
Labels = NDArray[np.int32]
Tile = tuple[NDArray[np.float32], Labels]
"""Consecutive rows, sorted by person, and their codes."""


@dataclass(frozen=True, eq=False)
class Confusions:
    """For pairs of people (left < right): how many of their image pairs were accepted."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    count: Counts


@dataclass(frozen=True, eq=False)
class ImpostorScores:
    """What all-pairs scoring keeps of the impostor pairs."""

    total: int
    histogram: Counts
    tail: Tail | None
    confusions: Confusions


@dataclass(frozen=True, eq=False)
class MatedScores:
    """Per person: number of mated pairs and how many are accepted at each given threshold."""

    pairs: Counts
    accepted: Counts
    histogram: Counts


def rounding(dim: int) -> float:
    """How far apart two float32 scores of one and the same pair may lie.

    A BLAS adds up in another order for another shape of product. Where many people share one
    vector, mated and impostor scores are equal but for that, and must not be told apart by it.
    """
    return float(np.finfo(np.float32).eps) * (4 + dim / 16)


def impostor_scores(
    vectors: NDArray[Any],
    person: NDArray[np.integer[Any]],
    *,
    keep: int = 0,
    above: float | None = None,
    block: int = _BLOCK,
    progress: Progress | None = None,
) -> ImpostorScores:
    """Score every pair of vectors of two different people once.

    ``keep`` largest scores stay exactly, with their people; confusions are counted above
    ``above``. ``person`` holds codes 0..m-1.
    """
    order = np.argsort(person, kind="stable")
    codes = np.ascontiguousarray(person[order], dtype=np.int32)
    rows = np.ascontiguousarray(vectors[order], dtype=np.float32)
    ledger = Ledger(keep, above, int(codes[-1]) + 1)
    score_tile(ledger, (rows, codes), None, block=block, progress=progress)
    return ledger.close()


def score_tile(
    ledger: Ledger,
    left: Tile,
    right: Tile | None,
    *,
    block: int = _BLOCK,
    progress: Progress | None = None,
) -> None:
    """Score the rows of ``left`` against those of ``right``, or with None against each other.

    Rows are float32 and sorted by person over both. Blocks that begin at multiples of ``block``
    of all rows have the same bits in whatever tile they lie.
    """
    (a_rows, a_codes), (b_rows, b_codes) = left, right or left
    first = range(0, len(a_rows), block)
    buffer = np.empty(min(block, len(a_rows)) * min(block, len(b_rows)), np.float32)
    done, todo = 0, len(first) * len(range(0, len(b_rows), block))
    todo = todo if right else len(first) * (len(first) + 1) // 2
    for i in first:
        for j in range(0 if right else i, len(b_rows), block):
            a, b = a_rows[i : i + block], b_rows[j : j + block]
            scores = buffer[: len(a) * len(b)].reshape(len(a), len(b))
            np.matmul(a, b.T, out=scores)
            same = right is None and i == j
            ledger.take(scores, a_codes[i : i + block], b_codes[j : j + block], same=same)
            done += 1
            if progress is not None:
                progress(done, todo)


def mated_scores(
    vectors: NDArray[Any], person: NDArray[np.integer[Any]], thresholds: NDArray[Any]
) -> MatedScores:
    """Score every pair of vectors of one person; count those above each ascending threshold."""
    people = int(person.max()) + 1
    ladder = np.asarray(thresholds, dtype=np.float32)
    pairs = np.zeros(people, np.int64)
    accepted = np.zeros((people, len(ladder)), np.int64)
    histogram = np.zeros(SIZE, np.int64)
    for codes, scores in _mated_blocks(vectors, person):
        count_on_grid(scores.ravel(), histogram)
        pairs[codes] += scores.shape[1]
        scores.sort(axis=1)
        for code, row in zip(codes, scores, strict=True):
            accepted[code] += len(row) - np.searchsorted(row, ladder, side="right")
    return MatedScores(pairs, accepted, histogram)


def _mated_blocks(
    vectors: NDArray[Any], person: NDArray[np.integer[Any]]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """(codes, scores) with one row of mated scores per code; people of equal size together."""
    order = np.argsort(person, kind="stable")
    codes, first, size = np.unique(person[order], return_index=True, return_counts=True)
    for n in np.unique(size[size > 1]):
        chosen = np.flatnonzero(size == n)
        upper = np.triu_indices(n, 1) if n * n <= _MATED_CHUNK else None
        if upper is None:
            for k in chosen:
                yield from _large_person(vectors, order[first[k] :][:n], codes[k])
            continue
        step = max(1, _MATED_CHUNK // int(n * max(n, vectors.shape[1])))
        for start in range(0, len(chosen), step):
            group = chosen[start : start + step]
            rows = order[first[group][:, None] + np.arange(n)]
            block = np.asarray(vectors[rows], dtype=np.float32)
            scores = block @ block.transpose(0, 2, 1)
            yield codes[group].astype(np.int64), scores[:, upper[0], upper[1]]


def _large_person(
    vectors: NDArray[Any], rows: NDArray[np.int64], code: Any
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """One person with very many images, a strip of rows at a time."""
    own = np.asarray(vectors[rows], dtype=np.float32)
    step = max(1, _MATED_CHUNK // len(own))
    for start in range(0, len(own), step):
        strip = own[start : start + step] @ own[start:].T
        later = np.triu(np.ones(strip.shape, dtype=bool), 1)
        if later.any():
            yield np.array([code], np.int64), strip[later][None]


class Ledger:
    """Running account of impostor scores, of all or of a share that is merged with others."""

    def __init__(self, keep: int, above: float | None, people: int, floor: float = -np.inf) -> None:
        self.tail = Tail(keep, labelled=True, floor=floor) if keep else None
        self.above = None if above is None else np.float32(above)
        self.people = people
        self.total = 0
        self.histogram = np.zeros(SIZE, np.int64)
        self.keys: list[NDArray[np.int64]] = []
        self.counts: list[Counts] = []
        self.waiting = 0

    def take(
        self,
        scores: NDArray[np.float32],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        same: bool,
    ) -> None:
        """A block of the score matrix; on a diagonal block each pair counts once."""
        flat, where = scores.ravel(), None
        # Rows are sorted by person, so mated pairs can only sit where the ranges meet.
        if same or right[0] <= left[-1]:
            valid = left[:, None] != right[None, :]
            if same:
                valid = np.triu(valid, 1)
            where = np.flatnonzero(valid)
            flat = flat[where]

        def people(hits: NDArray[np.int64]) -> Labels:
            place = hits if where is None else where[hits]
            return np.stack([left[place // len(right)], right[place % len(right)]], axis=1)

        self._absorb(flat, people)

    def take_pairs(
        self, scores: NDArray[np.float32], left: NDArray[np.int32], right: NDArray[np.int32]
    ) -> None:
        """Scores of listed pairs, with the person on either side."""
        self._absorb(scores, lambda hits: np.stack([left[hits], right[hits]], axis=1))

    def _absorb(
        self, flat: NDArray[np.float32], people: Callable[[NDArray[np.int64]], Labels]
    ) -> None:
        self.total += len(flat)
        for start in range(0, len(flat), _SLAB):
            slab = flat[start : start + _SLAB]
            count_on_grid(slab, self.histogram)
            if self.tail is not None:
                self.tail.seen += len(slab)
                hits = np.flatnonzero(slab >= self.tail.floor)
                if hits.size:
                    self.tail.add(slab[hits], people(start + hits))
            if self.above is not None:
                hits = np.flatnonzero(slab > self.above)
                if hits.size:
                    self._confuse(people(start + hits))

    def _confuse(self, labels: Labels) -> None:
        low, high = labels.min(axis=1).astype(np.int64), labels.max(axis=1)
        self.keys.append(low * self.people + high)
        self.counts.append(np.ones(len(labels), np.int64))
        self.waiting += len(labels)
        if self.waiting > _MATED_CHUNK:
            self._coalesce()

    def _coalesce(self) -> None:
        if not self.keys:
            return
        keys, inverse = np.unique(np.concatenate(self.keys), return_inverse=True)
        counts = np.bincount(inverse, weights=np.concatenate(self.counts)).astype(np.int64)
        self.keys, self.counts, self.waiting = [keys], [counts], 0

    def merge(self, share: ImpostorScores) -> Ledger:
        """Take in the account of other pairs, in any order."""
        self.total += share.total
        self.histogram += share.histogram
        if self.tail is not None and share.tail is not None:
            self.tail.merge(share.tail)
        found = share.confusions
        self.keys.append(found.left * self.people + found.right)
        self.counts.append(found.count)
        self.waiting += len(found.count)
        if self.waiting > _MATED_CHUNK:
            self._coalesce()
        return self

    def close(self) -> ImpostorScores:
        self._coalesce()
        keys = self.keys[0] if self.keys else np.empty(0, np.int64)
        counts = self.counts[0] if self.counts else np.empty(0, np.int64)
        found = Confusions(keys // self.people, keys % self.people, counts)
        return ImpostorScores(self.total, self.histogram, self.tail, found)

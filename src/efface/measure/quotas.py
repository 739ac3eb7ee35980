"""Impostor pairs by quota: the same number for every two people (paper mode, appendix A.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError
from efface.measure.pairs import ImpostorScores, Ledger

_CHUNK = 1 << 22
Rows = NDArray[np.int64]


def quota_counts(sizes: NDArray[np.integer[Any]], quota: int) -> NDArray[np.int64]:
    """(people, people) number of image pairs drawn for every two people; zero diagonal."""
    n = sizes.astype(np.int64)
    counts = np.minimum(quota, np.outer(n, n))
    np.fill_diagonal(counts, 0)
    return np.asarray(counts)


def quota_scores(
    vectors: NDArray[Any],
    person: NDArray[np.integer[Any]],
    quota: int,
    rng: np.random.Generator,
    *,
    keep: int = 0,
    above: float | None = None,
) -> ImpostorScores:
    """Score ``quota`` distinct image pairs of every two people, drawn without replacement."""
    if quota < 1:
        raise DataError(f"quota = {quota}: draw at least one image pair of every two people")
    rows = np.asarray(vectors, dtype=np.float32)
    ledger = Ledger(keep, above, int(person.max()) + 1)
    for left, right in _drawn(person, quota, _CHUNK // rows.shape[1], rng):
        scores = np.einsum("ij,ij->i", rows[left], rows[right])
        ledger.take_pairs(scores, person[left].astype(np.int32), person[right].astype(np.int32))
    return ledger.close()


def _drawn(
    person: NDArray[np.integer[Any]], quota: int, pairs: int, rng: np.random.Generator
) -> Iterator[tuple[Rows, Rows]]:
    """(left rows, right rows), one person against so many later ones as make about ``pairs``."""
    order = np.argsort(person, kind="stable")
    sizes = np.bincount(person)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    for i in np.flatnonzero(sizes[:-1]):
        step = max(1, pairs // min(quota, int(sizes[i] * sizes.max())))
        for start in range(i + 1, len(sizes), step):
            later = np.arange(start, min(start + step, len(sizes)))
            entry, cell = draw_cells(sizes[i] * sizes[later], quota, rng)
            who = later[entry]
            yield order[first[i] + cell // sizes[who]], order[first[who] + cell % sizes[who]]


def draw_cells(room: Rows, quota: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """(entry, cell): ``quota`` distinct cells, or all, of 0..room-1 for every entry of ``room``.

    Floyd's algorithm, all entries at once: memory follows the quota, not the room.
    """
    take = np.minimum(quota, room)
    chosen = np.full((len(room), int(take.max(initial=0))), -1, np.int64)
    for step in range(chosen.shape[1]):
        last = np.maximum(room - take + step, 0)
        cell = rng.integers(0, last + 1)
        taken = (chosen[:, :step] == cell[:, None]).any(axis=1)
        chosen[:, step] = np.where(taken, last, cell)
    fits = np.arange(chosen.shape[1]) < take[:, None]
    return np.nonzero(fits)[0], chosen[fits]

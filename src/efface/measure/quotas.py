"""Impostor pairs by quota: the same number for every two people (paper mode, appendix A.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.measure.pairs import ImpostorScores, Ledger


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
    rows = np.asarray(vectors, dtype=np.float32)
    ledger = Ledger(keep, above, int(person.max()) + 1)
    for left, right in _drawn(person, quota, rng):
        scores = np.einsum("ij,ij->i", rows[left], rows[right])
        ledger.take_pairs(scores, person[left].astype(np.int32), person[right].astype(np.int32))
    return ledger.close()


def _drawn(
    person: NDArray[np.integer[Any]], quota: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(left rows, right rows), one person against all later ones at a time."""
    order = np.argsort(person, kind="stable")
    sizes = np.bincount(person)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    for i in range(len(sizes) - 1):
        later = np.arange(i + 1, len(sizes))
        room = sizes[i] * sizes[later]
        if not room.any():
            continue
        # The smallest keys of a random row are a draw without replacement.
        keys = rng.random((len(later), int(room.max())))
        keys[np.arange(keys.shape[1]) >= room[:, None]] = np.inf
        take = min(quota, keys.shape[1])
        cells = np.argsort(keys, axis=1)[:, :take]
        fits = cells < room[:, None]
        who, cell = np.nonzero(fits)[0], cells[fits]
        right = first[later[who]] + cell % sizes[later[who]]
        left = first[i] + cell // sizes[later[who]]
        yield order[left], order[right]

"""From remembered vectors to the cosines that the measures are made of, raw or erased."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from efface.attributing.drawing import Plan, Query
from efface.attributing.encode import context_key
from efface.attributing.material import Material
from efface.attributing.settings import Settings
from efface.attributing.stimuli import WHOLE, face_blurred, revealed_to, ring_blurred
from efface.attributing.swaps import Swap
from efface.attributing.vectors import Swaps, Vectors, key_of
from efface.diagnose.attribution import Similarities
from efface.types import Floats

Values = NDArray[np.float64]
Erase = Callable[[Floats], Floats]
_TOGETHER = 256
"""Queries whose vectors are in memory at a time."""


@dataclass(frozen=True, eq=False)
class Roles:
    """The contents that play in each query, and which of its comparisons can be made."""

    query: list[str]
    match: list[str]
    context: list[str]
    stranger: list[str]
    """The identity match of another person's query."""
    strange: NDArray[np.bool_]
    """Query and stranger have rings as large as their faces."""
    pair: NDArray[np.bool_]
    """Both rings are as large as their faces."""
    triplet: NDArray[np.bool_]
    """There is a context match."""
    people: dict[str, NDArray[np.int64]]
    """Who is in each: ``query``, ``stranger``, and the ``donor`` of the context match's face."""


def roles(material: Material, plan: Plan, swap: Swap, known: Swaps) -> Roles:
    """By content, for every query of the plan."""
    rows, queries = material.rows, plan.queries
    context = [_context(material, query, swap) for query in queries]
    strangers = _strangers(queries)
    return Roles(
        query=[rows[q.query].digest for q in queries],
        match=[rows[q.match].digest for q in queries],
        context=context,
        stranger=[rows[row].digest for row in strangers],
        strange=_matched(material, [q.query for q in queries], strangers),
        pair=_matched(material, [q.query for q in queries], [q.match for q in queries]),
        triplet=np.array(
            [q.ready or not known.failed(k) for q, k in zip(queries, context, strict=True)]
        ),
        people={
            "query": np.array([q.person for q in queries], np.int64),
            "stranger": material.codes[strangers],
            "donor": material.codes[[q.other for q in queries]],
        },
    )


def cosines(
    vectors: Vectors, played: Roles, settings: Settings, erase: Erase | None = None
) -> Similarities:
    """Of all queries, some at a time."""
    parts = list(_parts(vectors, played, settings, erase))
    columns = [np.concatenate([part[k] for part in parts]) for k in range(8)]
    there = [played.pair] * 3 + [played.strange[:, None]] + [played.triplet[:, None]] * 4
    return Similarities(
        *(np.where(fine, x, np.nan) for fine, x in zip(there, columns, strict=True))
    )


def whole_vectors(vectors: Vectors, strips: Sequence[str]) -> Floats:
    """The untouched pictures' vectors, as unit rows; NaN where there is none."""
    return _unit(vectors.take([key_of(strip, WHOLE) for strip in strips])).astype(np.float32)


def _parts(
    vectors: Vectors, played: Roles, settings: Settings, erase: Erase | None
) -> Iterator[list[Values]]:
    for start in range(0, len(played.query), _TOGETHER):
        some = slice(start, start + _TOGETHER)
        yield _some(_Reader(vectors, erase), played, some, settings)


def _some(read: _Reader, played: Roles, some: slice, settings: Settings) -> list[Values]:
    query, match, context = played.query[some], played.match[some], played.context[some]
    stranger = played.stranger[some]
    ring, hidden = ring_blurred(settings.occlusion), face_blurred(settings.occlusion)
    faces = [face_blurred(sigma) for sigma in settings.sigmas]
    levels = [revealed_to(level) for level in settings.levels]
    return [
        read(query, match, WHOLE),
        read(query, match, hidden),
        read(query, match, ring),
        np.stack([read(query, stranger, name) for name in (WHOLE, hidden, ring)], axis=1),
        *(
            np.stack([read(query, other, name) for name in names], axis=1)
            for names in (faces, levels)
            for other in (match, context)
        ),
    ]


class _Reader:
    """Cosines between two columns of contents in one form; each column is read once."""

    def __init__(self, vectors: Vectors, erase: Erase | None) -> None:
        self.vectors, self.erase = vectors, erase
        self._held: dict[tuple[int, str], Values] = {}

    def __call__(self, one: list[str], other: list[str], form: str) -> Values:
        return np.asarray((self._column(one, form) * self._column(other, form)).sum(axis=1))

    def _column(self, strips: list[str], form: str) -> Values:
        place = (id(strips), form)
        if place not in self._held:
            found = self.vectors.take([key_of(strip, form) for strip in strips])
            self._held[place] = _unit(found, self.erase)
        return self._held[place]


def _unit(found: Floats, erase: Erase | None = None) -> Values:
    """Unit rows; through the projector, where there is one, in float32, as vectors ship."""
    there = np.isfinite(found).all(axis=1) & found.any(axis=1)
    out = np.full(found.shape, np.nan)
    if there.any():
        some = found[there].astype(np.float64)
        some /= np.linalg.norm(some, axis=1, keepdims=True)
        out[there] = some if erase is None else erase(some.astype(np.float32))
    return out


def _context(material: Material, query: Query, swap: Swap) -> str:
    if query.ready:
        return material.rows[query.other].digest
    return context_key(material, (query.query, query.other), swap)


def _strangers(queries: Sequence[Query]) -> list[int]:
    """For each query the row of the next query's match that is of another person."""
    found = []
    for k, query in enumerate(queries):
        round_ = (*queries[k + 1 :], *queries[:k])
        found.append(next(other.match for other in round_ if other.person != query.person))
    return found


def _matched(material: Material, one: list[int], other: list[int]) -> NDArray[np.bool_]:
    rows = material.rows
    return np.array([rows[a].matched and rows[b].matched for a, b in zip(one, other, strict=True)])

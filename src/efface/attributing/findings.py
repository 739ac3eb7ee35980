"""Findings of one encoder: raw, and through each of its projectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from efface.attributing import sentences
from efface.attributing.cosines import Erase, Roles, cosines, whole_vectors
from efface.attributing.drawing import Plan
from efface.attributing.material import Material
from efface.attributing.seats import Seat
from efface.attributing.settings import Settings
from efface.attributions import Finding
from efface.data.fingerprint import recognise
from efface.diagnose import attributed
from efface.diagnose.attribution import Similarities
from efface.errors import EraserError
from efface.measure.means import Clusters
from efface.protect.linear.eraser import LinearEraser
from efface.results import Scalar
from efface.types import Samples


def findings(
    material: Material, plan: Plan, seat: Seat, played: Roles, settings: Settings
) -> Iterator[Finding]:
    """Raw first. All use the same queries and the same resamples of people."""
    everybody = np.zeros(len(plan.queries), np.bool_)
    yield _finding(seat, "raw", played, settings, plan, None, everybody, {})
    for name, eraser in seat.erasers:
        seen = _recognised(material, plan, seat, played, eraser)
        told: dict[str, Scalar] = {
            "method": eraser.method, "rank": eraser.rank, "digest": eraser.digest(),
            "people fitted on": eraser.identities,
            "people recognised here": len({q.person for q, s in zip(plan.queries, seen, strict=True)
                                           if s}),
        }  # fmt: skip
        yield _finding(seat, name, played, settings, plan, eraser.transform, seen, told)


def _finding(
    seat: Seat, release: str, played: Roles, settings: Settings, plan: Plan, erase: Erase | None,
    without: NDArray[np.bool_], projector: dict[str, Scalar],
) -> Finding:  # fmt: skip
    notes = sentences.recognised(int(without.sum()), projector)
    try:
        found = cosines(seat.vectors, played, settings, erase)
    except EraserError as error:
        return _nothing(seat, release, projector, f"cannot be measured: {error}")
    notes += _lost(found, played)
    found = _without(found, without)
    rng = np.random.default_rng([settings.seed, 3])
    people = [query.person for query in plan.queries]
    clusters = Clusters.of(np.array(people), settings.bootstrap, rng, settings.level)
    fii = attributed.importance(found, clusters)
    cpi = attributed.preference(found, settings.sigmas, clusters)
    bstar = attributed.revelation(found, settings.levels, clusters)
    votes = attributed.votes(fii, cpi, bstar)
    side = attributed.side(votes)
    return Finding(
        encoder=seat.name, release=release, projector=projector, side=side, votes=votes,
        headline=sentences.headline(side, votes, fii, cpi, bstar), importance=fii, preference=cpi,
        revelation=bstar, notes=notes,
    )  # fmt: skip


def _nothing(seat: Seat, release: str, projector: dict[str, Scalar], why: str) -> Finding:
    votes = attributed.votes(None, None, None)
    return Finding(
        encoder=seat.name, release=release, projector=projector, side="undecided", votes=votes,
        headline=f"Undecided: {why}", importance=None, preference=None, revelation=None,
        notes=[why],
    )  # fmt: skip


def _recognised(
    material: Material, plan: Plan, seat: Seat, played: Roles, eraser: LinearEraser
) -> NDArray[np.bool_]:
    """Queries of people the projector was fitted on, as far as their vectors tell."""
    if not eraser.fingerprints:
        return np.zeros(len(plan.queries), np.bool_)
    strips = [*played.query, *played.match]
    person = np.array([q.person for q in plan.queries] * 2, np.int64)
    vectors = whole_vectors(seat.vectors, strips)
    there = np.isfinite(vectors).all(axis=1)
    samples = Samples(vectors[there], person[there], np.array(material.people))
    return np.isin(person[: len(plan.queries)], recognise(samples, eraser.fingerprints).codes)


def _without(found: Similarities, rows: NDArray[np.bool_]) -> Similarities:
    """The same with some queries left out."""
    columns = {
        name: np.where(rows if values.ndim == 1 else rows[:, None], np.nan, values)
        for name, values in vars(found).items()
    }
    return Similarities(**columns)


def _lost(found: Similarities, played: Roles) -> Sequence[str]:
    """Comparisons that could be made but for this encoder's own vectors."""
    pairs = int((played.pair & ~np.isfinite(found.whole + found.face + found.ring)).sum())
    both = np.isfinite(found.identity + found.context).all(axis=1)
    triplets = int((played.triplet & ~both).sum())
    return sentences.without_vectors(pairs, triplets)

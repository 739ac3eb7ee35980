"""Findings of one encoder: raw, and through each of its projectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from efface.attributing import sentences
from efface.attributing.cosines import Erase, Roles, cosines, whole_vectors
from efface.attributing.drawing import Plan
from efface.attributing.material import Material
from efface.attributing.seats import Seat
from efface.attributing.settings import Settings
from efface.attributions import Finding
from efface.data.fingerprint import Recognised, recognise
from efface.diagnose import attributed
from efface.diagnose.attribution import Similarities
from efface.errors import EraserError
from efface.measure.means import Clusters
from efface.protect.linear.eraser import LinearEraser
from efface.results import Scalar
from efface.types import Codes, Samples

_SECOND = ("stranger", "donor")
"""Whom a value depends on beside the query's own person."""


def findings(
    material: Material, plan: Plan, seat: Seat, played: Roles, settings: Settings
) -> Iterator[Finding]:
    """Raw first. All use the same queries and the same resamples of people."""
    yield _finding(seat, "raw", played, settings, None, np.zeros(0, np.int64), {})
    for name, eraser in seat.erasers:
        met = _recognised(material, plan, seat, played, eraser)
        told: dict[str, Scalar] = {
            "method": eraser.method, "rank": eraser.rank, "digest": eraser.digest(),
            "people fitted on": max(eraser.identities, len(eraser.fingerprints)),
            "people recognised here": met.found,
        }  # fmt: skip
        yield _finding(seat, name, played, settings, eraser.transform, met.codes, told)


def _finding(
    seat: Seat, release: str, played: Roles, settings: Settings, erase: Erase | None, seen: Codes,
    projector: dict[str, Scalar],
) -> Finding:  # fmt: skip
    """``seen`` are the people the projector was fitted on: they are in no figure."""
    there = {role: np.isin(codes, seen) for role, codes in played.people.items()}
    notes = sentences.recognised({role: int(x.sum()) for role, x in there.items()}, projector)
    try:
        found = cosines(seat.vectors, played, settings, erase)
    except EraserError as error:
        return _nothing(seat, release, projector, f"cannot be measured: {error}")
    notes += _lost(found, played)
    found = _without(found, there)
    own, pairs, triplets = (_clusters(played, settings, who) for who in (None, *_SECOND))
    fii = attributed.importance(found, own, pairs)
    cpi = attributed.preference(found, settings.sigmas, triplets)
    bstar = attributed.revelation(found, settings.levels, own, triplets)
    votes = attributed.votes(fii, cpi, bstar)
    side = attributed.side(votes)
    return Finding(
        encoder=seat.name, release=release, projector=projector, side=side, votes=votes,
        headline=sentences.headline(side, votes, fii, cpi, bstar), importance=fii, preference=cpi,
        revelation=bstar, notes=notes,
    )  # fmt: skip


def _clusters(played: Roles, settings: Settings, second: str | None) -> Clusters:
    """Resamples of people: of the queries' own, or of these and another in each comparison."""
    rng = np.random.default_rng([settings.seed, 3])
    other = None if second is None else played.people[second]
    return Clusters.of(played.people["query"], settings.bootstrap, rng, settings.level, other)


def _nothing(seat: Seat, release: str, projector: dict[str, Scalar], why: str) -> Finding:
    votes = attributed.votes(None, None, None)
    return Finding(
        encoder=seat.name, release=release, projector=projector, side="undecided", votes=votes,
        headline=f"Undecided: {why}", importance=None, preference=None, revelation=None,
        notes=[why],
    )  # fmt: skip


def _recognised(
    material: Material, plan: Plan, seat: Seat, played: Roles, eraser: LinearEraser
) -> Recognised:
    """People the projector was fitted on, as far as the vectors of queries and matches tell."""
    if not eraser.fingerprints:
        return Recognised(np.zeros(0, np.int64), 0)
    strips = [*played.query, *played.match]
    person = np.array([q.person for q in plan.queries] * 2, np.int64)
    vectors = whole_vectors(seat.vectors, strips)
    there = np.isfinite(vectors).all(axis=1)
    samples = Samples(vectors[there], person[there], np.array(material.people))
    return recognise(samples, eraser.fingerprints)


def _without(found: Similarities, seen: Mapping[str, NDArray[np.bool_]]) -> Similarities:
    """The same without comparisons that somebody has a part in: as the query's person, as the
    stranger, or as who lends the face of the context match."""
    alone, pairs, triplets = (seen["query"] | seen[who] for who in ("query", "stranger", "donor"))
    rows = {"strangers": pairs, "context": triplets, "context_shown": triplets}
    columns = {}
    for name, values in vars(found).items():
        gone = rows.get(name, alone)
        columns[name] = np.where(gone if values.ndim == 1 else gone[:, None], np.nan, values)
    return Similarities(**columns)


def _lost(found: Similarities, played: Roles) -> Sequence[str]:
    """Comparisons that could be made but for this encoder's own vectors, by what they are for."""
    pair = np.isfinite(found.whole + found.face + found.ring)
    blurred = np.isfinite(found.identity + found.context).all(axis=1)
    shown = np.isfinite(found.identity_shown + found.context_shown).all(axis=1)
    strangers = np.isfinite(found.strangers).all(axis=1)
    could = {
        "pairs": played.pair & ~pair,
        "pairs with strangers": played.strange & ~strangers,
        "triplets of CPI": played.triplet & ~blurred,
        "triplets of B*": played.triplet & ~shown,
    }
    return sentences.without_vectors({name: int(lost.sum()) for name, lost in could.items()})

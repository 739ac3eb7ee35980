"""Who is compared with whom: queries, identity matches and donors of faces, by lot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from efface.attributing.material import Material
from efface.attributing.settings import Settings
from efface.attributions import Matched
from efface.errors import DataError
from efface.faces.align import similarity
from efface.faces.face import Points
from efface.pictures.likeness import NEAR
from efface.types import Codes

_DONORS = 8
"""People drawn for each query, of whom the one is taken whose landmarks fit best."""
NEARLY_THE_SAME, OTHER_COVERAGE = "nearly the same picture", "face share of the crop differs"
RULE = (
    "Each person's usable pictures are put into a circle by lot; a query's identity match is the "
    "next one that is not nearly the same picture and whose coverage is within {difference:.0%}; "
    "at most {per_person} queries of a person, one where there are two pictures. The context match "
    "is the query's own crop with the face of another person: of {donors} people drawn by lot the "
    "one whose landmarks fit best."
)
EXACT = (
    "Rendered triplets: a person in a place, the same person elsewhere, and another person in the "
    "first place with every other pixel as it was."
)


@dataclass(frozen=True)
class Query:
    """Rows of the material."""

    person: int
    query: int
    match: int
    other: int
    """Whose face goes into the query's crop; where ``ready``, the context match itself."""
    ready: bool = False


@dataclass(frozen=True)
class Plan:
    """All queries, and whom the rule left without one."""

    queries: tuple[Query, ...]
    rule: str
    context: Matched
    lone: int = 0
    passed: Counter[str] = field(default_factory=Counter)
    """Pairs of one person that were passed over, by reason."""


def draw_queries(material: Material, settings: Settings, context: Matched) -> Plan:
    """By the rule above. What cannot be drawn at all is said here, before any encoding."""
    by_person: list[Codes] = [
        np.flatnonzero(material.codes == code) for code in range(len(material.people))
    ]
    _enough(material, by_person)
    order = np.random.default_rng([settings.seed, 1]).permutation(len(by_person))
    queries: list[Query] = []
    passed: Counter[str] = Counter()
    lone = people = 0
    for code in order.tolist():
        if settings.people is not None and people == settings.people:
            break
        drawn = _of_person(material, by_person[code], code, settings, passed)
        lone += not drawn
        people += bool(drawn)
        queries += drawn
    if people < 2:
        raise DataError(
            f"{material.dataset}: {people} people have a second picture in another context "
            f"({_told({**material.summary().left_out, **passed})}): attribution compares people, "
            "and needs two at least; intervals need five"
        )
    rule = RULE.format(
        difference=settings.most_coverage_difference, per_person=settings.per_person,
        donors=_DONORS,
    )  # fmt: skip
    return Plan(tuple(queries), rule, context, lone, passed)


def _enough(material: Material, by_person: Sequence[Codes]) -> None:
    if len(by_person) < 2:
        raise DataError(
            f"{material.dataset}: usable faces of {len(by_person)} people "
            f"({_told(material.summary().left_out)}), told by "
            f"{material.identity_rule or 'their labels'}: attribution needs two people at least; "
            "check how people are told apart"
        )
    if max(map(len, by_person)) < 2:
        raise DataError(
            f"{material.dataset}: nobody has a second usable picture: attribution compares two "
            "pictures of one person; check how people are told apart"
        )


def _told(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {kind}" for kind, n in counts.items()) or "nothing was left out"


def _of_person(
    material: Material, rows: Codes, code: int, settings: Settings, passed: Counter[str]
) -> list[Query]:
    """Queries of one person; pairs that are passed over are counted."""
    rng = np.random.default_rng([settings.seed, 2, code])
    circle = rng.permutation(rows).tolist()
    most = settings.per_person if len(circle) > 2 else 1
    made: list[Query] = []
    for k, row in enumerate(circle):
        if len(made) == most or len(circle) < 2:
            break
        others = circle[k + 1 :] + circle[:k]
        match = _match(material, row, others, settings, passed)
        if match is not None:
            made.append(Query(code, row, match, _donor(material, row, code, rng)))
    return made


def _match(
    material: Material, row: int, others: list[int], settings: Settings, passed: Counter[str]
) -> int | None:
    """The first picture round the circle that shows another context, and as much face."""
    for other in others:
        if _near(material, row, other):
            passed[NEARLY_THE_SAME] += 1
        elif coverage_gap(material, row, other) > settings.most_coverage_difference:
            passed[OTHER_COVERAGE] += 1
        else:
            return other
    return None


def coverage_gap(material: Material, row: int, other: int) -> float:
    """Difference of the coverages, as a share of the first."""
    one, two = material.rows[row].coverage, material.rows[other].coverage
    return abs(one - two) / one


def _near(material: Material, row: int, other: int) -> bool:
    one, two = (material.rows[k].phash for k in (row, other))
    if not one or not two:
        return False
    return (int(one, 16) ^ int(two, 16)).bit_count() <= NEAR


def _donor(material: Material, row: int, code: int, rng: np.random.Generator) -> int:
    """The row whose face fits best among one each of several other people."""
    others = [c for c in range(len(material.people)) if c != code]
    chosen = rng.choice(others, min(_DONORS, len(others)), replace=False)
    rows = [int(rng.choice(np.flatnonzero(material.codes == c))) for c in chosen]
    return rows[int(np.argmin(_misfits(material, row, rows)))]


def _misfits(material: Material, row: int, rows: list[int]) -> Points:
    """Squared distance of each row's landmarks to the query's, after the best similarity."""
    onto, points = material.landmarks[row], material.landmarks[rows]
    maps = similarity(points, onto)
    moved = np.einsum("nij,nkj->nki", maps[:, :, :2], points) + maps[:, None, :, 2]
    misfits: Points = ((moved - onto) ** 2).sum(axis=(1, 2))
    return misfits

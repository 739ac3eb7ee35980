"""How near a claimed embedding comes to the enrolled one, and whether it passes for it (P26)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError, TemplateError
from efface.measure import intervals
from efface.registry import register
from efface.results import Card, Estimate
from efface.tries import tries_of
from efface.types import Claim, Template, TemplateScheme

Matrix = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Recovery:
    """For each template: the distance of the claim to the truth, and what it is good for."""

    distance: Matrix
    near: Bools
    """Within t of the truth: the success of the papers' tables."""
    accepted: Bools
    """The claim verifies, which the judge asks the scheme itself, pepper and all."""
    exact: Bools
    """Nothing is left to guess of what was stored."""
    opened: Bools
    """The attacker says that it reproduced the record, and it did: the claim verifies."""


@register(
    Card(
        role="judge",
        name="template",
        summary="Distance to the enrolled vector, success at t, acceptance, exact recovery.",
        accepts="embeddings",
        yields="distance, success at t, acceptance, exact recovery, random guesses",
        paper="Prabhakar et al., Model inversion attacks meet cryptographic fuzzy extractors, 6",
    )
)
@dataclass
class TemplateJudge:
    """``t`` is the distance up to which two embeddings count as one person (paper, Table 2)."""

    t: float = 1.1

    def judge(
        self, claim: Claim, truth: Matrix, templates: Sequence[Template], scheme: TemplateScheme
    ) -> Recovery:
        vectors = np.asarray(claim.vectors, np.float64)
        if vectors.shape != truth.shape or len(truth) != len(templates):
            raise DataError(
                f"{len(templates)} templates of vectors {truth.shape}, but the claim is "
                f"{vectors.shape}: an attack claims one embedding for each"
            )
        distance = np.linalg.norm(vectors - truth, axis=1)
        passed = np.array(
            [_passes(scheme, t, v) for t, v in zip(templates, vectors, strict=True)], bool
        )
        tried = np.zeros(len(truth)) if claim.guesses is None else claim.guesses
        return Recovery(
            distance, distance <= self.t, passed, passed & _same(scheme, vectors, truth),
            passed & (tried > 0),
        )  # fmt: skip


def _passes(scheme: TemplateScheme, template: Template, vector: Matrix) -> bool:
    try:
        return bool(scheme.verify(template, tries_of(scheme, vector[None])[0]))
    except TemplateError:
        return False


def _same(scheme: Any, one: Matrix, two: Matrix) -> Bools:
    """Equal to half a level where the scheme stores levels, else to single precision."""
    quantised = getattr(scheme, "quantised", None)
    if quantised is not None:
        return np.asarray((np.abs(quantised(one) - quantised(two)) <= 1).all(axis=1))
    return np.asarray(np.linalg.norm(one - two, axis=1) <= 1e-4)


def share(
    hits: NDArray[Any],
    tries: NDArray[Any],
    rng: np.random.Generator,
    bootstrap: int = 1000,
) -> Estimate:
    """Share of tries that hit, people as the unit: counts for each person who was tried at all."""
    hits, tries = np.asarray(hits, float), np.asarray(tries, float)
    hits, tries = hits[tries > 0], tries[tries > 0]
    if not len(tries):
        return intervals.unknown("nobody was tried")
    people = len(tries)
    count = intervals.resamples(bootstrap, people, people)
    draws = intervals.rate_draws(hits, tries, intervals.draw(people, count, rng))
    return intervals.interval(
        float(hits.sum() / tries.sum()), draws, reach=intervals.reach(hits, tries),
        n=int(tries.sum()), clusters=people, method="bootstrap over people",
    )  # fmt: skip


def random_guess(x: Matrix, t: float) -> tuple[float, float]:
    """Mean and standard deviation over people of the share of others within t of them.

    ``x`` holds one embedding of each person; this is the Random column of the paper's tables.
    """
    if len(x) < 2:
        raise DataError("random guesses need two people at least")
    within = np.empty(len(x))
    squares = (x**2).sum(axis=1)
    for start in range(0, len(x), 1024):
        rows = slice(start, start + 1024)
        apart = squares[rows, None] + squares - 2 * x[rows] @ x.T
        within[rows] = (apart <= t**2).sum(axis=1) - 1  # the person is near itself
    each = within / (len(x) - 1)
    return float(each.mean()), float(each.std())


_MOST_PAIRS = 20_000


def threshold(x: Matrix, identity: NDArray[Any], rng: np.random.Generator) -> float | None:
    """The distance that tells pairs of one person from pairs of two best, as many of each (paper,
    section 6: a decision tree of one node); None where nobody has two pictures."""
    order = rng.permutation(len(x))
    order = order[np.argsort(identity[order], kind="stable")]
    same = np.flatnonzero(identity[order][1:] == identity[order][:-1])[:_MOST_PAIRS]
    if not len(same):
        return None
    one, two = rng.integers(len(x), size=(2, 4 * len(same) + 100))
    other = np.flatnonzero(identity[one] != identity[two])[: len(same)]
    genuine = np.linalg.norm(x[order[same]] - x[order[same + 1]], axis=1)
    impostor = np.linalg.norm(x[one[other]] - x[two[other]], axis=1)
    return divide(genuine, impostor)


def divide(genuine: Matrix, impostor: Matrix) -> float:
    """The t that gives the largest TPR - FPR for distance <= t, halfway to the next distance."""
    every = np.unique(np.concatenate([genuine, impostor]))
    tpr = np.searchsorted(np.sort(genuine), every, side="right") / len(genuine)
    fpr = np.searchsorted(np.sort(impostor), every, side="right") / len(impostor)
    best = int(np.argmax(tpr - fpr))
    return float((every[best] + every[min(best + 1, len(every) - 1)]) / 2)

"""How far a probe may be: the radius at which strangers are accepted at a chosen rate (P12, P27).

No sweep of enrolments: every pair of vectors has one radius at which it is on the border between
yes and no (``TemplateShell.critical``), so all operating points come from those.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError, PlanError
from efface.protect.template.pictures import average
from efface.types import Samples

if TYPE_CHECKING:
    from efface.protect.template.base import TemplateShell

Matrix = NDArray[np.float64]
_ROWS = 4096


def impostor_borders(
    scheme: TemplateShell, samples: Samples, images: int = 1, bases: int = 1, tries: int = 0
) -> Matrix:
    """Borders of all ordered pairs of two people, each with its first pictures as enrolment and its
    last ``tries`` as a try; 0 for as many as are enrolled."""
    each = tries or images
    people = _groups(samples, images, max(images, each))
    enrolled = np.stack([average(own[:images], "calibration") for own in people])
    made = np.stack([own[-each:] for own in people])
    one, two = np.nonzero(~np.eye(len(people), dtype=bool))
    return _borders(scheme, enrolled, made, one, two, bases)


def genuine_borders(
    scheme: TemplateShell, samples: Samples, images: int = 1, bases: int = 1, tries: int = 0
) -> Matrix:
    """Borders of every person with itself: its first pictures enrolled, the following in tries of
    ``tries`` each; 0 for as many as are enrolled."""
    each = tries or images
    people = _groups(samples, images, images + each)
    enrolled = np.stack([average(own[:images], "calibration") for own in people])
    made, owner = [], []
    for number, own in enumerate(people):
        for start in range(images, len(own) - each + 1, each):
            made.append(own[start : start + each])
            owner.append(number)
    rows = np.arange(len(made))
    return _borders(scheme, enrolled, np.stack(made), np.array(owner), rows, bases)


def radius_at(scheme: TemplateShell, impostors: Matrix, fmr: float) -> float:
    """The loosest radius that accepts at most ``fmr`` of these impostors."""
    if not 0 < fmr < 1:
        raise PlanError(f"fmr is {fmr}: give a rate between 0 and 1, for example 0.001")
    allowed = int(np.floor(fmr * len(impostors)))
    if allowed < 1:
        raise DataError(
            f"{len(impostors)} impostor tries cannot show a rate of {fmr:g}: give more calibration "
            "people, or a larger rate"
        )
    if scheme.looser:  # yes up to the border: stop just below the first that is too many
        return float(np.nextafter(np.partition(impostors, allowed)[allowed], -np.inf))
    return float(-np.partition(-impostors, allowed)[allowed])  # yes strictly below the border


def accepted_at(scheme: TemplateShell, borders: Matrix, radius: float) -> NDArray[np.bool_]:
    """Which of these tries are accepted at a radius."""
    return np.asarray(borders <= radius if scheme.looser else borders > radius)


def _borders(
    scheme: TemplateShell,
    enrolled: Matrix,
    tries: Matrix,
    one: NDArray[np.intp],
    two: NDArray[np.intp],
    bases: int,
) -> Matrix:
    """Of enrolment ``one[i]`` with try ``two[i]``: of the mean of its pictures, or of the picture
    whose vote decides."""
    votes = scheme.hardening.votes if scheme.hardening.probes == "vote" else 0
    if votes > tries.shape[1]:
        raise DataError(f"{tries.shape[1]} pictures cannot give {votes} votes: take more images")
    if not votes:
        tries = average(tries, "calibration")[:, None]
    found = []
    for seed in range(bases):
        for rows in _slices(len(one)):
            each = np.stack(
                [
                    scheme.critical(enrolled[one[rows]], tries[two[rows], i], seed)
                    for i in range(tries.shape[1])
                ]
            )
            each = np.sort(each if scheme.looser else -each, axis=0)[max(votes, 1) - 1]
            found.append(each if scheme.looser else -each)
    return np.concatenate(found)


def _slices(count: int) -> Iterator[slice]:
    for start in range(0, count, _ROWS):
        yield slice(start, start + _ROWS)


def _groups(samples: Samples, images: int, least: int) -> list[Matrix]:
    """The pictures of everybody who has enough of them."""
    if images < 1:
        raise PlanError(f"{images} images: give a number above zero")
    rows = [np.flatnonzero(samples.identity == person) for person in samples.people]
    people = [samples.data[own].astype(np.float64) for own in rows if len(own) >= least]
    if len(people) < 2:
        raise DataError(
            f"{samples.dataset}: {len(people)} people have {least} pictures or more: a radius "
            "needs two people at least, better hundreds"
        )
    return people

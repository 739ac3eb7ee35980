"""Where every try and every guess stands: the radius up to which it is accepted.

A pair of vectors has one radius at which it is on the border between yes and no, so a whole curve
is read off one set of borders instead of thousands of enrolments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.auditing.curve_rules import CurveRules, Way
from efface.auditing.meter_scene import people_rows
from efface.errors import DataError
from efface.types import Samples

Matrix = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Crowd:
    """The people of a curve: each with rows to enrol and rows to try with. All ways share them."""

    data: Matrix
    enrol: tuple[Rows, ...]
    own: tuple[Rows, ...]

    @classmethod
    def of(cls, users: Samples, images: int, people: int | None, seed: int) -> Crowd:
        """Everybody with pictures for an enrolment of ``images`` and a try of as many."""
        rng = np.random.default_rng([seed, 1])
        chosen = people_rows(users, 2 * images, people, rng)
        if len(chosen) < 2:
            raise DataError(
                f"{users.dataset}: {len(chosen)} people have {2 * images} pictures or more: a "
                f"curve with {images} pictures needs two people at least; take fewer pictures"
            )
        data = _unit(users.data)
        return cls(data, tuple(r[:images] for r in chosen), tuple(r[images:] for r in chosen))

    def __len__(self) -> int:
        return len(self.enrol)

    def enrolled(self, way: Way) -> Matrix:
        return np.stack([direction(self.data[rows[: way.images]]) for rows in self.enrol])

    def genuine(self, person: int, way: Way) -> Rows:
        """(tries, pictures) rows of the person: pictures that are used once each."""
        rows, each = self.own[person], way.tries
        return rows[: len(rows) // each * each].reshape(-1, each)

    def strangers(self, way: Way, count: int, seed: int) -> list[Rows]:
        """For each person a try of each of ``count`` others; all others where there are fewer."""
        rng, people = np.random.default_rng([seed, 6]), len(self)
        last = np.stack([rows[-way.tries :] for rows in self.own])
        count = min(count, people - 1)
        steps = [1 + rng.permutation(people - 1)[:count] for _ in range(people)]
        return [last[(i + step) % people] for i, step in enumerate(steps)]


@dataclass(frozen=True, eq=False)
class Borders:
    """Of one way: borders of the tries of each person, and of the guesses at each template."""

    genuine: tuple[Matrix, ...]
    strangers: Matrix
    record: Matrix
    """(people, guesses): the largest border among the guesses so far."""

    def tried(self, radius: float) -> NDArray[np.int64]:
        """The number of the first guess that opens each template at a radius; 0 for none."""
        hits = self.record > radius
        return np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, 0)


def borders(
    schemes: tuple[Any, Any], crowd: Crowd, way: Way, guesses: Matrix, rules: CurveRules
) -> Borders:
    """Of everybody, by the service's basis for tries and by the thief's for guesses."""
    service, thief = schemes
    enrolled = crowd.enrolled(way)
    foreign = crowd.strangers(way, rules.strangers, rules.seed)
    genuine, others, record = [], [], []
    for i, x in enumerate(enrolled):
        lattice = i % rules.lattices
        genuine.append(_tries(service, crowd, x, crowd.genuine(i, way), way, lattice))
        others.append(_tries(service, crowd, x, foreign[i], way, lattice))
        reach = thief.critical(np.broadcast_to(x, guesses.shape), guesses, lattice)
        record.append(np.maximum.accumulate(reach).astype(np.float32))
    return Borders(tuple(genuine), np.stack(others), np.stack(record))


def _tries(scheme: Any, crowd: Crowd, x: Matrix, rows: Rows, way: Way, lattice: int) -> Matrix:
    """A try's border is that of its mean, or of the picture whose vote decides."""
    made = crowd.data[rows]
    if not way.votes:
        means = np.stack([direction(pictures) for pictures in made])
        return np.asarray(scheme.critical(np.broadcast_to(x, means.shape), means, lattice))
    flat = made.reshape(-1, made.shape[-1])
    each = scheme.critical(np.broadcast_to(x, flat.shape), flat, lattice).reshape(rows.shape)
    return np.asarray(np.sort(each, axis=1)[:, -way.votes])


def direction(rows: Matrix) -> Matrix:
    mean = rows.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def _unit(x: Any) -> Matrix:
    wide = np.asarray(x, np.float64)
    return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True))

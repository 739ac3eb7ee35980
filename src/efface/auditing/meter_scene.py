"""The meter's stage: who is enrolled, who tries, and what an attacker may know."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from efface.data.splits import split as make_split
from efface.errors import DataError, EffaceWarning
from efface.hazmat.derive import Blake2b
from efface.protect.template.bases import MEMORY, Shared
from efface.types import Release, Samples, Template, TemplateScheme

Matrix = NDArray[np.float64]
_CALIBRATION = 700


@dataclass(frozen=True)
class MeterRules:
    """``images`` are enrolled of each person, ``probes`` tries made of the others with ``tries``
    pictures each, ``strangers`` tried on each template; ``bases`` lattices are shared by all, 0 for
    one each."""

    images: int = 1
    tries: int = 1
    probes: int = 5
    strangers: int = 20
    people: int | None = None
    guesses: int = 200
    bases: int = 4
    bootstrap: int = 1000
    fmr: float | None = None
    seed: int = 0


@dataclass(frozen=True, eq=False)
class MeterScene:
    """Everybody's template, with the truth that only the judge sees."""

    users: Samples
    population: Samples
    scheme: TemplateScheme
    templates: tuple[Template, ...]
    truth: Matrix
    """The enrolled direction of each person."""
    own: tuple[NDArray[np.int64], ...]
    """(tries, pictures) rows of ``users`` that each person tries with."""
    foreign: NDArray[np.int64]
    """(people, strangers, pictures) rows of other people."""
    left_out: int
    notes: tuple[str, ...]
    kdf: Any = None
    """The hash that was asked for: a slow one is priced and not run, for it decides nobody."""

    @classmethod
    def of(cls, users: Samples, population: Samples | None, scheme: Any, rules: MeterRules) -> Self:
        users, population, left_out = apart(users, population, rules.seed)
        scheme, notes = _shared(scheme, rules.bases)
        scheme, kdf, slow = _fast(scheme)
        if getattr(scheme, "radius_", None) is None:
            scheme = scheme.fit(population)
        if rules.fmr is not None:
            known = _some(population, _CALIBRATION, rules.seed)
            scheme = scheme.calibrate(known, rules.fmr, images=rules.images, tries=rules.tries)
        rng = np.random.default_rng([rules.seed, 1])
        chosen = _people(users, rules, rng)
        enrolled = [users.data[rows[: rules.images]].astype(np.float64) for rows in chosen]
        with warnings.catch_warnings():  # the report says what the scheme would say each time
            warnings.simplefilter("ignore", EffaceWarning)
            templates = tuple(scheme.enrol(x, rng) for x in enrolled)
        own = tuple(_own_tries(rows[rules.images :], rules) for rows in chosen)
        foreign = _strangers(chosen, rules, rng)
        return cls(
            users, population, scheme, templates, np.stack([_direction(x) for x in enrolled]),
            own, foreign, left_out, (*notes, *slow), kdf,
        )  # fmt: skip

    def release(self, leakage: str) -> Release:
        if leakage == "partial":
            return Release.stored([t.partial() for t in self.templates], self.scheme)
        return Release.stored(self.templates, self.scheme)

    def tries(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """For each person: genuine tries accepted, genuine tries, strangers accepted."""
        hits = np.zeros((len(self.templates), 2), np.int64)
        for i, template in enumerate(self.templates):
            rows = np.concatenate([self.own[i], self.foreign[i]])
            yes = self.scheme.verify_many(template, self.users.data[rows].astype(np.float64))
            hits[i] = yes[: len(self.own[i])].sum(), yes[len(self.own[i]) :].sum()
        return hits[:, 0], np.array([len(rows) for rows in self.own]), hits[:, 1]


def apart(users: Samples, population: Samples | None, seed: int) -> tuple[Samples, Samples, int]:
    """Users and population without a person in common (P3); half of the people where no
    population is given."""
    if population is None:
        parts = make_split(users, fit=0.4, shadow=0.0, calibration=0.1, test=0.5, seed=seed)
        known = np.sort(np.concatenate([parts.fit, parts.calibration]))
        return users.take(parts.test), users.take(known), 0
    if population.dim != users.dim:
        raise DataError(
            f"{population.dataset} has vectors of {population.dim} elements, {users.dataset} of "
            f"{users.dim}: both must come from one encoder"
        )
    taken = set(users.names[users.people].astype(str).tolist())
    names = population.names.astype(str)
    shared = [p for p in population.people.tolist() if names[p] in taken]
    kept = np.flatnonzero(~np.isin(population.identity, shared))
    if not len(kept):
        raise DataError(
            f"{population.dataset}: everybody in it is a user too: give embeddings of others"
        )
    return users, population.take(kept), len(shared)


def _some(population: Samples, most: int, seed: int) -> Samples:
    """The first pictures of that many people: pairs grow with the square."""
    people = np.random.default_rng([seed, 5]).permutation(population.people)[:most]
    return population.take(np.flatnonzero(np.isin(population.identity, people)))


def _shared(scheme: Any, bases: int) -> tuple[Any, list[str]]:
    """A copy of the scheme whose people share some lattices, where each would wait for its own."""
    if getattr(scheme, "bases", None) is not MEMORY or not bases:
        return scheme, []
    made = copy.copy(scheme)
    made.bases = Shared(bases)
    return made, [
        f"For speed all people share {bases} lattice{'s' * (bases > 1)}, with a secret each. Who "
        "is accepted depends on the reduced basis: rates are those of lattices of their own, but "
        "intervals leave out that lattices differ."
    ]


def _people(users: Samples, rules: MeterRules, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Rows of everybody with enough pictures, at most ``people`` of them, in random order."""
    found = people_rows(users, rules.images + rules.tries, rules.people, rng)
    if len(found) < 2:
        raise DataError(
            f"{users.dataset}: {len(found)} people have more than "
            f"{rules.images + rules.tries - 1} pictures: the meter enrols some of a person and "
            "tries with others, so it needs two people at least"
        )
    return found


def people_rows(
    users: Samples, least: int, people: int | None, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Rows of everybody with ``least`` pictures, in random order; at most ``people`` of them."""
    order = rng.permutation(len(users))
    owner = users.identity[order]
    groups = [order[owner == person] for person in users.people]
    enough = [rows for rows in groups if len(rows) >= least]
    chosen = rng.permutation(len(enough))[:people]
    return [enough[i] for i in np.sort(chosen)]


def _fast(scheme: Any) -> tuple[Any, Any, list[str]]:
    """A copy with the fast hash: thousands of tries with a slow one take days and end alike."""
    hardening = getattr(scheme, "hardening", None)
    if hardening is None or isinstance(hardening.kdf, Blake2b):
        return scheme, getattr(hardening, "kdf", None), []
    made = copy.copy(scheme)
    made.hardening = replace(hardening, kdf=Blake2b())
    name = hardening.kdf.settings()["kdf"]
    return (
        made,
        hardening.kdf,
        [f"Tries and guesses were hashed with blake2b in place of {name}: a hash decides nobody."],
    )


def _own_tries(rows: NDArray[np.int64], rules: MeterRules) -> NDArray[np.int64]:
    count = min(rules.probes, len(rows) // rules.tries)
    return rows[: count * rules.tries].reshape(count, rules.tries)


def _strangers(
    chosen: list[NDArray[np.int64]], rules: MeterRules, rng: np.random.Generator
) -> NDArray[np.int64]:
    """A try of each of so many others for everybody; all others where there are fewer."""
    people, tries = len(chosen), np.stack([rows[-rules.tries :] for rows in chosen])
    count = min(rules.strangers, people - 1)
    steps = np.stack([1 + rng.permutation(people - 1)[:count] for _ in range(people)])
    return np.asarray(tries[(np.arange(people)[:, None] + steps) % people])


def _direction(x: Matrix) -> Matrix:
    mean = (x / np.linalg.norm(x, axis=1, keepdims=True)).mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))

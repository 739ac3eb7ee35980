"""The full-leak drill: template attacks on what a thief of the database holds.

An attack sees templates and schemes without pepper. Whether what it recovers would be let in is
asked of the schemes as the vault runs them, with every pepper that is given.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from efface.errors import DataError, EffaceError, EffaceWarning, PlanError
from efface.protect.template import restore, unpack
from efface.protect.template.base import TemplateShell
from efface.protect.template.hardening import ELSEWHERE
from efface.readings import Leakage
from efface.registry import cards, make, nearest
from efface.results import Estimate, Threat
from efface.tries import tries_of
from efface.types import Attack, Release, Samples, Template
from efface.vault.configurations import Configuration
from efface.vault.dump import ConfigurationRow, Dump, PersonRow
from efface.vault.seals import taken

_LEVEL = 0.95
LEAKAGES: tuple[Leakage, ...] = ("full", "partial")


@dataclass(frozen=True)
class Loot:
    """Templates of one configuration: what belongs together for an attack."""

    number: int
    scheme: TemplateShell
    templates: tuple[Template, ...]
    owners: tuple[bytes, ...]
    """Whom each template is bound to; a thief reads the names beside them."""

    def release(self, leakage: Leakage) -> Release:
        found = self.templates if leakage == "full" else [t.partial() for t in self.templates]
        return Release.stored(found, self.scheme)


@dataclass(frozen=True)
class Finding:
    """How many people's templates accept what an attack recovered; or why it could not run."""

    attack: str
    leakage: Leakage
    configuration: int
    scheme: str
    accepted: Estimate
    note: str = ""


def loot(dump: Dump, peppers: Sequence[bytes] = ()) -> list[Loot]:
    """The templates of a dump by configuration. A pepper that is not given stays elsewhere."""
    people = dump.of(PersonRow)
    found = []
    for row in dump.of(ConfigurationRow):
        scheme = restore(row.scheme, pepper=taken(row.pepper, peppers))
        mine = [p for p in people if p.configuration == row.number]
        whose = Configuration(row.number, scheme, unpack(row.decoy))
        if mine:
            templates = tuple(unpack(p.template) for p in mine)
            owners = tuple(whose.owner(p.user) for p in mine)
            found.append(Loot(row.number, scheme, templates, owners))
    return found


def template_attacks(names: Sequence[str] = ()) -> dict[str, Attack]:
    """The registered attacks on templates with their defaults: all, or those named."""
    known = [card.name for card in cards("attack") if card.accepts == "template"]
    for name in names:
        if name not in known:
            raise PlanError(f"no attack on templates is named {name!r}{nearest(name, known)}")
    return {name: make("attack", name) for name in names or known}


def drill(
    stolen: Sequence[Loot],
    attacks: Mapping[str, Attack],
    shadow: Samples,
    rng: np.random.Generator,
) -> list[Finding]:
    """Every attack on every configuration, with all that is stored and with the records alone.

    ``shadow`` are other people, whom the thief knows.
    """
    return [
        _finding((name, attack), kind, part, shadow, rng)
        for part in stolen
        for name, attack in attacks.items()
        if _is_for(attack, part.scheme.card.name)
        for kind in LEAKAGES
    ]


def _is_for(attack: Attack, scheme: str) -> bool:
    """An attack may name the schemes that it takes apart; most take any."""
    named: Sequence[str] = getattr(attack, "schemes", ())
    return not named or scheme in named


def _finding(
    named: tuple[str, Attack], kind: Leakage, part: Loot, shadow: Samples, rng: np.random.Generator
) -> Finding:
    name, attack = named
    where = (name, kind, part.number, part.scheme.card.name)
    needs = str(getattr(attack, "without_helper", "")) if kind == "partial" else ""
    if part.scheme.hardening.pepper == ELSEWHERE:  # every verify would fail, and look like safety
        needs = "nobody can ask the door without the pepper: give its file with --pepper"
    needs = _absent(name, attack) or needs
    if needs:
        return Finding(*where, Estimate(None), needs)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EffaceWarning)  # that the scheme is broken is the point
            fitted = attack.fit(shadow, Threat("naive"), rng)
            vectors = fitted.run(part.release(kind)).vectors
            hits = _hits(part, vectors)
    except EffaceError as error:
        return Finding(*where, Estimate(None), str(error))
    return Finding(*where, share(hits, len(part.templates)))


def _absent(name: str, attack: Attack) -> str:
    """What is not installed that the attack cannot do without: it would find nothing."""
    known = getattr(attack, "absent", None)
    return str(known()).removeprefix(f"{name} was not run: ") if known is not None else ""


def _hits(part: Loot, vectors: np.ndarray) -> int:
    if len(vectors) != len(part.templates):
        raise DataError(
            f"the attack recovered {len(vectors)} vectors of {len(part.templates)} templates"
        )
    rows = zip(part.templates, vectors, part.owners, strict=True)
    return sum(_let_in(part.scheme, *row) for row in rows)


def _let_in(scheme: TemplateShell, template: Template, vector: np.ndarray, owner: bytes) -> bool:
    """At the door, where a vector has to be one; an attack without a result gives zeros or NaN."""
    try:
        return scheme.verify(template, tries_of(scheme, vector[None])[0], owner)
    except EffaceError:
        return False


def share(hits: int, people: int) -> Estimate:
    """A share of people with its exact interval (Clopper and Pearson, 1934)."""
    tail = (1 - _LEVEL) / 2
    low = float(beta.ppf(tail, hits, people - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, people - hits)) if hits < people else 1.0
    return Estimate(hits / people, low, high, people, people, "Clopper-Pearson", _LEVEL)

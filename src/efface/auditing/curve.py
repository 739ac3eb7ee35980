"""TPR against the cost of guessing (P27): what hardening buys, radius by radius.

A thief with all that is stored tries public embeddings on each template, the mean of the population
first, and needs one picture that decodes, whatever a genuine try needs.
"""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.attack.template.dictionary import Dictionary
from efface.attack.template.lattice_reduction import stronger
from efface.attack.template.stolen import leftover
from efface.auditing.curve_borders import Borders, Crowd, borders
from efface.auditing.curve_cost import Costs, log2, measured, stated, words
from efface.auditing.curve_rules import Arm, CurveRules, Way, arms_for
from efface.auditing.meter_scene import apart
from efface.errors import EffaceWarning, PlanError
from efface.hazmat.derive import KeyDerivation
from efface.hazmat.expand import SEED_BYTES
from efface.judge.template import share
from efface.measure.guesses import guesses, guesses_for_half, guesses_seen, per_guess
from efface.protect.template.bases import Shared
from efface.protect.template.hardening import PAPER
from efface.readings import GuessArm, GuessBest, GuessCheck, GuessCurve, GuessPoint
from efface.registry import make
from efface.results import Estimate, Threat
from efface.types import Samples

Matrix = NDArray[np.float64]
_REFUSED = np.arange(0.01, 0.92, 0.015)
"""Shares of genuine tries that are refused at the points of a curve; 0.1 is one of them."""


def guess_curve(
    users: Samples,
    scheme: Any = "l2fe-hash",
    *,
    population: Samples | None = None,
    images: int = 5,
    votes: int = 0,
    kdf: KeyDerivation | None = None,
    arms: Sequence[Arm] = (),
    rules: CurveRules | None = None,
    costs: Costs | None = None,
) -> GuessCurve:
    """TPR against guesses for half of the people: as published, with ``images`` pictures, hardened.

    For schemes that hash, ``l2fe-hash`` and ``facial-fe``: templates of the others have nothing to
    guess, a vector that passes is computed. ``votes`` of the pictures of a try have to pass in
    the last arm, by default more than half. ``costs`` are measured unless they are given.
    """
    if images < 1 or not 0 <= votes <= images:
        raise PlanError(f"curve: {images} pictures and {votes} votes: give 1 or more, votes within")
    rules = rules or CurveRules()
    rules.check()
    arms = tuple(arms) or arms_for(images, votes, kdf)
    users, population, _ = apart(users, population, rules.seed)
    service = _fitted(scheme, population, rules)
    most = max(max(a.way.images, a.way.tries) for a in arms)
    crowd = Crowd.of(users, most, rules.people, rules.seed)
    return _Curve(service, population, crowd, rules).reading(arms, costs)


class _Curve:
    """One scheme, its people and the thief's list."""

    def __init__(self, service: Any, population: Samples, crowd: Crowd, rules: CurveRules) -> None:
        self.service, self.crowd, self.rules = service, crowd, rules
        dictionary = Dictionary(guesses=rules.guesses)
        rng = np.random.default_rng([rules.seed, 2])
        self.list = np.asarray(dictionary.fit(population, Threat("naive"), rng).list_)
        self.thief = _thief(service, rules)
        self.checks: dict[tuple[float, Way], GuessCheck] = {}

    def reading(self, arms: Sequence[Arm], costs: Costs | None) -> GuessCurve:
        costs = costs or self._costs(arms)
        known: dict[Way, Borders] = {}
        made = [self._arm(arm, known, costs) for arm in arms]
        curve = GuessCurve(
            scheme=self.service.card.name, target=self.rules.target,
            people=len(self.crowd), guesses=len(self.list),
            basis=f"a BKZ-{self.rules.bkz}" if self.rules.bkz else "the service's own",
            reduce_seconds=costs.reduce,
            arms=made, best=_most(made), core_hour=self.rules.core_hour, notes=self._notes(),
        )  # fmt: skip
        return _with_words(curve)

    def _costs(self, arms: Sequence[Arm]) -> Costs:
        template = self._enrol(self.service, self.crowd.enrolled(arms[0].way)[0], 0)
        kdfs = {words(a.kdf): a.kdf for a in arms}
        found = measured(self.service, template, self.list, list(kdfs.values()))
        return replace(found, reduce=self._reduced()) if self.rules.bkz else found

    def _reduced(self) -> float:
        """Core seconds of the thief's reduction of one lattice; what is reduced stays reduced."""
        lattices, begun = self.rules.lattices, time.process_time()
        for number in range(lattices):
            self.thief.bases.fresh(self.thief.shape, number.to_bytes(SEED_BYTES, "little"))
        return (time.process_time() - begun) / lattices

    def _arm(self, arm: Arm, known: dict[Way, Borders], costs: Costs) -> GuessArm:
        if arm.way not in known:
            schemes = self.service, self.thief
            known[arm.way] = borders(schemes, self.crowd, arm.way, self.list, self.rules)
        found = known[arm.way]
        points = [self._point(found, radius) for radius in _radii(found)]
        hashed = costs.hashes[words(arm.kdf)]
        return GuessArm(
            name=arm.name, images=arm.way.images, tries=arm.way.tries, votes=arm.way.votes,
            kdf=words(arm.kdf), hash_seconds=hashed, decode_seconds=costs.decode, points=points,
            best=self._best(points, arm.way, hashed, costs),
        )  # fmt: skip

    # --- one point --------------------------------------------------------------------------

    def _point(self, found: Borders, radius: float) -> GuessPoint:
        hits = np.array([(b > radius).sum() for b in found.genuine])
        foreign, tried = (found.strangers > radius).sum(axis=1), found.tried(radius)
        each = np.full(len(foreign), found.strangers.shape[1])
        fpr = self._share(foreign, each)
        half, low, high, seen = self._half(tried, foreign, each, fpr)
        return GuessPoint(
            radius=radius, tpr=self._share(hits, np.array([len(b) for b in found.genuine])),
            fpr=fpr, first=self._share(tried == 1, np.ones(len(tried))),
            guesses_50=half, guesses_50_low=low, guesses_50_high=high, seen=seen,
            bits=None if half is None else log2(half), bits_low=math.log2(low),
            bits_high=None if high is None else log2(high),
        )  # fmt: skip

    def _half(
        self, tried: NDArray[np.int64], foreign: Matrix, each: Matrix, fpr: Estimate
    ) -> tuple[float | None, float, float | None, bool]:
        """Guesses for half of the people, with the interval of a resampling of people."""
        made, people = len(self.list), len(tried)
        half, seen = guesses_for_half(tried, made, float(foreign.sum() / each.sum()))
        rng = np.random.default_rng([self.rules.seed, 7])
        drawn = [
            guesses_for_half(tried[w], made, float(foreign[w].sum() / each[w].sum()))[0]
            for w in rng.integers(people, size=(self.rules.bootstrap, people))
        ]
        low, high = np.quantile(drawn, [0.025, 0.975], method="nearest")
        if math.isinf(low):  # nobody fell: what the upper ends of both rates vouch for
            opened = self._share(tried > 0, np.ones(people)).high or 1.0
            low = min(guesses(fpr.high or 1.0, 0.5), guesses(per_guess(opened, made), 0.5))
        return _end(half), float(low), _end(float(high)), seen

    def _share(self, hits: Any, tries: Any) -> Estimate:
        return share(hits, tries, np.random.default_rng([self.rules.seed, 3]), self.rules.bootstrap)

    # --- the best of an arm -----------------------------------------------------------------

    def _best(
        self, points: Sequence[GuessPoint], way: Way, hashed: float, costs: Costs
    ) -> GuessBest | None:
        """Borders know nothing of rounding to levels: the first point that also holds when people
        are enrolled."""
        enough = [p for p in points if (p.tpr.value or 0.0) >= self.rules.target]
        for point in sorted(enough, key=lambda p: (_strength(p), p.radius), reverse=True):
            if (point.radius, way) not in self.checks:
                self.checks[point.radius, way] = self._checked(point.radius, way)
            check = self.checks[point.radius, way]
            if (check.tpr.value or 0.0) >= self.rules.target:
                count = point.guesses_50
                return GuessBest(
                    point=point,
                    check=check,
                    seconds_hashed=_work(count, hashed, costs, every=True),
                    seconds=_work(count, hashed, costs, every=False),
                )
        return None

    def _checked(self, radius: float, way: Way) -> GuessCheck:
        """With templates: tries through ``verify``, guesses through ``guess``, nothing by borders.

        By the service's own basis, whatever the thief has.
        """
        scheme = _at(self.service, radius, way)
        hits, tried, first, told = [], [], [], []
        for i, x in enumerate(self.crowd.enrolled(way)):
            template = self._enrol(scheme, x, i)
            own = self.crowd.data[self.crowd.genuine(i, way)]
            hits.append(scheme.verify_many(template, own).sum())
            tried.append(len(own))
            right = scheme.guess(template, self.list)
            first.append(right.argmax() + 1 if right.any() else 0)
            if right.any():
                told.append(right[leftover(scheme, template, self.list).argmin()])
        fell = np.array(first)
        return GuessCheck(
            tpr=self._share(hits, tried), opened=self._share(fell > 0, np.ones(len(fell))),
            tries=len(self.list), guesses_50=guesses_seen(fell, 0.5),
            told=self._share(told, np.ones(len(told))),
        )  # fmt: skip

    def _enrol(self, scheme: Any, x: Matrix, number: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EffaceWarning)
            return scheme.enrol(x, np.random.default_rng([self.rules.seed, 8, number]))

    def _notes(self) -> list[str]:
        return [
            f"All ways have the same {len(self.crowd)} people, and the radius moves along a curve. "
            "A point is read off the borders of pairs; the best is enrolled and tried again.",
            f"People share {self.rules.lattices} lattices, with a secret each: intervals leave out "
            "that lattices differ.",
            "The best point is chosen on the people it is measured on: for others, expect a TPR a "
            "little lower or fewer guesses.",
            "Core seconds are those of the machine that measured.",
        ]


def _fitted(scheme: Any, population: Samples, rules: CurveRules) -> Any:
    """The scheme with the fast hash, fitted, on a few lattices: a hash prices guesses, it decides
    nobody."""
    made = copy.copy(make("scheme", scheme) if isinstance(scheme, str) else scheme)
    if getattr(made, "radius", None) != "scale":
        raise PlanError(
            f"curve: templates of {made.card.name} are read without a guess, so guesses have no "
            "cost: the curve is for l2fe-hash and facial-fe"
        )
    made.hardening = PAPER
    if hasattr(made, "bases") and not isinstance(made.bases, Shared):
        made.bases = Shared(rules.lattices)
    return made if getattr(made, "radius_", None) is not None else made.fit(population)


def _thief(service: Any, rules: CurveRules) -> Any:
    if not rules.bkz:
        return service
    if not hasattr(service, "bases"):
        raise PlanError("curve: a stronger reduction is for l2fe-hash, which has a lattice")
    made = copy.copy(service)
    made.bases = Shared(rules.lattices, stronger(service.bases, rules.bkz))
    return made


def _at(service: Any, radius: float, way: Way) -> Any:
    made = copy.copy(service)
    made.radius_, made.scale = radius, radius
    if way.votes:
        made.hardening = replace(PAPER, probes="vote", votes=way.votes)
    return made


def _radii(found: Borders) -> list[float]:
    """Just inside the border of the last try that is still accepted, loosest first."""
    every = np.sort(np.concatenate(found.genuine))
    kept = every[np.unique(np.floor(_REFUSED * len(every)).astype(int))]
    return [float(np.nextafter(r, 0)) for r in kept if 0 < r < math.inf]


def _work(count: float | None, hash_: float, costs: Costs, *, every: bool) -> float | None:
    """Core seconds for one person: the lattice reduced, guesses decoded, and all or one hashed."""
    if count is None:
        return None
    return costs.reduce + count * costs.decode + (count if every else 1) * hash_


def _strength(point: GuessPoint) -> float:
    return math.inf if point.guesses_50 is None else point.guesses_50


def _most(arms: Sequence[GuessArm]) -> str:
    """The arm with most bits; of equals the one that costs a thief more."""
    known = [(a, a.best) for a in arms if a.best is not None]
    if not known:
        return ""
    return max(known, key=lambda a: (_strength(a[1].point), a[0].hash_seconds))[0].name


def _with_words(curve: GuessCurve) -> GuessCurve:
    import msgspec

    return msgspec.structs.replace(curve, sentences=stated(curve))


def _end(value: float) -> float | None:
    return value if math.isfinite(value) else None

"""The meter (P26): what a template scheme accepts, what breaks it, and what is left to guess."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface._version import __version__
from efface.auditing.curve_rules import CurveRules
from efface.auditing.meter_attacks import absent, idle, specs, words
from efface.auditing.meter_curve import curve_of
from efface.auditing.meter_scene import MeterRules, MeterScene
from efface.auditing.meter_verdict import judged
from efface.errors import EffaceWarning, PlanError
from efface.judge.template import TemplateJudge, random_guess, share, threshold
from efface.measure.guesses import bits, guesses, guesses_seen
from efface.measure.theorem import Theorem1
from efface.progress import Progress
from efface.readings import (
    SCHEMA,
    AttackReading,
    Distances,
    Guessing,
    Leakage,
    NotRun,
    Reading,
    Spread,
    TheoremReading,
    Users,
)
from efface.registry import make
from efface.results import Estimate, Scalar, Spec, Threat
from efface.types import Claim, Samples, Template

Matrix = NDArray[np.float64]

_FE_ERROR = 2.0**-64
_EDGES = np.linspace(0, 2, 81)
NOT_TESTED = (
    "Attackers who know something of the person, such as a picture.",
    "Pictures made from the embeddings that were found.",
    "How long a guess takes: with a slow hash each one costs more.",
    "Lattice attacks on the secret itself that use no guess of the embedding.",
)


def meter(
    users: Samples,
    scheme: Any,
    *,
    population: Samples | None = None,
    attacks: Sequence[str | Spec] | None = None,
    leakage: Sequence[Leakage] = ("full", "partial"),
    t: float | None = None,
    fmr: float | None = None,
    images: int = 1,
    tries: int = 1,
    people: int | None = None,
    probes: int = 5,
    strangers: int = 20,
    guesses: int = 200,
    bases: int = 4,
    curve: int = 0,
    curve_votes: int = 0,
    curve_rules: CurveRules | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
    command: str = "",
    date: str = "",
) -> Reading:
    """Enrol ``users`` in a scheme (a name or an instance), steal all templates, and read the meter.

    ``population`` are embeddings of other people of the same encoder: the scheme is fitted on them
    if it is not fitted, and the attacker has them. Without, half of the people serve. ``t`` is the
    distance up to which two embeddings count as one person; by default the population sets it.
    ``fmr`` chooses the radius that accepts people of the population at that rate. ``images`` are
    enrolled of each person, and a try has ``tries``. With ``curve`` the reading also has TPR
    against the cost of guessing, hardened with so many pictures: see
    :func:`efface.auditing.curve.guess_curve`.
    """
    rules = MeterRules(
        images, tries, probes, strangers, people, guesses, bases, bootstrap, fmr, seed
    )
    _check(rules)
    made = make("scheme", scheme) if isinstance(scheme, str) else scheme
    scene = MeterScene.of(users, population, made, rules)
    costly = curve_of(scene, (curve, curve_votes), curve_rules, rules) if curve else None
    measured = Meter(scene, rules, t)
    tpr, fpr = measured.rates()
    found, unable = measured.attacks(attacks, leakage)
    mean, deviation = random_guess(scene.truth, measured.t)
    left = guessing(fpr)
    return Reading(
        schema=SCHEMA, scheme=made.card.name, card=made.card.verdict,
        settings=_settings(scene), users=measured.users(),
        verdict=judged(found, tpr, fpr, left, mean), tpr=tpr, fpr=fpr, guessing=left,
        random_mean=mean, random_deviation=deviation, attacks=found, not_run=unable,
        theorem=measured.theorem(), distances=measured.distances(), curve=costly,
        notes=[*scene.notes, *measured.notes], not_tested=list(NOT_TESTED), seed=seed,
        efface=__version__, versions={"numpy": np.__version__}, command=command, date=date,
    )  # fmt: skip


class Meter:
    """One scene, measured: each method is one section of the reading."""

    def __init__(self, scene: MeterScene, rules: MeterRules, t: float | None) -> None:
        self.scene, self.rules = scene, rules
        self.notes: list[str] = []
        self.t, self.t_from = (t, "given") if t is not None else self._threshold()
        self.judge = TemplateJudge(self.t)

    def rates(self) -> tuple[Estimate, Estimate]:
        genuine, tried, foreign = self.scene.tries()
        each = np.full(len(foreign), self.scene.foreign.shape[1])
        return self._share(genuine, tried), self._share(foreign, each)

    def attacks(
        self, attacks: Sequence[str | Spec] | None, leakage: Sequence[Leakage]
    ) -> tuple[list[AttackReading], list[NotRun]]:
        """Every attack at every leakage: what it got, or why it has nothing to start from."""
        cases = [(s, k) for s in specs(attacks) if self._applies(s) for k in leakage]
        self.notes += dict.fromkeys(absent(s) for s, _ in cases if absent(s))
        cases = [(s, k) for s, k in cases if not absent(s)]
        reasons = [(s, k, idle(s, k)) for s, k in cases]
        unable = [NotRun(attack=words(s), leakage=k, why=w) for s, k, w in reasons if w]
        cases = [(s, k) for s, k, why in reasons if not why]
        with Progress[AttackReading]("meter", len(cases), unit="attack") as tick:
            return [tick(self.attack(spec, kind)) for spec, kind in cases], unable

    def _applies(self, spec: Spec) -> bool:
        """Some attacks are for one scheme."""
        schemes = make("attack", spec.name, **spec.params).schemes
        return not schemes or _name(self.scene.templates) in schemes

    def attack(self, spec: Spec, leakage: Leakage) -> AttackReading:
        params = dict(spec.params)
        if spec.name == "dictionary":
            params.setdefault("guesses", self.rules.guesses)
        attack = make("attack", spec.name, **params)
        rng = np.random.default_rng([self.rules.seed, 2])
        with warnings.catch_warnings():  # of the scheme, which the attacker enrols with
            warnings.simplefilter("ignore", EffaceWarning)
            attack.fit(self.scene.population, Threat("naive"), rng)
            claim = attack.run(self.scene.release(leakage))
        return self._judged(spec, leakage, attack.settings(), claim)

    def _judged(self, spec: Spec, leakage: Leakage, setting: Any, claim: Claim) -> AttackReading:
        scene = self.scene
        found = self.judge.judge(claim, scene.truth, scene.templates, scene.scheme)
        ones = np.ones(len(scene.truth))
        tries = 0 if claim.guesses is None else max(int(setting.get("guesses") or 1), 1)
        tried = np.zeros(len(ones), np.int64) if claim.guesses is None else claim.guesses
        tried = np.where(found.opened, tried, 0)
        return AttackReading(
            attack=words(spec), leakage=leakage, setting=setting,
            distance_mean=float(found.distance.mean()),
            distance_deviation=float(found.distance.std()),
            near=self._share(found.near, ones), accepted=self._share(found.accepted, ones),
            opened=self._share(found.opened, ones), exact=self._share(found.exact, ones),
            tries=tries, guesses_50=guesses_seen(tried, 0.5), guesses_99=guesses_seen(tried, 0.99),
        )  # fmt: skip

    def theorem(self) -> TheoremReading | None:
        """Theorem 1 for this scheme: R is half of the quantiser's range, a ball is the distance
        within which genuine pictures lie, and there is a ball for everybody alive."""
        known: dict[str, Any] = self.scene.scheme.settings()
        if not {"m", "l", "q", "scale", "minimum", "maximum"} <= set(known):
            return None
        levels = known["q"] * known["scale"]
        radius = self.t * levels / (known["maximum"] - known["minimum"])
        found = Theorem1(known["m"], known["l"], known["q"], levels / 2, 8e9, radius, _FE_ERROR)
        return TheoremReading(
            m=found.m, l=found.l, q=found.q, r=found.r, balls=found.balls, radius=found.radius,
            error=found.error, shortest=found.shortest, alpha=found.alpha, holds=found.holds,
            entropy=found.entropy, box=found.box, gamma=found.gamma, ceiling=found.ceiling,
            kappa=found.kappa,
        )  # fmt: skip

    def distances(self) -> Distances:
        scene = self.scene
        x = _unit(scene.users.data)
        own = [
            np.linalg.norm(x[r.reshape(-1)] - v, axis=1)
            for r, v in zip(scene.own, scene.truth, strict=True)
        ]
        others = x[scene.foreign[:, :, -1]]
        foreign = np.linalg.norm(others - scene.truth[:, None], axis=2).reshape(-1)
        centre = np.linalg.norm(_unit(scene.population.data).mean(axis=0) - scene.truth, axis=1)
        return Distances(
            t=self.t, t_from=self.t_from, edges=_EDGES.tolist(),
            spreads=[
                _spread("genuine", np.concatenate(own)), _spread("impostor", foreign),
                _spread("mean", centre),
            ],
        )  # fmt: skip

    def users(self) -> Users:
        scene = self.scene
        return Users(
            dataset=scene.users.dataset, people=len(scene.templates),
            pictures=sum(r.size for r in scene.own) + self.rules.images * len(scene.templates),
            dimension=scene.users.dim, enrolled_pictures=self.rules.images,
            population=scene.population.dataset, population_people=len(scene.population.people),
            population_pictures=len(scene.population), left_out=scene.left_out,
        )  # fmt: skip

    def _share(self, hits: Any, tries: Any) -> Estimate:
        rng = np.random.default_rng([self.rules.seed, 3])
        return share(hits, tries, rng, self.rules.bootstrap)

    def _threshold(self) -> tuple[float, str]:
        """Where genuine and impostor pairs of the population are told apart best (paper, 6)."""
        rng = np.random.default_rng([self.rules.seed, 4])
        found = threshold(_unit(self.scene.population.data), self.scene.population.identity, rng)
        if found is None:
            return 1.1, "the paper's, since nobody in the population has two pictures"
        return found, "the best division of pairs of the population"


def guessing(fpr: Estimate) -> Guessing:
    """Bits and guesses of a false-match rate and of both ends of its interval."""
    value, low, high = fpr.value or 0.0, fpr.low or 0.0, 1.0 if fpr.high is None else fpr.high
    return Guessing(
        bits=_end(bits(value)), bits_low=bits(high), bits_high=_end(bits(low)),
        guesses_50=_end(guesses(value, 0.5)), guesses_50_low=guesses(high, 0.5),
        guesses_99=_end(guesses(value, 0.99)), guesses_99_low=guesses(high, 0.99),
    )  # fmt: skip


def _end(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _check(rules: MeterRules) -> None:
    for name in ("images", "tries", "probes", "strangers", "guesses", "people"):
        value = getattr(rules, name)
        if value is not None and value < 1:
            raise PlanError(f"meter: {name} takes a whole number above zero, not {value}")
    if rules.bases < 0 or rules.bootstrap < 200:
        raise PlanError("meter: bases takes a number from 0, bootstrap one from 200")


def _settings(scene: MeterScene) -> dict[str, Scalar]:
    """As asked for: with the hash that would be used."""
    slow = {} if scene.kdf is None else scene.kdf.settings()
    return {**scene.scheme.settings(), **slow}


def _name(templates: Sequence[Template]) -> str:
    return templates[0].scheme


def _unit(x: Any) -> Matrix:
    wide = np.asarray(x, np.float64)
    return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True))


def _spread(name: Any, values: Matrix) -> Spread:
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    counts, _ = np.histogram(np.clip(values, 0, 2), _EDGES)
    return Spread(
        name=name, count=len(values), median=float(middle), low=float(low), high=float(high),
        bins=counts.tolist(),
    )  # fmt: skip

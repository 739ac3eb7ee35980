"""Play one case: train the attack, let calibration people choose, count on test people."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np

from efface.auditing.scene import Rows, Scene, Shipped, some_images
from efface.judge.verification import Calibration, Evidence, Trials, Verification
from efface.measure.intervals import unknown
from efface.registry import make
from efface.results import Case, Estimate, Knowledge, Measurement, Spec, Status
from efface.types import Attack, Claim, Release, Samples


class NotPlayable(Exception):
    """This case has no meaning, whatever the data; the text says why."""


class TooFew(Exception):
    """These data do not suffice for this case; the text says what is missing."""


_KEPT = 10
"""Settled attackers that are kept: those of one release."""


@runtime_checkable
class Joint(Protocol):
    """An attack made of others: it takes them trained and settles how they play together."""

    parts: tuple[str, ...]

    def join(self, members: Mapping[str, Attack]) -> Attack: ...

    def tune(self, merit: Callable[[Attack], tuple[float, float]]) -> Attack: ...


@dataclass(frozen=True)
class Player:
    """Everything a case needs besides itself."""

    scene: Scene
    bootstrap: int = 2000
    level: float = 0.95
    brief: bool = False
    """Leave out curve, control arm and fallback: enough for a point of a sweep."""
    calibration: Rows | None = None
    test: Rows | None = None
    """Other rows to calibrate and test on (a validation sweep); by default the split's."""


def run(case: Case, shipped: Shipped, player: Player) -> Measurement:
    """One measurement, whatever happens: unplayable cases say so instead of vanishing."""
    try:
        return _play(case, shipped, player)
    except NotPlayable as why:
        return _blank(case, "not applicable", str(why))
    except TooFew as why:
        return _blank(case, "insufficient data", str(why))


def _play(case: Case, shipped: Shipped, player: Player) -> Measurement:
    scene, split = player.scene, player.scene.split
    calibration = split.calibration if player.calibration is None else player.calibration
    test = split.test if player.test is None else player.test
    judge = Verification(case.far, player.bootstrap, player.level, case.seed)
    known = _queries(scene.samples, calibration, case, 0)
    attack = _settled(case, shipped, scene, judge, known)
    known_trials = _trials(attack, shipped, known, case)
    frozen = judge.calibrate(known_trials)
    evidence: Evidence | None = None
    for repeat in range(case.resamples):
        rows = _queries(scene.samples, test, case, repeat)
        trials = _trials(attack, shipped, rows, case)
        found = judge.examine(trials, frozen, repeat)
        evidence = found if evidence is None else evidence + found
    if evidence is None:
        raise TooFew("no resample of the test images was asked for")
    return _measurement(case, judge, frozen, evidence, attack, known_trials, trials, player.brief)


def _settled(
    case: Case, shipped: Shipped, scene: Scene, judge: Verification, known: Rows
) -> Attack:
    """The attack, trained, with the option that calibration people prefer.

    A fusion needs the attackers that were played alone before it, so the last ones are kept.
    """
    rows = hashlib.sha256(known.tobytes()).hexdigest()
    key = json.dumps([_training(case), repr(case.protection), case.far, case.quota, rows])
    if key not in scene.settled:
        attack = _train(case, shipped, scene, judge, known)
        scene.settled[key] = _choose(attack, shipped, known, case, judge)
        for old in list(scene.settled)[:-_KEPT]:
            del scene.settled[old]
    return scene.settled[key]


def _training(case: Case) -> list[Any]:
    """What decides how an attack is trained, given the vectors."""
    return [case.attack.name, repr(case.attack.params), repr(case.threat), case.seed]


def _train(case: Case, shipped: Shipped, scene: Scene, judge: Verification, known: Rows) -> Attack:
    attack: Attack = make("attack", case.attack.name, **case.attack.params)
    need = getattr(attack, "min_images", 1)
    if case.threat.images is not None and case.threat.images < need:
        raise NotPlayable(f"{case.attack.name} needs {need} images per person to train on")
    if case.threat.knowledge == "none":
        return attack
    if isinstance(attack, Joint):
        return attack.join(_members(attack, case, shipped, scene, judge, known))
    naive = case.threat.knowledge == "naive"
    if naive and shipped.samples.dim != scene.samples.dim:
        raise NotPlayable(
            f"the release has {shipped.samples.dim} dimensions and unprotected vectors "
            f"{scene.samples.dim}: whoever learnt from those cannot read it"
        )
    key = json.dumps(_training(case))
    if naive and key in scene.naive:
        return scene.naive[key]
    rows = scene.pool(case.threat, case.seed)
    if len(np.unique(scene.samples.identity[rows])) < 2:
        raise TooFew("fewer than two people with enough images to train on")
    shadow = (scene.samples if naive else shipped.samples).take(rows)
    attack = attack.fit(shadow, case.threat, np.random.default_rng([case.seed, 4]))
    if naive:
        scene.naive[key] = attack
    return attack


def _members(
    attack: Joint, case: Case, shipped: Shipped, scene: Scene, judge: Verification, known: Rows
) -> dict[str, Attack]:
    """Who joins: a parrot has the unprotected vectors too, so it brings its naive selves."""
    knows: list[Knowledge] = ["naive"] if case.threat.knowledge == "naive" else ["naive", "parrot"]
    found: dict[str, Attack] = {}
    for name in attack.parts:
        trained = getattr(make("attack", name), "trained", True)
        for knowledge in knows if trained else ["none"]:
            threat = msgspec.structs.replace(case.threat, knowledge=knowledge)
            part = msgspec.structs.replace(case, attack=Spec(name), threat=threat)
            label = f"{name}, {knowledge}" if trained and len(knows) > 1 else name
            with suppress(NotPlayable, TooFew):
                found[label] = _settled(part, shipped, scene, judge, known)
    if len(found) < 2:
        raise NotPlayable(f"{case.attack.name} needs two attackers that can play")
    return found


def _queries(samples: Samples, rows: Rows, case: Case, repeat: int) -> Rows:
    """All rows; in paper mode those left when k support images of each person are set aside."""
    if case.mode == "strong" or case.threat.images is None:
        return rows
    rng = np.random.default_rng([case.seed, 5, repeat])
    left = np.setdiff1d(rows, some_images(rows, samples.identity, case.threat.images, rng))
    codes, size = np.unique(samples.identity[left], return_counts=True)
    usable = left[np.isin(samples.identity[left], codes[size >= 2])]
    if len(np.unique(samples.identity[usable])) < 2:
        k = case.threat.images
        raise TooFew(
            f"k={k} needs people with at least {k + 2} images: k to train on, two to compare"
        )
    return usable


def _trials(attack: Attack, shipped: Shipped, rows: Rows, case: Case) -> Trials:
    claim: Claim = attack.run(Release(shipped.samples.data[rows], shipped.samples.kind))
    person = np.unique(shipped.samples.identity[rows], return_inverse=True)[1]
    return Trials(claim, person.astype(np.int64), case.quota)


def _choose(
    attack: Attack, shipped: Shipped, rows: Rows, case: Case, judge: Verification
) -> Attack:
    """The option that does best on calibration people at the target operating point (P11)."""

    def merit(option: Attack) -> tuple[float, float]:
        return judge.merit(_trials(option, shipped, rows, case))

    if isinstance(attack, Joint):
        return attack.tune(merit)
    options: Sequence[Attack] = attack.options()
    if not options:
        raise NotPlayable(f"{case.attack.name} offered nothing to run")
    return options[0] if len(options) == 1 else max(options, key=merit)


def _measurement(
    case: Case,
    judge: Verification,
    frozen: Calibration,
    evidence: Evidence,
    attack: Attack,
    known: Trials,
    trials: Trials,
    brief: bool,
) -> Measurement:
    tar = judge.tar(frozen, evidence)
    far = judge.far_achieved(frozen, evidence, trials)
    status: Status = "measured" if tar.value is not None else "insufficient data"
    curve, eer, pauc = judge.curve(evidence)
    nothing = unknown("left out", level=judge.level)
    return Measurement(
        case=case,
        status=status,
        note="" if status == "measured" else tar.method,
        setting=attack.settings(),
        threshold=frozen.threshold,
        tar=tar,
        family_low=judge.tar(frozen, evidence, case.family).low,
        far=far,
        fnmr=_complement(tar),
        fmr=far,
        control=nothing if brief else judge.control(known, trials),
        pauc=nothing if brief else judge.pauc(trials, pauc),
        eer=eer,
        counts=judge.counts(frozen, evidence),
        curve=None if brief else curve,
    )


def _complement(rate: Estimate) -> Estimate:
    if rate.value is None or rate.low is None or rate.high is None:
        return rate
    return Estimate(
        1 - rate.value, 1 - rate.high, 1 - rate.low, rate.n, rate.clusters, rate.method, rate.level
    )


def _blank(case: Case, status: Status, why: str) -> Measurement:
    none: dict[str, Any] = {
        name: unknown(why) for name in ("tar", "far", "fnmr", "fmr", "control", "pauc")
    }
    return Measurement(case=case, status=status, note=why, **none)

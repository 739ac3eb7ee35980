"""Audit, protect, audit again: from samples to a report."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from efface.auditing import protections as prot
from efface.auditing import sections, sweeps
from efface.auditing.cache import Cache
from efface.auditing.cases import Rules, attack_specs, cases
from efface.auditing.hopeless import warn_if_hopeless
from efface.auditing.partner import partner
from efface.auditing.scene import Scene, Shipped, lend_shadow
from efface.auditing.seen import Seen, look
from efface.auditing.table import Table
from efface.data.samples import require_pairs
from efface.data.splits import split as make_split
from efface.errors import DataError, EffaceWarning, EraserError, PlanError
from efface.protect.linear.stored import Stored
from efface.results import Measurement, Spec, Sweep
from efface.types import Attack, Codes, Protection, Samples, Split

SweepName = Literal["rank", "people"]
_TARGET = 0.05


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything an audit measured, before a report is made of it."""

    scene: Scene
    rules: Rules
    shipped: list[Shipped]
    measurements: list[Measurement]
    sweeps: list[Sweep]
    notes: list[str]
    protections: list[Protection]
    """As played: with the rank that was chosen."""
    seen: dict[str, Seen]
    """Release of a finished projector -> whom it was fitted on, as far as these data show."""
    table: Table
    second: tuple[Table, str] | None
    """Where a transfer will be played, and what is to be said of people in both data sets."""


def investigate(
    samples: Samples,
    *,
    split: Split | None = None,
    protections: Sequence[Any] = (),
    attacks: Sequence[str | Attack | Spec] | None = None,
    rules: Rules | None = None,
    target: float = _TARGET,
    auto: Literal["privacy", "coverage"] = "privacy",
    sweep: Sequence[SweepName] = ("rank", "people"),
    cache: str | Path | None = None,
    unseen: bool = False,
    drawn_from: Samples | None = None,
    transfer: Samples | None = None,
    limit: float | None = None,
) -> Findings:
    """Play every case: raw and each protection, every attacker, naive and parrot, and sweeps."""
    rules = rules or Rules()
    _check_wishes(target, sweep)
    makers = [prot.own(p) for p in protections]
    specs = attack_specs(attacks)
    known, seen = look(samples, makers, drawn_from, unseen)
    split, notes = _split(samples, split, known, rules)
    warn_if_hopeless("the gate", limit, len(split.people("test")), rules.level, "test")
    scene = Scene.of(samples, split)
    table = Table(scene, rules, Cache(cache) if cache else None)
    second = None if transfer is None else _second(table, makers, transfer)
    found: list[Sweep] = []
    for i, protection in enumerate(makers):
        if auto == "privacy" and prot.wants_rank(protection):
            rank, why = choose_rank(table, protection, specs, target)
            makers[i] = prot.remaker(protection)(rank)
            found.append(why)
    shipped = _distinct([scene.raw(), *(_ship(scene, p, rules.seed) for p in makers)])
    wanted = [(c, s) for s in shipped for c in cases(scene, s, specs, rules)]
    with table.progress("audit", len(wanted)) as tick:
        measured = [tick(table.play(c, s, table.player)) for c, s in wanted]
    found += _sweeps(table, shipped, makers, specs, target, sweep)
    whom = {s.name: w for s, w in zip(shipped[1:], seen, strict=True) if w is not None}
    notes += [*_as_given(shipped, protections), *(w.sentence(n) for n, w in whom.items())]
    return Findings(scene, rules, shipped, measured, found, notes, makers, whom, table, second)


def _second(table: Table, makers: Sequence[Protection], other: Samples) -> tuple[Table, str]:
    prot.movable(makers)
    scene, note = partner(table.scene, other, table.rules)
    return replace(table, scene=scene), note


def _check_wishes(target: float, sweep: Sequence[SweepName]) -> None:
    if not 0 <= target <= 1:  # NaN is neither
        raise PlanError(f"the target is {target}: give a TAR between 0 and 1, for example 0.05")
    unknown = set(sweep) - {"rank", "people"}
    if unknown:
        raise PlanError(f"no sweep named {sorted(unknown)[0]!r} (known: people, rank)")


def _as_given(shipped: Sequence[Shipped], given: Sequence[Any]) -> list[str]:
    """Say so where a protection object came fitted: a reader might expect a fit on this split."""
    return [
        f"{release.name}: this {type(protection).__name__} came fitted and was audited as it is; "
        "nothing was fitted anew."
        for release, protection in zip(shipped[1:], given, strict=True)
        if prot.came_fitted(protection)
    ]


def _split(
    samples: Samples, split: Split | None, known: Codes, rules: Rules
) -> tuple[Split, list[str]]:
    require_pairs(samples)
    notes = []
    if split is None:
        if len(known) == len(samples.people):
            raise DataError(
                "the projector was fitted on every person in these data: audit it on people it "
                "has not seen"
            )
        split = make_split(samples, seed=rules.seed, taken=known if len(known) else None)
    if split.identity.shape != samples.identity.shape or np.any(split.identity != samples.identity):
        raise DataError("the split was made for other samples: make it again for these")
    prot.check_unseen(samples, split, known)
    if rules.mode == "strong":
        split, note = lend_shadow(split)
        notes += [note] if note else []
    return split, notes


def choose_rank(
    table: Table, protection: Protection, specs: Sequence[Spec], target: float
) -> tuple[int, Sweep]:
    """The smallest rank whose upper bound of worst-case TAR meets the target (P6).

    Measured on calibration people only. If none does, the rank with the lowest upper bound,
    and the sweep's note says so.
    """
    scene, rules = table.scene, table.rules
    people = len(scene.split.people("calibration"))
    warn_if_hopeless("the target of rank auto", target, people, rules.level, "calibration")
    full = _largest(scene, protection)
    subject = _subject(protection, _ship(scene, full, rules.seed))
    top = subject.shipped.eraser.rank if subject.shipped.eraser is not None else 0
    rows = scene.split.calibration
    player = replace(table.brief, calibration=rows, test=rows)
    sweep = sweeps.rank_sweep(
        scene, subject, specs, rules, table.play, player,
        ranks=sweeps.ladder(top), chosen=None, target=target, measured_on="calibration",
    )  # fmt: skip
    ranks = list(sweeps.passing(sweep, target))
    if ranks:
        return ranks[0], sections.chosen(sweep, ranks[0], "")
    usable = [p for p in sweep.points if p.x > 0 and p.tar.high is not None]
    if not usable:
        raise EraserError(
            f"rank='auto' cannot choose: {sweep.points[0].tar}. Use more calibration people, a "
            "higher far, or give a rank"
        )
    best = min(usable, key=lambda p: (p.tar.high or 1.0, p.x))
    why = f"no rank has an upper bound of at most {target:g}; the lowest was taken"
    return best.x, sections.chosen(sweep, best.x, why)


def _largest(scene: Scene, protection: Protection) -> Protection:
    """The protection at the highest rank that it does not refuse."""
    remake = prot.remaker(protection)
    people, dim = len(scene.split.people("fit")), scene.samples.dim
    for rank in reversed(sweeps.ladder(min(people, dim) - 1)):
        candidate = remake(rank)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EffaceWarning)  # of a trial, not of the result
                candidate.fit(scene.samples.take(scene.split.fit))
        except EraserError:
            continue
        return candidate
    raise EraserError("every rank is refused on these data: give more people or a rank with force")


def _ship(scene: Scene, protection: Protection, seed: int) -> Shipped:
    spec = prot.spec_of(protection)
    return scene.ship(protection, spec.name, spec, seed)


def _subject(protection: Protection, shipped: Shipped) -> sweeps.Subject:
    spec = prot.spec_of(protection)
    return sweeps.Subject(protection, spec, shipped, prot.remaker(protection))


def _distinct(shipped: list[Shipped]) -> list[Shipped]:
    """Two releases of one name are told apart by a letter."""
    seen: dict[str, int] = {}
    out = []
    for s in shipped:
        seen[s.name] = seen.get(s.name, 0) + 1
        suffix = "" if seen[s.name] == 1 else f" ({chr(96 + seen[s.name])})"
        out.append(replace(s, name=s.name + suffix))
    return out


def _sweeps(
    table: Table,
    shipped: Sequence[Shipped],
    makers: Sequence[Protection],
    specs: Sequence[Spec],
    target: float,
    wanted: Sequence[SweepName],
) -> list[Sweep]:
    found: list[Sweep] = []
    scene, rules, play, brief = table.scene, table.rules, table.play, table.brief
    if rules.mode == "paper" or not wanted:
        return found
    for release, protection in zip(shipped[1:], makers, strict=True):
        if release.eraser is None:
            continue
        subject = _subject(protection, release)
        if "rank" in wanted:
            found.append(sweeps.rank_sweep(
                scene, subject, specs, rules, play, brief, ranks=sweeps.ladder(release.eraser.rank),
                chosen=release.eraser.rank, target=target,
            ))  # fmt: skip
        if "people" in wanted:
            counts = sweeps.doublings(len(scene.split.people("fit")))
            if not isinstance(protection, Stored):
                found.append(sweeps.fitted_sweep(scene, subject, specs, rules, play, brief, counts))
            pool = len(scene.split.people("fit")) + len(scene.split.people("shadow"))
            found.append(sweeps.attacking_sweep(
                scene, release, specs, rules, play, brief, sweeps.doublings(pool)
            ))  # fmt: skip
    return found

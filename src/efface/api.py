"""The public functions: each command of the command line calls one of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from efface.auditing import sections
from efface.auditing.audit import SweepName, Table, choose_rank, investigate
from efface.auditing.cases import Rules, attack_specs
from efface.auditing.scene import Scene, lend_shadow, summarise
from efface.auditing.worst import worst_case
from efface.data.fingerprint import identity_fingerprints
from efface.data.splits import split as make_split
from efface.errors import PlanError
from efface.protect.linear.eraser import LinearEraser
from efface.registry import make
from efface.report.gate import verdict
from efface.report.schema import SCHEMA
from efface.results import Mode, Report, Spec, Sweep, Transfer
from efface.types import Attack, Samples, Split


def audit(
    samples: Samples,
    *,
    split: Split | None = None,
    protections: Sequence[Any] = (),
    attacks: Sequence[str | Attack | Spec] | None = None,
    far: float = 1e-3,
    mode: Mode = "strong",
    shots: Sequence[int] = (1, 4, 16),
    resamples: int = 5,
    quota: int | None = 5,
    seed: int = 0,
    fail_above: float | None = None,
    target: float | None = None,
    auto: Literal["privacy", "coverage"] = "privacy",
    sweep: Sequence[SweepName] = ("rank", "people"),
    utility: Samples | Sequence[Samples] = (),
    transfer: Samples | None = None,
    bootstrap: int = 2000,
    level: float = 0.95,
    cache: str | Path | None = None,
    command: str = "",
    date: str = "",
    plan: dict[str, Any] | None = None,
) -> Report:
    """Attack the vectors as they are and through each protection; report the worst case.

    ``fail_above`` is the gate: the worst-case TAR at ``far`` that must not be exceeded, judged by
    its upper bound. ``target`` is what ``rank="auto"`` aims at (default: the gate, else 0.05).
    """
    rules = Rules(
        far, mode, tuple(shots), resamples, quota if mode == "paper" else None, seed, bootstrap,
        level,
    )  # fmt: skip
    aim = target if target is not None else fail_above if fail_above is not None else 0.05
    found = investigate(
        samples, split=split, protections=protections, attacks=attacks, rules=rules, target=aim,
        auto=auto, sweep=sweep, cache=cache,
    )  # fmt: skip
    scene, shipped = found.scene, found.shipped
    releases = [summarise(scene, s) for s in shipped]
    worst = [worst_case(s.name, found.measurements) for s in shipped]
    judged = verdict(worst, releases, fail_above, far)
    judged = _with_notes(judged, found.notes)
    sets = [utility] if isinstance(utility, Samples) else list(utility)
    return Report(
        schema=SCHEMA,
        subject=sections.subject(scene),
        verdict=judged,
        releases=releases,
        worst_cases=worst,
        measurements=found.measurements,
        sweeps=found.sweeps,
        transfer=_transfer(scene, transfer, found.protections, attacks, rules),
        utility=sections.utilities(shipped, sets, rules),
        maps=sections.maps(scene, shipped, seed),
        provenance=sections.provenance(rules, command=command, date=date, plan=plan),
    )


def _with_notes(judged: Any, notes: Sequence[str]) -> Any:
    import msgspec

    return msgspec.structs.replace(judged, sentences=[*judged.sentences, *notes])


def _transfer(
    scene: Scene, other: Samples | None, protections: Sequence[Any], attacks: Any, rules: Rules
) -> Transfer | None:
    if other is None:
        return None
    if not protections:
        raise PlanError("transfer needs a protection to move between the data sets")
    split = make_split(other, seed=rules.seed)
    if rules.mode == "strong":
        split, _ = lend_shadow(split)
    second = Scene.of(other, split)
    return sections.transfer(scene, second, protections[0], attack_specs(attacks), rules)


def fit_projector(
    samples: Samples,
    method: str = "isp",
    *,
    rank: int | str = "auto",
    coverage: float | None = None,
    target: float = 0.05,
    far: float = 1e-3,
    everyone: bool = False,
    force: bool = False,
    seed: int = 0,
) -> tuple[LinearEraser, Sweep | None]:
    """A projector from the fit part of the default split, and the sweep that chose its rank.

    ``rank="auto"`` takes the smallest rank whose worst case on calibration people meets
    ``target``, or with ``coverage`` the smallest that covers that share of the energy. The eraser
    carries fingerprints of the people it has seen, so that an audit keeps them out of its test.
    """
    params: dict[str, Any] = {"rank": rank, "force": force}
    if coverage is not None:
        params["coverage"] = coverage
    protection = make("protection", method, **params)
    rows, sweep = np.arange(len(samples)), None
    if everyone and rank == "auto" and coverage is None:
        raise PlanError("rank auto needs held-out people: give a rank or a coverage with --all")
    if not everyone:
        split = make_split(samples, seed=seed)
        rows = split.fit
        if rank == "auto" and coverage is None:
            lent, _ = lend_shadow(split)
            table = Table(Scene.of(samples, lent), Rules(far=far, seed=seed), None)
            best, sweep = choose_rank(table, protection, attack_specs(None), target)
            protection = make("protection", method, rank=best, force=force)
    seen = samples.take(rows)
    eraser = protection.fit(seen).eraser_
    prints = tuple(sorted(identity_fingerprints(seen).values()))
    return replace(eraser, fingerprints=prints), sweep

"""The public functions: each command of the command line calls one of these."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from efface.auditing import protections as prot
from efface.auditing import sections
from efface.auditing.audit import Findings, SweepName, choose_rank, investigate
from efface.auditing.cases import Rules, attack_specs
from efface.auditing.scene import Scene, lend_shadow, summarise
from efface.auditing.table import Table
from efface.auditing.worst import worst_case
from efface.data.samples import require_people
from efface.data.splits import split as make_split
from efface.errors import EraserError, PlanError
from efface.export.fitting import (
    Dtype,
    Encoder,
    Fitting,
    SplitRecord,
    Validation,
    library_versions,
)
from efface.protect.linear.eraser import LinearEraser
from efface.registry import make
from efface.report.gate import check_limits, verdict
from efface.report.schema import SCHEMA
from efface.results import Mode, Report, Spec, Transfer
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
    unseen: bool = False,
    drawn_from: Samples | None = None,
    command: str = "",
    date: str = "",
    plan: dict[str, Any] | None = None,
) -> Report:
    """Attack the vectors as they are and through each protection; report the worst case.

    ``fail_above`` is the gate: the worst-case TAR at ``far`` that must not be exceeded, judged by
    its upper bound. ``target`` is what ``rank="auto"`` aims at (default: the gate, else 0.05).

    An eraser, or a protection that comes fitted, is audited as it is; the people it was fitted on
    are looked for in ``samples`` and kept out of the test. If ``samples`` are a selection, give
    as ``drawn_from`` what they were selected from. Where it cannot be shown that the people tested
    are new to the eraser, nothing passes, unless you vouch for it with ``unseen``.
    """
    rules = Rules(
        far, mode, tuple(shots), resamples, quota if mode == "paper" else None, seed, bootstrap,
        level,
    )  # fmt: skip
    aim = target if target is not None else fail_above if fail_above is not None else 0.05
    sets = [utility] if isinstance(utility, Samples) else list(utility)
    check_limits(fail_above, far)
    sections.check_other_vectors(samples, sets, transfer)
    found = investigate(
        samples, split=split, protections=protections, attacks=attacks, rules=rules, target=aim,
        auto=auto, sweep=sweep, cache=cache, unseen=unseen, drawn_from=drawn_from,
        transfer=transfer, limit=fail_above,
    )  # fmt: skip
    scene, shipped = found.scene, found.shipped
    releases = [summarise(scene, s, found.seen.get(s.name)) for s in shipped]
    worst = [worst_case(s.name, found.measurements) for s in shipped]
    moved, refused = _transfer(found, attacks)
    judged = verdict(worst, releases, fail_above, far)
    judged = _with_notes(judged, [*found.notes, *refused])
    return Report(
        schema=SCHEMA,
        subject=sections.subject(scene),
        verdict=judged,
        releases=releases,
        worst_cases=worst,
        measurements=found.measurements,
        sweeps=found.sweeps,
        transfer=moved,
        utility=sections.utilities(shipped, sets, rules),
        maps=sections.maps(scene, shipped, seed),
        encoding=samples.encoding,
        provenance=sections.provenance(rules, command=command, date=date, plan=plan),
    )


def _with_notes(judged: Any, notes: Sequence[str]) -> Any:
    import msgspec

    return msgspec.structs.replace(judged, sentences=[*judged.sentences, *notes])


def _transfer(found: Findings, attacks: Any) -> tuple[Transfer | None, list[str]]:
    """The 2 x 2 matrix; a rank that the second data set refuses costs the matrix, not the audit."""
    if found.second is None:
        return None, []
    second, note = found.second
    protection = prot.movable(found.protections)
    try:
        tables = (found.table, second)
        return sections.transfer(tables, protection, attack_specs(attacks), note), []
    except EraserError as error:
        return None, [f"Transfer could not be measured: {error}."]


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
    dtype: Dtype = "float32",
    encoder: Encoder | None = None,
    split: Split | None = None,
    seed: int = 0,
) -> tuple[LinearEraser, Fitting]:
    """A projector from the fit part of the split, and the record of how it was made.

    Without ``split`` it is the one that an audit makes of the same samples with the same seed.

    ``rank="auto"`` takes the smallest rank whose worst case on calibration people meets
    ``target``, or with ``coverage`` the smallest that covers that share of the energy. The
    measurement behind it is ``validation`` in the record. The eraser carries fingerprints of the
    people it has seen, so that an audit keeps them out of its test.
    """
    if not 0 <= target <= 1:  # NaN is neither
        raise PlanError(f"the target is {target}: give a TAR between 0 and 1, for example 0.05")
    if everyone and split is not None:
        raise PlanError("a split sets people aside, --all fits on everybody: give one of the two")
    if not force:
        require_people(samples.dataset, len(samples.people), len(samples))
    params: dict[str, Any] = {"rank": rank, "force": force, "dtype": dtype}
    if coverage is not None:
        params["coverage"] = coverage
    protection = make("protection", method, **params)
    by_target = rank == "auto" and coverage is None
    if everyone and by_target:
        raise PlanError("rank auto needs held-out people: give a rank or a coverage with --all")
    split, validation = None if everyone else split or make_split(samples, seed=seed), None
    if split is not None and by_target:
        split, _ = lend_shadow(split)
        validation = _validate(Scene.of(samples, split), protection, target, far, seed)
        params["rank"] = validation.sweep.chosen
        protection = make("protection", method, **params)
    seen = samples if split is None else samples.take(split.fit)
    eraser = protection.fit(seen).eraser_
    record = Fitting(
        dtype=dtype, dataset=samples.dataset, split=_split_record(seen, split), seed=seed,
        versions=library_versions(), validation=validation, encoder=encoder,
    )  # fmt: skip
    return eraser, record


def _validate(scene: Scene, protection: Any, target: float, far: float, seed: int) -> Validation:
    """Attack rank after rank on calibration people; the sweep says which one to take."""
    table = Table(scene, Rules(far=far, seed=seed), None)
    _, sweep = choose_rank(table, protection, attack_specs(None), target)
    return Validation(far=far, sweep=sweep)


def _split_record(seen: Samples, split: Split | None) -> SplitRecord:
    if split is None:
        everyone = (len(seen.people), len(seen))
        return SplitRecord(rule="every person is fitted on", counts={"fit": everyone})
    counts = {part: (people, rows) for part, (people, rows) in split.counts().items()}
    return SplitRecord(rule=split.rule, digest=split.digest(), counts=counts)

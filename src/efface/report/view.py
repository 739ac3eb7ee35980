"""What the page shows, picked from a report and put in order. Pure functions, no markup."""

from __future__ import annotations

from dataclasses import dataclass

from efface.report import pictures
from efface.report.gate import Ruling, deciding, rule
from efface.report.words import clip, rate
from efface.results import (
    Curve,
    Map,
    Measurement,
    ReleaseSummary,
    Report,
    Spec,
    Sweep,
    TransferCell,
    Worst,
)
from efface.types import PARTS

_ICONS = {"pass": "✓", "fail": "✕", "inconclusive": "?", "not applicable": "–"}
_NAME = 48


@dataclass(frozen=True)
class Line:
    """A release in the table of worst cases."""

    name: str
    worst: Worst
    outcome: str
    chance: float | None
    """How many times chance."""


@dataclass(frozen=True)
class Page:
    """Everything the template needs that is not a plain field of the report."""

    icon: str
    first: str
    """Heading of the first section."""
    tone: str
    worst: Worst | None
    raw: Worst | None
    lines: list[Line]
    releases: list[tuple[ReleaseSummary, str]]
    points: list[tuple[str, list[Measurement]]]
    tasks: list[str]
    matrix: list[tuple[str, list[TransferCell | None]]]
    unmeasured: int
    warned: list[ReleaseSummary]
    methods: list[str]
    parts: list[tuple[str, list[int]]]
    pictures: pictures.Pictures | None


def page(report: Report) -> Page:
    worst = {w.release: w for w in report.worst_cases}
    name = raw(report)
    return Page(
        icon=_ICONS[report.verdict.outcome],
        first="Before and after" if len(report.releases) > 1 else "Worst attacker",
        tone=report.verdict.outcome.replace(" ", "-"),
        worst=worst.get(report.verdict.release),
        raw=worst.get(name) if name != report.verdict.release else None,
        lines=_lines(report),
        releases=[(r, spec(r.protection)) for r in releases(report)],
        points=_points(report),
        tasks=list(dict.fromkeys(score.task for score in report.utility)),
        matrix=_matrix(report),
        unmeasured=sum(m.status != "measured" for m in report.measurements),
        warned=[r for r in report.releases if r.warnings],
        methods=list(dict.fromkeys(m.method for m in maps(report))),
        parts=sorted(report.subject.parts.items(), key=_stage),
        pictures=pictures.seen(report),
    )


def raw(report: Report) -> str:
    """Name of the unprotected release; the first release where all are protected."""
    unprotected = (r.name for r in report.releases if r.protection is None)
    return next(unprotected, report.releases[0].name)


def ordered(report: Report) -> list[str]:
    """Names of the releases: raw, then the one that decided, then the rest as they came."""
    first = [raw(report), report.verdict.release]
    return list(dict.fromkeys([*first, *(r.name for r in report.releases)]))


def curves(report: Report) -> list[tuple[int, str, Curve]]:
    """The curve of the worst attacker of each release that has one."""
    worst = {w.release: w.attacker for w in report.worst_cases}
    found = []
    for i, name in enumerate(ordered(report)):
        having = [
            m
            for m in report.measurements
            if m.case.release == name and m.curve is not None and _drawable(m.curve)
        ]
        same = [m for m in having if m.attacker == worst.get(name)] or having
        best = max(same, key=lambda m: m.tar.value or 0.0, default=None)
        if best is not None and best.curve is not None:
            found.append((i, f"{clip(name, 18)}: {clip(best.attacker, 24)}", best.curve))
    return found


def maps(report: Report) -> list[Map]:
    """Before and after side by side: raw first, then the release that decided."""
    order = {name: i for i, name in enumerate(ordered(report))}
    return sorted((m for m in report.maps if m.x), key=lambda m: order[m.release])


def spec(protection: Spec | None) -> str:
    """``isp (rank 128)``: a protection with its parameters on one line."""
    if protection is None:
        return "none"
    shown = {k: v for k, v in protection.params.items() if k != "digest"}
    # What is off or left to the default says nothing here; the JSON has it all.
    params = ", ".join(f"{k} {v}" for k, v in shown.items() if v is not False and v is not None)
    return clip(f"{protection.name} ({params})" if params else protection.name, 160)


def sweep_title(sweep: Sweep) -> str:
    """Two sweeps of one release differ in what was changed and in whom it was measured on."""
    return f"{clip(sweep.release, _NAME)}: {sweep.axis}, on {sweep.measured_on} people"


def setting(measurement: Measurement) -> str:
    """The chosen hyperparameters on one line."""
    shown = (
        f"{k} {rate(v) if isinstance(v, float) else v}" for k, v in measurement.setting.items()
    )
    return clip(", ".join(shown), 120)


def releases(report: Report) -> list[ReleaseSummary]:
    by_name = {r.name: r for r in report.releases}
    return [by_name[name] for name in ordered(report)]


def _lines(report: Report) -> list[Line]:
    ruled: dict[str, Ruling] = {
        r.release: r for r in rule(report.worst_cases, report.releases, report.verdict.limit)
    }
    judged = deciding(report.releases)
    worst = {w.release: w for w in report.worst_cases}
    lines = []
    for name in ordered(report):
        case = worst.get(name) or (ruled[name].worst if name in ruled else None)
        if case is None:
            continue
        outcome = ruled[name].outcome if name in judged else ""
        value = case.tar.value
        lines.append(
            Line(name, case, outcome, None if value is None else value / report.provenance.far)
        )
    return lines


def _points(report: Report) -> list[tuple[str, list[Measurement]]]:
    """Measurements by release; names a report does not list cannot occur, checks see to it."""
    groups: dict[str, list[Measurement]] = {name: [] for name in ordered(report)}
    for measurement in report.measurements:
        groups[measurement.case.release].append(measurement)
    return [(name, rows) for name, rows in groups.items() if rows]


def _matrix(report: Report) -> list[tuple[str, list[TransferCell | None]]]:
    """One row per dataset an eraser was fitted on, one column per dataset tested on."""
    if report.transfer is None:
        return []
    cells = {(c.fitted_on, c.tested_on): c for c in report.transfer.cells}
    rows: list[str | None] = [None, *report.transfer.datasets]
    return [
        (
            "nothing erased" if fitted is None else f"fitted on {clip(fitted, _NAME)}",
            [cells.get((fitted, tested)) for tested in report.transfer.datasets],
        )
        for fitted in rows
        if any(known == fitted for known, _ in cells)
    ]


def _stage(part: tuple[str, list[int]]) -> int:
    """Parts in the order in which they are used; a part of another name comes last."""
    return PARTS.index(part[0]) if part[0] in PARTS else len(PARTS)


def _drawable(curve: Curve) -> bool:
    return any(tar is not None for tar in curve.tar)

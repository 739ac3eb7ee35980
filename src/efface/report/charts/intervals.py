"""Dots with whiskers: before and after per attacker, and what the vectors are good for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from efface.report.charts import axes, svg
from efface.report.charts.marks import BEFORE, NAIVE, PARROT, UNTRAINED, Key, Style, legend, series
from efface.report.words import clip, interval, percent
from efface.results import Estimate, Measurement, UtilityScore

_LEFT, _RIGHT = 92.0, svg.WIDTH - 122.0
_ROW, _GAP = 20.0, 14.0
_LOOKS = {
    "none": ("after", UNTRAINED),
    "naive": ("naive", NAIVE),
    "parrot": ("parrot", PARROT),
}


@dataclass(frozen=True)
class Row:
    """One line of a chart: what it is, its estimate, and how it is drawn."""

    label: str
    estimate: Estimate
    style: Style


Group = tuple[str, list[Row]]


def before_after(
    measurements: Sequence[Measurement], raw: str, release: str, limit: float | None, uid: str
) -> str:
    """TAR of every attacker on the raw vectors and on one release, 0 to 100 %."""
    groups = _attackers(measurements, raw, release)
    far = measurements[0].case.far if measurements else 0.0
    lines = [(far, "reference", f"chance {percent(far)}")]
    if limit is not None:
        lines.append((limit, "target", f"limit {percent(limit)}"))
    title = f"Pairs of one person linked, per attacker: {raw} and {clip(release, 60)}"
    return _rows(groups, 1.0, lines, "same person linked (TAR)", uid, title)


def usefulness(scores: Sequence[UtilityScore], order: Sequence[str], uid: str) -> str:
    """Every task as a share of what the raw vectors reach (P17).

    ``order`` is that of the releases in the report, which gives each its look.
    """
    tasks: dict[str, list[Row]] = {}
    for score in scores:
        row = Row(score.release, score.share, series(order.index(score.release)))
        tasks.setdefault(score.task, []).append(row)
    tops = [v for s in scores for v in (s.share.value, s.share.high) if v is not None]
    top = max(1.0, min(2.0, max(tops, default=1.0)))
    lines = [(1.0, "reference", "unprotected = 100 %")]
    title = "Usefulness of each release as a share of the unprotected vectors"
    groups = list(tasks.items())
    return _rows(groups, top, lines, "share of unprotected", uid, title, bars=True)


def attack_label(measurement: Measurement) -> str:
    """The attack and how much it had, without its knowledge: what a before and after share."""
    threat = measurement.case.threat
    parts = [measurement.case.attack.name]
    if threat.images is not None:
        parts.append(f"k={threat.images}")
    if threat.people is not None:
        parts.append(f"{threat.people:,} people")
    if threat.pool != "both":
        parts.append(f"{threat.pool} people only" if threat.people is None else threat.pool)
    return ", ".join(parts)


def _attackers(measurements: Sequence[Measurement], raw: str, release: str) -> list[Group]:
    groups: dict[str, dict[str, Row]] = {}
    for measurement in measurements:
        case = measurement.case
        if case.release not in (raw, release):
            continue
        label, style = ("before", BEFORE) if case.release == raw else _LOOKS[case.threat.knowledge]
        rows = groups.setdefault(attack_label(measurement), {})
        row = Row(label, measurement.tar, style)
        # Two settings of one attack under one name: the worse for privacy is the one to show.
        if label not in rows or (rows[label].estimate.value or 0) < (row.estimate.value or 0):
            rows[label] = row
    order = ("before", "after", "naive", "parrot")
    return [
        (name, [rows[label] for label in order if label in rows]) for name, rows in groups.items()
    ]


def _rows(
    groups: Sequence[Group],
    top: float,
    lines: Sequence[tuple[float, str, str]],
    x_title: str,
    uid: str,
    title: str,
    bars: bool = False,
) -> str:
    keys = [Key(words, style) for _, style, words in lines]
    names, y = legend(keys, 0.0, 8.0, svg.WIDTH)
    scale = axes.Scale(0.0, top, _LEFT, _RIGHT)
    start, drawn = y + 4, []
    y += 6
    for name, rows in groups:
        drawn.append(svg.text(0.0, y + 12, clip(name, 52), "group"))
        y += _ROW
        for row in rows:
            drawn.append(_row(row, scale, y + 6, bars))
            y += _ROW
        y += _GAP
    bottom = y - _GAP + 6
    grid = [_tick(value, words, scale, start, bottom) for value, words in axes.percents(0, top)]
    marks = [svg.line((scale(v), start), (scale(v), bottom), style) for v, style, _ in lines]
    axis = svg.text(_RIGHT, bottom + 36, x_title, "axis-title", "end")
    said = "; ".join(f"{name}: {_said(rows)}" for name, rows in groups)
    body = [names, *grid, *marks, axis, *drawn]
    return svg.document(uid, title, said, bottom + 44, body)


def _row(row: Row, scale: axes.Scale, y: float, bars: bool) -> str:
    words = svg.text(0.0, y + 4, clip(row.label, 13), "tick")
    estimate = row.estimate
    if estimate.value is None:
        return words + svg.text(_LEFT + 4, y + 4, "too little data", "tick")
    parts = [words]
    x = scale(estimate.value)
    if bars:
        bar = {"x": scale.start, "y": y - 6, "width": max(0.0, x - scale.start), "height": 12.0}
        parts.append(svg.tag("rect", **bar, class_=f"bar {row.style.mark}"))
    if estimate.low is not None and estimate.high is not None:
        parts.append(_whisker(scale(estimate.low), scale(estimate.high), y, bars, row.style))
    if not bars:
        parts.append(row.style.dot(x, y))
    parts.append(svg.text(_RIGHT + 10, y + 4, _short(estimate), "value"))
    return "".join(parts)


def _whisker(low: float, high: float, y: float, bars: bool, style: Style) -> str:
    look = "whisker" if bars else f"whisker {style.line}"
    ends = [svg.line((x, y - 4), (x, y + 4), look) for x in (low, high)]
    return svg.line((low, y), (high, y), look) + "".join(ends)


def _tick(value: float, words: str, scale: axes.Scale, top: float, bottom: float) -> str:
    x = scale(value)
    return svg.line((x, top), (x, bottom), "grid") + svg.text(
        x, bottom + 18, words, "tick", "middle"
    )


def _short(estimate: Estimate) -> str:
    """The numbers in the column at the right, which is narrow: three digits."""
    value = percent(estimate.value, 3)
    if estimate.low is None or estimate.high is None:
        return value
    low, high = (percent(v, 2).removesuffix(" %") for v in (estimate.low, estimate.high))
    return f"{value} [{low}, {high}]"


def _said(rows: Sequence[Row]) -> str:
    return ", ".join(
        f"{row.label} {interval(row.estimate, 'percent')}"
        if row.estimate.value is not None
        else f"{row.label}: too little data"
        for row in rows
    )

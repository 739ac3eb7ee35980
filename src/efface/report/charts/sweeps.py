"""Worst case along rank or number of people: band, dots, target, and what was chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from efface.report.charts import axes, svg
from efface.report.charts.marks import PARROT, Key, Style, legend
from efface.report.words import clip, interval, percent
from efface.results import Estimate, Sweep, SweepPoint

Place = Callable[[float], float]

_TITLES = {
    "rank": "directions removed (rank)",
    "people fitted": "people the eraser was fitted on",
    "people attacking": "people the attacker trained on",
}
_CHOSEN = Style("target", "m-chosen", "circle")


def sweep(data: Sweep, far: float, uid: str) -> str:
    """One point per value measured; the vertical axis is logarithmic where values differ much."""
    points = sorted(data.points, key=lambda p: p.x)
    names, taken = legend(_keys(data, far), 0.0, 8.0, svg.WIDTH)
    frame, y_ticks = _frame(data, points, far, taken)
    place = _spread(points)
    frame = axes.Frame(_fit(frame.x, place, points), frame.y)
    wanted = [v for v in (data.chosen, *(p.x for p in points[-1:])) if v is not None]
    x_ticks = axes.counts([p.x for p in points], lambda v: frame.x(place(v)), wanted)
    body = [
        names,
        frame.draw(
            [(place(v), words) for v, words in x_ticks],
            y_ticks,
            _TITLES[data.axis],
            "same person linked (TAR)" + (", log scale" if frame.y.log else ""),
        ),
        _level(frame, far, "reference"),
        _level(frame, data.target, "target"),
        *_drawn([(place(p.x), p.tar) for p in points], frame),
        _choice(data, points, place, frame),
    ]
    title = f"Worst case along {_TITLES[data.axis]}: {clip(data.release, 60)}"
    return svg.document(uid, title, _said(data, points), frame.y.start + 44, body)


def _keys(data: Sweep, far: float) -> list[Key]:
    keys = [Key("worst case", PARROT.line, PARROT), Key(f"chance {percent(far)}", "reference")]
    if data.target is not None:
        keys.append(Key(f"target {percent(data.target)}", "target"))
    if data.chosen is not None:
        keys.append(Key(f"chosen: {data.chosen:,}", mark=_CHOSEN))
    return keys


def _frame(
    data: Sweep, points: Sequence[SweepPoint], far: float, taken: float
) -> tuple[axes.Frame, list[axes.Tick]]:
    known = [v for p in points for v in (p.tar.value, p.tar.low, p.tar.high) if v and v > 0]
    known += [v for v in (data.target, far) if v and v > 0]
    values = [p.tar.value for p in points if p.tar.value is not None]
    low = 10.0 ** max(-7, math.floor(math.log10(min(known)) + 1e-9))
    if values and max(values) > 10 * max(min(values), low):
        return axes.frame((0, 1, False), (low, 1, True), taken), axes.decades(low, 1)
    top = max(axes.steps(0, 1.25 * max(known)))
    return axes.frame((0, 1, False), (0, top, False), taken), axes.percents(0, top)


def _spread(points: Sequence[SweepPoint]) -> Place:
    """Where a value stands: evenly by doubling if the values span much, else by size."""
    positive = [p.x for p in points if p.x > 0]
    if not positive or max(positive) <= 6 * min(positive):
        return float
    least = min(positive)
    return lambda value: math.log2(1 + value / least)


def _fit(scale: axes.Scale, place: Place, points: Sequence[SweepPoint]) -> axes.Scale:
    places = [place(p.x) for p in points] or [0.0]
    return axes.Scale(min(places), max(places), scale.start + 14, scale.end - 14)


def _level(frame: axes.Frame, value: float | None, style: str) -> str:
    if value is None:
        return ""
    y = frame.y(value)
    return svg.line((frame.x.start, y), (frame.x.end, y), style)


def _drawn(points: Sequence[tuple[float, Estimate]], frame: axes.Frame) -> list[str]:
    """Band, line and dots; a value that could not be measured leaves a gap in all three."""
    parts = []
    for run in _runs(points):
        ends = [
            (frame.at(x, e.low), frame.at(x, e.high))
            for x, e in run
            if e.low is not None and e.high is not None
        ]
        if len(ends) == len(run) > 1:
            outline = [high for _, high in ends] + [low for low, _ in reversed(ends)]
            parts.append(svg.polygon(outline, "band"))
        parts += [svg.line(low, high, "whisker s-after") for low, high in ends]
        middle = [frame.at(x, e.value) for x, e in run if e.value is not None]
        if len(middle) > 1:
            parts.append(svg.polyline(middle, PARROT.line))
        parts += [PARROT.dot(x, y, 3.5) for x, y in middle]
    return parts


def _runs(points: Sequence[tuple[float, Estimate]]) -> list[list[tuple[float, Estimate]]]:
    runs: list[list[tuple[float, Estimate]]] = [[]]
    for x, estimate in points:
        if estimate.value is None:
            runs.append([])
        else:
            runs[-1].append((x, estimate))
    return [run for run in runs if run]


def _choice(data: Sweep, points: Sequence[SweepPoint], place: Place, frame: axes.Frame) -> str:
    """A ring around the value chosen; at the foot of the chart where it was not measured."""
    if data.chosen is None:
        return ""
    tar = next((p.tar.value for p in points if p.x == data.chosen), None)
    y = frame.y.start if tar is None else frame.y(tar)
    return _CHOSEN.dot(frame.x(place(data.chosen)), y, 8.0)


def _said(data: Sweep, points: Sequence[SweepPoint]) -> str:
    listed = "; ".join(
        f"{p.x:,}: " + ("too little data" if p.tar.value is None else interval(p.tar, "percent"))
        for p in points
    )
    chosen = "" if data.chosen is None else f" Chosen: {data.chosen:,}."
    return f"{listed}. Measured on {data.measured_on} people.{chosen}"

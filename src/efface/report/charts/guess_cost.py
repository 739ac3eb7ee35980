"""TPR against the guesses that open half of the people, one line for each way to run a scheme."""

from __future__ import annotations

import math

from efface.readings import GuessArm, GuessCurve, GuessPoint
from efface.report.charts import axes, svg
from efface.report.charts.marks import Key, Style, legend, series
from efface.report.words import clip, percent


def guess_cost(view: GuessCurve, uid: str) -> str:
    """Up is safe and right is usable. A band is the 95 % interval; a line ends where no guess
    worked, for there is no number to draw."""
    shown = _apart(view)
    keys = [Key(clip(name, 40), look.line) for name, _, look in shown]
    names, taken = legend([*keys, Key(f"TPR {percent(view.target)}", "setting")], 0.0, 8.0,
                          svg.WIDTH)  # fmt: skip
    known = [p for _, arm, _ in shown for p in _known(arm)]
    top = max((_high(p) for p in known), default=1.0)
    low = min((p.tpr.value or 0.0 for p in known), default=0.0)
    frame = axes.frame((math.floor(10 * low) / 10, 1, False), (0, max(top, 1.0), False), taken)
    at = frame.x(view.target)
    body = [
        names,
        frame.draw(
            axes.percents(frame.x.low, 1), [(v, f"{v:g}") for v in axes.steps(0, frame.y.high)],
            "genuine tries accepted (TPR)", "bits: log2 of the guesses for half of the people",
        ),
        svg.line((at, frame.y.start), (at, frame.y.end), "setting"),
    ]  # fmt: skip
    for _, arm, look in shown:
        body += _drawn(arm, look, frame)
    said = "; ".join(f"{name}: {_at_target(arm)}" for name, arm, _ in shown)
    title = "TPR against the cost of guessing"
    return svg.document(uid, title, said, frame.y.start + 44, body)


def _apart(view: GuessCurve) -> list[tuple[str, GuessArm, Style]]:
    """Ways that differ in their hash alone have one line."""
    found: dict[tuple[int, int, int], tuple[list[str], GuessArm]] = {}
    for arm in view.arms:
        if arm.points:
            found.setdefault((arm.images, arm.tries, arm.votes), ([], arm))[0].append(arm.name)
    return [(" = ".join(n), arm, series(i)) for i, (n, arm) in enumerate(found.values(), start=1)]


def _drawn(arm: GuessArm, look: Style, frame: axes.Frame) -> list[str]:
    places = [(p.tpr.value or 0.0, p) for p in _known(arm)]
    outline = [frame.at(x, _high(p)) for x, p in places]
    outline += [frame.at(x, p.bits_low) for x, p in reversed(places)]
    line = [frame.at(x, p.bits or 0.0) for x, p in places]
    drawn = [svg.polygon(outline, "band"), svg.polyline(line, look.line)] if len(places) > 1 else []
    return [*drawn, *(look.dot(*place, 2.5) for place in line)]


def _known(arm: GuessArm) -> list[GuessPoint]:
    """Points with a number of guesses, from little to much accepted."""
    found = [p for p in arm.points if p.bits is not None]
    return sorted(found, key=lambda p: p.tpr.value or 0.0)


def _high(point: GuessPoint) -> float:
    return (point.bits or 0.0) if point.bits_high is None else point.bits_high


def _at_target(arm: GuessArm) -> str:
    if arm.best is None:
        return "never there"
    point = arm.best.point
    bits = f"above {point.bits_low:.1f}" if point.bits is None else f"{point.bits:.1f}"
    return f"{bits} bits at TPR {percent(point.tpr.value)}"

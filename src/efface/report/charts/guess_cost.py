"""TPR against the guesses that open half of the people, one line for each way to run a scheme."""

from __future__ import annotations

import math

from efface.readings import GuessArm, GuessCurve, GuessPoint
from efface.report.charts import axes, svg
from efface.report.charts.marks import Key, Style, legend, series
from efface.report.words import clip, percent


def guess_cost(view: GuessCurve, uid: str) -> str:
    """Up is safe and right is usable; where no guess worked the line stands at what the data vouch
    for. A band is the 95 % interval."""
    shown = _apart(view)
    keys = [Key(clip(name, 40), look.line) for name, _, look in shown]
    names, taken = legend([*keys, Key(f"TPR {percent(view.target)}", "setting")], 0.0, 8.0,
                          svg.WIDTH)  # fmt: skip
    top = max((_high(p) for _, arm, _ in shown for p in arm.points), default=1.0)
    low = min((p.tpr.value or 0.0 for _, arm, _ in shown for p in arm.points), default=0.0)
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
    points = sorted(arm.points, key=lambda p: p.tpr.value or 0.0)
    places = [(p.tpr.value or 0.0, p) for p in points]
    outline = [frame.at(x, _high(p)) for x, p in places]
    outline += [frame.at(x, p.bits_low) for x, p in reversed(places)]
    band = [svg.polygon(outline, "band")] if len(places) > 1 else []
    line = [frame.at(x, _middle(p)) for x, p in places]
    dots = [look.dot(*frame.at(x, _middle(p)), 2.5) for x, p in places]
    return [*band, svg.polyline(line, look.line), *dots]


def _middle(point: GuessPoint) -> float:
    return point.bits_low if point.bits is None else point.bits


def _high(point: GuessPoint) -> float:
    return _middle(point) if point.bits_high is None else point.bits_high


def _at_target(arm: GuessArm) -> str:
    if arm.best is None:
        return "never there"
    point = arm.best.point
    return f"{_middle(point):.1f} bits at TPR {percent(point.tpr.value)}"

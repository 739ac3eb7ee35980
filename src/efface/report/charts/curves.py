"""ROC and DET on log axes, cumulative subspace energy, and principal angles."""

from __future__ import annotations

import math
from collections.abc import Sequence

from efface.report.charts import axes, svg
from efface.report.charts.marks import NOTHING, Key, Style, legend, nothing, series
from efface.report.words import clip, one_in, percent
from efface.results import Curve, ReleaseSummary, Transfer

Named = tuple[int, str, Curve]
"""Place of the release in the report, which gives its look; its name; its curve."""
_LEAST_FAR = 1e-6
_MOST_SERIES = 8
_EVERY = 3
"""Marks of zeros stand at every third point of the grid (eight to a decade), each series at others:
or they would run together."""


def roc(curves: Sequence[Named], far: float, uid: str) -> str:
    """TAR over FAR, both logarithmic: there, chance is the straight line TAR = FAR."""
    shown = [(i, name, _pairs(curve)) for i, name, curve in curves[:_MOST_SERIES]]
    floor = _floor([tar for _, _, points in shown for _, tar in points])
    said = "; ".join(f"{name}: {_at(points, far)}" for _, name, points in shown)
    chance = [(max(_LEAST_FAR, floor), max(_LEAST_FAR, floor)), (1.0, 1.0)]
    return _tradeoff(
        shown,
        chance,
        (floor, "same person linked (TAR)", far),
        uid,
        ("ROC: true accept rate over false accept rate, worst attacker of each release", said),
    )


def det(curves: Sequence[Named], far: float, uid: str) -> str:
    """FNMR over FMR, both logarithmic, as ISO/IEC 19795 draws it: high is private."""
    shown = [
        (i, name, [(x, 1 - tar) for x, tar in _pairs(curve)])
        for i, name, curve in curves[:_MOST_SERIES]
    ]
    floor = _floor([miss for _, _, points in shown for _, miss in points])
    grid = [10 ** (-k / 8) for k in range(48, -1, -1)]
    return _tradeoff(
        shown,
        [(x, 1 - x) for x in grid[:-1]] + [(1.0, floor)],
        (floor, "same person missed (FNMR)", far),
        uid,
        (
            "DET: false non-match rate over false match rate, worst attacker of each release",
            "; ".join(f"{name}: {_at(points, far)}" for _, name, points in shown),
        ),
    )


def energy(releases: Sequence[ReleaseSummary], uid: str) -> str:
    """How much of what tells people apart lies in the first directions; a mark at those removed."""
    shown = [(i, r) for i, r in enumerate(releases) if r.energy][:_MOST_SERIES]
    keys = [
        Key(f"{clip(r.name, 20)}: {r.rank} removed", series(i).line, series(i)) for i, r in shown
    ]
    names, taken = legend(keys, 0.0, 8.0, svg.WIDTH)
    longest = max((len(r.energy) for _, r in shown), default=1)
    frame = axes.frame((0, longest, False), (0, 1, False), taken)
    ticks = [(v, f"{v:,.0f}") for v in axes.steps(0, longest)]
    body = [names, frame.draw(ticks, axes.percents(0, 1), "directions", "identity energy")]
    for i, release in shown:
        points = [(0.0, 0.0), *((k + 1.0, share) for k, share in enumerate(release.energy))]
        body.append(_curve(frame, points, series(i)))
        if 0 < release.rank <= len(release.energy):
            body.append(series(i).dot(*frame.at(release.rank, release.energy[release.rank - 1])))
    said = "; ".join(f"{r.name}: {_removed(r)}" for _, r in shown)
    title = "Cumulative share of between-identity energy over directions"
    return svg.document(uid, title, said, frame.y.start + 44, body)


def angles(transfer: Transfer, uid: str) -> str:
    """All cosines of the principal angles beside those of random subspaces (P16)."""
    real, chance = series(1), Style("reference", "m-before", "square")
    keys = [Key("identity subspaces", real.line), Key("random subspaces", chance.line)]
    names, taken = legend(keys, 0.0, 8.0, svg.WIDTH)
    number = len(transfer.cosines)
    frame = axes.frame((1, max(2, number), False), (0, 1, False), taken)
    ticks = [(v, f"{v:,.0f}") for v in axes.steps(1, max(2, number)) if v >= 1 and v % 1 == 0]
    y_ticks = [(v, f"{v:.1f}") for v in axes.steps(0, 1)]
    body = [names, frame.draw(ticks, y_ticks, "principal angle, from closest", "cosine")]
    for cosines, style in ((transfer.random_cosines, chance), (transfer.cosines, real)):
        points = [(k + 1.0, c) for k, c in enumerate(cosines)]
        body.append(_curve(frame, points, style))
    mean = sum(transfer.cosines) / max(1, number)
    base = sum(transfer.random_cosines) / max(1, number)
    title = "Cosines of the principal angles between two identity subspaces"
    said = f"{number} angles; mean cosine {mean:.3f}, for random subspaces {base:.3f}."
    return svg.document(uid, title, said, frame.y.start + 44, body)


def _tradeoff(
    shown: Sequence[tuple[int, str, list[svg.Point]]],
    chance: list[svg.Point],
    axis: tuple[float, str, float],
    uid: str,
    words: tuple[str, str],
) -> str:
    floor, y_title, far = axis
    keys = [Key(name, series(i).line) for i, name, _ in shown]
    keys += [Key("chance", "reference"), Key(f"{one_in(far)} strangers", "setting")]
    keys += [Key("none observed, drawn at the foot", mark=NOTHING)] * _any_zero(shown)
    names, taken = legend(keys, 0.0, 8.0, svg.WIDTH)
    frame = axes.frame((_LEAST_FAR, 1, True), (floor, 1, True), taken)
    body = [
        names,
        frame.draw(
            axes.decades(_LEAST_FAR, 1),
            axes.decades(floor, 1),
            "strangers wrongly linked (FAR)",
            y_title,
        ),
        svg.polyline([frame.at(x, y) for x, y in chance], "reference"),
        svg.line((frame.x(far), frame.y.start), (frame.x(far), frame.y.end), "setting"),
    ]
    for turn, (i, _, points) in enumerate(shown):
        body += [_curve(frame, run, series(i)) for run in _runs(points)]
        # A log axis has no zero: what stands at its foot is told apart, in shape and not by place.
        body += [nothing(series(i)).dot(*frame.at(x, floor)) for x in _zeros(points, turn)]
    return svg.document(uid, words[0], words[1], frame.y.start + 44, body)


def _any_zero(shown: Sequence[tuple[int, str, list[svg.Point]]]) -> bool:
    return any(y == 0 for _, _, points in shown for _, y in points)


def _zeros(points: Sequence[svg.Point], turn: int) -> list[float]:
    """Where a series of which nothing was seen is marked: the first place, or its own third."""
    zeros = [x for x, y in points if y == 0]
    own = [x for x in zeros if round(8 * math.log10(x)) % _EVERY == turn % _EVERY]
    return own or zeros[:1]


def _runs(points: Sequence[svg.Point]) -> list[list[svg.Point]]:
    """The curve in pieces between zeros, of which it is not known how low they are."""
    runs: list[list[svg.Point]] = [[]]
    for point in points:
        if point[1] > 0:
            runs[-1].append(point)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _curve(frame: axes.Frame, points: Sequence[svg.Point], style: Style) -> str:
    places = [frame.at(x, y) for x, y in points]
    if len(places) == 1:
        return style.dot(*places[0])
    return svg.polyline(places, style.line) if places else ""


def _pairs(curve: Curve) -> list[svg.Point]:
    both = zip(curve.far, curve.tar, strict=True)
    return [(far, tar) for far, tar in both if tar is not None and far >= _LEAST_FAR]


def _floor(values: Sequence[float]) -> float:
    """The decade below the smallest rate above zero; zeros are marked on that floor."""
    least = min((v for v in values if v > 0), default=1e-3)
    return float(10.0 ** max(-6, min(-1, math.floor(math.log10(least) + 1e-9))))


def _at(points: Sequence[svg.Point], far: float) -> str:
    """The rate at the grid point closest to the target, in words for the description."""
    if not points:
        return "too little data"
    x, y = min(points, key=lambda p: abs(math.log(p[0]) - math.log(far)))
    return f"{percent(y) if y else 'none observed'} at {x:.3g}"


def _removed(release: ReleaseSummary) -> str:
    if not 0 < release.rank <= len(release.energy):
        return f"{len(release.energy)} directions"
    held = percent(release.energy[release.rank - 1])
    return f"the {release.rank} directions removed hold {held}"

"""The distance picture of the meter: genuine pairs, strangers, and the population's mean."""

from __future__ import annotations

from efface.readings import Distances, Spread
from efface.report.charts import axes, svg
from efface.report.charts.marks import Key, Style, legend, series

_WORDS = {"genuine": "one person", "impostor": "two people", "mean": "population mean"}


def distances(view: Distances, uid: str) -> str:
    """How often each distance occurs, beside the most frequent of its kind: the mean's are so alike
    that shares would press the others flat. What matters is how far left of strangers it lies."""
    shown = [(spread, _look(spread)) for spread in view.spreads if spread.count]
    keys = [Key(_WORDS[s.name], look.line) for s, look in shown]
    names, taken = legend([*keys, Key("t, one person", "setting")], 0.0, 8.0, svg.WIDTH)
    frame = axes.frame((view.edges[0], view.edges[-1], False), (0, 1, False), taken)
    ticks = [(v, f"{v:.1f}") for v in axes.steps(view.edges[0], view.edges[-1])]
    body = [
        names,
        frame.draw(ticks, [], "distance to the enrolled embedding", "how often (own peak = top)"),
        svg.line((frame.x(view.t), frame.y.start), (frame.x(view.t), frame.y.end), "setting"),
    ]
    for spread, look in shown:
        body.append(svg.polyline([frame.at(x, y) for x, y in _steps(view, spread)], look.line))
    said = "; ".join(
        f"{_WORDS[s.name]}: median {s.median:.3f}, 5 to 95 % {s.low:.3f} to {s.high:.3f}"
        for s, _ in shown
    )
    title = "Distances to the enrolled embedding"
    return svg.document(uid, title, f"{said}; t = {view.t:.3f}.", frame.y.start + 44, body)


def _look(spread: Spread) -> Style:
    return series({"genuine": 1, "impostor": 0, "mean": 2}[spread.name])


def _steps(view: Distances, spread: Spread) -> list[svg.Point]:
    """The outline of the histogram, from the first filled bin to the last."""
    filled = [i for i, count in enumerate(spread.bins) if count]
    points = [(view.edges[filled[0]], 0.0)]
    for i in range(filled[0], filled[-1] + 1):
        share = spread.bins[i] / max(spread.bins)
        points += [(view.edges[i], share), (view.edges[i + 1], share)]
    return [*points, (view.edges[filled[-1] + 1], 0.0)]

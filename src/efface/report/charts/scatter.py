"""Some test vectors in two dimensions: one colour and one shape for each person."""

from __future__ import annotations

from efface.report.charts import axes, svg
from efface.report.charts.marks import COLOURS, SHAPES, series, shape
from efface.report.words import clip
from efface.results import Map


def scatter(view: Map, uid: str) -> str:
    """Equal scales on both axes, since distances are what a map is read for."""
    people = sorted(set(view.person))
    side = svg.WIDTH - 62.0
    low_x, low_y, span = _window(view)
    top = 26.0
    frame = axes.Frame(
        axes.Scale(low_x, low_x + span, 48.0, 48.0 + side),
        axes.Scale(low_y, low_y + span, top + side, top),
    )
    body = [frame.draw(_ticks(low_x, span), _ticks(low_y, span), "first axis", "second axis")]
    body += [_person(view, person, frame) for person in people]
    title = f"Map of {len(view.x):,} vectors of {len(people):,} people: {clip(view.release, 60)}"
    said = (
        f"Made with {view.method}. Each person has one colour and one shape; where marks of one "
        "kind lie together, people can be told apart."
    )
    return svg.document(uid, title, said, frame.y.start + 44, body)


def _person(view: Map, person: int, frame: axes.Frame) -> str:
    """All marks of one person as one path; 8 colours and 7 shapes make 56 looks."""
    look = series(person % (COLOURS * len(SHAPES)))
    places = zip(view.x, view.y, view.person, strict=True)
    marks = (shape(look.shape, *frame.at(x, y), 3.0) for x, y, who in places if who == person)
    return svg.path("".join(marks), f"{look.mark} point")


def _window(view: Map) -> tuple[float, float, float]:
    """A square around all points, with a margin so that no mark is cut."""
    if not view.x:
        return 0.0, 0.0, 1.0
    spans = (max(view.x) - min(view.x), max(view.y) - min(view.y))
    span = 1.08 * max(*spans) or 1.0
    middle = ((max(view.x) + min(view.x)) / 2, (max(view.y) + min(view.y)) / 2)
    return middle[0] - span / 2, middle[1] - span / 2, span


def _ticks(low: float, span: float) -> list[axes.Tick]:
    return [(v, f"{v:.3g}" if abs(v) > span * 1e-9 else "0") for v in axes.steps(low, low + span)]

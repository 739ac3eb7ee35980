"""SVG elements as strings. ``text`` is the only door for words, and it escapes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from efface.report.words import clean, clip

# One unit is about one CSS pixel on a phone, so that type drawn here stays readable there.
WIDTH = 420.0
SIZE = 12.5

Point = tuple[float, float]


def number(value: float) -> str:
    """A coordinate: one decimal is a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def tag(name: str, *children: str, **attributes: str | float) -> str:
    """An element. ``class_`` and ``stroke_width`` become ``class`` and ``stroke-width``."""
    parts = [name]
    for key, value in attributes.items():
        shown = number(value) if isinstance(value, float) else escape(str(value))
        parts.append(f'{key.rstrip("_").replace("_", "-")}="{shown}"')
    body = "".join(children)
    return f"<{' '.join(parts)}>{body}</{name}>" if body else f"<{' '.join(parts)}/>"


def text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    return tag("text", escape(clean(words)), x=x, y=y, class_=style or "t", text_anchor=anchor)


def line(a: Point, b: Point, style: str) -> str:
    return tag("line", x1=a[0], y1=a[1], x2=b[0], y2=b[1], class_=style)


def polyline(points: Sequence[Point], style: str) -> str:
    return tag("polyline", points=_points(points), class_=style)


def polygon(points: Sequence[Point], style: str) -> str:
    return tag("polygon", points=_points(points), class_=style)


def path(steps: str, style: str) -> str:
    return tag("path", d=steps, class_=style)


def document(uid: str, title: str, description: str, height: float, body: Iterable[str]) -> str:
    """The chart, scaled to the width it is given, named and described for a screen reader."""
    heads = (
        tag("title", escape(clip(title, 200)), id=f"{uid}-title"),
        tag("desc", escape(clip(description, 1500)), id=f"{uid}-desc"),
    )
    return tag(
        "svg",
        *heads,
        *body,
        class_="chart",
        role="img",
        viewBox=f"0 0 {number(WIDTH)} {number(height)}",
        aria_labelledby=f"{uid}-title {uid}-desc",
    )


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{number(x)},{number(y)}" for x, y in points)

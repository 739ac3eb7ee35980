"""Marks that differ in shape as well as in colour, and the legend that names them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from efface.report.charts import svg
from efface.report.words import clip, width

SHAPES = ("circle", "square", "triangle", "diamond", "plus", "cross", "wedge")
COLOURS = 8
DASHES = 4


def shape(name: str, x: float, y: float, r: float) -> str:
    """Path steps of one mark, so that many marks of one kind make one element."""
    n = svg.number
    if name == "circle":
        half = f"a{n(r)} {n(r)} 0 1 0"
        return f"M{n(x - r)} {n(y)}{half} {n(2 * r)} 0{half} {n(-2 * r)} 0z"
    corners = {
        "square": _around(x, y, 1.25 * r, 4, 45),
        "diamond": _around(x, y, 1.3 * r, 4, 0),
        "triangle": _around(x, y, 1.35 * r, 3, -90),
        "wedge": _around(x, y, 1.35 * r, 3, 90),
    }
    if name in corners:
        return "M" + "L".join(f"{n(a)} {n(b)}" for a, b in corners[name]) + "z"
    turn = 0 if name == "plus" else 45
    ends = _around(x, y, 1.3 * r, 4, turn)
    return "".join(
        f"M{n(ends[i][0])} {n(ends[i][1])}L{n(ends[i + 2][0])} {n(ends[i + 2][1])}" for i in (0, 1)
    )


def _around(x: float, y: float, r: float, corners: int, turn: float) -> list[svg.Point]:
    angles = (math.radians(turn + 360 * k / corners) for k in range(corners))
    return [(x + r * math.cos(a), y + r * math.sin(a)) for a in angles]


@dataclass(frozen=True)
class Style:
    """How one series looks: CSS classes for line and mark, and the mark's shape."""

    line: str
    mark: str
    shape: str

    def dot(self, x: float, y: float, r: float = 4.0) -> str:
        return svg.path(shape(self.shape, x, y, r), self.mark)


BEFORE = Style("s-before", "m-before", "circle")
NAIVE = Style("s-after", "m-after", "diamond")
PARROT = Style("s-after", "m-after", "circle")
NOTHING = Style("", "m-nothing", "wedge")
"""A rate of which nothing was seen: it points down, for how low it is nobody knows."""
UNTRAINED = Style("s-after", "m-after", "square")


def nothing(style: Style) -> Style:
    """The mark of a rate of which nothing was seen, in the colour of a series."""
    return Style("", style.mark.replace("solid", "hollow"), NOTHING.shape)


def series(index: int) -> Style:
    """The look of the n-th series: colour, dash and shape go round at different paces.

    The first, which is the raw vectors wherever they are shown, is grey.
    """
    colour, form = (index - 1) % COLOURS, SHAPES[(index - 1) % len(SHAPES)]
    stroke = "hollow" if form in ("plus", "cross") else "solid"
    return Style(f"s c{colour} d{(index - 1) % DASHES}", f"m {stroke} c{colour}", form)


@dataclass(frozen=True)
class Key:
    """An entry of a legend: words, with a line, a mark or both."""

    words: str
    line: str = ""
    mark: Style | None = None


def legend(keys: list[Key], x: float, y: float, right: float) -> tuple[str, float]:
    """Entries in rows that wrap before the right edge; also the height they took."""
    drawn, left, row = [], x, y
    most = max(8, int((right - x - 28) / (0.56 * svg.SIZE)))
    for key in keys:
        words = clip(key.words, min(most, 44))
        needed = 28 + width(words, svg.SIZE) + 14
        if left > x and left + needed > right:
            left, row = x, row + 18
        if key.line:
            drawn.append(svg.line((left, row), (left + 20, row), key.line))
        if key.mark is not None:
            drawn.append(key.mark.dot(left + 10, row))
        drawn.append(svg.text(left + 26, row + 4, words))
        left += needed
    return "".join(drawn), row - y + 18 if keys else 0.0

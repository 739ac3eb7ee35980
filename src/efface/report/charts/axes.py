"""Scales, ticks that do not collide, and the frame of a chart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from efface.report.charts import svg
from efface.report.words import width

Tick = tuple[float, str]
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale:
    """From a value to a coordinate; values outside are drawn at the edge."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, value = self._map(self.low), self._map(self.high), self._map(value)
        if high <= low:
            return (self.start + self.end) / 2
        place = min(1.0, max(0.0, (value - low) / (high - low)))
        return self.start + place * (self.end - self.start)

    def _map(self, value: float) -> float:
        return math.log10(max(value, self.low, 1e-300)) if self.log else value


def decade(value: float) -> str:
    """``0.001`` -> ``10⁻³``."""
    power = round(math.log10(value))
    return "1" if power == 0 else f"10{str(power).translate(_SUPERSCRIPT)}"


def decades(low: float, high: float) -> list[Tick]:
    """Powers of ten from low to high, every second or third where there are many."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / 7))
    # Count from the top, so that 1 always stands at the end of a scale of rates.
    return [(10.0**k, decade(10.0**k)) for k in range(last, first - 1, -step)][::-1]


def steps(low: float, high: float, most: int = 5) -> list[float]:
    """Round values, 1, 2 or 5 times a power of ten apart."""
    if not high > low:
        return [low]
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def percents(low: float, high: float) -> list[Tick]:
    return [(v, f"{100 * v:.6g} %") for v in steps(low, high)]


def counts(
    values: Sequence[int], scale: Callable[[float], float], first: Sequence[int] = ()
) -> list[Tick]:
    """Ticks at the values that were measured, leaving out those whose words would collide.

    Values in ``first`` keep their place and the others make room for them.
    """
    kept: list[tuple[float, float, Tick]] = []
    for value in [*first, *values]:
        words = f"{value:,}"
        half = width(words, svg.SIZE) / 2 + 3
        left, right = scale(value) - half, scale(value) + half
        if all(right <= start or left >= end for start, end, _ in kept):
            kept.append((left, right, (float(value), words)))
    return [tick for _, _, tick in sorted(kept)]


@dataclass(frozen=True)
class Frame:
    """The plotting area with its two scales."""

    x: Scale
    y: Scale

    def at(self, x: float, y: float) -> svg.Point:
        return self.x(x), self.y(y)

    def draw(
        self, x_ticks: Sequence[Tick], y_ticks: Sequence[Tick], x_title: str, y_title: str
    ) -> str:
        """Grid, tick labels, and the titles of both axes; the y title stands above, upright."""
        left, right, bottom, top = self.x.start, self.x.end, self.y.start, self.y.end
        parts = []
        for value, words in y_ticks:
            y = self.y(value)
            parts.append(svg.line((left, y), (right, y), "grid"))
            parts.append(svg.text(left - 7, y + 4, words, "tick", "end"))
        for value, words in x_ticks:
            x = self.x(value)
            parts.append(svg.line((x, bottom), (x, bottom + 4), "axis"))
            parts.append(svg.text(x, bottom + 18, words, "tick", "middle"))
        parts.append(svg.line((left, bottom), (right, bottom), "axis"))
        parts.append(svg.text(0.0, top - 14, y_title, "axis-title"))
        parts.append(svg.text(right, bottom + 36, x_title, "axis-title", "end"))
        return "".join(parts)


def frame(x: tuple[float, float, bool], y: tuple[float, float, bool], top: float) -> Frame:
    """The usual frame: room for tick labels at the left, a drawing 210 high below ``top``."""
    bottom = top + 30 + 210
    return Frame(
        Scale(x[0], x[1], 48.0, svg.WIDTH - 14.0, x[2]),
        Scale(y[0], y[1], bottom, top + 30, y[2]),
    )

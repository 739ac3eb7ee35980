"""Mouth, nose and the folds between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from efface.data.rendered.canvas import Canvas, hill
from efface.data.rendered.people import Colour, Person
from efface.data.rendered.shots import Shot
from efface.data.rendered.view import band, soft, unit

_INSIDE = (0.035, 0.010, 0.010)
_TEETH = (0.62, 0.58, 0.50)


def mouth_corners(person: Person, shot: Shot) -> tuple[float, float]:
    """x and y of the corner on the positive side; the other one mirrors it."""
    width = person.mouth.width * (1 + 0.22 * shot.smile - 0.12 * shot.open)
    return width, person.mouth.level - 0.012 - 0.10 * shot.smile + 0.02 * shot.open


def paint_nose(canvas: Canvas, person: Person) -> None:
    """Nostrils, wings, and the shade at the sides of the bridge and below the tip."""
    nose = person.nose
    part = canvas.near(0, nose.length - 0.16, 0.42, 0.42)
    x, y = np.abs(part.x), part.y - np.float32(nose.length)
    wide = np.float32(nose.width)
    part.dim(np.float32(0.16) * hill((x - 0.62 * wide) / 0.07) * hill((y + 0.28) / 0.2))
    dx, dy = x - np.float32(0.78) * wide, (y + 0.05) * 0.8
    rim = hill((np.sqrt(dx * dx + dy * dy) - 0.075) / 0.022)
    part.dim(np.float32(0.34) * rim * soft(x - 0.72 * wide, part.scale * 0.4))
    part.dim(np.float32(0.16) * hill((y - 0.045) / 0.035) * hill(part.x / (1.1 * wide)))
    across = x - np.float32(0.47) * wide
    down = (y + 0.004 - 0.35 * across) / np.float32(nose.nostril * 0.5)
    across = across / np.float32(nose.nostril * 1.25)
    hole = (1 - across * across - down * down) * np.float32(nose.nostril * 0.5)
    part.mix(soft(hole, part.scale) * np.float32(0.7), (0.02, 0.008, 0.006))


def paint_folds(canvas: Canvas, person: Person, shot: Shot) -> None:
    """Lines from the nose to the mouth and on the forehead: age and smile."""
    age, smile = person.skin.wrinkles, max(shot.smile, 0)
    wide, corner = person.nose.width, mouth_corners(person, shot)
    part = canvas.near(0, 0.66, 0.62, 0.30)
    x, y = np.abs(part.x), part.y
    along = (y - (person.nose.length - 0.04)) / (corner[1] + 0.08 - person.nose.length)
    outwards = (corner[0] + 0.05 - wide) * (1.2 - 0.2 * along)
    line = x - (wide + 0.05) - outwards * unit(along)
    ends = unit(along * 4) * unit((1.15 - along) * 4)
    part.dim(np.float32(0.10 + 0.16 * age + 0.14 * smile) * hill(line / 0.035) * ends)
    if age > 0.25:
        part = canvas.near(0, -0.55, 0.7, 0.3)
        waves = hill(np.sin((part.y + 0.04 * np.cos(3 * part.x)) * 21) / 0.36)
        near = hill(part.x / 0.35) * hill((part.y + 0.55) / 0.14)
        part.dim(np.float32(0.2 * age) * waves * near)


def paint_mouth(canvas: Canvas, person: Person, shot: Shot) -> None:
    """Two lips with what is between them."""
    mouth = person.mouth
    half, corner = mouth_corners(person, shot)
    part = canvas.near(0, mouth.level + 0.07, 0.5, 0.34)
    along, y = part.x / np.float32(half), part.y
    rest = np.maximum(1 - along * along, 0)
    root = np.sqrt(rest)
    arch = root * np.sqrt(root)
    middle = np.float32(corner) + np.float32(mouth.level - corner) * rest
    gap = np.float32(0.17 * shot.open + 0.05 * max(shot.smile - 0.5, 0)) * arch
    top, low = middle - gap * np.float32(0.35), middle + gap * np.float32(0.65)
    upper = np.float32(mouth.upper * (1 - 0.2 * max(shot.smile, 0))) * arch * _bow(person, along)
    lower = np.float32(mouth.lower) * root
    lips = soft(np.minimum(y - top + upper, low + lower - y), part.scale * 0.8) * (rest > 0)
    part.mix(lips * np.float32(0.85), _tone(person))
    part.dim(lips * np.float32(0.28) * soft(top - y, part.scale))
    sheen = hill((y - low - np.float32(0.45) * lower) / 0.018) * rest
    part.mix(lips * np.float32(0.16) * sheen, (0.9, 0.8, 0.8))
    _between(part, y - top, low - y, gap, rest)
    part.dim(np.float32(0.26) * hill((y - low - lower - 0.05) / 0.035) * hill(along / 0.6))
    ends = hill((np.abs(along) - 1) * np.float32(half / 0.035)) * hill((y - corner) / 0.03)
    part.dim(np.float32(0.25) * ends)


def _bow(person: Person, along: Any) -> Any:
    """The factor that dips the upper lip in the middle and raises it on both sides."""
    bow = np.float32(person.mouth.bow)
    return 1 - 0.35 * bow * hill(along / 0.16) + 0.2 * bow * hill((np.abs(along) - 0.33) / 0.2)


def _tone(person: Person) -> Colour:
    """Lips are skin, darker and redder."""
    red, green, blue = (s * m for s, m in zip(person.skin.colour, person.mouth.colour, strict=True))
    return (red, green, blue)


def _between(part: Canvas, below_top: Any, above_low: Any, gap: Any, rest: Any) -> None:
    """Dark, with the upper teeth; closed, a line."""
    inside = np.minimum(below_top, above_low)
    part.mix(soft(inside, part.scale) * (gap > 0) * np.float32(0.95), _INSIDE)
    teeth = soft(np.minimum(inside, 0.075 - below_top), part.scale) * (gap > 0.02)
    part.mix(teeth * np.float32(0.9) * unit(rest * 1.6), _TEETH)
    line = band(below_top, np.float32(0.010), part.scale) * (rest > 0)
    part.mix(line * np.float32(0.8), (0.05, 0.015, 0.012))

"""Eyes, brows and glasses."""

from __future__ import annotations

from typing import Any

import numpy as np

from efface.data.rendered.canvas import Canvas, hill
from efface.data.rendered.people import Person
from efface.data.rendered.shots import Shot
from efface.data.rendered.view import band, soft, unit

_LASH = (0.006, 0.005, 0.005)
_WHITE = (0.52, 0.47, 0.44)


def paint_eyes(canvas: Canvas, person: Person, shot: Shot) -> None:
    """Both eyes in their sockets, looking where the shot says. Mirrored, they are drawn as one."""
    _sockets(canvas, person)
    eyes = person.eyes
    part = canvas.near(0, eyes.level, eyes.apart + 0.31, 0.23)
    x = np.abs(part.x) - np.float32(eyes.apart)
    y = part.y - np.float32(eyes.level) + np.float32(eyes.tilt) * x
    opened = eyes.openness * (1 - shot.blink) * (1 - 0.2 * max(shot.smile, 0))
    upper, lower = _lids(eyes.width, opened, x)
    below_upper, below_lower = y - upper, y - lower
    _fold(part, person, x, below_upper)
    white = soft(np.minimum(below_upper, -below_lower), part.scale)
    part.mix(white, _WHITE)
    part.dim(white * np.float32(0.35) * hill((np.abs(x) / np.float32(eyes.width) - 1.05) / 0.3))
    _irises(part, person, shot, x, y, white)
    part.dim(white * np.float32(0.5) * hill(np.maximum(below_upper, 0) / 0.035))
    _lashes(part, person, x, below_upper, below_lower)


def paint_brows(canvas: Canvas, person: Person, shot: Shot) -> None:
    """Two tapering arcs of hair."""
    brows, eyes = person.brows, person.eyes
    level = eyes.level - brows.height - 0.05 * shot.raise_brows
    part = canvas.near(0, level, eyes.apart + 0.40, 0.20)
    along = (np.abs(part.x) - np.float32(eyes.apart + 0.02)) / np.float32(brows.length)
    from_top, squared = along - 0.25, along * along
    curve = brows.arch * from_top * from_top - brows.slope * brows.length * along
    thick = brows.thickness * unit(1.15 - 0.55 * along - 0.5 * squared * squared)
    ends = soft((1 - np.abs(along)) * brows.length, part.scale * 0.5)
    strands = 0.85 + 0.15 * np.sin(along * 70 + part.y * 90)
    share = band(part.y - (level - brows.arch) - curve, thick, part.scale * 0.8) * ends * strands
    part.mix(share * np.float32(0.9 * brows.density), brows.colour)


def paint_glasses(canvas: Canvas, person: Person) -> None:
    """Two frames, a bridge and the beginnings of the sides."""
    glasses, eyes = person.glasses, person.eyes
    if not glasses.worn:
        return
    level, apart = eyes.level + 0.03, max(eyes.apart, glasses.width + 0.07)
    part = canvas.near(0, level, 1.05, 0.34)
    x, y = np.abs(part.x), part.y - level
    across, down = (x - apart) / glasses.width, y / glasses.height
    across, down = across * across, down * down
    # An ellipse where round is 2, a rectangle with round corners where it is 0.
    power = across * across + down * down + np.float32(glasses.round) * across * down
    inside = np.float32(min(glasses.width, glasses.height)) * (1 - np.sqrt(np.sqrt(power)))
    part.mix(soft(inside, part.scale) * np.float32(0.06), (0.6, 0.65, 0.7))
    frame = band(inside, np.float32(0.018), part.scale)
    bridge = band(y + 0.03, 0.016, part.scale) * soft(apart - glasses.width - x, part.scale)
    arms = band(y + 0.05, 0.018, part.scale) * soft(x - apart - glasses.width, part.scale)
    part.mix(unit(frame + bridge + arms), glasses.colour)


def _sockets(canvas: Canvas, person: Person) -> None:
    """Shade around the eyes: deepest between nose and brow, and below the lids."""
    eyes = person.eyes
    part = canvas.near(0, eyes.level - 0.02, eyes.apart + 0.42, 0.34)
    x, y = np.abs(part.x) - np.float32(eyes.apart), part.y - np.float32(eyes.level)
    deep = np.float32(0.22 + 1.5 * eyes.deep)
    part.dim(deep * hill((x + 0.12) / 0.19) * hill((y + 0.1) / 0.09))
    part.tint(0.5 * hill(x / 0.26) * hill((y - 0.02) / 0.15), (0.86, 0.78, 0.76))
    line = y - 0.19 + x * x
    part.dim(np.float32(0.05 + 0.25 * eyes.bags) * hill(line / 0.022) * hill(x / 0.13))


def _lids(width: float, opened: float, x: Any) -> tuple[Any, Any]:
    """The two curves that an eye lies between; the upper is highest towards the nose."""
    along = x / np.float32(width)
    rest = np.maximum(1 - along * along, 0)
    root = np.sqrt(rest)
    upper = np.float32(-0.62 * opened) * root * np.sqrt(root) * (1 - 0.15 * along)
    lower = np.float32(0.38 * opened) * rest * (1 + 0.2 * along)
    return upper, lower


def _fold(part: Canvas, person: Person, x: Any, below_lid: Any) -> None:
    """The fold above the eye and the lid below it."""
    eyes = person.eyes
    along = x / np.float32(eyes.width * 1.15)
    reach = unit(1 - along * along)
    fold = below_lid + np.float32(0.025 + eyes.crease) * np.sqrt(reach)
    part.dim(np.float32(0.42) * hill(fold / np.float32(0.014 + 0.1 / part.scale)) * reach)
    part.dim(np.float32(0.1) * soft(-fold, part.scale) * soft(below_lid, part.scale))


def _irises(part: Canvas, person: Person, shot: Shot, x: Any, y: Any, white: Any) -> None:
    eyes = person.eyes
    size, side = np.float32(eyes.iris_size), np.sign(part.x)
    dx = x - np.float32(0.07 * shot.gaze_x) * side
    dy = y - np.float32(0.03 * shot.gaze_y - 0.012)
    away = np.sqrt(dx * dx + dy * dy)
    disc = soft(size - away, part.scale) * white
    part.mix(disc, eyes.iris)
    part.dim(disc * np.float32(0.75) * soft(away - np.float32(0.82) * size, part.scale * 0.6))
    part.mix(soft(np.float32(0.42) * size - away, part.scale) * white, (0.004, 0.004, 0.004))
    dx, dy = dx + np.float32(0.28) * size * side, dy + np.float32(0.3) * size
    glint = soft(np.float32(0.24) * size - np.sqrt(dx * dx + dy * dy), part.scale)
    part.mix(glint * white * np.float32(0.9), (0.9, 0.9, 0.92))


def _lashes(part: Canvas, person: Person, x: Any, below_upper: Any, below_lower: Any) -> None:
    """A dark edge above, thicker outwards, and a faint one below."""
    eyes = person.eyes
    reach = soft(np.float32(eyes.width) * 1.08 - np.abs(x), part.scale)
    thick = np.float32(0.012 + 0.014 * eyes.lash) * (1 + 0.5 * x / np.float32(eyes.width))
    upper = band(below_upper + thick * np.float32(0.4), thick, part.scale)
    part.mix(upper * reach * np.float32(0.92), _LASH)
    lower = band(below_lower, np.float32(0.008), part.scale)
    part.mix(lower * reach * np.float32(0.25 + 0.3 * eyes.lash), (0.08, 0.04, 0.03))

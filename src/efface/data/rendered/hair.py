"""Hair: what is behind the head, what falls beside it, and what grows on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from efface.data.rendered.body import Frame
from efface.data.rendered.canvas import Canvas, hill
from efface.data.rendered.people import Colour, Hair, Person
from efface.data.rendered.skin import texture
from efface.data.rendered.surface import Surface
from efface.data.rendered.view import Plane, View, soft, unit


def lay_back(frame: Frame, view: View, person: Person, light: Colour) -> None:
    """The outline around the skull, and the fall of long hair behind neck and shoulders."""
    hair = person.hair
    if hair.length < 0.1:
        return
    part, u, v = _window(frame, view, person)
    wavy = _waves(u, v, person)
    volume = hair.volume * (0.55 if hair.length < 0.4 else 1.0)
    x, y = u / np.float32(1 + 0.85 * volume), v / np.float32(person.head.height + volume)
    outline = 1 - np.sqrt(x * x + y * y) + wavy - np.maximum(v - 0.15, 0) * np.float32(0.9)
    if hair.length > 0.4:
        fall = np.minimum(_fall(person, u, v, wavy), (v + 0.1) * 4)
        outline = np.maximum(outline, fall)
    _lay(part, person, light, soft(outline, view.scale * 0.8), u, v)


def lay_locks(frame: Frame, view: View, person: Person, light: Colour) -> None:
    """Long hair in front of the shoulders."""
    if person.hair.length < 0.55:
        return
    part, u, v = _window(frame, view, person)
    wavy = _waves(u, v, person)
    inner = np.abs(u) - np.float32(0.78) + 0.18 * unit(v - 1.2) + wavy
    fall = np.minimum(_fall(person, u, v, wavy), np.minimum(inner, v - 0.3))
    _lay(part, person, light, soft(fall, view.scale * 0.8), u, v)


def scalp(skin: Canvas, seen: Surface, person: Person) -> Plane:
    """The share of each pixel of the head that hair on the skull covers."""
    hair = person.hair
    x, y = skin.x, skin.y
    if hair.length < 0.06 and not hair.bald:
        return np.zeros_like(x)
    ragged = texture(x, y, 5.0, person.number + 5) * np.float32(0.035)
    ragged += texture(x * 4, y * 0.5, 9.0, person.number) * np.float32(0.05)
    above = _hairline(person, x) + ragged - y
    sides = np.float32(0.28) - np.float32(0.6) * y - seen.z + ragged
    temples = np.minimum(sides, np.float32(0.42 + 0.25 * hair.length) - y)
    covered = np.maximum(above, temples)
    if hair.bald:
        crown = seen.z * 0.5 - np.float32(0.35 * hair.bald) + unit(-y - 0.4)
        rest: Plane = soft(np.minimum(covered, 0.12 - crown), 8.0) * np.float32(0.8)
        return rest
    share: Plane = soft(covered, skin.scale * (0.25 + 0.2 * (hair.fringe > 0)))
    return share


def paint_hair(skin: Canvas, person: Person, share: Plane) -> None:
    """Strands on the skull, with the band in which they shine, and their shade on the skin."""
    hair = person.hair
    down = max(1, round(0.05 * skin.scale))
    shade = np.zeros_like(share)
    shade[down:] = share[:-down]
    skin.dim(np.float32(0.30) * shade * (1 - share))
    strands = _strands(skin.x, skin.y, person)
    shine = hill((skin.y + 0.95 + 0.2 * skin.x * skin.x) / 0.12)
    shine = shine * np.float32(0.35 * (1 - hair.curl))
    strands = strands * (1 + shine)
    shine *= np.float32(0.012)
    skin.mix(share, [np.float32(c) * strands + shine for c in hair.colour])


def _hairline(person: Person, x: Plane) -> Any:
    """The height at which hair begins on the forehead."""
    hair = person.hair
    side = np.maximum(np.abs(x) - np.float32(0.55), 0)
    line = np.float32(-hair.line) + 0.10 * x * x + np.float32(1.6) * side * np.sqrt(side)
    if hair.recede:
        line = line - np.float32(0.30 * hair.recede) * hill((np.abs(x) - 0.42) / 0.16)
    if hair.fringe:
        sweep = np.tanh((x - np.float32(hair.parting)) * (3 if hair.parting > 0 else -3))
        line = line + np.float32(hair.fringe) * (0.775 + 0.225 * sweep) * hill(x / 0.62)
    return line


def _window(frame: Frame, view: View, person: Person) -> tuple[Frame, Plane, Plane]:
    """The part of the picture around all hair, and its coordinates about the skull's middle."""
    hair, high = person.hair, person.head.height + person.hair.volume + 0.1
    reach = 1.15 + hair.volume
    box = np.array([[x, y] for x in (-reach, reach) for y in (-high, max(_end(hair), 0.9))])
    rows, columns = view.window(view.scale * box @ view.tilt.T + view.centre, 2)
    u, v = view.plane(rows, columns)
    return frame.part(rows, columns), u + np.float32(0.12 * view.turn[0, 2]), v


def _end(hair: Hair) -> float:
    """How far below the eyes long hair ends."""
    return 0.3 + 2.4 * max(hair.length - 0.35, 0)


def _waves(x: Plane, y: Plane, person: Person) -> Plane:
    """How far curls reach over the outline."""
    curl = person.hair.curl
    waves: Plane = texture(x, y, 2.5 + 5 * curl, person.number + 5) * np.float32(0.03 + 0.05 * curl)
    return waves


def _fall(person: Person, x: Plane, y: Plane, wavy: Plane) -> Plane:
    """Distance from the edge of the hair that falls beside the face, positive inside."""
    hair = person.hair
    wide = np.float32(1 + 0.55 * hair.volume) + 0.05 * np.sin(2.2 * y)
    wide = wide - 0.06 * np.maximum(y - 0.9, 0)
    above_end = np.float32(_end(hair)) + 3 * wavy - y
    inside: Plane = np.minimum(wide + 2 * wavy - np.abs(x), above_end)
    return inside


def _lay(part: Frame, person: Person, light: Colour, share: Plane, u: Plane, v: Plane) -> None:
    shade = _strands(u, v, person) * (0.68 + 0.25 * np.clip(0.6 - v, -0.6, 1))
    both = zip(person.hair.colour, light, strict=True)
    part.lay(share, [np.float32(c * w) * shade for c, w in both])


def _strands(x: Any, y: Any, person: Person) -> Any:
    """Brightness of hair: fine along its fall, rough where it curls."""
    curl = np.float32(person.hair.curl)
    fine = texture(x * 5 + 0.6 * y, y * 0.7, 9.0, person.number + 13)
    rough = texture(x, y, 8.0, person.number + 17)
    return 1 + np.float32(0.45) * ((1 - curl) * fine + np.float32(1.3) * curl * rough)

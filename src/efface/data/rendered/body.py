"""Shoulders and clothes, which belong to the scene; neck and ears, which belong to the person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from efface.data.rendered.canvas import hill
from efface.data.rendered.people import Colour, Person
from efface.data.rendered.scenes import Collar, Scene
from efface.data.rendered.shots import Shot
from efface.data.rendered.skin import texture
from efface.data.rendered.view import Plane, View, band, soft, unit

_NECKLINES: dict[Collar, tuple[float, float]] = {
    "round": (0.72, 2.02), "vee": (0.66, 2.3), "shirt": (0.55, 1.95), "jacket": (0.5, 2.6),
}  # fmt: skip
"""Half the width of the opening at the neck, and how far down it goes."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A picture being made, or a window of it: colours, and how much of each pixel is whose."""

    colour: Plane
    """3 x rows x columns, linear."""
    person: Plane
    """The share of each pixel that depends on the person."""
    face: Plane
    """The share of each pixel that is skin of the face."""

    def part(self, rows: slice, columns: slice) -> Frame:
        """A window, for drawing into."""
        return Frame(
            self.colour[:, rows, columns], self.person[rows, columns], self.face[rows, columns]
        )

    def lay(self, share: Plane, colour: Sequence[Any], *, own: bool = True) -> None:
        """Cover with a layer; ``own`` says that it belongs to the person."""
        rest = 1 - share
        for plane, value in zip(self.colour, colour, strict=True):
            plane *= rest  # exactly nothing is left of what is covered wholly
            plane += share * value
        if own:
            np.maximum(self.person, share, out=self.person)
        else:
            np.multiply(self.person, rest, out=self.person)
        np.multiply(self.face, rest, out=self.face)


def lay_neck(frame: Frame, view: View, person: Person, shot: Shot, light: Colour) -> None:
    """A pillar from the jaw down, in the head's shadow at the top, widening to the chest."""
    part, u, v = _trunk(frame, view, 1.3)
    wide = np.float32(person.neck) * (1 + 0.8 * unit(v - 1.35) ** 2)
    middle = np.float32(0.25 * np.sin(shot.yaw)) * unit(1.6 - v)
    across = np.abs(u - middle) / wide
    share = soft((1 - across) * wide, view.scale) * soft(v - 0.7, view.scale)
    chest = soft(v - 1.56 - 0.31 * np.abs(u), view.scale)
    across = np.minimum(across, 1)
    shade = 0.62 + 0.28 * unit((v - 1.25) / 0.7) - 0.3 * across * across * across
    shade = shade - 0.12 * hill((v - 1.85) / 0.05) * hill((np.abs(u) - 0.28) / 0.2)
    part.lay(np.maximum(share, chest), _toned(person.skin.colour, light, shade))


def lay_clothes(frame: Frame, view: View, scene: Scene) -> None:
    """What is worn. It does not depend on the person, only on the scene and the shot."""
    part, u, v = _trunk(frame, view, 2.7)
    clothes, light = scene.clothes, scene.light
    x = np.abs(u)
    beyond = np.maximum(x - 1.9, 0)
    slope = 1.52 + 0.27 * x + 0.55 * beyond * beyond
    share = soft(v - slope, view.scale) * (1 - _opening(clothes.collar, x, v))
    bright = (light.fill + 0.45 * light.key * (1 + 0.25 * light.x * u)) * (1.15 - 0.12 * x)
    shade = (1 + np.float32(0.22) * texture(u, v, 2.2, scene.number + 11)) * bright
    pattern = _pattern(clothes.stripes, u, v)
    cloth = [a + pattern * (b - a) for a, b in zip(clothes.colour, clothes.second, strict=True)]
    part.lay(share, [w * shade * c for w, c in zip(light.colour, cloth, strict=True)], own=False)
    middle = slice(*np.flatnonzero(x[0] < 0.6)[[0, -1]])
    near, x, shade = part.part(slice(None), middle), x[:, middle], shade[:, middle]
    if clothes.collar == "jacket":
        _lay_jacket(near, view, scene, x, v, shade)
    if clothes.collar in ("shirt", "jacket"):
        _lay_flaps(near, view, scene, x, v, shade)


def lay_ear(frame: Frame, view: View, person: Person, light: Colour, side: int) -> None:
    """The ear on one side of the head, seen more from the side the more the head is turned."""
    away = -side * float(np.arctan2(view.turn[0, 2], view.turn[0, 0]))  # positive: turned to us
    place = view.turn @ np.array([side * (0.98 - 0.05 * max(away, 0)), 0.14, -0.06])
    wide, high = person.ears * (0.11 + 0.12 * max(away, -0.3)), person.ears * 0.25
    corners = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]]) * (high + 0.1) + place[:2]
    rows, columns = view.window(view.scale * corners @ view.tilt.T + view.centre)
    u, v = view.plane(rows, columns)
    q = (v - np.float32(place[1])) / np.float32(high)
    p = (u - np.float32(place[0])) * np.float32(side / wide) + 0.25 * q
    rim = np.sqrt(p * p + q * q) + 0.15 * np.maximum(q, 0)
    shade = 0.80 - 0.30 * hill((rim - 0.5) / 0.2) * (q < 0.55) - 0.3 * hill((p + 0.55) / 0.3)
    share = soft((1 - rim) * np.float32(wide), view.scale)
    frame.part(rows, columns).lay(share, _toned(person.skin.colour, light, shade))


def _trunk(frame: Frame, view: View, reach: float) -> tuple[Frame, Plane, Plane]:
    """The part of the picture below the jaw, ``reach`` to each side, and coordinates in which
    the trunk is upright: it neither turns nor tilts with the head."""
    x, y = view.centre
    top = min(max(int(y + 0.65 * view.scale), 0), view.size)
    left = min(max(int(x - reach * view.scale), 0), view.size)
    right = min(max(int(x + reach * view.scale) + 1, 0), view.size)
    u = (np.arange(left, right) - x) / view.scale
    v = (np.arange(top, view.size)[:, None] - y) / view.scale
    part = frame.part(slice(top, view.size), slice(left, right))
    return part, u.astype(np.float32)[None], v.astype(np.float32)


def _opening(collar: Collar, x: Plane, v: Plane) -> Any:
    """Where skin shows at the neck."""
    wide, deep = _NECKLINES[collar]
    if collar in ("vee", "jacket"):
        return soft((deep - v) * np.float32(wide / (deep - 1.5)) - x, 40.0)
    across, down = x / np.float32(wide), (v - 1.5) / np.float32(deep - 1.5)
    return soft(1 - across * across - down * down, 12.0)


def _pattern(stripes: float, u: Plane, v: Plane) -> Any:
    if not stripes:
        return np.float32(0)
    along = u if stripes > 0 else v
    waves = 1.2 * np.sin(along * np.float32(2 * np.pi * abs(stripes)))
    return np.clip(waves, -0.4, 0.4) + np.float32(0.4)


def _lay_jacket(part: Frame, view: View, scene: Scene, x: Plane, v: Plane, shade: Plane) -> None:
    """A shirt below it, at times a tie, and the edges of the lapels."""
    clothes, scale = scene.clothes, view.scale
    inner = soft((2.6 - v) * 0.45 - x, scale) * soft(v - 1.62 - 0.2 * x, scale)
    part.lay(inner, [np.float32(c) * shade for c in clothes.second], own=False)
    if scene.number % 2:
        tie = soft(0.04 + 0.04 * v - x, scale) * soft(v - 1.78, scale)
        part.lay(tie, [np.float32(c) * shade for c in scene.colours[1]], own=False)
    lapel = band(x - (2.62 - v) * 0.47, 0.03, scale) * soft(v - 1.65, scale) * 0.5
    part.lay(lapel, [np.float32(0.3 * c) * shade for c in clothes.colour], own=False)


def _lay_flaps(part: Frame, view: View, scene: Scene, x: Plane, v: Plane, shade: Plane) -> None:
    """The two points of a collar."""
    clothes, scale = scene.clothes, view.scale
    inner = x - 0.16 - (v - 1.72)
    flap = soft(np.minimum(inner, 0.98 - 0.3 * v - x), scale)
    flap = flap * soft(v - 1.52 - 0.12 * x, scale) * soft(1.98 - v, scale)
    tone = clothes.second if clothes.collar == "jacket" else clothes.colour
    part.lay(flap, [np.float32(min(1.15 * c + 0.02, 1)) * shade for c in tone], own=False)
    edge = band(inner, 0.012, scale) * flap * 0.5
    part.lay(edge, [np.float32(0.4 * c) * shade for c in tone], own=False)


def _toned(colour: Colour, light: Colour, shade: Plane) -> list[Plane]:
    return [np.float32(c * w) * shade for c, w in zip(colour, light, strict=True)]

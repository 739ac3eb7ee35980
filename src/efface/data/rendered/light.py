"""How light falls on a head."""

from __future__ import annotations

import numpy as np

from efface.data.rendered.canvas import Canvas
from efface.data.rendered.people import Person
from efface.data.rendered.scenes import Scene
from efface.data.rendered.shots import Shot
from efface.data.rendered.surface import Surface
from efface.data.rendered.view import Matrix, Plane, unit

_WRAP = np.float32(0.18)
"""How far beyond its edge soft light reaches."""
_SCATTER = (0.12, -0.05, -0.1)
"""Light that has been under the skin comes out redder in the half shade."""


def light_head(
    skin: Canvas, seen: Surface, person: Person, scene: Scene, shot: Shot, hair: Plane
) -> None:
    """A soft main light from one side, fill from all, a sheen where there is no hair."""
    light = scene.light
    way = _unit_length(np.array([light.x + shot.light_x, light.y + shot.light_y, 1.0]))
    direct = unit((_towards(seen, way) + _WRAP) / (1 + _WRAP))
    _, down, front = seen.normal
    fill = np.float32(light.fill) * (np.float32(0.82) - np.float32(0.18) * down)
    fill = fill * (np.float32(0.6) + np.float32(0.4) * front)
    gloss = np.maximum(_towards(seen, _unit_length(way + np.array([0, 0, 1]))), 0)
    for _ in range(4):
        gloss *= gloss  # to the sixteenth power
    gloss *= np.float32(0.25 * person.skin.shine * light.key) * (1 - hair)
    edge = direct * (1 - direct)
    for channel, scatter in enumerate(_SCATTER):
        level = fill + np.float32(light.key) * (direct + np.float32(scatter) * edge)
        own = skin.colour[channel]
        own *= level * np.float32(light.colour[channel])
        own += gloss


def _towards(seen: Surface, way: Matrix) -> Plane:
    right, down, front = (n * np.float32(w) for n, w in zip(seen.normal, way, strict=True))
    right += down
    right += front
    return right


def _unit_length(vector: Matrix) -> Matrix:
    unit_vector: Matrix = vector / np.linalg.norm(vector)
    return unit_vector

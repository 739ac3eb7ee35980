"""One picture: a person in a scene as a shot shows them, with everything that is true of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from efface.data.rendered.backdrop import backdrop
from efface.data.rendered.body import Frame, lay_clothes, lay_ear, lay_neck
from efface.data.rendered.camera import exposed
from efface.data.rendered.canvas import Canvas, canvas
from efface.data.rendered.eyes import paint_brows, paint_eyes, paint_glasses
from efface.data.rendered.hair import lay_back, lay_locks, paint_hair, scalp
from efface.data.rendered.light import light_head
from efface.data.rendered.mouth import mouth_corners, paint_folds, paint_mouth, paint_nose
from efface.data.rendered.people import Person
from efface.data.rendered.relief import Relief, relief
from efface.data.rendered.scenes import Scene
from efface.data.rendered.shots import Shot
from efface.data.rendered.skin import paint_beard, paint_skin
from efface.data.rendered.surface import surface
from efface.data.rendered.view import Matrix, View, view

SMALLEST, LARGEST = 64, 256


@dataclass(frozen=True, eq=False)
class Rendered:
    """A picture with its truth."""

    picture: NDArray[np.uint8]
    face: NDArray[np.bool_]
    """Pixels that are mostly skin of the face, features and glasses included, hair left out."""
    person: NDArray[np.bool_]
    """Pixels that would be different with another person: all others would not."""
    landmarks: Matrix
    """Eyes, nose, mouth corners, from the picture's left; centres of pixels are whole numbers."""
    box: Matrix
    """x1, y1, x2, y2 of the face mask, edges."""


def render(person: Person, scene: Scene, shot: Shot, size: int = 128) -> Rendered:
    """Draw it. The same three give the same pixels, on every machine of one kind."""
    seen_from, shape = view(shot, size), relief(person, shot)
    frame = Frame(
        backdrop(scene, size, (shot.pan_x, shot.pan_y)),
        np.zeros((size, size), np.float32), np.zeros((size, size), np.float32),
    )  # fmt: skip
    glow = _glow(scene)
    lay_back(frame, seen_from, person, glow)
    lay_neck(frame, seen_from, person, shot, glow)
    lay_clothes(frame, seen_from, scene)
    lay_locks(frame, seen_from, person, glow)
    near = -1 if shot.yaw > 0 else 1
    if person.hair.length < 0.5:
        lay_ear(frame, seen_from, person, glow, -near)
    _lay_head(frame, seen_from, shape, person, scene, shot)
    if person.hair.length < 0.5:
        lay_ear(frame, seen_from, person, glow, near)
    face = frame.face >= 0.5
    return Rendered(
        exposed(frame.colour, shot), face, _spread(frame.person > 0),
        landmarks(seen_from, shape, person, shot), _box(face),
    )  # fmt: skip


def landmarks(seen_from: View, shape: Relief, person: Person, shot: Shot) -> Matrix:
    """The five points of the face, projected."""
    eyes, nose = person.eyes, person.nose
    wide, level = mouth_corners(person, shot)
    x = np.array([-eyes.apart, eyes.apart, 0, -wide, wide])
    sight = eyes.level - 0.12 * eyes.openness
    y = np.array([sight, sight, nose.length - 0.09, level, level])
    return seen_from.pixels(shape.points(x, y))


def _lay_head(
    frame: Frame, seen_from: View, shape: Relief, person: Person, scene: Scene, shot: Shot
) -> None:
    seen = surface(seen_from, shape)
    skin = canvas(seen, seen_from, shape, person.skin.colour)
    _paint(skin, person, shot)
    covered = scalp(skin, seen, person)
    paint_hair(skin, person, covered)
    light_head(skin, seen, person, scene, shot, covered)
    part = frame.part(seen.rows, seen.columns)
    part.lay(seen.cover, [*skin.colour])
    part.face[...] = seen.cover * (1 - covered) * (seen.z > 0)


def _paint(skin: Canvas, person: Person, shot: Shot) -> None:
    paint_skin(skin, person)
    paint_beard(skin, person)
    paint_folds(skin, person, shot)
    paint_nose(skin, person)
    paint_mouth(skin, person, shot)
    paint_eyes(skin, person, shot)
    paint_brows(skin, person, shot)
    paint_glasses(skin, person)


def _glow(scene: Scene) -> tuple[float, float, float]:
    """Light on what is not shaded by its form."""
    level = 0.75 * scene.light.key + 0.7 * scene.light.fill
    red, green, blue = scene.light.colour
    return (level * red, level * green, level * blue)


def _spread(touched: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """And the neighbours that the lens mixes in."""
    out = touched.copy()
    out[1:] |= touched[:-1]
    out[:-1] |= touched[1:]
    across = out.copy()
    across[:, 1:] |= out[:, :-1]
    across[:, :-1] |= out[:, 1:]
    return across


def _box(face: NDArray[np.bool_]) -> Matrix:
    rows, columns = np.flatnonzero(face.any(axis=1)), np.flatnonzero(face.any(axis=0))
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], np.float64)

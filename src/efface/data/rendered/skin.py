"""Skin: flush, unevenness, freckles, a mole, and the hair that grows on a jaw."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from efface.data.rendered.canvas import Canvas, hill
from efface.data.rendered.people import Person, scaled
from efface.data.rendered.view import Plane, soft, unit


def paint_skin(canvas: Canvas, person: Person) -> None:
    """What skin has before features are on it."""
    skin = person.skin
    spots = texture(canvas.x, canvas.y, 9.0, person.number)
    canvas.dim(np.float32(-2 * skin.uneven) * spots)
    part = canvas.near(0, 0.40, 0.95, 0.32)
    cheeks, nose = hill((np.abs(part.x) - 0.52) / 0.22), hill(part.x / 0.14)
    near = (cheeks + 0.8 * nose) * hill((part.y - 0.40) / 0.16)
    part.tint(np.float32(skin.flush) * near, (1.06, 0.76, 0.74))
    if skin.freckles:
        _freckles(canvas, person)
    if skin.mole[2]:
        x, y, size = skin.mole
        part = canvas.near(x, y, 2 * size, 2 * size)
        dx, dy = part.x - np.float32(x), part.y - np.float32(y)
        spot = soft(np.float32(size) - np.sqrt(dx * dx + dy * dy), part.scale)
        part.mix(spot * np.float32(0.75), (0.06, 0.03, 0.02))


def paint_beard(canvas: Canvas, person: Person) -> None:
    """Stubble, moustache and beard: hair over the jaw, the chin and the upper lip."""
    hair, mouth, nose = person.hair, person.mouth, person.nose
    if not (hair.stubble or hair.beard or hair.moustache):
        return
    part = canvas.near(0, 0.9, 1.0, 0.5)
    x, y = np.abs(part.x), part.y
    edge = 0.78 - 0.22 * x * x - 0.75 * unit(x - 0.72)
    jaw = unit((y - edge) / 0.12)
    lip = hill((y - ((nose.length + mouth.level) / 2 + 0.015)) / 0.065) * unit((0.43 - x) / 0.1)
    grain = 0.75 + 0.5 * texture(part.x, part.y, 45.0, person.number + 3)
    part.mix(unit(jaw + lip) * grain * np.float32(0.3 * hair.stubble), scaled(hair.colour, 0.7))
    hairs = jaw * np.float32(hair.beard) + lip * np.float32(1.1 * hair.moustache)
    part.mix(np.minimum(hairs * grain * np.float32(1.1), 0.96), scaled(hair.colour, 0.8))


def texture(x: Any, y: Any, fineness: float, number: int) -> Any:
    """Smooth noise fixed to the face, between -1 and 1; another for every number."""
    column = (x * np.float32(fineness * 4) + np.float32(4096 + number * 37 % 256)).astype(np.int32)
    row = (y * np.float32(fineness * 4) + np.float32(4096 + number * 101 % 256)).astype(np.int32)
    row &= 255
    row <<= 8
    return _tile().take(row + (column & 255), mode="clip")


def _freckles(canvas: Canvas, person: Person) -> None:
    part = canvas.near(0, 0.3, 0.85, 0.4)
    dots = np.clip(texture(part.x, part.y, 60.0, person.number + 7) - 0.55, 0, 0.5) * 2
    near = hill(part.x / 0.5) * hill((part.y - 0.3) / 0.22)
    part.tint(unit(dots * np.float32(person.skin.freckles) * near), (0.62, 0.48, 0.4))


@lru_cache(maxsize=1)
def _tile() -> Plane:
    """A 256 x 256 torus of noise with waves of four pixels and more."""
    rng = np.random.default_rng(20)
    waves = np.fft.rfft2(rng.standard_normal((256, 256)))
    fy, fx = np.fft.fftfreq(256)[:, None], np.fft.rfftfreq(256)
    tile = np.fft.irfft2(waves * np.exp(-60 * (fy**2 + fx**2)), s=(256, 256))
    even: Plane = np.clip(tile / (2.5 * tile.std()), -1, 1).astype(np.float32)
    return even

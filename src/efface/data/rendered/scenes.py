"""Where: backdrop, clothes and light. Two people in one scene wear the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from efface.data.rendered.people import Colour

Kind = Literal["studio", "wall", "shelves", "bricks", "garden", "night", "street", "curtain"]
KINDS: tuple[Kind, ...] = (
    "studio", "wall", "shelves", "bricks", "garden", "night", "street", "curtain",
)  # fmt: skip
Collar = Literal["round", "vee", "shirt", "jacket"]


@dataclass(frozen=True)
class Clothes:
    collar: Collar
    colour: Colour
    second: Colour
    stripes: float
    """Stripes per unit; 0 for none, negative for stripes across."""


@dataclass(frozen=True)
class Light:
    x: float
    y: float
    """Where the main light comes from, right and down of the camera."""
    key: float
    fill: float
    colour: Colour


@dataclass(frozen=True)
class Scene:
    """All that stays the same from picture to picture in one place."""

    number: int
    seed: int
    kind: Kind
    colours: tuple[Colour, Colour, Colour]
    blur: float
    """Of the backdrop, as a share of the picture's side."""
    clothes: Clothes
    light: Light


def scene(seed: int, number: int) -> Scene:
    """Scene ``number`` of the world ``seed``: always the same, however many others there are."""
    rng = np.random.default_rng([seed, 2, number])
    kind = KINDS[int(rng.integers(len(KINDS)))]
    colours = tuple(_colour(rng, 0.55) for _ in range(3))
    light = Light(
        float(rng.normal(0, 0.6)), float(rng.normal(-0.55, 0.25)), float(rng.uniform(0.8, 1.25)),
        float(rng.uniform(0.28, 0.55)), _tinged(rng),
    )  # fmt: skip
    return Scene(
        number, seed, kind, (colours[0], colours[1], colours[2]),
        float(rng.uniform(0.004, 0.03)), _clothes(rng), light,
    )  # fmt: skip


def _clothes(rng: np.random.Generator) -> Clothes:
    collars: tuple[Collar, ...] = ("round", "vee", "shirt", "jacket")
    collar = collars[int(rng.integers(4))]
    stripes = float(rng.choice([0, 0, 0, 3, 5, -4]))
    second = _colour(rng, 0.4) if collar in ("round", "vee") else (0.75, 0.75, 0.77)
    return Clothes(collar, _colour(rng, 0.7), second, 0.0 if collar == "jacket" else stripes)


def _colour(rng: np.random.Generator, most: float) -> Colour:
    """Any hue, mostly muted."""
    grey, strength, hue = rng.uniform(0.03, most), rng.beta(1.2, 4), rng.uniform(0, 2 * np.pi)
    wheel = 0.5 + 0.5 * np.cos(hue + np.array([0, 2.094, 4.189]))
    mixed = grey * ((1 - strength) + 2 * strength * wheel)
    red, green, blue = np.clip(mixed, 0.01, 0.9)
    return (float(red), float(green), float(blue))


def _tinged(rng: np.random.Generator) -> Colour:
    """Daylight to lamplight."""
    warm = float(rng.normal(0.02, 0.06))
    return (1 + warm, 1.0, 1 - 1.2 * warm)

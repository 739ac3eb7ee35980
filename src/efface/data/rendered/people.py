"""Who: the parameters that make a person, the same in all of their pictures.

Lengths are in units of half the width of a face; y points down, the eyes are near y = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

Colour = tuple[float, float, float]
"""Linear red, green and blue, from 0 to 1."""


@dataclass(frozen=True)
class Head:
    """The outline of the face and the relief that is not of one feature."""

    height: float
    temple: float
    jaw: float
    chin: float
    chin_drop: float
    cheek: float
    brow_ridge: float
    depth: float


@dataclass(frozen=True)
class Skin:
    colour: Colour
    flush: float
    """How red cheeks, nose and lips are."""
    uneven: float
    freckles: float
    wrinkles: float
    shine: float
    mole: tuple[float, float, float]
    """Place and size of one mark; size 0 where there is none."""


@dataclass(frozen=True)
class Eyes:
    apart: float
    level: float
    width: float
    openness: float
    tilt: float
    crease: float
    iris: Colour
    iris_size: float
    lash: float
    bags: float
    deep: float


@dataclass(frozen=True)
class Brows:
    height: float
    arch: float
    thickness: float
    length: float
    slope: float
    density: float
    colour: Colour


@dataclass(frozen=True)
class Nose:
    length: float
    width: float
    bridge: float
    tip: float
    projection: float
    nostril: float
    bend: float


@dataclass(frozen=True)
class Mouth:
    level: float
    width: float
    upper: float
    lower: float
    bow: float
    colour: Colour
    """Of the lips, as factors of the skin's."""


@dataclass(frozen=True)
class Hair:
    colour: Colour
    length: float
    """0 shaved, 0.3 short, 0.6 to the jaw, 1 to the shoulders."""
    volume: float
    line: float
    """Where the hairline is above the eyes."""
    recede: float
    parting: float
    fringe: float
    curl: float
    bald: float
    beard: float
    moustache: float
    stubble: float


@dataclass(frozen=True)
class Glasses:
    worn: bool
    width: float
    height: float
    round: float
    """2 for ellipses, 0 for rectangles."""
    colour: Colour


@dataclass(frozen=True)
class Person:
    """All that stays the same from picture to picture."""

    number: int
    head: Head
    skin: Skin
    eyes: Eyes
    brows: Brows
    nose: Nose
    mouth: Mouth
    hair: Hair
    glasses: Glasses
    ears: float
    neck: float


def scaled(colour: Colour, factor: float) -> Colour:
    """A colour made darker or lighter."""
    red, green, blue = colour
    return (red * factor, green * factor, blue * factor)

"""Drawing people: traits that hang together, person by person."""

from __future__ import annotations

import numpy as np

from efface.data.rendered.people import (
    Brows,
    Colour,
    Eyes,
    Glasses,
    Hair,
    Head,
    Mouth,
    Nose,
    Person,
    Skin,
    scaled,
)  # fmt: skip
from efface.data.rendered.view import Matrix


def person(seed: int, number: int) -> Person:
    """Person ``number`` of the world ``seed``: always the same, however many others there are."""
    return _Traits(np.random.default_rng([seed, 1, number])).person(number)


_SKINS = np.array(
    [
        [0.82, 0.52, 0.39],
        [0.74, 0.44, 0.30],
        [0.60, 0.34, 0.20],
        [0.44, 0.23, 0.125],
        [0.30, 0.155, 0.085],
        [0.18, 0.088, 0.052],
    ]
)
_HAIRS = np.array(
    [[0.012, 0.010, 0.010], [0.035, 0.02, 0.013], [0.10, 0.052, 0.027], [0.24, 0.13, 0.06],
     [0.46, 0.31, 0.15], [0.26, 0.07, 0.025]]
)  # fmt: skip
_IRISES = np.array(
    [[0.045, 0.022, 0.012], [0.11, 0.055, 0.025], [0.17, 0.13, 0.05], [0.13, 0.20, 0.12],
     [0.14, 0.24, 0.36], [0.24, 0.28, 0.31]]
)  # fmt: skip


_FRAMES = np.array([[0.01, 0.01, 0.01], [0.06, 0.03, 0.02], [0.4, 0.38, 0.33]])


class _Traits:
    """One person's: three hidden numbers (build, age, tone) steer the rest."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.build = rng.normal()
        self.age = rng.random()
        self.tone = rng.random()

    def normal(self, mean: float, deviation: float, low: float, high: float) -> float:
        return float(np.clip(self.rng.normal(mean, deviation), low, high))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def colour(self, palette: Matrix, at: float, spread: float = 0.06) -> Colour:
        place = float(np.clip(at, 0, 1)) * (len(palette) - 1)
        low = min(int(place), len(palette) - 2)
        mixed = palette[low] + (place - low) * (palette[low + 1] - palette[low])
        shift = self.rng.normal(0, spread) + self.rng.normal(0, spread / 2, 3)
        red, green, blue = np.clip(mixed * np.exp(shift), 0.004, 0.95)
        return (float(red), float(green), float(blue))

    def person(self, number: int) -> Person:
        hair = self.hair()
        return Person(
            number, self.head(), self.skin(), self.eyes(), self.brows(hair), self.nose(),
            self.mouth(), hair, self.glasses(), self.normal(1, 0.15, 0.7, 1.35),
            self.normal(0.55 + 0.05 * self.build, 0.035, 0.42, 0.72),
        )  # fmt: skip

    def head(self) -> Head:
        return Head(
            height=self.normal(1.36, 0.055, 1.22, 1.52),
            temple=self.normal(0.93, 0.03, 0.85, 1.0),
            jaw=self.normal(0.80 + 0.035 * self.build, 0.05, 0.66, 0.95),
            chin=self.normal(0.42 + 0.035 * self.build, 0.06, 0.26, 0.62),
            chin_drop=self.normal(1.30, 0.05, 1.16, 1.44),
            cheek=self.normal(0.06, 0.03, 0, 0.14),
            brow_ridge=self.normal(0.05 + 0.02 * self.build, 0.02, 0, 0.12),
            depth=self.normal(1.08, 0.05, 0.95, 1.2),
        )

    def skin(self) -> Skin:
        mole = (self.rng.uniform(-0.7, 0.7), self.rng.uniform(-0.1, 1.0))
        size = self.rng.uniform(0.018, 0.035) if self.chance(0.35) else 0.0
        return Skin(
            colour=self.colour(_SKINS, self.tone + self.rng.normal(0, 0.03)),
            flush=self.normal(0.35, 0.2, 0.05, 0.9),
            uneven=self.normal(0.05, 0.02, 0.01, 0.1),
            freckles=self.rng.uniform(0.2, 0.8) if self.chance(0.12 * (self.tone < 0.4)) else 0.0,
            wrinkles=float(np.clip(self.age * 1.3 - 0.35 + self.rng.normal(0, 0.1), 0, 1)),
            shine=self.normal(0.10, 0.04, 0.02, 0.22),
            mole=(float(mole[0]), float(mole[1]), float(size)),
        )

    def eyes(self) -> Eyes:
        return Eyes(
            apart=self.normal(0.445, 0.026, 0.38, 0.52),
            level=self.normal(0.0, 0.03, -0.08, 0.08),
            width=self.normal(0.205, 0.018, 0.16, 0.25),
            openness=self.normal(0.155, 0.024, 0.09, 0.22),
            tilt=self.normal(0.06, 0.08, -0.14, 0.26),
            crease=self.normal(0.055, 0.03, 0.0, 0.12),
            iris=self.colour(_IRISES, self.rng.beta(1.1, 1.3) * (1.05 - self.tone), 0.15),
            iris_size=self.normal(0.088, 0.006, 0.074, 0.104),
            lash=self.normal(0.5 - 0.2 * self.build, 0.2, 0.1, 1.0),
            bags=float(np.clip(self.age * 0.8 + self.rng.normal(-0.1, 0.2), 0, 1)),
            deep=self.normal(0.10 + 0.015 * self.build, 0.035, 0.02, 0.2),
        )

    def brows(self, hair: Hair) -> Brows:
        return Brows(
            height=self.normal(0.27 - 0.02 * self.build, 0.03, 0.19, 0.36),
            arch=self.normal(0.07 - 0.02 * self.build, 0.03, 0.0, 0.15),
            thickness=self.normal(0.055 + 0.012 * self.build, 0.014, 0.025, 0.1),
            length=self.normal(0.30, 0.03, 0.22, 0.38),
            slope=self.normal(0.0, 0.07, -0.16, 0.16),
            density=self.normal(0.8, 0.15, 0.35, 1.0),
            colour=scaled(hair.colour, 0.6),
        )

    def nose(self) -> Nose:
        return Nose(
            length=self.normal(0.50, 0.04, 0.38, 0.60),
            width=self.normal(0.20 + 0.07 * self.tone, 0.028, 0.14, 0.34),
            bridge=self.normal(0.085, 0.02, 0.05, 0.14),
            tip=self.normal(0.11, 0.02, 0.07, 0.17),
            projection=self.normal(0.32, 0.06, 0.18, 0.48),
            nostril=self.normal(0.05, 0.009, 0.03, 0.075),
            bend=self.normal(0.0, 0.05, -0.12, 0.14),
        )

    def mouth(self) -> Mouth:
        red = self.rng.uniform(0.0, 1.0) if self.build < -0.2 and self.chance(0.5) else 0.0
        return Mouth(
            level=self.normal(0.80, 0.03, 0.72, 0.88),
            width=self.normal(0.34, 0.03, 0.26, 0.43),
            upper=self.normal(0.062 + 0.03 * self.tone - 0.008 * self.build, 0.016, 0.025, 0.12),
            lower=self.normal(0.085 + 0.03 * self.tone - 0.008 * self.build, 0.018, 0.04, 0.15),
            bow=self.normal(0.35, 0.2, 0.0, 0.8),
            colour=(0.92 + 0.27 * red, 0.61 - 0.34 * red, 0.62 - 0.27 * red),
        )

    def hair(self) -> Hair:
        grey = float(np.clip((self.age - 0.62) * 2.5 + self.rng.normal(0, 0.15), 0, 1))
        place = self.rng.beta(1.0, 1.6) * float(np.clip(1.25 - 1.5 * self.tone, 0, 1))
        plain = np.array(self.colour(_HAIRS, place, 0.1))
        mixed = plain + grey * (np.array([0.48, 0.48, 0.47]) - plain)
        man = self.build > 0
        bald = self.chance((0.35 if man else 0.0) * max(self.age - 0.3, 0) * 2)
        long = self.rng.uniform(0.5, 1.0) if self.chance(0.12 if man else 0.8) else 0.0
        short = self.rng.uniform(0.08, 0.4)
        bearded = man and self.chance(0.4)
        return Hair(
            colour=(float(mixed[0]), float(mixed[1]), float(mixed[2])),
            length=0.05 if bald else float(max(long, short)),
            volume=self.normal(0.13 + 0.05 * (long > 0), 0.04, 0.05, 0.3),
            line=self.normal(0.80, 0.06, 0.62, 0.96),
            recede=float(np.clip((self.age - 0.2) * man * self.rng.random(), 0, 0.7)),
            parting=float(self.rng.uniform(-0.6, 0.6)),
            fringe=self.rng.uniform(0.15, 0.42) if self.chance(0.1 if man else 0.35) else 0.0,
            curl=float(np.clip(self.rng.beta(1, 2) + 0.5 * (self.tone > 0.72), 0, 1)),
            bald=self.rng.uniform(0.6, 1.0) if bald else 0.0,
            beard=self.rng.uniform(0.4, 1.0) if bearded and self.chance(0.6) else 0.0,
            moustache=self.rng.uniform(0.4, 1.0) if bearded else 0.0,
            stubble=self.rng.uniform(0.1, 0.6) if man else 0.0,
        )

    def glasses(self) -> Glasses:
        return Glasses(
            worn=self.chance(0.16 + 0.12 * self.age),
            width=self.normal(0.30, 0.025, 0.25, 0.36),
            height=self.normal(0.20, 0.03, 0.13, 0.27),
            round=float(self.rng.uniform(-0.5, 2)),
            colour=self.colour(_FRAMES, self.rng.random()),
        )

"""The shape of a head: an ellipsoid, narrowed row by row, with bumps towards the front.

All bumps are products of a profile in x and one in y. So the whole relief is one small matrix
product, and an expression may change it from picture to picture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from efface.data.rendered.people import Person
from efface.data.rendered.shots import Shot
from efface.data.rendered.view import Matrix, Plane

_PER_UNIT = np.float32(40)
_X = np.linspace(-1.2, 1.2, 97)
_Y = np.linspace(-1.5, 1.6, 125)
_ROWS = np.linspace(-1.0, 1.0, 65)


@dataclass(frozen=True, eq=False)
class Relief:
    """A point (X, Y, Z) of the ellipsoid goes to (width(Y) X, drop Y below the eyes, Z + bump)."""

    axes: Matrix
    """Semi-axes of the ellipsoid."""
    width: Plane
    """Factor of x over Y from -1 to 1 axes."""
    drop: float
    bumps: Plane

    def bump(self, x: Plane, y: Plane) -> Plane:
        """Height of the relief at face points, bilinear."""
        across = np.clip((x - np.float32(_X[0])) * _PER_UNIT, 0, np.float32(len(_X) - 1.01))
        down = np.clip((y - np.float32(_Y[0])) * _PER_UNIT, 0, np.float32(len(_Y) - 1.01))
        column, row = across.astype(np.int32), down.astype(np.int32)
        across -= column
        down -= row
        row *= len(_X)
        row += column
        flat = self.bumps.ravel()
        upper: Plane = flat.take(row, mode="clip")
        right = flat[1:].take(row, mode="clip")
        right -= upper
        right *= across
        upper += right
        row += len(_X)
        lower, right = flat.take(row, mode="clip"), flat[1:].take(row, mode="clip")
        right -= lower
        right *= across
        lower += right
        lower -= upper
        lower *= down
        upper += lower
        return upper

    def narrowed(self, y: Plane) -> Plane:
        """The factor of x at the ellipsoid's height Y."""
        at = y * np.float32(32 / self.axes[1]) + np.float32(32)
        np.clip(at, 0, np.float32(63.99), out=at)
        low = at.astype(np.int32)
        at -= low
        first, rise = self.width.take(low, mode="clip"), self.width[1:].take(low, mode="clip")
        rise -= first
        rise *= at
        first += rise
        return first

    def points(self, x: Matrix, y: Matrix) -> Matrix:
        """Head coordinates (n x 3) of the face points (x, y) on the front."""
        own = np.where(y > 0, y / self.drop, y)
        wide = x / self.narrowed(own.astype(np.float32))
        rest = 1 - (wide / self.axes[0]) ** 2 - (own / self.axes[1]) ** 2
        z = self.axes[2] * np.sqrt(np.maximum(rest, 0))
        return np.stack([x, y, z + self.bump(x.astype(np.float32), y.astype(np.float32))], axis=1)


def relief(person: Person, shot: Shot) -> Relief:
    """The head of a person with the expression of a shot."""
    head = person.head
    axes = np.array([1.0, head.height, head.depth])
    return Relief(axes, _outline(person), head.chin_drop / head.height, _bumps(person, shot))


def _outline(person: Person) -> Plane:
    """The factor that takes an ellipse to the outline: temples, jaw and chin."""
    head = person.head
    jaw, chin = head.jaw / 0.81, (head.chin + 0.10) / 0.53
    at = [-1.0, -0.75, -0.4, -0.1, 0.2, 0.58, 0.85, 1.0]
    factor = [0.97, 0.97, head.temple, 0.985, 1.0, jaw, chin, chin]
    fine = np.interp(np.linspace(-1.2, 1.2, 241), at, factor)
    kernel = np.exp(-0.5 * (np.arange(-24, 25) / 9) ** 2)
    smooth = np.convolve(np.pad(fine, 24, mode="edge"), kernel / kernel.sum(), mode="valid")
    out: Plane = np.interp(_ROWS, np.linspace(-1.2, 1.2, 241), smooth).astype(np.float32)
    return out


def _bumps(person: Person, shot: Shot) -> Plane:
    """The relief on its grid."""
    hills = np.array(_hills(person, shot)).T
    height, y, down, x, across = hills[:, :, None]
    profile = np.exp(-0.5 * ((_Y - y) / down) ** 2) * height
    # Hills beside the middle stand on both sides.
    spread = np.exp(-0.5 * ((_X - x) / across) ** 2)
    spread += (x > 0) * np.exp(-0.5 * ((_X + x) / across) ** 2)
    nose = person.nose
    rise = np.clip((_Y + 0.2) / (nose.length + 0.12), 0, 1) ** 1.2
    ridge = rise / (1 + np.exp((_Y - nose.length + 0.01) / 0.03)) * nose.projection
    narrow, wide = (np.exp(-0.5 * (_X / (nose.bridge * k)) ** 2) for k in (1, 2.1))
    bumps: Plane = profile.T @ spread + np.outer(ridge, 0.38 * narrow + 0.42 * wide)
    return bumps.astype(np.float32)


def _hills(person: Person, shot: Shot) -> list[tuple[float, float, float, float, float]]:
    """Height, y and its spread, x and its spread of every bump but the bridge of the nose."""
    head, eyes, nose, lips = person.head, person.eyes, person.nose, person.mouth.level
    smile = max(shot.smile, 0)
    return [
        (head.brow_ridge, eyes.level - 0.2, 0.09, 0.36, 0.24),
        (-eyes.deep, eyes.level, 0.14, eyes.apart, 0.20),  # sockets
        (0.06, eyes.level + 0.01, 0.08, eyes.apart, 0.13),  # eyeballs
        (nose.bend, 0.18, 0.1, 0, nose.bridge),
        (0.26 * nose.projection, nose.length - 0.08, 0.09, 0, nose.tip),
        (0.10, nose.length - 0.05, 0.06, 0.72 * nose.width, 0.3 * nose.width),  # wings
        (head.cheek + 0.05 * smile, 0.38 - 0.06 * smile, 0.17, 0.56, 0.19),
        (0.07, lips - 0.02, 0.17, 0, 0.33),  # around the mouth
        (0.045, lips - 0.05, 0.035, 0, 0.23),  # upper lip
        (0.06, lips + 0.07, 0.045, 0, 0.2),  # lower lip
        (-0.06, lips + 0.2, 0.05, 0, 0.24),  # below it
        (0.09, head.chin_drop - 0.17, 0.11, 0, 0.2),  # chin
        (-0.04, -0.35, 0.2, 0.92, 0.1),  # temples
        (-0.035 * (0.3 + smile), 0.62, 0.12, 0.40, 0.05),  # folds beside the mouth
    ]

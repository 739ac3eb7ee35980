"""Secure sketches: a public string that leads a near vector back to the enrolled one.

What else it tells is the whole question. Alone they protect nobody.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from efface.hazmat import e8
from efface.hazmat.lattice import Lattice
from efface.hazmat.modular import Ints
from efface.hazmat.reduction import Basis, nearest_plane

Matrix = NDArray[np.float64]


def e8_sketch(x: Matrix) -> NDArray[np.float32]:
    """ss = c - x with c the lattice point nearest to x (paper, Algorithm 2).

    c is decided by x, so ss tells much of x: at usable scales c is mostly zeros and ss = -x.
    """
    return (e8.decode(x) - x).astype(np.float32)


def e8_recover(sketch: NDArray[np.float32], probes: Matrix) -> Matrix:
    """x~ = Decode(x' + ss) - ss: the enrolled vector, to the bit, for every x' near enough.

    Also for the enrolled vector itself, whose sketch was rounded to float32. Zeros have no sign, so
    that equal vectors are equal bytes.
    """
    wide = sketch.astype(np.float64)
    return e8.decode(probes + wide) - wide + 0.0


def lattice_sketch(lattice: Lattice, secret: Ints, x: Ints) -> NDArray[np.int32]:
    """c = A b + x mod q (paper, Algorithm 3): x is the noise that hides the point."""
    return ((lattice.points(secret) + x) % lattice.shape.q).astype(np.int32)


def lattice_recover(basis: Basis, sketch: NDArray[np.int32], probes: Ints) -> Ints:
    """b from c - x' = A b + (x - x') by nearest plane, one row per probe."""
    return nearest_plane(basis, sketch.astype(np.int64) - probes)

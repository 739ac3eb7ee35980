"""The screened blend by sources on the edge: exact, and few unknowns.

Around every pixel alone the equation has one known answer, the response. Pixels just outside the
mask are given strengths so that the sum of their responses is what the edge has to be. As no
pixel inside has a strength, the equation holds there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.linalg import cho_factor, cho_solve

from efface.faces.face import Points
from efface.faces.mask import Masks

_MOST_EDGE = 1500
"""Pixels of the edge: above, a band is quicker."""


def edge_of(mask: Masks) -> Masks | None:
    """The pixels outside that touch the mask; None where the mask touches the picture's own edge,
    or its edge is too long for this."""
    if mask[[0, -1]].any() or mask[:, [0, -1]].any():
        return None
    near = np.zeros_like(mask)
    near[1:] |= mask[:-1]
    near[:-1] |= mask[1:]
    near[:, 1:] |= mask[:, :-1]
    near[:, :-1] |= mask[:, 1:]
    edge: Masks = near & ~mask
    return edge if 0 < np.count_nonzero(edge) <= _MOST_EDGE else None


def spread_inwards(edge: Masks, values: Points, reach: float) -> Points:
    """The f with f = values on the edge (its pixels x channels) and laplace f = f / reach^2 at
    all pixels off it, on a torus of at least this size: height x width x channels."""
    size = tuple(fft.next_fast_len(side, real=True) for side in edge.shape)
    spectrum = 1 / _symbol(size[0], size[1], reach)
    response = fft.irfft2(spectrum, s=size)
    y, x = np.nonzero(edge)
    strength = cho_solve(_between(response, y, x), values, check_finite=False)
    sources = np.zeros((values.shape[1], *size))
    sources[:, y, x] = strength.T
    found = fft.irfft2(fft.rfft2(sources) * spectrum, s=size)
    return np.asarray(found[:, : edge.shape[0], : edge.shape[1]].transpose(1, 2, 0))


def _symbol(height: int, width: int, reach: float) -> Points:
    """What the equation does to each wave."""
    down = 2 - 2 * np.cos(2 * np.pi * np.arange(height) / height)
    across = 2 - 2 * np.cos(2 * np.pi * np.arange(width // 2 + 1) / width)
    return np.asarray(down[:, None] + across + reach**-2)


def _between(response: Points, y: NDArray[np.int64], x: NDArray[np.int64]) -> tuple[Points, bool]:
    """The responses of all edge pixels at all edge pixels, decomposed."""
    far = np.abs(y[:, None] - y) * response.shape[1] + np.abs(
        x[:, None] - x
    )  # the response is even
    matrix = response.ravel()[far]
    factor: tuple[Points, bool] = cho_factor(
        matrix, lower=True, overwrite_a=True, check_finite=False
    )
    return factor

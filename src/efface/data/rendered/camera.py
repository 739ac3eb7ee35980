"""From light to a picture: the lens, the sensor's noise and the tone curve."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from efface.data.rendered.shots import Shot
from efface.data.rendered.view import Plane

_GRAIN = 512


def exposed(light: Plane, shot: Shot) -> NDArray[np.uint8]:
    """3 x n x n linear to n x n x 3 pixels. Each pixel depends on itself and its neighbours."""
    size = light.shape[1]
    out = np.empty((size, size, 3), np.uint8)
    spread = np.float32(min(0.5 * (shot.soft * size / 128) ** 2, 0.28))
    gains = (1 + shot.warmth, 1.0, 1 - shot.warmth)
    for channel, gain in enumerate(gains):
        values = _softened(light[channel], spread, np.float32(255.0**2 * gain * shot.exposure))
        np.sqrt(values, out=values)
        values += _noise(shot.grain, channel, size) * np.float32(shot.noise)
        values += np.float32(0.5)
        np.clip(values, 0, 255, out=values)
        out[..., channel] = values
    return out


def _softened(plane: Plane, spread: np.float32, gain: np.float32) -> Plane:
    """A blur over three by three pixels, ``spread`` for a neighbour, 1 - 2 spread for the pixel;
    at the picture's edge the pixel itself stands in for its neighbour. Brighter by ``gain``."""
    down = plane * (gain * (1 - 2 * spread))
    near = plane * (gain * spread)
    down[1:] += near[:-1]
    down[:-1] += near[1:]
    down[0] += near[0]
    down[-1] += near[-1]
    np.multiply(down, spread, out=near)
    down *= 1 - 2 * spread
    down[:, 1:] += near[:, :-1]
    down[:, :-1] += near[:, 1:]
    down[:, 0] += near[:, 0]
    down[:, -1] += near[:, -1]
    return down


def _noise(grain: int, channel: int, size: int) -> Plane:
    """A piece of the bank of noise; which piece is told by ``grain``."""
    top, left = grain % _GRAIN, (grain // _GRAIN) % _GRAIN
    return _bank()[channel, top : top + size, left : left + size]


@lru_cache(maxsize=1)
def _bank() -> Plane:
    """Noise of deviation one, partly the same in the three colours."""
    rng = np.random.default_rng(21)
    square = rng.standard_normal((3, _GRAIN, _GRAIN), dtype=np.float32)
    shared = rng.standard_normal((1, _GRAIN, _GRAIN), dtype=np.float32)
    return np.tile(np.float32(0.6) * square + np.float32(0.8) * shared, (1, 2, 2))

"""What is behind a person: eight kinds of place, drawn larger than a picture and cut from."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from efface.data.rendered.scenes import Scene
from efface.data.rendered.view import Matrix, Plane

ROOM = 1.3
"""How much larger than the picture the drawn place is; the shot pans within it."""
_SIDE = 160


def backdrop(scene: Scene, size: int, pan: tuple[float, float]) -> Plane:
    """3 x size x size, linear: the part of the place that ``pan`` (0 to 1 each way) shows."""
    place = _enlarged(scene, size)
    spare = place.shape[1] - size
    left, top = (round(share * spare) for share in pan)
    return place[:, top : top + size, left : left + size].copy()


@lru_cache(maxsize=32)
def _enlarged(scene: Scene, size: int) -> Plane:
    """The place at a picture's scale: linear between its pixels, means where it is the finer."""
    count = round(size * ROOM)
    at = (np.arange(count, dtype=np.float32) + 0.5) * (_SIDE / count) - 0.5
    reach = max(_SIDE / count, 1)
    share = np.maximum(1 - np.abs(at[:, None] - np.arange(_SIDE)) / reach, 0)
    share = (share / share.sum(axis=1, keepdims=True)).astype(np.float32)
    enlarged: Plane = np.matmul(np.matmul(share, _place(scene)), share.T)
    return enlarged


@lru_cache(maxsize=256)
def _place(scene: Scene) -> Plane:
    """The whole place, out of focus: the same for pictures of all sizes."""
    rng = np.random.default_rng([scene.seed, 4, scene.number])
    y, x = (np.mgrid[:_SIDE, :_SIDE] + 0.5) / _SIDE
    drawn = _KINDS[scene.kind](np.array(scene.colours), x, y, rng)
    drawn = _blurred(drawn * (1 + 0.25 * _clouds(rng, 2.5)), scene.blur * _SIDE / ROOM)
    drawn *= 1 + 0.35 * (scene.light.x * (x - 0.5) + scene.light.y * (y - 0.5))
    out: Plane = np.clip(drawn, 0.002, 1.2).astype(np.float32)
    return out


def _studio(colours: Matrix, x: Matrix, y: Matrix, rng: np.random.Generator) -> Matrix:
    away = np.hypot(x - rng.uniform(0.3, 0.7), y - rng.uniform(0.2, 0.6))
    return _between(colours[0] * 1.5, colours[0] * 0.4, np.clip(away * 1.2, 0, 1))


def _wall(colours: Matrix, x: Matrix, y: Matrix, rng: np.random.Generator) -> Matrix:
    """A wall with pictures on it, a window at times."""
    out = _between(colours[0], colours[0], x)
    for k in range(int(rng.integers(1, 4))):
        x0, y0 = rng.uniform(-0.05, 0.85), rng.uniform(0.0, 0.5)
        w, h = rng.uniform(0.12, 0.35, 2)
        bright = colours[1 + k % 2] * rng.uniform(0.6, 2.2)
        _box(out, x, y, (x0 - 0.015, y0 - 0.015, w + 0.03, h + 0.03), colours[2] * 0.4)
        _box(out, x, y, (x0, y0, w, h), np.clip(bright, 0, 1))
    return out


def _shelves(colours: Matrix, x: Matrix, y: Matrix, rng: np.random.Generator) -> Matrix:
    out = _between(colours[0] * 0.35, colours[0] * 0.35, x)
    rows, books = int(rng.integers(3, 6)), int(rng.integers(14, 30))
    tall = rng.uniform(0.55, 0.95, (rows, books))
    which = np.minimum((x * books).astype(int), books - 1)
    row = np.minimum((y * rows).astype(int), rows - 1)
    palette = rng.uniform(0.02, 0.5, (rows, books, 1)) + rng.normal(0, 0.08, (rows, books, 3))
    palette = np.clip(palette, 0.01, 0.8)
    stands = 1 - (y * rows - row) < tall[row, which]
    return np.where(stands, palette[row, which].transpose(2, 0, 1), out)


def _bricks(colours: Matrix, x: Matrix, y: Matrix, rng: np.random.Generator) -> Matrix:
    rows = rng.uniform(10, 18)
    row = np.floor(y * rows).astype(int)
    column = np.floor(x * rows / 2.2 + 0.5 * (row % 2)).astype(int)
    tones = rng.uniform(0.6, 1.2, (64, 64))
    inside = (np.mod(y * rows, 1) > 0.12) & (np.mod(x * rows / 2.2 + 0.5 * (row % 2), 1) > 0.06)
    brick = colours[0][:, None, None] * tones[row % 64, column % 64]
    wall: Matrix = np.where(inside, brick, colours[1][:, None, None] * 0.9)
    return wall


def _garden(colours: Matrix, x: Matrix, y: Matrix, rng: np.random.Generator) -> Matrix:
    """Sky above leaves above grass."""
    green = np.array([0.06, 0.14, 0.03]) * rng.uniform(0.7, 1.8)
    sky = np.array([0.45, 0.62, 0.85]) * rng.uniform(0.6, 1.1)
    leaves = _between(green * 0.4, green * 1.8, 0.5 + 0.5 * _clouds(rng, 1.2))
    border = 0.25 + 0.18 * _clouds(rng, 2.2) + rng.uniform(-0.15, 0.2)
    out = np.where(y < border, sky[:, None, None] * (1.1 - 0.4 * y), leaves)
    return np.where(
        y > 0.75 + 0.05 * x, _between(green * 1.6, green, y) * (colours[0].mean() + 0.8), out
    )


def _night(colours: Matrix, x: Matrix, y: Matrix, rng: np.random.Generator) -> Matrix:
    """Discs of distant lights."""
    out = _between(colours[0] * 0.15, colours[0] * 0.05, y)
    for _ in range(int(rng.integers(18, 40))):
        cx, cy, r = rng.random(), rng.random() ** 0.7, rng.uniform(0.015, 0.055)
        glow = np.array([1.0, rng.uniform(0.4, 1), rng.uniform(0.1, 0.9)]) * rng.uniform(0.1, 0.6)
        disc = np.clip((r - np.hypot(x - cx, y - cy)) * 150 + 0.5, 0, 1)
        out += disc * glow[:, None, None]
    return out


def _street(colours: Matrix, x: Matrix, y: Matrix, rng: np.random.Generator) -> Matrix:
    """Houses with rows of windows below a sky."""
    out = _between(np.array([0.5, 0.6, 0.75]), np.array([0.75, 0.75, 0.75]), y)
    left = 0.0
    while left < 1:
        wide, roof = rng.uniform(0.15, 0.4), rng.uniform(0.0, 0.35)
        tone = colours[int(rng.integers(3))] * rng.uniform(0.5, 1.4)
        _box(out, x, y, (left, roof, wide, 1.0), tone)
        panes = (np.mod((x - left) * 16, 1) > 0.45) & (np.mod((y - roof) * 11, 1) > 0.4)
        here = panes & (x >= left) & (x < left + wide) & (y > roof + 0.04)
        out = np.where(here, (tone * rng.choice([0.3, 1.8]))[:, None, None], out)
        left += wide
    return out


def _curtain(colours: Matrix, x: Matrix, y: Matrix, rng: np.random.Generator) -> Matrix:
    folds = np.sin(x * rng.uniform(30, 70) + 2.5 * np.sin(x * 9 + rng.uniform(0, 6)) + 0.6 * y)
    return _between(colours[0] * 0.5, colours[0] * 1.4, 0.5 + 0.5 * folds)


_KINDS = {
    "studio": _studio, "wall": _wall, "shelves": _shelves, "bricks": _bricks, "garden": _garden,
    "night": _night, "street": _street, "curtain": _curtain,
}  # fmt: skip


def _between(one: Matrix, other: Matrix, share: Matrix) -> Matrix:
    return one[:, None, None] + share * (other - one)[:, None, None]


def _box(out: Matrix, x: Matrix, y: Matrix, box: tuple[float, ...], colour: Matrix) -> None:
    left, top, wide, high = box
    here = (x >= left) & (x < left + wide) & (y >= top) & (y < top + high)
    out[:, here] = colour[:, None]


def _clouds(rng: np.random.Generator, slope: float) -> Matrix:
    """Noise whose amplitude falls with frequency, of deviation one half, clipped to one."""
    waves = np.fft.rfft2(rng.standard_normal((_SIDE, _SIDE)))
    fy, fx = np.fft.fftfreq(_SIDE)[:, None], np.fft.rfftfreq(_SIDE)
    far = np.hypot(fy, fx) * _SIDE
    waves *= 1 / np.maximum(far, 1) ** slope
    waves[0, 0] = 0
    noise = np.fft.irfft2(waves, s=(_SIDE, _SIDE))
    clouds: Matrix = np.clip(noise / (2 * noise.std()), -1, 1)
    return clouds


def _blurred(drawn: Matrix, sigma: float) -> Matrix:
    """Out of focus: a Gaussian, cut off at the edges."""
    at = np.arange(_SIDE)
    share = np.exp(-0.5 * ((at[:, None] - at) / sigma) ** 2)
    share /= share.sum(axis=1, keepdims=True)
    soft: Matrix = np.matmul(np.matmul(share, drawn), share.T)
    return soft

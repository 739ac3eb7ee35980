"""Gaussian blur inside masks, with feathered edges (P20, appendix D.3 and D.6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from efface.errors import DataError
from efface.faces.face import Pixels, Points, Reals
from efface.faces.mask import Masks

SIGMA = 8.0
FEATHER = 3.0
"""Standard deviation, in pixels, of the Gaussian that softens a mask's edge."""
_BLOCK = 64
Part = tuple[slice, slice]
"""Rows and columns of a picture."""


@dataclass(frozen=True, eq=False)
class Soft:
    """A mask with its edge softened: weights from 0 to 1 in the part in which there are any."""

    part: Part
    weight: Reals


def kernel(sigma: float) -> Points:
    """A Gaussian of 2 ceil(3 sigma) + 1 taps that sums to one: 49 taps for sigma 8."""
    if not (np.isfinite(sigma) and sigma >= 0):
        raise DataError(f"a blur of sigma {sigma} cannot be made: give a number from 0 on")
    reach = int(np.ceil(3 * sigma))
    taps = np.exp(-0.5 * (np.arange(-reach, reach + 1) / max(sigma, 1e-12)) ** 2)
    out: Points = taps / taps.sum()
    return out


def blurred(pictures: Pixels, sigma: float = SIGMA) -> Pixels:
    """All of every picture (n x height x width x 3) blurred; edges are mirrored."""
    whole = np.ones(pictures.shape[:3], np.bool_)
    return blur_inside(pictures, whole, sigma=sigma, feather=0)[0]


def blur_inside(
    pictures: Pixels, *masks: Masks, sigma: float = SIGMA, feather: float = FEATHER
) -> tuple[Pixels, ...]:
    """For each stack of masks the pictures with that part blurred: x + a (blur(x) - x), where a
    is the mask softened by ``feather``. The blur itself is made once for all stacks."""
    outs = tuple(pictures.copy() for _ in masks)
    if sigma == 0:
        return outs
    for row, picture in enumerate(pictures):
        _blur_one(picture, [(out[row], m[row]) for out, m in zip(outs, masks, strict=True)],
                  sigma, feather)  # fmt: skip
    return outs


def softened(mask: Masks, feather: float = FEATHER) -> Soft | None:
    """One mask (height x width), to blur through more than once; None where it is empty."""
    part = _reached(mask, feather)
    return None if part is None else Soft(part, feathered(mask, feather, part))


def planes_of(picture: Pixels) -> Reals:
    """Channels first, as numbers."""
    return picture.transpose(2, 0, 1).astype(np.float32)


def blurred_through(planes: Reals, soft: Soft, sigma: float) -> Pixels:
    """The part of a picture that a softened mask reaches, blurred through it."""
    change = _smooth(planes, soft.part, sigma)
    sharp = planes[:, soft.part[0], soft.part[1]]
    change -= sharp
    return _mixed(sharp + np.float32(0.5), soft.weight, change)


def feathered(
    mask: Masks, feather: float = FEATHER, part: Part = (slice(None), slice(None))
) -> Reals:
    """One mask (height x width) as weights from 0 to 1, its edge softened by a Gaussian, in that
    part of the picture."""
    return _smooth(mask.astype(np.float32), part, feather)


def _blur_one(
    picture: Pixels, parts: list[tuple[Pixels, Masks]], sigma: float, feather: float
) -> None:
    """Write into each part's picture what its mask blurs; only the rows and columns that a
    softened mask reaches are computed."""
    everything = np.logical_or.reduce([mask for _, mask in parts])
    region = _reached(everything, feather)
    if region is None:
        return
    planes = planes_of(picture)
    change = _smooth(planes, region, sigma) - planes[:, region[0], region[1]]
    sharp = planes[:, region[0], region[1]] + np.float32(0.5)
    for out, mask in parts:
        out[region] = _mixed(sharp, feathered(mask, feather, region), change)


def _mixed(sharp: Reals, weight: Reals, change: Reals) -> Pixels:
    """Between two values of 0 to 255: with a half added, as ``sharp`` has it, cutting is
    rounding."""
    mixed = weight * change
    mixed += sharp
    return mixed.astype(np.uint8).transpose(1, 2, 0)


def _reached(mask: Masks, feather: float) -> Part | None:
    """The rows and columns in which the softened mask is not zero."""
    reach = int(np.ceil(3 * feather))
    spans = []
    for axis in (1, 0):
        found = np.flatnonzero(mask.any(axis=axis))
        if not found.size:
            return None
        spans.append(slice(max(found[0] - reach, 0), int(found[-1]) + reach + 1))
    return spans[0], spans[1]


def _smooth(planes: Reals, region: Part, sigma: float) -> Reals:
    """The blur of (..., height, width), in the region only."""
    if sigma == 0:
        return planes[..., region[0], region[1]]
    height, width = planes.shape[-2:]
    reach = int(np.ceil(3 * sigma))
    down = _blocks(_span(region[0], height), height, reach)
    across = _blocks(_span(region[1], width), width, reach)
    seen = slice(across[0][1].start, across[-1][1].stop)
    matrix = _matrix(height, sigma)
    tall = [np.matmul(matrix[rows, near], planes[..., near, seen]) for rows, near in down]
    half = np.concatenate(tall, axis=-2)
    matrix, shift = _matrix(width, sigma), seen.start
    wide = [
        np.matmul(half[..., near.start - shift : near.stop - shift], matrix[columns, near].T)
        for columns, near in across
    ]
    return np.concatenate(wide, axis=-1)


def _blocks(span: tuple[int, int], length: int, reach: int) -> list[tuple[slice, slice]]:
    """Places to compute, some at a time, and the places whose pixels they take: a product of
    matrices with few zeros in them."""
    starts = range(span[0], span[1], _BLOCK)
    ends = [min(start + _BLOCK, span[1]) for start in starts]
    return [
        (slice(a, b), slice(max(a - reach, 0), min(b + reach, length)))
        for a, b in zip(starts, ends, strict=True)
    ]


def _span(part: slice, length: int) -> tuple[int, int]:
    start, stop, _ = part.indices(length)
    return start, stop


@lru_cache(maxsize=32)
def _matrix(length: int, sigma: float) -> Reals:
    """Row i holds the kernel around i; taps beyond an edge fall on its mirror image, the edge
    pixel itself not doubled."""
    taps = kernel(sigma)
    reach = len(taps) // 2
    at = np.arange(length)[:, None] + np.arange(-reach, reach + 1)
    period = max(2 * length - 2, 1)
    at = np.abs((at + length - 1) % period - (length - 1)) if length > 1 else np.zeros_like(at)
    matrix = np.zeros((length, length))
    np.add.at(matrix, (np.arange(length)[:, None], at), taps)
    matrix.flags.writeable = False
    return matrix.astype(np.float32)

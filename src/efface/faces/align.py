"""The similarity that puts a face onto a template, and pictures seen through it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError
from efface.faces.face import Pixels, Points, Reals
from efface.faces.landmarks import TEMPLATE
from efface.faces.resample import as_pixels


def similarity(points: Points, onto: Points) -> Points:
    """2 x 3 maps that turn, scale and move each ``points`` (n x k x 2) onto ``onto`` with the
    least squared error and never mirror (Umeyama 1991, in two dimensions)."""
    p, q = np.atleast_3d(points), np.broadcast_to(onto, np.shape(points))
    mean_p, mean_q = p.mean(axis=1, keepdims=True), q.mean(axis=1, keepdims=True)
    a, b = p - mean_p, q - mean_q
    spread = (a * a).sum(axis=(1, 2))
    if not (spread > 0).all():
        raise DataError("landmarks that lie on one point cannot be aligned: check their order")
    cosine = (a * b).sum(axis=(1, 2)) / spread
    sine = (a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]).sum(axis=1) / spread
    turn = np.stack([np.stack([cosine, -sine], -1), np.stack([sine, cosine], -1)], axis=1)
    shift = mean_q[:, 0] - np.einsum("nij,nj->ni", turn, mean_p[:, 0])
    return np.concatenate([turn, shift[..., None]], axis=2)


def arcface_template(size: int) -> Points:
    """The five points in a square of ``size``. At multiples of 112 the template is scaled; at
    multiples of 128 it is also moved to the middle, as networks of that size are trained."""
    if size % 112 == 0:
        return TEMPLATE * (size / 112)
    if size % 128 == 0:
        return np.add(TEMPLATE, (8, 0)) * (size / 128)
    raise DataError(f"aligned pictures have sides of 112 or 128 or a multiple of one, not {size}")


def aligned(pictures: Sequence[Pixels], landmarks: NDArray[np.floating], size: int = 112) -> Pixels:
    """Each picture's face on the ArcFace template: n x size x size x 3. What lies outside a
    picture is black."""
    template = arcface_template(size)
    out = np.zeros((len(pictures), size, size, 3), np.uint8)
    if len(pictures):
        maps = similarity(np.asarray(landmarks, np.float64), template)
        for row, (picture, matrix) in enumerate(zip(pictures, maps, strict=True)):
            out[row] = as_pixels(warped(picture, matrix, (size, size)))
    return out


def warped(
    picture: NDArray[np.generic],
    matrix: Points,
    size: tuple[int, int],
    corner: tuple[int, int] = (0, 0),
) -> Reals:
    """The picture through a 2 x 3 map of its points, bilinear, zero outside: height x width x c,
    from ``corner`` = (row, column) on."""
    back = np.linalg.inv(matrix[:, :2])
    rows, columns = (
        np.arange(start, start + side, dtype=np.float64)
        for start, side in zip(corner, size, strict=True)
    )
    start = -back @ matrix[:, 2]
    x = start[0] + back[0, 0] * columns + (back[0, 1] * rows)[:, None]
    y = start[1] + back[1, 0] * columns + (back[1, 1] * rows)[:, None]
    return _bilinear(picture, x, y)


def _bilinear(picture: NDArray[np.generic], x: Points, y: Points) -> Reals:
    """Values between pixels; a border of two black pixels answers for all that is outside."""
    height, width = picture.shape[:2]
    wide = np.pad(picture, ((2, 2), (2, 2), (0, 0)))
    x, y = np.clip(x + 2, 0, width + 2), np.clip(y + 2, 0, height + 2)
    left, top = x.astype(np.int64), y.astype(np.int64)
    right, low = ((x - left).astype(np.float32)[..., None], (y - top).astype(np.float32)[..., None])
    flat, stride = wide.reshape(-1, wide.shape[2]), wide.shape[1]
    at = top * stride + left
    upper = flat[at] * (1 - right) + flat[at + 1] * right
    lower = flat[at + stride] * (1 - right) + flat[at + stride + 1] * right
    between: Reals = upper * (1 - low) + lower * low
    return between

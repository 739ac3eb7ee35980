"""A picture at the size that an encoder wants, by Pillow's filters or by exact area.

This is the part of the preprocessing that workers do; numbers are made of pixels beside the
network (:mod:`efface.encoders.numbers`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import DataError
from efface.extras import need
from efface.facts import Preprocessing
from efface.types import Picture


def fitted(picture: Picture, wanted: Preprocessing) -> Picture:
    """The picture resized and cut: uint8, or float32 where pixels are not to be rounded."""
    check_picture(picture)
    if not wanted.rounded:
        picture = picture.astype(np.float32, copy=False)
    height, width = picture.shape[:2]
    if wanted.fit == "squash":
        return _resized(picture, wanted.height, wanted.width, wanted.filter)
    picture = _resized(picture, *_by_shorter(height, width, wanted.shorter or 1), wanted.filter)
    return picture if wanted.fit == "shorter" else _middle(picture, wanted.height, wanted.width)


def check_picture(picture: Any) -> None:
    """Refuse what is no picture of three channels from 0 to 255."""
    shape, kind = getattr(picture, "shape", None), getattr(picture, "dtype", None)
    fine = shape is not None and len(shape) == 3 and shape[2] == 3 and 0 not in shape
    if not fine or kind not in (np.uint8, np.float32):
        raise DataError(
            f"a picture is an array of height x width x 3 in uint8, or in float32 from 0 to 255; "
            f"got {kind} of shape {shape}: convert it, red first"
        )


def _by_shorter(height: int, width: int, side: int) -> tuple[int, int]:
    """Sizes with the shorter side given, the longer cut to a whole number as torchvision does."""
    if height <= width:
        return side, int(side * width / height)
    return int(side * height / width), side


def _middle(picture: Picture, height: int, width: int) -> Picture:
    top, left = (picture.shape[0] - height) // 2, (picture.shape[1] - width) // 2
    return picture[top : top + height, left : left + width]


def _resized(picture: Picture, height: int, width: int, filter_: str) -> Picture:
    if picture.shape[:2] == (height, width):
        return picture
    if filter_ == "area":
        return _by_area(picture, height, width)
    image = need("PIL.Image", "pictures")
    how = image.Resampling[filter_.upper()]
    if picture.dtype == np.uint8:
        return np.asarray(image.fromarray(picture).resize((width, height), how))
    planes = [
        np.asarray(image.fromarray(np.ascontiguousarray(plane)).resize((width, height), how))
        for plane in np.moveaxis(picture, 2, 0)
    ]
    return np.stack(planes, axis=2)


def _by_area(picture: Picture, height: int, width: int) -> Picture:
    """Each new pixel is the mean over its area of the old ones, parts of pixels included."""
    mean = _area_mean(_area_mean(picture.astype(np.float64), height).swapaxes(0, 1), width)
    mean = mean.swapaxes(0, 1)
    if picture.dtype == np.uint8:
        return np.asarray(np.rint(mean), np.uint8)
    return mean.astype(np.float32)


def _area_mean(x: NDArray[np.float64], new: int) -> NDArray[np.float64]:
    """Along the first axis, from the integral of the pixels at the edges k * old / new."""
    old = len(x)
    whole, part = np.divmod(np.arange(new + 1) * old, new)  # edges as exact fractions
    integral = np.zeros((old + 1, *x.shape[1:]))
    np.cumsum(x, axis=0, out=integral[1:])
    inside = x[np.minimum(whole, old - 1)] * (part / new)[:, None, None]
    return np.asarray(np.diff(integral[whole] + inside, axis=0) * (new / old))

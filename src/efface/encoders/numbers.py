"""Pixels to what a network is fed: (pixel * scale - mean) / std in its order and layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.encoders.fit import check_picture
from efface.errors import DataError
from efface.facts import Preprocessing
from efface.types import Floats, Picture

Network = Callable[[NDArray[Any]], Floats]
_GREY = np.array([0.299, 0.587, 0.114], np.float32)
"""ITU-R 601 luma, as Pillow's mode L."""


def numbers(images: NDArray[Any], wanted: Preprocessing, dtype: Any = np.float32) -> NDArray[Any]:
    """Pictures (n x height x width x 3, red first, 0 to 255) as the network's input."""
    pixels = _planes(images, wanted)
    planes = np.empty(pixels.shape, np.float32)
    slopes, offsets = _line(wanted)
    for out, held in zip(planes, pixels, strict=True):  # one picture's planes stay in the cache
        for channel, plane in enumerate(held):
            np.multiply(plane, slopes[channel], out=out[channel])
            out[channel] += offsets[channel]
    if wanted.layout == "NHWC":
        planes = planes.transpose(0, 2, 3, 1)
    if np.dtype(dtype).kind == "u":  # a network that takes pixels as they are
        planes = np.rint(planes)
    return np.ascontiguousarray(planes, dtype)


def _planes(images: NDArray[Any], wanted: Preprocessing) -> NDArray[Any]:
    """Channels in the network's order, each of them in one piece: to turn pixels of one byte around
    costs a tenth of what arithmetic on every third number does."""
    if wanted.colour == "grey":
        grey = images @ _GREY
        return np.asarray(np.rint(grey) if images.dtype == np.uint8 else grey)[:, None]
    ordered = images if wanted.colour == "RGB" else images[..., ::-1]
    return np.ascontiguousarray(ordered.transpose(0, 3, 1, 2))


def _line(wanted: Preprocessing) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Slope and offset of each channel; in float64 until the last step."""
    mean = np.broadcast_to(np.array(wanted.mean), wanted.channels)
    std = np.broadcast_to(np.array(wanted.std), wanted.channels)
    return (wanted.scale / std).astype(np.float32), (-mean / std).astype(np.float32)


def batched(
    images: Sequence[Picture] | Picture,
    wanted: Preprocessing,
    dimension: int,
    batch: int,
    network: Network,
    dtype: Any = np.float32,
) -> Floats:
    """Vectors of fitted pictures, few at a time; pictures of one size go in together."""
    check_fitted(images, wanted)
    out = np.empty((len(images), dimension), np.float32)
    groups: dict[tuple[int, ...], list[int]] = {}
    for index, image in enumerate(images):
        groups.setdefault(image.shape, []).append(index)
    for rows in groups.values():
        for start in range(0, len(rows), batch):
            some = rows[start : start + batch]
            stack = np.stack([images[i] for i in some])
            out[some] = _vectors(network(numbers(stack, wanted, dtype)), len(some), dimension)
    return out


def check_fitted(images: Sequence[Picture] | Picture, wanted: Preprocessing) -> None:
    """Refuse pictures that nobody has fitted: a network of any size would take them in silence."""
    for index, image in enumerate(images):
        check_picture(image)
        height, width = image.shape[:2]
        if (
            (height, width) != (wanted.height, wanted.width)
            if wanted.fixed
            else (min(height, width) != wanted.shorter)
        ):
            raise DataError(
                f"picture {index} is {height} x {width}, the encoder takes {wanted}: bring it to "
                "this size with efface.encoders.fit.fitted"
            )


def _vectors(found: Floats, count: int, dimension: int) -> Floats:
    if found.shape != (count, dimension):
        raise DataError(
            f"the network gave {found.shape} for {count} pictures, and {dimension} numbers each "
            "before: it does not treat pictures one by one"
        )
    return found

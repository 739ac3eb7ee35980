"""The bytes of a picture file to upright RGB pixels, or the reason why not.

Whatever lies in a folder of pictures ends here: text files named .jpg, half of a download, pictures
of a billion pixels. Each has a kind under which it is counted; none is dropped in silence.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import EffaceError, PictureError
from efface.extras import need
from efface.pictures.modes import to_rgb

Pixels = NDArray[np.uint8]

# Not among them: formats that are programs (EPS) or documents (PDF).
FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "GIF", "BMP", "DIB", "TIFF", "PPM", "JPEG2000", "AVIF")
MAX_PIXELS = 100_000_000
PILLOW_LIMIT = 2 * 89_478_485
"""Pillow refuses more than this by itself, unless told otherwise for the whole process."""
_ORIENTATION = 0x0112


@dataclass(frozen=True)
class Limits:
    """What is too large to open, and too small to hold a face."""

    max_pixels: int = MAX_PIXELS
    min_side: int = 16

    def __post_init__(self) -> None:
        if not 1 <= self.max_pixels <= PILLOW_LIMIT:
            raise PictureError(
                "too large", f"a limit of {self.max_pixels} pixels: give 1 to {PILLOW_LIMIT}"
            )


@dataclass(frozen=True, eq=False)
class Decoded:
    """Upright RGB pixels, and what was done to get them (``grey``, ``turned`` ...)."""

    pixels: Pixels
    remarks: tuple[str, ...] = ()


def decode(data: bytes, limits: Limits) -> Decoded:
    """The first frame of a picture, turned as its EXIF says, without transparency."""
    if not data:
        raise PictureError("empty file", "the file is empty")
    image = need("PIL.Image", "pictures")
    with _plainly(image), image.open(BytesIO(data), formats=_formats()) as opened:
        remarks = _look(opened, limits)
        frame, turned = _upright(opened)
        pixels, converted = to_rgb(frame)
        return Decoded(pixels, (*remarks, *turned, *converted))


@cache
def _formats() -> tuple[str, ...]:
    """Those of FORMATS that this Pillow was built with."""
    image = need("PIL.Image", "pictures")
    image.init()
    return tuple(name for name in FORMATS if name in image.OPEN)


@contextmanager
def _plainly(image: Any) -> Iterator[None]:
    """Decoders answer damaged bytes with nearly any exception: all become one PictureError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of damaged metadata, and of size, which is looked at
            yield
    except EffaceError:
        raise
    except image.DecompressionBombError as error:
        raise PictureError("too large", f"more pixels than Pillow opens ({error})") from error
    except MemoryError as error:
        raise PictureError("too large", "the memory does not suffice to open it") from error
    except Exception as error:
        why = str(error).strip().split("\n")[0][:120] or type(error).__name__
        if type(error).__name__ == "UnidentifiedImageError":
            raise PictureError(
                "not a picture", "its content is no picture in a known format"
            ) from error
        raise PictureError("damaged", f"cannot be decoded ({why})") from error


def _look(opened: Any, limits: Limits) -> tuple[str, ...]:
    """Before any pixel is decoded: the size, and what the header tells."""
    width, height = opened.size
    if width * height > limits.max_pixels:
        raise PictureError(
            "too large", f"{width} x {height} pixels, the limit is {limits.max_pixels:,} in all"
        )
    if min(width, height) < limits.min_side:
        raise PictureError(
            "too small", f"{width} x {height} pixels, the limit is {limits.min_side} a side"
        )
    several = getattr(opened, "is_animated", False) and opened.format != "MPO"
    # Pillow reduces colours of 16 bits while it decodes: only the raw mode tells.
    deep = opened.mode == "RGB" and any(";16" in str(tile[3]) for tile in opened.tile)
    return (*(["first frame of several"] * several), *(["16 bits to 8"] * deep))


def _upright(opened: Any) -> tuple[Any, tuple[str, ...]]:
    """Pixels in memory, turned by the EXIF orientation where there is one that can be read."""
    opened.load()
    try:
        turns = opened.getexif().get(_ORIENTATION, 1) in range(2, 9)
        frame = need("PIL.ImageOps", "pictures").exif_transpose(opened) if turns else opened
    except Exception:  # EXIF is written by anything: Pillow raises what its parsers raise
        return opened, ("EXIF unreadable",)
    return frame, ("turned by EXIF",) * turns

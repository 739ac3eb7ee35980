"""Pillow's modes to RGB: grey, CMYK, palettes, transparency, 16 bits and floats.

Pillow's own conversion cuts 16-bit values off at 255 and shows what lay under transparent pixels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import PictureError
from efface.extras import need

Converted = tuple[NDArray[np.uint8], tuple[str, ...]]
_GREY = {"1", "L"}
_OTHER = {"CMYK", "YCbCr", "LAB", "HSV", "RGBX"}
_DEEP = {"I;16", "I;16B", "I;16L", "I;16N", "I", "F"}


def to_rgb(frame: Any) -> Converted:
    """Height x width x 3 in uint8, and what was done."""
    mode = frame.mode
    if mode in _DEEP:
        return _deep(np.asarray(frame))
    if mode in ("PA", "RGBA", "RGBa", "LA", "La") or "transparency" in frame.info:
        return _on_white(frame)
    remarks = ("grey",) * (mode in _GREY) + (f"{mode} to RGB",) * (mode in _OTHER)
    return np.asarray(frame.convert("RGB")), remarks


def _on_white(frame: Any) -> Converted:
    """What is transparent shows white, as on a page; what lies under it stays hidden."""
    image = need("PIL.Image", "pictures")
    grey = ("grey",) * (frame.mode in ("L", "1", "LA", "La"))
    layer = frame.convert("RGBA")
    if layer.getextrema()[3] == (255, 255):
        return np.asarray(layer.convert("RGB")), grey
    white = image.new("RGBA", layer.size, (255, 255, 255, 255))
    flat = image.alpha_composite(white, layer).convert("RGB")
    return np.asarray(flat), (*grey, "transparency on white")


def _deep(values: NDArray[Any]) -> Converted:
    """Grey of 16 bits, 32 bits or floats to 8 bits, by the range that its type or values show."""
    if values.dtype.kind == "f":
        return _stacked(values * _range_of_floats(values)), ("grey", "floats to 8 bits")
    if values.min() < 0 or values.max() > 0xFFFF:
        raise PictureError(
            "unknown range", f"32-bit values from {values.min()} to {values.max()}: convert it"
        )
    if values.dtype.itemsize > 2 and values.max() <= 0xFF:
        return _stacked(values), ("grey",)
    return _stacked(values / 257), ("grey", "16 bits to 8")


def _range_of_floats(values: NDArray[Any]) -> float:
    if not np.isfinite(values).all() or values.min() < 0 or values.max() > 255:
        raise PictureError("unknown range", "floating-point pixels outside of 0 to 255: convert it")
    return 255.0 if values.max() <= 1 else 1.0


def _stacked(grey: NDArray[Any]) -> NDArray[np.uint8]:
    return np.repeat(np.rint(grey).astype(np.uint8)[..., None], 3, axis=2)

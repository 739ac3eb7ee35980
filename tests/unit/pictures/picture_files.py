"""Picture files of every kind, made on the spot."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
from PIL import Image


def noise(height: int = 40, width: int = 30, seed: int = 0) -> np.ndarray:
    """A smooth colourful picture, so that JPEG keeps it nearly as it is."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(40, 216, (5, 4, 3), np.uint8))
    return np.asarray(small.resize((width, height), Image.Resampling.BICUBIC))


def saved(picture: Any, kind: str = "PNG", **options: Any) -> bytes:
    """The bytes of a file of this kind."""
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def turned(picture: np.ndarray, orientation: int, kind: str = "JPEG", **options: Any) -> bytes:
    """A picture stored as a camera held that way would, with the tag that says so."""
    stored = {
        1: picture, 2: picture[:, ::-1], 3: picture[::-1, ::-1], 4: picture[::-1],
        5: picture.swapaxes(0, 1), 6: np.rot90(picture), 7: picture[::-1, ::-1].swapaxes(0, 1),
        8: np.rot90(picture, -1),
    }[orientation]  # fmt: skip
    exif = Image.Exif()
    exif[0x0112] = orientation
    return saved(np.ascontiguousarray(stored), kind, exif=exif, **options)


def png_of_16_bits(values: np.ndarray) -> bytes:
    """RGB or grey PNG of 16 bits a channel, which Pillow reads and does not write."""
    height, width = values.shape[:2]
    colour = 2 if values.ndim == 3 else 0
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    head = struct.pack(">IIBBBBB", width, height, 16, colour, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def png_that_claims(width: int, height: int) -> bytes:
    """A header for that many pixels, and hardly any bytes behind it."""
    made = bytearray(png_of_16_bits(np.zeros((1, 1), np.uint16)))
    made[16:24] = struct.pack(">II", width, height)
    made[29:33] = struct.pack(">I", zlib.crc32(made[12:29]))
    return bytes(made)

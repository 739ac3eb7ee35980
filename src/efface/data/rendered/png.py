"""Pictures to files without an image library, and many pictures on one sheet."""

from __future__ import annotations

import os
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from efface.data.atomic import atomic_write
from efface.errors import DataError


def png(picture: NDArray[np.uint8]) -> bytes:
    """A height x width x 3 picture as a PNG file (8 bits, RGB, lossless)."""
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or not picture.size:
        raise DataError(f"a picture is uint8, height x width x 3; this is {picture.dtype} of shape "
                        f"{picture.shape}")  # fmt: skip
    height, width = picture.shape[:2]
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each row begins with its filter: 2, above
    rows[:, 0] = 2
    flat = picture.reshape(height, -1)
    rows[0, 1:], rows[1:, 1:] = flat[0], flat[1:] - flat[:-1]
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def write_png(picture: NDArray[np.uint8], path: str | os.PathLike[str]) -> None:
    """Write the file, whole or not at all."""
    content = png(picture)
    with atomic_write(path, parents=True) as partial:
        partial.write_bytes(content)


def contact_sheet(pictures: NDArray[np.uint8], columns: int) -> NDArray[np.uint8]:
    """Pictures of one size side by side, row by row; what is missing at the end is black."""
    count, height, width = pictures.shape[:3]
    rows = -(-count // columns)
    sheet = np.zeros((rows * columns, height, width, 3), np.uint8)
    sheet[:count] = pictures
    grid = sheet.reshape(rows, columns, height, width, 3).swapaxes(1, 2)
    return grid.reshape(rows * height, columns * width, 3)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

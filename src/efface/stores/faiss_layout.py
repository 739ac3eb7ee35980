"""Whether a FAISS file may be mapped: only if every array in it lies where the file says.

FAISS checks what it reads and not what it maps: a file that is cut short would end the process. So
the layout of flat indexes, the only ones worth mapping, is walked here first. Everything else, and
everything unexpected, is read in full, which FAISS does check.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

_FLAT = {b"IxFI", b"IxF2", b"IxFl"}
_MAPS = {b"IxMp", b"IxM2"}
_HEADER = struct.Struct("<iqqq?i")
"""Dimension, vectors, two unused numbers, trained, metric."""
_COUNT = struct.Struct("<Q")
_SIMPLE_METRICS = {0, 1}
"""Inner product and L2, behind which no argument follows."""


def mappable(path: Path) -> bool:
    """A flat index, with or without a map of ids, whose arrays fill the file exactly."""
    size = path.stat().st_size
    with path.open("rb") as file:
        try:
            return _ends(file) == size
        except (struct.error, ValueError, OverflowError, OSError):
            return False


def _ends(file: BinaryIO) -> int:
    """Where the index ends by its own account."""
    name = file.read(4)
    dim, total = _header(file)
    if name in _MAPS:
        inner_dim, inner_total = _header(file) if file.read(4) in _FLAT else (0, 0)
        if (inner_dim, inner_total) != (dim, total):
            raise ValueError
    elif name not in _FLAT:
        raise ValueError
    _skip(file, 4, dim * total)
    if name in _MAPS:
        _skip(file, 8, total)
    return file.tell()


def _header(file: BinaryIO) -> tuple[int, int]:
    dim, total, _, _, trained, metric = _HEADER.unpack(file.read(_HEADER.size))
    if dim <= 0 or total < 0 or not trained or metric not in _SIMPLE_METRICS:
        raise ValueError
    return dim, total


def _skip(file: BinaryIO, width: int, count: int) -> None:
    """Over an array, which has to have this length."""
    (found,) = _COUNT.unpack(file.read(_COUNT.size))
    if found != count:
        raise ValueError
    file.seek(width * count, 1)

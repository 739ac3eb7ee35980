"""Levels of a column of vectors: what Parquet writes before the values of a page to say where rows
begin and which values are there. For whole vectors of one width they are known beforehand."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from efface.stores.thrift import Reader, varint

_NARROW = 64
"""Below this many values per row, bits take less room than runs."""


@lru_cache(maxsize=8)
def level_bytes(rows: int, dim: int, definitions: int) -> bytes:
    """Repetition and definition levels of ``rows`` whole vectors, as in a page of version 1."""
    starts = _starts_packed(rows, dim) if dim < _NARROW else _starts_in_runs(rows, dim)
    there = varint(rows * dim << 1) + bytes([definitions])
    return b"".join(len(part).to_bytes(4, "little") + part for part in (starts, there))


def _starts_in_runs(rows: int, dim: int) -> bytes:
    """One 0, which begins a row, and a run of ones for the values behind it."""
    row = varint(1 << 1) + b"\0" + varint((dim - 1) << 1) + b"\1"
    return row * rows


def _starts_packed(rows: int, dim: int) -> bytes:
    bits = np.packbits(_starts(rows * dim, dim, 0), bitorder="little")
    return varint(len(bits) << 1 | 1) + bits.tobytes()


@lru_cache(maxsize=256)
def are_starts(data: bytes, values: int, dim: int, phase: int) -> bool:
    """Does a row begin at every ``dim``-th value, and nowhere else? The first value of the page is
    number ``phase`` of its row. Pages of one file mostly have the same levels: asked once."""
    return bool(np.array_equal(_decoded(data, values, 1), _starts(values, dim, phase)))


@lru_cache(maxsize=64)
def are_all(data: bytes, values: int, level: int) -> bool:
    """Are all values there, down to the deepest level?"""
    return bool((_decoded(data, values, level.bit_length()) == level).all())


def _starts(values: int, dim: int, phase: int) -> NDArray[np.uint8]:
    starts: NDArray[np.uint8] = ((np.arange(phase, phase + values) % dim) != 0).astype(np.uint8)
    return starts


def _decoded(data: bytes, values: int, width: int) -> NDArray[np.uint8]:
    """Levels of ``width`` bits: runs of one level, and groups of eight packed ones."""
    out = np.empty(values, np.uint8)
    reader, at = Reader(data), 0
    while at < values:
        head = reader.varint()
        count = min(head >> 1 if not head & 1 else (head >> 1) * 8, values - at)
        if not count:
            raise ValueError("a run of levels is empty")
        if head & 1:
            found = _unpacked(reader.take((head >> 1) * width), width)
            out[at : at + count] = found[:count]
        else:
            out[at : at + count] = reader.take(1)[0]
        at += count
    return out


def _unpacked(data: bytes, width: int) -> NDArray[np.uint8]:
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").reshape(-1, width)
    weights = (1 << np.arange(width)).astype(np.uint8)
    levels: NDArray[np.uint8] = (bits * weights).sum(axis=1, dtype=np.uint8)
    return levels

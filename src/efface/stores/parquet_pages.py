"""Vectors straight from the pages of a Parquet file, where these are plain.

A page of plain values is the values' own bytes behind a few bytes of levels. So rows in the middle
of a large row group cost what they hold, and nothing is decoded but the compression. What is not
plain (a dictionary, gaps, another encoding) is left to the Arrow reader: ``None`` says so.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from efface.stores.parquet_footer import CODECS, Column
from efface.stores.parquet_levels import are_all, are_starts
from efface.stores.thrift import I32, STRUCT, TRUE, Reader, Struct, get, whole

_HEADER = 512
_LONGEST_HEADER = 1 << 20
_DATA, _INDEX, _DICTIONARY, _DATA_V2 = range(4)
_PLAIN, _RLE = 0, 3


@dataclass(frozen=True)
class Page:
    """A data page: where its body is, and which values of the chunk it holds."""

    at: int
    size: int
    unpacked: int
    first: int
    values: int
    plain: bool
    checksum: int | None
    apart: tuple[int, int, bool] | None
    """Version 2: bytes of both levels, which stand uncompressed, and if the values are packed."""

    @property
    def end(self) -> int:
        return self.first + self.values


@dataclass(frozen=True)
class Layout:
    """What is the same for all pages of a column of vectors."""

    dim: int
    dtype: np.dtype[Any]
    definitions: int
    codec: str


def scan(file: int, column: Column) -> Iterator[Page]:
    """The data pages of a chunk; only their headers are read."""
    at, done, end = column.start, 0, column.start + column.size
    while done < column.values:
        header, length = _header(file, at, end)
        body, size = at + length, whole(header, 3)
        if body + size > end:
            raise ValueError("a page reaches beyond its column")
        if (page := _page(header, body, size, done)) is not None:
            yield page
            done = page.end
        at = body + size
    if done != column.values:
        raise ValueError("a column has other values than it says")


def _header(file: int, at: int, end: int) -> tuple[Struct, int]:
    """The header at this place and its length; statistics can make it long."""
    length = _HEADER
    while True:
        data = os.pread(file, min(length, end - at), at)
        reader = Reader(data)
        try:
            return reader.struct(), reader.at
        except ValueError:
            if len(data) < length or length >= _LONGEST_HEADER:
                raise
        length *= 16


def _page(header: Struct, body: int, size: int, first: int) -> Page | None:
    kind, unpacked = whole(header, 1), whole(header, 2)
    checksum = get(header, 4, I32)
    if kind == _DATA:
        data = get(header, 5, STRUCT, {})
        plain = [whole(data, n) for n in (2, 3, 4)] == [_PLAIN, _RLE, _RLE]
        return Page(body, size, unpacked, first, whole(data, 1), plain, checksum, None)
    if kind == _DATA_V2:
        data = get(header, 8, STRUCT, {})
        apart = whole(data, 6), whole(data, 5), bool(get(data, 7, TRUE, True))
        plain = whole(data, 4) == _PLAIN
        return Page(body, size, unpacked, first, whole(data, 1), plain, checksum, apart)
    if kind not in (_INDEX, _DICTIONARY):
        raise ValueError(f"a page of unknown kind {kind}")
    return None


def plain_from(pages: Sequence[Page]) -> int:
    """The value from which on all pages are plain."""
    return max((page.end for page in pages if not page.plain), default=0)


def read_values(
    file: int, pages: Sequence[Page], layout: Layout, first: int, out: NDArray[Any]
) -> bool:
    """Fill ``out`` with the values from number ``first`` on; False where a page is not of whole
    vectors that are all there."""
    last = first + len(out)
    for page in _touched(pages, first, last):
        found = _values(file, page, layout)
        if found is None:
            return False
        start, stop = max(first, page.first), min(last, page.end)
        out[start - first : stop - first] = found[start - page.first : stop - page.first]
    return True


def _touched(pages: Sequence[Page], first: int, last: int) -> Iterator[Page]:
    low, high = 0, len(pages)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if pages[middle].end <= first else (low, middle)
    for page in pages[low:]:
        if page.first >= last:
            return
        yield page


def _values(file: int, page: Page, layout: Layout) -> NDArray[Any] | None:
    size = page.values * layout.dtype.itemsize
    if not page.plain or page.unpacked > 2 * size + (1 << 16):
        return None
    body = os.pread(file, page.size, page.at)
    if len(body) != page.size:
        raise ValueError("a page is cut short")
    if page.checksum is not None and zlib.crc32(body) != page.checksum & 0xFFFFFFFF:
        raise ValueError("the checksum of a page does not fit its bytes")
    starts, there, values = _divided(body, page, layout.codec)
    if len(values) != size:
        return None
    phase = page.first % layout.dim
    if not are_starts(starts, page.values, layout.dim, phase):
        return None
    if not are_all(there, page.values, layout.definitions):
        return None
    return np.frombuffer(values, layout.dtype)


def _divided(body: bytes, page: Page, codec: str) -> tuple[bytes, bytes, Any]:
    """Both kinds of levels, and the bytes of the values."""
    if page.apart is None:
        plain = memoryview(_unpacked(body, page.unpacked, codec))
        starts, at = _level(plain, 0)
        there, at = _level(plain, at)
        return starts, there, plain[at:]
    repetition, definition, packed = page.apart
    levels = repetition + definition
    rest = memoryview(body)[levels:]
    values = _unpacked(rest, page.unpacked - levels, codec) if packed else rest
    return body[:repetition], body[repetition:levels], memoryview(values)


def _level(data: memoryview, at: int) -> tuple[bytes, int]:
    end = at + 4 + int.from_bytes(data[at : at + 4], "little")
    return bytes(data[at + 4 : end]), end


def _unpacked(data: bytes | memoryview, size: int, codec: str) -> Any:
    if codec == "none":
        return data
    return memoryview(pa.Codec(codec).decompress(data, size))[:size]


def codec_name(number: int) -> str | None:
    """What Arrow calls a codec whose blocks it can unpack one by one."""
    name = CODECS[number]
    return {"lz4": "lz4_raw", "lz4_hadoop": None}.get(name, name)

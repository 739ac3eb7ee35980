"""The messages of an Arrow IPC file or stream, without their bodies: what kind each is, how many
rows a batch has and how it is compressed. Arrow's own readers tell that only of what they decode.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from efface.data.ipc import REMEDY, is_stream
from efface.data.table import readable

_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3
_CODECS = {0: "lz4", 1: "zstd"}
_FILE_START = 8
_CONTINUES = 0xFFFFFFFF
# Bytes that one byte of a body may stand for at the most; a row's vector takes one at the least.
_DENSEST = {None: 1, "lz4": 255, "zstd": 1 << 15}


@dataclass(frozen=True)
class Batches:
    """The record batches of a file: their rows, and the codec they share (None: plain)."""

    rows: tuple[int, ...]
    codec: str | None
    stream: bool


def scan(path: Path) -> Batches:
    with readable(str(path), REMEDY):
        stream = is_stream(path)
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(0 if stream else _FILE_START)
            found = list(_batches(file, size))
    codecs = [codec for _, codec in found if codec is not None]
    return Batches(tuple(rows for rows, _ in found), codecs[0] if codecs else None, stream)


def _batches(file: BinaryIO, size: int) -> Iterator[tuple[int, str | None]]:
    """Rows and codec of each record batch, up to the end mark or the end."""
    while True:
        head = file.read(4)
        if len(head) < 4:
            return
        length = int.from_bytes(head, "little")
        if length == _CONTINUES:
            length = int.from_bytes(file.read(4), "little")
        if length == 0:
            return
        if length > size - file.tell():
            raise ValueError("a message is cut short")
        message = _Table.root(file.read(length))
        body = message.number(3, "<q")
        if body < 0 or body > size - file.tell():
            raise ValueError("the body of a message is cut short")
        if message.number(1, "<B") == _BATCH:
            yield _batch(message, body)
        file.seek(body, os.SEEK_CUR)


def _batch(message: _Table, body: int) -> tuple[int, str | None]:
    batch = message.table(2)
    if batch is None:
        raise ValueError("a record batch has no header")
    rows = batch.number(0, "<q")
    if rows < 0:
        raise ValueError("a record batch has fewer than no rows")
    compression = batch.table(3)
    codec = None if compression is None else _CODECS[compression.number(0, "<b")]
    if rows > body * _DENSEST[codec]:
        raise ValueError(f"a record batch says it has {rows} rows, in {body} bytes")
    return rows, codec


@dataclass(frozen=True)
class _Table:
    """A table of a flatbuffer; every place in it is checked by ``struct``."""

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, int(_unpack("<I", data, 0)))

    def _field(self, number: int) -> int:
        """Where a field is; 0 if it has its default."""
        table = self.at - int(_unpack("<i", self.data, self.at))
        if 4 + 2 * number >= int(_unpack("<H", self.data, table)):
            return 0
        offset = int(_unpack("<H", self.data, table + 4 + 2 * number))
        return self.at + offset if offset else 0

    def number(self, field: int, form: str) -> int:
        at = self._field(field)
        return int(_unpack(form, self.data, at)) if at else 0

    def table(self, field: int) -> _Table | None:
        at = self._field(field)
        return _Table(self.data, at + int(_unpack("<I", self.data, at))) if at else None


def _unpack(form: str, data: bytes, at: int) -> int:
    if at < 0:
        raise ValueError("a message points outside of itself")
    (value,) = struct.unpack_from(form, data, at)
    return int(value)

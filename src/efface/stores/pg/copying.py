"""COPY, both ways: parts of a table in binary, and the binary rows that are sent back."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from efface.stores.pg.names import literal

_HEAD = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_TAIL = struct.pack(">h", -1)
_NULL = struct.pack(">i", -1)


@dataclass(frozen=True)
class Rows:
    """Key as text, the transaction that wrote the row, and the vector's bytes, row by row."""

    keys: list[str]
    seen: list[int]
    raw: list[bytes | None]


def fetch(connection: Any, query: str) -> Rows:
    """Rows of a query with those three columns."""
    rows = Rows([], [], [])
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT binary)") as copy,
    ):
        copy.set_types(["text", "oid", "bytea"])
        for key, seen, raw in copy.rows():
            rows.keys.append(key)
            rows.seen.append(seen)
            rows.raw.append(raw)
    return rows


def lines(connection: Any, query: str) -> list[bytes]:
    """Rows of a query in COPY's text form; a line break inside a value is escaped there."""
    with connection.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT") as copy:
        return b"".join(bytes(block) for block in copy).splitlines(keepends=True)


def pack(keys: Sequence[str], seen: Iterable[int], raw: Iterable[bytes | None]) -> bytes:
    """What COPY FROM STDIN (FORMAT binary) reads: number, key, transaction, vector."""
    blocks = [_HEAD]
    for number, (key, xmin, vector) in enumerate(zip(keys, seen, raw, strict=True)):
        text = key.encode()
        blocks += [
            struct.pack(">hiii", 4, 4, number, len(text)),
            text,
            struct.pack(">iI", 4, xmin),
            _NULL if vector is None else struct.pack(">i", len(vector)) + vector,
        ]
    return b"".join([*blocks, _TAIL])


def send(connection: Any, table: str, data: bytes, form: str) -> None:
    """Load prepared rows into a table."""
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} FROM STDIN (FORMAT {form})") as copy,
    ):
        copy.write(data)


def between(key: str, kind: str, low: str, high: str | None) -> str:
    """Rows from one key on and before another, as a condition; keys are given as text."""
    condition = f"{key} >= {literal(low)}::{kind}"
    return condition if high is None else f"{condition} AND {key} < {literal(high)}::{kind}"

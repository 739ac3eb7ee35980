"""A part on its way into the new table: packed anywhere, inserted where the work is driven."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import StoreError
from efface.stores.contract import Chunk, Part
from efface.stores.pg import connect, copying, vectors
from efface.stores.pg.making import Made
from efface.stores.pg.names import ident, listed
from efface.stores.pg.table import Table
from efface.stores.postgres import PostgresSource

_PART = """
CREATE TEMPORARY TABLE IF NOT EXISTS efface_part
  (n integer, key text, seen xid, vector {type}) ON COMMIT DELETE ROWS
"""

_REST = """
CREATE TEMPORARY TABLE IF NOT EXISTS efface_rest ON COMMIT DELETE ROWS
  AS SELECT 0 AS efface_n, {columns} FROM {work} WITH NO DATA
"""

# The row's version is compared too: a row that was changed since it was read is not joined.
_HERE = """
INSERT INTO {work} ({columns}, {vector}) OVERRIDING SYSTEM VALUE
SELECT {sources}, p.vector FROM pg_temp.efface_part AS p
JOIN {table} AS s ON s.{key} = p.key::{type} AND s.xmin = p.seen WHERE {range} ORDER BY p.n
"""

_THERE = """
INSERT INTO {work} ({columns}, {vector}) OVERRIDING SYSTEM VALUE
SELECT {rests}, p.vector FROM pg_temp.efface_part AS p
JOIN pg_temp.efface_rest AS r ON r.efface_n = p.n ORDER BY p.n
"""

_OTHERS = """
SELECT s.xmin, encode(convert_to(s.{key}::text, 'UTF8'), 'hex'), {columns} FROM {table} AS s
WHERE {range}
"""


@dataclass(frozen=True)
class Packed:
    """A part on its way: keys and vectors, and other columns where the database is another."""

    rows: int
    vectors: bytes
    rest: bytes | None


def pack(origin: PostgresSource, part: Part, chunk: Chunk, new: NDArray[Any], same: bool) -> Packed:
    """What ``insert`` needs; it is fetched and formed in the worker."""
    raw: list[bytes | None] = list(vectors.encode(new, origin.table.vector.base))
    if chunk.present is not None:
        raw = [one if has else None for one, has in zip(raw, chunk.present, strict=True)]
    keys = [str(label) for label in chunk.labels]
    seen = [int(version) for version in np.asarray(chunk.rest)]
    rest = None if same else _others(origin, part, keys, seen)
    return Packed(len(keys), copying.pack(keys, seen, raw), rest)


def insert(
    connection: Any, origin: PostgresSource, new: Made, part: Part, prepared: Packed
) -> None:
    """All rows of a part, or a StoreError; the transaction is the caller's."""
    table = origin.table
    connection.execute(_PART.format(type=table.vector.type))
    copying.send(connection, "pg_temp.efface_part", prepared.vectors, "binary")
    if prepared.rest is not None:
        connection.execute(_REST.format(columns=listed(table.copied), work=new.sql))
        copying.send(connection, "pg_temp.efface_rest", prepared.rest, "text")
    written = connection.execute(_statement(table, new, part, prepared)).rowcount
    if written != prepared.rows:
        raise changed(origin, part, prepared.rows - written)


def changed(origin: PostgresSource, part: Part, rows: int) -> StoreError:
    return StoreError(
        f"{origin.place}: {rows} rows of part {part.index} were changed or deleted since it was "
        "read (stop what writes to the table, then start again with a new target)"
    )


def _statement(table: Table, new: Made, part: Part, prepared: Packed) -> str:
    return (_HERE if prepared.rest is None else _THERE).format(
        work=new.sql,
        columns=listed(table.copied),
        sources=listed(table.copied, "s"),
        rests=listed(table.copied, "r"),
        vector=ident(table.vector.name),
        table=table.sql,
        key=ident(table.key.name),
        type=table.key.type,
        range=_range(table, part),
    )


def _range(table: Table, part: Part) -> str:
    low, high = json.loads(part.where)
    return copying.between(ident("s", table.key.name), table.key.type, low, high)


def _others(origin: PostgresSource, part: Part, keys: Sequence[str], seen: Sequence[int]) -> bytes:
    """Other columns of the rows that were read, numbered, unless one was changed since."""
    table = origin.table
    query = _OTHERS.format(
        key=ident(table.key.name),
        columns=listed(table.copied, "s"),
        table=table.sql,
        range=_range(table, part),
    )
    with connect.connected(origin.conninfo, origin.place) as connection:
        found = copying.lines(connection, query)
    held = {}
    for line in found:
        version, key, columns = line.split(b"\t", 2)
        held[bytes.fromhex(key.decode()).decode(), int(version)] = columns
    lines = [held.get(row, b"") for row in zip(keys, seen, strict=True)]
    if (lost := lines.count(b"")) > 0:
        raise changed(origin, part, lost)
    return b"".join(b"%d\t%b" % (n, line) for n, line in enumerate(lines))

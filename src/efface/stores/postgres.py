"""PostgreSQL: vectors in a column of pgvector's types or of a float array, one row per key.

Parts are ranges of the key, so any worker reads its own over a connection of its own. Vectors
travel in the server's binary form, bit by bit as they are stored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from efface.errors import StoreError
from efface.stores.address import Address
from efface.stores.contract import Chunk, Part, Shape, Sink, Source
from efface.stores.pg import connect, copying, vectors
from efface.stores.pg.names import ident
from efface.stores.pg.table import Table, described, split_name

_WHOLE = {"int2", "int4", "int8"}

_PARTS = """
SELECT k, n, total FROM (SELECT {key}::text AS k, row_number() OVER (ORDER BY {key}) - 1 AS n,
  count(*) OVER () AS total FROM {table}) AS numbered WHERE n % {rows} = 0 ORDER BY n
"""

# The alias matters: a bare name after ORDER BY would be the column of text that is selected.
_ROWS = """
SELECT t.{key}::text, t.xmin, t.{vector} FROM {table} AS t WHERE {condition} ORDER BY t.{key}
"""

_FINGERPRINT = """
SELECT count(*), coalesce(sum(hashtextextended({key}::text || ' ' || xmin::text, 0)), 0)::text
FROM {table}
"""

_CHOSEN = """
SELECT t.{key}::text, t.xmin, t.{vector} FROM (SELECT {key} AS k, row_number()
  OVER (ORDER BY {key}) - 1 AS n FROM {table} WHERE {vector} IS NOT NULL) AS numbered
JOIN {table} AS t ON t.{key} = numbered.k WHERE numbered.n = ANY ('{{{chosen}}}'::bigint[])
ORDER BY numbered.n
"""


@dataclass(frozen=True)
class PostgresSource:
    """A table to read from, in the order of its key."""

    conninfo: str = field(repr=False)
    place: str
    table: Table
    shape: Shape

    kind: ClassVar[str] = "postgres"
    local_only: ClassVar[bool] = False

    def fingerprint(self) -> str:
        """Count, and a hash of every key with the transaction that wrote its row.

        Any committed insert, update or delete changes it, and no vector is read. It cannot see
        past a restore of the same rows under other transaction numbers: that counts as a change.
        """
        with connect.connected(self.conninfo, self.place) as connection:
            return fingerprint(connection, self.table, self.shape)

    def parts(self, rows: int) -> Sequence[Part]:
        """Every n-th key is a boundary, found in one pass over the keys."""
        query = self._sql(_PARTS, rows=int(rows))
        with connect.connected(self.conninfo, self.place) as connection:
            found = connection.execute(query).fetchall()
        lows = [key for key, _, _ in found]
        return [
            Part(index, int(start), int(min(rows, total - start)), json.dumps([low, high]))
            for index, ((low, start, total), high) in enumerate(
                zip(found, [*lows[1:], None], strict=True)
            )
        ]

    def read(self, part: Part) -> Chunk:
        chunk = self._range(part)
        if len(chunk.labels) != part.rows:
            raise StoreError(
                f"{self.place}: {len(chunk.labels)} rows where {part.rows} were, from key "
                f"{json.loads(part.where)[0]} on: the table changes while it is read (stop what "
                "writes to it, then start again with a new target)"
            )
        return chunk

    def select(self, chunk: Chunk, rows: NDArray[np.bool_]) -> Chunk:
        return Chunk(
            chunk.vectors[rows],
            chunk.rest[rows],
            [label for label, wanted in zip(chunk.labels, rows, strict=True) if wanted],
            None if chunk.present is None else chunk.present[rows],
        )

    def sample(self, rows: int, rng: np.random.Generator) -> tuple[Sequence[Any], NDArray[Any]]:
        """Exactly uniform: places in the order of the key are drawn, then looked up.

        TABLESAMPLE draws pages or leaves the number of rows open, so it is not used. Rows
        without a vector are not drawn.
        """
        with connect.connected(self.conninfo, self.place) as connection:
            (total,) = connection.execute(
                self._sql("SELECT count(*) FROM {table} WHERE {vector} IS NOT NULL")
            ).fetchone()
            chosen = np.sort(rng.choice(total, min(rows, total), replace=False))
            found = copying.fetch(
                connection, self._sql(_CHOSEN, chosen=",".join(map(str, chosen.tolist())))
            )
        chunk = self._chunk(found)
        return chunk.labels, chunk.vectors

    def held(self, part: Part) -> NDArray[Any]:
        """The vectors of a part's range as they are now; rows without one are left out."""
        chunk = self._range(part)
        return chunk.vectors if chunk.present is None else chunk.vectors[chunk.present]

    def _range(self, part: Part) -> Chunk:
        low, high = json.loads(part.where)
        key = f"t.{ident(self.table.key.name)}"
        condition = copying.between(key, self.table.key.type, low, high)
        with connect.connected(self.conninfo, self.place) as connection:
            return self._chunk(copying.fetch(connection, self._sql(_ROWS, condition=condition)))

    def _chunk(self, rows: copying.Rows) -> Chunk:
        whole = self.table.key.base in _WHOLE
        labels = [int(key) for key in rows.keys] if whole else rows.keys
        found, present = vectors.decode(
            rows.raw, self.table.vector.base, self.shape.dim, labels, self.place
        )
        seen = np.array(rows.seen, np.uint32)
        return Chunk(found, seen, labels, None if present.all() else present)

    def _sql(self, template: str, **more: Any) -> str:
        return _sql(template, self.table, **more)


def fingerprint(connection: Any, table: Table, shape: Shape) -> str:
    """Of the rows as a transaction sees them; so a swap can ask again under its lock."""
    count, mixed = connection.execute(_sql(_FINGERPRINT, table)).fetchone()
    text = f"{count} {mixed} {table.vector.name} {table.vector.base} {shape.dim}"
    return hashlib.sha256(text.encode()).hexdigest()


def open_source(address: Address) -> PostgresSource:
    where = connect.place(address.location, *split_name(address.table))
    with connect.connected(address.location, where) as connection:
        table = described(connection, address.table, address.embedding, address.key, where)
        where = connect.place(address.location, table.schema, table.name)
        (rows,) = connection.execute(f"SELECT count(*) FROM {table.sql}").fetchone()
        shape = Shape(int(rows), _dim(connection, table, where), vectors.STORED[table.vector.base])
    return PostgresSource(address.location, where, table, shape)


def open_sink(address: Address, source: Source) -> Sink:
    from efface.stores.pg.sink import PostgresSink

    if not isinstance(source, PostgresSource):
        raise StoreError(
            f"postgresql: rows of {source.place} cannot go into a table: its columns and types "
            "are those of another kind of store (choose a target of the source's kind)"
        )
    return PostgresSink.at(address, source)


def _dim(connection: Any, table: Table, where: str) -> int:
    if table.vector.base in ("vector", "halfvec") and table.vector.modifier > 0:
        return table.vector.modifier
    size = (
        "array_length({vector}, 1)"
        if table.vector.base.startswith("_")
        else ("vector_dims({vector})")
    )
    found = connection.execute(
        _sql(f"SELECT {size} FROM {{table}} WHERE {{vector}} IS NOT NULL LIMIT 1", table)
    ).fetchone()
    if not found or not found[0]:
        raise StoreError(
            f"{where}: column {table.vector.name} says no dimension and no row has a vector"
        )
    return int(found[0])


def _sql(template: str, table: Table, **more: Any) -> str:
    return template.format(
        key=ident(table.key.name), vector=ident(table.vector.name), table=table.sql, **more
    )

"""What a table is made of, read from the server's catalogues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from efface.errors import StoreError
from efface.registry import nearest
from efface.stores.pg.names import ident
from efface.stores.pg.vectors import STORED

# What is printed below search_path pg_catalog has its schema with it.
QUALIFIED = "SET LOCAL search_path TO pg_catalog"

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typname, a.atttypmod, a.attnotnull,
  pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated,
  CASE WHEN a.attcollation <> t.typcollation
    THEN quote_ident(cn.nspname) || '.' || quote_ident(co.collname) END,
  col_description(a.attrelid, a.attnum),
  (SELECT s.oid::regclass::text FROM pg_depend p JOIN pg_class s ON s.oid = p.objid
    WHERE p.classid = 'pg_class'::regclass AND s.relkind = 'S' AND p.deptype IN ('a', 'i')
      AND p.refclassid = 'pg_class'::regclass AND p.refobjid = a.attrelid
      AND p.refobjsubid = a.attnum LIMIT 1)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_collation co ON co.oid = a.attcollation
LEFT JOIN pg_namespace cn ON cn.oid = co.collnamespace
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""

_UNIQUE = """
SELECT i.indisprimary, array_agg(a.attname::text ORDER BY k.n), bool_and(a.attnotnull)
FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, n)
LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid AND i.indimmediate
  AND i.indpred IS NULL AND k.n <= i.indnkeyatts
GROUP BY i.indexrelid, i.indisprimary
"""

_FIND = """
SELECT c.oid, n.nspname, c.relname, c.relkind::text FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = %s AND (n.nspname = %s OR (%s = '' AND pg_table_is_visible(c.oid)))
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""

_KINDS = {"v": "a view", "m": "a materialised view", "f": "a foreign table"}


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    """As it is written in SQL, with its schema and its modifier."""
    base: str
    """The type's own name in the catalogue."""
    modifier: int
    not_null: bool
    default: str | None
    identity: str
    generated: str
    collation: str | None
    comment: str | None
    sequence: str | None
    """The sequence that belongs to a serial or identity column."""


@dataclass(frozen=True)
class Table:
    oid: int
    schema: str
    name: str
    columns: tuple[Column, ...]
    vector: Column
    key: Column

    @property
    def sql(self) -> str:
        return ident(self.schema, self.name)

    @property
    def copied(self) -> tuple[str, ...]:
        """Columns that are copied as they are: not the vectors, nor what the server computes."""
        return tuple(c.name for c in self.columns if not c.generated and c != self.vector)


def split_name(text: str) -> tuple[str, str]:
    """``schema.table`` or ``table``; double quotes protect a dot in a name."""
    if text.startswith('"') and text.endswith('"') and len(text) > 2:
        schema, dot, table = text[1:-1].partition('"."')
        return (schema, table) if dot else ("", text[1:-1])
    schema, dot, table = text.partition(".")
    return (schema, table) if dot else ("", text)


def find(connection: Any, schema: str, name: str) -> tuple[int, str, str, str] | None:
    """Oid, schema, name and kind of a table or view."""
    found = connection.execute(_FIND, (name, schema, schema)).fetchone()
    return tuple(found) if found else None


def described(
    connection: Any, text: str, embedding: str | None, key: str | None, where: str
) -> Table:
    """The table of that name with its vector column and its key; else what is wrong with it."""
    schema, name = split_name(text)
    found = find(connection, schema, name)
    if found is None:
        raise StoreError(f"{where}: no such table{nearest(name, _names(connection, schema))}")
    oid, schema, name, kind = found
    if kind in _KINDS:
        raise StoreError(f"{where}: {_KINDS[kind]}; name the table that holds the vectors")
    with connection.transaction():
        connection.execute(QUALIFIED)
        columns = tuple(Column(*row) for row in connection.execute(_COLUMNS, (oid,)))
    vector = _vector(columns, embedding, where)
    found_key = _key(connection, oid, columns, key, where)
    if found_key == vector:
        raise StoreError(f"{where}: the key is the vector column itself; name another with --key")
    if found_key.generated:
        raise StoreError(f"{where}: key {found_key.name} is computed; name another with --key")
    return Table(oid, schema, name, columns, vector, found_key)


def _names(connection: Any, schema: str) -> list[str]:
    query = (
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema') "
        "AND (%s = '' OR n.nspname = %s)"
    )
    return [name for (name,) in connection.execute(query, (schema, schema))]


def _vector(columns: tuple[Column, ...], named: str | None, where: str) -> Column:
    if named is not None:
        return _named_vector(columns, named, where)
    for bases in ({"vector", "halfvec"}, {"_float4", "_float8"}):
        found = [c for c in columns if c.base in bases]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(c.name for c in found)
            raise StoreError(
                f"{where}: {len(found)} vector columns: choose one with --embedding ({names})"
            )
    raise StoreError(
        f"{where}: no column of type vector, halfvec, real[] or double precision[] "
        f"(columns: {', '.join(f'{c.name} {c.type}' for c in columns)})"
    )


def _named_vector(columns: tuple[Column, ...], named: str, where: str) -> Column:
    column = _column(columns, named, where)
    if column.base not in STORED:
        raise StoreError(
            f"{where}: column {named} is of type {column.type}; a vector column is of type "
            "vector, halfvec, real[] or double precision[]"
        )
    if column.generated:
        raise StoreError(f"{where}: column {named} is computed by the server; erase its source")
    return column


def _column(columns: tuple[Column, ...], named: str, where: str) -> Column:
    for column in columns:
        if column.name == named:
            return column
    raise StoreError(f"{where}: no column {named!r}{nearest(named, [c.name for c in columns])}")


def _key(
    connection: Any, oid: int, columns: tuple[Column, ...], named: str | None, where: str
) -> Column:
    unique = [(bool(p), list(k), bool(f)) for p, k, f in connection.execute(_UNIQUE, (oid,))]
    if named is not None:
        column = _column(columns, named, where)
        if not any(keys == [named] for _, keys, _ in unique) or not column.not_null:
            raise StoreError(
                f"{where}: column {named} cannot tell rows apart: it needs a unique index and "
                "NOT NULL"
            )
        return column
    primary = next((keys for first, keys, _ in unique if first), None)
    if primary is None:
        raise StoreError(
            f"{where}: no primary key: name a unique NOT NULL column with --key, or add one: "
            "ALTER TABLE ... ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
        )
    if len(primary) > 1:
        raise StoreError(
            f"{where}: the primary key has {len(primary)} columns ({', '.join(primary)}): name "
            "one unique NOT NULL column with --key"
        )
    return _column(columns, primary[0], where)

"""A new table like another one: first without indexes, for loading, then with all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from efface.stores.pg.names import fit, ident, literal, renamed
from efface.stores.pg.table import QUALIFIED, Column, Table

_INDEXES = """
SELECT c.relname, pg_get_indexdef(i.indexrelid), i.indisunique,
  pg_get_constraintdef(k.oid), obj_description(i.indexrelid, 'pg_class')
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid
  AND k.contype IN ('p', 'u', 'x')
WHERE i.indrelid = %s AND i.indisvalid ORDER BY i.indisprimary DESC, c.relname
"""

_CHECKS = """
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = %s AND contype = 'c' ORDER BY conname
"""

_SEQUENCE = """
SELECT format_type(seqtypid, NULL), seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle
FROM pg_sequence WHERE seqrelid = %s::regclass
"""

_GRANTS = """
SELECT a.privilege_type, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END,
  a.is_grantable
FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
LEFT JOIN pg_roles r ON r.oid = a.grantee
WHERE c.oid = %s AND a.grantee <> c.relowner
"""

_TAKEN = """
SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s
"""


@dataclass(frozen=True)
class Index:
    name: str
    unique: bool
    method: str
    """What follows USING: method, columns, operator classes, parameters, condition."""
    constraint: str | None
    comment: str | None


@dataclass(frozen=True)
class Made:
    """The name of a table that is being made, and the one that it will get."""

    schema: str
    work: str
    target: str

    @property
    def sql(self) -> str:
        return ident(self.schema, self.work)


def create(connection: Any, origin: Any, table: Table, new: Made, *, same: bool) -> None:
    """The empty table, with sequences of its own; ``origin`` is a connection to the source."""
    if same:
        connection.execute(
            f"CREATE TABLE {new.sql} (LIKE {table.sql} INCLUDING ALL EXCLUDING INDEXES)"
        )
    else:
        connection.execute(f"CREATE TABLE {new.sql} ({', '.join(_definitions(origin, table))})")
        for column in table.columns:
            if column.comment:
                connection.execute(
                    f"COMMENT ON COLUMN {new.sql}.{ident(column.name)} IS {literal(column.comment)}"
                )
    for column in table.columns:
        if column.sequence and not column.identity:
            _own_sequence(connection, origin, column, new)
    _comment_of(connection, origin, table, new)


def _definitions(origin: Any, table: Table) -> list[str]:
    checks = origin.execute(_CHECKS, (table.oid,)).fetchall()
    return [
        *(_definition(origin, column) for column in table.columns),
        *(f"CONSTRAINT {ident(name)} {text}" for name, text in checks),
    ]


def _definition(origin: Any, column: Column) -> str:
    words = [ident(column.name), column.type]
    if column.collation:
        words.append(f"COLLATE {column.collation}")
    if column.generated:
        words.append(f"GENERATED ALWAYS AS ({column.default}) STORED")
    elif column.identity:
        when = "ALWAYS" if column.identity == "a" else "BY DEFAULT"
        words.append(f"GENERATED {when} AS IDENTITY ({_options(origin, column)})")
    elif column.default and not column.sequence:
        words.append(f"DEFAULT {column.default}")
    return " ".join([*words, *(["NOT NULL"] if column.not_null else [])])


def _options(origin: Any, column: Column) -> str:
    _, start, step, low, high, cache, cycle = origin.execute(
        _SEQUENCE, (column.sequence,)
    ).fetchone()
    return (
        f"START {start} INCREMENT {step} MINVALUE {low} MAXVALUE {high} CACHE {cache}"
        f"{' CYCLE' if cycle else ''}"
    )


def _own_sequence(connection: Any, origin: Any, column: Column, new: Made) -> None:
    """A serial column's own sequence: the source's would go when the source is dropped."""
    name = ident(new.schema, fit(f"{new.work}_{column.name}_seq"))
    kind = origin.execute(_SEQUENCE, (column.sequence,)).fetchone()[0]
    connection.execute(f"CREATE SEQUENCE {name} AS {kind} {_options(origin, column)}")
    place = f"{new.sql}.{ident(column.name)}"
    connection.execute(f"ALTER SEQUENCE {name} OWNED BY {place}")
    connection.execute(
        f"ALTER TABLE {new.sql} ALTER {ident(column.name)} "
        f"SET DEFAULT nextval({literal(name)}::regclass)"
    )


def _comment_of(connection: Any, origin: Any, table: Table, new: Made) -> None:
    (comment,) = origin.execute(
        "SELECT obj_description(%s::oid, 'pg_class')", (table.oid,)
    ).fetchone()
    if comment:
        connection.execute(f"COMMENT ON TABLE {new.sql} IS {literal(comment)}")


def indexes(origin: Any, table: Table) -> list[Index]:
    """Those of the source, with what each of them is built by."""
    with origin.transaction():
        origin.execute(QUALIFIED)
        found = origin.execute(_INDEXES, (table.oid,)).fetchall()
    made = []
    for name, definition, unique, constraint, comment in found:
        # Before USING stand the names of index and table; a name may hold any words itself.
        quoted = definition.split(" INDEX ", 1)[1]
        after_name = quoted[_length(quoted, name) :].removeprefix(" ON ").removeprefix("ONLY ")
        rest = after_name[_length(after_name, table.schema) + 1 :]
        method = rest[_length(rest, table.name) :].removeprefix(" USING ")
        made.append(Index(name, unique, method, constraint, comment))
    return made


def _length(text: str, name: str) -> int:
    quoted = ident(name)
    return len(quoted) if text.startswith(quoted) else len(name)


def build(connection: Any, table: Table, new: Made, index: Index) -> None:
    """The index on the new table, under a name that fits the table's."""
    name = free(connection, new.schema, renamed(index.name, table.name, new.target))
    if index.constraint:
        connection.execute(f"ALTER TABLE {new.sql} ADD CONSTRAINT {ident(name)} {index.constraint}")
    else:
        unique = "UNIQUE " if index.unique else ""
        connection.execute(f"CREATE {unique}INDEX {ident(name)} ON {new.sql} USING {index.method}")
    if index.comment:
        connection.execute(
            f"COMMENT ON INDEX {ident(new.schema, name)} IS {literal(index.comment)}"
        )


def free(connection: Any, schema: str, name: str) -> str:
    """The name, with a number behind it where another table's index has it already."""
    tried, number = name, 1
    while connection.execute(_TAKEN, (schema, tried)).fetchone():
        number += 1
        tried = fit(f"{name}_{number}")
    return tried


def advance(connection: Any, origin: Any, table: Table, new: Made) -> None:
    """Sequences go on where the source's are, and take the target's name."""
    for column in (c for c in table.columns if c.sequence):
        last, called = origin.execute(
            f"SELECT last_value, is_called FROM {column.sequence}"
        ).fetchone()
        (own,) = connection.execute(
            "SELECT pg_get_serial_sequence(%s, %s)", (new.sql, column.name)
        ).fetchone()
        connection.execute("SELECT setval(%s::regclass, %s, %s)", (own, last, called))
        name = free(connection, new.schema, fit(f"{new.target}_{column.name}_seq"))
        connection.execute(f"ALTER SEQUENCE {own} RENAME TO {ident(name)}")


def grant(connection: Any, table: Table, new: Made) -> None:
    """Who may use the source may use the new table, in the same ways."""
    for privilege, role, again in connection.execute(_GRANTS, (table.oid,)).fetchall():
        option = " WITH GRANT OPTION" if again else ""
        connection.execute(f"GRANT {privilege} ON {new.sql} TO {role}{option}")

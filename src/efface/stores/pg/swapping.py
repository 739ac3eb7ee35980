"""One name for another: the new table takes the live one's place in a single transaction."""

from __future__ import annotations

from typing import Any

from efface.errors import StoreError
from efface.stores.pg import connect, journal
from efface.stores.pg.making import Made
from efface.stores.pg.names import LONGEST, ident
from efface.stores.pg.table import find, split_name
from efface.stores.postgres import PostgresSource, fingerprint

BEFORE = "__before_efface"

# What hangs on the old table itself and would stay with it, raw vectors and all.
_LEFT_BEHIND = {
    "views that read it": """
        SELECT DISTINCT v.oid::regclass::text FROM pg_depend d
        JOIN pg_rewrite w ON w.oid = d.objid JOIN pg_class v ON v.oid = w.ev_class
        WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
          AND d.refobjid = {live} AND v.oid <> {live}""",
    "foreign keys to it": """
        SELECT conrelid::regclass::text || '.' || conname FROM pg_constraint
        WHERE contype = 'f' AND confrelid = {live} AND conrelid <> {live}""",
    "tables that inherit from it": """
        SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = {live}""",
    "foreign keys that the new table lacks": """
        SELECT conname FROM pg_constraint WHERE contype = 'f' AND conrelid = {live}
        EXCEPT SELECT conname FROM pg_constraint WHERE contype = 'f' AND conrelid = {new}""",
    "triggers that the new table lacks": """
        SELECT tgname FROM pg_trigger WHERE tgrelid = {live} AND NOT tgisinternal
        EXCEPT SELECT tgname FROM pg_trigger WHERE tgrelid = {new}""",
    "row policies that the new table lacks": """
        SELECT polname FROM pg_policy WHERE polrelid = {live}
        EXCEPT SELECT polname FROM pg_policy WHERE polrelid = {new}""",
}


def swap(connection: Any, live: str, new: Made, origin: PostgresSource | None, place: str) -> None:
    """``live`` becomes ``live__before_efface`` and the new table ``live``, both or neither."""
    schema, name = split_name(live.rpartition("#")[2])
    before = name + BEFORE
    if schema not in ("", new.schema):
        raise StoreError(f"{place}: cannot take a name in schema {schema}; tables stay in theirs")
    if len(before.encode()) > LONGEST:
        raise StoreError(f"{place}: {before} is longer than the {LONGEST} bytes PostgreSQL keeps")
    with connect.speaking(place), connection.transaction():
        connection.execute("SET LOCAL lock_timeout TO '30s'")
        connection.execute("SET LOCAL statement_timeout TO '15min'")
        live_oid, new_oid = _tables(connection, new, name, before, place)
        _refuse_left_behind(connection, live_oid, new_oid, f"{new.schema}.{name}", place)
        # Readers go on until the rename; writers wait from here, so nothing they do is lost.
        connection.execute(f"LOCK TABLE {ident(new.schema, name)} IN EXCLUSIVE MODE")
        _refuse_changed(connection, live_oid, new, origin)
        live_sql, new_sql = ident(new.schema, name), ident(new.schema, new.target)
        connection.execute(f"LOCK TABLE {live_sql}, {new_sql} IN ACCESS EXCLUSIVE MODE")
        connection.execute(f"ALTER TABLE {live_sql} RENAME TO {ident(before)}")
        connection.execute(f"ALTER TABLE {new_sql} RENAME TO {ident(name)}")
        journal.forget(connection, new.schema, new.target)


def _tables(connection: Any, new: Made, name: str, before: str, place: str) -> tuple[int, int]:
    found = find(connection, new.schema, name)
    if found is None or found[3] not in ("r", "p"):
        raise StoreError(f"{place}: no table {new.schema}.{name} to take the place of")
    if find(connection, new.schema, before):
        raise StoreError(
            f"{place}: {new.schema}.{before} exists already, from an earlier swap: drop it first"
        )
    made = find(connection, new.schema, new.target)
    if made is None:
        raise StoreError(f"{place}: not finished yet: it cannot become {name}")
    return found[0], made[0]


def _refuse_left_behind(connection: Any, live: int, new: int, name: str, place: str) -> None:
    for what, query in _LEFT_BEHIND.items():
        found = [str(row[0]) for row in connection.execute(query.format(live=live, new=new))]
        if found:
            raise StoreError(
                f"{place}: {name} has {what} ({', '.join(sorted(found))}): they would stay with "
                "the old table (drop them, or make them on the new one, swap, make them again)"
            )


def _refuse_changed(connection: Any, live: int, new: Made, origin: PostgresSource | None) -> None:
    """Rows written to the live table after they were read would be lost with it."""
    job = journal.job(connection, new.schema, new.target)
    if origin is None or job is None or origin.table.oid != live:
        return
    if fingerprint(connection, origin.table, origin.shape) != job.fingerprint:
        raise StoreError(
            f"{origin.place}: rows were written since it was read; they would be lost with the "
            "swap (drop the new table and run again while nothing writes)"
        )

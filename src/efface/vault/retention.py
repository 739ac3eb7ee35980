"""How long the audit log is kept: lines that are older are removed, a few at a time."""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, select

from efface.errors import PlanError
from efface.vault import tables
from efface.vault.store import Store, record

DAY = 86_400.0
KEEP = 365 * DAY
"""Seconds; 0 keeps all."""
_CHUNK = 5_000
"""Lines removed in one transaction: a login waits for no more than that."""


def check(keep: float) -> None:
    if not 0 <= keep < float("inf"):
        raise PlanError("the audit log is kept for seconds from 0 on; 0 keeps all of it")


def prune(store: Store, now: float, keep: float) -> int:
    """Remove the lines older than ``keep`` seconds; how many.

    Age is counted from the newest line where that is older than the clock: a clock set forward
    removes no more than was due when the last thing happened, before it or under it.
    """
    if not keep:
        return 0
    removed = 0
    while True:
        with store.begin() as connection:
            gone = _removed(connection, now, keep)
            removed += gone
            if gone < _CHUNK:
                if removed:
                    record(connection, now, "prune", "done")
                return removed


def _removed(connection: Connection, now: float, keep: float) -> int:
    table = tables.audit
    newest = connection.execute(select(func.max(table.c.at))).scalar()
    if newest is None:
        return 0
    due = select(table.c.number).where(table.c.at < min(now, newest) - keep)
    chosen = due.order_by(table.c.number).limit(_CHUNK)
    return int(connection.execute(delete(table).where(table.c.number.in_(chosen))).rowcount)

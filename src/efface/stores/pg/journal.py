"""What is done of a job, in a table beside the target; written in the rows' own transaction."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from efface.errors import StoreError
from efface.stores.contract import Done, Job, Shape
from efface.stores.pg.names import ident

NAME = "efface_journal"
JOB = -1
"""The part number under which the job itself is kept."""

_CREATE = """
CREATE TABLE IF NOT EXISTS {journal} (target text, part integer, rows bigint NOT NULL,
  before text NOT NULL, after text NOT NULL, nulls bigint NOT NULL, job jsonb,
  PRIMARY KEY (target, part))
"""


def create(connection: Any, schema: str, target: str, job: Job) -> None:
    connection.execute(_CREATE.format(journal=ident(schema, NAME)))
    connection.execute(
        f"INSERT INTO {ident(schema, NAME)} VALUES (%s, %s, 0, '', '', 0, %s::jsonb)",
        (target, JOB, json.dumps(asdict(job))),
    )


def hand_over(connection: Any, schema: str, target: str, job: Job) -> None:
    """What is done counts for this job from now on."""
    connection.execute(
        f"UPDATE {ident(schema, NAME)} SET job = %s::jsonb WHERE target = %s AND part = %s",
        (json.dumps(asdict(job)), target, JOB),
    )


def exists(connection: Any, schema: str) -> bool:
    return (
        connection.execute("SELECT to_regclass(%s)", (ident(schema, NAME),)).fetchone()[0]
        is not None
    )


def job(connection: Any, schema: str, target: str) -> Job | None:
    """The job whose work stands under this target's name."""
    if not exists(connection, schema):
        return None
    query = f"SELECT job FROM {ident(schema, NAME)} WHERE target = %s AND part = %s"
    found = connection.execute(query, (target, JOB)).fetchone()
    if found is None:
        return None
    known = {name: found[0].get(name) for name in (f.name for f in fields(Job))}
    return Job(**{**known, "shape": Shape(**known["shape"])})


def done(connection: Any, schema: str, target: str) -> list[Done]:
    """The parts that count, from the first on."""
    query = (
        f"SELECT part, rows, before, after, nulls FROM {ident(schema, NAME)} "
        "WHERE target = %s AND part >= 0 ORDER BY part"
    )
    found = [Done(*row) for row in connection.execute(query, (target,))]
    if [d.index for d in found] != list(range(len(found))):
        raise StoreError(
            f"{schema}.{NAME}: parts of {target} are missing between others: the journal was "
            "changed by hand (drop the work table and start again)"
        )
    return found


def add(connection: Any, schema: str, target: str, one: Done) -> None:
    connection.execute(
        f"INSERT INTO {ident(schema, NAME)} VALUES (%s, %s, %s, %s, %s, %s, NULL)",
        (target, one.index, one.rows, one.before, one.after, one.nulls),
    )


def forget(connection: Any, schema: str, target: str) -> None:
    if exists(connection, schema):
        connection.execute(f"DELETE FROM {ident(schema, NAME)} WHERE target = %s", (target,))


def differing(one: Job, other: Job) -> str:
    """Which properties tell two jobs apart, for a message."""
    names = [f.name for f in fields(Job) if getattr(one, f.name) != getattr(other, f.name)]
    return ", ".join(name.replace("_", " ") for name in names)

"""Limits of attempts: a bucket that fills with failures and drains with time.

The clock is not trusted: set back, it forgives nothing and locks nobody out for ever.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from efface.errors import PlanError
from efface.vault import tables

_INSERT = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


@dataclass(frozen=True)
class Rule:
    """``most`` failures in ``window`` seconds; then one more each ``window / most`` seconds."""

    most: int
    window: float

    def __post_init__(self) -> None:
        if self.most < 1 or not 0 < self.window < float("inf"):
            raise PlanError("a limit of attempts takes a number of at least 1 and seconds above 0")

    @property
    def rate(self) -> float:
        return self.most / self.window


@dataclass(frozen=True)
class Rules:
    """Of one user from anywhere, and of one source for any user."""

    user: Rule = Rule(5, 900.0)
    source: Rule = Rule(50, 900.0)


@dataclass(frozen=True)
class Subject:
    """Whose failures are counted: a user's or a source's."""

    kind: str
    name: str
    rule: Rule

    @property
    def digest(self) -> str:
        return hashlib.blake2b(self.name.encode(), digest_size=32).hexdigest()


@dataclass(frozen=True)
class Bucket:
    level: float
    last: float


def drained(bucket: Bucket, now: float, rule: Rule) -> Bucket:
    """The bucket at ``now``. While a clock is behind, time stands still; one that is behind by
    more than a window was set back, and time goes on from there with nothing forgiven."""
    if bucket.last - now > rule.window:
        return Bucket(bucket.level, now)
    now = max(now, bucket.last)
    return Bucket(max(0.0, bucket.level - (now - bucket.last) * rule.rate), now)


def wait(bucket: Bucket, rule: Rule) -> float:
    """Seconds until one more failure fits; 0 where it does."""
    return max(0.0, (bucket.level + 1 - rule.most) / rule.rate)


def charge(connection: Connection, now: float, subjects: Sequence[Subject]) -> float:
    """Count a failure for each subject, before anything is tried, or say how long to wait.

    Before, because tries that run at once must not all see room for one. Rows are locked in the
    order of kinds, so no two of these wait for each other.
    """
    ordered = sorted(subjects, key=lambda s: s.kind)
    found = [drained(_locked(connection, s, now), now, s.rule) for s in ordered]
    longest = max(wait(b, s.rule) for b, s in zip(found, ordered, strict=True))
    for bucket, subject in zip(found, ordered, strict=True):
        _set(connection, subject, bucket.level + (longest == 0), bucket.last)
    return longest


def give_back(connection: Connection, now: float, subjects: Sequence[Subject]) -> None:
    """The try was no failure after all."""
    for subject in sorted(subjects, key=lambda s: s.kind):
        bucket = _locked(connection, subject, now)
        _set(connection, subject, max(0.0, bucket.level - 1), bucket.last)


def _locked(connection: Connection, subject: Subject, now: float) -> Bucket:
    """The bucket as stored, this transaction's until it ends; a first try makes it."""
    made: Any = _INSERT[connection.dialect.name](tables.attempts).values(
        kind=subject.kind, name=subject.digest, level=0.0, last=now
    )
    connection.execute(made.on_conflict_do_nothing())
    columns = tables.attempts.c.level, tables.attempts.c.last
    row = connection.execute(select(*columns).where(_is(subject)).with_for_update()).one()
    return Bucket(float(row.level), float(row.last))


def _set(connection: Connection, subject: Subject, level: float, last: float) -> None:
    connection.execute(update(tables.attempts).where(_is(subject)).values(level=level, last=last))


def _is(subject: Subject) -> ColumnElement[bool]:
    columns = tables.attempts.c
    return and_(columns.kind == subject.kind, columns.name == subject.digest)


def forget(connection: Connection, now: float, rules: Rules) -> int:
    """Remove buckets that are empty by now; how many."""
    table, longest = tables.attempts, max(rules.user.window, rules.source.window)
    found = connection.execute(delete(table).where(table.c.last < now - 2 * longest))
    return int(found.rowcount)

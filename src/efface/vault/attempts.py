"""Limits of attempts: a bucket that fills with failures and drains with time.

The clock is not trusted: set back, it forgives nothing and locks nobody out for ever.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network

from sqlalchemy import Connection, TextClause, delete, text, update

from efface.errors import PlanError
from efface.vault import tables

_table = tables.attempts
_LOOK, _LESS = "held.level", "CASE WHEN held.level > 1 THEN held.level - 1 ELSE 0 END"


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


def neighbours(source: str) -> str:
    """Whose failures count together: an address, or the 2^64 of IPv6 that one customer has."""
    try:
        address = IPv6Address(source.partition("%")[0])
    except ValueError:
        return source
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((address, 64), strict=False))


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

    Before, because tries that run at once must not all see room for one.
    """
    rows = connection.execute(_entered(len(subjects), _LOOK), _named(subjects, now))
    stored = {row.kind: Bucket(row.level, row.last) for row in rows}
    found = {s: drained(stored[s.kind], now, s.rule) for s in subjects}
    longest = max(wait(bucket, subject.rule) for subject, bucket in found.items())
    for subject, bucket in found.items():
        level = bucket.level + (longest == 0)
        change = update(_table).where(
            _table.c.kind == subject.kind, _table.c.name == subject.digest
        )
        connection.execute(change.values(level=level, last=bucket.last))
    return longest


def give_back(connection: Connection, now: float, subjects: Sequence[Subject]) -> None:
    """The try was no failure after all."""
    connection.execute(_entered(len(subjects), _LESS), _named(subjects, now))


@lru_cache
def _entered(count: int, change: str) -> TextClause:
    """A statement that makes rows where they are not, changes them where they are, and keeps them
    for this transaction. SQLite took it over from PostgreSQL: one text is understood by both."""
    rows = ", ".join(f"(:kind{n}, :name{n}, 0.0, :now)" for n in range(count))
    return text(
        f"INSERT INTO {_table.name} AS held (kind, name, level, last) VALUES {rows} "
        f"ON CONFLICT (kind, name) DO UPDATE SET level = {change} RETURNING kind, level, last"
    )


def _named(subjects: Sequence[Subject], now: float) -> dict[str, str | float]:
    """Parameters of the statement, in one order, so that no two transactions wait in a circle."""
    values: dict[str, str | float] = {"now": now}
    for n, subject in enumerate(sorted(subjects, key=lambda s: s.kind)):
        values |= {f"kind{n}": subject.kind, f"name{n}": subject.digest}
    return values


def forget(connection: Connection, now: float, rules: Rules) -> int:
    """Remove buckets that are empty by now; how many."""
    longest = max(rules.user.window, rules.source.window)
    found = connection.execute(delete(_table).where(_table.c.last < now - 2 * longest))
    return int(found.rowcount)

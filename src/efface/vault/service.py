"""What a vault does: enrol, verify, revoke, rotate. Vectors come in, answers go out, and only
templates stay.

A user who is not enrolled is tried against a template of nobody, and is charged, looked up and
written down like anybody: one answer, and one amount of work, for every failure.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sqlalchemy import Connection, delete, func, insert, select, update

from efface.errors import (
    AttemptsError,
    DataError,
    EffaceError,
    EnrolledError,
    NobodyError,
    TemplateError,
    UnavailableError,
)
from efface.protect.template import pack, unpack
from efface.protect.template.base import TemplateShell
from efface.protect.template.pictures import Matrix, average, pictures
from efface.types import Template
from efface.vault import tables
from efface.vault.attempts import Rules, Subject, charge, forget, give_back, neighbours
from efface.vault.configurations import Configuration, Configurations
from efface.vault.retention import KEEP, check, prune
from efface.vault.store import Store, newest, record

_log = logging.getLogger("efface.vault")


@dataclass(frozen=True)
class Held:
    """What the database holds of a name: no template where nobody is enrolled."""

    current: int
    configuration: int = 0
    template: bytes = field(default=b"", repr=False)


@dataclass(eq=False)
class Vault:
    """A vault that is open. Time and randomness are passed in; several threads may use one."""

    store: Store
    configurations: Configurations
    rules: Rules = field(default_factory=Rules)
    keep: float = KEEP
    """Seconds that a line of the audit log is kept; 0 for ever."""
    clock: Callable[[], float] = time.time
    rng: Callable[[], np.random.Generator] = np.random.default_rng

    def __post_init__(self) -> None:
        check(self.keep)

    # --- people -----------------------------------------------------------------------------

    def enrol(self, user: str, vectors: ArrayLike, source: str = "") -> None:
        """Store a template of a person. Of two at once, one is told EnrolledError."""
        name, current = checked_name(user, "user"), self.configurations.current()
        checked = _vectors(vectors, current.scheme, "enrolment")
        with self.store.begin() as connection:
            _refuse_known(connection, name)  # before a prepared basis is taken for it
        made = self._enrolled(current, name, checked)
        now = self.clock()
        row = {"user": name, "configuration": current.number, "template": pack(made),
               "enrolled": now}  # fmt: skip
        with self.store.begin() as connection:
            _refuse_known(connection, name)
            connection.execute(insert(tables.people).values(row))
            record(connection, now, "enrol", "done", name, checked_source(source))

    def verify(self, user: str, probe: ArrayLike, source: str = "") -> bool:
        """Whether the probe is of the person who is enrolled under this name.

        A template of an older configuration that accepts is replaced by one of the newest, made
        of this probe.
        """
        return self._try("verify", user, probe, source, renew=False)

    def rotate(self, user: str, probe: ArrayLike, source: str = "") -> bool:
        """Give somebody who verifies a new template, with new randomness: the old one is void."""
        return self._try("rotate", user, probe, source, renew=True)

    def doubt(self, vectors: ArrayLike, place: str) -> str:
        """What to know of so many pictures of an enrolment or a probe. It tells nothing of who is
        enrolled: the number and the configuration alone decide."""
        count = len(np.atleast_2d(np.asarray(vectors)))
        return self.configurations.latest().scheme.hardening.doubt(count, place)

    def revoke(self, user: str, source: str = "") -> None:
        """Remove somebody's template; the name can be enrolled again."""
        name, table = checked_name(user, "user"), tables.people
        with self.store.begin() as connection:
            gone = connection.execute(delete(table).where(table.c.user == name)).rowcount
            outcome = "done" if gone else "unknown"
            record(connection, self.clock(), "revoke", outcome, name if gone else "",
                   checked_source(source))  # fmt: skip
        if not gone:
            raise NobodyError("nobody is enrolled under this name")

    # --- the vault itself -------------------------------------------------------------------

    def configure(self, scheme: TemplateShell, *, first: bool = False) -> Configuration:
        """Put another scheme, other parameters or another pepper in force."""
        made = self.configurations.add(scheme, self.clock(), first=first)
        self.note("configure", "done")
        return made

    def waiting(self) -> int:
        """How many people have a template of an older configuration."""
        table = tables.people
        with self.store.begin() as connection:
            older = table.c.configuration != newest(connection)
            return int(connection.execute(select(func.count()).where(older)).scalar() or 0)

    def note(self, event: str, outcome: str) -> None:
        """Something to remember that concerns nobody in particular."""
        with self.store.begin() as connection:
            record(connection, self.clock(), event, outcome)

    def tidy(self) -> int:
        """Forget failures that are too old to count, how many; and what ``prune`` removes."""
        with self.store.begin() as connection:
            forgotten = forget(connection, self.clock(), self.rules)
        self.prune()
        return forgotten

    def prune(self) -> int:
        """Remove lines of the log that are older than it is kept; how many."""
        return prune(self.store, self.clock(), self.keep)

    # --- one try ----------------------------------------------------------------------------

    def _try(self, event: str, user: str, probe: ArrayLike, source: str, *, renew: bool) -> bool:
        name, source = checked_name(user, "user"), checked_source(source)
        vectors = _vectors(probe, self.configurations.latest().scheme, "probe")
        subjects = self._subjects(name, source)
        held = self._admitted(event, name, source, subjects)
        outcome = self._outcome(held, name, vectors)
        accepted = outcome == "accepted"
        fresh: Template | None = None
        if accepted and (renew or held.configuration != held.current):
            fresh = self._renewed(held, name, vectors, required=renew)
        with self.store.begin() as connection:
            now, known = self.clock(), name if held.template else ""
            record(connection, now, event, outcome, known, source)
            if accepted:
                give_back(connection, now, subjects)
            if fresh is not None:
                self._replace(connection, name, held, fresh, now)
        return accepted

    def _subjects(self, name: str, source: str) -> tuple[Subject, ...]:
        """Whose failure it would be; who asks without a source is counted by user alone."""
        user = Subject("user", name, self.rules.user)
        if not source:
            return (user,)
        return user, Subject("source", neighbours(source), self.rules.source)

    def _admitted(self, event: str, name: str, source: str, subjects: tuple[Subject, ...]) -> Held:
        """Charge the try, and read what is held of the name, in one transaction."""
        with self.store.begin() as connection:
            now = self.clock()
            seconds = charge(connection, now, subjects)
            held = _held(connection, name)
            if seconds:
                known = name if held.template else ""
                record(connection, now, event, "limited", known, source)
        if seconds:
            raise AttemptsError(seconds)
        return held

    def _outcome(self, held: Held, name: str, vectors: Matrix) -> str:
        """``accepted``, or for the log why not. A template that cannot be read, was changed, or is
        another's or nobody's, costs a try against the decoy."""
        why = "refused"
        try:
            if held.template:
                found = self.configurations.get(held.configuration)
                template, owner = unpack(held.template), found.owner(name)
                if found.scheme.intact(template, owner):
                    return "accepted" if found.scheme.verify(template, vectors, owner) else why
                why = "changed"
        except EffaceError as error:  # of an older pepper that is missing, too
            _log.error("a template cannot be tried: %s", type(error).__name__)
            why = "unreadable"
        nobody = self._decoy(held.current)
        nobody.scheme.verify(nobody.decoy, vectors, nobody.nobody)
        return why

    def _decoy(self, number: int) -> Configuration:
        """Of the configuration in force; of the newest known while its pepper has yet to come here:
        else an error would tell who is not enrolled."""
        try:
            return self.configurations.get(number)
        except EffaceError as error:
            _log.error("the configuration in force cannot be read: %s", type(error).__name__)
            return self.configurations.latest()

    def _renewed(
        self, held: Held, name: str, vectors: Matrix, *, required: bool
    ) -> Template | None:
        """A template under the newest configuration; a migration can wait, a rotation cannot."""
        try:
            return self._enrolled(self.configurations.get(held.current), name, vectors)
        except EffaceError:
            if required:
                raise
            return None

    def _enrolled(self, found: Configuration, name: str, vectors: Matrix) -> Template:
        try:
            return found.scheme.enrol(vectors, self.rng(), found.owner(name))
        except TemplateError:  # no basis is ready, or the pepper is elsewhere
            raise UnavailableError(
                "no template can be made now: no prepared basis is ready; try again in some seconds"
            ) from None

    def _replace(
        self, connection: Connection, name: str, held: Held, fresh: Template, now: float
    ) -> None:
        """Only what was read is replaced: whoever was revoked or replaced meanwhile stays so."""
        table = tables.people
        values: dict[str, Any] = {
            "configuration": held.current, "template": pack(fresh), "enrolled": now,
        }  # fmt: skip
        mine = (table.c.user == name) & (table.c.template == held.template)
        done = connection.execute(update(table).where(mine).values(values)).rowcount
        record(connection, now, "renew", "done" if done else "overtaken", name)


def _refuse_known(connection: Connection, name: str) -> None:
    table = tables.people
    if connection.execute(select(table.c.enrolled).where(table.c.user == name)).first():
        raise EnrolledError("somebody is enrolled under this name already")


def _held(connection: Connection, name: str) -> Held:
    """What there is of a name, beside the configuration in force: one statement for everybody."""
    number, table = tables.configurations.c.number, tables.people
    found = select(number, table.c.configuration, table.c.template).select_from(
        tables.configurations.outerjoin(table, table.c.user == name)
    )
    row = connection.execute(found.order_by(number.desc()).limit(1)).one()
    return Held(row.number, row.configuration or 0, bytes(row.template or b""))


def _vectors(x: ArrayLike, scheme: TemplateShell, place: str) -> Matrix:
    """Refused before anything is looked up, so that a refusal tells nothing of who is enrolled."""
    found = pictures(x, scheme.dim_, place)
    average(found, place)
    if place == "probe":
        scheme.hardening.check_pictures(len(found), place)
    return found


def checked_name(name: str, what: str) -> str:
    if not 1 <= len(name) <= tables.NAME_LENGTH or not name.isprintable():
        raise DataError(f"{what}: takes 1 to {tables.NAME_LENGTH} characters that can be printed")
    return name


def checked_source(source: str) -> str:
    return checked_name(source, "source") if source else ""

"""Which scheme a vault uses: the one in force, and older ones whose templates are still there."""

from __future__ import annotations

import copy
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import Connection, insert, select, update

from efface.errors import VaultError
from efface.hazmat.lattice import Shape
from efface.protect.template import Bases, L2FEHash, describe, pack, restore, unpack
from efface.protect.template.base import TemplateShell
from efface.types import Template
from efface.vault import tables
from efface.vault.seals import Sealed, is_sealed, mark_of
from efface.vault.store import Store, newest

BasesOf = Callable[[Shape], Bases]
Peppers = Callable[[], Sequence[bytes]]
"""Asked whenever a configuration is read: a rotation may have added one since."""


@dataclass(frozen=True, eq=False)
class Configuration:
    """A fitted scheme with its pepper, and the template of nobody."""

    number: int
    scheme: TemplateShell
    decoy: Template

    def owner(self, user: str) -> bytes:
        """Whom a template of this configuration is bound to: a name under this number, so that a
        row moved to another name, or to an older configuration, is refused."""
        return owner(self.number, user) if self.scheme.hardening.owner else b""

    @property
    def nobody(self) -> bytes:
        """Whom the decoy is bound to; no name is empty, and no number is zero."""
        return owner(0, "") if self.scheme.hardening.owner else b""


def owner(number: int, user: str) -> bytes:
    return number.to_bytes(8, "little") + user.encode()


class Configurations:
    """Those of one vault, read when they are first needed: others may add one at any time.

    ``adopt`` is for the moment when a vault without a pepper gets its first.
    """

    def __init__(
        self, store: Store, peppers: Peppers = tuple, bases: BasesOf | None = None,
        adopt: bool = False,
    ) -> None:  # fmt: skip
        self.store, self.peppers, self.bases, self.adopt = store, peppers, bases, adopt
        self._known: dict[int, Configuration] = {}
        self._lock = threading.Lock()

    def get(self, number: int) -> Configuration:
        with self._lock:
            if number not in self._known:
                self._known[number] = self._read(number)
            return self._known[number]

    def current(self) -> Configuration:
        with self.store.begin() as connection:
            number = newest(connection)
        if not number:
            raise VaultError(f"{self.store.place}: has no configuration: run 'efface vault init'")
        return self.get(number)

    def latest(self) -> Configuration:
        """The newest that was read so far: its vectors have the length of all the others'."""
        with self._lock:
            number = max(self._known, default=0)
        return self.get(number) if number else self.current()

    def _read(self, number: int) -> Configuration:
        with self.store.begin() as connection:
            rows = {row.number: row for row in connection.execute(select(tables.configurations))}
        row = rows.get(number)
        if row is None:
            raise VaultError(f"{self.store.place}: configuration {number} is missing: restore it")
        scheme = restore(row.scheme, pepper=self._pepper(row, [r.pepper for r in rows.values()]))
        return Configuration(number, self._with_bases(scheme), unpack(row.decoy))

    def _pepper(self, row: Any, marks: Sequence[str]) -> bytes | None:
        sealed = Sealed(row.number, row.scheme, row.decoy)
        return sealed.pepper(row.pepper, marks, self.peppers(), adopt=self.adopt)

    def _with_bases(self, scheme: TemplateShell) -> TemplateShell:
        if isinstance(scheme, L2FEHash) and self.bases is not None:
            scheme.bases = self.bases(scheme.shape)
        return scheme

    def add(self, scheme: TemplateShell, now: float, *, first: bool) -> Configuration:
        """Put a fitted scheme in force. Those who are enrolled move to it as they verify."""
        if not first and self.current().scheme.dim_ != scheme.dim_:
            raise VaultError(
                f"the vault holds vectors of {self.current().scheme.dim_} elements and the new "
                f"scheme takes {scheme.dim_}: another encoder needs everybody enrolled again"
            )
        made = self._with_bases(owned(scheme))
        text, decoy, own = describe(made), pack(decoy_of(made)), made.hardening.secret()
        with self.store.begin() as connection:
            number = self._next(connection, first)
            self._seal_older(connection)
            mark = mark_of(Sealed(number, text, decoy), own, self.peppers())
            row = {"number": number, "scheme": text, "decoy": decoy, "pepper": mark, "made": now}
            connection.execute(insert(tables.configurations).values(row))
        return self.get(number)

    def _seal_older(self, connection: Connection) -> None:
        """Rows that nobody has sealed yet, in the transaction that brings a sealed one."""
        table = tables.configurations
        rows = connection.execute(select(table)).all()
        for row in rows:
            if self.peppers() and not is_sealed(row.pepper):
                own = self._pepper(row, [r.pepper for r in rows])
                sealed = Sealed(row.number, row.scheme, row.decoy)
                change = update(table).where(table.c.number == row.number)
                mark = mark_of(sealed, own, self.peppers())
                connection.execute(change.values(pepper=mark))

    def _next(self, connection: Connection, first: bool) -> int:
        number = newest(connection)
        if first and number:
            raise VaultError(
                f"{self.store.place}: holds a vault already: 'efface vault rotate' gives it "
                "another scheme"
            )
        return number + 1


def owned(scheme: TemplateShell) -> TemplateShell:
    """A copy whose templates are bound to a name, as all in a vault are."""
    made = copy.copy(scheme)
    made.hardening = replace(scheme.hardening, owner=True)
    return made


def decoy_of(scheme: TemplateShell) -> Template:
    """A template of a direction drawn and forgotten: to be tried for whoever is not enrolled."""
    rng = np.random.default_rng(secrets.randbits(256))
    return scheme.enrol(rng.standard_normal(scheme.dim_), rng, owner(0, ""))

"""Which scheme a vault uses: the one in force, and older ones whose templates are still there."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, insert, select

from efface.errors import VaultError
from efface.hazmat.lattice import Shape
from efface.protect.template import Bases, L2FEHash, describe, pack, restore, unpack
from efface.protect.template.base import TemplateShell
from efface.types import Template
from efface.vault import tables
from efface.vault.peppers import choose, tag
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


class Configurations:
    """Those of one vault, read when they are first needed: others may add one at any time."""

    def __init__(
        self, store: Store, peppers: Peppers = tuple, bases: BasesOf | None = None
    ) -> None:
        self.store, self.peppers, self.bases = store, peppers, bases
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
        table = tables.configurations
        with self.store.begin() as connection:
            row = connection.execute(select(table).where(table.c.number == number)).one_or_none()
        if row is None:
            raise VaultError(f"{self.store.place}: configuration {number} is missing: restore it")
        scheme = restore(row.scheme, pepper=choose(self.peppers(), row.pepper))
        return Configuration(number, self._with_bases(scheme), unpack(row.decoy))

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
        decoy = decoy_of(self._with_bases(scheme))
        row = {"scheme": describe(scheme), "decoy": pack(decoy), "made": now,
               "pepper": tag(scheme.hardening.secret())}  # fmt: skip
        with self.store.begin() as connection:
            number = self._next(connection, first)
            connection.execute(insert(tables.configurations).values(number=number, **row))
        return self.get(number)

    def _next(self, connection: Connection, first: bool) -> int:
        number = newest(connection)
        if first and number:
            raise VaultError(
                f"{self.store.place}: holds a vault already: 'efface vault rotate' gives it "
                "another scheme"
            )
        return number + 1


def decoy_of(scheme: TemplateShell) -> Template:
    """A template of a direction drawn and forgotten: to be tried for whoever is not enrolled."""
    rng = np.random.default_rng(secrets.randbits(256))
    return scheme.enrol(rng.standard_normal(scheme.dim_), rng)

"""Vaults with a few made-up people, on SQLite or on a real PostgreSQL server."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import event

from efface.protect.template import MRP, BioHash, Hardening, L2FEHash, Memory
from efface.protect.template.base import TemplateShell
from efface.types import Samples
from efface.vault.configurations import Configurations
from efface.vault.service import Vault
from efface.vault.store import Store

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "stores"))
from pg_server import Database, database, schema  # noqa: F401

DIM = 32
PEPPER, OTHER_PEPPER = bytes(range(32)), bytes(range(32, 64))
BASES = Memory()


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def population(people: int = 40, images: int = 4, seed: int = 5) -> Samples:
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), images)
    x = rng.standard_normal((people, DIM))[who] + 0.15 * rng.standard_normal((len(who), DIM))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    names = np.array([f"person {i}" for i in range(people)])
    return Samples(x.astype(np.float32), who.astype(np.int64), names)


PEOPLE = population()


def face(person: int, image: int = 0) -> NDArray[Any]:
    return np.asarray(PEOPLE.data[PEOPLE.identity == person][image])


def mrp(**params: Any) -> TemplateShell:
    return MRP(n=24, threshold=0.7, **params).fit(PEOPLE)


def l2fe(**params: Any) -> TemplateShell:
    """Small enough to reduce at once, and wide enough to take a person's other pictures."""
    return L2FEHash(m=24, l=6, q=1009, scale=0.3, bases=BASES, **params).fit(PEOPLE)


def biohash(**params: Any) -> TemplateShell:
    return BioHash(n=24, threshold=0.2, **params).fit(PEOPLE)


def peppered(pepper: bytes = PEPPER, **more: Any) -> Hardening:
    return Hardening(pepper=pepper, **more)


def vault_at(address: str, peppers: Callable[[], Any] = tuple, **given: Any) -> Vault:
    """A vault that is open on a database, whether or not it holds one."""
    store = Store(address)
    if store.url.get_backend_name() == "sqlite":
        event.listen(store.engine, "connect", _careless)
    clock = given.pop("clock", None) or Clock()
    given.setdefault("rng", _generators())
    return Vault(store, Configurations(store, peppers, lambda _: BASES), clock=clock, **given)


def _careless(connection: Any, _: Any) -> None:
    """Of a power cut, no test is about."""
    connection.execute("PRAGMA synchronous = OFF")


def made(address: str, scheme: TemplateShell | None = None, **given: Any) -> Vault:
    vault = vault_at(address, **given)
    vault.store.create()
    vault.configure(scheme or mrp(), first=True)
    return vault


def _generators() -> Callable[[], np.random.Generator]:
    seeds = itertools.count()
    return lambda: np.random.default_rng(next(seeds))


@contextmanager
def closing(vault: Vault) -> Iterator[Vault]:
    try:
        yield vault
    finally:
        vault.store.close()


def rows(vault: Vault, query: str) -> list[tuple[Any, ...]]:
    from sqlalchemy import text

    with vault.store.begin() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def traces(vector: NDArray[Any]) -> list[bytes]:
    """How a vector could show in bytes: raw in three types, and its numbers as text."""
    unit = np.asarray(vector, np.float64) / np.linalg.norm(np.asarray(vector, np.float64))
    found = []
    for x in (np.asarray(vector), unit):
        found += [x.astype(t)[:3].tobytes() for t in ("<f4", "<f8")]
        found += [f"{float(value):.5g}".encode() for value in x[:4]]
    return found


def replace(vault: Vault, **changes: Any) -> Vault:
    return dataclasses.replace(vault, **changes)

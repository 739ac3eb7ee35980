"""Enrol, verify, rotate, revoke; and that every failure is one answer and one amount of work."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event, text
from vault_world import (
    DIM,
    PEPPER,
    biohash,
    closing,
    face,
    l2fe,
    made,
    mrp,
    peppered,
    replace,
    rows,
    vault_at,
)

from efface.errors import DataError, EnrolledError, VaultError
from efface.protect.template import unpack
from efface.vault.attempts import Rule, Rules
from efface.vault.service import Vault

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
SCHEMES = [mrp, l2fe, biohash, lambda: l2fe(hardening=peppered())]
MANY = Rules(Rule(1000, 900.0), Rule(1000, 900.0))


@pytest.mark.parametrize("scheme", SCHEMES, ids=["mrp", "l2fe", "biohash", "l2fe-peppered"])
def test_the_person_is_accepted_and_nobody_else(address: str, scheme: Any) -> None:
    with closing(made(address, scheme(), peppers=lambda: (PEPPER,))) as vault:
        vault.enrol("ann", face(0))
        vault.enrol("bob", np.stack([face(1), face(1, 1)]))
        assert all(vault.verify("ann", face(0, image)) for image in range(4))
        assert vault.verify("bob", face(1, 2), "10.0.0.1")
        assert not vault.verify("ann", face(1))
        assert not vault.verify("bob", face(0))


def test_what_is_enrolled_is_there_for_the_next_process(address: str) -> None:
    with closing(made(address)) as vault:
        vault.enrol("ann", face(0))
    with closing(vault_at(address)) as again:
        assert again.verify("ann", face(0, 1))
        assert not again.verify("ann", face(2))


def test_nobody_is_enrolled_twice(address: str) -> None:
    with closing(made(address)) as vault:
        vault.enrol("ann", face(0))
        with pytest.raises(EnrolledError):
            vault.enrol("ann", face(1))
        assert vault.verify("ann", face(0))
        assert not vault.verify("ann", face(1))


def test_of_two_enrolments_at_once_one_wins(address: str) -> None:
    """Both have looked and seen nobody before either has written."""
    with closing(made(address)) as vault:
        barrier, said = threading.Barrier(2, timeout=20), []

        def enrol(person: int) -> None:
            mine = replace(vault, clock=lambda: (barrier.wait(), 1.0)[1])
            try:
                mine.enrol("ann", face(person))
                said.append(person)
            except EnrolledError:
                said.append(-1)

        threads = [threading.Thread(target=enrol, args=(person,)) for person in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        winner = max(said)
        assert sorted(said) == [-1, winner]
        assert vault.verify("ann", face(winner))
        assert not vault.verify("ann", face(1 - winner))


def test_revoked_is_gone_and_may_come_back(address: str) -> None:
    with closing(made(address)) as vault:
        vault.enrol("ann", face(0))
        vault.revoke("ann")
        assert not vault.verify("ann", face(0))
        assert rows(vault, "SELECT count(*) FROM vault_people") == [(0,)]
        with pytest.raises(VaultError, match="nobody"):
            vault.revoke("ann")
        vault.enrol("ann", face(1))
        assert vault.verify("ann", face(1, 1))


def test_rotation_voids_the_old_template_and_needs_the_person(address: str) -> None:
    with closing(made(address)) as vault:
        vault.enrol("ann", face(0))
        before = _template(vault, "ann")
        assert not vault.rotate("ann", face(1))
        assert not vault.rotate("nobody", face(1))
        assert _template(vault, "ann") == before
        assert vault.rotate("ann", face(0, 1))
        assert _template(vault, "ann") != before
        assert vault.verify("ann", face(0, 2))


# --- one failure ----------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES, ids=["mrp", "l2fe", "biohash", "l2fe-peppered"])
def test_an_unknown_user_costs_what_a_wrong_face_costs(address: str, scheme: Any) -> None:
    """The same statements in the same order, one comparison, one hash: no clock is asked."""
    with closing(made(address, scheme(), peppers=lambda: (PEPPER,), rules=MANY)) as vault:
        vault.enrol("ann", face(0))
        for name in ("ann", "nobody"):  # both have failed before
            assert not vault.verify(name, face(1), "source")
        wrong, unknown = (_work(vault, name) for name in ("ann", "nobody"))
        assert wrong == unknown
        assert sum(word.startswith(("INSERT", "UPDATE", "SELECT")) for word in wrong) >= 5
        assert [word for word in wrong if word.startswith("verify")] == ["verify"]


def _work(vault: Vault, name: str) -> list[str]:
    """What a refused try does: statements of the database, comparisons, hashes."""
    done: list[str] = []
    current = vault.configurations.current()

    def saw(_: Any, __: Any, statement: str, *___: Any) -> None:
        done.append(statement)

    kdf, verify = current.scheme.hardening.kdf, type(current.scheme).verify
    derive = type(kdf).derive
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(kdf), "derive", lambda *a: (done.append("hash"), derive(*a))[1])
        patch.setattr(
            type(current.scheme), "verify", lambda *a: (done.append("verify"), verify(*a))[1]
        )
        event.listen(vault.store.engine, "before_cursor_execute", saw)
        assert vault.verify(name, face(1), "source") is False
        event.remove(vault.store.engine, "before_cursor_execute", saw)
    return done


def test_the_decoy_itself_lets_nobody_in(address: str) -> None:
    with closing(made(address)) as vault:
        current = vault.configurations.current()
        vault.configurations._known[1] = replace(
            current, decoy=current.scheme.enrol(face(3), np.random.default_rng(0), current.nobody)
        )
        decoy = vault.configurations.get(1).decoy
        assert current.scheme.verify(decoy, face(3), current.nobody)
        assert vault.verify("nobody", face(3)) is False


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "other"])
def test_a_tampered_template_is_a_wrong_face(address: str, damage: str) -> None:
    with closing(made(address)) as vault:
        vault.enrol("ann", face(0))
        blob = bytearray(_template(vault, "ann"))
        blob[len(blob) // 2] ^= 1
        new = {"flip": bytes(blob), "cut": bytes(blob[:20]), "empty": b"-", "other": _foreign()}
        with vault.store.begin() as connection:
            connection.execute(text("UPDATE vault_people SET template = :t"), {"t": new[damage]})
        assert vault.verify("ann", face(0)) is False


def _foreign() -> bytes:
    from efface.protect.template import pack

    return pack(biohash().enrol(face(0), np.random.default_rng(1)))


# --- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "vector",
    [
        np.zeros(DIM),
        np.ones(DIM),
        np.full(DIM, np.nan),
        np.arange(DIM + 1.0),
        np.array(["x"] * DIM),
        np.empty((0, DIM)),
        np.stack([face(0), -face(0)]),
    ],
    ids=["zero", "equal", "nan", "dimension", "text", "none", "cancels"],
)
def test_a_vector_that_cannot_be_is_refused_before_anybody_is_looked_up(
    tmp_path: Any, vector: Any
) -> None:
    with closing(made(str(tmp_path / "v.db"))) as vault:
        vault.enrol("ann", face(0))
        before = rows(vault, "SELECT count(*) FROM vault_audit")
        said = set()
        for name in ("ann", "nobody"):
            with pytest.raises(DataError) as refused:
                vault.verify(name, vector)
            said.add(str(refused.value))
        assert len(said) == 1
        with pytest.raises(DataError):
            vault.enrol("new", vector)
        assert rows(vault, "SELECT count(*) FROM vault_audit") == before
        assert rows(vault, "SELECT count(*) FROM vault_attempts") == [(0,)]


@pytest.mark.parametrize("name", ["", "a\0b", "a\nb", "x" * 201, "\ud800"])
def test_names_are_plain(tmp_path: Any, name: str) -> None:
    with closing(made(str(tmp_path / "v.db"))) as vault:
        for call in (vault.enrol, vault.verify):
            with pytest.raises(DataError):
                call(name, face(0))


def test_names_of_all_scripts_are_kept_apart(address: str) -> None:
    with closing(made(address)) as vault:
        for person, name in enumerate(["Ünal", "ünal", "李", "a'; DROP TABLE vault_people; --"]):
            vault.enrol(name, face(person))
        assert vault.verify("李", face(2, 1))
        assert not vault.verify("ünal", face(0))
        assert vault.verify("a'; DROP TABLE vault_people; --", face(3))


def _template(vault: Vault, user: str) -> bytes:
    with vault.store.begin() as connection:
        query = text('SELECT template FROM vault_people WHERE "user" = :u')
        blob = bytes(connection.execute(query, {"u": user}).scalar_one())
    unpack(blob)
    return blob

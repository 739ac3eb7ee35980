"""The database goes away at the worst moment; nothing is half done and nothing is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from vault_world import Database, closing, face, l2fe, made, rows, schema, traces, vault_at

from efface.errors import UnavailableError, VaultError
from efface.protect.template import Pool, Shape
from efface.vault.configurations import Configurations
from efface.vault.service import Vault

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")


@contextmanager
def killed_at(vault: Vault, db: Database, statement: str) -> Iterator[list[str]]:
    """The server ends this vault's connections just before the first statement of this kind."""
    done: list[str] = []

    def kill(_: Any, __: Any, text: str, *___: Any) -> None:
        if statement in text and not done:
            done.append(text)
            db.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )

    event.listen(vault.store.engine, "before_cursor_execute", kill)
    try:
        yield done
    finally:
        event.remove(vault.store.engine, "before_cursor_execute", kill)


@pytest.mark.parametrize("statement", ["INSERT INTO vault_people", "INSERT INTO vault_audit"])
def test_the_server_dies_within_an_enrolment(postgres: Database, statement: str) -> None:
    db = schema(postgres, "dies")
    with closing(made(db.uri)) as vault:
        audit = rows(vault, "SELECT count(*) FROM vault_audit")
        with killed_at(vault, db, statement) as done, pytest.raises(UnavailableError) as said:
            vault.enrol("ann", face(0))
        assert done, "it was in the middle"
        assert said.value.__cause__ is None
        assert "ann" not in str(said.value)
        assert "secret" not in str(said.value), "the password"
        assert rows(vault, "SELECT count(*) FROM vault_people") == [(0,)]
        assert rows(vault, "SELECT count(*) FROM vault_audit") == audit
        vault.enrol("ann", face(0))  # the same vault, over a new connection
        assert vault.verify("ann", face(0, 1))


def test_the_server_dies_within_a_verification(postgres: Database) -> None:
    """A try that was charged stays charged: dying is no way to guess for nothing."""
    db = schema(postgres, "dies")
    with closing(made(db.uri)) as vault:
        vault.enrol("ann", face(0))
        with killed_at(vault, db, "INSERT INTO vault_audit") as done:
            with pytest.raises(UnavailableError):
                vault.verify("ann", face(9))
            assert done
        assert rows(vault, "SELECT level FROM vault_attempts") == [(1.0,)]
        assert vault.verify("ann", face(0))


def test_there_is_no_server(capfd: pytest.CaptureFixture[str]) -> None:
    vault = vault_at("postgresql://ann:topsecret@127.0.0.1:1/none")
    with pytest.raises(UnavailableError) as said:
        vault.verify("ann", face(0))
    assert "topsecret" not in str(said.value) + "".join(capfd.readouterr())
    assert "127.0.0.1:1/none" in str(said.value)


def test_a_disk_that_refuses_leaves_nobody_half_enrolled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(made(str(tmp_path / "v.db"))) as vault:
        with vault.store.begin() as connection:
            connection.exec_driver_sql(
                "CREATE TRIGGER full BEFORE INSERT ON vault_audit WHEN NEW.event = 'enrol' "
                "BEGIN SELECT RAISE(FAIL, 'disk is full'); END"
            )
        with pytest.raises(VaultError) as said:
            vault.enrol("ann", face(0))
        assert rows(vault, "SELECT count(*) FROM vault_people") == [(0,)]
        spoken = (str(said.value) + repr(said.value) + caplog.text).encode()
        assert not [trace for trace in traces(face(0)) if trace in spoken]


@pytest.mark.parametrize(
    "address",
    [
        "mysql://x/y",
        "postgresql://[::bad",
        "sqlite:////no/such/folder/v.db",
        "/no/such/folder/v.db",
    ],
)
def test_addresses_that_cannot_be(address: str) -> None:
    with pytest.raises(VaultError):
        made(address)


def test_a_database_without_a_vault_is_named(address: str) -> None:
    vault = vault_at(address)
    with pytest.raises(VaultError, match=r"holds no vault|there is no vault"):
        vault.store.require()
    vault.store.create()
    with pytest.raises(VaultError, match="no configuration"):
        vault.verify("ann", face(0))
    vault.store.close()


# --- prepared bases -------------------------------------------------------------------------


def test_an_enrolment_takes_a_prepared_basis_and_never_waits(tmp_path: Path) -> None:
    pool = Pool(tmp_path / "bases", Shape(24, 6, 1009), size=2, empty="refuse")
    pool.prepare()
    with closing(made(str(tmp_path / "v.db"), l2fe())) as vault:
        vault.configurations = Configurations(vault.store, bases=lambda _: pool)
        vault.enrol("ann", face(0))
        vault.enrol("bob", face(1))
        with pytest.raises(UnavailableError, match="no prepared basis"):
            vault.enrol("eve", face(2))
        assert vault.verify("ann", face(0, 1))
        assert vault.verify("bob", face(1, 1))
        with pytest.raises(UnavailableError):
            vault.rotate("ann", face(0, 1))
        assert vault.verify("ann", face(0, 2)), "what could not be renewed is as it was"
        pool.prepare(1)
        vault.enrol("eve", face(2))

"""PostgreSQL that refuses: rights, types, values; each with the way out, and nothing is shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from pg_faults import PART, apply, require_complete, some
from pg_server import Database, database, schema

from efface.errors import DataError, StoreError
from efface.stores.address import open_sink, open_source

NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[Database]:
    with database("refusals") as made:
        yield made


@pytest.fixture
def db(server: Database) -> Database:
    made = schema(server, f"s{next(NUMBERS)}")
    made.load("items", some())
    return made


# --- rights, types, values ------------------------------------------------------------------


@pytest.fixture
def role(db: Database) -> Iterator[Callable[..., Database]]:
    made = f"role_{db.schema}"

    def make(*grants: str) -> Database:
        statements = (f"GRANT {grant} TO {made}" for grant in grants)
        db.run(f"CREATE ROLE {made} LOGIN", *statements)
        return Database(db.name, db.folder, db.schema, made)

    yield make
    db.run(f"DROP OWNED BY {made}", f"DROP ROLE {made}")


def test_a_role_without_the_right_to_create(db: Database, role: Callable[..., Database]) -> None:
    guest = role(f"USAGE ON SCHEMA {db.schema}", "SELECT ON items")
    with pytest.raises(StoreError, match=r"permission denied.*grant the right"):
        apply(guest)
    assert db.tables() == {"items"}


def test_a_role_without_the_right_to_read(db: Database, role: Callable[..., Database]) -> None:
    guest = role(f"USAGE, CREATE ON SCHEMA {db.schema}")
    with pytest.raises(StoreError, match=r"permission denied.*grant the right"):
        apply(guest)


def test_rows_hidden_by_a_policy_are_not_left_out_in_silence(
    db: Database, role: Callable[..., Database]
) -> None:
    guest = role(f"USAGE, CREATE ON SCHEMA {db.schema}", "SELECT ON items")
    db.run("ALTER TABLE items ENABLE ROW LEVEL SECURITY",
           "CREATE POLICY few ON items USING (id < 10)")  # fmt: skip
    with pytest.raises(StoreError, match="row-level security"):
        apply(guest)


def test_a_database_that_is_read_only(db: Database) -> None:
    db.run(f"ALTER DATABASE {db.name} SET default_transaction_read_only = on")
    try:
        with pytest.raises(StoreError, match="the database is read-only"):
            apply(db)
    finally:
        db.run("SET default_transaction_read_only = off",
               f"ALTER DATABASE {db.name} RESET default_transaction_read_only")  # fmt: skip
    assert db.tables() == {"items"}


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    away = Database("postgres", str(tmp_path))
    with pytest.raises(StoreError, match=r"no connection.*when the server is there") as caught:
        open_source(away.address("items"))
    assert "secret" not in str(caught.value)


def test_a_database_without_the_extension(db: Database) -> None:
    with (
        database("bare", extension=False) as bare,
        pytest.raises(StoreError, match=r"no type public.vector: CREATE EXTENSION vector"),
    ):
        apply(db, schema(bare, db.schema))


@pytest.mark.parametrize("row", [1, 70])
def test_a_row_without_a_vector_is_named_and_the_policy_can_be_told_then(
    db: Database, row: int
) -> None:
    db.run(f"UPDATE items SET vec = NULL WHERE id = {row}")
    with pytest.raises(DataError, match=rf"row {row} .*no vector.*--null drop"):
        apply(db)
    assert "clean" not in db.tables()
    apply(db, null="drop")
    require_complete(db, where="vec IS NOT NULL")


def test_a_row_that_is_not_a_number_is_named(db: Database) -> None:
    db.run("DROP TABLE items")
    db.load("items", some(), "real[]")
    db.run("UPDATE items SET vec[2] = 'NaN' WHERE id = 1")
    with pytest.raises(DataError, match=r"row 1 .*NaN"):
        apply(db)
    db.run("DELETE FROM items WHERE id = 1")
    apply(db)
    require_complete(db)


def test_a_name_that_the_server_would_cut(db: Database) -> None:
    with pytest.raises(StoreError, match="the name is too long"):
        open_sink(db.address("c" * 60), open_source(db.address("items")))


def test_no_connection_stays_open(db: Database) -> None:
    with pytest.raises(StoreError):
        apply(db, null="fail", part_rows=PART, progress=lambda *_: db.run("DROP TABLE items"))
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'efface'"
    end = time.monotonic() + 5
    while db.rows(query) != [(0,)] and time.monotonic() < end:
        time.sleep(0.05)
    assert db.rows(query) == [(0,)]

"""PostgreSQL: the new table takes the live name, or says what would be lost."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from pg_server import Database, database, schema
from pg_tables import copy, erased, everything, some

from efface.errors import StoreError
from efface.stores.address import open_source

NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[Database]:
    with database("swaps") as made:
        yield made


@pytest.fixture
def db(server: Database) -> Database:
    return schema(server, f"s{next(NUMBERS)}")


# --- swap -----------------------------------------------------------------------------------


def test_swap_gives_the_new_table_the_live_name(db: Database) -> None:
    rows = some()
    db.load("items", rows)
    sink = copy(db, "items", "clean")
    sink.swap("items")
    assert db.tables() == {"items", "items__before_efface", "efface_journal"}
    assert everything(open_source(db.address("items"))).tobytes() == erased(rows).tobytes()
    assert everything(open_source(db.address("items__before_efface"))).tobytes() == rows.tobytes()
    assert db.rows("SELECT count(*) FROM efface_journal") == [(0,)]


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE items SET name = 'late' WHERE id = 1", "rows were written since it was read"),
        ("CREATE VIEW seen AS SELECT id FROM items", r"views that read it \(.*seen"),
        ("CREATE TABLE child (i bigint REFERENCES items)", "foreign keys to it"),
        ("ALTER TABLE items ENABLE ROW LEVEL SECURITY; CREATE POLICY mine ON items USING (true)",
         r"row policies that the new table lacks \(mine\)"),
        ("CREATE TRIGGER t BEFORE DELETE ON items EXECUTE FUNCTION "
         "suppress_redundant_updates_trigger()", r"triggers that the new table lacks \(t\)"),
        ("CREATE TABLE items__before_efface ()", "exists already, from an earlier swap"),
    ],
)  # fmt: skip
def test_a_swap_that_would_lose_something_is_refused(
    db: Database, statement: str, says: str
) -> None:
    db.load("items", some())
    sink = copy(db, "items", "clean")
    db.run(*statement.split("; "))
    before = db.tables()
    with pytest.raises(StoreError, match=says):
        sink.swap("items")
    assert db.tables() == before


def test_a_swap_needs_a_live_table_in_the_same_schema(db: Database) -> None:
    db.load("items", some(9))
    sink = copy(db, "items", "clean")
    for live, says in (("itemz", "no table"), ("public.items", "cannot take a name in schema")):
        with pytest.raises(StoreError, match=says):
            sink.swap(live)

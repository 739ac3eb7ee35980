"""PostgreSQL: everything of a table is in the new one, and what cannot be read is said."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from pg_server import Database, database, schema
from pg_tables import apply, copy, erased, everything, some

from efface.errors import StoreError
from efface.stores.address import open_sink, open_source

NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[Database]:
    with database("tables") as made:
        yield made


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Database]:
    with database("tables_two") as made:
        yield made


@pytest.fixture
def db(server: Database) -> Database:
    return schema(server, f"s{next(NUMBERS)}")


# --- everything of a table ------------------------------------------------------------------

RICH = """
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE "Odd ""Table" (
  "The Id" serial PRIMARY KEY, vec vector(8), num integer GENERATED ALWAYS AS IDENTITY,
  twice integer GENERATED ALWAYS AS (half * 2) STORED, half integer DEFAULT 21 CHECK (half < 99),
  feeling mood NOT NULL DEFAULT 'happy', tags text[], "Über" jsonb, other vector(3),
  code text COLLATE "C" UNIQUE, span int4range, raw bytea, at timestamptz DEFAULT now()
);
COMMENT ON TABLE "Odd ""Table" IS 'it''s a table';
COMMENT ON COLUMN "Odd ""Table".code IS 'a code';
CREATE INDEX "my USING idx" ON "Odd ""Table" USING btree (half DESC) WHERE half > 3;
CREATE INDEX ON "Odd ""Table" USING hnsw (vec vector_cosine_ops) WITH (m = 8, ef_construction = 20);
CREATE INDEX by_l2 ON "Odd ""Table" USING ivfflat (vec vector_l2_ops) WITH (lists = 3);
COMMENT ON INDEX by_l2 IS 'near';
INSERT INTO "Odd ""Table" (vec, half, feeling, tags, "Über", other, code, span, raw)
SELECT ('[' || array_to_string(ARRAY(SELECT sin(n * 7 + i) FROM generate_series(1, 8) i), ',')
  || ']')::vector, n, CASE n % 2 WHEN 0 THEN 'sad' ELSE 'happy' END::mood,
  ARRAY['a,' || n, NULL, E'\\\\'], jsonb_build_object('k', n), '[1,2.5,0.1]', E'c\\t' || n,
  int4range(n, n + 5), decode(md5(n::text), 'hex') FROM generate_series(1, 30) n;
UPDATE "Odd ""Table" SET vec = NULL, "Über" = NULL WHERE half = 5;
"""

KEPT = 'SELECT "The Id", num, twice, half, feeling, tags, "Über", other::text, code, span, raw, at'


@pytest.mark.parametrize("far", [False, True], ids=["same database", "another database"])
def test_all_of_a_table_is_in_the_new_one(db: Database, elsewhere: Database, far: bool) -> None:
    db.run(RICH)
    to = db
    if far:
        to = schema(elsewhere, db.schema)
        to.run("CREATE TYPE mood AS ENUM ('sad', 'happy')")
    source = open_source(db.address('"Odd ""Table"'.replace('""', '"'), embedding="vec"))
    sink = open_sink(to.address("clean"), source)
    apply(source, sink, null="keep")

    query = f'{KEPT}, vec IS NULL FROM {{}} ORDER BY "The Id"'
    assert to.rows(query.format("clean")) == db.rows(query.format('"Odd ""Table"'))
    described = (
        "SELECT column_name, udt_name, is_nullable, is_identity, identity_generation, "
        "generation_expression, collation_name, CASE WHEN column_default NOT LIKE 'nextval%' "
        "THEN column_default END FROM information_schema.columns WHERE table_schema = '{}' "
        "AND table_name = '{}' ORDER BY ordinal_position"
    )
    assert to.rows(described.format(to.schema, "clean")) == db.rows(
        described.format(db.schema, 'Odd "Table')
    )
    made = dict(to.rows("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'clean' "
                        f"AND schemaname = '{to.schema}'"))  # fmt: skip
    assert set(made) == {
        "clean_pkey", "clean_code_key", "clean_vec_idx",
        *(("clean_my USING idx", "clean_by_l2")),
    }  # fmt: skip
    assert (
        "hnsw (vec vector_cosine_ops) WITH (m='8', ef_construction='20')" in made["clean_vec_idx"]
    )
    assert "ivfflat (vec) WITH (lists='3')" in made["clean_by_l2"]
    assert "(half DESC) WHERE (half > 3)" in made["clean_my USING idx"]
    assert to.rows("SELECT obj_description('clean'::regclass, 'pg_class'), "
                   "col_description('clean'::regclass, 9 + 1), "
                   "obj_description('clean_by_l2'::regclass, 'pg_class')") == [
        ("it's a table", "a code", "near")
    ]  # fmt: skip


@pytest.mark.parametrize("far", [False, True], ids=["same database", "another database"])
def test_sequences_go_on_and_belong_to_the_new_table(
    db: Database, elsewhere: Database, far: bool
) -> None:
    db.run(RICH)
    to = schema(elsewhere, db.schema) if far else db
    if far:
        to.run("CREATE TYPE mood AS ENUM ('sad', 'happy')")
    source = open_source(db.address('Odd "Table', embedding="vec"))
    apply(source, open_sink(to.address("clean"), source), null="drop")
    assert to.rows("SELECT count(*), count(vec) FROM clean") == [(29, 29)]
    db.run('DROP TABLE "Odd ""Table"')
    new = to.rows("INSERT INTO clean (code) VALUES ('new') RETURNING \"The Id\", num, half, twice")
    assert new == [(31, 31, 21, 42)]
    assert to.rows("SELECT pg_get_serial_sequence('clean', 'The Id')") == [
        (f'{to.schema}."clean_The Id_seq"',)
    ]
    with pytest.raises(Exception, match="check constraint"):
        to.run("INSERT INTO clean (half) VALUES (100)")


def test_who_may_read_the_table_may_read_the_new_one(db: Database) -> None:
    db.load("items", some())
    db.run(
        "DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN",
        f"GRANT USAGE ON SCHEMA {db.schema} TO reader", "GRANT SELECT ON items TO reader",
    )  # fmt: skip
    copy(db, "items", "clean")
    reader = Database(db.name, db.folder, db.schema, "reader")
    assert reader.rows("SELECT count(*) FROM clean") == [(50,)]
    with pytest.raises(Exception, match="permission denied"):
        reader.run("DELETE FROM clean")
    db.run("DROP OWNED BY reader", "DROP ROLE reader")


def test_rows_of_a_partitioned_table(db: Database) -> None:
    db.run(
        "CREATE TABLE items (id integer PRIMARY KEY, vec vector(8)) PARTITION BY RANGE (id)",
        "CREATE TABLE low PARTITION OF items FOR VALUES FROM (0) TO (20)",
        "CREATE TABLE high PARTITION OF items FOR VALUES FROM (20) TO (90)",
        "CREATE INDEX ON items USING hnsw (vec vector_l2_ops)",
        "INSERT INTO items SELECT n, ARRAY(SELECT cos(n + i) FROM generate_series(1, 8) i)"
        "::real[]::vector FROM generate_series(0, 49) n",
    )
    before = everything(open_source(db.address("items")))
    sink = copy(db, "items", "clean")
    assert everything(sink.source()).tobytes() == erased(before).tobytes()
    made = db.rows(
        "SELECT split_part(indexdef, ' ON ', 2) FROM pg_indexes WHERE tablename = 'clean' "
        f"AND schemaname = '{db.schema}' ORDER BY indexname"
    )
    new = f"{db.schema}.clean USING"
    assert made == [(f"{new} btree (id)",), (f"{new} hnsw (vec vector_l2_ops)",)]


# --- what is refused when it is opened ------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "more", "says"),
    [
        ("itms", {}, r"no such table \(nearest: items\)|no such table.*items"),
        ("nowhere.items", {}, "no such table"),
        ("plain", {}, "no column of type vector"),
        ("two", {}, "2 vector columns: choose one with --embedding"),
        ("two", {"embedding": "c"}, "no column 'c'"),
        ("items", {"embedding": "name"}, "column name is of type text"),
        ("keyless", {}, "no primary key: name a unique NOT NULL column with --key"),
        ("keyless", {"key": "id"}, "column id cannot tell rows apart"),
        ("keyless", {"key": "ud"}, "no column 'ud'"),
        ("pair", {}, r"primary key has 2 columns \(a, b\)"),
        ("seen", {}, "a view"),
        ("empty", {}, "no dimension"),
    ],
)
def test_what_cannot_be_read_is_said(
    db: Database, table: str, more: dict[str, str], says: str
) -> None:
    db.load("items", some(3))
    db.run(
        "CREATE TABLE plain (id int PRIMARY KEY)",
        "CREATE TABLE two (id int PRIMARY KEY, a vector(2), b vector(2))",
        "CREATE TABLE keyless (id int UNIQUE, vec vector(2))",
        "CREATE TABLE pair (a int, b int, vec vector(2), PRIMARY KEY (a, b))",
        "CREATE VIEW seen AS SELECT * FROM items",
        "CREATE TABLE empty (id int PRIMARY KEY, vec vector)",
    )
    with pytest.raises(StoreError, match=says) as caught:
        open_source(db.address(table, **more))
    assert "secret" not in str(caught.value)


def test_no_message_and_no_repr_holds_the_password(db: Database) -> None:
    db.load("items", some(3))
    source = open_source(db.address("items"))
    sink = open_sink(db.address("clean"), source)
    for text in (repr(source), repr(sink), source.place, sink.place):
        assert "secret" not in text
        assert text.count("postgresql://postgres@")
    for uri in ("postgresql://me:secret@[broken/db#t", "postgresql://me:secret@h/d?zzz=secret#t"):
        address = db.address("t")
        with pytest.raises(StoreError, match="not understood") as caught:
            open_source(type(address)("postgres", uri.rpartition("#")[0], "t"))
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_a_table_takes_rows_of_a_table_only(db: Database) -> None:
    class Other:
        place = "vectors.npy"

    with pytest.raises(StoreError, match="another kind of store"):
        open_sink(db.address("clean"), Other())  # type: ignore[arg-type]

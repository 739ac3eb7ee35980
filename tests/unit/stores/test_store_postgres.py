"""PostgreSQL with pgvector: exact numbers, keys of any type, parts, samples."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pg_server import Database, database, schema
from pg_tables import DIM, copy, erased, everything, some
from store_erasers import drawn

from efface.errors import StoreError
from efface.scale.runner import Processes
from efface.stores.address import open_sink, open_source
from efface.stores.engine import apply_store
from efface.stores.pg import names, vectors
from efface.stores.pg.table import split_name

NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[Database]:
    with database("rows") as made:
        yield made


@pytest.fixture
def db(server: Database) -> Database:
    return schema(server, f"s{next(NUMBERS)}")


# --- numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["vector", "halfvec", "_float4", "_float8"])
@settings(max_examples=30)
@given(data=st.data())
def test_the_binary_form_keeps_every_bit(kind: str, data: st.DataObject) -> None:
    dtype = np.dtype(vectors.STORED[kind])
    shape = (data.draw(st.integers(1, 5)), data.draw(st.integers(1, 9)))
    rows = data.draw(arrays.arrays(dtype, shape, elements=arrays.from_dtype(dtype)))
    raw = vectors.encode(rows, kind)
    back, present = vectors.decode(raw, kind, shape[1], range(shape[0]), "here")
    assert back.tobytes() == rows.tobytes()
    assert present.all()
    some_gone = [None, *raw[1:]]
    back, present = vectors.decode(some_gone, kind, shape[1], range(shape[0]), "here")
    assert not present[0]
    assert not back[0].any()


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("vector(8)", "f4"), ("vector", "f4"), ("real[]", "f4"), ("double precision[]", "f8")],
)
def test_what_the_server_stores_is_what_is_read_and_written(
    db: Database, kind: str, dtype: str
) -> None:
    rows = some().astype(dtype) * (1 + 2.0**-30)
    db.load("items", rows, kind)
    source = open_source(db.address("items"))
    assert (source.shape.rows, source.shape.dim, source.shape.dtype) == (50, DIM, rows.dtype.name)
    assert everything(source).tobytes() == rows.tobytes()
    sink = copy(db, "items", "clean")
    want = erased(rows)
    assert everything(sink.source()).tobytes() == want.tobytes()
    # The server's own text of the numbers is an independent witness.
    texts = [text for (text,) in db.rows("SELECT vec::text FROM clean ORDER BY id")]
    seen = [[float(x) for x in text.strip("[]{}").split(",")] for text in texts]
    assert np.array(seen, dtype).tobytes() == want.tobytes()


def test_a_vector_of_another_length_is_named_by_its_key(db: Database) -> None:
    db.load("items", some(), "vector")
    db.run("UPDATE items SET vec = '[1,2]' WHERE id = 7")
    source = open_source(db.address("items"))
    with pytest.raises(StoreError, match=r"no vector of 8 numbers, among them key 7"):
        everything(source)


def test_an_array_with_null_inside_is_named(db: Database) -> None:
    db.load("items", some(), "real[]")
    db.run("UPDATE items SET vec[3] = NULL WHERE id = 4")
    with pytest.raises(StoreError, match="key 4"):
        everything(open_source(db.address("items")))


# --- keys and parts -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("integer", [-5, 3, 1000, 7, 20, 100, 9]),
        ("smallint", [9, 10, -1, 2, 5, 30000, 4]),
        ("text", ["b", "ä", "10", "9", "x'y", "a\tb\n", "\\"]),
        ("uuid", [str(uuid.UUID(int=n << 100 | n)) for n in (5, 1, 9, 11, 2, 7, 3)]),
        ("timestamptz", [f"2024-0{n}-01 12:00:00.00000{n}+02" for n in range(1, 8)]),
        ("numeric", ["1.10", "20", "3", "-4.5", "1e30", "0", "100.001"]),
    ],
)
def test_any_key_that_has_an_order(db: Database, kind: str, keys: list[Any]) -> None:
    db.run(f"CREATE TABLE items (k {kind} UNIQUE NOT NULL, vec vector(2), n integer)")
    with db.connect() as connection:
        for n, key in enumerate(keys):
            connection.execute("INSERT INTO items VALUES (%s, %s, %s)", (key, f"[{n + 1},{-n}]", n))
    source = open_source(db.address("items", key="k"))
    order = [n for (n,) in db.rows("SELECT n FROM items ORDER BY k")]
    parts = source.parts(3)
    assert [part.rows for part in parts] == [3, 3, 1]
    assert [part.start for part in parts] == [0, 3, 6]
    chunks = [source.read(part) for part in parts]
    assert [int(x) - 1 for chunk in chunks for x in chunk.vectors[:, 0]] == order
    sink = open_sink(db.address("clean"), source)
    apply_store(drawn(2, 1), source, sink, part_rows=3, verify="full")
    assert db.rows("SELECT k, n FROM clean ORDER BY k") == db.rows(
        "SELECT k, n FROM items ORDER BY k"
    )


def test_parts_do_not_change_and_cover_all(db: Database) -> None:
    db.load("items", some())
    source = open_source(db.address("items"))
    parts = source.parts(7)
    assert parts == source.parts(7)
    assert sum(part.rows for part in parts) == 50
    labels = [label for part in parts for label in source.read(part).labels]
    assert labels == [row * 3 - 5 for row in range(50)]


def test_sources_and_sinks_travel_to_other_processes(db: Database) -> None:
    db.load("items", some())
    source = open_source(db.address("items"))
    assert pickle.loads(pickle.dumps(source)) == source
    runner = Processes(2)
    try:
        sink = copy(db, "items", "clean", runner=runner)
    finally:
        runner.close()
    assert everything(sink.source()).tobytes() == erased(some()).tobytes()


def test_a_sample_is_drawn_evenly_and_without_null(db: Database) -> None:
    rows = some(12)
    db.load("items", rows)
    db.run("UPDATE items SET vec = NULL WHERE id = 1")
    source = open_source(db.address("items"))
    rng = np.random.default_rng(0)
    labels, found = source.sample(100, rng)
    assert labels == [row * 3 - 5 for row in range(12) if row != 2]
    assert (found == rows[np.arange(12) != 2]).all()
    drawn_times = dict.fromkeys(labels, 0)
    for _ in range(60):
        labels, found = source.sample(4, rng)
        assert len(set(labels)) == 4
        for label, vector in zip(labels, found, strict=True):
            assert (vector == rows[(label + 5) // 3]).all()
            drawn_times[label] += 1
    # 240 draws among 11 rows, 21.8 each; each count is hypergeometric-like with deviation 3.7.
    assert min(drawn_times.values()) > 3
    assert max(drawn_times.values()) < 42


def test_any_change_of_the_rows_changes_the_fingerprint(db: Database) -> None:
    db.load("items", some())
    source = open_source(db.address("items"))
    seen = [source.fingerprint()]
    assert source.fingerprint() == seen[0]
    for change in (
        "UPDATE items SET vec = vec WHERE id = 1",
        "UPDATE items SET name = 'other' WHERE id = 4",
        "DELETE FROM items WHERE id = 7",
        "INSERT INTO items SELECT 7, vec, name FROM items WHERE id = 10",
    ):
        db.run(change)
        seen.append(source.fingerprint())
    assert len(set(seen)) == len(seen)
    db.run("VACUUM items", "ANALYZE items")
    assert source.fingerprint() == seen[-1]


# --- names ----------------------------------------------------------------------------------


@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80))
@settings(max_examples=60)
def test_names_fit_and_stay_different(one: str, other: str) -> None:
    assert len(names.fit(one).encode()) <= names.LONGEST
    if len(one.encode()) <= names.LONGEST:
        assert names.fit(one) == one
    assert (names.fit(one) == names.fit(other)) == (one == other)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("items", ("", "items")), ("app.items", ("app", "items")),
        ('"my.app"."my.items"', ("my.app", "my.items")), ('"a.b"', ("", "a.b")),
    ],
)  # fmt: skip
def test_a_table_may_be_named_with_its_schema(text: str, parts: tuple[str, str]) -> None:
    assert split_name(text) == parts

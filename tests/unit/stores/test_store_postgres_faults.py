"""PostgreSQL that goes away, refuses or changes; every row is there exactly once in the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest
from db_kills import killed
from pg_faults import PART, ROWS, apply, require_complete, some
from pg_server import Database, database, schema

from efface.errors import StoreError
from efface.stores.address import open_sink, open_source
from efface.stores.contract import Done, Job
from efface.stores.pg import sink as sinks
from efface.stores.postgres import PostgresSource

NUMBERS = count()
TERMINATE = (
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
    "WHERE application_name = 'efface' AND datname = current_database()"
)


@pytest.fixture(scope="module")
def server() -> Iterator[Database]:
    with database("faults") as made:
        yield made


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Database]:
    with database("elsewhere") as made:
        yield made


@pytest.fixture
def db(server: Database) -> Database:
    made = schema(server, f"s{next(NUMBERS)}")
    made.load("items", some())
    return made


# --- deaths ---------------------------------------------------------------------------------


def test_killed_many_times_within_one_database(db: Database) -> None:
    db.run("INSERT INTO items SELECT id + 1, vec, name FROM items",
           "UPDATE items SET vec = NULL WHERE id % 10 = 1")  # fmt: skip
    hits = killed(f"{db.uri}#items", f"{db.uri}#clean", part_rows=1, kills=30, null="keep")
    assert hits >= 3
    require_complete(db)


def test_killed_many_times_between_two_databases(db: Database, elsewhere: Database) -> None:
    to = schema(elsewhere, db.schema)
    db.run("UPDATE items SET vec = NULL WHERE id % 10 = 1")
    hits = killed(f"{db.uri}#items", f"{to.uri}#clean", part_rows=1, kills=20, null="drop")
    assert hits >= 3
    require_complete(db, to, "vec IS NOT NULL")


@pytest.mark.parametrize("part", range(0, ROWS // PART + 1, 2))
def test_a_connection_that_is_cut_between_parts(db: Database, part: int) -> None:
    def cut(done: int, total: int) -> None:
        if done == part * PART:
            assert db.rows(TERMINATE)[0][0] >= 1

    with pytest.raises(StoreError, match=r"no connection.*run the same command again"):
        apply(db, progress=cut)
    assert db.rows("SELECT count(*) FROM clean__efface_work") == [(part * PART,)]
    assert "clean" not in db.tables()
    apply(db)
    require_complete(db)


def test_connections_that_are_cut_at_any_moment(db: Database) -> None:
    over = threading.Event()
    rng = np.random.default_rng(5)

    def cut_again_and_again() -> None:
        connection = db.connect()
        while not over.wait(float(rng.uniform(0.005, 0.15))):
            connection.execute(TERMINATE)
        connection.close()

    thread = threading.Thread(target=cut_again_and_again)
    thread.start()
    said, end = [], time.monotonic() + 6
    try:
        while time.monotonic() < end and len(said) < 12:
            try:
                apply(db, resume=True, part_rows=2)
            except StoreError as error:
                said.append(str(error))
    finally:
        over.set()
        thread.join()
    assert said
    assert all("no connection" in words for words in said), said
    apply(db, resume=True, part_rows=2)
    require_complete(db)


def test_a_failed_attempt_does_not_lock_out_the_next_one_in_the_same_process(
    db: Database,
) -> None:
    source = open_source(db.address("items"))
    first = open_sink(db.address("clean"), source)
    job = job_of(source)
    first.begin(job, resume=False)
    second = open_sink(db.address("clean"), source)
    assert list(second.begin(job, resume=False)) == []


def test_two_runs_do_not_write_at_once(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "PATIENCE", "100ms")
    with db.connect() as other:
        other.execute(sinks._ALONE, (f'"{db.schema}"."clean__efface_work"',))
        with pytest.raises(StoreError, match="another transaction is in the way"):
            apply(db)
    apply(db)
    require_complete(db)


# --- a source that changes ------------------------------------------------------------------


@pytest.mark.parametrize("far", [False, True], ids=["same database", "another database"])
@pytest.mark.parametrize(
    "change", ["UPDATE items SET name = 'x' WHERE id = 1", "DELETE FROM items WHERE id = 1"]
)
def test_a_row_that_changes_on_its_way_is_not_written(
    db: Database, elsewhere: Database, far: bool, change: str
) -> None:
    to = schema(elsewhere, db.schema) if far else db
    source = open_source(db.address("items"))
    sink = open_sink(to.address("clean"), source)
    sink.begin(job_of(source), resume=False)
    part = source.parts(PART)[0]
    chunk = source.read(part)
    db.run(change)
    with pytest.raises(StoreError, match="1 rows of part 0 were changed or deleted"):
        sink.commit(part, sink.prepare(part, chunk, chunk.vectors), Done(0, PART, "a", "b"))
    assert to.rows("SELECT count(*) FROM clean__efface_work") == [(0,)]


def test_rows_that_come_or_go_are_noticed_when_a_part_is_read(db: Database) -> None:
    source = open_source(db.address("items"))
    part = source.parts(PART)[1]
    db.run("INSERT INTO items SELECT id + 1, vec, name FROM items WHERE id = 28")
    with pytest.raises(StoreError, match="11 rows where 10 were, from key 25 on"):
        source.read(part)


def test_a_job_is_taken_up_and_another_one_refused(db: Database) -> None:
    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(db, progress=stop)
    with pytest.raises(StoreError, match=r"another job is under way.*part rows differs"):
        apply(db, part_rows=PART + 5)
    db.run("UPDATE items SET name = 'new' WHERE id = 1")
    with pytest.raises(StoreError, match="fingerprint differs"):
        apply(db)
    db.run("DROP TABLE clean__efface_work")
    apply(db)
    require_complete(db)


def test_a_target_that_exists_is_refused_and_a_finished_one_resumed(db: Database) -> None:
    db.load("clean", some(3))
    with pytest.raises(StoreError, match="exists already"):
        apply(db, resume=True)
    db.run("DROP TABLE clean")
    apply(db)
    with pytest.raises(StoreError, match="use --resume"):
        apply(db)
    apply(db, resume=True)
    with pytest.raises(StoreError, match=r"finished by another job.*part rows"):
        apply(db, resume=True, part_rows=PART + 1)
    require_complete(db)


def test_a_work_table_that_somebody_changed_does_not_become_the_target(db: Database) -> None:
    def remove(done: int, total: int) -> None:
        if done == total:
            db.run("DELETE FROM clean__efface_work WHERE id = 1")

    with pytest.raises(StoreError, match="59 rows where 60 were written"):
        apply(db, progress=remove)
    assert "clean" not in db.tables()


def job_of(source: Any) -> Job:
    assert isinstance(source, PostgresSource)
    parts = source.parts(PART)
    return Job(source.place, source.fingerprint(), "p", source.shape, len(parts), PART)

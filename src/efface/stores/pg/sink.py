"""A new table: rows and journal in one transaction, so that each part is there exactly once."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from numpy.typing import NDArray

from efface.errors import StoreError
from efface.stores.address import Address
from efface.stores.contract import Chunk, Done, Job, Part, Source
from efface.stores.pg import connect, journal, loading, making
from efface.stores.pg.making import Made
from efface.stores.pg.names import LONGEST, ident
from efface.stores.pg.swapping import swap
from efface.stores.pg.table import find, split_name
from efface.stores.postgres import PostgresSource, open_source

SUFFIX = "__efface_work"

_HERE = """
SELECT pg_postmaster_start_time()::text || ' ' || oid::text FROM pg_database
WHERE datname = current_database()
"""

# One run at a time, and none before the server has ended the last one's session: the outcome of
# a commit that was on its way when its client was killed is then known.
_ALONE = "SELECT pg_advisory_lock(hashtextextended('efface ' || %s, 0))"

PATIENCE = "60s"

_OPEN: dict[tuple[str, str], Any] = {}
"""Connections of sinks in this process, by target: a second attempt replaces the first one's."""


@dataclass
class PostgresSink:
    conninfo: str = field(repr=False)
    place: str
    origin: PostgresSource
    new: Made
    same: bool
    """Source and target are one database: other columns never leave it."""
    _driver: Any = field(default=None, repr=False)
    _job: Job | None = None

    local_only: ClassVar[bool] = False

    @classmethod
    def at(cls, address: Address, origin: PostgresSource) -> PostgresSink:
        schema, name = split_name(address.table)
        where = connect.place(address.location, schema, name)
        with connect.connected(address.location, where) as connection:
            if not schema:
                (schema,) = connection.execute("SELECT current_schema()").fetchone()
            here = connection.execute(_HERE).fetchone()
        with connect.connected(origin.conninfo, origin.place) as connection:
            same = here == connection.execute(_HERE).fetchone()
        if not schema:
            raise StoreError(f"{where}: no schema to make a table in; write it: SCHEMA.{name}")
        if len((name + SUFFIX).encode()) > LONGEST:
            raise StoreError(
                f"{where}: the name is too long: the work table's name has {len(SUFFIX)} bytes "
                f"more, and PostgreSQL keeps {LONGEST}"
            )
        where = connect.place(address.location, schema, name)
        return cls(address.location, where, origin, Made(schema, name + SUFFIX, name), same)

    def begin(self, job: Job, *, resume: bool) -> Sequence[Done]:
        self._job = job
        with self._driving() as connection:
            known = journal.job(connection, self.new.schema, self.new.target)
            if find(connection, self.new.schema, self.new.target):
                self._may_be_finished(known, job, resume)
            elif find(connection, self.new.schema, self.new.work):
                self._go_on(connection, known, job)
            else:
                self._create(connection, job)
            return journal.done(connection, self.new.schema, self.new.target)

    def prepare(self, part: Part, chunk: Chunk, vectors: NDArray[Any]) -> loading.Packed:
        with connect.speaking(self.place):
            return loading.pack(self.origin, part, chunk, vectors, self.same)

    def commit(self, part: Part, prepared: loading.Packed, done: Done) -> None:
        with self._driving() as connection, connection.transaction():
            loading.insert(connection, self.origin, self.new, part, prepared)
            journal.add(connection, self.new.schema, self.new.target, done)

    def finish(self) -> None:
        with self._driving() as connection:
            if find(connection, self.new.schema, self.new.work):
                with connect.connected(self.origin.conninfo, self.origin.place) as origin:
                    self._complete(connection, origin)
            elif not find(connection, self.new.schema, self.new.target):
                raise StoreError(f"{self.place}: the work table is gone: start again")
        self._close()

    def written(self, part: Part, done: Done) -> NDArray[Any]:
        return self._finished().held(part)

    def source(self) -> Source:
        return self._finished()

    def swap(self, live: str) -> None:
        with connect.connected(self.conninfo, self.place) as connection:
            swap(connection, live, self.new, self.origin if self.same else None, self.place)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_driver": None}

    def _finished(self) -> PostgresSource:
        address = Address(
            "postgres",
            self.conninfo,
            f'"{self.new.schema}"."{self.new.target}"',
            self.origin.table.vector.name,
            self.origin.table.key.name,
        )
        return open_source(address)

    # -- the driving connection

    @contextmanager
    def _driving(self) -> Iterator[Any]:
        """The one connection that writes; after any error it is closed, which rolls back."""
        try:
            with connect.speaking(self.place):
                if self._driver is None:
                    self._driver = self._connect()
                yield self._driver
        except BaseException:
            self._close()
            raise

    def _connect(self) -> Any:
        target = (self.conninfo, self.new.sql)
        if (older := _OPEN.pop(target, None)) is not None:
            older.close()
        _OPEN[target] = connection = connect.connect(self.conninfo)
        weakref.finalize(self, connection.close)
        if self._job is not None:
            self._alone(connection)
        return connection

    def _close(self) -> None:
        if self._driver is not None:
            self._driver.close()
            _OPEN.pop((self.conninfo, self.new.sql), None)
        self._driver = None

    def _alone(self, connection: Any) -> None:
        connection.execute(f"SET lock_timeout TO '{PATIENCE}'")
        connection.execute(_ALONE, (self.new.sql,))

    # -- begin

    def _may_be_finished(self, known: Job | None, job: Job, resume: bool) -> None:
        if known is None or not resume:
            raise StoreError(
                f"{self.place}: exists already (choose another name or drop it"
                f"{'; to check a finished run again use --resume' if known == job else ''})"
            )
        if known != job:
            raise StoreError(
                f"{self.place}: finished by another job ({journal.differing(known, job)} differs): "
                "choose another name or drop the table"
            )

    def _go_on(self, connection: Any, known: Job | None, job: Job) -> None:
        if known is not None and job.follows(known):
            journal.hand_over(connection, self.new.schema, self.new.target, job)
        elif known is not None and not journal.done(connection, self.new.schema, self.new.target):
            with connection.transaction():
                connection.execute(f"DROP TABLE {self.new.sql}")
                self._create(connection, job)
        else:
            other = "" if known is None else f" ({journal.differing(known, job)} differs)"
            raise StoreError(
                f"{self.place}: work of another job is under way in {self.new.sql}{other}: finish "
                "that one, or drop this table to start afresh"
            )

    def _create(self, connection: Any, job: Job) -> None:
        with (
            connect.connected(self.origin.conninfo, self.origin.place) as origin,
            connection.transaction(),
        ):
            self._require_type(connection)
            journal.forget(connection, self.new.schema, self.new.target)
            making.create(connection, origin, self.origin.table, self.new, same=self.same)
            journal.create(connection, self.new.schema, self.new.target, job)

    def _require_type(self, connection: Any) -> None:
        name = self.origin.table.vector.type
        plain = name.partition("(")[0]
        if connection.execute("SELECT to_regtype(%s)", (plain,)).fetchone()[0] is None:
            raise StoreError(
                f"{self.place}: this database has no type {plain}: CREATE EXTENSION vector "
                "(pgvector), in the schema where the source has it"
            )

    # -- finish

    def _complete(self, connection: Any, origin: Any) -> None:
        with connection.transaction():
            self._require_all(connection)
            for index in making.indexes(origin, self.origin.table):
                making.build(connection, self.origin.table, self.new, index)
            making.advance(connection, origin, self.origin.table, self.new)
            if self.same:
                making.grant(connection, self.origin.table, self.new)
            connection.execute(f"ALTER TABLE {self.new.sql} RENAME TO {ident(self.new.target)}")
        connection.execute(f"ANALYZE {ident(self.new.schema, self.new.target)}")

    def _require_all(self, connection: Any) -> None:
        job = journal.job(connection, self.new.schema, self.new.target)
        done = journal.done(connection, self.new.schema, self.new.target)
        if job is None or len(done) != job.parts:
            parts = f"{len(done)} of {job.parts}" if job else "no"
            raise StoreError(f"{self.place}: {parts} parts are there: run the same command again")
        (rows,) = connection.execute(f"SELECT count(*) FROM {self.new.sql}").fetchone()
        if rows != sum(one.rows for one in done):
            raise StoreError(
                f"{self.place}: {rows} rows where {sum(one.rows for one in done)} were written: "
                f"somebody changed {self.new.work}: drop it and start again"
            )

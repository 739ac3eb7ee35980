"""A PostgreSQL server with pgvector for the tests, or the reason why there is none.

The package ``pgserver`` brings it. As root it makes a user ``pgserver`` of its own to run as, and
the folder has to be one that this user may reach; elsewhere it runs as who runs the tests.
"""

from __future__ import annotations

import functools
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from efface.stores.address import Address, parse


@dataclass(frozen=True)
class Database:
    """A schema in one database of the server; a test may do with it what it likes."""

    name: str
    folder: str
    schema: str = "public"
    user: str = "postgres"

    @property
    def uri(self) -> str:
        path = f"-csearch_path%3D{self.schema}%2Cpublic"
        return f"postgresql://{self.user}:secret@/{self.name}?host={self.folder}&options={path}"

    def connect(self, **options: Any) -> Any:
        import psycopg

        return psycopg.connect(self.uri, autocommit=True, **options)

    def run(self, *statements: str) -> None:
        connection = self.connect()
        try:
            for statement in statements:
                connection.execute(statement)
        finally:
            connection.close()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        connection = self.connect()
        try:
            return [tuple(row) for row in connection.execute(query)]
        finally:
            connection.close()

    def tables(self) -> set[str]:
        found = self.rows(f"SELECT tablename FROM pg_tables WHERE schemaname = '{self.schema}'")
        return {name for (name,) in found}

    def address(self, table: str, **more: Any) -> Address:
        return parse(f"{self.uri}#{table}", **more)

    def load(self, table: str, vectors: np.ndarray, kind: str = "") -> None:
        """A small table of the common form: id, vector, name; ids have gaps."""
        self.run(
            f"CREATE TABLE {table} (id bigint PRIMARY KEY, vec "
            f"{kind or f'vector({vectors.shape[1]})'}, name text)"
        )
        left, right = "{}" if "[]" in kind else "[]"
        copy = f"COPY {table} FROM STDIN"
        with self.connect() as connection, connection.cursor().copy(copy) as sent:
            for row, vector in enumerate(vectors):
                text = left + ",".join(repr(float(x)) for x in vector) + right
                sent.write_row((row * 3 - 5, text, f"row\t{row}\n\\"))


@functools.lru_cache(maxsize=1)
def folder() -> str:
    """Of a server that runs until the process ends; pgserver stops and removes it then."""
    pytest.importorskip("psycopg", reason="no psycopg: pip install 'efface[postgres]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about folders that pgserver looks for
        try:
            import pgserver
        except ImportError as error:
            pytest.skip(f"no PostgreSQL to test with: pgserver has no build here ({error})")
        # Short, for a socket's path has 107 bytes at most; in memory where that can be had.
        memory = Path("/dev/shm")
        made = tempfile.mkdtemp(prefix="pg", dir=memory if os.access(memory, os.W_OK) else None)
        os.chmod(made, 0o755)
        pgserver.get_server(made, cleanup_mode="delete")
    # Of the client's deaths, not the machine's, the tests are about.
    Database("postgres", made).run("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
    return made


@contextmanager
def database(name: str, *, extension: bool = True) -> Iterator[Database]:
    """A fresh database on the server."""
    admin = Database("postgres", folder())
    admin.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}")
    made = Database(name, folder())
    if extension:
        made.run("CREATE EXTENSION vector")
    try:
        yield made
    finally:
        admin.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def schema(db: Database, name: str) -> Database:
    """An empty schema that comes first on the search path: as good as a database, and quicker."""
    db.run(f"DROP SCHEMA IF EXISTS {name} CASCADE", f"CREATE SCHEMA {name}")
    return Database(db.name, db.folder, name, db.user)

"""The database of a vault, on SQLite or PostgreSQL: opened, used in transactions, never quoted.

An error of a driver can hold parameters of a statement. None of them leaves this module.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, func, insert, inspect, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from efface.errors import EnrolledError, UnavailableError, VaultError
from efface.extras import need
from efface.vault import tables

_log = logging.getLogger("efface.vault")
_DRIVERS = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg"}
_BUSY_SECONDS = 30
_SCHEME = re.compile(r"\w+(\+\w+)?://")


class Store:
    """A database and its transactions. ``address`` is a URL, or the path of an SQLite file."""

    def __init__(self, address: str, *, connections: int = 8) -> None:
        self.url = _url(address)
        self.engine = _engine(self.url, connections)

    @property
    def place(self) -> str:
        """The address without its password and options: for messages."""
        return self.url.set(query={}).render_as_string(hide_password=True)

    def create(self) -> bool:
        """Make the tables; where they are, nothing changes. A new file, and one that was empty, is
        its owner's alone. Whether the file is new."""
        made = False
        file = self._file()
        if file is not None:
            self._require_folder(file)
            try:
                os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                made = True
            except FileExistsError:
                if not file.stat().st_size:
                    file.chmod(0o600)
            except OSError as error:
                raise VaultError(f"{file}: cannot be made: {error.strerror or error}") from None
        with self._translated():
            tables.metadata.create_all(self.engine)
        return made

    def refuse_vault(self) -> None:
        """Refuse a database that holds a vault already; nothing is made."""
        file = self._file()
        if file is not None:
            self._require_folder(file)
            if not file.exists():
                return
        with self._translated():
            table = tables.configurations.name
            if not inspect(self.engine).has_table(table):
                return
        with self.begin() as connection:
            taken = newest(connection)
        if taken:
            raise VaultError(
                f"{self.place}: holds a vault already: 'efface vault rotate' gives it another "
                "scheme"
            )

    def discard(self) -> None:
        """Remove a file that was made for a vault which came to nothing."""
        file = self._file()
        with self.begin() as connection:
            empty = not newest(connection)
        self.close()
        if file is not None and empty:
            file.unlink(missing_ok=True)

    def require(self) -> None:
        """Refuse a database that holds no vault, and make nothing where there is none."""
        file = self._file()
        if file is not None:
            self._require_folder(file)
            if not file.exists():
                raise VaultError(f"there is no vault at {file}: make one with 'efface vault init'")
        with self._translated():
            present = set(inspect(self.engine).get_table_names())
        if not set(tables.metadata.tables) <= present:
            raise VaultError(f"{self.place}: holds no vault: make one with 'efface vault init'")

    def _file(self) -> Path | None:
        """Of SQLite, where it is a file."""
        name = self.url.database or ""
        plain = self.url.get_backend_name() == "sqlite" and not name.startswith(("file:", ":"))
        return Path(name) if plain and name else None

    def _require_folder(self, file: Path) -> None:
        if not file.parent.is_dir():
            raise VaultError(f"{file.parent}: no such folder: make it, or give another with --db")

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction: all of it, or nothing."""
        with self._translated(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A transaction that sees one moment of the database."""
        with self._translated(), self.engine.connect() as connection:
            if self.url.get_backend_name() == "postgresql":
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Errors of the driver as ours, without what they carry."""
        try:
            yield
        except SQLAlchemyError as error:
            if isinstance(error, IntegrityError) and tables.people.name in (error.statement or ""):
                raise EnrolledError("somebody is enrolled under this name already") from None
            _log.error("the database failed: %s", type(error).__name__)
            raise UnavailableError(
                f"{self.place}: the database does not answer or refuses; nothing was changed: "
                "look after it and try again"
            ) from None


def record(connection: Connection, at: float, event_: str, outcome: str,
           user: str = "", source: str = "") -> None:  # fmt: skip
    """A line of the audit log: in the transaction of what it tells of."""
    row = {"at": at, "event": event_, "outcome": outcome, "user": user, "source": source}
    connection.execute(insert(tables.audit).values(row))


def newest(connection: Connection) -> int:
    """The number of the configuration in force; 0 where there is none."""
    return int(connection.execute(select(func.max(tables.configurations.c.number))).scalar() or 0)


def _url(address: str) -> URL:
    if not _SCHEME.match(address):
        return URL.create(_DRIVERS["sqlite"], database=address)
    try:
        url = make_url(address.replace("postgres://", "postgresql://", 1))
    except (ArgumentError, ValueError):
        raise VaultError("the address of the database cannot be read: see docs/vault.md") from None
    driver = _DRIVERS.get(url.get_backend_name())
    if driver is None:
        raise VaultError(
            f"no vault can be kept in {url.get_backend_name()!r}: take sqlite:///FILE or "
            "postgresql://USER@HOST/NAME"
        )
    return url.set(drivername=driver)


def _engine(url: URL, connections: int) -> Engine:
    options: dict[str, Any] = {
        "hide_parameters": True,
    }
    if url.get_backend_name() == "postgresql":
        need("psycopg", "vault")
        options |= {"pool_size": connections, "max_overflow": connections}
    else:
        options["connect_args"] = {"timeout": _BUSY_SECONDS}
    try:
        engine = create_engine(url, **options)
    except (SQLAlchemyError, NoSuchModuleError) as error:
        raise VaultError(
            f"the database cannot be opened ({type(error).__name__}): see its address"
        ) from None
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _: Any) -> None:
    """Transactions are ours to begin; what is deleted is overwritten, not only unlinked."""
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")


def _begin_sqlite(connection: Connection) -> None:
    # A writer from the start: a reader that becomes one fails where another was quicker.
    connection.exec_driver_sql("BEGIN IMMEDIATE")

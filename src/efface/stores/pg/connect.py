"""Connections to PostgreSQL: how they are opened, named without passwords, and how they fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from efface.errors import StoreError
from efface.extras import need

_SESSION = (
    "SET client_encoding TO 'UTF8'",
    "SET timezone TO 'UTC'",
    "SET datestyle TO 'ISO'",
    "SET extra_float_digits TO 1",
    "SET standard_conforming_strings TO on",
    "SET synchronous_commit TO on",
    # A policy would hide rows in silence; with this the server refuses instead.
    "SET row_security TO off",
)


def place(conninfo: str, schema: str, table: str) -> str:
    """How messages name a table: user, host and database, never the password."""
    known = _parsed(conninfo)
    host = known.get("host") or known.get("hostaddr") or ""
    socket = f"?host={host}" if host.startswith("/") else ""
    port = f":{known['port']}" if "port" in known and not socket else ""
    user = f"{known['user']}@" if "user" in known else ""
    database = known.get("dbname", known.get("user", ""))
    name = f"{schema}.{table}" if schema else table
    return f"postgresql://{user}{'' if socket else host}{port}/{database}{socket}#{name}"


@contextmanager
def connected(conninfo: str, where: str) -> Iterator[Any]:
    """A connection for one piece of work; what the server refuses becomes a StoreError."""
    with speaking(where):
        connection = connect(conninfo)
        try:
            yield connection
        finally:
            connection.close()


def connect(conninfo: str) -> Any:
    """A session in which text, times and floats come out the same on every server."""
    psycopg = need("psycopg", "postgres")
    options: dict[str, Any] = {"autocommit": True, "application_name": "efface"}
    if "connect_timeout" not in _parsed(conninfo):
        options["connect_timeout"] = 15
    connection = psycopg.connect(conninfo, **options)
    connection.execute("; ".join(_SESSION))
    return connection


@contextmanager
def speaking(where: str) -> Iterator[None]:
    """Errors of the server and of the connection, in one sentence with the way out."""
    psycopg = need("psycopg", "postgres")
    try:
        yield
    except psycopg.Error as error:
        raise StoreError(f"{where}: {_sentence(error)}") from error


def _sentence(error: Any) -> str:
    errors = need("psycopg.errors", "postgres")
    said = str(error).strip().split("\n")[0] or type(error).__name__
    if isinstance(error, errors.InsufficientPrivilege):
        return f"{said} (grant the right, or connect as a role that has it)"
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return f"the database is read-only: {said} (connect to the primary)"
    if isinstance(error, errors.LockNotAvailable | errors.QueryCanceled | errors.DeadlockDetected):
        return f"{said} (another transaction is in the way: run the same command again)"
    if isinstance(error, errors.DiskFull):
        return f"{said} (make room, then run the same command again: it goes on where it was)"
    if isinstance(error, errors.OperationalError):
        return (
            f"no connection: {said} (run the same command again when the server is there: "
            "it goes on where it was)"
        )
    return said


def _parsed(conninfo: str) -> dict[str, Any]:
    conninfo_to_dict = need("psycopg.conninfo", "postgres").conninfo_to_dict
    psycopg = need("psycopg", "postgres")
    try:
        return dict(conninfo_to_dict(conninfo))
    except psycopg.Error:
        # The library's message may quote the address, and so the password.
        raise StoreError(
            "postgresql: the address is not understood: postgresql://user@host/database#TABLE"
        ) from None

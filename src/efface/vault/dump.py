"""Everything that a vault holds, as one file, ``efface.vault/1``: a backup, and a thief's loot.

    one JSON object on each line: a head with the format, the moment and the number of rows of each
    table; then every row, named after its table, bytes in base64; last the SHA-256 of all the lines
    before, in hexadecimal.

There is no pepper in it, because there is none in the database.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Table, insert, select

from efface.data.atomic import atomic_write
from efface.errors import VaultError
from efface.vault import tables
from efface.vault.store import Store

FORMAT = "efface.vault/1"


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    made: float
    rows: dict[str, int]


class ConfigurationRow(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="configuration", tag_field="row"
):
    number: int
    scheme: bytes
    pepper: str
    decoy: bytes
    made: float


class PersonRow(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="person", tag_field="row"
):
    user: str
    configuration: int
    template: bytes
    enrolled: float


class AttemptRow(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="attempt", tag_field="row"
):
    kind: str
    name: str
    level: float
    last: float


class AuditRow(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="audit", tag_field="row"
):
    number: int
    at: float
    event: str
    outcome: str
    user: str
    source: str


class Last(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sha256: str


Row = ConfigurationRow | PersonRow | AttemptRow | AuditRow
_TABLES: tuple[tuple[Table, type[Row]], ...] = (
    (tables.configurations, ConfigurationRow),
    (tables.people, PersonRow),
    (tables.attempts, AttemptRow),
    (tables.audit, AuditRow),
)
_row = msgspec.json.Decoder(Row)


@dataclass(frozen=True)
class Dump:
    """The rows of a vault at one moment."""

    made: float
    rows: tuple[Row, ...]

    def of(self, kind: type[Any]) -> list[Any]:
        return [row for row in self.rows if isinstance(row, kind)]

    def counts(self) -> dict[str, int]:
        return {table.name: len(self.of(kind)) for table, kind in _TABLES}


def take(store: Store, now: float) -> Dump:
    """All rows of all tables, as of one moment."""
    rows: list[Row] = []
    with store.snapshot() as connection:
        for table, kind in _TABLES:
            found = connection.execute(select(table).order_by(*table.primary_key))
            rows.extend(kind(**row._mapping) for row in found)
    return Dump(now, tuple(rows))


def write(path: str | os.PathLike[str], dump: Dump) -> None:
    """Whole or not at all, readable by its owner alone."""
    sha = hashlib.sha256()
    with atomic_write(path) as partial:
        partial.chmod(0o600)
        with partial.open("wb") as file:
            for line in _lines(dump):
                sha.update(line)
                file.write(line)
            file.write(_line(Last(sha.hexdigest())))


def read(path: str | os.PathLike[str]) -> Dump:
    """The dump in a file, or a VaultError that names the line."""
    try:
        lines = Path(path).read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise VaultError(f"{path}: cannot be read ({error.strerror})") from None
    head = _head(path, lines)
    rows = [_decoded(path, n, line) for n, line in enumerate(lines[1:-1], start=2)]
    dump = Dump(head.made, tuple(rows))
    if dump.counts() != head.rows:
        raise VaultError(f"{path}: does not hold the rows that its first line counts")
    return dump


def restore(store: Store, dump: Dump) -> None:
    """Put a dump into a database that holds no vault, in one transaction."""
    store.create()
    with store.begin() as connection:
        for table, _ in _TABLES:
            if connection.execute(select(table).limit(1)).first():
                raise VaultError(
                    f"{store.place}: holds a vault already: restore into an empty database"
                )
        for table, kind in _TABLES:
            found = [_values(row) for row in dump.of(kind)]
            if found:
                connection.execute(insert(table), found)


def _values(row: Row) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in row.__struct_fields__}
    if isinstance(row, AuditRow):
        del values["number"]  # numbered anew, in order: the database goes on counting from there
    return values


def _lines(dump: Dump) -> Iterator[bytes]:
    yield _line(Head(FORMAT, dump.made, dump.counts()))
    for row in dump.rows:
        yield _line(row)


def _line(thing: msgspec.Struct) -> bytes:
    return msgspec.json.encode(thing) + b"\n"


def _head(path: str | os.PathLike[str], lines: list[bytes]) -> Head:
    try:
        head = msgspec.json.decode(lines[0], type=Head)
        last = msgspec.json.decode(lines[-1], type=Last)
    except (IndexError, msgspec.MsgspecError):
        raise VaultError(f"{path}: is no whole dump of a vault: take another") from None
    if head.format != FORMAT:
        raise VaultError(f"{path}: a dump of format {head.format!r}, not {FORMAT!r}")
    if hashlib.sha256(b"".join(lines[:-1])).hexdigest() != last.sha256:
        raise VaultError(f"{path}: is damaged: its digest is another: take another backup")
    return head


def _decoded(path: str | os.PathLike[str], number: int, line: bytes) -> Row:
    try:
        row: Row = _row.decode(line)
    except msgspec.MsgspecError:
        raise VaultError(f"{path}: line {number} is no row of a vault") from None
    return row
